# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The checklist of `make certified`: every line can fail, and what nobody could judge is not
called passed.
"""

from __future__ import annotations

import sys

import pytest

from tools import certified, checklist
from tools.checklist import FAILED, OPEN, PASSED, Checkout, Row
from tools.cores import changed

MODULE = '''# GPL-3.0-or-later
DOCUMENTATION = r"""
module: shop_info
short_description: Read a shop
version_added: "1.0.0"
extends_documentation_fragment:
  - dbre.semisync.attributes
description:
  - As M(dbre.semisync.shop_info) does.
options:
  state:
    choices: [present, absent]
"""
EXAMPLES = r"""
- dbre.semisync.shop_info:
"""
RETURN = r"""
shop: {}
"""
AnsibleModule(supports_check_mode=True)
'''
INFO = "plugins/modules/shop_info.py"
README = """# Shop
## Installation
## Use cases
## Support, communication, release notes
<https://forum.ansible.com/c/help/6> <https://forum.ansible.com/tag/mysql> <https://semver.org>
## Testing and contributing
## Licence
"""
TEXTS = {
    "README.md": README,
    "CODE_OF_CONDUCT.md": "https://docs.ansible.com/x/community/code_of_conduct.html",
    "galaxy.yml": (
        "{version: 1.0.0, license: [GPL-3.0-or-later], tags: [database], issues: i,"
        ' dependencies: {community.mysql: ">=3.10.0,<6.0.0"}}'
    ),
    "meta/runtime.yml": 'requires_ansible: ">=2.18.0"',
    "meta/execution-environment.yml": "dependencies: {python: meta/needed.txt}",
    "meta/needed.txt": "",
    "changelogs/changelog.yaml": "releases: {1.0.0: {}}",
    "changelogs/config.yaml": "",
    "CHANGELOG.rst": "",
    ".gitignore": "",
    "plugins/modules/shop_info.py": MODULE,
    "plugins/module_utils/_shop.py": "# GPL-3.0-or-later",
    ".github/workflows/test.yml": (
        '"on": {pull_request: null, schedule: []}\njobs: 1 # ansible: [11, 13] ANSIBLE=14'
        " scenario: [default] molecule test"
    ),
    ".github/workflows/release.yml": "- run: make lint sanity galaxy",
}


def with_file(name, text):
    texts = TEXTS | {name: text}
    return Checkout(texts, {one: len(its) for one, its in texts.items()}, frozenset({"v1.0.0"}))


def rows(there):
    return [step(there) for step in checklist.FROM_FILES] + [
        checklist.dependencies(there, frozenset({"community.mysql"}))
    ]


def test_a_checkout_that_has_everything_passes_every_line_that_files_can_show():
    outcomes = {row.check: row.outcome for row in rows(with_file("x", ""))}
    assert {check for check, outcome in outcomes.items() if outcome != PASSED} == {
        "has a public issue tracker"
    }


@pytest.mark.parametrize(
    ("name", "text", "check"),
    [
        ("CODE_OF_CONDUCT.md", "Be kind.", "has a Code of Conduct"),
        ("README.md", README.replace("c/help/6", ""), "README: communication, the forum, its tag"),
        (
            "README.md",
            README.replace("Use cases", ""),
            "README: sections of a certified collection",
        ),
        ("README.md", README.replace("semver", ""), "adheres to semantic versioning, says README"),
        ("plugins/lookup/a.py", "# BSD", "follows licensing rules"),
        ("CONTRIBUTING.md", "Sign our CLA.", "asks for no licence agreement"),
        (
            "changelogs/changelog.yaml",
            "releases: {1.1.0: {}}",
            "releases are tagged in its repository",
        ),
        (INFO, MODULE.replace("RETURN", "R"), "modules have DOCUMENTATION, EXAMPLES, RETURN"),
        (INFO, MODULE + "exit_json(ansible_facts={})", "only modules named _facts return facts"),
        (INFO, MODULE.replace("absent", "query"), "no module queries by a value of state"),
        (INFO, MODULE.replace("True", "False"), "check_mode in _info modules"),
        ("plugins/types/a.py", "# GPL-3.0-or-later", "plugins/ has only the allowed folders"),
        (
            "plugins/module_utils/shop.py",
            "# GPL-3.0-or-later",
            "private utils begin with an underscore",
        ),
        (
            INFO,
            MODULE.replace("Read a shop", "Read (internal)"),
            "all modules are covered by semantic versioning",
        ),
        (
            INFO,
            MODULE.replace("M(dbre.semisync.", "M("),
            "documentation names modules and fragments in full",
        ),
        (
            INFO,
            MODULE.replace("- dbre.semisync.attributes", "- attributes"),
            "documentation names modules and fragments in full",
        ),
        (INFO, MODULE.replace("version_added", "v"), "modules say version_added"),
        ("galaxy.yml", "{version: 1.0.0, license: [GPL-3.0-or-later]}", "galaxy.yml has tags"),
        ("meta/runtime.yml", "{}", "meta/runtime.yml names the oldest ansible-core"),
        ("meta/runtime.yml", 'requires_ansible: ">=2.17.0"', "CI against each ansible-core"),
        ("meta/runtime.yml", "{}", "CI against each ansible-core"),
        (
            "meta/execution-environment.yml",
            "dependencies: {python: gone.txt}",
            "what an execution environment needs is listed",
        ),
        ("server.deb", 2_000_000 * "x", "no large objects"),
        ("plugins/a.py.orig", "", "no unnecessary files"),
        ("tests/sanity/ignore-2.19.txt", "", "sanity: no errors are ignored"),
        (".github/workflows/test.yml", '"on": {push: null}', "CI runs on every pull request"),
        (".github/workflows/test.yml", '"on": {push: null}', "CI runs every week"),
        (".github/workflows/test.yml", '"on": {push: null}', "CI sees that modules are idempotent"),
        (
            "molecule/default/molecule.yml",
            "scenario: {test_sequence: [create, converge, verify]}",
            "CI sees that modules are idempotent",
        ),
        (".github/workflows/release.yml", "- run: make lint", "a release needs sanity to pass"),
        (
            "galaxy.yml",
            '{dependencies: {community.mysql: ">=0.1.0"}}',
            "dependencies: in the package, 1.0.0 or later",
        ),
        (
            "galaxy.yml",
            '{dependencies: {some.other: ">=1.0.0"}}',
            "dependencies: in the package, 1.0.0 or later",
        ),
    ],
)
def test_each_line_fails_for_what_it_is_about(name, text, check):
    (outcome,) = [row.outcome for row in rows(with_file(name, text)) if row.check == check]
    assert outcome == FAILED


def test_a_missing_changelog_fails():
    texts = {name: text for name, text in TEXTS.items() if name != "CHANGELOG.rst"}
    assert checklist.changelog(Checkout(texts, {}, frozenset())).outcome == FAILED


def test_no_line_that_a_person_has_to_judge_is_passed():
    assert {row.outcome for row in checklist.BY_A_PERSON} == {OPEN}


def test_the_table_counts_what_was_not_judged_apart():
    shown = checklist.table([Row("a", "x", PASSED), Row("b", "y", FAILED), Row("c", "z", OPEN)])
    assert shown.splitlines()[-1] == "1 passed, 1 failed, 1 not judged here"


def test_what_a_workflow_runs_is_read_from_its_matrix_and_its_commands():
    text = "ansible: [10, 11]\n- run: make unit ANSIBLE=14\n- run: make lint"
    assert checklist.workflow_bundles(text) == {10, 11, 14}


def test_what_a_run_changed_is_read_from_its_recap():
    recap = "db1   : ok=27   changed=2    unreachable=0    failed=0\ndb2   : ok=3    changed=0 "
    assert changed(recap) == {"db1": 2, "db2": 0}


def test_a_step_that_this_machine_cannot_take_is_not_passed():
    assert (
        certified.attempt("a", lambda: "Python 3.7 is not on this machine, not tried").outcome
        == OPEN
    )
    assert certified.attempt("a", lambda: "30 modules").outcome == PASSED
    assert certified.attempt("a", lambda: sys.exit("wrong")).outcome == FAILED
    slow = "galaxy: error: galaxy-importer says:\nERROR: Timeout on call to ansible-lint"
    assert certified.attempt("a", lambda: sys.exit(slow)).outcome == OPEN
