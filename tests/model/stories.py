# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A history as a person can follow it on hosts: what is done where, and what servers do then."""

from __future__ import annotations

from model.results import Asked, host
from model.search import FALSE_UNTIL, Lie, Search
from model.state import BEGINS, TIMEOUTS, Rules

# {it} is a replica; "—" begins what is not done by hand.
WORDS = {
    "commit": "source: INSERT a row in a session of its own; no replica has it yet",
    "commit_everywhere": "source: INSERT a row; the replicas that are connected acknowledge it",
    "minute": "— a minute goes by",
    "stop": "source: systemctl stop mysql, which hangs; what waits is told OK",
    "stopped": "source: — its server has ended",
    "kill": "source: SIGKILL",
    "shut_and_kill": "source: SHUTDOWN, and SIGKILL before it has ended; what waits is told OK",
    "power": "source: its host loses its power",
    "start": "source: its server starts again",
    "kill_query": "source: KILL QUERY of the commit that waits; its client is told OK",
    "hand_off": "source: SET GLOBAL rpl_semi_sync_…_enabled = 0",
    "hand_on": "source: SET GLOBAL rpl_semi_sync_…_enabled = 1; its status is ON at once",
    "hand_timeout": "source: SET GLOBAL rpl_semi_sync_…_timeout to the other of 10 s and 36000 s",
    "hand_count": "source: SET GLOBAL rpl_semi_sync_…_wait_for_replica_count to 2, or back to 1",
    "hand_wnr": "source: SET GLOBAL rpl_semi_sync_…_wait_no_replica to the other value",
    "ours_off": "controller A: benchmark.yml is about to switch semi-sync off: its look is spent, a"
    " row `settings` is written",
    "ours_on": "controller A: benchmark.yml is about to switch it on: look spent, row written",
    "ours_timeout": "controller A: site.yml is about to set the timeout: look spent, row written",
    "ours_count": "controller A: site.yml is about to set the count: look spent, row written",
    "ours_wnr": "controller A: site.yml is about to set wait_no_replica: look spent, row written",
    "ours_goes_on": "controller A: the row is confirmed, and the playbook changes it",
    "ours_settles": "controller A: the playbook, or the next one, says that it is changed",
    "ours_dies": "controller A: the playbook is interrupted",
    "first_look": "controller A: failover.yml reads everybody",
    "undone": "controller A: that failover.yml is undone",
    "interrupted": "controller A: failover.yml is interrupted after its judgement; the IO threads"
    " start again",
    "receive": "{it}: — it receives what the source has, and its acknowledgement is under way",
    "acknowledge": "{it}: — its acknowledgement arrives",
    "deliver": "{it}: — it receives and acknowledges what the source has",
    "apply": "{it}: — it applies what it has received",
    "cut": "{it}: the line to the source is cut",
    "heal": "{it}: the line to the source is back",
    "stop_io": "{it}: STOP REPLICA IO_THREAD",
    "start_io": "{it}: START REPLICA IO_THREAD",
    "stop_sql": "{it}: STOP REPLICA SQL_THREAD",
    "start_sql": "{it}: START REPLICA SQL_THREAD",
    "stop_slave": "{it}: STOP REPLICA",
    "start_slave": "{it}: START REPLICA",
    "reset_slave": "{it}: STOP REPLICA; RESET REPLICA; START REPLICA",
    "hold": "{it}: LOCK TABLES … WRITE in a session that stays: its applier stands still",
    "restart": "{it}: SIGKILL of its server, which starts again",
    "power_replica": "{it}: its host loses its power, and starts again",
    "die": "{it}: its host is gone",
    "edit_inventory": "controller: {it} is taken out of the inventory, or put into it",
    "beat": "source: a beat",
    "end_beat": "source: the writer ends its own beat that waits",
    "hook_begins": "controller: the tasks of semisync_hook_fence begin; all has been read before",
    "fence": "controller: they have ended well; the source's host has no power",
    "fence_fails": "controller: one of them fails; the source is as it was",
    "fence_lies": "controller: they have ended well; the source goes on",
    "stray": "{it}: a beat of the server that was source before comes into its table",
    "twin": "{it}: split brain: its newest beat is replaced by one of that server",
    "jump": "{it}: STOP REPLICA; CHANGE REPLICATION SOURCE to the last transaction; START REPLICA",
    "open": "{it}: STOP REPLICA; SET GLOBAL read_only = 0",
    "look": "controller A: verify.yml keeps a look",
    "look_b": "controller B: verify.yml keeps a look of its own",
}


def setting(rules: Rules) -> str:
    """A world in one line."""
    more = [
        f"{rules.replicas} replica{'s' if rules.replicas > 1 else ''}",
        f"a commit waits for {rules.acks}",
        f"timeout {TIMEOUTS[rules.timeout]:g} s",
    ]
    more += ["wait_no_replica OFF"] * (not rules.wnr)
    more += ["relay_log_recovery ON"] * rules.recovery
    more += ["sync_relay_log 10000"] * (not rules.sync_relay_log)
    more += ["sync_binlog 0"] * (not rules.sync_binlog)
    if any(rules.skew):
        more.append(f"clocks {rules.skew[0]} s and {rules.skew[1]} s ahead of the controller's")
    return f"{'MariaDB' if rules.mariadb else 'MySQL'}, {', '.join(more)}"


def way(asked: Asked, names: list[int]) -> str:
    """How failover.yml is run, in words."""
    more = ["the source's host does not answer" if asked.gone else "the source's host answers"]
    more += ["its binary log is read"] * asked.salvage
    more += ["its error log cannot be read"] * (not asked.log)
    if asked.late >= 0:
        more.append(f"{host(names[asked.late])}'s IO thread runs on")
    more += ["the new source's applier stands still"] * asked.stuck
    return f"controller {'AB'[asked.controller]}: failover.yml; {', '.join(more)}"


def story(search: Search, lie: Lie) -> list[str]:
    """A lie with all that led to it, a line for each step."""
    names = search.named(lie.moment)
    told = [setting(search.rules)]
    if search.rules.looked:
        told.append("controller A: verify.yml keeps a look (everything is well)")
    told += [WORDS[event].format(it=host(number)) for event, number in search.history(lie.moment)]
    told.append(way(lie.asked, names))
    if lie.verdict.chosen < 0:
        return [*told, f"it refuses: {', '.join(lie.verdict.reasons)}"]
    chosen = host(names[lie.verdict.chosen])
    window = ""
    if lie.verdict.end:
        window = f" from {clock(lie.verdict.begin)} to {clock(lie.verdict.end)}"
    told.append(f"it says: {lie.verdict.words}{window}; {chosen} takes over")
    told += [
        f"row {number + 1}, told OK at {clock(at)}, is not on {chosen}" for number, at in lie.lost
    ]
    if lie.kind == FALSE_UNTIL:
        told.append(f"it says that nothing before {clock(lie.verdict.until)} is missing")
    told += [lie.more] if lie.more else []
    told += [f"assumed: {words}" for words in lie.verdict.assumes]
    return told


def clock(at: float) -> str:
    """A time since the world began."""
    return f"{at - BEGINS:+.1f} s"
