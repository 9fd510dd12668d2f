"""`docker exec` as `make test` has it gives a command what the real one does."""

import os
import shutil
import subprocess

import pytest

from support.live_hosts import PROJECT, hosts

QUICK = PROJECT / "tests" / "tools" / "quick"
# What a process has from whoever started it, but for its own numbers and the ends of its pipes.
HAS = (
    "tr '\\0' '\\n' < /proc/self/environ | sort; pwd; umask; id; ulimit -a;"
    " cat /proc/self/cgroup /proc/self/attr/current 2>/dev/null;"
    " grep -E '^(Cap|Seccomp|NoNewPrivs|Sig(Blk|Ign))' /proc/self/status;"
    " readlink /proc/self/ns/*; ls /proc/self/fd"
)


@pytest.fixture(scope="module")
def host():
    for (made,) in hosts(("alone", "mariadb", "12"), turn="live-quick-docker"):
        yield made


@pytest.fixture(scope="module")
def both():
    """The real docker, and the quick one."""
    paths = [path for path in os.environ["PATH"].split(os.pathsep) if path != str(QUICK)]
    real = shutil.which("docker", path=os.pathsep.join(paths))
    assert real
    return real, str(QUICK / "docker")


def run(docker, *words, **keywords):
    return subprocess.run(
        [docker, *words], capture_output=True, text=True, check=False, timeout=60, **keywords
    )


def agents(host):
    """How many processes the agent has in a container; without one, all goes to the real docker."""
    return host.shell("pgrep -fc '[s]emisync-exec.sock'", check=False).stdout.strip()


def test_a_command_has_what_docker_gives_it(host, both):
    given = [run(docker, "exec", host.name, "sh", "-c", HAS) for docker in both]
    assert given[0].stdout == given[1].stdout != "" and given[1].returncode == 0
    assert agents(host) != "0"


@pytest.mark.parametrize("status", [0, 3, 137])
def test_its_status_and_both_outputs_come_back(host, both, status):
    end = "kill -KILL $$" if status == 137 else f"exit {status}"
    for docker in both:
        said = run(docker, "exec", host.name, "sh", "-c", f"echo out; echo err >&2; {end}")
        assert (said.returncode, said.stdout, said.stderr) == (status, "out\n", "err\n")


def test_it_reads_what_it_is_given_and_nothing_else(host, both):
    for docker in both:
        words = ["", "a  b", "ü", "-"]
        said = run(docker, "exec", "-i", host.name, "printf", "%s|", *words)
        assert said.stdout == "|a  b|ü|-|"
        text = "x" * 300_000
        assert run(docker, "exec", "-i", host.name, "cat", input=text).stdout == text
        assert run(docker, "exec", host.name, "cat", input=text).stdout == ""


def test_what_cannot_be_started_fails_as_with_docker(host, both):
    assert [run(docker, "exec", host.name, "nosuch").returncode for docker in both] == [126] * 2


def test_other_options_and_hosts_are_left_to_docker(host, both):
    for docker in both:
        assert run(docker, "exec", "-e", "A=b", host.name, "printenv", "A").stdout == "b\n"
        said = run(docker, "exec", "semisync-no-such-host", "true")
        assert said.returncode == 1 and "No such container" in said.stderr
    assert run(both[1], "version").stdout == run(both[0], "version").stdout


def test_a_host_that_was_started_again_or_is_dead_is_noticed(host, both):
    """The last one: it takes the host."""
    quick = both[1]
    run(quick, "restart", "--time", "0", host.name)
    assert run(quick, "exec", host.name, "echo", "again").stdout == "again\n"
    waits = subprocess.Popen([quick, "exec", host.name, "sleep", "60"])
    run(quick, "exec", host.name, "sh", "-c", "until pgrep -x sleep; do sleep 0.1; done")
    run(quick, "kill", host.name)
    assert waits.wait(20) == 137
    said = [run(docker, "exec", host.name, "true") for docker in both]
    assert [one.returncode for one in said] == [1, 1]
    assert "is not running" in said[1].stderr
