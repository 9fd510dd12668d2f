"""For conftest.py: a test that is marked with only("mysql") or only("mariadb") is none of the other server's."""


def pytest_collection_modifyitems(config, items):
    others = [item for item in items if not all(mark.args[0] in item.callspec.id for mark in item.iter_markers("only"))]
    config.hook.pytest_deselected(items=others)
    items[:] = [item for item in items if item not in others]
