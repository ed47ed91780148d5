"""Files that guests fetch from the package repositories' addresses, and the fingerprints of their keys."""

import base64
import re

_FINGERPRINTS = {
    "gitlab-runner/gpgkey": "931DA69CFA3AFEBBC97DAA8C6C57C29C6BA75A4E",
    "gitlab": "F6403F6544A38863DAA0B6E03F01618A51312F3F",
    "nvidia": "C95B321B61E88C1809C4F759DDCAE044F796ECB0",
    "docker": "9DC858229FC7DD38854AE2D88D81803C0EBFCD88",
}
_KEY_ADDRESS = re.compile(r"^https?://[^/]+/.*(gpg|key|\.asc)", re.IGNORECASE)
_TOOLKIT_LIST = "https://nvidia.github.io/libnvidia-container/stable/deb/nvidia-container-toolkit.list"
_MARK = "Fingerprint: "


def content(url: str) -> str | None:
    """Body of an address that this guest can fetch besides loopback; None for every other one."""
    if url == _TOOLKIT_LIST:
        return "deb https://nvidia.github.io/libnvidia-container/stable/deb/$(ARCH) /\n"
    if not _KEY_ADDRESS.match(url):
        return None
    fingerprint = next((value for word, value in _FINGERPRINTS.items() if word in url), None)
    return _armored(fingerprint) if fingerprint else None


def _armored(fingerprint: str) -> str:
    body = base64.b64encode(f"{_MARK}{fingerprint}\n".encode()).decode()
    return f"-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n{body}\n-----END PGP PUBLIC KEY BLOCK-----\n"


def dearmor(data: bytes) -> bytes:
    """Binary form of an armoured key; binary data stays as it is."""
    if b"-----BEGIN PGP" not in data:
        return data
    lines = [
        line
        for line in data.decode(errors="replace").splitlines()
        if line and not line.startswith(("-", "="))
    ]
    return base64.b64decode("".join(lines))


def fingerprint(data: bytes) -> str | None:
    """Fingerprint of a key made here."""
    text = dearmor(data).decode(errors="replace")
    return text.partition(_MARK)[2].strip() or None
