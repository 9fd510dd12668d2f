"""Lets the tests here use the hosts of the live tests, and what the lab knows about containers."""

import pathlib
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "live"), str(TESTS.parent / "lab")]
