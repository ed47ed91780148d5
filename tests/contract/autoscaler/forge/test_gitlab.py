"""What is GitLab's own: tags by the API, machines by system ID, retries of single jobs, hooks sent again."""

import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from contract.autoscaler.forge.labs import LABELS, GitLabLab, new_name, pool

from localcloud.gitlab.testing import PACKAGES, Receiver, receiving, wait_for
from shadow_autoscaler.adapters.gitlab import RunnerToken, system_id_of
from shadow_autoscaler.core.events import Removal, RerunOutcome, Runner
from shadow_autoscaler.core.faults import FailureKind, PortError
from shadow_autoscaler.core.jobs import ForgeKind, JobKey, JobStatus

P1 = pool(ForgeKind.GITLAB)
STAND_IN = PACKAGES / "localcloud" / "standins" / "gitlab-runner"


def failing(call: Callable[[], object]) -> PortError:
    with pytest.raises(PortError) as caught:
        call()
    return caught.value


def calls(gitlab: GitLabLab, method: str, part: str) -> list[dict[str, Any]]:
    """Requests of the adapter that the simulator saw for this project."""
    log = gitlab.simulator.sim("GET", "/log")
    ours = [line for line in log if line["user_agent"] == "shadow-autoscaler" and line["method"] == method]
    group = gitlab.project.partition("/")[0]
    return [line for line in ours if group in line["path"] and part in line["path"]]


def run_job(gitlab: GitLabLab, name: str = "", *, good: bool = True) -> JobKey:
    """Have a machine of that name take the waiting job and end it."""
    key = gitlab.start(gitlab.forge.register(P1, name or new_name(), None))
    assert key is not None
    gitlab.finish(key, good=good)
    return key


class TestRegistration:
    def test_it_is_the_token_of_the_pool_and_an_id_of_the_machine(self, gitlab: GitLabLab) -> None:
        name = new_name()
        before = len(gitlab.simulator.sim("GET", "/log"))
        registration = gitlab.forge.register(P1, name, None)
        assert (registration.runner_id, registration.runner_name) == (None, name)
        assert registration.config == {
            "kind": "gitlab",
            "url": gitlab.simulator.url,
            "token": gitlab.runner.token,
            "system_id": system_id_of(name),
            "wait_timeout_s": "1800",
        }
        for_a_job = gitlab.forge.register(P1, new_name(), JobKey(ForgeKind.GITLAB, "acme/app", 1))
        assert for_a_job.config["wait_timeout_s"] == "315"
        assert len(gitlab.simulator.sim("GET", "/log")) == before

    def test_a_pool_without_a_token_or_with_one_of_the_old_kind_is_misconfigured(
        self, gitlab: GitLabLab
    ) -> None:
        other = pool(ForgeKind.GITLAB, name="p2")
        missing = failing(lambda: gitlab.forge.register(other, new_name(), None)).failure
        assert missing.kind is FailureKind.CONFIG
        assert "gitlab.runner_tokens.p2" in missing.text
        old = gitlab.make(runner_tokens={"p1": RunnerToken(lambda: "GR1348941secret")})
        wrong = failing(lambda: old.register(P1, new_name(), None)).failure
        assert wrong.kind is FailureKind.CONFIG
        assert "secret" not in wrong.text.replace("the secret", "")

    def test_a_rotated_token_takes_effect_at_once(self, gitlab: GitLabLab) -> None:
        tokens = ["wrong", gitlab.simulator.admin_token]
        forge = gitlab.make(token=lambda: tokens[0])
        failure = failing(forge.jobs).failure
        assert failure.kind is FailureKind.AUTH
        tokens.pop(0)
        assert forge.jobs() == ()
        forge.close()


