# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a step of a switchover, a failover or a rejoin works with: the cluster's hosts, the
settings, what earlier steps returned, the cluster's results folder, and which host reports.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypedDict, TypeVar, cast

from ansible import constants, context
from ansible.utils.display import Display
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.look_plan import Plan
from ansible_collections.dbre.semisync.plugins.plugin_utils._common import (
    closing,
    cluster,
    refusal,
    results,
    settings,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.member import Member
from ansible_collections.dbre.semisync.plugins.plugin_utils._common.verdict_store import ResultStore
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.part_results import (
    PartResult,
    Unread,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.registered import (
    FAILOVER_PART,
    SWITCHOVER_PART,
    Registered,
    Result,
)
from ansible_collections.dbre.semisync.plugins.plugin_utils._role_change.task_options import (
    options_of,
)

if TYPE_CHECKING:
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.look_shapes import Look

SWITCHOVER, FAILOVER, REJOIN = "switchover", "failover", "rejoin"
# Playbook -> the variables that say what one run of it is to do: the next one needs them as well.
OF_A_RUN = {
    SWITCHOVER: ("switchover_to",),
    FAILOVER: ("failover_to", "failover_salvage", "failover_accept"),
    REJOIN: ("rejoin", "rejoin_way", "rejoin_phantoms", "rejoin_accept"),
}
Kept = TypeVar("Kept")

display = Display()


class NotMeantError(Exception):
    """This host has no part in the step; the text says why."""


class Task(Protocol):
    """What a step asks of Ansible's task; in check mode nothing may be written."""

    args: Mapping[str, object]
    check_mode: bool


class OnHost(Protocol):
    """Runs the step's module on this host, or another; `more` are options that the task does not
    have, such as a secret.
    """

    def __call__(
        self,
        plan: Mapping[str, object],
        module: str = "",
        **more: str,
    ) -> dict[str, object]: ...


class TaskVars(TypedDict, total=False):
    """What a step reads from a task's variables.

    Attributes:
        inventory_hostname: whose task it is.
        hostvars: host -> its variables.
        groups: group -> its hosts.
        ansible_play_hosts, ansible_play_hosts_all: those on which no task failed, and all.
    """

    inventory_hostname: str
    hostvars: Mapping[str, Mapping[str, object]]
    groups: Mapping[str, Sequence[str]]
    ansible_play_hosts: Sequence[str]
    ansible_play_hosts_all: Sequence[str]
    semisync_cluster: str


class RunContext:
    """What a step works with on one host.

    Ansible runs a step on all hosts of a cluster at the same time, each in its own process. Each
    process builds this from the same variables and files, so all decide alike; the host that
    speaks shows and keeps the result.

    Attributes:
        options: of the task.
        step: which one it is.
        host: whose task it is.
        own: this host's settings.
        check_mode: whether nothing may be written.
        name: the cluster's; with `members` empty until one of the next two methods was called.
        members: its hosts.

    Args:
        task: Ansible's.
        operation: switchover, failover or rejoin.
        task_vars: the task's variables.
        own: this host's settings.
        on_host: runs the module on this host; None for an operation without such a step.
    """

    def __init__(
        self,
        task: Task,
        operation: str,
        task_vars: TaskVars,
        own: settings.Settings,
        on_host: OnHost | None = None,
    ) -> None:
        self.options = options_of(task.args, operation)
        self.step = self.options.step
        self.task, self.check_mode = task, bool(task.check_mode)
        self.task_vars, self.own, self.on_host = task_vars, own, on_host
        self.host = str(task_vars["inventory_hostname"])
        self.name = str(task_vars.get("semisync_cluster", cluster.DEFAULT))
        self.members: list[Member] = []

    def do(
        self,
        plan: Plan,
        **more: str,
    ) -> dict[str, object]:
        """Run the step's module on this host with a plan; what it returned."""
        return self.on_this_host(plan.to_dict(), **more)

    def ask(
        self,
        module: str,
        plan: Plan | None = None,
    ) -> dict[str, object]:
        """Run another module on this host; what it returned."""
        return self.on_this_host(plan.to_dict() if plan else {}, module=module)

    def on_this_host(self, plan: dict[str, object], **more: str) -> dict[str, object]:
        """What the module returned.

        Raises:
            ValueError: the operation runs nothing on a host.
        """
        if self.on_host is None:
            raise ValueError(f"step {self.step} runs nothing on {self.host}")
        return self.on_host(plan, **more)

    # The cluster

    def take_members(self) -> None:
        """Take the cluster as it is: without the sources that a failover left behind.

        Raises:
            HeldError: this host is one of them.
        """
        info_from = self.options.info_from
        self.name, self.members = cluster.members(self.task_vars, info_from, own=self.own)

    def take_every_member(self) -> None:
        """Take the cluster, with those sources."""
        info_from = self.options.info_from
        self.name, self.members = cluster.known_members(self.task_vars, info_from, own=self.own)

    @property
    def mine(self) -> Member:
        """This host."""
        return cluster.of_host(self.task_vars, self.members)

    def inventory_problems(self, alone: bool = False) -> list[str]:
        """The faults of the inventory, in words.

        Args:
            alone: whether a source may be without a replica.
        """
        info_from = self.options.info_from
        return cluster.inventory_problems(self.task_vars, info_from, self.name, self.members, alone)

    def refuse(self, wrong: list[str]) -> None:
        """End the step for the whole cluster if something is wrong.

        Raises:
            RefusedError: something is.
        """
        refusal.refuse(self.task_vars, self.name, self.members, wrong)

    def in_play(self, host: str) -> bool:
        """Whether a host is still in the play, because no task failed on it."""
        return host in self.task_vars["ansible_play_hosts"]

    # What earlier steps returned

    def variables_of(self, host: str) -> Mapping[str, object]:
        """A host's variables."""
        return self.task_vars["hostvars"][host]

    def result_of(
        self,
        step: Registered[Result],
        host: str = "",
    ) -> Result:
        """What a step of this run returned on a host, this one by default; empty before that."""
        return step.of(self.variables_of(host or self.host))

    def results_of(self, step: Registered[Result]) -> dict[str, Result]:
        """The same for every host of the cluster."""
        return {member.host: self.result_of(step, member.host) for member in self.members}

    def parts_of(self, hosts: Iterable[str]) -> dict[str, PartResult]:
        """What the parts of these hosts returned."""
        step = FAILOVER_PART if self.options.operation == FAILOVER else SWITCHOVER_PART
        return {host: self.result_of(step, host) for host in hosts}

    def info_of(self, host: str) -> Unread:
        """What semisync_info returned on a host, even if it failed."""
        return Registered[Unread](self.options.info_from).of(self.variables_of(host))

    # What is kept in the cluster's folder

    @property
    def folder(self) -> str:
        """The cluster's folder of results."""
        return results.cluster_folder(self.options.results_dir, self.name)

    def kept(self, file: str) -> dict[str, object] | None:
        """What an earlier run kept there, or None."""
        kept = results.read_json(os.path.join(self.folder, file), None)
        return kept if isinstance(kept, dict) else None

    def last_look(self) -> Look | None:
        """The last look at the source that verify.yml kept, or None."""
        return cast("Look | None", self.kept(results.STATE))

    def keep(
        self,
        file: str,
        value: Mapping[str, object],
    ) -> None:
        """Keep a file there, for a later run."""
        results.write_json(os.path.join(self.folder, file), value)

    def try_to_keep(self, write: Callable[[], Kept]) -> Kept | None:
        """What a function returns that writes results; None if it cannot: a change of roles does
        not depend on that, and the report at its end fails.
        """
        try:
            return write()
        except results.ResultsError as error:
            self.say([f"NOT RECORDED: {error}"])
            return None

    def forget(self, file: str) -> None:
        """Remove it."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(self.folder, file))

    def run_file(self, file: str) -> str:
        """The path of a file in this run's folder; makes the folder."""
        run = results.open_run(self.folder, results.now(), self.options.run or None)
        return os.path.join(run, file)

    def keep_look(self, members: list[Member]) -> None:
        """Keep a look at the source, for a later failover; and for the report what the heartbeat's
        rows say, if they were read.
        """
        shelf = ResultStore(
            self.options.results_dir, self.name, None, results.now(), self.check_mode
        )
        shelf.keep_look(members)
        # Not at the top: Ansible would compile all kinds of findings before each role change.
        from ansible_collections.dbre.semisync.plugins.plugin_utils._findings import rules_heartbeat

        beats = rules_heartbeat.kept(members)
        # Without a name it would be the newest run, with this file and no other.
        if beats and self.options.run and not self.check_mode:
            results.write_json(self.run_file(results.HEARTBEAT), beats)

    # What belongs to this run only

    @property
    def token(self) -> str:
        """This run's token: the same on all hosts of the cluster, different in each run."""
        made = secrets.token_hex(4)
        try:
            # The first process sets it.
            os.symlink(made, self.token_file)
        except FileExistsError:
            return os.readlink(self.token_file)
        return made

    def forget_token(self) -> None:
        """Have the next role change of this run take another token."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.token_file)

    @property
    def token_file(self) -> str:
        """The link that all of this run's processes read the token from."""
        return local_file(f"token-{self.name.encode().hex()[:100]}")

    def hand_over(self, name: str, payload: str) -> None:
        """Hand client rows to a task on another host, without writing them to results or logs."""
        handle = os.open(local_file(name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w", encoding="ascii") as stream:
            stream.write(payload)

    def handed_over(self, name: str) -> str:
        """Read them there."""
        with open(local_file(name), encoding="ascii") as stream:
            return stream.read()

    # Which host speaks

    def speaks(self, members: Sequence[Member] = ()) -> bool:
        """Whether this host shows and stores what all have decided.

        Args:
            members: one of these speaks; the whole cluster by default.
        """
        return cluster.speaks(self.task_vars, list(members or self.members), self.task)

    def say(self, lines: Sequence[str]) -> None:
        """Show lines to the operator."""
        display.display("\n".join(lines))

    def end_with(self, about: str, lines: Sequence[str], playbook: str = "") -> None:
        """Have the run end with these lines, and name the playbook to run next.

        Args:
            about: what they are about; later ones about the same replace them.
            lines: the first begins with the cluster's name.
            playbook: its name, and --check if it is only to look.
        """
        told = list(lines)
        if playbook:
            whole = again(playbook, self.own)
            told.append(f"next: {closing.command(self.task_vars['groups'], self.name, whole)}")
        closing.leave(self.name, about, told, not playbook)


def again(playbook: str, own: settings.Settings) -> str:
    """A playbook with the options that this run was given for it."""
    words = [playbook]
    for key in OF_A_RUN.get(playbook.partition(" ")[0], ()):
        name, value = f"semisync_{key}", own.value(key)
        if value != settings.defaults()[name]:
            text = ",".join(value) if isinstance(value, list) else str(value)
            words += ["-e", shlex.quote(f"{name}={text}")]
    return " ".join(words)


def local_file(name: str) -> str:
    """A file in the folder of only this run, which all of Ansible's processes share."""
    return os.path.join(constants.DEFAULT_LOCAL_TMP, f"semisync-{name}")


def plain(given: Mapping[str, object]) -> dict[str, object]:
    """A dictionary of Ansible's variables without Ansible's own value types."""
    return {str(name): plain_value(one) for name, one in given.items()}


def plain_value(value: object) -> object:
    if isinstance(value, Mapping):
        return plain(value)
    if isinstance(value, (list, tuple)):
        return [plain_value(one) for one in value]
    return value


def forks_problem(members: Sequence[Member]) -> list[str]:
    """Why Ansible would not run a step on all hosts at the same time; empty if it would."""
    number = int(context.CLIARGS.get("forks") or constants.DEFAULT_FORKS)
    if number >= len(members):
        return []
    return [
        f"Ansible works on {number} hosts at a time (forks), but a role change needs all"
        f" {len(members)} hosts of its cluster at once: pass --forks {len(members)}"
    ]
