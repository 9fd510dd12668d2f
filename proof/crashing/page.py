"""What was seen, as tables, and what of it is not as it has to be."""

from __future__ import annotations

from crashing.cases import ACKNOWLEDGER, CASES, SETTINGS, SOURCE
from crashing.evidence import DOCUMENT, Record, Way
from proving.table import head, row, title
from proving.table import write as write_between

# The cases of the short form.
SHORT = (SETTINGS, "relay-log-recovery")
WAYS = {
    "tables": "its tables after a start",
    "logged": "its binary log before a start",
    "received": "its tables and its relay log, replication not started",
    "restarted": "its tables after replication has started and applied all",
}
# A way by which the certificate takes nothing on this server: MariaDB discards its relay log when
# replication starts (MDEV-4698).
UNTRUSTED = {("mariadb", "restarted")}
# Where a torn page may keep a server from starting: MySQL does not flush its doublewrite file
# before the pages, unless innodb_flush_method is fsync.
TORN = {("mysql", SETTINGS)}


def must_keep(record: Record, way: str) -> bool:
    """Whether nothing may be lost: the certificate would say so."""
    return CASES[record["case"]].keeps and (record["server"], way) not in UNTRUSTED


def amiss_of(record: Record) -> list[str]:
    """What of one host's disks is not as it has to be."""
    found = []
    for way, its in record["ways"].items():
        if must_keep(record, way) and its["disks"]:
            found.append(f"{its['disks']} disks lack up to {its['rows']} rows ({way})")
        if CASES[record["case"]].keeps and (its["unexpected"] or its["twice"]):
            found.append(f"rows are there unexpected or twice ({way})")
    known = (record["server"], record["case"]) in TORN
    unstarted = record["unstarted_clean" if known else "unstarted"]
    if CASES[record["case"]].keeps and unstarted:
        found.append(f"on {unstarted} disks the server did not start: {record['why']}")
    return found


def amiss(records: list[Record]) -> list[str]:
    """What is not as it has to be, a line each."""
    return [
        f"{record['server']}, {record['case']}, {record['host']}: {words}"
        for record in records
        for words in amiss_of(record)
    ] + [
        f"{server}, {case}: the control was not seen to lose"
        for server, case in silent_controls(records)
    ]


def silent_controls(records: list[Record]) -> list[tuple[str, str]]:
    """Controls that were judged and lost nothing."""
    lost: dict[tuple[str, str], int] = {}
    for record in records:
        if not CASES[record["case"]].keeps:
            its = (record["server"], record["case"])
            disks = record["unstarted"] + sum(way["disks"] for way in record["ways"].values())
            lost[its] = lost.get(its, 0) + disks
    return [its for its, disks in lost.items() if not disks]


def ordered(records: list[Record]) -> list[Record]:
    """By case, server and host."""
    cases, hosts = list(CASES), [SOURCE, ACKNOWLEDGER]
    return sorted(
        records,
        key=lambda one: (
            cases.index(one["case"]),
            one["server"],
            hosts.index(one["host"]),
            one["at"],
        ),
    )


def judged(record: Record) -> int:
    return record["clean"] + record["damaged"]


def lost_cells(way: Way) -> list[object]:
    """How many disks lack rows, of those that could be read this way, the rows, the seconds."""
    share = f"{way['disks']} of {way['judged']}"
    if not way["disks"]:
        return [share, 0, 0]
    return [share, f"{way['median']:.0f}, {way['rows']}", f"{way['seconds']:.1f}"]


def of_settings(records: list[Record]) -> list[str]:
    """What must lose nothing."""
    lines = head(
        "setting", "server", "host", "rows are read from", "crash points",
        "of them with all unflushed writes lost", "with a part lost or torn",
        "disks that lack a confirmed row", "rows: median, worst", "seconds", "unexpected or twice",
        "server did not start",
    )  # fmt: skip
    for record in ordered(records):
        for name, way in record["ways"].items() if CASES[record["case"]].keeps else ():
            lines.append(
                row(
                    CASES[record["case"]].words,
                    title(dict(record)),
                    host_word(record),
                    WAYS[name]
                    + ("" if must_keep(record, name) else " (the certificate takes it for unread)"),
                    judged(record),
                    record["clean"],
                    record["damaged"],
                    *lost_cells(way),
                    way["unexpected"] + way["twice"],
                    reason_of(record),
                )
            )
    return lines


def host_word(record: Record) -> str:
    return "source" if record["host"] == SOURCE else "acknowledger"


def of_controls(records: list[Record]) -> list[str]:
    """What settings expose."""
    lines = head(
        "setting", "server", "host", "rows are read from", "disks that lack a confirmed row",
        "rows: median, worst", "seconds exposed, worst", "server did not start",
    )  # fmt: skip
    for record in ordered(records):
        for name, way in record["ways"].items() if not CASES[record["case"]].keeps else ():
            lines.append(
                row(
                    CASES[record["case"]].words,
                    title(dict(record)),
                    host_word(record),
                    WAYS[name],
                    *lost_cells(way),
                    reason_of(record),
                )
            )
    return lines


def reason_of(record: Record) -> str:
    """On how many disks the server did not start, and a reason."""
    if not record["unstarted"]:
        return "0"
    clean = record["unstarted_clean"]
    return f"{record['unstarted']} ({clean} with nothing torn): {record['why']}"


def of_runs(records: list[Record]) -> list[str]:
    """Under what it was seen."""
    lines = head(
        "run", "server", "setting", "host", "seconds", "rows tried", "confirmed", "flushes",
        "seconds per crash point", "load: run, judging", "commit",
    )  # fmt: skip
    for record in ordered(records):
        lines.append(
            row(
                record["at"],
                title(dict(record)),
                CASES[record["case"]].words,
                host_word(record),
                f"{record['seconds']:.0f}",
                record["attempted"],
                record["confirmed"],
                record["flushes"],
                record["per_point"],
                f"{record['load_run']}, {record['load']}",
                record["commit"],
            )
        )
    return lines


def torn(records: list[Record]) -> list[str]:
    """What is known to go wrong under the collection's settings, a line each."""
    return [
        f"{title(dict(record))}, {host_word(record)}: on {record['unstarted']} disks with torn"
        f" writes the server did not start ({record['why']})"
        for record in records
        if (record["server"], record["case"]) in TORN
        and record["unstarted"] > record["unstarted_clean"]
    ]


def of_failures(records: list[Record]) -> list[str]:
    found = amiss(records)
    lines = ["Not as it has to be:", "", *(f"- {words}" for words in found)]
    if not found:
        lines = ["Not as it has to be: nothing but what is known."]
    known = torn(records)
    return [*lines, "", "Known:", "", *(f"- {words}" for words in known)] if known else lines


def document(records: list[Record]) -> str:
    """Everything between the marks."""
    parts = [
        of_settings(records),
        of_failures(records),
        of_controls(records),
        of_runs(records),
    ]
    return "\n\n".join("\n".join(lines) for lines in parts) + "\n"


def write(records: list[Record]) -> None:
    write_between(DOCUMENT, document(records))
