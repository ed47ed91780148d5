"""What the comment says, and what it never says."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from preview import digest, markdown, money, policies, quota, render
from preview.comments import GITHUB_LIMIT
from preview.digest import Preview
from preview.errors import InputError
from preview.policies import Finding, Policies
from preview.quota import Room
from preview.resources import changes
from preview.secrets import redacted
from shadow_gpu_runners.preview import read
from shadow_gpu_runners.quota import Limit, added

Load = Callable[[str], Preview]
POLICIES = Path(__file__).parents[2] / "policy"
NONE = Policies((), "")


def _report(preview: Preview, **more: Any) -> render.Report:
    more.setdefault("policies", NONE)
    return render.Report(
        stack=preview.stack or "acme/dev",
        preview=preview,
        changes=changes(preview),
        cost=money.estimate(preview, None),
        **more,
    )


def _text(preview: Preview, **more: Any) -> str:
    return render.comment(_report(preview, **more), GITHUB_LIMIT)


def _step(op: str, kind: str, name: str, **state: Any) -> dict[str, Any]:
    urn = f"urn:pulumi:dev::acme::{kind}::{name}"
    shown = {"urn": urn, "type": kind, "custom": True, "inputs": {}, **state}
    step = {"op": op, "urn": urn, "oldState": shown, "newState": None if op == "delete" else shown}
    return step if op != "create" else {**step, "oldState": None}


def _preview(*steps: dict[str, Any]) -> Preview:
    return Preview(steps=steps, errors=(), warnings=(), summary={})


def test_title_and_reasons_are_in_words(sample: Load) -> None:
    text = _text(sample("spot-to-on-demand"))
    assert "Preview of `acme/dev`: 2 replaced, 2 created" in text
    assert "2 GPU instances are replaced because flavor `edge-preemptible-c4m16-gpu-2000-1` becomes" in text
    assert "Jobs that run on `pool-01`, `pool-02` end" in text


def test_cost_is_shown_before_and_after_in_all_three_ways(sample: Load) -> None:
    text = _text(sample("spot-to-on-demand"))
    assert "**Cost**: EUR 423.40 → **EUR 1\u202f058.43** per month (+635.03)" in text
    assert "| as bought, partly assumed | 423.40 | 1\u202f058.43 | +635.03 |" in text
    assert "| if all were spot | 423.40 | 635.10 | +211.70 |" in text
    assert "| if all were on demand, assumed | 705.62 | 1\u202f058.43 | +352.81 |" in text
    assert "2026-11-30" in text
    assert "30 GiB of volume Wood" in text


def test_price_source_and_date_are_told(sample: Load) -> None:
    assert "public price list" in _text(sample("create"))


def test_what_has_no_price_is_never_counted_as_free() -> None:
    assert "**Cost**: not known, no price for 1 server edge-c4m16-gpu-0-1" in _text(_big(2))


def test_nothing_changes(sample: Load) -> None:
    text = _text(sample("unchanged"))
    assert "✅ Preview of `acme/dev`: nothing changes" in text
    assert "**Cost**: unchanged, EUR 423.40 per month." in text


def test_a_stack_without_priced_things_says_so() -> None:
    text = _text(_preview(_step("create", "openstack:networking/network:Network", "net")))
    assert "nothing in this stack is paid for by time" in text


def test_a_failed_preview_shows_the_error_and_no_money(sample: Load) -> None:
    text = _text(sample("program-error"), exit_code=1)
    assert "❌ The preview of `acme/dev` failed" in text
    assert "TypeError: '<' not supported" in text
    assert "Nothing was created or changed." in text
    assert "Cost" not in text


def test_an_exit_code_without_an_error_is_explained(sample: Load) -> None:
    assert "PULUMI_ENABLE_STREAMING_JSON_PREVIEW" in _text(sample("unchanged"), exit_code=255)


def test_protected_things_stand_out() -> None:
    text = _text(_preview(_step("delete", "openstack:networking/network:Network", "net", protect=True)))
    assert "🔒 `net` is protected and would be destroyed" in text


def test_objects_that_stay_are_told() -> None:
    text = _text(
        _preview(_step("delete", "openstack:blockstorage/volume:Volume", "data", retainOnDelete=True))
    )
    assert "the object itself stays in the cloud" in text


def test_policy_findings_from_the_rules_and_from_the_engine_look_alike(sample: Load) -> None:
    by_rules = policies.findings(sample("replace-and-scale-down"), POLICIES, {})
    by_engine = policies.findings(sample("streaming-policies"), POLICIES, {})
    for found in (by_rules, by_engine):
        assert found.violated
        text = _text(sample("replace-and-scale-down"), policies=found)
        assert "**Policies**: 3 violations" in text
        assert "| ⛔ | ownership-marks | `sg`, `sub` |" in text


def test_what_could_not_be_checked_is_said(sample: Load) -> None:
    found = policies.findings(sample("create"), POLICIES, {})
    assert "no-secret-in-user-data, `pool-01`, `pool-02`: not checked" in _text(
        sample("create"), policies=found
    )


def test_remarks_do_not_violate() -> None:
    found = Policies((Finding("spot-for-ci-pools", "vm", "on demand", blocking=False),), "rules")
    assert not found.violated
    assert "**Policies**: 1 remark." in _text(_preview(), policies=found)


def test_quota_that_does_not_fit_is_shown() -> None:
    rooms = [Room("instances", 12, 10), Room("ports", 3, 50)]
    text = _text(_preview(), quota=rooms)
    assert "| instances | 12 | 10 |" in text
    assert "ports" not in text
    assert "fits (3 of 50 ports)" in _text(_preview(), quota=rooms[1:])


def test_only_what_a_change_adds_takes_room(sample: Load) -> None:
    needed = added(read(sample("spot-to-on-demand").digest)).amounts
    limits = {
        "cores": Limit(20, 17),
        "ram_mib": Limit(65536, 0),
        "ports": Limit(-1, 99),
        "networks": Limit(1, 1),
    }
    rooms = quota.compare(needed, limits)
    assert rooms == [Room("cores", 4, 3), Room("ram MiB", 16384, 65536)]
    assert [room.resource for room in rooms if not room.fits] == ["cores"]


def test_a_cloud_that_cannot_be_asked_is_an_input_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clouds = tmp_path / "clouds.yaml"
    auth = "auth: {auth_url: 'http://127.0.0.1:9/v3', username: u, password: p, project_name: p}"
    clouds.write_text(f"clouds: {{gone: {{{auth}}}}}\n")
    monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(clouds))
    with pytest.raises(InputError, match=r"--quota gone: the cloud did not answer"):
        quota.check(_preview(), "gone")
    with pytest.raises(InputError, match=r"--quota other: .*other"):
        quota.check(_preview(), "other")


EVIL = "x` | @octocat <img src=x onerror=alert(1)> [a](http://evil.test) ![b](http://evil.test/p.png)\n# big"


def test_names_cannot_break_out_of_the_comment() -> None:
    steps = [_step("delete", "openstack:networking/network:Network", EVIL)]
    found = Policies((Finding("rule", EVIL, EVIL, blocking=True),), "rules")
    html = (
        MarkdownIt("commonmark", {"html": True})
        .enable("table")
        .render(_text(_preview(*steps), policies=found))
    )
    assert "<img" not in html
    assert "<a href" not in html
    assert "<h1" not in html
    assert "@octocat" not in html.replace("<code>", "<code>@").split("<code>")[0]


def test_property_names_cannot_break_out_of_the_comment() -> None:
    kind, path = "openstack:compute/instance:Instance", f'metadata["{EVIL} ] . /merge"]'
    strange = {f"{path}.{EVIL}\n/close": {"kind": "update"}}
    step = {**_step("update", kind, "a"), "detailedDiff": {path: {"kind": "update"}, **strange}}
    text = _text(_preview(step, _step("delete", f"x:y:{EVIL}", "b")))
    assert not [line for line in text.splitlines() if line.startswith(("/", "# "))]
    html = MarkdownIt("commonmark", {"html": True}).render(text)
    assert not [tag for tag in ("<img", "<a href", "<h1") if tag in html]


def test_a_property_that_sounds_secret_keeps_its_value_even_unmarked() -> None:
    kind, inputs = (
        "openstack:compute/instance:Instance",
        {"adminPass": "planted-old", "env": {"API_KEY": "p"}},
    )
    step = _step("update", kind, "a", inputs=inputs)
    step |= {
        "newState": {**step["newState"], "inputs": {"adminPass": "planted-new", "env": {"API_KEY": "q"}}}
    }
    step |= {"oldState": {**step["newState"], "inputs": inputs}}
    step |= {"detailedDiff": {"adminPass": {"kind": "update"}, "env.API_KEY": {"kind": "update"}}}
    text = _text(_preview(step))
    assert "planted" not in text
    assert "`p` becomes" not in text


def test_a_secret_is_found_in_every_spelling() -> None:
    secret = "pl<an>|t`ed&\n@x"
    shown = f"{markdown.code(secret)} {markdown.plain(secret)} {json.dumps(secret)} {secret}"
    assert redacted(shown, {"MY_TOKEN": secret}) == '`[secret]` [secret] "[secret]" [secret]'


def test_errors_cannot_close_their_block() -> None:
    preview = replace(_preview(), errors=("```\n# out\n@octocat",), failed=True)
    html = MarkdownIt("commonmark").render(_text(preview))
    assert "<h1" not in html


@pytest.mark.parametrize(
    "secret",
    [
        "glrt-t3_planted0123456789",
        "glpat-planted0123456789",
        "ghs_planted0123456789planted0123456789",
        "github_pat_planted0123456789_planted",
        "-----BEGIN RSA PRIVATE KEY-----\nplanted\n-----END RSA PRIVATE KEY-----",
        "AKIAPLANTED012345678"[:20],
        "https://bot:planted@gitlab.test/",
        "passphrase-planted",
    ],
)
def test_no_secret_leaves(secret: str) -> None:
    preview = replace(_preview(), errors=(f"failed with {secret} in it",), failed=True)
    text = redacted(_text(preview), {"PULUMI_CONFIG_PASSPHRASE": "passphrase-planted"})
    assert "planted" not in text.lower()
    assert "[secret]" in text


def _big(number: int) -> Preview:
    kind = "openstack:compute/instance:Instance"
    steps = [
        _step("create", kind, f"runner-{n:04d}-{'x' * 60}", inputs={"flavorName": f"edge-c4m16-gpu-{n}-1"})
        for n in range(number)
    ]
    return _preview(*steps)


def test_a_comment_never_exceeds_the_limit_and_keeps_what_matters() -> None:
    found = Policies(
        tuple(Finding(f"r{n}", f"vm-{n}", "m" * 3000, blocking=True) for n in range(40)), "rules"
    )
    for limit in (65_000, 8_000, 1_000):
        text = render.comment(_report(_big(2000), policies=found), limit)
        assert len(text) <= limit
        assert "2000 created" in text
        assert "would be too long" in text


def test_long_groups_are_cut_with_a_count() -> None:
    kind = "gitlab:index/userRunner:UserRunner"
    updates = [{**_step("update", kind, f"r-{n}"), "diffReasons": [f"word{chr(97 + n)}"]} for n in range(25)]
    assert "and 5 more kinds" in _text(_preview(*updates))
    steps = [_step("create", "openstack:networking/port:Port", f"port-{n:02d}") for n in range(25)]
    assert "`port-09` and 15 more" in _text(_preview(*steps))


def test_fitted_drops_the_least_important_first() -> None:
    parts = [(9, "title"), (1, "y" * 500), (5, "money")]
    text = markdown.fitted(parts, 200)
    assert text.startswith("title\n\nmoney")
    assert "yyy" not in text


def test_prices_may_be_replaced(sample: Load, tmp_path: Path) -> None:
    preview = sample("create")
    file = tmp_path / "prices.yaml"
    file.write_text("nonsense: [", encoding="utf-8")
    with pytest.raises(Exception, match=r"prices\.yaml"):
        money.estimate(preview, file)


def test_all_samples_are_free_of_secrets() -> None:
    for file in (Path(__file__).parent / "samples").iterdir():
        text = file.read_text(encoding="utf-8")
        assert redacted(text, {}) == text
        digest.read(text)
