"""Path patterns of `changes` and `exists`: `*` within a folder, `**` across folders, `{a,b}` alternatives."""

import re

SPECIAL = re.compile(r"\*\*/|\*\*|\*|\?|\[[^\]]+\]|\{[^}]*\}")


def matches(path: str, glob: str) -> bool:
    """Whether a path matches a pattern."""
    return re.fullmatch(_regex(glob), path) is not None


def any_match(paths: list[str], globs: list[str]) -> bool:
    """Whether some path matches some pattern."""
    compiled = [re.compile(_regex(glob)) for glob in globs]
    return any(regex.fullmatch(path) for regex in compiled for path in paths)


def _regex(glob: str) -> str:
    result, position = "", 0
    for match in SPECIAL.finditer(glob):
        result += re.escape(glob[position : match.start()]) + _piece(match.group())
        position = match.end()
    return result + re.escape(glob[position:])


def _piece(text: str) -> str:
    simple = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    if text in simple:
        return simple[text]
    if text.startswith("["):
        return text.replace("[!", "[^")
    return "(?:" + "|".join(_regex(part) for part in text[1:-1].split(",")) + ")"
