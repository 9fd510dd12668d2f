"""A picture of a run's report for the README: picture.py RUN-FOLDER [TARGET]. The run must have its
report.html.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from PIL import Image

PROJECT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(PROJECT / "tests"), str(PROJECT / "lab")]

from support import browser  # noqa: E402

TARGET = PROJECT / "docs" / "images" / "report.png"
WIDTH, MARGIN = 1280, 24
# The verdict and the pictures; the tables between them are left out.
PARTS = ("header", "#drill figure.plot", "#suite-1 figure.plot")
MOST_BYTES = 300 * 1000


def main() -> int:
    """Photograph these parts of the page, in as few colours as keep it small."""
    folder, target = Path(sys.argv[1]).resolve(), Path(sys.argv[2]) if len(sys.argv) > 2 else TARGET
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work, browser.chromium(folder, Path(work)) as started:
        visit = browser.Visit(started, "report.html", WIDTH, "light")
        boxes = [
            visit.page.locator(part).first.bounding_box()
            for part in PARTS
            if visit.page.locator(part).count()
        ]
        visit.page.screenshot(path=target, full_page=True)
    page = Image.open(target).convert("RGB")
    spans = [(int(box["y"]) - MARGIN, int(box["y"] + box["height"]) + MARGIN) for box in boxes]
    made = Image.new(
        "RGB", (WIDTH, sum(end - begin for begin, end in spans)), page.getpixel((0, 0))
    )
    place = 0
    for begin, end in spans:
        made.paste(page.crop((0, begin, WIDTH, end)), (0, place))
        place += end - begin
    made.quantize(128).save(target, optimize=True)
    size = target.stat().st_size
    print(f"{target}: {size / 1000:.0f} kB")
    return 0 if size < MOST_BYTES else 1


if __name__ == "__main__":
    sys.exit(main())