class TestMachines:
    def test_names_are_told_after_a_restart_by_those_that_the_state_knows(self, gitlab: GitLabLab) -> None:
        gitlab.queue()
        name = new_name()
        key = gitlab.start(gitlab.forge.register(P1, name, None))
        assert key is not None
        restarted = gitlab.make(names=lambda: [name, new_name()])
        facts = restarted.job(key)
        assert facts is not None
        assert facts.runner_name == name
        identity = system_id_of(name)
        expected = Runner(gitlab.runner.runner_id, name, online=True, busy=True, system_id=identity)
        assert restarted.runners() == (expected,)
        restarted.close()

    def test_a_machine_that_is_none_of_ours_goes_by_its_system_id(self, gitlab: GitLabLab) -> None:
        gitlab.queue()
        gitlab.runner.system_id = "s_0123456789ab"
        job = gitlab.runner.take()
        key = JobKey(ForgeKind.GITLAB, gitlab.project, job["id"])
        told = gitlab.make(names=tuple)
        facts = told.job(key)
        assert facts is not None
        assert facts.runner_name == "s_0123456789ab"
        assert [runner.name for runner in told.runners()] == ["s_0123456789ab"]
        unsure = gitlab.forge.job(key)
        assert unsure is not None
        assert unsure.runner_name == ""
        told.close()

    def test_only_the_machine_of_that_name_is_removed(self, gitlab: GitLabLab) -> None:
        names = [new_name(), new_name()]
        for name in names:
            gitlab.start(gitlab.forge.register(P1, name, None))
        assert gitlab.forge.deregister(names[0], None) is Removal.GONE
        assert [runner.name for runner in gitlab.forge.runners()] == [names[1]]

    def test_a_ghost_is_removed_by_its_system_id(self, gitlab: GitLabLab) -> None:
        gitlab.runner.request()
        (ghost,) = gitlab.forge.runners()
        assert ghost.system_id == gitlab.runner.system_id
        assert gitlab.forge.deregister(ghost.name, ghost.runner_id, ghost.system_id) is Removal.GONE
        assert gitlab.forge.runners() == ()

    def test_a_name_that_tells_no_pool_is_looked_for_in_all(self, gitlab: GitLabLab) -> None:
        second = gitlab.simulator.runner(gitlab.project_id, tag_list=["other"])
        tokens = {
            "first": RunnerToken(lambda: second.token),
            "second": RunnerToken(lambda: gitlab.runner.token),
        }
        forge = gitlab.make(runner_tokens=tokens)
        registration = forge.register(pool(ForgeKind.GITLAB, name="second"), "odd-name", None)
        gitlab.start(registration)
        assert [runner.runner_id for runner in forge.runners()] == [gitlab.runner.runner_id]
        assert forge.deregister("odd-name", None) is Removal.GONE
        assert forge.runners() == ()
        forge.close()

    def test_gitlab_runner_calls_itself_by_the_id_in_its_file(
        self, gitlab: GitLabLab, tmp_path: Path
    ) -> None:
        name = new_name()
        registration = gitlab.forge.register(P1, name, None)
        (tmp_path / ".runner_system_id").write_text(registration.config["system_id"])
        (tmp_path / "config.toml").write_text(
            f"[[runners]]\nname = '{name}'\nurl = '{gitlab.simulator.url}'\n"
            f"token = '{registration.config['token']}'\nexecutor = 'docker'\n"
            "[runners.docker]\nimage = 'ubuntu'\n"
        )
        words = ["run-single", "--config", str(tmp_path / "config.toml"), "--runner", name]
        words += ["--max-builds", "1", "--wait-timeout", "1"]
        subprocess.run([str(STAND_IN), *words], check=True, capture_output=True, timeout=60)
        assert [runner.name for runner in gitlab.forge.runners()] == [name]
        assert gitlab.forge.deregister(name, None) is Removal.GONE
        assert gitlab.forge.runners() == ()


