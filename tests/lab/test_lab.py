"""The lab without Docker: names, cgroup mounts, recipes, inventory, command line."""

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import common
import container
import debian
import docker_image
import pytest
import uml_tools

import inventory

LAB = Path(__file__).resolve().parents[2] / "lab"


def lab(*arguments, **environment):
    """Run the command line with some of the environment replaced."""
    return subprocess.run(
        [sys.executable, str(LAB), *arguments],
        text=True,
        capture_output=True,
        check=False,
        env={**os.environ, **environment},
    )


@pytest.mark.parametrize(
    "files, mode",
    [
        (["cgroup.controllers"], "v2"),
        (["unified/cgroup.procs", "systemd/cgroup.procs"], "hybrid"),
        (["systemd/cgroup.procs"], "v1"),
    ],
)
def test_cgroup_mode(tmp_path, files, mode):
    for name in files:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert container.cgroup_mode(tmp_path) == mode


@pytest.mark.parametrize(
    "mode, systemd, source",
    [
        ("v2", 247, "/sys/fs/cgroup"),
        ("v2", 262, "/sys/fs/cgroup"),
        ("hybrid", 252, "/sys/fs/cgroup"),
        ("hybrid", 257, "/sys/fs/cgroup/unified"),
        ("v1", 252, "/sys/fs/cgroup"),
    ],
)
def test_cgroup_volume(mode, systemd, source):
    assert container.cgroup_volume(mode, systemd) == f"{source}:/sys/fs/cgroup:rw"


def test_new_systemd_on_cgroup_v1_is_refused():
    with pytest.raises(common.LabError, match="cgroup v2"):
        container.cgroup_volume("v1", 257)


def test_servers():
    assert debian.server("mysql").suite == "sid"
    assert debian.server("mariadb").suite == "bookworm"
    assert debian.server("mariadb", "11").suite == "bullseye"
    with pytest.raises(common.LabError, match="there is: sid"):
        debian.server("mysql", "12")


def test_recipes_differ_between_servers_and_stay_the_same():
    recipes = [docker_image.recipe(item) for item in debian.SERVERS]
    assert len(set(recipes)) == len(recipes)
    assert recipes == [docker_image.recipe(item) for item in debian.SERVERS]


def test_inventory(tmp_path, monkeypatch):
    monkeypatch.setattr(inventory, "PROJECT", tmp_path)
    hosts = {"source": {"ansible_host": "a b"}, "replica1": {"ansible_host": "c"}, "client": {}}
    target = inventory.write("docker", hosts)
    assert target == tmp_path / "inventory" / "lab" / "hosts.yml"
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    text, first = target.read_text(), inventory.password("docker")
    assert first and "semisync_client:" in text and 'ansible_host: "a b"' in text
    inventory.write("docker", hosts, keep_password=True)
    assert inventory.password("docker") == first
    inventory.write("docker", hosts)
    assert inventory.password("docker") != first
    inventory.remove("docker")
    inventory.remove("docker")
    assert not target.parent.exists()


def test_inventory_is_yaml(tmp_path, monkeypatch):
    yaml = pytest.importorskip("yaml")
    monkeypatch.setattr(inventory, "PROJECT", tmp_path)
    odd = "-o 'x y' \"z\" \\ : #"
    target = inventory.write("uml", {"source": {"ansible_ssh_common_args": odd}, "replica1": {}})
    children = yaml.safe_load(target.read_text())["all"]["children"]
    assert children["semisync_source"]["hosts"]["source"]["ansible_ssh_common_args"] == odd


def test_identity_is_forgotten_inside_the_root(tmp_path):
    hook = debian.in_root("echo 'a b' > /x")
    assert hook == "chroot \"$1\" sh -ec 'echo '\\''a b'\\'' > /x'"


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["up", "--replicas", "0"], "not a number from 1 to 9"),
        (["up", "--server", "oracle"], "invalid choice"),
        (["flags", "--server", "mysql", "--release", "12"], "there is: sid"),
        (["up", "--kind", "uml", "--proxy"], "with --kind docker only"),
    ],
)
def test_bad_arguments(arguments, words):
    done = lab(*arguments)
    assert done.returncode and words in done.stderr and "Traceback" not in done.stderr


def test_docker_missing(tmp_path):
    done = lab("up", PATH=str(tmp_path))
    assert done.returncode == 1
    assert done.stderr.startswith("lab: error: docker is missing: install it")


def test_docker_does_not_answer(tmp_path):
    program = tmp_path / "docker"
    program.write_text("#!/bin/sh\necho 'Cannot connect to the Docker daemon' >&2; exit 1\n")
    program.chmod(0o755)
    done = lab("down", PATH=f"{tmp_path}:/usr/bin:/bin")
    assert done.returncode == 1
    assert "docker does not answer: start it" in done.stderr


@pytest.mark.skipif(not shutil.which("ssh-keygen"), reason="needs ssh-keygen")
def test_labs_whose_hosts_have_the_same_addresses_share_no_connection(tmp_path):
    """Ansible names its kept connections by address: one lab's playbook once ran on another's
    hosts.
    """
    ask = "import json, uml_host; print(json.dumps(uml_host.connection('source')))"
    one, other = (
        json.loads(
            subprocess.run(
                [sys.executable, "-c", ask],
                cwd=LAB,
                text=True,
                capture_output=True,
                check=True,
                env={**os.environ, "SEMISYNC_CACHE": str(tmp_path), "SEMISYNC_LAB": name},
            ).stdout
        )
        for name in ("a", "b")
    )
    assert one["ansible_host"] == other["ansible_host"]
    assert one["ansible_control_path_dir"] != other["ansible_control_path_dir"]


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("fpu xsave avx2", False),
        ("fpu avx512f pku ospke", False),
        ("fpu amx_bf16 avx512_fp16 amx_tile amx_int8", True),
    ],
)
def test_a_processor_with_amx_has_more_than_the_kernel_of_a_host_knows(flags, expected):
    cpuinfo = f"processor\t: 0\nmodel name\t: amx_tile\nflags\t\t: {flags}\nbugs\t\t: mmio\n"
    assert uml_tools.needs_xstate(cpuinfo) is expected
