"""Stand-ins behave as the programs whose place they take, faults included."""

import json
import shlex

import pytest
from lab import Lab, sh

from localcloud.guests.guest import Guest

QUERY = "nvidia-smi --query-gpu=index,name,memory.total,temperature.gpu --format=csv,noheader"
IN_CONTAINER = "docker run --rm --gpus all nvidia/cuda:12.1.0-base-ubuntu22.04 "


@pytest.fixture
def faulty(docker_guest: Guest) -> object:
    yield docker_guest
    docker_guest.set_fault("")


def test_a_healthy_gpu_on_the_host_and_in_a_container(docker_guest: Guest) -> None:
    expected = "0, NVIDIA RTX 2000 Ada Generation, 16380 MiB, 31\n"
    assert sh(docker_guest, QUERY).stdout == expected
    assert sh(docker_guest, IN_CONTAINER + QUERY).stdout == expected
    assert "NVIDIA-SMI 550" in sh(docker_guest, "nvidia-smi").stdout


def test_csv_with_header_and_without_units(docker_guest: Guest) -> None:
    answer = sh(docker_guest, "nvidia-smi --query-gpu=name,memory.total --format=csv,nounits").stdout
    assert answer == "name, memory.total [MiB]\nNVIDIA RTX 2000 Ada Generation, 16380\n"
    assert sh(docker_guest, "nvidia-smi --query-gpu=colour --format=csv").returncode == 2


@pytest.mark.parametrize(
    ("fault", "code", "text"),
    [
        ("missing", 127, "command not found"),
        ("exit9", 9, "couldn't communicate with the NVIDIA driver"),
        ("late:3600", 9, "couldn't communicate with the NVIDIA driver"),
        ("late:0", 0, "16380 MiB, 31"),
        ("err", 0, "[Unknown Error]"),
        ("driver-mismatch", 18, "Driver/library version mismatch"),
        ("container-only", 0, "16380 MiB, 31"),
        ("daemon-reload", 0, "16380 MiB, 31"),
    ],
)
def test_gpu_faults_on_the_host(faulty: Guest, fault: str, code: int, text: str) -> None:
    faulty.set_fault(fault)
    answer = sh(faulty, QUERY)
    assert (answer.returncode, text in answer.stdout + answer.stderr) == (code, True), answer


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        ("container-only", "nvml error: driver not loaded"),
        ("exit9", "nvml error: driver not loaded"),
        ("late:3600", "nvml error: driver not loaded"),
        ("driver-mismatch", "nvml error: driver/library version mismatch"),
    ],
)
def test_gpu_faults_that_keep_a_container_from_starting(faulty: Guest, fault: str, text: str) -> None:
    faulty.set_fault(fault)
    answer = sh(faulty, IN_CONTAINER + "nvidia-smi")
    assert answer.returncode == 125
    assert text in answer.stderr


def test_err_fields_show_in_the_table_with_exit_code_0(faulty: Guest) -> None:
    faulty.set_fault("err")
    answer = sh(faulty, "nvidia-smi")
    assert (answer.returncode, "ERR!" in answer.stdout) == (0, True)


def test_a_hanging_gpu_must_be_killed(faulty: Guest) -> None:
    faulty.set_fault("hang")
    assert sh(faulty, "timeout 0.3 nvidia-smi").returncode == 124


def test_a_running_container_loses_its_gpu_by_a_reload_and_a_new_one_does_not(faulty: Guest) -> None:
    faulty.set_fault("daemon-reload")
    started = sh(faulty, IN_CONTAINER.replace("--rm", "-d --rm --name old") + "sleep 60")
    assert started.returncode == 0, started.stderr
    assert sh(faulty, "docker exec old nvidia-smi -L").returncode == 0
    sh(faulty, "systemctl daemon-reload")
    lost = sh(faulty, "docker exec old nvidia-smi -L")
    assert (lost.returncode, lost.stdout) == (255, "Failed to initialize NVML: Unknown Error\n")
    assert sh(faulty, IN_CONTAINER + "nvidia-smi -L").returncode == 0
    assert sh(faulty, "docker rm -f old").returncode == 0


def test_one_of_two_gpus(lab: Lab) -> None:
    guest = lab.add(flavor="edge-preemptible-c8m32-gpu-a4500-2", **{"sim.gpu_fault": "one-of-two"})
    lab.up(guest)
    assert sh(guest, "nvidia-smi -L | wc -l").stdout.strip() == "1"
    guest.set_fault("")
    assert sh(guest, "nvidia-smi -L | grep -c A4500").stdout.strip() == "2"


def test_a_flavor_without_gpu(lab: Lab) -> None:
    guest = lab.add(flavor="micro-c1m2")
    lab.up(guest)
    answer = sh(guest, "nvidia-smi")
    assert (answer.returncode, answer.stdout) == (6, "No devices were found\n")


