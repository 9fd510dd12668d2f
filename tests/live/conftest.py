"""What pytest is told about the live tests."""

import only

pytest_collection_modifyitems = only.deselect
