# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a picture becomes part of a page: matplotlib's SVG, with the page's fonts and colours, wide
and narrow.
"""

from __future__ import annotations

import io
import logging
import re
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, TypedDict

try:
    from matplotlib import rc_context
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    HAS_MATPLOTLIB = True
except ImportError:
    HAS_MATPLOTLIB = False

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# What to do if matplotlib is missing.
INSTALL = "pip install matplotlib"

# Pictures are drawn in these colours, which the page's custom properties then replace: they have a
# light and a dark form.
INK = {
    "ink": "#010101",
    "muted": "#020202",
    "rule": "#030303",
    "async": "#040404",
    "semisync": "#050505",
    "delay": "#060606",
    "bad": "#070707",
    "good": "#080808",
    "paper": "#090909",
    "shade": "#0a0a0a",
}

# Points are pixels at 72 dpi: (width, font size) as the page shows them.
WIDE, NARROW = (960, 13.0), (368, 12.0)
DPI = 72.0

# As matplotlib types its parameters.
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "dbre.semisync",
    "text.parse_math": False,
    "font.family": ["DejaVu Sans"],
    "axes.unicode_minus": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "axes.edgecolor": INK["rule"],
    "axes.labelcolor": INK["muted"],
    "axes.linewidth": 1.0,
    "text.color": INK["ink"],
    "xtick.color": INK["muted"],
    "ytick.color": INK["muted"],
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "xtick.minor.size": 0,
    "ytick.minor.size": 0,
    "xtick.major.pad": 6,
    "ytick.major.pad": 8,
    "axes.grid": False,
    "grid.color": INK["rule"],
    "grid.linewidth": 1.0,
    "axes.axisbelow": True,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "lines.linewidth": 2.0,
    "lines.solid_capstyle": "round",
}


class Picture(TypedDict):
    """A picture for the page: wide and narrow are SVG."""

    name: str
    title: str
    wide: str
    narrow: str


class Canvas:
    """One rendering of a picture.

    Args:
        narrow: whether it is for a telephone.
        height: of the wide one in pixels.
        narrow_height: of the narrow one.
    """

    def __init__(self, narrow: bool, height: int, narrow_height: int | None = None) -> None:
        self.narrow = narrow
        self.width, self.size = NARROW if narrow else WIDE
        self.height = (narrow_height or height) if narrow else height
        self.figure = Figure(figsize=(self.width / DPI, self.height / DPI), dpi=DPI)

    def axes(
        self,
        left: int,
        right: int,
        top: int,
        bottom: int,
        grid: Literal["both", "x", "y"] | None = "y",
    ) -> Axes:
        """Axes with margins in pixels."""
        made = self.figure.add_axes(
            (
                left / self.width,
                bottom / self.height,
                (self.width - left - right) / self.width,
                (self.height - top - bottom) / self.height,
            )
        )
        made.tick_params(labelsize=self.size)
        if grid:
            made.grid(True, axis=grid)
        return made

    def note(
        self,
        x: int,
        y: int,
        text: str,
        color: str = INK["muted"],
        fontweight: str = "normal",
        ha: Literal["left", "center", "right"] = "left",
    ) -> None:
        """Text at a place in pixels from the upper left corner."""
        self.figure.text(
            x / float(self.width),
            1 - y / float(self.height),
            text,
            fontsize=self.size,
            va="top",
            ha=ha,
            color=color,
            fontweight=fontweight,
        )

    def svg(self) -> str:
        stream = io.StringIO()
        self.figure.savefig(
            stream,
            format="svg",
            metadata={"Date": None, "Creator": None, "Format": None, "Type": None},
        )
        return stream.getvalue()


def few_ticks(axes: Axes, most: int, whole: bool = False) -> None:
    """Limit the number of intervals of the x axis, at whole numbers if requested."""
    locator = axes.xaxis.get_major_locator()
    if isinstance(locator, MaxNLocator):
        locator.set_params(nbins=most, integer=whole)


def clean(text: str, length: int = 60) -> str:
    """A label for a picture: one short line, without characters that a font cannot draw."""
    line = re.sub(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]+", " ", str(text)).strip()
    return line if len(line) <= length else line[: length - 1].rstrip() + "\u2026"


def picture(name: str, title: str, draw: Callable[[bool], Canvas]) -> Picture:
    """Both renderings for the page.

    Args:
        name: of letters, digits and hyphens; every identifier in the drawing begins with it.
        title: what a screen reader says.
        draw: function(narrow) that returns a Canvas.

    Returns:
        both renderings; the SVG is safe to be part of a page.
    """
    renderings: Picture = {"name": name, "title": title, "wide": "", "narrow": ""}
    # If a font lacks a host name's letters, the browser takes another; no warning is needed here.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    with rc_context(STYLE), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        renderings["wide"] = page_svg(draw(False).svg(), f"{name}-wide")
        renderings["narrow"] = page_svg(draw(True).svg(), f"{name}-narrow")
    return renderings


def page_svg(svg: str, prefix: str) -> str:
    """matplotlib's file as an element of a page: no fixed size, identifiers of its own, the page's
    colours and font.
    """
    body = svg[svg.index("<svg") :]
    head, rest = body.split(">", 1)
    head = re.sub(r'\s(width|height|version|xmlns(:xlink)?)="[^"]*"', "", head)
    rest = re.sub(r"<metadata>.*?</metadata>", "", rest, flags=re.DOTALL)
    rest = re.sub(r'(?<=\s)id="', f'id="{prefix}-', rest)
    rest = re.sub(r'((?:xlink:)?href)="#', f'href="#{prefix}-', rest)
    rest = rest.replace("url(#", f"url(#{prefix}-")
    rest = re.sub(r'style="[^"]*"', page_style, rest)
    return f'{head} aria-hidden="true" focusable="false">{rest.strip()}'


def page_style(match: re.Match[str]) -> str:
    """A style attribute with the page's colours and font in place of those it was drawn with."""
    style = re.sub(r"'DejaVu Sans'[^;\"]*", "var(--font)", match.group(0))
    for name, colour in INK.items():
        style = style.replace(colour, f"var(--{name})")
    return style