@pytest.mark.parametrize("fault", ["broken", "late", "late:soon", "hang:3"])
def test_an_unknown_fault_is_refused(docker_guest: Guest, fault: str) -> None:
    with pytest.raises(ValueError, match="is no GPU fault: expected one of missing"):
        docker_guest.set_fault(fault)


# docker


def test_a_container_is_a_machine_of_its_own(docker_guest: Guest) -> None:
    sh(docker_guest, "echo secret > /etc/of-the-host; echo x > /tmp/of-the-host")
    look = (
        "ls -d /etc/of-the-host /tmp/* /var/lib/docker /.host/hardware/*; ls -d /proc/[0-9]* | wc -l; id -u"
    )
    answer = sh(docker_guest, f"docker run --rm ubuntu:22.04 bash -c {shlex.quote(look)}")
    assert answer.stdout.split() == ["3", "0"]


def test_a_volume_s_parents_can_be_entered_by_the_job_s_user(docker_guest: Guest) -> None:
    run = "docker run --rm -u 1000 -v /srv/deep:/builds/acme/app ubuntu:22.04 ls -d /builds/acme/app/."
    assert sh(docker_guest, run).stdout == "/builds/acme/app/.\n"


def test_there_is_no_gpu_without_asking(docker_guest: Guest) -> None:
    answer = sh(docker_guest, "docker run --rm nvidia/cuda:12.1.0-base-ubuntu22.04 nvidia-smi")
    assert (answer.returncode, "executable file not found in $PATH" in answer.stderr) == (127, True)


def test_options_of_run(docker_guest: Guest) -> None:
    sh(docker_guest, "mkdir -p /srv/in; echo data > /srv/in/file; printf 'C=3\\n' > /srv/env")
    answer = sh(
        docker_guest,
        "B=2 docker run --rm --name job -v /srv/in:/in:ro -v cache:/cache -w /in -e A=1 -e B "
        "--env-file /srv/env -u 1000:1000 --entrypoint sh ubuntu:22.04 "
        "-c 'cat file; pwd; echo $A$B$C; id -u; touch /in/x || echo ro; ls -d /cache'",
    )
    assert answer.stdout.split() == ["data", "/in", "123", "1000", "ro", "/cache"]
    assert sh(docker_guest, "docker ps -aq").stdout == ""


def test_standard_input_and_exit_code(docker_guest: Guest) -> None:
    answer = sh(docker_guest, "echo 'echo got; exit 7' | docker run -i --rm ubuntu:22.04 bash")
    assert (answer.stdout, answer.returncode) == ("got\n", 7)
    assert sh(docker_guest, "echo 'echo got' | docker run --rm ubuntu:22.04 bash").stdout == ""


def test_the_life_of_a_detached_container(docker_guest: Guest) -> None:
    assert len(sh(docker_guest, "docker run -d --name web ubuntu:22.04 sleep 100").stdout.strip()) == 64
    assert sh(docker_guest, "docker ps --format '{{.Names}}'").stdout == "web\n"
    conflict = sh(docker_guest, "docker run --name web ubuntu:22.04 true")
    assert (conflict.returncode, "is already in use" in conflict.stderr) == (125, True)
    inside = sh(docker_guest, "echo $HOSTNAME; ls /proc | grep -c '^[0-9]'", container="web")
    assert inside.returncode == 0
    assert sh(docker_guest, "docker rm web").returncode == 1
    assert sh(docker_guest, "docker kill web; docker rm web").returncode == 0
    assert sh(docker_guest, "docker ps -aq").stdout == ""


def test_images_that_cannot_be_had(docker_guest: Guest) -> None:
    unknown = sh(docker_guest, "docker run --rm acme/none:1 true")
    assert (unknown.returncode, "pull access denied for acme/none" in unknown.stderr) == (125, True)
    assert "manifest unknown" in sh(docker_guest, "docker pull nvidia/cuda:nope").stderr
    assert "No such image" in sh(docker_guest, "docker run --pull never --rm python:3.12 true").stderr


def test_gpus_need_the_toolkit_and_docker_needs_its_daemon(lab: Lab) -> None:
    guest = lab.add()
    lab.up(guest)
    assert sh(guest, "apt-get update && apt-get install -y docker.io").returncode == 0
    refused = sh(guest, IN_CONTAINER + "true")
    assert (refused.returncode, "could not select device driver" in refused.stderr) == (125, True)
    sh(guest, "systemctl stop docker")
    assert "Cannot connect to the Docker daemon" in sh(guest, "docker ps").stderr


# packages, services, network


def test_apt_finds_only_what_configured_repositories_have(lab: Lab) -> None:
    guest = lab.add()
    lab.up(guest)
    assert "Unable to locate package jq" in sh(guest, "apt-get install -y jq").stderr
    sh(guest, "apt-get update")
    assert sh(guest, "apt-get install -y jq && echo '{\"a\": 1}' | jq .a").stdout.endswith("1\n")
    missing = sh(guest, "apt-get install -y gitlab-runner nonsense")
    assert missing.returncode == 100
    assert "E: Unable to locate package gitlab-runner\nE: Unable to locate package nonsense" in missing.stderr


