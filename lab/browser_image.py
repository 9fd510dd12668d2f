"""The image of a browser, for tests of the report: Debian's Chromium without a network."""

from __future__ import annotations

import sys

import debian
import docker_image
from common import LabError

BROWSER = debian.Server(
    "browser", "13", "trixie", 257, "", "", ("chromium", "fonts-inter", "fonts-dejavu-core")
)


def image() -> str:
    """Build the image, when there is none, and return its tag."""
    return docker_image.ensure(BROWSER)


if __name__ == "__main__":
    try:
        print(image())
    except LabError as error:
        sys.exit(f"lab: error: {error}")
