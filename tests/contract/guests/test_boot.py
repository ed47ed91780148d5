"""A server's boot is played for real from its own user-data, and follows what Nova says of the server."""

import os
import secrets
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
from lab import Lab, call, console, encoded, pids_in, report, sh

from localcloud.guests.agent import Agent
from localcloud.guests.guest import Guest
from localcloud.guests.sandbox import SandboxError
from localcloud.guests.servers import Server

DOCUMENT = """#cloud-config
write_files:
- path: /etc/demo.conf
  permissions: "0600"
  content: made by write_files
bootcmd:
- echo boot >> /var/lib/bootcmd
runcmd:
- [sh, -c, "echo run >> /var/lib/runcmd"]
- [sh, -c, "echo shadow-runner: phase=ready status=ok reason=all is well > /dev/console"]
"""
MULTIPART = """Content-Type: multipart/mixed; boundary="part"
MIME-Version: 1.0

--part
Content-Type: text/cloud-config; charset="us-ascii"
MIME-Version: 1.0

#cloud-config
write_files: [{path: /etc/from-config, content: one}]

--part
Content-Type: text/x-shellscript; charset="us-ascii"
MIME-Version: 1.0

#!/bin/bash
echo two > /etc/from-script
--part--
"""


def text(guest: Guest, path: str) -> str:
    return (guest.root / path).read_text().strip()


def test_a_cloud_config_document_is_played(lab: Lab) -> None:
    guest = lab.add(DOCUMENT, name="gpu_runner.01")
    result = lab.booted(guest)
    assert result["exit_codes"] == [0, 0, 0]
    assert (result["phase"], result["status"], result["reason"]) == ("ready", "ok", "all is well")
    assert text(guest, "etc/demo.conf") == "made by write_files"
    assert (guest.root / "etc/demo.conf").stat().st_mode & 0o777 == 0o600
    assert call(guest, ["hostname"]).stdout.strip() == "gpu-runner-01"
    assert 'VERSION_ID="22.04"' in sh(guest, "cat /etc/os-release").stdout
    assert "Datasource DataSourceOpenStack" in console(guest)


def test_a_script_is_played(lab: Lab) -> None:
    guest = lab.add("#!/bin/bash\nid -u > /etc/who; echo to the console >/dev/console\n")
    assert lab.booted(guest)["state"] == "done"
    assert text(guest, "etc/who") == "0"
    assert "to the console" in console(guest)


def test_a_multipart_document_is_played(lab: Lab) -> None:
    guest = lab.add(MULTIPART)
    assert lab.booted(guest)["state"] == "done"
    assert (text(guest, "etc/from-config"), text(guest, "etc/from-script")) == ("one", "two")


def test_a_failing_script_is_reported(lab: Lab) -> None:
    guest = lab.add(
        "#!/bin/bash\necho shadow-runner: phase=packages status=failed reason=no apt >/dev/console; exit 3\n"
    )
    result = lab.booted(guest)
    assert (result["state"], result["phase"], result["status"]) == ("error", "packages", "failed")


@pytest.mark.parametrize(
    "user_data",
    [b"", b"nonsense", b"\x00\xff\xfe binary", b"#cloud-config\n: [ broken", secrets.token_bytes(49_000)],
    ids=["none", "text", "binary", "broken yaml", "as large as Nova takes"],
)
def test_a_server_with_useless_user_data_still_boots(lab: Lab, user_data: bytes) -> None:
    guest = lab.add(user_data)
    assert lab.booted(guest)["running"]
    assert call(guest, ["systemctl", "daemon-reload"]).returncode == 0


def test_user_data_that_is_no_base64_counts_as_none(lab: Lab) -> None:
    guest = lab.add("x")
    server = lab.servers.list()[0]
    lab.servers.add(type(server)(**{f: getattr(server, f) for f in server.__slots__} | {"user_data": "%%%"}))
    assert lab.booted(guest)["running"]


