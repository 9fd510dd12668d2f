"""The checklist for Ansible's community package, a function per line: from the files of the
checkout to what was found and whether that is enough.

The lines are those of the inclusion checklist and of the requirements that it refers to:
https://docs.ansible.com/projects/ansible/latest/community/collection_contributors/collection_requirements.html
What only a person can see is a row of its own, and is never passed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

import yaml

PASSED, FAILED, OPEN = "passed", "failed", "not judged"
# The bundle on PyPI that has each ansible-core; README and meta/runtime.yml name the first core.
BUNDLES = {"2.17": 10, "2.18": 11, "2.19": 12, "2.20": 13, "2.21": 14}
# What ansible-core loads from plugins/, and what the requirements allow beside it.
PLUGIN_FOLDERS = {
    *("action", "become", "cache", "callback", "cliconf", "connection", "doc_fragments", "filter"),
    *("httpapi", "inventory", "lookup", "modules", "module_utils", "netconf", "plugin_utils"),
    *("shell", "strategy", "sub_plugins", "terminal", "test", "vars"),
}
LARGEST, ARCHIVE = 1_000_000, 20_000_000
QUERIES = {"get", "list", "query", "info"}


class Checkout(NamedTuple):
    """What the functions read: the text of every tracked file, the sizes, and git's tags."""

    texts: dict[str, str]
    sizes: dict[str, int]
    tags: frozenset[str]

    def data(self, name: str) -> dict:
        """A YAML file of it."""
        return yaml.safe_load(self.texts.get(name, "")) or {}

    def under(self, folder: str, ending: str = ".py") -> dict[str, str]:
        """The files of a folder, however deep."""
        return {
            name: text
            for name, text in self.texts.items()
            if name.startswith(folder + "/") and name.endswith(ending)
        }


class Row(NamedTuple):
    """One line of the table."""

    check: str
    found: str
    outcome: str


def judged(check: str, wrong: Iterable[str], fine: str) -> Row:
    """A row that passes if nothing is wrong; else it names the first three."""
    listed = sorted(wrong)
    if not listed:
        return Row(check, fine, PASSED)
    more = f" and {len(listed) - 3} more" if len(listed) > 3 else ""
    return Row(check, ", ".join(listed[:3]) + more, FAILED)


def module_docs(checkout: Checkout) -> dict[str, dict[str, str]]:
    """module -> the text of each of its blocks, DOCUMENTATION, EXAMPLES and RETURN."""
    block = re.compile(
        r'^(DOCUMENTATION|EXAMPLES|RETURN) = r?"""(.*?)"""', re.MULTILINE | re.DOTALL
    )
    return {
        name.rpartition("/")[2][:-3]: dict(block.findall(text))
        for name, text in checkout.under("plugins/modules").items()
    }


def code_of_conduct(checkout: Checkout) -> Row:
    there = "/community/code_of_conduct.html" in checkout.texts.get("CODE_OF_CONDUCT.md", "")
    wrong = [] if there else ["CODE_OF_CONDUCT.md does not link Ansible's"]
    return judged("has a Code of Conduct", wrong, "CODE_OF_CONDUCT.md links Ansible's")


def issue_tracker(checkout: Checkout) -> Row:
    address = str(checkout.data("galaxy.yml").get("issues", ""))
    found = f"a person: open {address} without an account"
    return Row("has a public issue tracker", found, OPEN)


def tagged(checkout: Checkout) -> Row:
    released = set(checkout.data("changelogs/changelog.yaml").get("releases", {}))
    missing = released - {tag.removeprefix("v") for tag in checkout.tags}
    wrong = [f"no tag {one}" for one in missing]
    return judged("releases are tagged in its repository", wrong, ", ".join(sorted(released)))


def communication(checkout: Checkout) -> Row:
    readme = checkout.texts.get("README.md", "")
    wanted = {
        "a heading": re.search(r"^#+ .*communication", readme, re.MULTILINE | re.IGNORECASE),
        "Get Help": "https://forum.ansible.com/c/help/6" in readme,
        "a tag": "https://forum.ansible.com/tag/" in readme,
    }
    wrong = [f"README.md lacks {name}" for name, there in wanted.items() if not there]
    return judged("README: communication, the forum, its tag", wrong, ", ".join(wanted))


