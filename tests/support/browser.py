"""A real Chromium in a container without a network, driven by Playwright through a pipe."""

from __future__ import annotations

import contextlib
import os
import subprocess
from pathlib import Path

import browser_image
from playwright.sync_api import sync_playwright

# What Playwright starts in place of a browser. It speaks through the file descriptors 3 and 4,
# docker only through standard input and output.
PROGRAM = """#!/bin/sh
exec docker run --rm --interactive --name {name} --network none --shm-size 512m \
  --volume {folder}:/report:ro {image} \
  sh -c 'exec chromium "$@" 3<&0 4>&1 </dev/null >&2' chromium "$@" <&3 >&4
"""
# A browser that shares a busy machine is slow, and no fault of the page.
SECONDS = 180


@contextlib.contextmanager
def chromium(folder: Path, work: Path):
    """A browser that sees the folder as /report and nothing else; work is for a script of ours."""
    image, name = browser_image.image(), f"semisync-report-{os.getpid()}"
    program = work / "chromium"
    program.write_text(PROGRAM.format(name=name, folder=folder, image=image), encoding="utf-8")
    program.chmod(0o755)
    try:
        with sync_playwright() as playwright:
            yield playwright.chromium.launch(executable_path=str(program), timeout=SECONDS * 1000)
    finally:
        subprocess.run(["docker", "rm", "--force", name], check=False, capture_output=True)


class Visit:
    """A page as one reader sees it, with whatever it asked for and complained of."""

    def __init__(self, browser, name: str, width: int, scheme: str, scale: float = 1) -> None:
        self.context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, device_scale_factor=scale
        )
        self.context.set_default_timeout(SECONDS * 1000)
        self.page = self.context.new_page()
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on(
            "console", lambda message: self.complaints.append(f"{message.type}: {message.text}")
        )
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.address = f"file:///report/{name}"
        self.page.goto(self.address)

    def __enter__(self):
        return self

    def __exit__(self, *dummy) -> None:
        self.context.close()

    def elsewhere(self) -> list[str]:
        """What was asked for besides the page itself."""
        return [url for url in self.requests if url != self.address and not url.startswith("data:")]

    def measure(self, script: str):
        """The value of a JavaScript expression on the page."""
        return self.page.evaluate(script)
