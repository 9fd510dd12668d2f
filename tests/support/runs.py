"""What a run of a playbook says, host by host."""

from __future__ import annotations

import re
import subprocess

from support.live_hosts import words

FAILURE = re.compile(r"^fatal: \[(\S+?)\]: (.*\n(?:[ \t].*\n)*)", re.MULTILINE)
RECAP = re.compile(r"^(\S+) +: ok=.* changed=(\d+) +unreachable=(\d+) +failed=(\d+) ", re.MULTILINE)


class Run:
    """What a run of one playbook said of each host, and what it changed."""

    def __init__(self, result: subprocess.CompletedProcess[str]) -> None:
        self.status, self.text = result.returncode, result.stdout + result.stderr
        self.said: dict[str, list[str]] = {}
        for host, text in FAILURE.findall(result.stdout):
            said = words(subprocess.CompletedProcess([], 1, text, ""))
            self.said.setdefault(host, []).append(said)
        # A line of a table, or the words of a failure.
        self.lines = self.text.splitlines() + [
            " ".join([host, *said]) for host, said in self.said.items()
        ]
        self.counted = {
            host: {"changed": int(changed), "failed": int(failed) + int(unreachable)}
            for host, changed, unreachable, failed in RECAP.findall(result.stdout)
        }
