"""The command line: what it prints, where, and with which exit code."""

import json
import logging
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from autoscaler_site.site import document, write

from shadow_autoscaler.adapters.sqlite_store import SqliteStore
from shadow_autoscaler.core.decide import decide
from shadow_autoscaler.core.events import CreateSent, JobSeen, ServerCreated, ServerGone
from shadow_autoscaler.core.jobs import ForgeKind, JobFacts, JobKey, JobStatus
from shadow_autoscaler.core.machines import Server, ServerStatus
from shadow_autoscaler.core.state import Decision
from shadow_autoscaler.edge import adapters, config
from shadow_autoscaler.edge.cli import main
from shadow_autoscaler.edge.cli.codes import Exit
from shadow_autoscaler.ports import Commit
from shadow_autoscaler.runtime.engine import Engine
from shadow_autoscaler.testing.clock import VirtualClock
from shadow_autoscaler.testing.cloud import FakeCloud
from shadow_autoscaler.testing.github import FakeGitHub

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    """`serve` takes the root logger over; give it back."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = handlers, level


@pytest.fixture(name="run")
def run_fixture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command on a configuration."""
    file = write(tmp_path)

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main([*arguments, "--config", str(file)])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


@pytest.fixture(name="engine")
def engine_fixture(tmp_path: Path) -> Engine:
    """An engine over the configuration's store, with a job that has a VM and one that no pool serves."""
    loaded = config.load(write(tmp_path))
    store = SqliteStore(tmp_path / "autoscaler.db")
    engine = Engine(store, loaded.to_core(), decide, time.time)
    assert store.lease("test", 60, time.time())
    engine.activate()
    for number, labels in ((5001, ("self-hosted", "shadow-gpu")), (5002, ("self-hosted", "h100"))):
        key = JobKey(ForgeKind.GITHUB, "acme/models", number)
        facts = JobFacts(key, JobStatus.QUEUED, "train", labels, 900, time.time() - 60)
        engine.handle(JobSeen(facts))
    (vm,) = engine.read(lambda state: list(state.vms.values()))
    server = Server("server-1", vm.name, ServerStatus.BUILDING, "BUILD", time.time(), {"vm": vm.name})
    engine.handle(CreateSent(vm.name))
    engine.handle(ServerCreated(vm.name, server))
    return engine


def test_status_of_a_fresh_deployment(run: Run) -> None:
    code, out, _ = run("status")
    assert code == Exit.OK
    assert "acme-ci" in out
    assert "rtx2000" in out


def test_status_shows_vms_and_money_and_is_the_page_s_json(run: Run, engine: Engine) -> None:
    code, out, _ = run("status")
    assert code == Exit.OK
    assert "gpu-rtx2000-" in out
    facts = json.loads(run("status", "--json")[1])
    assert facts["totals"]["vms"] == 1
    assert facts["totals"]["eur_today"] > 0
    assert facts["pools"][0]["phases"] == {"building": 1}


def test_status_of_a_pool_that_needs_attention_has_its_own_code(run: Run, engine: Engine) -> None:
    assert run("drain", "rtx2000")[0] == Exit.OK
    (delivery,) = engine.store.inbox()
    from shadow_autoscaler.runtime.operators import translate  # noqa: PLC0415

    for event in translate(delivery.event, delivery.body):
        engine.handle(event, delivery_id=delivery.delivery_id)
    code, out, _ = run("status")
    assert code == Exit.ATTENTION
    assert "drained by an operator" in out


def test_jobs_lists_waiting_ones_with_the_reason(run: Run, engine: Engine) -> None:
    code, out, _ = run("jobs", "--json")
    jobs = {job["key"]: job for job in json.loads(out)}
    assert code == Exit.OK
    assert "lacks h100" in jobs["github:acme/models:5002:1"]["why"]
    assert jobs["github:acme/models:5001:1"]["vm"].startswith("gpu-rtx2000-")
    assert "5001" in run("jobs")[1]


@pytest.mark.parametrize("name", ["5002", "github:acme/models:5002:1"])
def test_why_answers_in_one_paragraph(run: Run, engine: Engine, name: str) -> None:
    code, out, _ = run("why", name)
    assert code == Exit.OK
    assert "no pool has all its labels" in out.splitlines()[0]
    assert "lacks h100" in json.loads(run("why", name, "--json")[1])["why"]


def test_why_about_an_unknown_job_names_known_ones(run: Run, engine: Engine) -> None:
    code, out, err = run("why", "77")
    assert (code, out) == (Exit.NOT_FOUND, "")
    assert "job '77' is not known; for example github:acme/models:5001:1" in err


