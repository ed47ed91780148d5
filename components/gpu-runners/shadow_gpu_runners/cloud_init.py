"""Assembles the `#cloud-config` document that a machine boots from: same inputs, same bytes.

Scripts stay readable text, so that a preview shows what changes in them. They are compressed, largest
first, only where the document would not fit otherwise: compressed bytes differ between zlib releases, and
a document that differs replaces machines.
"""

import base64
import gzip
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import yaml

MAX_USER_DATA_BYTES = 65_535
"""What Nova takes at most, counted after base64 (Compute API guide, "user data")."""


class UserDataTooLargeError(ValueError):
    """The assembled document does not fit into Nova's limit."""


@dataclass(frozen=True, slots=True)
class BootFile:
    """A file that cloud-init writes before anything runs."""

    path: str
    """Absolute path on the machine."""

    content: str
    """Text; may hold a secret, so keep the mode at 0600 then."""

    mode: str = "0600"
    """Octal permissions; the owner is root."""


def assemble(files: Sequence[BootFile], runcmd: Sequence[Sequence[str]]) -> str:
    """Return the document that writes `files` and then runs the commands `runcmd`.

    Raises `UserDataTooLargeError` when it exceeds Nova's limit even with every file compressed.
    """
    packed: set[str] = set()
    document = _document(files, runcmd, packed)
    for file in sorted(files, key=lambda each: len(each.content), reverse=True):
        if encoded_size(document) <= MAX_USER_DATA_BYTES:
            return document
        packed.add(file.path)
        document = _document(files, runcmd, packed)
    if encoded_size(document) > MAX_USER_DATA_BYTES:
        raise UserDataTooLargeError(_too_large(encoded_size(document), files))
    return document


def encoded_size(document: str) -> int:
    """Return the number of bytes of `document` after base64."""
    return (len(document.encode()) + 2) // 3 * 4


def _document(files: Iterable[BootFile], runcmd: Sequence[Sequence[str]], packed: set[str]) -> str:
    config = {
        "write_files": [_entry(file, compress=file.path in packed) for file in files],
        "runcmd": [list(command) for command in runcmd],
    }
    text: str = yaml.dump(  # pyright: ignore[reportUnknownMemberType]
        config,
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        width=2**20,
    )
    return f"#cloud-config\n{text}"


def _entry(file: BootFile, *, compress: bool) -> dict[str, str]:
    entry = {"path": file.path, "owner": "root:root", "permissions": file.mode}
    if not compress:
        return entry | {"content": file.content}
    squeezed = gzip.compress(file.content.encode(), compresslevel=9, mtime=0)
    return entry | {"encoding": "gz+b64", "content": base64.b64encode(squeezed).decode()}


def _too_large(size: int, files: Sequence[BootFile]) -> str:
    largest = sorted(files, key=lambda each: len(each.content.encode()), reverse=True)[:3]
    listed = ", ".join(f"{file.path} {len(file.content.encode()):,} bytes" for file in largest)
    return (
        f"user-data: {size:,} bytes after base64, expected at most {MAX_USER_DATA_BYTES:,} (Nova's limit); "
        f"shorten the largest files or bake them into the image: {listed}"
    )


class _Dumper(yaml.SafeDumper):
    """Writes text of several lines as a literal block, which people can read."""


def _text(_: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    # YAML takes more characters than the newline for ends of lines; a block would not keep those.
    style = "|" if "\n" in value else None
    if set("\x85\u2028\u2029") & set(value):
        style = '"'
    return yaml.ScalarNode("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)