def sections(checkout: Checkout) -> Row:
    headings = " ".join(re.findall(r"^#+ (.+)$", checkout.texts.get("README.md", ""), re.MULTILINE))
    words = "installation, use cases, testing, contributing, support, release notes, licence"
    wrong = [f"no {word}" for word in words.split(", ") if word not in headings.lower()]
    return judged("README: sections of a certified collection", wrong, words)


def versioning(checkout: Checkout) -> Row:
    version = str(checkout.data("galaxy.yml").get("version", ""))
    wrong = [] if re.fullmatch(r"\d+\.\d+\.\d+", version) else [f"galaxy.yml: {version}"]
    if "https://semver.org" not in checkout.texts.get("README.md", ""):
        wrong.append("README.md does not say so")
    return judged("adheres to semantic versioning, says README", wrong, f"version {version}")


def licences(checkout: Checkout) -> Row:
    files = checkout.under("plugins")
    wrong = [name for name, text in files.items() if "GPL-3.0-or-later" not in text[:600]]
    if checkout.data("galaxy.yml").get("license") != ["GPL-3.0-or-later"]:
        wrong.append("galaxy.yml")
    return judged("follows licensing rules", wrong, f"{len(files)} files of plugins/ are GPL-3.0+")


def documentation_blocks(checkout: Checkout) -> Row:
    wrong = [
        f"{module} has no {block}"
        for module, blocks in module_docs(checkout).items()
        for block in ("DOCUMENTATION", "EXAMPLES", "RETURN")
        if block not in blocks
    ]
    fine = f"{len(module_docs(checkout))} modules have all three blocks"
    return judged("modules have DOCUMENTATION, EXAMPLES, RETURN", wrong, fine)


def facts(checkout: Checkout) -> Row:
    files = checkout.under("plugins/modules") | checkout.under("plugins/action")
    wrong = [
        name
        for name, text in files.items()
        if re.search(r"\bansible_facts\b *[=:\"']", text) and not name.endswith("_facts.py")
    ]
    return judged("only modules named _facts return facts", wrong, "none returns ansible_facts")


def queries(checkout: Checkout) -> Row:
    wrong = []
    for module, blocks in module_docs(checkout).items():
        options = (yaml.safe_load(blocks.get("DOCUMENTATION", "")) or {}).get("options") or {}
        found = QUERIES & set(options.get("state", {}).get("choices", []))
        wrong += [f"{module}: state={one}" for one in found]
    return judged("no module queries by a value of state", wrong, "none")


def info_check_mode(checkout: Checkout) -> Row:
    names = [name for name in checkout.under("plugins/modules") if name.endswith("_info.py")]
    wrong = [n for n in names if "supports_check_mode=True" not in checkout.texts[n]]
    return judged("check_mode in _info modules", wrong, ", ".join(n[16:-3] for n in names))


def plugin_folders(checkout: Checkout) -> Row:
    folders = {name.split("/")[1] for name in checkout.texts if re.match(r"plugins/[^/]+/", name)}
    wrong = [f"plugins/{one}" for one in folders - PLUGIN_FOLDERS]
    return judged("plugins/ has only the allowed folders", wrong, ", ".join(sorted(folders)))


def private_utils(checkout: Checkout) -> Row:
    files = checkout.under("plugins/module_utils") | checkout.under("plugins/plugin_utils")
    # A folder that begins with one makes everything in it private.
    wrong = [name for name in files if "/_" not in name]
    fine = f"{len(files)} files"
    return judged("private utils begin with an underscore", wrong, fine)


def public_modules(checkout: Checkout) -> Row:
    internal = {
        module
        for module, blocks in module_docs(checkout).items()
        if "(internal)" in blocks.get("DOCUMENTATION", "").partition("options:")[0]
    }
    wrong = [f"{one} is internal" for one in internal]
    return judged("all modules are covered by semantic versioning", wrong, "all")


def full_names(checkout: Checkout) -> Row:
    listed = re.compile(r"^extends_documentation_fragment:\n((?: +- .*\n)*)", re.MULTILINE)
    wrong = []
    for name, text in checkout.under("plugins").items():
        named = re.findall(r"\bM\(([^)]*)\)", text)
        named += [one for part in listed.findall(text) for one in re.findall(r"- (\S+)", part)]
        wrong += [f"{name}: {one}" for one in named if one.count(".") < 2]
    return judged("documentation names modules and fragments in full", wrong, "all")


