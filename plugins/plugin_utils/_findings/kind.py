# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a kind of finding says, and a finding as results keep it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypedDict


class Finding(TypedDict):
    """A finding as findings.json has it.

    Attributes:
        id: the name of its kind.
        severity: one of SEVERITIES.
        host: inventory name.
        title, why, remedy: texts of its kind.
        evidence: what was seen.
        source: where the why is written: an address, or a name.
    """

    id: str
    severity: str
    host: str
    title: str
    evidence: str
    why: str
    source: str
    remedy: str


class Variant(NamedTuple):
    """What a kind says instead in some cases; empty for what stays.

    Attributes:
        when: the case, for docs/findings.md.
    """

    when: str
    title: str = ""
    why: str = ""
    remedy: str = ""


class Kind(NamedTuple):
    """A kind of finding; docs/findings.md is made of these.

    Attributes:
        severity: one of SEVERITIES.
        title: in a line of verify.yml.
        when: what brings it about, for docs/findings.md, as Markdown.
        why: why it matters.
        source: where that is written: one place, or MySQL's and MariaDB's.
        remedy: what to do.
        severities: the severity for docs/findings.md, if a rule may choose another.
        variants: name -> what it says instead.
    """

    severity: str
    title: str
    when: str
    why: str
    source: str | tuple[str, str]
    remedy: str
    severities: str = ""
    variants: Mapping[str, Variant] = {}

    def source_of(self, engine: str) -> str:
        """The place where it is written for an engine."""
        if isinstance(self.source, str):
            return self.source
        return self.source[1] if engine == "mariadb" else self.source[0]
