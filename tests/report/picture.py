"""A picture of a run's report for the README: picture.py RUN-FOLDER [TARGET]. The run must have its report.html."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from PIL import Image

import browser

TARGET = Path(__file__).resolve().parents[2] / "docs" / "images" / "report.png"
WIDTH, HEIGHT = 1280, 1500
MOST_BYTES = 300 * 1000


def main() -> int:
    """Photograph the top of the page in as few colours as keep it small."""
    folder, target = Path(sys.argv[1]).resolve(), Path(sys.argv[2]) if len(sys.argv) > 2 else TARGET
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work, browser.chromium(folder, Path(work)) as started:
        visit = browser.Visit(started, "report.html", WIDTH, "light")
        # The parts that a reader who scrolls would see first: the verdict, then a picture.
        visit.page.screenshot(path=target, clip={"x": 0, "y": 0, "width": WIDTH, "height": HEIGHT}, full_page=True)
    Image.open(target).convert("RGB").quantize(128).save(target, optimize=True)
    size = target.stat().st_size
    print(f"{target}: {size / 1000:.0f} kB")
    return 0 if size < MOST_BYTES else 1


if __name__ == "__main__":
    sys.exit(main())
