"""What pytest is told about the live tests."""

from support import only

pytest_collection_modifyitems = only.deselect
