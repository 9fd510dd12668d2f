"""The tables of faults as pictures for the README: readable on a light page and on a dark one."""

from __future__ import annotations

import collections
import pathlib
import textwrap
from html import escape
from typing import Any

from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import certificate

from proving.cycle import REFUSED, lies
from proving.faults import FAULTS
from proving.table import grouped, spread, total, untils
from proving.verdicts import NEEDLESS

Record = dict[str, Any]
PROJECT = pathlib.Path(__file__).resolve().parents[2]
PICTURE = PROJECT / "docs" / "images" / "failover.svg"
WITH_BEATS = PICTURE.with_name("heartbeat.svg")
WIDTH, LINE, TOP, LEFT = 1120, 20, 64, 16
# Where each column is; those of numbers end there.
FAULT, SERVER = LEFT, 410
CYCLES, CONFIRMED, LOST, UNEXPECTED = 590, 674, 718, 802
VERDICTS, SECONDS = 822, WIDTH - LEFT
GAP = 8
# Letters of a fault's words on a line.
LETTERS = 56
SHORT = {
    certificate.PROVEN: "proven",
    certificate.WINDOW: "but for a window",
    certificate.NOT_PROVEN: "not proven",
    NEEDLESS: "none needed",
    REFUSED: "no takeover",
}
# Ink, faint ink, page, line, and what is as it has to be, was to be expected, or must not be.
LIGHT = ("#1f2328", "#59636e", "#ffffff", "#d1d9e0", "#1a7f37", "#9a6700", "#d1242f")
DARK = ("#f0f6fc", "#9198a1", "#0d1117", "#3d444d", "#3fb950", "#d29922", "#f85149")
NAMES = ("ink", "faint", "page", "line", "good", "fair", "bad")


def style() -> str:
    def rules(colours: tuple[str, ...]) -> str:
        made = [
            f".{name}{{{'stroke' if name == 'line' else 'fill'}:{colour}}}"
            for name, colour in zip(NAMES, colours, strict=True)
        ]
        return "".join(made)

    return (
        f"<style>text{{font:13px sans-serif}}.head{{font-weight:bold}}{rules(LIGHT)}"
        f"@media(prefers-color-scheme:dark){{{rules(DARK)}}}</style>"
    )


def put(across: float, down: float, words: object, kind: str = "ink", end: bool = False) -> str:
    """A text; with `end` it ends there."""
    anchor = ' text-anchor="end"' if end else ""
    return f'<text x="{across}" y="{down}" class="{kind}"{anchor}>{escape(str(words))}</text>'


def kind_of(number: int, allowed: bool) -> str:
    if number == 0:
        return "good"
    return "fair" if allowed else "bad"


def heads(usual: bool) -> list[str]:
    upper = [(FAULT, "fault", False), (SERVER, "server", False), (CYCLES, "cycles", True)]
    upper += [
        (CONFIRMED, "confirmed", True),
        (LOST, "lost", True),
        (UNEXPECTED, "unexpected", True),
    ]
    last, under = "s without", "writes: median, worst"
    if usual:
        upper[-1] = (UNEXPECTED, "early", True)
        last, under = "s proven until", "before the last row"
    upper += [(VERDICTS, "certificates", False), (SECONDS, last, True)]
    made = [put(across, TOP - 32, words, "ink head", end) for across, words, end in upper]
    return [*made, put(SECONDS, TOP - 16, under, "faint", True)]


def line_of(down: float, version: str, made: list[Record]) -> list[str]:
    """One server's cycles of one fault."""
    fault = FAULTS[made[0]["case"]]
    lost = total(made, "lost")
    second = total(made, "early" if fault.usual else "unexpected")
    liars = sum(map(lies, made))
    counts = collections.Counter(SHORT[record["verdict"]] for record in made)
    words = ", ".join(f"{number} {name}" for name, number in counts.most_common())
    words += f", {liars} of them lie" if liars else ""
    return [
        put(SERVER, down, version),
        put(CYCLES, down, len(made), end=True),
        put(CONFIRMED, down, f"{total(made, 'confirmed'):,}".replace(",", "\u202f"), end=True),
        put(LOST, down, lost, kind_of(lost, made[0]["server"] in fault.may_lose), True),
        put(UNEXPECTED, down, second, kind_of(second, False), True),
        put(VERDICTS, down, words, "bad" if liars else "ink"),
        put(SECONDS, down, untils(made) if fault.usual else spread(made, "without"), "faint", True),
    ]


def picture(records: list[Record], usual: bool = False) -> str:
    """The SVG; faults that were never made are not in it.

    Args:
        usual: whether of the faults with the settings that people have, or of the others.
    """
    groups: dict[str, list[tuple[str, list[Record]]]] = collections.defaultdict(list)
    for case, version, made in grouped(records):
        if case in FAULTS and FAULTS[case].usual is usual:
            groups[case].append((version, made))
    parts, down = heads(usual), TOP + LINE
    for case, lines in groups.items():
        ends = f'x1="{LEFT}" x2="{WIDTH - LEFT}" y1="{down - 18}" y2="{down - 18}"'
        parts.append(f'<line {ends} class="line"/>')
        words = textwrap.wrap(FAULTS[case].words, LETTERS)
        parts += [put(FAULT, down + LINE * place, text) for place, text in enumerate(words)]
        for place, (version, made) in enumerate(lines):
            parts += line_of(down + LINE * place, version, made)
        down += LINE * max(len(words), len(lines)) + GAP
    height = down
    box = f'<rect width="{WIDTH}" height="{height}" rx="6" class="page"/>'
    root = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}">'
    return "\n".join([root, style(), box, *parts, "</svg>"]) + "\n"


def write(records: list[Record]) -> None:
    """Both, for the README."""
    PICTURE.write_text(picture(records), encoding="utf-8")
    WITH_BEATS.write_text(picture(records, usual=True), encoding="utf-8")