def version_added(checkout: Checkout) -> Row:
    wrong = [
        module
        for module, blocks in module_docs(checkout).items()
        if not re.search(
            r"^version_added: \"\d+\.\d+\.\d+\"$", blocks.get("DOCUMENTATION", ""), re.MULTILINE
        )
    ]
    return judged("modules say version_added", wrong, f"{len(module_docs(checkout))} modules")


def tags_of_galaxy(checkout: Checkout) -> Row:
    tags = checkout.data("galaxy.yml").get("tags") or []
    return judged("galaxy.yml has tags", [] if tags else ["none"], ", ".join(tags))


def dependencies(checkout: Checkout, packaged: frozenset[str]) -> Row:
    """Whether what it depends on is in Ansible's package (`packaged`), with a lower bound."""
    listed = checkout.data("galaxy.yml").get("dependencies") or {}
    wrong = [f"{one} is not in the package" for one in set(listed) - packaged]
    for name, wanted in listed.items():
        lowest = re.search(r">=(\d+)", wanted)
        if not lowest or int(lowest[1]) < 1:
            wrong.append(f"{name}: no lower bound of 1.0.0 or later")
    fine = ", ".join(f"{name} {wanted}" for name, wanted in listed.items())
    return judged("dependencies: in the package, 1.0.0 or later", wrong, fine)


def minimal_core(checkout: Checkout) -> str:
    """The oldest ansible-core that meta/runtime.yml names, such as 2.17; empty if it names none."""
    wanted = str(checkout.data("meta/runtime.yml").get("requires_ansible", ""))
    found = re.match(r">=(\d+\.\d+)", wanted)
    return found[1] if found else ""


def runtime(checkout: Checkout) -> Row:
    oldest = minimal_core(checkout)
    wrong = [] if oldest else ["no requires_ansible"]
    return judged("meta/runtime.yml names the oldest ansible-core", wrong, f">={oldest}")


def cores(checkout: Checkout) -> list[str]:
    """Every ansible-core that meta/runtime.yml names and that there is."""
    number = lambda core: tuple(map(int, core.split(".")))  # noqa: E731 - a key to sort by
    oldest = minimal_core(checkout)
    return [core for core in BUNDLES if oldest and number(core) >= number(oldest)]


def environment_files(checkout: Checkout) -> Row:
    named = checkout.data("meta/execution-environment.yml").get("dependencies") or {}
    wrong = [f"{one} is missing" for one in named.values() if one not in checkout.texts]
    wrong += [] if named else ["meta/execution-environment.yml names none"]
    return judged("what an execution environment needs is listed", wrong, ", ".join(named.values()))


def changelog(checkout: Checkout) -> Row:
    wrong = [
        name
        for name in ("changelogs/changelog.yaml", "changelogs/config.yaml", "CHANGELOG.rst")
        if name not in checkout.texts
    ]
    return judged("has a changelog by antsibull-changelog", wrong, "changelogs/, CHANGELOG.rst")


def large_objects(checkout: Checkout) -> Row:
    wrong = [f"{name} has {size}" for name, size in checkout.sizes.items() if size > LARGEST]
    fine = f"the largest file has {max(checkout.sizes.values(), default=0) // 1000} kB"
    return judged("no large objects", wrong, fine)


def unnecessary_files(checkout: Checkout) -> Row:
    leftover = re.compile(r"(\.pyc|\.retry|\.orig|\.rej|\.swp|~|\.tar\.gz|\.DS_Store)$")
    wrong = [name for name in checkout.texts if leftover.search(name)]
    wrong += [] if ".gitignore" in checkout.texts else ["no .gitignore"]
    return judged("no unnecessary files", wrong, f"{len(checkout.texts)} files")


def ignore_files(checkout: Checkout) -> Row:
    wrong = [n for n in checkout.texts if re.match(r"tests/sanity/ignore-.*\.txt$", n)]
    return judged("sanity: no errors are ignored", wrong, "no ignore file")


def workflow_bundles(text: str) -> set[int]:
    """The bundles that a workflow runs: those of a matrix, and those that a command names."""
    listed = re.findall(r"ansible: \[([\d, ]+)\]", text) + re.findall(r"ANSIBLE=(\d+)", text)
    return {int(one) for part in listed for one in part.split(",")}