def test_a_repository_without_its_key_is_refused(lab: Lab) -> None:
    guest = lab.add()
    lab.up(guest)
    line = "deb [signed-by=/etc/apt/keyrings/d.gpg] https://download.docker.com/linux/ubuntu jammy stable"
    refused = sh(guest, f"echo '{line}' > /etc/apt/sources.list.d/d.list; apt-get update")
    assert (refused.returncode, "is not signed" in refused.stderr) == (100, True)
    key = "curl -fsSL https://download.docker.com/linux/ubuntu/gpg | gpg --dearmor -o /etc/apt/keyrings/d.gpg"
    assert (
        sh(guest, f"{key} && apt-get update && apt-get install -y docker-ce && docker ps -q").returncode == 0
    )
    shown = sh(guest, "gpg --show-keys --with-colons /etc/apt/keyrings/d.gpg").stdout
    assert "fpr:::::::::9DC858229FC7DD38854AE2D88D81803C0EBFCD88:" in shown


def test_addresses_outside_this_machine_do_not_resolve(docker_guest: Guest) -> None:
    for command, code in (("curl -sS https://example.com", 6), ("wget -q -O- http://example.com", 4)):
        assert sh(docker_guest, command).returncode == code


UNIT = """[Unit]
Description=demo
Requires=first.service
After=first.service
[Service]
Environment=GREETING=hello
ExecStart=/bin/bash -c 'echo "$GREETING $(cat /run/first)"; exec sleep 1000'
Restart=always
RestartSec=100ms
[Install]
WantedBy=multi-user.target
"""
FIRST = "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/bash -c '%s'\n"


def write_units(guest: Guest, first: str) -> None:
    units = guest.root / "etc/systemd/system"
    (units / "demo.service").write_text(UNIT)
    (units / "first.service").write_text(FIRST % first)


def test_a_service_starts_restarts_and_starts_again_at_the_next_boot(lab: Lab) -> None:
    guest = lab.add()
    lab.booted(guest)
    write_units(guest, "echo world > /run/first")
    assert sh(guest, "systemctl enable --now demo").returncode == 0
    shown = json.loads(sh(guest, "systemctl show -p MainPID --value demo").stdout)
    lab.until(lambda: "hello world" in sh(guest, "journalctl -u demo").stdout, "its journal")
    sh(guest, f"kill -9 {shown}")
    lab.until(lambda: sh(guest, "systemctl is-active demo").stdout == "active\n", "restart")
    assert json.loads(sh(guest, "systemctl show -p MainPID --value demo").stdout) != shown
    lab.servers.reboot(guest.id)
    lab.until(lambda: guest.record().boots == 2 and guest.process(), "second boot")
    lab.up(guest)
    lab.until(lambda: sh(guest, "systemctl is-active demo").stdout == "active\n", "start at boot")
    assert sh(guest, "systemctl stop demo; systemctl is-active demo").stdout == "inactive\n"


def test_a_service_does_not_start_when_what_it_requires_fails(lab: Lab) -> None:
    guest = lab.add()
    lab.up(guest)
    write_units(guest, "exit 1")
    refused = sh(guest, "systemctl start demo")
    assert refused.returncode == 1
    assert "dependency" in refused.stderr
    assert sh(guest, "systemctl is-active demo").stdout == "inactive\n"
    assert sh(guest, "systemctl start nothing").returncode == 5


def test_a_masked_service_does_not_start(docker_guest: Guest) -> None:
    assert "masked" in sh(docker_guest, "systemctl mask demo2; systemctl start demo2").stderr
    assert sh(docker_guest, "systemctl unmask demo2").returncode == 0


def test_firewall_rules_are_kept_as_iptables_shows_them(docker_guest: Guest) -> None:
    sh(
        docker_guest,
        "iptables -w -N TEST; iptables -A TEST -d 10.0.0.0/8 -j DROP; iptables -I TEST 1 -j RETURN",
    )
    assert (
        sh(docker_guest, "iptables -S TEST").stdout
        == "-N TEST\n-A TEST -j RETURN\n-A TEST -d 10.0.0.0/8 -j DROP\n"
    )
    assert sh(docker_guest, "iptables -C TEST -d 10.0.0.0/8 -j DROP").returncode == 0
    assert sh(docker_guest, "iptables -C TEST -d 11.0.0.0/8 -j DROP").returncode == 1
    assert "No chain/target/match by that name" in sh(docker_guest, "iptables -A NONE -j DROP").stderr
    assert sh(docker_guest, "iptables -A TEST -d nonsense -j DROP").returncode == 2
    assert sh(docker_guest, "iptables -F TEST; iptables -X TEST; iptables -S TEST").returncode == 1