def test_drain_takes_pools_and_vms_and_nothing_else(run: Run, engine: Engine) -> None:
    (vm,) = engine.read(lambda state: list(state.vms))
    assert run("drain", "rtx2000", "--off")[0] == Exit.OK
    assert json.loads(run("drain", vm, "--json")[1])["asked"] == "drain"
    asked = [json.loads(delivery.body) for delivery in engine.store.inbox()]
    assert asked == [{"pool": "rtx2000", "vm": "", "on": False}, {"pool": "", "vm": vm, "on": True}]
    code, _, err = run("drain", "a4500")
    assert code == Exit.NOT_FOUND
    assert "pools are rtx2000" in err
    assert run("drain", vm, "--off")[0] == Exit.NOT_FOUND


def test_reap_asks_or_only_shows(run: Run, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("reap")[0] == Exit.OK
    assert [delivery.event for delivery in engine.store.inbox()] == ["reap"]
    cloud, github = FakeCloud(VirtualClock()), FakeGitHub(VirtualClock())
    stray = Server("server-9", "gpu-x", ServerStatus.ACTIVE, "ACTIVE", 0.0, {"vm": "gpu-x"})
    cloud._servers["server-9"] = stray
    monkeypatch.setattr(adapters, "cloud", lambda _: cloud)
    monkeypatch.setattr(adapters, "forges", lambda *_: {ForgeKind.GITHUB: github})
    assert run("reap", "--dry-run")[1] == "server gpu-x server-9 ACTIVE\n"
    assert json.loads(run("reap", "--dry-run", "--json")[1]) == {
        "servers": ["gpu-x"],
        "leftovers": [],
        "runners": [],
    }
    assert "server-9" in cloud._servers


def test_replay_asks_the_forges_for_missed_webhooks(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []

    class Forge:
        def redeliver(self, since: float) -> int:
            asked.append(time.time() - since)
            return 3

    monkeypatch.setattr(adapters, "forges", lambda *_: {ForgeKind.GITHUB: Forge()})
    assert run("replay", "--since", "2h")[1] == "github: 3 missed webhook(s) asked for again\n"
    assert json.loads(run("replay", "--json")[1]) == {"github": 3}
    assert [round(ago / 3600, 2) for ago in asked] == [2.0, 24.0]
    assert run("replay", "--since", "soon")[0] == Exit.USAGE


def test_config_check_names_faults_templates_and_secrets_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(tmp_path)
    assert main(["config", "check", "--config", str(file)]) == Exit.OK
    (tmp_path / "secrets" / "hook").unlink()
    assert main(["config", "check", "--json", "--config", str(file)]) == Exit.CONFIG
    (fault,) = json.loads(capsys.readouterr().out.partition("\n")[2])["faults"]
    assert fault["key"] == "github.webhook_secret"
    assert main(["config", "check", "--no-files", "--config", str(file)]) == Exit.OK
    file = write(tmp_path, max_vms=-1, extra=1)
    assert main(["config", "check", "--config", str(file)]) == Exit.CONFIG
    assert "has 2 fault(s)" in capsys.readouterr().err


def test_a_configuration_with_faults_stops_every_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(tmp_path, max_vms=-1)
    for command in ("serve", "status", "jobs", "reap", "replay"):
        assert main([command, "--config", str(file)]) == Exit.CONFIG
        assert "max_vms: got -1, expected at least 0" in capsys.readouterr().err


def test_an_address_in_use_is_told(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import socket  # noqa: PLC0415

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        file = write(tmp_path, listen={"port": taken.getsockname()[1]})
        assert main(["serve", "--config", str(file)]) == Exit.FAILED
    assert "change listen in the file" in capsys.readouterr().err


def test_the_schema_and_the_reference_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "schema"]) == Exit.OK
    assert json.loads(capsys.readouterr().out)["properties"]["pools"]
    assert main(["config", "reference"]) == Exit.OK
    assert "| `max_vms` |" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [[], ["why"], ["sta"], ["jobs", "--nope"]])
def test_a_wrong_command_line_is_a_usage_error(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == Exit.USAGE


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; from shadow_autoscaler.edge.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'pydantic', 'yaml', 'uvicorn', 'openstack', 'githubkit', 'rich'} & set(sys.modules)\n"
        "sys.exit(f'loaded {heavy}' if heavy else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=os.environ
    )
    assert done.returncode == 0, done.stderr
    assert "exit codes:" in done.stdout


