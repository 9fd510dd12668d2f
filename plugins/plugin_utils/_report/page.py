# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run's report: report.html, one self-contained page, and summary.md."""

from __future__ import annotations

import base64
import glob
import json
import os
import re
from typing import Any, TypedDict

from ansible_collections.dbre.semisync.plugins.plugin_utils._common import results
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.figures import short
from ansible_collections.dbre.semisync.plugins.plugin_utils._report import (
    heartbeat_times,
    plots,
    text,
    text_failover,
    text_switchover,
    writability,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._report.chapter import (
    ChapterOf,
    no_chapter,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._report.record_shapes import Files
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import rejoin_record

HTML, SUMMARY = "report.html", "summary.md"
# The page carries the raw data as long as it stays well below 3 MB; base64 makes it a third larger.
RAW_BYTES = 1500 * 1000
HERE = os.path.dirname(os.path.abspath(__file__))
MISSING = object()


class RawFile(TypedDict):
    """A file of the run to keep with the page: url is None if there is no room for it."""

    name: str
    bytes: int
    url: str | None


class Pictures(TypedDict):
    """The pictures: all role changes, the switchover, each drill."""

    writers: plots.Picture | None
    switchover: plots.Picture | None
    drills: list[plots.Picture | None]


def gather(folder: str) -> tuple[dict[str, Any], list[str]]:
    """A run's results: (name -> value of its JSON files, names of those that cannot be read)."""
    paths = [
        os.path.join(folder, name)
        for name in (
            "checkpoints.json",
            "findings.json",
            results.HEARTBEAT,
            "switchover.json",
            "certificate.json",
            rejoin_record.FILE,
            "drill.json",
            "advice.json",
        )
    ]
    paths += sorted(glob.glob(os.path.join(glob.escape(folder), "benchmark-*.json")))
    files, broken = {}, []
    for path in paths:
        if os.path.exists(path):
            value = results.read_json(path, MISSING)
            if value is MISSING:
                broken.append(os.path.basename(path))
            else:
                files[os.path.basename(path)] = value
    if rejoin_record.FILE in files:
        # A report has more readers than client data may have.
        files[rejoin_record.FILE] = rejoin_record.without_rows(files[rejoin_record.FILE])
    return files, broken


def write_page(
    folder: str, cluster: str, made_at: str, chapter_of: ChapterOf = no_chapter
) -> tuple[str, str | None, str]:
    """Write summary.md, and report.html if it can be drawn.

    Args:
        folder: of the run.
        cluster: its name.
        made_at: when the report is made, as results.stamp().
        chapter_of: makes what the page shows besides.

    Returns:
        (path of summary.md, path of report.html or None if matplotlib is missing, the verdict's
        line).

    Raises:
        ValueError: there is nothing to report.
    """
    files, broken = gather(folder)
    if not files and not broken:
        raise ValueError(
            f"{folder} holds no checkpoints, switchover, failover, rejoin, drill, benchmark or"
            " advice to report"
        )
    overview = text.make_overview(
        files, broken, cluster, os.path.basename(folder), made_at, chapter_of(files)
    )
    overview["heartbeat"] = heartbeat_times.part(files)
    # Only a run with a role change shows the sequence of the cluster's role changes.
    if overview["switchover"] or overview["failover"]:
        add_changes(overview, folder)
    summary = os.path.join(folder, SUMMARY)
    results.write_text(summary, text.markdown(overview))
    page = None
    if plots.HAS_MATPLOTLIB:
        page = os.path.join(folder, HTML)
        results.write_text(page, html(overview, files))
    return summary, page, overview["verdict"]["headline"]


def add_changes(overview: text.Overview, folder: str) -> None:
    """Add the cluster's role changes up to a run, and who beat when around them."""
    changes = writability.up_to(folder)
    beats = heartbeat_times.of_changes(folder, changes)
    overview["heartbeat"]["times"] = beats
    overview["changes"] = heartbeat_times.seen_by_beats(changes, beats)
    overview["who_wrote"] = writability.table(overview["changes"])


def html(overview: text.Overview, files: Files) -> str:
    """The page. Everything that came from a host or a file is escaped by the template."""
    import jinja2

    chapter = overview["chapter"]
    folders = [HERE, chapter.folder] if chapter.folder else [HERE]
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folders),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.ChainableUndefined,
    )
    environment.filters.update(
        short=short,
        moment=text.moment,
        meaning=text_switchover.meaning,
        failover_meaning=text_failover.meaning,
        **chapter.filters,
    )
    # Another scheme in a link, such as javascript:, would run in the page.
    environment.tests["match_url"] = lambda text: bool(re.match(r"https?://", text))
    with open(os.path.join(HERE, "page.css")) as stream:
        style = stream.read()
    return environment.get_template("page.html.j2").render(
        overview=overview,
        chapter=chapter,
        style=jinja2.utils.markupsafe.Markup(style),
        pictures=drawn(overview),
        raw=raw(files),
        svg=jinja2.utils.markupsafe.Markup,
    )


def drawn(overview: text.Overview) -> Pictures:
    """Draw all pictures."""
    from ansible_collections.dbre.semisync.plugins.plugin_utils._report import (
        plots_drill,
        plots_switchover,
        plots_writability,
    )

    overview["chapter"].draw()
    drills, moved = enumerate(overview["drills"], 1), overview["switchover"]
    return {
        "writers": plots_writability.timeline(overview["changes"], overview["heartbeat"]["times"]),
        "switchover": plots_switchover.timeline(moved) if moved else None,
        "drills": [plots_drill.timeline(drill, number) for number, drill in drills],
    }


def raw(files: Files) -> list[RawFile]:
    """The run's files to keep with the page: name, bytes, and a data URL if there is room."""
    listed: list[RawFile] = []
    room = RAW_BYTES
    for name, value in files.items():
        text = json.dumps(value, indent=2).encode("utf-8")
        fits = len(text) <= room
        room -= len(text) if fits else 0
        url = (
            "data:application/json;base64," + base64.b64encode(text).decode("ascii")
            if fits
            else None
        )
        listed.append({"name": name, "bytes": len(text), "url": url})
    return listed