def test_programs_that_are_not_installed_are_not_found(lab: Lab) -> None:
    guest = lab.add()
    lab.up(guest)
    for program in ("docker", "gitlab-runner", "jq", "nvidia-ctk", "terraform"):
        assert sh(guest, f"{program} --version").returncode == 127, program


def test_a_guest_sees_neither_the_host_s_files_nor_its_processes(lab: Lab, tmp_path: object) -> None:
    guest = lab.add()
    lab.up(guest)
    assert sh(guest, f"ls {tmp_path}").returncode != 0
    assert sh(guest, f"kill -0 {os.getpid()}").returncode != 0
    assert sh(guest, "touch /usr/lib/x").returncode != 0
    assert sh(guest, "echo $$").returncode == 0


def test_two_guests_do_not_share_anything(lab: Lab) -> None:
    one, two = lab.add(DOCUMENT, name="one"), lab.add("#!/bin/sh\necho b > /etc/only-two\n", name="two")
    lab.booted(one)
    lab.booted(two)
    assert (call(one, ["hostname"]).stdout, call(two, ["hostname"]).stdout) == ("one\n", "two\n")
    assert not (one.root / "etc/only-two").exists()
    assert one.record().port != two.record().port


def test_a_reboot_runs_per_instance_modules_once_and_boot_commands_again(lab: Lab) -> None:
    guest = lab.add(DOCUMENT)
    lab.booted(guest)
    sh(guest, "touch /var/kept /tmp/lost; iptables -A OUTPUT -j DROP")
    lab.servers.reboot(guest.id)
    lab.until(lambda: report(guest).get("boots") == 2, "second boot")
    lab.booted(guest)
    assert text(guest, "var/lib/runcmd") == "run"
    assert text(guest, "var/lib/bootcmd") == "boot\nboot"
    assert (guest.root / "var/kept").exists()
    assert not (guest.root / "tmp/lost").exists()
    assert "DROP" not in call(guest, ["iptables", "-S"]).stdout


def test_a_reboot_from_inside(lab: Lab) -> None:
    guest = lab.add()
    lab.booted(guest)
    sh(guest, "reboot")
    lab.until(lambda: report(guest).get("boots") == 2 and guest.process(), "second boot")
    assert lab.servers.list()[0].status == "ACTIVE"


def test_poweroff_from_inside_stops_the_server_and_a_start_boots_it_again(lab: Lab) -> None:
    guest = lab.add()
    lab.booted(guest)
    sh(guest, "shutdown -h now")
    lab.until(lambda: lab.servers.list()[0].status == "SHUTOFF", "server stopped")
    lab.agent.tick()
    assert guest.process() is None
    lab.servers.start(guest.id)
    lab.until(guest.process, "second boot")
    assert guest.record().boots == 2


@pytest.mark.parametrize("status", ["SHUTOFF", "ERROR", "SHELVED_OFFLOADED", "EXPIRED"])
def test_a_server_that_is_off_has_its_guest_killed_and_its_disk_kept(lab: Lab, status: str) -> None:
    guest = lab.add()
    lab.up(guest)
    process = guest.process()
    assert process
    lab.servers._set(guest.id, status)
    lab.until(lambda: not pids_in(process.namespace), "every process is gone")
    assert (guest.root / "etc").is_dir()


def test_deletion_kills_every_process_and_removes_the_disk(lab: Lab) -> None:
    guest = lab.add("#!/bin/bash\nsetsid sleep 1000 & trap '' TERM INT; while :; do sleep 1000; done\n")
    lab.until(lambda: "sleep 1000" in _processes(guest), "the endless boot script runs")
    process = guest.process()
    assert process
    assert report(guest)["state"] == "running"
    lab.servers.delete(guest.id)
    lab.until(lambda: not guest.folder.exists(), "folder removed")
    lab.until(lambda: not pids_in(process.namespace), "every process is gone")


