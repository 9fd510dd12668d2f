"""What a run was doing when a client began to wait."""

from __future__ import annotations

import time

import pytest

from support.watching import task_at

LOG = """\
2026-11-27 09:06:49,981 p=7 u=root n=ansible INFO| PLAY [Look at the inventory] ******
2026-11-27 09:06:50,043 p=7 u=root n=ansible INFO| TASK [Check that there are hosts] ******
2026-11-27 09:06:50,062 p=7 u=root n=ansible INFO| ok: [localhost]
2026-11-27 09:06:53,062 p=7 u=root n=ansible INFO| TASK [dbre.semisync.switchover : Move] ******
"""
BEGIN = time.mktime(time.strptime("2026-11-27 09:06:49", "%Y-%m-%d %H:%M:%S"))


@pytest.mark.parametrize(
    "seconds,task",
    [
        (0, ""),
        (1.5, "Check that there are hosts"),
        (3.9, "Check that there are hosts"),
        (4.1, "dbre.semisync.switchover : Move"),
        (90, "dbre.semisync.switchover : Move"),
    ],
)
def test_a_wait_is_told_with_the_task_that_ran(seconds, task):
    assert task_at(LOG, BEGIN + seconds) == task
