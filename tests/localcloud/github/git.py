"""The little of git that the API needs: commits as whole trees, branches, file contents."""

import base64
import hashlib
from collections.abc import Iterable

from localcloud.github.simulator import Simulator
from localcloud.github.store import Doc


def branch(sim: Simulator, repo: Doc, name: str) -> Doc | None:
    """A branch by name, with or without `refs/heads/`."""
    return sim.store.get("branch", f"{repo['id']}:{name.removeprefix('refs/heads/')}")


def branches(sim: Simulator, repo: Doc) -> list[Doc]:
    """All branches."""
    return sim.store.find("branch", repo_id=repo["id"])


def commit(sim: Simulator, repo: Doc, reference: str | None) -> Doc | None:
    """Commit of a branch name or a sha; of the default branch where none is named."""
    found = branch(sim, repo, reference or repo["default_branch"])
    sha = found["sha"] if found else reference
    return sim.store.get("commit", f"{repo['id']}:{sha}")


def set_branch(sim: Simulator, repo: Doc, name: str, sha: str) -> Doc:
    """Make a branch, or move it."""
    name = name.removeprefix("refs/heads/")
    key = f"{repo['id']}:{name}"
    return sim.store.save("branch", {"key": key, "repo_id": repo["id"], "name": name, "sha": sha})


def write_files(
    sim: Simulator,
    repo: Doc,
    branch_name: str,
    files: dict[str, bytes | None],
    message: str,
    executable: Iterable[str] = (),
) -> Doc:
    """Commit new contents on a branch; None removes a file. The first commit makes the branch.

    Files stay executable once they were named so, as git keeps their mode.
    """
    parent = commit(sim, repo, branch_name) if branch(sim, repo, branch_name) else None
    tree: dict[str, str] = dict(parent["tree"]) if parent else {}
    for path, content in files.items():
        if content is None:
            tree.pop(path, None)
        else:
            tree[path] = put_blob(sim, content)
    runnable = {*(parent or {}).get("executable", ()), *executable} & tree.keys()
    made = _commit(sim, repo, parent, tree, message)
    made["executable"] = sorted(runnable)
    set_branch(sim, repo, branch_name, made["sha"])
    repo["pushed_at"] = sim.clock.iso()
    sim.store.save("repository", repo)
    return made


def _commit(sim: Simulator, repo: Doc, parent: Doc | None, tree: dict[str, str], message: str) -> Doc:
    tree_sha = _sha(repr(sorted(tree.items())))
    parent_sha = parent["sha"] if parent else None
    sha = _sha(f"{tree_sha}{parent_sha}{message}{sim.clock.now()}")
    doc: Doc = {
        "key": f"{repo['id']}:{sha}",
        "repo_id": repo["id"],
        "sha": sha,
        "tree_sha": tree_sha,
        "tree": tree,
        "parent": parent_sha,
        "message": message,
        "created_at": sim.clock.iso(),
    }
    return sim.store.save("commit", doc)


def put_blob(sim: Simulator, content: bytes) -> str:
    """Keep a file's content; its sha is git's own."""
    sha = hashlib.sha1(f"blob {len(content)}\0".encode() + content, usedforsecurity=False).hexdigest()
    sim.store.write_text(f"blob:{sha}", base64.b64encode(content).decode())
    return sha


def blob(sim: Simulator, sha: str) -> bytes:
    """Content of a file."""
    return base64.b64decode(sim.store.read_text(f"blob:{sha}") or "")


def files_of(sim: Simulator, made: Doc) -> dict[str, bytes]:
    """All files of a commit."""
    return {path: blob(sim, sha) for path, sha in made["tree"].items()}


def changed(made: Doc, before: Doc | None) -> set[str]:
    """Paths whose content differs between two commits."""
    old: dict[str, str] = before["tree"] if before else {}
    new: dict[str, str] = made["tree"]
    return {path for path in old.keys() | new.keys() if old.get(path) != new.get(path)}


def _sha(text: str) -> str:
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()
