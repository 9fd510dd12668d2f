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
# How often a case is made at most: a cycle may fail to be judged, chance may hide a mistake, and a
# busy machine may be too slow for a limit of the playbook.
TURNS = 3


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
    return bool(amiss(record)) and not wrong(record)


def run(server: str, cycle: Callable[[str], Record]) -> list[str]:
    """What was amiss; given what makes one cycle of a case."""
    found = []
    for case in CASES[server]:
        for _turn in range(TURNS):
            record = cycle(case)
            words = amiss(record)
            told = {name: record[name] for name in TELLING if words and name in record}
            outcome = f"{words}: {told}" if words else "as it has to be"
            print(f"{case}: {outcome} ({record['seconds']:.0f} s)", flush=True)
            if not again(record):
                break
        if words:
            found.append(f"{case}, seed {record['seed']}: {outcome}")
    return found
