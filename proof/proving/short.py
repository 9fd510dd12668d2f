"""The short form, for `make test`: the playbook as it is loses nothing, and mistakes are seen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from proving.cycle import REFUSED, wrong
from proving.faults import FAULTS
from proving.table import seen

Record = dict[str, Any]
CASES = {
    "mysql": ("cut", "by-executed", "cut", "phantom"),
    # Two that MariaDB does not see itself.
    "mariadb": ("cut", "both-threads", "cut", "no-wait"),
}
# What a cycle that is amiss is understood by.
TELLING = (
    "looks", "lost", "unexpected", "twice", "outside", "verdict", "outcome", "reasons", "cases",
)  # fmt: skip
# How often a case is made at most: a cycle may fail to be judged, and chance may hide a mistake.
TURNS = 2


def amiss(record: Record) -> str:
    """What is not as it has to be, in words; empty if all is."""
    if not record["judged"]:
        return f"it could not be judged: {record['why']}"
    if record["case"] not in FAULTS:
        return "" if seen(record) else "the mistake was not seen"
    if wrong(record):
        return "rows or certificate are wrong"
    return "no replica took over" if record["verdict"] == REFUSED else ""


def again(record: Record) -> bool:
    """Whether another cycle may say more: never where the playbook as it is did wrong."""
    return bool(amiss(record)) and (not record["judged"] or record["case"] not in FAULTS)


def run(server: str, cycle: Callable[[str], Record]) -> list[str]:
    """What was amiss; given what makes one cycle of a case."""
    found = []
    for case in CASES[server]:
        for _turn in range(TURNS):
            record = cycle(case)
            if not again(record):
                break
        words = amiss(record)
        print(f"{case}: {words or 'as it has to be'} ({record['seconds']:.0f} s)", flush=True)
        if words:
            told = {name: record[name] for name in TELLING if name in record}
            found.append(f"{case}, seed {record['seed']}: {words}: {told}")
    return found
