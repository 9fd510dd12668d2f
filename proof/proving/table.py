"""What was seen, as tables: never more than that."""

from __future__ import annotations

import collections
import pathlib
import statistics
from typing import Any

from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.certificate import PROVEN

from proving.back import failed
from proving.cycle import REFUSED, WRONG, lies, names, wrong
from proving.faults import FAULTS
from proving.machines import SOURCE
from proving.mutants import MUTANTS
from proving.scene import Fault
from proving.verdicts import NEEDLESS

Record = dict[str, Any]
MARK, END = "<!-- cycles -->\n", "<!-- /cycles -->\n"
COUNTED = ("attempted", "confirmed", "lost", "unexpected", "twice", "unknown")
# Seconds before its end until which a certificate has to answer.
CLOSE = 2.0
# The longest reason of a cycle that was not judged.
LONGEST = 160


def row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def head(*cells: str) -> list[str]:
    return [row(*cells), "|---" * len(cells) + "|"]


def total(records: list[Record], name: str) -> int:
    return sum(record.get(name) or 0 for record in records)


def spread(records: list[Record], name: str) -> str:
    """Median and worst, where clients wrote again before they were stopped."""
    values = [record[name] for record in records if wrote_again(record)]
    return f"{statistics.median(values):.1f}, {max(values):.1f}" if values else ""


def wrote_again(record: Record) -> bool:
    """Whether a row was confirmed behind the playbook's start; a source that lives may have gone
    on before that, too.
    """
    first = record.get("to_first")
    return first is not None and (first >= 0 or FAULTS[record["case"]].lives)


def counted(words: list[str]) -> str:
    return ", ".join(
        f"{word}: {number}" for word, number in collections.Counter(words).most_common()
    )


def title(record: Record) -> str:
    """What a server is called."""
    name = {"mysql": "MySQL", "mariadb": "MariaDB"}[record["server"]]
    names = ", old names" if record.get("names") == "old" else ""
    return f"{name} {record['version'].partition('-')[0]}{names}"


def delay(record: Record) -> str:
    """What lay on the line to each replica."""
    each = [str(milliseconds) for _host, milliseconds in sorted(record["delay"].items())]
    return each[0] if len(set(each)) == 1 else " and ".join(each)


def grouped(records: list[Record]) -> list[tuple[str, str, list[Record]]]:
    """(case, server, its judged cycles), in the order of the cases."""
    order = [*FAULTS, *MUTANTS]
    found: dict[tuple[int, str], list[Record]] = collections.defaultdict(list)
    for record in records:
        if record["judged"]:
            found[order.index(record["case"]), title(record)].append(record)
    return [(order[place], version, found[place, version]) for place, version in sorted(found)]


def of_faults(records: list[Record]) -> list[str]:
    lines = head(
        "fault", "server", "cycles", "ms to the replicas", "rows tried", "confirmed", "lost",
        "unexpected", "twice", "unknown", "verdicts", "seconds without writes: median, worst",
        "seconds from the playbook's start to the first commit: median, worst",
    )  # fmt: skip
    for case, version, made in grouped(records):
        if case in FAULTS and not FAULTS[case].usual:
            lines.append(
                row(
                    FAULTS[case].words + (" (must not be proven)" * FAULTS[case].unproven),
                    version,
                    len(made),
                    ", ".join(sorted({delay(record) for record in made})),
                    *(total(made, name) for name in COUNTED),
                    counted([record["verdict"] for record in made]),
                    spread(made, "without"),
                    spread(made, "to_first"),
                )
            )
    return lines


def must_be(fault: Fault) -> str:
    """What nearly every cycle of a fault with usual settings has to show, in words."""
    if fault.unproven:
        return "never proven"
    if fault.fenced:
        return f"proven if fenced within {fault.fenced} s"
    return {"proven": "proven", "close": f"until {CLOSE:.0f} s before the end"}.get(
        fault.mostly, "nothing lost before the moment"
    )


def is_close(record: Record) -> bool:
    """Whether the certificate answers until so shortly before the last confirmed row."""
    return record.get("until") is not None and record["until"] <= CLOSE


def as_it_must_be(record: Record) -> bool:
    """Whether a cycle shows that."""
    fault = FAULTS[record["case"]]
    if fault.unproven:
        return record["verdict"] != PROVEN
    if fault.mostly == "close":
        return record["verdict"] == PROVEN or is_close(record)
    return not record.get("early") if not fault.mostly else record["verdict"] == PROVEN


