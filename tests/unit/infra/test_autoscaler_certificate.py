"""`autoscaler.tls.certificateFile`: what is no chain of certificates is refused before anything is made."""

import datetime as dt
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from unit.infra.test_autoscaler_settings import GOOD, load

import settings

KEY = Ed25519PrivateKey.generate()
PRIVATE = KEY.private_bytes(
    serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
)


def certificate() -> bytes:
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "ci.example.com")])
    start = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    unsigned = x509.CertificateBuilder(name, name, KEY.public_key(), 1, start, start.replace(year=2027))
    return unsigned.sign(KEY, None).public_bytes(serialization.Encoding.PEM)


CHAIN = certificate() * 2
WRONG = {
    "empty": b"",
    "binary": b"\xff\xfe\x00",
    "request": CHAIN.replace(b"CERTIFICATE", b"CERTIFICATE REQUEST"),
    "cut": CHAIN[:-40],
    "damaged": CHAIN.replace(b"M", b"Q", 20),
}


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in settings._SECRET_KEYS.values():
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setitem(GOOD, "autoscalerTlsKey", "k")


def fault(file: Path, **tls: Any) -> str:
    with pytest.raises(settings.SettingsError) as caught:
        load(tls={"mode": "certificate", "certificateFile": str(file), **tls})
    text = str(caught.value)
    assert "has 1 fault(s)" in text
    assert f"autoscaler.tls.certificateFile: got '{file}', expected" in text
    return text


def test_a_chain_is_taken(tmp_path: Path) -> None:
    (tmp_path / "chain.pem").write_bytes(b"# ours\n" + CHAIN)
    assert load(tls={"mode": "certificate", "certificateFile": str(tmp_path / "chain.pem")}).autoscaler


def test_a_chain_needs_its_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(GOOD, "autoscalerTlsKey")
    (tmp_path / "chain.pem").write_bytes(CHAIN)
    with pytest.raises(settings.SettingsError, match="autoscalerTlsKey: missing") as caught:
        load(tls={"mode": "certificate", "certificateFile": str(tmp_path / "chain.pem")})
    assert "certificateFile" not in str(caught.value)


@pytest.mark.parametrize("what", WRONG)
def test_a_file_without_certificates_is_refused(tmp_path: Path, what: str) -> None:
    (tmp_path / "chain.pem").write_bytes(WRONG[what])
    assert "expected whole certificates in PEM form" in fault(tmp_path / "chain.pem")


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    assert "expected a readable file" in fault(tmp_path)
    assert "expected a readable file" in fault(tmp_path / "nothing")


def test_a_file_that_holds_the_key_too_is_refused_and_not_shown(tmp_path: Path) -> None:
    """Certificates are no secret: the key would stand in the state and in previews."""
    (tmp_path / "chain.pem").write_bytes(CHAIN + PRIVATE)
    text = fault(tmp_path / "chain.pem")
    assert "autoscalerTlsKey" in text
    assert "PRIVATE KEY" not in text


def test_a_certificate_that_nothing_would_use_is_refused(tmp_path: Path) -> None:
    (tmp_path / "chain.pem").write_bytes(CHAIN)
    assert "expected none for mode 'acme'" in fault(tmp_path / "chain.pem", mode="acme")
