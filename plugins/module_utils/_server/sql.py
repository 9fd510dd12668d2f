# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names and values in the text of SQL statements."""

from __future__ import annotations

import re

WHOLE_NUMBER = r"-?\d+\Z"


def quote(name: str) -> str:
    """An identifier in backticks, whatever is in it."""
    return f"`{name.replace('`', '``')}`"


def quote_text(text: str) -> str:
    """A text between apostrophes, whatever is in it."""
    # An apostrophe that is doubled ends the text in no SQL mode; one after a backslash may.
    escaped = text.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"


def filled(template: str, **parts: str | tuple[str, ...] | list[str]) -> str:
    """A statement whose {name} has what was given: a name in backticks, a tuple of them with dots
    between, a list of texts between apostrophes, whatever is in them.
    """
    return template.format(**{name: written(part) for name, part in parts.items()})


def written(part: str | tuple[str, ...] | list[str]) -> str:
    """One part of filled()."""
    if isinstance(part, str):
        return quote(part)
    if isinstance(part, tuple):
        return ".".join(map(quote, part))
    return ", ".join(map(quote_text, part))


def account_name(user: str, host: str) -> str:
    return f"{quote_text(user)}@{quote_text(host)}"


def set_statement(name: str, value: int | str) -> str:
    """One SET GLOBAL.

    Raises:
        ValueError: the name is no variable's name.
    """
    if not re.match(r"[A-Za-z0-9_.]+\Z", name):
        raise ValueError(f"{name!r} is not the name of a variable")
    text = str(value)
    return f"SET GLOBAL {name} = {text if re.match(WHOLE_NUMBER, text) else quote_text(text)}"
