"""The source's role goes to the replica and back, under writers: each row that was confirmed is on
both servers, once.
"""

import json

from support.acknowledged import Writers, judge, rows_of, same_data
from support.live_hosts import Host
from support.scenario import RESULTS, SCENARIO, playbook


def pair_of(variables):
    """The scenario's hosts, as the live tests have theirs."""
    kind = (variables["lab_server"], variables["lab_release"])
    return [Host(SCENARIO, name, *kind) for name in ("source", "replica1")]


def test_the_role_goes_there_and_back_and_no_row_is_lost(variables):
    source, target = pair_of(variables)
    writers = Writers(target, [source, target], 5)
    writers.prepare(source)
    writers.start()
    for host in (target, source):
        assert playbook("switchover", "-e", f"semisync_switchover_to={host.name}") == 0
        record = json.loads((RESULTS / "latest" / "switchover.json").read_text(encoding="utf-8"))
        assert (record["outcome"], record["to"]) == ("done", host.name)
        assert 0 < record["writers_waited_ms"] < 10000
        read_only = [one.value("SELECT @@GLOBAL.read_only") for one in (source, target)]
        assert [value in ("0", "OFF") for value in read_only] == [source is host, target is host]
    known = writers.stop()
    same_data([source, target])
    assert sum(map(len, known["confirmed"])) > 50
    for host in (source, target):
        assert judge(known, rows_of(host)) == {"lost": [], "unexpected": [], "twice": []}
