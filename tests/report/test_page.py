"""report.html in a real Chromium: it draws, fits, keeps to itself, in light and dark, wide and
narrow, and prints.
"""

import json
import shutil
from pathlib import Path

import pytest
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench import analysis
from ansible_collections.dbre.semisync.plugins.plugin_utils._bench.benchmark_chapter import (
    BenchmarkChapter,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._report import page, writability
from ansible_collections.dbre.semisync.tests.unit import benchmarks
from ansible_collections.dbre.semisync.tests.unit.plugins.plugin_utils.report import (
    test_heartbeat_times,
    test_page_of_rejoin,
)

from support import browser

HERE = Path(__file__).resolve().parent

PICTURES = [
    "writers",
    "switchover",
    "drill-1",
    "clients-clients",
    "durability-rates",
    "four-phases-phases",
    "one-client-distance",
    "one-client-latency",
    "row-latency-rates",
    "row-latency-latency",
]
OUTPUT = HERE.parents[1] / "tests" / "output" / "report"
READERS = [(width, scheme) for width in (1280, 400) for scheme in ("light", "dark")]

# Of every picture that is shown: its box, how many shapes it has, and the boxes of its texts.
DRAWN = """() => [...document.querySelectorAll("figure.plot")].map(figure => {
  const extent = element => element.getBoundingClientRect();
  const box = element => (b => [b.left, b.top, b.right, b.bottom])(extent(element));
  const svgs = [...figure.querySelectorAll(":scope svg")].filter(svg => extent(svg).width > 0);
  const all = selector => svgs.flatMap(svg => [...svg.querySelectorAll(selector)]);
  const drawn = shape => !shape.closest("defs, clipPath") &&
      extent(shape).width + extent(shape).height > 0;
  return {name: figure.id, svgs: svgs.length, box: svgs.length ? box(svgs[0]) : null,
          shapes: all("path, use").filter(drawn).length,
          fonts: [...new Set(all("text").map(text => getComputedStyle(text).fontFamily))],
          unpainted: all("path, use, text").filter(
              shape => /#0[0-9a]0/.test(shape.getAttribute("style") || "")).length,
          texts: all("text").map(text => ({words: text.textContent.trim(), box: box(text)}))};
})"""
# Names that a table's narrow column breaks in two; what is folded away has no box.
TORN = """() => [...document.querySelectorAll("td.name")].filter(cell => {
  const range = document.createRange();
  range.selectNodeContents(cell);
  return new Set([...range.getClientRects()].map(box => box.top)).size > 1;
}).map(cell => cell.textContent)"""
OVERFLOW = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
# Text may come this close to a neighbour or an edge, in pixels: boxes are taller than the letters
# in them.
SLACK = 3


def heartbeat():
    """What the two servers that are left have of the heartbeat: the old source beat each second
    until its end, degraded for three seconds, and the new one beats.
    """
    zero = test_heartbeat_times.RUN - (writability.moment("2026-11-23T01:25:00Z") or 0.0)
    old = [
        test_heartbeat_times.beat(
            "0033afd4-e6d4-11f1-a031-02000063000c", second - zero, "OFF" if second > -4 else "ON"
        )
        for second in range(-30, 0)
    ]
    new = [
        test_heartbeat_times.beat("0012f347-e6d4-11f1-a031-02000063000a", second - zero)
        for second in range(10, 60)
    ]
    hosts = {
        "source": "0012f347-e6d4-11f1-a031-02000063000a",
        "replica1": "f6f9fed3-e6d3-11f1-a031-02000063000b",
    }
    return test_heartbeat_times.kept(*old, *new, hosts=hosts)


@pytest.fixture(name="run", scope="module")
def fixture_run(tmp_path_factory):
    """A run's folder: checkpoints, findings, drill, switchovers and a failover of real hosts,
    benchmarks as analyse() fills them, and a former source that is refused.
    """
    folder = tmp_path_factory.mktemp("runs") / "2026-11-21T144245.706771Z"
    shutil.copytree(HERE / "run", folder)
    for name in ("four_phases", "one_client", "row_latency", "durability", "clients"):
        if not (folder / f"benchmark-{name}.json").exists():
            made = analysis.analyse(getattr(benchmarks, name)())
            (folder / f"benchmark-{name}.json").write_text(json.dumps(made), encoding="utf-8")
    (folder / "heartbeat.json").write_text(json.dumps(heartbeat()), encoding="utf-8")
    refused = test_page_of_rejoin.rejoin(test_page_of_rejoin.ALONE, "refused")
    (folder / "rejoin.json").write_text(json.dumps(refused), encoding="utf-8")
    page.write_page(str(folder), "default", "2026-11-21T15:00:00Z", BenchmarkChapter)
    return folder


@pytest.fixture(name="chromium", scope="module")
def fixture_chromium(run, tmp_path_factory):
    with browser.chromium(run, tmp_path_factory.mktemp("browser")) as started:
        yield started


def overlapping(texts):
    """Pairs of texts that cover each other."""
    found = []
    for number, one in enumerate(texts):
        for other in texts[number + 1 :]:
            (left, top, right, bottom), (left2, top2, right2, bottom2) = one["box"], other["box"]
            if (
                min(right, right2) - max(left, left2) > SLACK
                and min(bottom, bottom2) - max(top, top2) > SLACK
            ):
                found.append((one["words"], other["words"]))
    return found


def outside(texts, box):
    """Texts that leave their picture."""
    return [
        text["words"]
        for text in texts
        if text["box"][0] < box[0] - SLACK
        or text["box"][2] > box[2] + SLACK
        or text["box"][1] < box[1] - SLACK
        or text["box"][3] > box[3] + SLACK
    ]


@pytest.mark.parametrize("width,scheme", READERS)
def test_the_page_draws_and_fits_and_keeps_to_itself(chromium, width, scheme):
    OUTPUT.mkdir(parents=True, exist_ok=True)
    with browser.Visit(chromium, "report.html", width, scheme) as visit:
        visit.page.screenshot(path=OUTPUT / f"{width}-{scheme}.png", full_page=True)
        assert visit.complaints == [] and visit.elsewhere() == []
        assert visit.measure(OVERFLOW) == 0
        assert visit.measure(TORN) == []
        drawn = visit.measure(DRAWN)
    assert [picture["name"] for picture in drawn] == PICTURES
    for picture in drawn:
        box = picture["box"]
        assert picture["svgs"] == 1, picture["name"]
        assert box[2] - box[0] > 0.8 * min(width - 64, 960) and box[3] - box[1] > 80, picture[
            "name"
        ]
        assert picture["shapes"] >= 3 and len(picture["texts"]) >= 3 and not picture["unpainted"], (
            picture["name"]
        )
        assert len(picture["fonts"]) == 1 and picture["fonts"][0].startswith("Inter"), picture[
            "name"
        ]
        assert overlapping(picture["texts"]) == [], picture["name"]
        assert outside(picture["texts"], box) == [], picture["name"]


COLOURS = """() => [getComputedStyle(document.body).backgroundColor,
                    getComputedStyle(document.body).color,
                    getComputedStyle(document.querySelector(
                        "#four-phases-phases .wide text")).fill]"""


def test_dark_is_dark_and_light_is_light(chromium):
    found = {}
    for scheme in ("light", "dark"):
        with browser.Visit(chromium, "report.html", 1280, scheme) as visit:
            colours = visit.measure(COLOURS)
        found[scheme] = [
            sum(int(part) for part in colour.strip("rgb()").split(",")) for colour in colours
        ]
    (light_back, *light_ink), (dark_back, *dark_ink) = found["light"], found["dark"]
    assert light_back > 700 and dark_back < 120
    assert max(light_ink) < 120 and min(dark_ink) > 600


def test_it_prints_in_ink_on_paper_with_the_raw_tables(chromium):
    with browser.Visit(chromium, "report.html", 1280, "dark") as visit:
        visit.page.emulate_media(media="print")
        assert (
            visit.measure("() => getComputedStyle(document.body).backgroundColor")
            == "rgb(255, 255, 255)"
        )
        printed = visit.page.pdf(
            format="A4", margin=dict.fromkeys(("top", "bottom", "left", "right"), "15mm")
        )
    assert printed.startswith(b"%PDF") and len(printed) > 50000
    (OUTPUT / "report.pdf").write_bytes(printed)


SAVED = """() => JSON.parse(new TextDecoder().decode(Uint8Array.from(
    atob(document.querySelector('a.data[download="drill.json"]').href.split(",")[1]),
    letter => letter.charCodeAt(0))))"""


def test_the_raw_data_can_be_saved(chromium, run):
    with browser.Visit(chromium, "report.html", 1280, "light") as visit:
        assert visit.page.locator("a.data").count() == len(list(run.glob("*.json")))
        saved = visit.measure(SAVED)
    assert saved == json.loads((run / "drill.json").read_text(encoding="utf-8"))


FAR = '<img src="http://192.0.2.1/x.png">'


def broken(run, name, old, new):
    """The page with a fault in it."""
    text = (run / "report.html").read_text(encoding="utf-8")
    assert old in text
    (run / name).write_text(text.replace(old, new, 1), encoding="utf-8")
    return name


def test_the_checks_see_what_they_are_for(chromium, run):
    with browser.Visit(
        chromium,
        broken(run, "wide.html", "<footer>", '<footer style="width: 3000px">'),
        1280,
        "light",
    ) as visit:
        assert visit.measure(OVERFLOW) > 0
    with browser.Visit(
        chromium,
        broken(run, "torn.html", "</style>", "td.name { overflow-wrap: anywhere; }</style>"),
        1280,
        "light",
    ) as visit:
        assert "truncate" in visit.measure(TORN)
    with browser.Visit(
        chromium, broken(run, "asks.html", "<footer>", FAR + "<footer>"), 1280, "light"
    ) as visit:
        assert visit.complaints
    (run / "open.html").write_text(FAR, encoding="utf-8")
    with browser.Visit(chromium, "open.html", 1280, "light") as visit:
        assert visit.elsewhere() == ["http://192.0.2.1/x.png"]
    with browser.Visit(
        chromium,
        broken(run, "empty.html", "</style>", "figure.plot svg { display: none; }</style>"),
        400,
        "light",
    ) as visit:
        assert all(picture["svgs"] == 0 for picture in visit.measure(DRAWN))
    texts = [
        {"words": "a", "box": [0, 0, 50, 12]},
        {"words": "b", "box": [40, 2, 90, 14]},
        {"words": "c", "box": [95, 0, 120, 12]},
    ]
    assert overlapping(texts) == [("a", "b")] and outside(texts, [0, 0, 100, 20]) == ["c"]
