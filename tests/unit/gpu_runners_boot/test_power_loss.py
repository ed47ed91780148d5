"""A boot that ends at any point, by power loss or `kill -9`: the next one finds all that it needs."""

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from machine import TOKEN, Machine

PARTS = ("packages.sh", "metadata.sh", "secrets.sh", "service.sh")
SHA = "a" * 64
GOOD = "PLANTED"
SOURCE = {
    "config.yaml": f"# {GOOD}\n",
    "clouds.yaml": f"# {GOOD}\n",
    "secrets/callback-key": GOOD,
    "templates.json": json.dumps({"pools": {"p": [0]}, "parts": [f"# {GOOD}\n"]}),
}
PLACED = ["clouds.yaml", "config.yaml", "secrets/callback-key", "user-data/p.yaml"]
FATAL = ("install", "mv", "rm", "shred")
"""Programs at whose calls a run may end, before they have done anything."""
DIES = """#!/bin/bash
n=$(($(cat "$FIXTURE/n") + 1)); echo "$n" >"$FIXTURE/n"
if [ "$n" = "$(cat "$FIXTURE/fatal")" ]; then
  [ "${0##*/}" != shred ] || printf '\\xff\\xfe' >"${!#}"
  kill -9 0
fi
case ${0##*/} in
  install) set -- "${@/#caddy/$(id -gn)}" ;;
esac
exec "/usr/bin/${0##*/}" "$@"
"""


@dataclass(slots=True)
class Fragile:
    """A machine whose scripts end at the call of a program, counted from 1."""

    machine: Machine
    line: str
    """What it runs."""

    def run(self, fatal: int = 0) -> int:
        """Run the line; return its exit status, -9 where it ended at the fatal call."""
        self.machine.write("n", "0")
        self.machine.write("fatal", str(fatal))
        return self.machine.shell(self.line, *PARTS).returncode

    def left(self) -> list[Path]:
        """Files that still hold what came with the user-data."""
        files = [path for path in self.machine.root("etc/shadow-runner").rglob("*") if path.is_file()]
        return [path for path in files if GOOD in path.read_text(errors="replace") or "erase." in str(path)]


def program(machine: Machine, name: str, text: str) -> None:
    path = machine.folder / "bin" / name
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture
def fragile(machine: Machine) -> Machine:
    machine.root("etc/shadow-runner/config.toml").unlink()  # a runner has it, a controller has not
    for name in FATAL:
        program(machine, name, DIES)
    program(machine, "sync", "#!/bin/sh\n")
    program(
        machine,
        "caddy",
        '#!/bin/bash\n[ "$1" != validate ] || grep -q "$GOOD" "$SHADOW_ROOT/etc/caddy/key.pem"\n',
    )
    refuses = '#!/bin/bash\n[ -z "$(grep -rL "$GOOD" "$SHADOW_ROOT/etc/shadow-autoscaler")" ]\n'
    installed = machine.put(f"opt/shadow-autoscaler/{SHA[:16]}/bin/shadow-autoscaler", refuses)
    installed.chmod(0o755)
    return machine


def fresh(machine: Machine) -> None:
    for path in ("etc/shadow-autoscaler", "etc/shadow-autoscaler.new", "etc/caddy", "etc/shadow-runner"):
        shutil.rmtree(machine.root(path), ignore_errors=True)


def with_controller(machine: Machine) -> Fragile:
    fresh(machine)
    for name, text in SOURCE.items():
        machine.put(f"etc/shadow-runner/controller/{name}", text)
    line = f"export GOOD={GOOD}; SHADOW_WHEEL_SHA256={SHA}\nplace_files\nremove_secrets"
    return Fragile(machine, line)


def with_tls(machine: Machine) -> Fragile:
    fresh(machine)
    machine.put("etc/shadow-runner/Caddyfile", "x")
    for name in ("key", "certificate"):
        machine.put(f"etc/shadow-runner/tls/{name}.pem", GOOD)
    return Fragile(machine, f"export GOOD={GOOD}\nremove_secrets\nstart_tls")


def ends(made: Callable[[], Fragile]) -> Iterator[tuple[int, Fragile]]:
    """Yield a machine for each call at which its first run ends, until a run ends by itself."""
    for fatal in range(1, 100):
        one = made()
        if one.run(fatal) != -9:
            return
        yield fatal, one