def test_functions_load_no_sdk_that_they_do_not_use() -> None:
    code = (
        "import sys; from shadow_autoscaler.edge.functions import webhook\n"
        "heavy = {'uvicorn', 'starlette', 'openstack', 'githubkit', 'gitlab', 'rich', 'jinja2',"
        " 'prometheus_client', 'sqlite3', 'boto3'} & set(sys.modules)\n"
        "sys.exit(f'loaded {heavy}' if heavy else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=os.environ
    )
    assert done.returncode == 0, done.stderr


def test_every_adapter_that_a_configuration_may_name_is_built(tmp_path: Path) -> None:
    ladder = document()["pools"][0]["ladder"]
    pools = [
        document()["pools"][0],
        {
            "name": "a4500",
            "forge": "gitlab",
            "labels": ["gpu"],
            "ladder": ladder,
            "max": 1,
            "user_data_file": "pool.yaml",
            "image": "other",
            "volume": {"size_gib": 60, "type": "Wood"},
        },
    ]
    gitlab = {"token": "github", "projects": ["acme/vision"], "webhook_token": "hook"}
    file = write(tmp_path, pools=pools, gitlab=gitlab | {"runner_tokens": {"a4500": "github"}})
    loaded = config.load(file)
    redactor: Any = adapters.Redactor()
    secrets = adapters.secrets(loaded, tmp_path, redactor)
    assert set(adapters.forges(loaded, secrets, tuple)) == {ForgeKind.GITHUB, ForgeKind.GITLAB}
    assert set(adapters.translators(loaded)) == {ForgeKind.GITHUB, ForgeKind.GITLAB}
    machine = adapters.cloud(loaded)._settings.machine_of("a4500")  # type: ignore[attr-defined]
    assert (machine.image, machine.volume.size_gib, machine.network) == ("other", 60, "net")
    first, second = (adapters.deployment(loaded, {"rtx2000": text, "a4500": "x"}) for text in ("x", "y"))
    assert first.pools[0].revision != second.pools[0].revision
    assert first.pools[1].revision == second.pools[1].revision
    assert secrets.get("hook")[0] not in redactor.clean(f"the secret {secrets.get('hook')[0]}")


def test_repair_shows_and_sets_aside_what_cannot_be_read(run: Run, engine: Engine, tmp_path: Path) -> None:
    (vm,) = engine.read(lambda state: list(state.vms))
    assert run("repair") == (Exit.OK, "every row can be read\n", "")
    with closing(sqlite3.connect(tmp_path / "autoscaler.db")) as db, db:
        db.execute("UPDATE rows SET body = '{}' WHERE kind = 'vm'")
    code, _, err = run("status")
    assert code == Exit.FAILED
    assert f"vm {vm}: " in err
    assert "shadow-autoscaler repair" in err
    code, out, _ = run("repair", "--dry-run")
    assert code == Exit.ATTENTION
    assert f"vm {vm}: " in out
    assert run("status")[0] == Exit.FAILED
    code, _, err = run("repair")
    assert code == Exit.FAILED
    assert "a server decides on this store" in err
    engine.store.lease("", 0.0, time.time())
    kept = Path(json.loads(run("repair", "--json")[1])["kept_in"])
    assert json.loads(kept.read_text())["key"] == vm
    assert kept.stat().st_mode & 0o777 == 0o600
    assert run("status")[0] == Exit.OK


def test_money_is_shown_by_job_pool_and_month(run: Run, engine: Engine) -> None:
    (vm,) = engine.read(lambda state: list(state.vms.values()))
    job = engine.read(lambda state: state.jobs[vm.job]) if vm.job else None
    assert job is not None
    engine.handle(JobSeen(replace(job.facts, status=JobStatus.RUNNING, runner_name=f"{vm.name}-1")))
    jobs = {one["key"]: one for one in json.loads(run("jobs", "--json")[1])}
    assert jobs[str(job.key)]["eur"] > 0
    assert f"{jobs[str(job.key)]['eur']:.3f}" in run("jobs")[1]
    facts = json.loads(run("status", "--json")[1])
    assert facts["pools"][0]["eur_month"] > 0
    assert facts["totals"]["eur_month"] == facts["pools"][0]["eur_month"] == facts["months"][0]["eur"]
    out = run("status")[1]
    assert "this month" in out


def test_a_vm_that_is_forgotten_stays_in_its_months_bill(run: Run, engine: Engine) -> None:
    (vm,) = engine.read(lambda state: list(state.vms.values()))
    engine.handle(ServerGone(vm.name, "server-1"))
    before = json.loads(run("status", "--json")[1])["months"]
    assert before[0]["eur"] > 0
    engine.store.commit(Commit(Decision(dropped_vms=(vm.name,)), time.time()))
    assert json.loads(run("status", "--json")[1])["months"] == before