class TestJobs:
    def test_more_than_a_page_is_read_by_id(self, gitlab: GitLabLab) -> None:
        tags = ", ".join(LABELS)
        gitlab.pipeline(f"many: {{script: [a], parallel: 130, tags: [{tags}]}}")
        found = gitlab.forge.jobs()
        assert len({facts.key for facts in found}) == len(found) == 130
        queries = [line["query"] for line in calls(gitlab, "GET", "/jobs")]
        assert len(queries) == 2
        assert "id_before=" in queries[1]

    def test_the_time_in_the_queue_is_the_same_each_time(self, gitlab: GitLabLab) -> None:
        gitlab.queue(2)
        assert gitlab.forge.jobs() == gitlab.forge.jobs()
        assert all(abs(facts.queued_at - time.time()) < 600 for facts in gitlab.forge.jobs())

    def test_jobs_that_wait_for_others_are_not_listed(self, gitlab: GitLabLab) -> None:
        gitlab.pipeline("stages: [a, b]\none: {stage: a, script: [a]}\ntwo: {stage: b, script: [a]}")
        assert [facts.name for facts in gitlab.forge.jobs()] == ["one"]

    def test_a_merge_request_is_told_by_its_branch(self, gitlab: GitLabLab) -> None:
        rule = "rules: [{if: '$CI_PIPELINE_SOURCE == \"merge_request_event\"'}]"
        path = f"/projects/{gitlab.project_id}"
        body = {
            "branch": "topic",
            "start_branch": "main",
            "commit_message": "CI",
            "actions": [
                {
                    "action": "create",
                    "file_path": ".gitlab-ci.yml",
                    "content": f"one: {{script: [a], {rule}}}",
                }
            ],
        }
        assert gitlab.simulator.api("POST", f"{path}/repository/commits", json=body).is_success
        request = {"source_branch": "topic", "target_branch": "main", "title": "Topic"}
        assert gitlab.simulator.api("POST", f"{path}/merge_requests", json=request).is_success
        (facts,) = gitlab.forge.jobs()
        assert (facts.ref, facts.fork, facts.known_origin) == ("topic", False, True)

    def test_the_reason_of_a_failure_is_told(self, gitlab: GitLabLab) -> None:
        gitlab.queue()
        facts = gitlab.forge.job(run_job(gitlab, good=False))
        assert facts is not None
        assert (facts.conclusion, facts.failure_reason) == ("failed", "runner_system_failure")


class TestReruns:
    def test_the_projects_own_retry_is_enough(self, gitlab: GitLabLab) -> None:
        tags = ", ".join(LABELS)
        pipeline = gitlab.pipeline(f"one: {{script: [a], retry: 1, tags: [{tags}]}}")
        key = run_job(gitlab, good=False)
        assert gitlab.forge.rerun(key, pipeline) is RerunOutcome.DONE
        assert calls(gitlab, "POST", "/retry") == []
        assert [facts.status for facts in gitlab.forge.jobs()] == [JobStatus.QUEUED]

    def test_a_second_wish_finds_the_first_ones_job(self, gitlab: GitLabLab) -> None:
        gitlab.queue()
        key = run_job(gitlab, good=False)
        facts = gitlab.forge.job(key)
        assert facts is not None
        answers = [gitlab.forge.rerun(key, facts.run_id) for _ in range(2)]
        assert answers == [RerunOutcome.DONE, RerunOutcome.DONE]
        run_job(gitlab, good=False)
        assert gitlab.forge.rerun(key, facts.run_id) is RerunOutcome.DONE
        assert gitlab.forge.jobs() == ()

    def test_an_answer_that_was_lost_does_not_lead_to_a_second_retry(self, gitlab: GitLabLab) -> None:
        gitlab.queue()
        key = run_job(gitlab, good=False)
        facts = gitlab.forge.job(key)
        assert facts is not None
        rule = {"path": f"/jobs/{key.job_id}/retry", "kind": "reset_after", "times": 1}
        gitlab.simulator.sim("POST", "/faults", **rule)
        error = failing(lambda: gitlab.forge.rerun(key, facts.run_id))
        assert error.failure.kind is FailureKind.UNKNOWN_OUTCOME
        assert gitlab.forge.rerun(key, facts.run_id) is RerunOutcome.DONE
        assert len(gitlab.forge.jobs()) == 1

    def test_what_succeeded_or_does_not_exist_is_refused(self, gitlab: GitLabLab) -> None:
        gitlab.queue()
        key = run_job(gitlab)
        assert gitlab.forge.rerun(key, 0) is RerunOutcome.REFUSED
        unknown = JobKey(key.forge, key.project, key.job_id + 100_000)
        assert gitlab.forge.rerun(unknown, 0) is RerunOutcome.REFUSED

    def test_who_may_not_retry_is_refused(self, gitlab: GitLabLab) -> None:
        gitlab.queue()
        key = run_job(gitlab, good=False)
        token = gitlab.simulator.user("reporter", **{gitlab.project: "reporter"})
        forge = gitlab.make(token=lambda: token)
        assert forge.rerun(key, 0) is RerunOutcome.REFUSED
        forge.close()


