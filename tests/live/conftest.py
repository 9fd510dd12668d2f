"""Fixtures of the live tests."""

from live_hosts import network  # noqa: F401
