"""Lets the tests here use the hosts of the live tests; their figures go into a document where one is named."""

import datetime
import json
import os
import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "live"))
DOCUMENT = os.environ.get("SEMISYNC_SEED_DOCUMENT")
COLUMNS = ("server", "way", "what happened", "data", "seeding", "confirmed meanwhile", "tables compared", "day")


@pytest.fixture(scope="session")
def figures():
    """Rows of the document's table, by their first three columns; those of other runs stay."""
    made = []
    yield made
    if DOCUMENT and made:
        path = pathlib.Path(DOCUMENT)
        before, mark, dummy = path.read_text(encoding="utf-8").partition("<!-- figures -->\n")
        rows = {tuple(row[:3]): row for row in table(dummy)}
        today = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")
        rows.update({tuple(row[:3]): [*map(str, row), today] for row in made})
        lines = [COLUMNS, ["---"] * len(COLUMNS), *rows.values()]
        text = "\n".join("| " + " | ".join(line) + " |" for line in lines)
        path.write_text(before + mark + text + "\n", encoding="utf-8")
    print(json.dumps(made))


def table(text):
    """The rows of a table in Markdown."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()[2:] if line.startswith("|")]
