# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A process that outlives a killed part, and repairs its host.

It does nothing while the part lives, and ends with it. It is begun before there is any connection,
so that it keeps none of them open.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._host import detached
from ansible_collections.dbre.semisync.plugins.module_utils._server import disk_space

if TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

END = "end"
# Seconds until all parts are there: Ansible starts one after another.
MEET = 30
# Seconds that a rollback may take, counted from its beginning.
BACK = 30
# Seconds that a part has to say why it ends, once it is told to.
REPORT = 2


class Watchdog:
    """The part's side of it.

    Args:
        recover: what to do if the part has ended without a report; takes the last stage that it
            reported.
        seconds: after which a part that still runs is ended, from its first stage on.
    """

    def __init__(self, recover: Callable[[str], object], seconds: float) -> None:
        self.seconds, self.ended = seconds, False
        read_end, self.write_end = os.pipe()
        os.set_inheritable(self.write_end, False)
        part = os.getpid()
        try:
            detached.start_detached(
                lambda: serve(read_end, part, recover, seconds),
                [read_end],
                "the process of a role change was killed, and then",
            )
        finally:
            os.close(read_end)

    def let_part_explain(self, module: AnsibleModule) -> None:
        """Have the part fail with a reason, and with the disk that is full, if it is told to end.
        Without this it ends silently.
        """

        def explain(_number: int, _frame: object) -> None:
            if self.ended:
                return
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            reason = f"it was told to end, as its watchdog does after {self.seconds:.0f} s"
            try:
                module.fail_json(msg=disk_space.explained(reason))
            finally:
                # No clean-up by the part: its server does not answer, and the watchdog repairs.
                try:
                    sys.stdout.flush()
                finally:
                    os._exit(1)

        signal.signal(signal.SIGTERM, explain)

    def report_stage(self, stage: str) -> None:
        os.write(self.write_end, f"{stage}\n".encode("ascii"))

    def end(self) -> None:
        """The part has ended: the watchdog has nothing to do."""
        self.ended = True
        self.report_stage(END)
        os.close(self.write_end)


def serve(
    read_end: int,
    part: int,
    recover: Callable[[str], object],
    seconds: float,
) -> None:
    """Wait for the part's end, and act if it came without a report."""
    stage, deadline, told = "", None, False
    while True:
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        ready = select.select([read_end], [], [], left)[0]
        if not ready:
            # The part is stopped or hangs: it must not wake up while the repair runs.
            with contextlib.suppress(ProcessLookupError):
                os.kill(part, signal.SIGKILL if told else signal.SIGTERM)
            if told:
                break
            told, deadline = True, time.monotonic() + REPORT
            continue
        text = os.read(read_end, 4096).decode("ascii")
        if not text:
            break
        stage = text.split()[-1]
        if stage == END:
            return
        deadline = deadline or time.monotonic() + seconds
    if stage:
        done = recover(stage)
        if isinstance(done, dict):
            words = f"{done.get('outcome')} {done.get('reason') or ''}"
            detached.complain(
                f"the process of a role change was killed; its watchdog's result: {words}"
            )


def seconds(timeout: int) -> float:
    """After which a part that still runs hangs.

    Args:
        timeout: of its plan.
    """
    return 2.0 * timeout + 2 * BACK + MEET
