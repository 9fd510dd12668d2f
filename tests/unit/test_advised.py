"""The page about predictions says what the code predicts."""

import json

import pytest

import advised

PAGE = (advised.PROJECT / "docs" / "evidence" / "advise.md").read_text(encoding="utf-8")
RECORDS = json.loads(advised.RECORDS.read_text(encoding="utf-8"))


@pytest.mark.parametrize("place", [2, 19])
def test_a_line_of_the_page_is_what_the_code_predicts_of_the_sample(place):
    line = advised.document(RECORDS[place : place + 1]).splitlines()[2]
    assert line in PAGE


def test_a_sample_that_tells_nothing_counts_neither_as_right_nor_as_wrong():
    record = {**RECORDS[0], "sample": {**RECORDS[0]["sample"], "commits": 1}}
    text = advised.document([record])
    assert "Of 0 rates 0 are within 15%; of 0 p99 0 are within 25%." in text
    assert text.splitlines()[2].endswith("| - | 504.1 | - | - | 12.75 | - |")
