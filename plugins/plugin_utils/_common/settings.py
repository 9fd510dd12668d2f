# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What users gave as values of public variables, as decisions want it; setting_rows.py has the
table. Every message names the variable, what was found and what is wanted.
"""

from __future__ import annotations

import difflib
import functools
import os
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, overload

import yaml
from ansible.module_utils.common.validation import check_type_bool, check_type_float, check_type_int
from ansible.module_utils.common.yaml import yaml_load
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.setting_rows import (
    PREFIX,
    ROWS,
    Setting,
)

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._common.setting_keys import (
        DecimalKey,
        ListKey,
        SwitchKey,
        TextKey,
        WholeKey,
    )

ROLES = os.path.abspath(os.path.join(__file__, *4 * [os.pardir], "roles"))
SHOWN_CHARACTERS = 60
HIDDEN = "(hidden)"
# How users may begin the names of variables of their own, such as those of hooks. Names that do not
# begin with "semisync_" are free as well.
USERS_OWN = "semisync_user_"
# Variables that only playbooks use, and no role.
OF_PLAYBOOKS = ("semisync_baseline",)

CHECKS = {
    "int": (check_type_int, "a whole number"),
    "float": (check_type_float, "a number"),
    "bool": (check_type_bool, "true or false"),
}


class SettingError(Exception):
    """A public variable's value cannot work; the message may be shown."""


TABLE = {row.name: row for row in ROWS}
KEYS = {row.key: row for row in ROWS}
# MySQL and MariaDB manuals: schemas of the server's own, which no canary may be written to.
SERVERS_OWN = ("mysql", "sys", "information_schema", "performance_schema")


class Settings(dict[str, object]):
    """Wanted values by key; a variable that is not set has its role's default.

    Each key has the type of its variable; value() takes any.

    Raises:
        KeyError: on a key that no variable has; it names the key.
    """

    if TYPE_CHECKING:
        # Narrower than a dict on purpose: only keys that exist.
        @overload  # type: ignore[override]
        def __getitem__(self, key: WholeKey) -> int: ...
        @overload
        def __getitem__(self, key: DecimalKey) -> float: ...
        @overload
        def __getitem__(self, key: SwitchKey) -> bool: ...
        @overload
        def __getitem__(self, key: TextKey) -> str: ...
        @overload
        def __getitem__(self, key: ListKey) -> list[str]: ...
        def __getitem__(self, key: str) -> object: ...

    def __missing__(self, key: str) -> object:
        value = self[key] = self.default(key)
        return value

    @staticmethod
    def default(key: str) -> object:
        """The value of a variable that is not set."""
        if key not in KEYS:
            raise KeyError(f"no variable of this collection has the key {key}")
        row = KEYS[key]
        return converted(row, defaults()[row.name])

    def value(self, key: str) -> object:
        """The wanted value of a key that is not known beforehand."""
        return super().get(key) if key in self else self.__missing__(key)


@functools.lru_cache(maxsize=1)
def defaults() -> dict[str, object]:
    """Every public variable's default; the specs are read once in a process."""
    return {name: spec["default"] for name, spec in public_variables().items()}


@functools.lru_cache(maxsize=1)
def public_names() -> frozenset[str]:
    """The name of every public variable; the specs are read once in a process."""
    return frozenset(defaults()) | TABLE.keys()


def public_variables(folder: str = ROLES) -> dict[str, dict[str, object]]:
    """Every public variable in the roles' argument specs: name -> its spec."""
    specs: dict[str, dict[str, object]] = {}
    for role in sorted(os.listdir(folder)):
        path = os.path.join(folder, role, "meta", "argument_specs.yml")
        if os.path.exists(path):
            with open(path) as stream:
                entries = (yaml_load(stream) or {}).get("argument_specs", {})
            for entry in entries.values():
                specs.update(entry.get("options") or {})
    return {name: spec for name, spec in specs.items() if name.startswith(PREFIX)}


def converted(row: Setting, value: object) -> object:
    """A variable's value as its type.

    Raises:
        SettingError: it cannot work; the message names the variable, the value unless it is secret,
            and what is wanted.
    """
    if value is None:
        raise SettingError(f"{row.name} has no value; leave it out for its default")
    typed: object
    if row.type == "list":
        typed, wanted = listed(row, value)
    elif row.type in CHECKS:
        check, wanted = CHECKS[row.type]
        # To Ansible, true is a number as well.
        if not isinstance(value, bool) or row.type == "bool":
            try:
                typed = checked = check(value)
            except (TypeError, ValueError, OverflowError):
                pass
            else:
                wanted = "" if row.type == "bool" else outside(row, checked)
    elif isinstance(value, (list, dict, bool)):
        wanted = " or ".join(row.choices) or "text"
    else:
        typed = str(value)
        wanted = misshapen(row, typed)
    if wanted:
        raise SettingError(f"{row.name} is {show(value, row)}; it must be {wanted}")
    return typed


def listed(row: Setting, value: object) -> tuple[list[str], str]:
    """(the texts of a list, or of one text with commas; what they must be that they are not)."""
    given = value.split(",") if isinstance(value, str) else value
    if not isinstance(given, list):
        return [], row.form
    made = [str(one).strip() for one in given if str(one).strip()]
    good = all(re.match(rf"(?:{row.pattern})\Z", one) for one in made)
    return made, "" if good else row.form