def test_a_controller_gets_its_files_wherever_the_run_before_ended(fragile: Machine) -> None:
    seen = 0
    for fatal, one in ends(lambda: with_controller(fragile)):
        assert one.run() == 0, (fatal, one.machine.console[-3:])
        home = fragile.root("etc/shadow-autoscaler")
        found = sorted(str(path.relative_to(home)) for path in home.rglob("*") if path.is_file())
        assert found == PLACED, fatal
        assert all(GOOD in (home / name).read_text() for name in found), fatal
        assert one.left() == [], fatal
        seen = fatal
    assert seen > len(SOURCE)


def test_a_certificate_is_served_wherever_the_run_before_ended(fragile: Machine) -> None:
    seen = 0
    for fatal, one in ends(lambda: with_tls(fragile)):
        assert one.run() == 0, (fatal, one.machine.console[-3:])
        key = fragile.root("etc/caddy/key.pem")
        assert key.read_text() == GOOD, fatal
        assert one.left() == [], fatal
        seen = fatal
    assert seen > 2


def test_a_certificate_that_caddy_refuses_is_kept_for_the_next_try(fragile: Machine) -> None:
    one = with_tls(fragile)
    fragile.put("etc/shadow-runner/tls/key.pem", "another")
    assert one.run() == 1
    assert fragile.root("etc/shadow-runner/tls/key.pem").read_text() == "another"


@pytest.mark.parametrize("source", ["controller", "tls"])
def test_nothing_is_erased_before_its_copy_is_on_the_disk(fragile: Machine, source: str) -> None:
    """Else a power cut takes both: what was written last is still in memory alone."""
    where = f'[ -e "$SHADOW_ROOT/etc/shadow-runner/{source}" ] && echo there "$@" || echo gone "$@"'
    program(fragile, "sync", f'#!/bin/bash\n({where}) >>"$FIXTURE/order"\n')
    program(fragile, "shred", '#!/bin/bash\necho erased >>"$FIXTURE/order"; exec /usr/bin/shred "$@"\n')
    one = with_controller(fragile) if source == "controller" else with_tls(fragile)
    assert one.run() == 0
    order = (fragile.folder / "fixture/order").read_text().splitlines()
    first, *_, last = order[: order.index("erased")]
    assert first.startswith("there ")
    assert ("shadow-autoscaler/secrets/callback-key" if source == "controller" else "caddy/key.pem") in first
    assert last.startswith("gone ")
    assert str(fragile.root("etc/shadow-runner")) in last.split()


def test_an_installation_counts_only_once_it_is_on_the_disk(fragile: Machine) -> None:
    seen = 'ls -A "$SHADOW_ROOT"/opt/shadow-autoscaler/*/ >>"$FIXTURE/order"; echo "$*" >>"$FIXTURE/order"'
    program(fragile, "sync", f"#!/bin/bash\n{seen}\n")
    place = f"opt/shadow-autoscaler/{'b' * 16}"
    build = f'mkdir -p "$ROOT/{place}/bin"; ln -s /bin/true "$ROOT/{place}/bin/shadow-autoscaler"'
    pretended = f"build_service() {{ {build}; }}"
    ran = fragile.shell(f"{pretended}\nSHADOW_WHEEL_SHA256={'b' * 64}\ninstall_service", *PARTS)
    assert ran.returncode == 0, ran.stderr
    *listed, flushed = (fragile.folder / "fixture/order").read_text().splitlines()
    assert "bin" in listed
    assert ".complete" not in listed
    assert place in flushed
    assert fragile.root(f"{place}/.complete").exists()


def test_a_runners_token_is_never_replaced_by_what_is_left_of_it(machine: Machine) -> None:
    program(machine, "shred", DIES)
    machine.write("n", "0")
    machine.write("fatal", "1")
    assert machine.run().returncode == -9
    machine.write("fatal", "0")
    assert machine.run().returncode == 0, machine.console[-3:]
    assert TOKEN in machine.root("etc/gitlab-runner/config.toml").read_text()
    assert list(machine.root("etc/shadow-runner").glob("erase.*")) == []


def test_a_runners_token_is_kept_until_its_configuration_is_there(machine: Machine) -> None:
    """The guard of later boots runs also where the first one ended before the configuration was written."""
    ran = machine.run("guard.sh")
    assert ran.returncode == 1
    assert "has not been written" in machine.console[-1]
    assert TOKEN in machine.root("etc/shadow-runner/config.toml").read_text()
