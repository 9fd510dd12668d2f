"""The short form of `make crash-points`, on hosts with kernels of their own."""

from __future__ import annotations

import sys

import pytest

from support.live_hosts import PROJECT, run

pytestmark = pytest.mark.long


@pytest.mark.parametrize("server", ["mysql", "mariadb"])
def test_no_disk_of_a_power_cut_lacks_a_confirmed_row_and_that_of_a_control_does(server):
    words = (PROJECT / "proof" / "crash_points.py", "--server", server, "--short")
    assert "all as it has to be" in run(sys.executable, *words).stdout
