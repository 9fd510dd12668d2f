"""What pytest is told about the live tests."""

from support import only, parts

pytest_addoption = parts.add_option


def pytest_collection_modifyitems(config, items):
    only.deselect(config, items)
    parts.deselect(config, items)
