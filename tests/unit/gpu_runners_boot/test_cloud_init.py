"""The `#cloud-config` document: exact content, same bytes each time, never larger than Nova takes."""

import base64
import gzip
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from shadow_gpu_runners import boot, boot_files, cloud_init
from shadow_gpu_runners._validation import InvalidInputsError, Problems
from shadow_gpu_runners.boot_files import BootSettings, Repository
from shadow_gpu_runners.cloud_init import BootFile, UserDataTooLargeError, assemble, encoded_size

SETTINGS = BootSettings(gpu_image="cuda:12")
RUN = [["bash", "/opt/shadow-runner/boot.sh"]]


def document(text: str) -> dict[str, list[dict[str, str]]]:
    assert text.startswith("#cloud-config\n")
    loaded: dict[str, list[dict[str, str]]] = yaml.safe_load(text)
    return loaded


def content(entry: dict[str, str]) -> str:
    if entry.get("encoding") == "gz+b64":
        return gzip.decompress(base64.b64decode(entry["content"])).decode()
    return entry["content"]


def test_files_and_commands_are_those_of_the_boot_contract() -> None:
    made = document(boot_files.user_data("token", SETTINGS))
    modes = {entry["path"]: entry["permissions"] for entry in made["write_files"]}
    assert made["runcmd"] == RUN
    assert modes["/etc/shadow-runner/config.toml"] == "0600"
    assert modes["/etc/shadow-runner/boot.env"] == "0600"
    assert {f"/opt/shadow-runner/{name}" for name in boot.SCRIPTS} < set(modes)
    assert {entry["owner"] for entry in made["write_files"]} == {"root:root"}


def test_scripts_arrive_byte_for_byte() -> None:
    made = document(boot_files.user_data("token", SETTINGS))
    written = {entry["path"]: content(entry) for entry in made["write_files"]}
    for name in boot.SCRIPTS:
        assert written[f"/opt/shadow-runner/{name}"] == (Path(boot.__file__).parent / name).read_text()


@pytest.mark.parametrize("end", ["\x85", "\u2028", "\u2029", "\r\n"])
def test_other_ends_of_lines_arrive(end: str) -> None:
    text = f"one{end}two\nthree"
    assert document(assemble([BootFile("/a", text)], RUN))["write_files"][0]["content"] == text


def test_other_processes_make_the_same_bytes() -> None:
    program = (
        "import sys; from shadow_gpu_runners import boot_files as b; "
        "sys.stdout.write(b.user_data('token', b.BootSettings(gpu_image='cuda:12')))"
    )
    run = [subprocess.run([sys.executable, "-c", program], capture_output=True, check=True) for _ in range(2)]
    assert run[0].stdout == run[1].stdout == boot_files.user_data("token", SETTINGS).encode()


@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n\t")), max_size=4)
)
def test_any_text_arrives(texts: list[str]) -> None:
    files = [BootFile(f"/f/{index}", text) for index, text in enumerate(texts)]
    assert [content(entry) for entry in document(assemble(files, RUN))["write_files"]] == texts


@pytest.mark.parametrize("length", [0, 1, 2, 3, 1000])
def test_size_is_that_of_base64(length: int) -> None:
    assert encoded_size("ü" * length) == len(base64.b64encode(("ü" * length).encode()))


def test_large_files_are_compressed_only_when_needed() -> None:
    large = BootFile("/large", "the same line\n" * 4000)
    made = document(assemble([BootFile("/small", "text\n"), large], RUN))
    assert [entry.get("encoding") for entry in made["write_files"]] == [None, "gz+b64"]
    assert content(made["write_files"][1]) == large.content


def test_document_that_cannot_fit_names_its_size_and_the_largest_file() -> None:
    noise = "".join(f"{(index * 2654435761) % 2**32:08x}" for index in range(50_000))
    with pytest.raises(UserDataTooLargeError, match=r"bytes after base64, expected at most 65,535") as caught:
        assemble([BootFile("/small", "x"), BootFile("/large", noise)], RUN)
    assert "/large 400,000 bytes" in str(caught.value)


def test_largest_document_that_fits_is_taken() -> None:
    room = cloud_init.MAX_USER_DATA_BYTES
    assert encoded_size(boot_files.user_data("x" * 10_000, SETTINGS)) < room


def test_boot_env_survives_the_shell() -> None:
    env = boot_files.boot_env(BootSettings(gpu_image="it's $HOME `x`"))
    shown = subprocess.run(
        ["bash", "-c", f'eval {shlex.quote(env)}; printf %s "$SHADOW_GPU_IMAGE"'],
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout == "it's $HOME `x`"


def test_mirrors_and_cgroup_driver_reach_docker() -> None:
    settings = BootSettings(
        gpu_image="x", registry_mirrors=("https://mirror.test",), docker={"data-root": "/mnt/docker"}
    )
    daemon = yaml.safe_load(boot_files.daemon_json(settings))
    assert daemon["registry-mirrors"] == ["https://mirror.test"]
    assert daemon["exec-opts"] == ["native.cgroupdriver=cgroupfs"]
    assert daemon["data-root"] == "/mnt/docker"


def test_proxies_are_written_in_both_spellings_to_a_private_file() -> None:
    settings = BootSettings(
        gpu_image="x", https_proxy="http://ci:pa55@proxy.test:3128", no_proxy="gitlab.test"
    )
    made = document(boot_files.user_data("token", settings))
    entry = next(each for each in made["write_files"] if each["path"].endswith("proxy.env"))
    assert entry["permissions"] == "0600"
    assert entry["content"].splitlines() == [
        "https_proxy=http://ci:pa55@proxy.test:3128",
        "HTTPS_PROXY=http://ci:pa55@proxy.test:3128",
        "no_proxy=gitlab.test",
        "NO_PROXY=gitlab.test",
    ]


def test_every_fault_of_the_settings_is_reported() -> None:
    bad = Repository("Bad Name", "ftp://x", "key", "ABC", suite="jammy")
    settings = BootSettings(
        gpu_image="x",
        gpu_count=9,
        gpu_timeout_s=-1,
        packages=("gitlab-runner=1.0; rm -rf /",),
        repositories=(bad,),
        registry_mirrors=("mirror",),
        https_proxy="ci:pa55@proxy",
    )
    problems = Problems("GitLabRunner 'ci'")
    boot_files.check(settings, problems)
    paths = [path for path, _ in problems.found]
    assert paths == [
        "boot.gpu_count",
        "boot.gpu_timeout_s",
        "boot.packages",
        "boot.repositories.Bad Name",
        "boot.repositories.Bad Name.uri",
        "boot.repositories.Bad Name.key_url",
        "boot.repositories.Bad Name.fingerprint",
        "boot.repositories.Bad Name.components",
        "boot.registry_mirrors",
        "boot.https_proxy",
    ]
    with pytest.raises(InvalidInputsError) as caught:
        problems.raise_if_any()
    assert "pa55" not in str(caught.value)


def test_default_repositories_pass_their_own_check() -> None:
    problems = Problems("x")
    boot_files.check(SETTINGS, problems)
    assert problems.found == []
