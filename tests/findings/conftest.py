"""The findings' tests use the hosts of the live tests."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "live"))

import only  # noqa: E402

pytest_collection_modifyitems = only.deselect
