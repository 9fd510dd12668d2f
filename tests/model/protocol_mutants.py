# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the search must find wrong: one thing that the protocol rests on left out, by its name."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from ansible_collections.dbre.semisync.plugins.module_utils._rejoin import prepare, read_only_start
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import (
    lock_holder,
    locks,
    read_only_dropin,
    source_part,
    source_rollback,
    target_part,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._checks.check import Case
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change import (
    errant,
    interrupted_switchover,
)


def put(place: Any, name: str, value: Any) -> None:
    setattr(place, name, value)


def by_the_row_alone() -> None:
    """A failover refuses whatever a switchover has begun."""
    put(
        interrupted_switchover,
        "found",
        lambda _members, _row, words: Case("interrupted", words, ""),
    )


def no_fence() -> None:
    """A source that is started again while its role moves takes writes."""
    put(read_only_dropin, "put", lambda path, *_words: path)


def no_word() -> None:
    """The source takes its role back, whatever the target says."""
    closed = (source_rollback.CLOSED, "")
    put(source_rollback.SourceRollback, "state_of_target", lambda _self, _deadline: closed)


def neither_word_nor_lock() -> None:
    """The target opens without the source's word, and the source does not ask for its lock: each
    alone suffices here.
    """
    put(target_part.TargetPart, "is_granted", lambda _self: True)
    take = locks.take

    def taken(server: Any, name: str, seconds: float) -> bool:
        return take(server, name, seconds) or name == lock_holder.RUN_LOCK

    put(locks, "take", taken)


def no_chain() -> None:
    """A replica that the move has not reached yet, or has, keeps a failover off."""
    put(interrupted_switchover, "moved", lambda *_known: False)


def never_opened() -> None:
    """A target that was opened, and started again, is a replica like any other."""
    put(interrupted_switchover, "opened", lambda *_known: None)


def read_whole() -> None:
    """An interrupted switchover is ended only if every host was read."""
    put(interrupted_switchover, "half_done", lambda *_known: False)


def attached_later() -> None:
    """The source lets the target open before it follows it."""

    def hand_over(self: Any) -> None:
        self.freeze()
        self.locks.acquire("frozen")
        self.wait_for("ready", self.plan.timeout, self.is_ready)
        self.wait_for("asked", self.left(), self.is_asked)
        self.grant()
        self.wait_for("open", self.left(), self.is_open)
        self.attach()

    put(source_part.SourcePart, "hand_over", hand_over)


def anything_is_clean() -> None:
    """A former source with transactions of its own is attached."""
    put(errant, "errant_verdict", lambda _old, _new: errant.Judged(errant.CLEAN))


def unfenced_first() -> None:
    """rejoin.yml takes the file away that keeps writers out before the server is a replica."""
    close = prepare.close

    def closed(module: Any, plan: Any) -> Any:
        read_only_start.remove_option_file(module, plan.option_file)
        return close(module, plan)

    put(prepare, "close", closed)


MUTANTS = {
    one.__name__: one
    for one in (
        by_the_row_alone,
        no_fence,
        no_word,
        neither_word_nor_lock,
        no_chain,
        never_opened,
        read_whole,
        attached_later,
        anything_is_clean,
        unfenced_first,
    )
}


def missed(name: str) -> bool:
    """Whether the search finds nothing wrong with a mutant; the first story is printed. Some show
    only when one host is slower than the others, which the short form leaves out.
    """
    story = ""
    for how in (("--short",), ("--seconds", "900")):
        words = [sys.executable, "-m", "model.protocol_search", *how, "--mutant", name]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        story = done.stdout.partition("WRONG\n")[2].partition("WRONG\n")[0]
        if story:
            break
    print(f"{name}: {'MISSED' if not story else ''}\n{story}")
    return not story


if __name__ == "__main__":
    left = [name for name in MUTANTS if missed(name)]
    sys.exit(1 if left else 0)