def show(value: object, row: Setting) -> str:
    """A value as a message may show it: one line, short, and nothing that is secret."""
    if row.secret:
        return HIDDEN
    words = repr(value)
    return words if len(words) <= SHOWN_CHARACTERS else words[:SHOWN_CHARACTERS] + "…"


def outside(row: Setting, value: float) -> str:
    """The range of a number that is not in it, in words; empty if it is."""
    # Written so that a value that is no number at all, which compares with nothing, is refused.
    return "" if row.least <= value <= row.most else f"{row.least} to {row.most} ({row.unit})"


def misshapen(row: Setting, value: str) -> str:
    """The form of a text that has another, in words; empty if it has it."""
    if row.choices:
        return "" if value in row.choices else " or ".join(row.choices)
    if not re.match(rf"(?:{row.pattern})\Z", value):
        return row.form
    if row.name == "semisync_canary_schema" and value.lower() in SERVERS_OWN:
        return "a schema that is not the server's own"
    if row.tasks and value:
        return unusable_tasks(value)
    return ""


def unusable_tasks(path: str) -> str:
    """What a file of tasks must be that it is not, in words; empty if it can be included."""
    try:
        with open(path, encoding="utf-8") as stream:
            # Not constructed: tags such as !unsafe and !vault are Ansible's business.
            node = yaml.compose(stream, Loader=yaml.SafeLoader)
    except OSError as error:
        return f"a file that can be read on the controller ({error.strerror})"
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        return f"a file of tasks ({' '.join(str(error).split())})"
    tasks = getattr(node, "value", None)
    if (
        not isinstance(node, yaml.SequenceNode)
        or not tasks
        or not all(isinstance(task, yaml.MappingNode) for task in tasks)
    ):
        return "a file of tasks: a list, as in a role's tasks/main.yml"
    return ""


def problem(name: str, value: object) -> str:
    """What is wrong with a variable's value, in words; empty if nothing is."""
    try:
        converted(TABLE[name], value)
    except SettingError as error:
        return str(error)
    return ""


def unknown(names: Iterable[str]) -> list[str]:
    """The unknown variables with our prefix, in words, each with the most similar known name: the
    variable that the user meant to set still has its default.
    """
    known = [*public_names(), *OF_PLAYBOOKS]
    wrong = []
    for name in sorted(names):
        if name.startswith(PREFIX) and not name.startswith(USERS_OWN) and name not in known:
            (nearest,) = difflib.get_close_matches(name, known, 1, 0)
            wrong.append(
                f"{name} is not a variable of this collection (nearest: {nearest}); correct it,"
                f" or call a variable of your own {USERS_OWN}… or without {PREFIX}"
            )
    return wrong


def of_another_host(own: Settings, mine: Settings, theirs: Settings) -> Settings:
    """The settings of another host, as far as a task of this host knows them.

    Args:
        own: the task's own: the inventory's values, the roles' defaults, and what overrides the
            inventory, such as a play's variables, which apply to all hosts.
        mine: the inventory's values for this host.
        theirs: the inventory's values for the other host.
    """
    settings = Settings(theirs.items())
    for key, value in own.items():
        above = key in mine and mine.get(key) != value
        if above or (key not in mine and key not in theirs):
            settings[key] = value
    return settings


def from_facts(values: Mapping[str, object]) -> list[str]:
    """Which of the variables that begin as ours a host has given itself, in words. Any module's
    answer may have facts, which count for more than the inventory unless ansible.cfg says
    otherwise, and a host that was broken into answers what it likes.
    """
    facts = values.get("ansible_facts")
    if not isinstance(facts, Mapping):
        return []
    ours = [
        name
        for name in facts
        if re.match(rf"_*{PREFIX}", str(name)) and not name.startswith(USERS_OWN)
    ]
    return [
        f"{name} is what the host said of itself (ansible_facts), and no host sets variables of"
        " this collection: set inject_facts_as_vars = false in ansible.cfg. If you keep it by"
        " set_fact with cacheable, set it in the inventory; if you do not, look who is on that host"
        for name in sorted(ours)
        # A fact that no variable comes from is harmless.
        if name in values and values[name] == facts[name]
    ]


def read(
    values: Mapping[str, object], rows: Iterable[Setting] = ROWS
) -> tuple[Settings, list[str]]:
    """(the public variables among these values by key, what is wrong with the others).

    Args:
        values: name -> value; one that cannot be templated may raise anything.
        rows: the variables that are asked for.
    """
    settings, wrong = Settings(), from_facts(values)
    for row in rows:
        if row.name not in values:
            continue
        try:
            value = values[row.name]
        except Exception as error:  # Ansible's templating has many
            wrong.append(
                f"{row.name} cannot be read: {' '.join(str(error).split())}; write braces that are"
                " meant literally as !unsafe"
            )
            continue
        try:
            settings[row.key] = converted(row, value)
        except SettingError as error:
            wrong.append(str(error))
    return settings, sorted(wrong)
