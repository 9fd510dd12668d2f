"""Build an execution environment with ansible-builder, and run the collection inside it.

The definition is the one of docs/fleet.md. Where no image can be pulled its base is made from
Debian's packages, and Ansible and community.mysql come from PyPI's bundle; the collection is the
checkout's. With a lab of kind docker up, verify.yml runs in the environment against it, started by
ansible-runner as AWX does.
"""

from __future__ import annotations

import configparser
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

PROJECT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "lab"))

import debian  # noqa: E402
from common import Clock, LabError, cache, locked, logged, say, tail  # noqa: E402
from container import docker, need_docker  # noqa: E402

TAG, BASE, LABEL = "dbre-semisync/ee", "dbre-semisync/ee-base:13", "dbre-semisync.recipe"
SUITE = "trixie"
PACKAGES = (
    "python3",
    "python3-pip",
    "python3-venv",
    "git",
    "bash",
    "ca-certificates",
    "docker-cli",
)
BUNDLE = "ansible==12.3.0"
INVENTORY = PROJECT / "inventory" / "lab" / "hosts.yml"
# How this machine's pip finds packages; the image is not for others.
PIP_SETTINGS = ("index-url", "extra-index-url", "trusted-host", "cert")
SEEN = {
    "ansible-doc": (
        "ansible-doc --type module dbre.semisync.semisync_info",
        "DBRE.SEMISYNC.SEMISYNC_INFO|dbre.semisync.semisync_info",
    ),
    "the roles' pages": (
        "ansible-doc --type role dbre.semisync.server",
        "dbre.semisync.server|SERVER",
    ),
    # The base has none: it comes by meta/ee-bindep.txt.
    "ssh-keygen": ("command -v ssh-keygen", "ssh-keygen"),
    "the user is not root": ("id -u", "^1000$"),
}


def definition() -> dict:
    """The example of docs/fleet.md."""
    text = (PROJECT / "docs" / "fleet.md").read_text(encoding="utf-8")
    found = [
        yaml.safe_load(block)
        for block in re.findall(r"```yaml\n(---\nversion: 3\n.*?)```", text, re.DOTALL)
    ]
    if len(found) != 1:
        raise LabError("docs/fleet.md has no definition of an execution environment, or several")
    return found[0]


def local(wanted: dict, archive: str) -> dict:
    """The definition with what can be had here: base image, interpreter, the bundle, our own
    archive.
    """
    wanted["images"]["base_image"]["name"] = BASE
    wanted["dependencies"]["python_interpreter"] = {
        "package_system": "python3",
        "python_path": "/usr/bin/python3",
    }
    wanted["dependencies"]["ansible_core"] = {"package_pip": BUNDLE}
    wanted["dependencies"]["galaxy"] = {
        "collections": [{"name": f"collections/{archive}", "type": "file"}]
    }
    wanted["additional_build_files"] = [{"src": archive, "dest": "collections"}]
    # What a registry's image would know of packages: bindep wants to install some.
    wanted["additional_build_steps"] = {"prepend_base": ["RUN apt-get update"]}
    # pip is Debian's, whose Python has no ensurepip of its own.
    wanted["options"] = {"package_manager_path": "/usr/bin/apt-get", "skip_pip_install": True}
    return wanted


def pip_conf() -> str:
    """This machine's pip settings, for a build that reaches what this machine reaches."""
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], check=False, text=True, capture_output=True
    )
    lines = ["[global]", "disable-pip-version-check = true"]
    for line in listed.stdout.splitlines():
        key, _dummy, value = line.partition("=")
        option, value = key.rpartition(".")[2], value.strip("'\"")
        if option in PIP_SETTINGS and not any(known.startswith(option + " ") for known in lines):
            lines.append(
                f"{option} = {'/etc/ssl/certs/ca-certificates.crt' if option == 'cert' else value}"
            )
    return "\n".join(lines) + "\n"


def certificates() -> Path | None:
    """The authorities that this machine's pip trusts, where it was told to trust others than its
    own.
    """
    config = configparser.ConfigParser()
    config.read_string(pip_conf())
    named = os.environ.get("PIP_CERT") or "/etc/ssl/certs/ca-certificates.crt"
    return Path(named) if config.has_option("global", "cert") and Path(named).exists() else None


def base() -> str:
    """The base image: Debian with Python and pip, as a registry would have it. Its recipe, which
    its descendants carry.
    """
    customize, trusted = [], certificates()
    with tempfile.TemporaryDirectory() as name:
        settings = Path(name) / "pip.conf"
        settings.write_text(pip_conf(), encoding="utf-8")
        customize.append(f"upload {settings} /etc/pip.conf")
        if trusted:
            customize.append(f"upload {trusted} /etc/ssl/certs/ca-certificates.crt")
        recipe = debian.fingerprint(
            SUITE, PACKAGES, pip_conf(), trusted and trusted.read_text(encoding="utf-8")
        )
        asked = docker(
            "image",
            "inspect",
            "--format",
            f'{{{{index .Config.Labels "{LABEL}"}}}}',
            BASE,
            check=False,
        )
        if asked.stdout.strip() == recipe:
            return recipe
        tarball = debian.rootfs(SUITE, PACKAGES, name="ee-base", customize=customize, salt=recipe)
        docker(
            "import",
            "--change",
            f"LABEL {LABEL}={recipe}",
            "--change",
            'CMD ["bash"]',
            str(tarball),
            BASE,
        )
        tarball.unlink()
    return recipe


