"""The plot of the speed page: seconds against hosts, as SVG that is readable on light and dark
pages.
"""

from __future__ import annotations

import math
import statistics

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 720, 400, 60, 50, 40
COLOURS = {"floor": "#7f7f7f", "no-op": "#1f77b4", "first": "#d9730d"}
LABELS = {"floor": "floor", "no-op": "no-op site.yml", "first": "first site.yml"}
DASHES = {"replicas": "", "clusters": "6 4"}


def value(row: dict, what: str) -> float:
    """The median of repetitions, or the single figure."""
    return statistics.median(row[what]) if isinstance(row[what], list) else row[what]


def series(rows: list[dict], what: str, grows: str) -> list[tuple[int, float]]:
    """(hosts, seconds) of the shapes in which only `grows` differs."""
    other = {"replicas": "clusters", "clusters": "replicas"}[grows]
    return sorted((row["hosts"], value(row, what)) for row in rows if row[other] == 1)


def svg(rows: list[dict]) -> str:
    """Both axes are logarithmic: the shapes lie between 2 and 40 hosts, the figures between seconds
    and minutes.
    """
    highest = max(value(row, what) for row in rows for what in COLOURS)
    most = max(row["hosts"] for row in rows)
    top = next(step for step in (10, 20, 50, 100, 200, 500, 1000, 2000, 5000) if step >= highest)

    def x(hosts):
        return LEFT + (WIDTH - LEFT - 20) * math.log(hosts / 2) / math.log(max(most, 4) / 2)

    def y(seconds):
        return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * max(math.log(seconds), 0) / math.log(top)

    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"'
            ' font-family="sans-serif" font-size="12">'
        ),
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        f'<text x="{WIDTH / 2}" y="{HEIGHT - 10}" text-anchor="middle">hosts</text>',
        (
            f'<text x="14" y="{HEIGHT / 2}" text-anchor="middle" transform="rotate(-90 14'
            f' {HEIGHT / 2})">seconds</text>'
        ),
    ]
    for step in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000):
        if step <= top:
            parts += [
                (
                    f'<line x1="{LEFT}" x2="{WIDTH - 20}" y1="{y(step):.1f}" y2="{y(step):.1f}"'
                    ' stroke="#dddddd"/>'
                ),
                f'<text x="{LEFT - 6}" y="{y(step) + 4:.1f}" text-anchor="end">{step}</text>',
            ]
    for hosts in sorted({row["hosts"] for row in rows}):
        parts.append(
            f'<text x="{x(hosts):.1f}" y="{HEIGHT - BOTTOM + 18}"'
            f' text-anchor="middle">{hosts}</text>'
        )
    for place, (what, colour) in enumerate(COLOURS.items()):
        parts.append(f'<text x="{LEFT + 150 * place}" y="20" fill="{colour}">{LABELS[what]}</text>')
        for grows, dash in DASHES.items():
            points = [(x(hosts), y(seconds)) for hosts, seconds in series(rows, what, grows)]
            line = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
            parts.append(
                f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"'
                f' stroke-dasharray="{dash}"/>'
            )
            parts += [
                f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3.5" fill="{colour}"/>' for a, b in points
            ]
    parts.append(
        f'<text x="{WIDTH - 20}" y="20" text-anchor="end">solid: one cluster; dashed: pairs</text>'
    )
    return "\n".join([*parts, "</svg>"]) + "\n"
