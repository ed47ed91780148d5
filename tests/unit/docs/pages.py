"""The project's pages, taken apart by a Markdown parser."""

import re
from collections.abc import Iterator
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[3]
PATTERNS = (
    *("*.md", "docs/**/*.md", "components/*/*.md", "engine/*/*.md", "tests/localcloud/**/*.md"),
    *("examples/*.md", "examples/*/*.md"),
)
PAGES = sorted(path for pattern in PATTERNS for path in ROOT.glob(pattern))


def tokens(page: Path) -> Iterator[Token]:
    """Yield every token of a page, those inside of running text too."""
    for token in MarkdownIt("commonmark").enable("table").parse(page.read_text(encoding="utf-8")):
        yield token
        yield from token.children or ()


def links(page: Path) -> list[str]:
    """Return the targets of a page's links."""
    return [str(token.attrs["href"]) for token in tokens(page) if token.type == "link_open"]


def code(page: Path) -> str:
    """Return all that a page shows as code, a piece a line."""
    return "\n".join(token.content for token in tokens(page) if token.type in {"fence", "code_inline"})


def anchors(page: Path) -> set[str]:
    """Return the anchors that the forges make of a page's headings."""
    headings = re.findall(r"(?m)^#+ (.+)$", page.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