def ci_cores(checkout: Checkout) -> Row:
    # Without a bundle of its name, make takes 12.
    run = workflow_bundles(checkout.texts.get(".github/workflows/test.yml", "")) | {12}
    wrong = [
        f"{core} (ansible {BUNDLES[core]})" for core in cores(checkout) if BUNDLES[core] not in run
    ]
    wrong += [] if minimal_core(checkout) else ["meta/runtime.yml names none"]
    return judged("CI against each ansible-core", wrong, ", ".join(cores(checkout)))


def triggers(checkout: Checkout, event: str) -> Row:
    data = checkout.data(".github/workflows/test.yml").get("on") or {}
    wrong = [] if event in data else [f"test.yml is not run on {event}"]
    titles = {"pull_request": "CI runs on every pull request", "schedule": "CI runs every week"}
    return judged(titles[event], wrong, f"test.yml, on {event}")


def idempotence(checkout: Checkout) -> Row:
    """Whether each scenario that CI runs plays everything twice, and the second changes nothing."""
    workflow = checkout.texts.get(".github/workflows/test.yml", "")
    named = re.search(r"scenario: \[([^\]]*)\]", workflow)
    run = [name.strip() for name in named[1].split(",")] if named else []
    wrong = [] if run and "molecule test" in workflow else ["test.yml runs no scenario"]
    for name in run:
        scenario = checkout.data(f"molecule/{name}/molecule.yml").get("scenario") or {}
        # Without a sequence of its own, molecule takes one that has the step.
        if "idempotence" not in scenario.get("test_sequence", ["idempotence"]):
            wrong.append(f"{name} plays once")
    return judged("CI sees that modules are idempotent", wrong, f"molecule: {', '.join(run)}")


def release_sanity(checkout: Checkout) -> Row:
    release = checkout.texts.get(".github/workflows/release.yml", "")
    there = re.search(r"run: make [a-z ]*\bsanity\b", release)
    wrong = [] if there else ["release.yml does not run make sanity"]
    return judged("a release needs sanity to pass", wrong, "release.yml runs make sanity")


def contributor_agreement(checkout: Checkout) -> Row:
    pages = ("CONTRIBUTING.md", ".github/PULL_REQUEST_TEMPLATE.md", "README.md")
    wrong = [
        name
        for name in pages
        if re.search(
            r"contributor licen[cs]e agreement|\bCLA\b", checkout.texts.get(name, ""), re.IGNORECASE
        )
    ]
    return judged("asks for no licence agreement", wrong, "none is named")


FROM_FILES: tuple[Callable[[Checkout], Row], ...] = (
    code_of_conduct,
    issue_tracker,
    tagged,
    communication,
    sections,
    versioning,
    licences,
    contributor_agreement,
    documentation_blocks,
    facts,
    queries,
    info_check_mode,
    plugin_folders,
    private_utils,
    public_modules,
    full_names,
    version_added,
    tags_of_galaxy,
    runtime,
    environment_files,
    changelog,
    large_objects,
    unnecessary_files,
    ignore_files,
    ci_cores,
    lambda checkout: triggers(checkout, "pull_request"),
    lambda checkout: triggers(checkout, "schedule"),
    idempotence,
    release_sanity,
)
# Lines that no program can judge here.
BY_A_PERSON = (
    Row("published on Galaxy, 1.0.0 or later", "a person: look at galaxy.ansible.com", OPEN),
    Row("has a public git repository", "a person: look at the address in galaxy.yml", OPEN),
    Row(
        "the forum has its tag, Discussions are off",
        "a person: look at the forum and the settings",
        OPEN,
    ),
    Row("the results of weekly runs are read", "a person: ask the maintainers", OPEN),
    Row("documentation follows the style guide", "a person: read it", OPEN),
    Row("modules that only read are named _info", "a person: read what the others change", OPEN),
)


def table(rows: Iterable[Row]) -> str:
    """The rows as a table in text, and a last line that counts them."""
    listed = list(rows)
    width = max(len(row.check) for row in listed)
    lines = [f"{'check':{width}}  {'':11}  found"]
    lines += [f"{row.check:{width}}  {row.outcome:11}  {row.found}" for row in listed]
    counts = {
        outcome: sum(row.outcome == outcome for row in listed) for outcome in (PASSED, FAILED, OPEN)
    }
    last = f"{counts[PASSED]} passed, {counts[FAILED]} failed, {counts[OPEN]} not judged here"
    return "\n".join([*lines, "", last])
