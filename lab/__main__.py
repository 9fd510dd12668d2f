"""The test hosts: python3 lab up|down|image|cut|start|shell|flags. See --help of each."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import signal
import sys

import choose
from common import LabError, need_linux

# Every kind has a module kind_<name> with the functions image, up, down, cut, start and shell.
KINDS = ("docker", "uml")


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(
        prog="lab", description="Test hosts for the collection dbre.semisync."
    )
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, text: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=text, description=text)
        made.add_argument(
            "--kind", choices=KINDS, default="docker", help="kind of hosts (default: docker)"
        )
        return made

    def with_server(made: argparse.ArgumentParser) -> argparse.ArgumentParser:
        made.add_argument(
            "--server", choices=("mysql", "mariadb"), default="mysql", help="default: mysql"
        )
        made.add_argument(
            "--release",
            default=None,
            metavar="DEBIAN",
            help="Debian release: mysql sid; mariadb 11, 12 (default) or 13",
        )
        made.add_argument(
            "--tarball",
            default=None,
            metavar="PATH",
            help='MySQL out of a tarball like the official "Linux - Generic" binaries (.tar.xz,'
            " .tar.gz), on Debian 12, in place of a Debian package",
        )
        return made

    up = with_server(
        command("up", "make a source and its replicas, and wait until their servers answer")
    )
    up.add_argument("--replicas", type=replicas, default=1, metavar="N", help="1 to 9 (default: 1)")
    up.add_argument(
        "--proxy", action="store_true", help="a host with Debian's HAProxy as well (kind docker)"
    )
    up.add_argument("--client", action="store_true", help="a host with sysbench as well (kind uml)")
    command("down", "remove the hosts and whatever belongs to them; images stay")
    image = with_server(command("image", "build the image, when there is none, and print its name"))
    image.add_argument(
        "--client", action="store_true", help="the image of the client as well (kind uml)"
    )
    commands.add_parser(
        "choose", help="print the kind of hosts that can delay their network on this machine"
    )
    with_server(
        command("flags", "print what a container of this server needs, as JSON (kind docker)")
    )
    for name, text in (
        ("cut", "stop a host as a power cut would"),
        ("start", "start a host that was cut"),
        ("shell", "open a shell on a host"),
    ):
        command(name, text).add_argument("host", metavar="HOST", help="source, replica1, …")
    return top


def replicas(text: str) -> int:
    """A number of replicas."""
    if not text.isdigit() or not 1 <= int(text) <= 9:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to 9")
    return int(text)


def main() -> int:
    """Run one command; errors the reader can act on are one line each."""
    opts = parser().parse_args()
    # To be ended is to be interrupted: what was begun is cleaned up.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if opts.command == "choose":
        print(choose.kind())
        return 0
    try:
        need_linux()
        if opts.command == "flags" and opts.kind != "docker":
            raise LabError("flags are for containers: use --kind docker")
        try:
            kind = importlib.import_module(f"kind_{opts.kind}")
        except ModuleNotFoundError as error:
            if error.name != f"kind_{opts.kind}":
                raise
            raise LabError(f"hosts of kind {opts.kind} are not in this checkout") from None
        result = getattr(kind, opts.command)(opts)
    except LabError as error:
        print(f"lab: error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("lab: interrupted", file=sys.stderr)
        return 130
    if opts.command == "flags":
        print(json.dumps(result, indent=2))
    elif opts.command == "image" and result is not None:
        print(os.fspath(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