def tidy(recipe: str) -> None:
    """Remove what the older builder keeps of the stages before the last; layers of the image itself
    stay.
    """
    left = docker(
        "images", "--quiet", "--filter", "dangling=true", "--filter", f"label={LABEL}={recipe}"
    ).stdout.split()
    if left:
        docker("rmi", *left, check=False)


def build(folder: Path) -> None:
    """The environment, by ansible-builder."""
    clock, log = Clock(), cache("logs") / "ee.log"
    made = subprocess.run(
        ["ansible-galaxy", "collection", "build", "--output-path", str(folder)],
        cwd=PROJECT,
        check=False,
        text=True,
        capture_output=True,
    )
    if made.returncode:
        raise LabError(f"the collection does not build: {made.stderr.strip()}")
    archive = next(folder.glob("*.tar.gz"))
    (folder / "execution-environment.yml").write_text(
        yaml.safe_dump(local(definition(), archive.name), sort_keys=False), encoding="utf-8"
    )
    # A docker that lacks buildx still has the builder before it, which keeps the container of a
    # step that failed.
    old = (
        {} if docker("buildx", "version", check=False).returncode == 0 else {"DOCKER_BUILDKIT": "0"}
    )
    # The bundle brings community.mysql; Galaxy is not asked.
    command = [
        "ansible-builder",
        "build",
        "--tag",
        TAG,
        "--container-runtime",
        "docker",
        "--verbosity",
        "3",
        "--build-arg",
        "ANSIBLE_GALAXY_CLI_COLLECTION_OPTS=--no-deps",
        "--extra-build-cli-args=--network=host" + (" --force-rm" if old else ""),
    ]
    say(f"building {TAG}, a few minutes; its log is {log}")
    if not logged(["env", "-C", str(folder), *command], log, old):
        raise LabError(f"ansible-builder failed; the end of {log}:\n{tail(log, 15)}")
    print(f"ansible-builder: {TAG} built in {clock}", flush=True)


def inside(*command: str, options: tuple[str, ...] = ()) -> str:
    """What a command says in the environment."""
    done = docker("run", "--rm", *options, TAG, *command, check=False)
    if done.returncode:
        raise LabError(
            f"{' '.join(command)} ended with {done.returncode} in the environment:\n"
            f"{(done.stdout + done.stderr)[-3000:]}"
        )
    return done.stdout


def look() -> None:
    """What the environment must hold, and that the playbooks parse in it."""
    for what, (command, expected) in SEEN.items():
        said = inside("sh", "-c", command)
        if not re.search(expected, said, re.MULTILINE):
            raise LabError(f"{what}: {command} says {said[:500]!r} in the environment")
        print(f"in the environment: {what}", flush=True)
    names = sorted(path.stem for path in (PROJECT / "playbooks").glob("*.yml"))
    inside("ansible-playbook", "--syntax-check", *(f"dbre.semisync.{name}" for name in names))
    print(f"in the environment: {len(names)} playbooks parse", flush=True)


def verify(folder: Path) -> None:
    """verify.yml against the lab, by ansible-runner; its events name every step."""
    if not INVENTORY.exists() or "community.docker" not in INVENTORY.read_text(encoding="utf-8"):
        print(
            "no lab of kind docker is up (make lab-up, then site.yml): verify.yml was not run",
            flush=True,
        )
        return
    there = folder / "runner"
    for name in ("inventory", "project", "results", "artifacts"):
        (there / name).mkdir(parents=True)
    shutil.copy2(INVENTORY, there / "inventory" / "hosts.yml")
    socket = ("--user", "0", "--volume", "/var/run/docker.sock:/var/run/docker.sock")
    inside(
        "ansible-runner",
        "run",
        "/runner",
        "--ident",
        "verify",
        "--playbook",
        "dbre.semisync.verify",
        "--cmdline",
        "-e semisync_results_dir=/runner/results",
        options=(*socket, "--volume", f"{there}:/runner"),
    )
    events = [
        json.loads(path.read_text(encoding="utf-8"))
        for path in (there / "artifacts" / "verify" / "job_events").glob("*.json")
    ]
    tasks = {
        event["event_data"]["task"]
        for event in events
        if event["event"] == "playbook_on_task_start"
    }
    rows = json.loads(
        next((there / "results").glob("*/latest/checkpoints.json")).read_text(encoding="utf-8")
    )
    verdicts = [
        event["event_data"]["res"]["verdict"]
        for event in events
        if event["event"] == "runner_on_ok" and "verdict" in event["event_data"].get("res", {})
    ]
    if "Judge checkpoints and findings" not in tasks or not verdicts:
        raise LabError(f"the events do not show the verdict; tasks: {sorted(tasks)}")
    print(
        f"verify.yml in the environment: {verdicts[0]}; {len(events)} events, {len(rows)} rows",
        flush=True,
    )


def main() -> int:
    """Base, build, look, run."""
    try:
        need_docker()
        with locked(TAG), tempfile.TemporaryDirectory(prefix="semisync-ee-") as name:
            recipe = base()
            try:
                build(Path(name))
            finally:
                tidy(recipe)
            look()
            verify(Path(name))
    except LabError as error:
        print(f"ee: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
