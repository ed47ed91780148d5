"""Reading CI files: includes, references, extends, defaults, matrix, and the faults that lint names."""

from typing import Any

import pytest

from localcloud.gitlab.ci.config import compile_file
from localcloud.gitlab.ci.durations import seconds
from localcloud.gitlab.ci.globs import matches
from localcloud.gitlab.ci.loader import CiError
from localcloud.gitlab.ci.rules import Situation, jobs_for, workflow_allows
from localcloud.gitlab.ci.spec import CiConfig, JobSpec


def config(text: str, **files: str) -> CiConfig:
    def read(path: str) -> bytes | None:
        return files[path].encode() if path in files else None

    return compile_file(text.encode(), read)


def job(text: str, **files: str) -> JobSpec:
    return config(text, **files).jobs[0]


def faults(text: str) -> list[str]:
    with pytest.raises(CiError) as refused:
        config(text)
    return refused.value.problems


def situation(**changes: Any) -> Situation:
    given: dict[str, Any] = {
        "ref": "main", "tag": False, "source": "push", "variables": {"CI_COMMIT_BRANCH": "main"},
        "changed": lambda: ["src/a.py"], "files": lambda: ["Dockerfile", "src/a.py"],
    } | changes  # fmt: skip
    return Situation(**given)


def names(text: str, **changes: Any) -> list[str]:
    return [item.name for item in jobs_for(config(text), situation(**changes))]


def test_a_job_without_keywords_has_gitlab_s_defaults() -> None:
    found = job("one: {script: run}")
    assert (found.stage, found.script, found.when, found.allow_failure) == (
        "test",
        ["run"],
        "on_success",
        False,
    )
    assert (found.retry_max, found.retry_when, found.needs, found.tags) == (0, ["always"], None, [])


def test_stages_keep_their_order_between_pre_and_post() -> None:
    assert config("stages: [b, a]\none: {stage: a, script: x}").stages == [".pre", "b", "a", ".post"]


def test_included_files_are_below_the_file_itself() -> None:
    base = "one: {script: base, image: old, variables: {A: '1'}}"
    found = job("include: base.yml\none: {image: new, variables: {B: '2'}}", **{"base.yml": base})
    assert (found.script, found.image) == (["base"], {"name": "new"})
    assert set(found.variables) == {"A", "B"}


def test_extends_merges_mappings_and_replaces_lists() -> None:
    text = """
.a: {variables: {X: a, Y: a}, tags: [t1, t2]}
.b: {extends: .a, variables: {Y: b}}
one: {extends: [.b], tags: [t3], script: x}
"""
    found = job(text)
    assert {key: item.value for key, item in found.variables.items()} == {"X": "a", "Y": "b"}
    assert found.tags == ["t3"]


def test_references_join_lists() -> None:
    text = """
.s: {script: [a, b]}
.t: {script: [!reference [.s, script], c]}
one: {script: [!reference [.t, script], d]}
"""
    assert job(text).script == ["a", "b", "c", "d"]


def test_defaults_can_be_left_out_by_name() -> None:
    text = "default: {image: i, retry: 2}\none: {script: x, inherit: {default: [image]}}"
    found = job(text)
    assert (found.image, found.retry_max) == ({"name": "i"}, 0)


def test_the_matrix_multiplies_out_and_fills_tags() -> None:
    text = "one: {script: x, tags: ['$GPU'], parallel: {matrix: [{GPU: [a, b], N: [1]}, {GPU: c}]}}"
    found = jobs_for(config(text), situation())
    assert [item.name for item in found] == ["one: [a, 1]", "one: [b, 1]", "one: [c]"]
    assert [item.tags for item in found] == [["a"], ["b"], ["c"]]
    assert [item.node_index for item in found] == [1, 2, 3]


def test_parallel_numbers_its_copies() -> None:
    assert names("one: {script: x, parallel: 2}") == ["one 1/2", "one 2/2"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("- a", "Invalid configuration format"),
        ("a: [b", "(.gitlab-ci.yml)"),
        (".hidden: {script: x}", "jobs config should contain at least one visible job"),
        ("one: {script: [1]}", "jobs:one:script config should be a string or a nested array of strings"),
        ("one: {script: []}", "jobs:one:script config can't be blank"),
        ("one: {script: x, tags: gpu}", "jobs:one:tags config should be an array of strings"),
        ("one: {script: x, when: later}", "jobs:one:when config should be one of"),
        ("one: {script: x, when: delayed}", "`delayed` is not supported"),
        ("one: {script: x, retry: 3}", "jobs:one:retry max must be less than or equal to 2"),
        (
            "one: {script: x, retry: {max: 1, when: [bad]}}",
            "jobs:one:retry when contains unknown values: bad",
        ),
        ("one: {script: x, timeout: soon}", "jobs:one:timeout config should be a duration"),
        ("one: {script: x, rules: [{if: '$A ='}]}", "jobs:one:rules rule if invalid expression syntax"),
        ("one: {script: x, rules: [{unless: x}]}", "rule config contains unknown keys: unless"),
        ("one: {script: x, rules: [], only: [main]}", "config key may not be used with `rules`"),
        ("one: {script: x, parallel: 201}", "jobs:one:parallel config should be an integer"),
        ("one: {script: x, artifacts: {path: [a]}}", "jobs:one:artifacts config contains unknown keys: path"),
        ("one: {script: x, image: {entrypoint: ['']}}", "jobs:one:image config should be a hash or a string"),
        ("one: {script: x, secrets: {}}", "keyword `secrets` is not supported"),
        ("one: {script: x, needs: [{pipeline: p, job: j}]}", "`needs:project` and `needs:pipeline`"),
        ("one: {script: x, dependencies: [two]}", "one job: undefined dependency: two"),
        ("one: {extends: .no, script: x}", "one: unknown keys in `extends` (.no)"),
        (".a: {extends: .b}\n.b: {extends: .a}\none: {extends: .a, script: x}", "circular dependency"),
        ("one: {script: !reference [.a, script]}", '!reference [".a", "script"] could not be found'),
        ("include: [{template: Auto.yml}]\none: {script: x}", "`template` is not supported"),
        ("include: none.yml\none: {script: x}", "Local file `none.yml` does not exist!"),
        ("one: {script: x, needs: [two]}\ntwo: {script: x, needs: [one]}", "circular dependencies: one, two"),
        ("default: {script: x}\none: {script: x}", "default config contains unknown keys: script"),
        ("workflow: {name: n, x: 1}\none: {script: x}", "workflow config contains unknown keys: x"),
    ],
)
def test_faults_are_named(text: str, words: str) -> None:
    assert any(words in problem for problem in faults(text)), faults(text)


