# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""mysqlslap and mariadb-slap: the command, its figures, and whether the work was really done."""

from __future__ import absolute_import, division, print_function

__metaclass__ = type


def argv(program, defaults_file, schema, params):
    """The command, without anything secret: credentials are in the option file, which must be the first argument.

    Args:
        program: path of mysqlslap or mariadb-slap.
        defaults_file: option file with the credentials.
        schema: a schema of the benchmark's own; the tool drops and creates it.
        params: clients, queries, load_type, engine, create, query.
    """
    command = [program, "--defaults-extra-file=" + defaults_file, "--csv", "--iterations=1",
               "--create-schema=" + schema, "--concurrency=%d" % params["clients"],
               "--number-of-queries=%d" % params["queries"]]
    if params.get("query"):
        command += ["--query=" + params["query"], "--delimiter=;"]
        if params.get("create"):
            command.append("--create=" + params["create"])
    else:
        command += ["--auto-generate-sql", "--auto-generate-sql-load-type=" + params["load_type"]]
    if params.get("engine"):
        command.append("--engine=" + params["engine"])
    return command


def parse_csv(output):
    """Seconds of the run from the one line of --csv: engine,load type,avg,min,max,clients,queries per client.

    Raises:
        ValueError: there is no such line.
    """
    for line in reversed(output.strip().splitlines()):
        fields = line.split(",")
        if len(fields) >= 7:
            return float(fields[2])
    raise ValueError("the load tool printed no figures: %r" % output[:200])


def asked(clients, queries):
    """Queries the tool issues: it divides them among its clients as integers."""
    return clients * (queries // clients)


def complaint(code, stderr, output):
    """Why the tool did not do its work, in words; empty when it says that it did.

    It can exit 0 although its clients could not connect, and then claims the full work: the server's counters decide.
    """
    if code != 0:
        return "the load tool failed (%d): %s" % (code, stderr.strip()[:300])
    if stderr.strip():
        return "the load tool complained: %s" % stderr.strip()[:300]
    try:
        parse_csv(output)
    except ValueError as error:
        return str(error)
    return ""


def summary(seconds):
    """Median, minimum and maximum of the runs that count."""
    ordered = sorted(seconds)
    middle = len(ordered) // 2
    median = ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
    return {"median": round(median, 4), "min": ordered[0], "max": ordered[-1], "runs": len(ordered)}
