"""Small pieces of Markdown that hold up against any text, and the size limit of a comment."""

import re
from collections.abc import Iterable, Sequence

_MENTION = re.compile(r"(?<![\w`])@(?=\w)")


def code(text: str) -> str:
    """`text` as a code span: nothing in it is read as Markdown, HTML or a mention."""
    clean = re.sub(r"\s+", " ", text).replace("`", "'").replace("|", "\\|").strip()
    return f"`{clean}`" if clean else ""


def plain(text: str) -> str:
    """`text` as running text: HTML, tables and mentions are taken out of effect."""
    clean = re.sub(r"\s+", " ", text).strip()
    clean = clean.replace("&", "&amp;").replace("<", "&lt;").replace("|", "\\|")
    return _MENTION.sub("@\u200b", re.sub(r"(!?)\[", r"\1\\[", clean))


def fenced(text: str) -> str:
    """`text` as a block of code; the fence is longer than any inside."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}text\n{text.strip()}\n{fence}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: int = 0) -> str:
    """A table whose last `numbers` columns are aligned to the right."""
    width = len(head)
    rule = ["---"] * (width - numbers) + ["--:"] * numbers
    lines = [head, rule, *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def details(summary: str, body: str) -> str:
    """A part that is folded away until it is asked for."""
    return f"<details><summary>{summary}</summary>\n\n{body}\n\n</details>"


def fitted(parts: Sequence[tuple[int, str]], limit: int) -> str:
    """Join (importance, text) parts, leaving out the least important ones until `limit` characters fit."""
    note = "_Parts were left out because the comment would be too long; the job's log has everything._"
    kept = [(index, importance, text) for index, (importance, text) in enumerate(parts) if text]
    joined = "\n\n".join(text for _, _, text in kept)
    while len(joined) > limit and len(kept) > 1:
        kept.remove(min(kept, key=lambda part: (part[1], -part[0])))
        joined = "\n\n".join([*(text for _, _, text in kept), note])
    return joined if len(joined) <= limit else f"{joined[: limit - len(note) - 2]}\n\n{note}"