def test_all_faults_of_a_file_come_together() -> None:
    found = faults("one: {scrpt: x}\ntwo: {script: x, tags: t, when: no}\n")
    assert len(found) == 4


@pytest.mark.parametrize(
    ("rules", "changes", "runs"),
    [
        ("[{if: '$CI_COMMIT_BRANCH'}]", {}, True),
        ("[{if: '$CI_COMMIT_TAG'}]", {}, False),
        ("[{if: '$CI_COMMIT_BRANCH', when: never}, {when: always}]", {}, False),
        ("[{changes: ['src/**/*']}]", {}, True),
        ("[{changes: ['docs/*']}]", {}, False),
        ("[{changes: ['docs/*']}]", {"changed": lambda: None}, True),
        ("[{changes: {paths: ['$DIR/*']}}]", {"variables": {"DIR": "src"}}, True),
        ("[{exists: [Dockerfile]}]", {}, True),
        ("[{exists: ['*.lock']}]", {}, False),
        ("[]", {}, False),
    ],
)
def test_rules(rules: str, changes: dict[str, Any], runs: bool) -> None:
    assert bool(names(f"one: {{script: x, rules: {rules}}}", **changes)) is runs


def test_a_rule_changes_its_job() -> None:
    rule = "{if: '$CI_COMMIT_BRANCH', when: manual, allow_failure: true, variables: {A: b}}"
    text = f"one: {{script: x, rules: [{rule}]}}"
    found = jobs_for(config(text), situation())[0]
    assert (found.when, found.allow_failure, found.variables["A"].value) == ("manual", True, "b")


@pytest.mark.parametrize(
    ("policy", "changes", "runs"),
    [
        ("only: [main]", {}, True),
        ("only: [main]", {"ref": "other"}, False),
        ("only: [/^ma/]", {}, True),
        ("only: [tags]", {}, False),
        ("only: [tags]", {"tag": True}, True),
        ("except: [main]", {}, False),
        ("except: [main]", {"ref": "other"}, True),
        ("only: [merge_requests]", {"source": "merge_request_event"}, True),
        ("stage: test", {"source": "merge_request_event"}, False),
        ("only: {refs: [branches], variables: ['$A']}", {}, False),
        ("only: {changes: ['src/*']}", {}, True),
        ("except: {changes: ['src/*']}", {}, False),
    ],
)
def test_only_and_except(policy: str, changes: dict[str, Any], runs: bool) -> None:
    assert bool(names(f"one:\n  script: x\n  {policy}\n", **changes)) is runs


def test_workflow_rules_decide_and_add_variables() -> None:
    text = "workflow: {rules: [{if: '$GO', variables: {A: b}}]}\none: {script: x}"
    assert workflow_allows(config(text), situation()) == (False, {})
    assert workflow_allows(config(text), situation(variables={"GO": "1"})) == (True, {"A": "b"})


@pytest.mark.parametrize(
    ("path", "glob", "fits"),
    [
        ("a.py", "*.py", True),
        ("src/a.py", "*.py", False),
        ("src/a.py", "**/*.py", True),
        ("a.py", "**/*.py", True),
        ("src/x/a.py", "src/**/*", True),
        ("a.yml", "*.{yml,yaml}", True),
        ("a.txt", "*.{yml,yaml}", False),
        ("a+b", "a+b", True),
        ("ab", "a?", True),
        ("a/b", "a?b", False),
        ("c1", "c[0-9]", True),
    ],
)
def test_globs(path: str, glob: str, fits: bool) -> None:
    assert matches(path, glob) is fits


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3600", 3600), ("1h 30m", 5400), ("90 minutes", 5400), ("2 hours and 5 seconds", 7205),
        ("1 week", 604800),
        (600, 600), ("soon", None), ("", None), ("5 parsecs", None),
    ],
)  # fmt: skip
def test_durations(text: object, value: int | None) -> None:
    assert seconds(text) == value