def _processes(guest: Guest) -> str:
    return sh(guest, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '").stdout if guest.process() else ""


def test_guests_are_left_alone_while_nova_does_not_answer(lab: Lab) -> None:
    guest = lab.add()
    lab.up(guest)
    before = guest.process()
    lab.servers.down = True
    with pytest.raises(Exception, match="connection refused"):
        lab.agent.tick()
    assert guest.process() == before
    assert guest.folder.exists()


def test_a_new_agent_adopts_running_guests_and_serves_their_metadata_again(lab: Lab) -> None:
    guest = lab.add(DOCUMENT)
    lab.booted(guest)
    before, port = guest.process(), guest.record().port
    lab.agent.close(kill=False)
    lab.agent = Agent(lab.servers, lab.home)
    lab.agent.tick()
    assert (guest.process(), guest.record().port, guest.record().boots) == (before, port, 1)
    assert sh(guest, "curl -fs $SHADOW_METADATA_URL/latest/meta-data/hostname").stdout == "gpu-0.novalocal"


def test_a_guest_that_died_by_itself_is_booted_again(lab: Lab) -> None:
    guest = lab.add()
    lab.booted(guest)
    process = guest.process()
    assert process
    os.kill(process.pid, signal.SIGKILL)
    lab.until(lambda: guest.process() not in {None, process}, "second boot")
    assert guest.record().boots == 2


def test_a_rebuild_starts_from_an_empty_disk(lab: Lab) -> None:
    guest = lab.add(DOCUMENT)
    lab.booted(guest)
    sh(guest, "touch /var/old")
    lab.servers._act(guest.id, "rebuild")
    lab.until(lambda: report(guest).get("boots") == 2, "second boot")
    lab.booted(guest)
    assert not (guest.root / "var/old").exists()
    assert text(guest, "var/lib/runcmd") == "run"


def test_the_user_data_reaches_the_guest_as_it_was_given(lab: Lab) -> None:
    guest = lab.add("#!/bin/sh\n# ünïcode\ntrue\n")
    lab.up(guest)
    got = sh(guest, "curl -fs $SHADOW_METADATA_URL/openstack/latest/user_data | base64 -w0")
    assert got.stdout == encoded("#!/bin/sh\n# ünïcode\ntrue\n")


def _throw_away(folder: Path) -> None:
    """Remove it although its guest still runs, and may write into it meanwhile."""
    while folder.exists():
        shutil.rmtree(folder, ignore_errors=True)


def test_guests_whose_folder_was_thrown_away_are_ended_by_the_next_agent(lab: Lab) -> None:
    guest = lab.add()
    lab.up(guest)
    process = guest.process()
    assert process
    lab.agent.close(kill=False)
    _throw_away(guest.folder)
    assert pids_in(process.namespace)
    lab.servers.delete(guest.id)
    lab.agent = Agent(lab.servers, lab.home)
    assert not pids_in(process.namespace)


def test_a_console_that_is_flooded_stays_within_bounds(lab: Lab) -> None:
    guest = lab.add()
    lab.booted(guest)
    sh(guest, "yes 0123456789abcdef | head -c 40M > /dev/console")
    assert 16_000_000 < guest.console.stat().st_size <= 17_000_000
    assert sh(guest, "systemctl is-active nothing.service").returncode == 3


def test_a_guest_that_cannot_start_is_reported_once_and_holds_up_no_other(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    started = Guest.boot

    def boot(guest: Guest, server: Server, *rest: Any) -> None:
        if server.name == "bad":
            raise SandboxError("no more namespaces")
        started(guest, server, *rest)

    monkeypatch.setattr(Guest, "boot", boot)
    lab.add(name="bad")
    good = lab.add(name="good")
    lab.up(good)
    lab.agent.tick()
    assert [record.getMessage().partition(": ")[2] for record in caplog.records] == ["no more namespaces"]
