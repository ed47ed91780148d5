"""Links, commands, files and configuration keys that the pages name exist."""

import os
import re
import sys
from pathlib import Path

import pytest
from pydantic import BaseModel

from settings import Settings

sys.path.insert(0, str(Path(__file__).parent))

from pages import PAGES, ROOT, anchors, code, links

MODULE_ROOTS = ("infra", "tests", "engine")
REFERENCE = ROOT / "docs" / "reference" / "configuration.md"


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    broken: list[str] = []
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if "://" in link or (target.exists() and (not anchor or anchor in anchors(target))):
            continue
        broken.append(link)
    assert not broken


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_named_commands_exist(page: Path) -> None:
    text = code(page)
    scripts = {ROOT / path for path in re.findall(r"(?<![\w/.-])((?:scripts|\.ci)/\w+)", text)}
    missing = [str(script) for script in scripts if not os.access(script, os.X_OK)]
    modules = set(re.findall(r"python -m ([a-z_]+(?:\.[a-z_]+)*)", text))
    programs = {ROOT / root / module.replace(".", "/"): module for module in modules for root in MODULE_ROOTS}
    present = {module for folder, module in programs.items() if (folder / "__main__.py").is_file()}
    missing += sorted(modules - present)
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_named_files_exist(page: Path) -> None:
    # The article's repository is a checkout of its own, so its paths begin there.
    roots = (ROOT, ROOT / "examples" / "article")
    named = re.findall(
        r"(?<![\w/.<-])((?:infra|tests|engine|examples|components|docs)/[\w/.-]*\w)", code(page)
    )
    assert not [path for path in named if not any((root / path).exists() for root in roots)]


def test_every_page_is_in_the_index() -> None:
    index = ROOT / "docs" / "README.md"
    listed = {(index.parent / link).resolve() for link in links(index)}
    pages = [page for part in ("how-to", "reference") for page in (ROOT / "docs" / part).glob("*.md")]
    assert not [name(page) for page in pages if page not in listed]


def test_pages_that_messages_refer_to_exist() -> None:
    sources = [*ROOT.glob("infra/**/*.py"), *ROOT.glob("components/*/shadow_*/**/*.py"), *ROOT.glob("*.y*ml")]
    named = {page for file in sources for page in re.findall(r"docs/[\w/-]+\.md", file.read_text("utf-8"))}
    assert named
    assert not [page for page in named if not (ROOT / page).is_file()]


def keys(section: type[BaseModel]) -> set[str]:
    """Return the names of all keys in a section of the configuration and in the sections below it."""
    found: set[str] = set()
    for field in section.model_fields.values():
        found.add(str(field.alias))
        kinds = (field.annotation, *getattr(field.annotation, "__args__", ()))
        for kind in kinds:
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                found |= keys(kind)
    return found


def test_every_configuration_key_is_in_the_reference() -> None:
    rows = re.findall(r"(?m)^\| (`.+?) \|", REFERENCE.read_text(encoding="utf-8"))
    documented = set(re.findall(r"\w+", " ".join(rows)))
    assert documented - {"or"} == keys(Settings)
