"""A hook of pytest, pytest_collection_modifyitems: what is marked with only("mysql") is no test of
MariaDB, and so on.
"""

from __future__ import annotations

from typing import Any

import pytest


def deselect(config: pytest.Config, items: list[Any]) -> None:
    """Deselect the tests of the other kind of server."""
    others = [
        item
        for item in items
        if not all(mark.args[0] in item.callspec.id for mark in item.iter_markers("only"))
    ]
    config.hook.pytest_deselected(items=others)
    items[:] = [item for item in items if item not in others]
