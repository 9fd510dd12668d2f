"""What is installed or run for this repository is pinned to what was reviewed: by its hash or its
commit.
"""

import re
from pathlib import Path

import pytest
import yaml

from tools import venv

PROJECT = Path(__file__).parents[2]
NAMES = (
    "requirements-dev",
    *(f"requirements-ansible-{bundle}" for bundle in (10, 11, 13, 14)),
    "docs/docsite/requirements",
    "tests/monitoring/rulebook",
)
# PEP 508's name, one version, and perhaps for which machines.
PINNED = re.compile(r"([A-Za-z0-9._-]+)==([^\s;]+)(?: ; [^\\]+)?((?: --hash=sha256:[0-9a-f]{64})+)")
WORKFLOWS = sorted((PROJECT / ".github" / "workflows").glob("*.yml"))


def read(name):
    return (PROJECT / name).read_text(encoding="utf-8")


def requirements(text):
    """Each requirement of a file as one line, without comments."""
    return [
        re.sub(r"\s*\\\n\s*", " ", one)
        for one in re.findall(r"^[^#\s].*(?:\n[ \t]+.*)*", text, re.MULTILINE)
    ]


def key(name):
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.mark.parametrize("name", NAMES)
def test_every_requirement_has_one_version_and_its_hashes(name):
    loose = [one for one in requirements(read(f"{name}.txt")) if not PINNED.fullmatch(one)]
    assert loose == [], f"{name}.txt: write them into {name}.in, then make requirements"


@pytest.mark.parametrize(
    "line", ["a==1", "a>=1 --hash=sha256:" + 64 * "0", "a==1 \\\n    --hash=md5:00", "-r other.txt"]
)
def test_a_requirement_without_version_or_hash_is_seen(line):
    assert not PINNED.fullmatch(requirements(f"# how\n{line}\n")[0])


@pytest.mark.parametrize("name", NAMES)
def test_the_versions_that_are_wanted_are_those_that_are_installed(name):
    wanted = dict(one.split("==") for one in requirements(read(f"{name}.in")))
    found = [re.split("==| ", one)[:2] for one in requirements(read(f"{name}.txt"))]
    installed = {key(one): version for one, version in found}
    assert {one: installed.get(key(one)) for one in wanted} == wanted, "make requirements"


@pytest.mark.parametrize("name", NAMES)
def test_no_file_of_requirements_names_an_index(name):
    text = read(f"{name}.txt") + read(f"{name}.in")
    assert not re.search(r"://|^-|(?<!emit-)index-url", text, re.MULTILINE)


@pytest.mark.parametrize("name", NAMES)
def test_every_python_and_machine_is_resolved_for(name):
    # Dependabot makes the file anew with the options that its first lines have.
    (line,) = [one for one in read(f"{name}.txt").splitlines()[:3] if "uv pip compile" in one]
    assert "--universal" in line and "--generate-hashes" in line


def test_the_tools_are_installed_by_their_hashes_and_no_package_runs_its_setup():
    command = venv.installation(Path("environment"))
    assert {"--require-hashes", "--only-binary=:all:"} <= set(command)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_an_action_is_named_by_its_commit_and_its_version(path):
    for line in re.findall(r"uses: *(.*)", path.read_text(encoding="utf-8")):
        assert re.fullmatch(r"[\w/.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_installs_what_has_a_hash_and_may_only_read(path):
    text = path.read_text(encoding="utf-8")
    assert yaml.safe_load(text)["permissions"] == {"contents": "read"}
    for line in re.findall(r"pip install.*", text):
        assert "--require-hashes" in line


def test_the_collections_that_others_publish_have_versions():
    asked = yaml.safe_load(read("extensions/awx/project/collections/requirements.yml"))
    galaxy = yaml.safe_load(read("galaxy.yml"))
    assert {one["name"]: one["version"] for one in asked["collections"]} == {
        "dbre.semisync": f"=={galaxy['version']}",
        **galaxy["dependencies"],
    }
    assert all("<" in version for version in galaxy["dependencies"].values())