class TestFaults:
    @pytest.mark.parametrize(
        ("fault", "kind"),
        [
            ({"status": 500}, FailureKind.TRANSIENT),
            ({"status": 502, "body": "<html>"}, FailureKind.TRANSIENT),
            ({"kind": "reset"}, FailureKind.TRANSIENT),
            ({"kind": "token_expired"}, FailureKind.AUTH),
            ({"status": 403}, FailureKind.REFUSED),
            ({"status": 400}, FailureKind.CONFIG),
            ({"status": 200, "body": "<html>"}, FailureKind.TRANSIENT),
            ({"status": 200, "body": {"odd": 1}}, FailureKind.TRANSIENT),
        ],
    )
    def test_a_list_that_fails_is_no_list(
        self, gitlab: GitLabLab, fault: dict[str, Any], kind: FailureKind
    ) -> None:
        gitlab.queue()
        rule = {"path": f"/projects/{gitlab.project}/jobs", "times": 1, **fault}
        gitlab.simulator.sim("POST", "/faults", **rule)
        assert failing(gitlab.forge.jobs).failure.kind is kind
        assert len(gitlab.forge.jobs()) == 1

    @pytest.mark.parametrize("fault", [{"status": 503}, {"kind": "reset"}])
    def test_a_removal_without_an_answer_is_tried_again(
        self, gitlab: GitLabLab, fault: dict[str, Any]
    ) -> None:
        name = new_name()
        gitlab.start(gitlab.forge.register(P1, name, None))
        rule = {"method": "DELETE", "path": "/runners/managers", "times": 1, **fault}
        gitlab.simulator.sim("POST", "/faults", **rule)
        error = failing(lambda: gitlab.forge.deregister(name, None))
        assert error.failure.kind is FailureKind.UNKNOWN_OUTCOME
        assert gitlab.forge.deregister(name, None) is Removal.GONE

    def test_no_call_is_made_before_the_time_that_gitlab_names(self, gitlab: GitLabLab) -> None:
        rule = {"path": f"/projects/{gitlab.project}/jobs", "times": 1, "status": 429}
        gitlab.simulator.sim("POST", "/faults", **rule, headers={"Retry-After": "41"})
        failure = failing(gitlab.forge.jobs).failure
        assert (failure.kind, failure.retry_after_s) == (FailureKind.THROTTLED, 41.0)
        before = len(gitlab.simulator.sim("GET", "/log"))
        assert failing(gitlab.forge.runners).failure.kind is FailureKind.THROTTLED
        assert len(gitlab.simulator.sim("GET", "/log")) == before


def hook(gitlab: GitLabLab, receiver: Receiver) -> int:
    body = {"url": receiver.url, "job_events": True, "push_events": False}
    made = gitlab.simulator.api("POST", f"/projects/{gitlab.project_id}/hooks", json=body)
    assert made.status_code == 201, made.text
    return int(made.json()["id"])


class TestRedelivery:
    def test_failed_hooks_of_waiting_jobs_come_again_once(self, gitlab: GitLabLab) -> None:
        with receiving() as receiver:
            number = hook(gitlab, receiver)
            receiver.status = 500
            gitlab.queue()
            path = f"/projects/{gitlab.project_id}/hooks/{number}/events"
            wait_for(lambda: len(gitlab.simulator.api("GET", path).json()) >= 2)
            lost = [receiver.get()[1] for _ in range(2)]
            assert [body.get("build_status") for body in lost].count("pending") == 1
            receiver.status = 200
            forge = gitlab.make(webhook_url=receiver.url)
            assert forge.redeliver(time.time() - 600) == 1
            assert receiver.get()[1]["build_status"] == "pending"
            assert forge.redeliver(time.time() - 600) == 0
            restarted = gitlab.make(webhook_url=receiver.url)
            assert restarted.redeliver(time.time() - 600) == 0
            assert gitlab.make(webhook_url="http://127.0.0.1:9/other").redeliver(0.0) == 0
            forge.close()
            restarted.close()
