"""Workflow files: what is refused, matrices, needs, triggers."""

import pytest

from localcloud.github.workflow_files import (
    MAX_MATRIX,
    WorkflowError,
    dependents_of,
    expand_matrix,
    job_name,
    parse,
    runs_on,
    triggered,
)

STEPS = "steps: [{run: ls}]"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: [", "yaml syntax"),
        ("on: push", "No jobs"),
        (f"jobs: {{a: {{runs-on: x, {STEPS}}}}}", "No event triggers"),
        (f"on: push\njobs: {{a: {{{STEPS}}}}}", "jobs.a: required property is missing: runs-on"),
        ("on: push\njobs: {a: {runs-on: x}}", "jobs.a: required property is missing: steps"),
        (f"on: push\njobs: {{a: {{needs: b, runs-on: x, {STEPS}}}}}", "'b' does not exist"),
        ("on: push\njobs: {a: {uses: ./x.yml}}", "reusable workflows"),
        (
            f"on: push\njobs: {{a: {{needs: b, runs-on: x, {STEPS}}}, b: {{needs: a, runs-on: x, {STEPS}}}}}",
            "form a circle",
        ),
    ],
)
def test_a_file_that_github_refuses_is_refused_with_its_place(text: str, problem: str) -> None:
    with pytest.raises(WorkflowError, match=problem.replace(".", r"\.")):
        parse(text)


def test_a_matrix_has_all_combinations_without_the_excluded_ones() -> None:
    found = expand_matrix({"os": ["a", "b"], "gpu": [1, 2], "exclude": [{"os": "b", "gpu": 2}]})
    assert found == [{"os": "a", "gpu": 1}, {"os": "a", "gpu": 2}, {"os": "b", "gpu": 1}]


def test_include_extends_what_fits_and_adds_what_does_not() -> None:
    found = expand_matrix(
        {"os": ["a", "b"], "include": [{"colour": "red"}, {"os": "b", "fast": True}, {"os": "c"}]}
    )
    assert found == [{"os": "a", "colour": "red"}, {"os": "b", "colour": "red", "fast": True}, {"os": "c"}]


def test_include_alone_is_a_matrix() -> None:
    assert expand_matrix({"include": [{"a": 1}, {"a": 2}]}) == [{"a": 1}, {"a": 2}]


def test_no_matrix_is_one_job() -> None:
    assert expand_matrix(None) == [{}]


def test_a_matrix_has_at_most_256_jobs() -> None:
    assert len(expand_matrix({"a": list(range(MAX_MATRIX))})) == MAX_MATRIX
    with pytest.raises(WorkflowError, match="256"):
        expand_matrix({"a": list(range(MAX_MATRIX + 1))})


@pytest.mark.parametrize(
    ("name", "combination", "shown"),
    [
        (None, {}, "test"),
        ("Test", {}, "Test"),
        (None, {"a": 1, "b": True}, "test (1, true)"),
        ("GPU ${{ matrix.a }}", {"a": 1}, "GPU ${{ matrix.a }}"),
    ],
)
def test_a_matrix_job_is_named_by_its_values(
    name: str | None, combination: dict[str, object], shown: str
) -> None:
    assert job_name("test", name, combination) == shown


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ("gpu", (["gpu"], None)),
        (["self-hosted", "gpu"], (["self-hosted", "gpu"], None)),
        ({"group": "g", "labels": "gpu"}, (["gpu"], "g")),
        ({"group": "g"}, ([], "g")),
    ],
)
def test_runs_on_has_three_forms(value: object, place: tuple[list[str], str | None]) -> None:
    assert runs_on(value) == place


def test_dependents_are_found_through_all_levels() -> None:
    jobs: dict[str, object] = {"a": {}, "b": {"needs": "a"}, "c": {"needs": ["b"]}, "d": {}}
    assert dependents_of(jobs, {"a"}) == {"a", "b", "c"}


@pytest.mark.parametrize(
    ("on", "event", "branch", "starts"),
    [
        ("push", "push", "x", True),
        ("[push, pull_request]", "pull_request", "x", True),
        ("pull_request", "push", "x", False),
        ("{push: {branches: [main, 'rel/*']}}", "push", "rel/1", True),
        ("{push: {branches: [main]}}", "push", "topic", False),
        ("{push: {branches-ignore: [main]}}", "push", "main", False),
        ("{push: }", "push", "x", True),
    ],
)
def test_a_trigger_may_name_branches(on: str, event: str, branch: str, starts: bool) -> None:
    workflow = parse(f"on: {on}\njobs: {{a: {{runs-on: x, {STEPS}}}}}")
    assert triggered(workflow, event, branch) is starts


@pytest.mark.parametrize(
    ("rule", "changed", "starts"),
    [
        ("paths: ['infra/**']", {"infra/a/b.py"}, True),
        ("paths: ['infra/**']", {"docs/infra/a.md"}, False),
        ("paths: ['*.yaml']", {"Pulumi.dev.yaml"}, True),
        ("paths: ['*.yaml']", {"infra/x.yaml"}, False),
        ("paths: ['**/*.md']", {"README.md"}, True),
        ("paths: ['infra/**', '!infra/*.md']", {"infra/x.md"}, False),
        ("paths: ['infra/**', '!infra/*.md']", {"infra/x.md", "infra/x.py"}, True),
        ("paths-ignore: ['docs/**']", {"docs/a.md"}, False),
        ("paths-ignore: ['docs/**']", {"docs/a.md", "a.py"}, True),
        ("paths: ['infra/**']", set(), False),
    ],
)
def test_a_path_filter_looks_at_what_was_changed(rule: str, changed: set[str], starts: bool) -> None:
    text = f"on: {{pull_request: {{{rule}}}}}\njobs: {{a: {{runs-on: x, {STEPS}}}}}"
    assert triggered(parse(text), "pull_request", "main", changed) is starts
