"""What pytest is told about the live tests."""

from only import pytest_collection_modifyitems  # noqa: F401
