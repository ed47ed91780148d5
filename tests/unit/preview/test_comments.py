"""One comment: updated, never doubled, never over a newer one, and never somebody else's."""

from typing import Any

import pytest

from preview import comments
from preview.comments import Note, marker, post
from preview.errors import CommentError
from preview.github_thread import GitHubThread
from preview.gitlab_thread import GitLabThread


class FakeThread:
    """Comments in memory; `before_create` runs between the look and the creation, as another run may."""

    limit = 65_536

    def __init__(self, *notes: Note) -> None:
        self.notes = {note.note_id: note.body for note in notes}
        self.before_create: Any = None

    def mine(self) -> list[Note]:
        return [Note(number, body) for number, body in self.notes.items()]

    def create(self, body: str) -> None:
        action, self.before_create = self.before_create, None
        if action:
            action()
        self.notes[max(self.notes, default=0) + 1] = body

    def update(self, note_id: int, body: str) -> None:
        self.notes[note_id] = body

    def delete(self, note_id: int) -> None:
        del self.notes[note_id]


def test_first_run_adds_and_later_runs_update_in_place() -> None:
    thread = FakeThread()
    assert post(thread, "acme/dev", 1, "one") == "added a comment"
    assert post(thread, "acme/dev", 2, "two") == "updated the comment"
    assert list(thread.notes.values()) == [f"{marker('acme/dev', 2)}\ntwo"]


def test_each_stack_has_its_own_comment() -> None:
    thread = FakeThread()
    post(thread, "acme/dev", 1, "dev")
    post(thread, "acme/dev2", 1, "dev2")
    post(thread, "acme/dev", 2, "dev again")
    assert [body.partition("\n")[2] for body in thread.notes.values()] == ["dev again", "dev2"]


def test_an_older_run_never_overwrites_a_newer_one() -> None:
    thread = FakeThread()
    post(thread, "acme/dev", 7, "new")
    assert "later run" in post(thread, "acme/dev", 6, "old")
    assert "new" in thread.notes[1]


@pytest.mark.parametrize("other", [4, 6])
def test_two_runs_at_once_end_with_one_comment_of_the_later(other: int) -> None:
    thread = FakeThread()
    thread.before_create = lambda: post(thread, "acme/dev", other, f"run {other}")
    post(thread, "acme/dev", 5, "run 5")
    assert list(thread.notes.values()) == [f"{marker('acme/dev', max(5, other))}\nrun {max(5, other)}"]


def test_a_quoted_marker_is_no_comment_of_ours() -> None:
    thread = FakeThread(Note(1, f"> {marker('acme/dev', 1)}"))
    post(thread, "acme/dev", 2, "text")
    assert len(thread.notes) == 2


def test_a_stack_name_cannot_end_the_hidden_line() -> None:
    assert "-->" not in marker("acme/a--> x", 1).removesuffix("-->")


def _threads(url: str) -> dict[str, comments.Thread]:
    return {
        "github": GitHubThread(url, "ghs_planted", "acme/app", 3),
        "gitlab": GitLabThread(f"{url}/api/v4", "glpat-planted", "7", 3),
    }


@pytest.mark.parametrize("kind", ["github", "gitlab"])
def test_forges_update_one_comment(forge: Any, kind: str) -> None:
    thread = _threads(forge.url)[kind]
    forge.add(f"{marker('acme/dev', 0)}\nforged", login="mallory", user_id=9, kind="User")
    post(thread, "acme/dev", 1, "one")
    post(thread, "acme/dev", 2, "two")
    assert [found["body"].partition("\n")[2] for found in forge.comments.values()] == ["forged", "two"]


@pytest.mark.parametrize("kind", ["github", "gitlab"])
def test_forges_clear_doubles_away(forge: Any, kind: str) -> None:
    for run in (1, 2):
        forge.add(f"{marker('acme/dev', run)}\nrun {run}")
    post(_threads(forge.url)[kind], "acme/dev", 3, "three")
    assert [found["body"].partition("\n")[2] for found in forge.comments.values()] == ["three"]


def test_a_workflow_token_that_cannot_ask_who_it_is_still_finds_its_comment(forge: Any) -> None:
    forge.who_status = 403
    forge.add(f"{marker('acme/dev', 1)}\none", login="github-actions[bot]", user_id=41898282)
    post(_threads(forge.url)["github"], "acme/dev", 2, "two")
    assert len(forge.comments) == 1


@pytest.mark.parametrize("kind", ["github", "gitlab"])
@pytest.mark.parametrize(
    ("status", "word"), [(401, "not valid"), (403, "may not comment"), (404, "does not exist")]
)
def test_refusals_are_explained(forge: Any, kind: str, status: int, word: str) -> None:
    forge.refuse = status
    with pytest.raises(CommentError, match=word) as refused:
        post(_threads(forge.url)[kind], "acme/dev", 1, "text")
    assert "planted" not in str(refused.value)


@pytest.mark.parametrize("kind", ["github", "gitlab"])
def test_a_comment_removed_meanwhile_is_no_fault(forge: Any, kind: str) -> None:
    _threads(forge.url)[kind].delete(99)
    assert ("DELETE" in {verb for verb, _ in forge.calls}) is True