def in_words(made: list[Record]) -> str:
    """How many cycles show that, of those to which it applies."""
    limit = FAULTS[made[0]["case"]].fenced
    late = [one for one in made if limit and one.get("fenced", 0) > limit]
    counted = [one for one in made if one not in late]
    words = f"{sum(map(as_it_must_be, counted))} of {len(counted)}"
    return words + (f"; fenced later: {len(late)}" if late else "")


def untils(made: list[Record]) -> str:
    """Seconds from the moment to the last confirmed row: median, worst."""
    seconds = [record["until"] for record in made if record.get("until") is not None]
    return f"{statistics.median(seconds):.1f}, {max(seconds):.1f}" if seconds else ""


def of_usual(records: list[Record]) -> list[str]:
    """With the settings that people have."""
    lines = head(
        "fault", "server", "cycles", "must be", "is it", "confirmed", "lost",
        "lost before \"proven until\"", "seconds from that moment to the last row: median, worst",
        "verdicts", "seconds from the playbook's start to the first commit: median, worst",
    )  # fmt: skip
    for case, version, made in grouped(records):
        if case in FAULTS and FAULTS[case].usual:
            lines.append(
                row(
                    FAULTS[case].words,
                    version,
                    len(made),
                    must_be(FAULTS[case]),
                    in_words(made),
                    *(total(made, name) for name in ("confirmed", "lost", "early")),
                    untils(made),
                    counted([record["verdict"] for record in made]),
                    spread(made, "to_first"),
                )
            )
    return lines


def seen(record: Record) -> bool:
    """Whether the checker saw the mistake by the rows; a failover that was refused is no sign of
    it, nor is a former source that was.
    """
    back = record.get("back") or {"wrong": "", "equal": True}
    different = not back["wrong"] and not back["equal"]
    return different or any(record.get(name) for name in WRONG)


def of_returns(records: list[Record]) -> list[str]:
    """Former sources that came back, under the playbooks as they are."""
    found: dict[tuple[str, str, str], list[Record]] = collections.defaultdict(list)
    for case, version, made in grouped(records):
        for record in made if case in FAULTS else []:
            if "back" in record:
                found[case, version, started_words(record["back"])].append(record)
    lines = head(
        "fault", "server", "the former source's server", "cycles", "verdicts",
        "errant transactions", "methods", "a replica that missed it", "answers to routers",
        "of them that it is the source", "rows written to it",
        "rows differ, or it did not come back",
    )  # fmt: skip
    for (case, version, words), made in found.items():
        backs = [record["back"] for record in made]
        lines.append(
            row(
                FAULTS[case].words,
                version,
                words,
                len(made),
                counted([back["verdict"] for back in backs if "verdict" in back]),
                total(backs, "phantoms"),
                counted([back["way"] for back in backs if "way" in back]),
                counted(
                    [back["replica"] or "did not come back" for back in backs if "replica" in back]
                ),
                *(total(backs, name) for name in ("asked", "yes", "rows")),
                sum(bool(back["wrong"]) or not back["equal"] for back in backs),
            )
        )
    amiss = [
        f"{record['case']} {record['seed']} ({record['server']}): {reason_of_return(record)}"
        for record in records
        if record["judged"] and record["case"] in FAULTS and failed(record)
    ]
    return [*lines, *(["", "Amiss:", *(f"- {words}" for words in amiss)] if amiss else [])]


def of_switchovers(records: list[Record]) -> list[str]:
    """Hosts that were lost in the middle of a switchover, and what led out."""
    lines = head(
        "lost for good in a switchover", "server", "cycles", "during", "what led out, in order",
        "clients wrote again", "not one host that takes writes", "lost",
    )  # fmt: skip
    for _case, version, every in grouped([one for one in records if "lost_host" in one]):
        for host in sorted({one["lost_host"] for one in every}):
            made = [one for one in every if one["lost_host"] == host]
            during = [one["struck"][0] if "struck" in one else "after its end" for one in made]
            lines.append(
                row(
                    "the source's host" if host == SOURCE else "the target's host",
                    version,
                    len(made),
                    counted(during),
                    counted([", then ".join(one["ways"]) or "nothing had to" for one in made]),
                    sum(one["again"] for one in made),
                    sum(one["writable"] != 1 for one in made),
                    total(made, "lost"),
                )
            )
    return lines


