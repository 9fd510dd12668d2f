# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The interface by which the benchmarks add a chapter to a run's page; the page knows nothing else
of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypedDict


class Tile(TypedDict):
    """A key figure at the top of the page; outcome is good, attention, bad, or empty."""

    figure: str
    label: str
    outcome: str


class Chapter:
    """An empty chapter; others override these methods.

    Attributes:
        folder: where its template is; empty if it has none.
        template: the template's file name; it is rendered with the chapter as `chapter`.
        contents: (anchor, words) of each of its sections.
        filters: what its template uses, by name.
        attention: a headline if something in it needs attention; empty otherwise.
        headline: of a page that has nothing but this chapter.
        sentences: below the headline.
        tiles: its key figures, the most important one first.
    """

    folder = ""
    template = ""
    contents: Sequence[tuple[str, str]] = ()
    filters: Mapping[str, Callable[..., str]] = {}
    attention = ""
    headline = ""
    sentences: Sequence[str] = ()
    tiles: Sequence[Tile] = ()

    def summary(self) -> list[tuple[str, list[str]]]:
        """(heading, sentences) of each of its sections in summary.md."""
        return []

    def draw(self) -> None:
        """Draw what its template shows; called only if matplotlib is there."""


NO_CHAPTER = Chapter()
# Makes a chapter from a run's files, by name.
ChapterOf = Callable[[Mapping[str, object]], Chapter]


def no_chapter(_files: Mapping[str, object]) -> Chapter:
    return NO_CHAPTER
