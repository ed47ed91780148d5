"""What is GitHub's own about jobs: attempts, re-runs, pages, forks."""

from contract.autoscaler.forge.github_calls import calls, failing, register
from contract.autoscaler.forge.labs import GitHubLab

from shadow_autoscaler.adapters.github import Account
from shadow_autoscaler.core.events import RerunOutcome
from shadow_autoscaler.core.faults import FailureKind
from shadow_autoscaler.core.jobs import ForgeKind, JobKey, JobStatus


class TestReruns:
    """Case 7: reclaimed jobs of one run."""

    def test_two_reclaimed_jobs_of_one_run_make_one_call_once_the_run_has_ended(
        self, github: GitHubLab
    ) -> None:
        github.queue(3)
        running = [github.start(register(github)) for _ in range(3)]
        first, second, sibling = (key for key in running if key is not None)
        facts = github.forge.job(first)
        assert facts is not None
        for lost in (first, second):
            github.finish(lost, good=False)
            assert github.forge.rerun(lost, facts.run_id) is RerunOutcome.NOT_YET
        github.finish(sibling)
        answers = [github.forge.rerun(lost, facts.run_id) for lost in (first, second)]
        assert answers == [RerunOutcome.DONE, RerunOutcome.DONE]
        assert len(calls(github, "POST", "rerun-failed-jobs")) == 1
        again = github.forge.jobs()
        assert {(one.key.attempt, one.status) for one in again} == {(2, JobStatus.QUEUED)}
        assert len(again) == 2

    def test_a_failed_second_attempt_is_no_reason_to_run_the_first_again(self, github: GitHubLab) -> None:
        github.queue()
        first = github.start(register(github))
        assert first is not None
        github.finish(first, good=False)
        facts = github.forge.job(first)
        assert facts is not None
        github.forge.rerun(first, facts.run_id)
        second = github.start(register(github))
        assert second is not None
        github.finish(second, good=False)
        assert github.forge.rerun(first, facts.run_id) is RerunOutcome.DONE
        assert len(calls(github, "POST", "rerun-failed-jobs")) == 1

    def test_a_run_that_github_will_not_repeat_is_refused(self, github: GitHubLab) -> None:
        github.queue()
        good = github.start(register(github))
        assert good is not None
        github.finish(good)
        facts = github.forge.job(good)
        assert facts is not None
        assert github.forge.rerun(good, facts.run_id) is RerunOutcome.REFUSED
        assert github.forge.rerun(good, facts.run_id + 1000) is RerunOutcome.REFUSED

    def test_an_answer_that_was_lost_does_not_lead_to_a_second_attempt(self, github: GitHubLab) -> None:
        github.queue()
        key = github.start(register(github))
        assert key is not None
        github.finish(key, good=False)
        facts = github.forge.job(key)
        assert facts is not None
        rule = {"kind": "after", "path": "rerun-failed-jobs", "status": 502, "times": 1}
        github.simulator.sim("POST", "/faults", rule)
        error = failing(lambda: github.forge.rerun(key, facts.run_id))
        assert error.failure.kind is FailureKind.UNKNOWN_OUTCOME
        assert github.forge.rerun(key, facts.run_id) is RerunOutcome.DONE
        assert len(calls(github, "POST", "rerun-failed-jobs")) == 1


class TestJobs:
    def test_a_large_matrix_is_read_page_by_page(self, github: GitHubLab) -> None:
        keys = github.queue(130)
        assert len(keys) == 100
        assert len({facts.key for facts in github.forge.jobs()}) == 130

    def test_a_list_that_fails_half_way_is_no_list(self, github: GitHubLab) -> None:
        github.queue()
        github.simulator.sim("POST", "/faults", {"path": r"/runs/\d+/jobs$", "status": 502, "times": 1})
        assert failing(github.forge.jobs).failure.kind is FailureKind.TRANSIENT

    def test_code_from_a_fork_is_told(self, github: GitHubLab) -> None:
        github.repository("fork")
        run = github.simulator.sim(
            "POST",
            "/runs",
            {
                "repository": github.project,
                "workflow": "on: push\njobs: {a: {runs-on: [gpu], steps: [{run: ls}]}}",
                "head_repository": f"{github.owner}/fork",
            },
        )
        (shown,) = github.jobs_of(run["id"])
        facts = github.forge.job(github.key(shown))
        assert facts is not None
        assert (facts.fork, facts.known_origin) == (True, True)
        assert [one.fork for one in github.forge.jobs()] == [True]

    def test_the_origin_of_a_run_is_asked_once(self, github: GitHubLab) -> None:
        for key in github.queue(3):
            facts = github.forge.job(key)
            assert facts is not None
            assert facts.known_origin
        runs = [line["path"].rpartition("/actions/")[2] for line in calls(github, "GET", "/actions/runs/")]
        assert len([path for path in runs if path.count("/") == 1]) == 1

    def test_only_the_named_repositories_are_looked_into(self, github: GitHubLab) -> None:
        github.repository("other")
        github.run("on: push\njobs: {a: {runs-on: [gpu], steps: [{run: ls}]}}", f"{github.owner}/other")
        github.queue()
        named = github.make(accounts=(Account(github.owner, ("jobs",)),))
        assert {facts.key.project for facts in named.jobs()} == {github.project}
        assert len({facts.key.project for facts in github.forge.jobs()}) == 2
        named.close()

    def test_a_job_of_a_repository_that_is_not_served_is_refused_without_a_call(
        self, github: GitHubLab
    ) -> None:
        error = failing(lambda: github.forge.job(JobKey(ForgeKind.GITHUB, "somebody/else", 1)))
        assert error.failure.kind is FailureKind.REFUSED