def started_words(back: dict[str, Any]) -> str:
    return "not started before the verdict" if back["down"] else "runs"


def reason_of_return(record: Record) -> str:
    back = record["back"]
    words = [
        back["wrong"],
        "its answer was that it is the source" if back["yes"] else "",
        "rows came to it" if back["rows"] else "",
        "rows differ" if not back["wrong"] and not back["equal"] else "",
    ]
    return ", ".join(filter(None, words))


def of_mutants(records: list[Record]) -> list[str]:
    lines = head(
        "mistake", "fault", "server", "cycles", "seen in", "rows confirmed", "lost", "unexpected",
        "certificates that lie", "verdicts",
    )  # fmt: skip
    for case, version, made in grouped(records):
        if case in MUTANTS:
            lines.append(
                row(
                    MUTANTS[case].words,
                    names(case)[0],
                    version,
                    len(made),
                    sum(map(seen, made)),
                    *(total(made, name) for name in ("confirmed", "lost", "unexpected")),
                    sum(map(lies, made)),
                    counted([record["verdict"] for record in made]),
                )
            )
    return lines


def of_certificates(records: list[Record]) -> list[str]:
    """Of the playbook as it is: certificates that lie, and proofs that were missing; what was lost
    where nothing may be.
    """
    made = [record for record in records if record["judged"] and record["case"] in FAULTS]
    liars = [
        f"{record['case']} {record['seed']} ({record['server']})" for record in filter(lies, made)
    ]
    poor = [
        record
        for record in made
        if record["verdict"] not in ("proven", NEEDLESS, REFUSED) and not record["lost"]
    ]
    reasons = [
        f"{record['case']}, {record['server']}: {record['verdict']} ({reason_of(record)})"
        for record in poor
    ]
    refused = [
        f"{record['case']}, {record['server']}: {', '.join(record['cases']) or record['outcome']}"
        for record in made
        if record["verdict"] == REFUSED
    ]
    failed = [
        f"{record['case']} {record['seed']} ({record['server']})" for record in filter(wrong, made)
    ]
    return [
        f"Rows lost where none may be, or there and unexpected or twice: {len(failed)} cycles"
        + (f" ({'; '.join(failed)})." if failed else "."),
        "",
        "Certificates that answered for a time in which a lost row was confirmed:"
        f" {len(liars)}" + (f" ({'; '.join(liars)})." if liars else "."),
        "",
        f"Not proven where nothing was lost: {len(poor)}.",
        *(
            f"- {number} times {words}"
            for words, number in collections.Counter(reasons).most_common()
        ),
        "",
        f"Runs without a takeover: {len(refused)}.",
        *(
            f"- {number} times {words}"
            for words, number in collections.Counter(refused).most_common()
        ),
    ]


def reason_of(record: Record) -> str:
    """Why nothing was proven, by premise."""
    premises = [reason.partition(":")[0] for reason in record["reasons"]]
    return ", ".join(premises) or "window"


def of_the_rest(records: list[Record]) -> list[str]:
    left = [record for record in records if not record["judged"]]
    return [
        f"Cycles that could not be judged, and count as none: {len(left)}.",
        *(
            f"- {record['case']}, {record['server']}, seed {record['seed']}:"
            f" {record['why'][:LONGEST]}"
            for record in left
        ),
    ]


def of_commits(records: list[Record]) -> list[str]:
    """What they judged."""
    commits = [record["commit"] for record in records if record["judged"]]
    return [f"Judged cycles by the commit that they judged: {counted(commits) or 'none'}."]


def document(records: list[Record]) -> str:
    """Everything between the marks."""
    parts = [
        of_faults(records),
        of_usual(records),
        of_switchovers(records),
        of_returns(records),
        of_mutants(records),
        of_certificates(records),
        of_the_rest(records),
        of_commits(records),
    ]
    return "\n\n".join("\n".join(lines) for lines in parts) + "\n"


def write(path: pathlib.Path, text: str) -> None:
    """Put it between the marks of a document."""
    before, _mark, rest = path.read_text(encoding="utf-8").partition(MARK)
    _old, end, after = rest.partition(END)
    if not end:
        raise ValueError(f"{path} lacks {MARK.strip()} and {END.strip()}")
    path.write_text(f"{before}{MARK}\n{text}\n{END}{after}", encoding="utf-8")
