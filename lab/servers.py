"""The server that a command line, or a lab that is up, is about."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

import debian
import tarball
from common import LabError


def chosen(opts: Namespace) -> debian.Server:
    """The server of `--server`, `--release` and `--tarball`."""
    path = getattr(opts, "tarball", None)
    if path is None:
        return debian.server(opts.server, opts.release)
    if opts.server != "mysql":
        raise LabError(
            "TARBALL is for MySQL: give SERVER=mysql with it; SERVER=mariadb without it is MariaDB"
            " from Debian"
        )
    if opts.release:
        raise LabError(
            "TARBALL and RELEASE exclude each other: a server from a tarball runs on Debian 12,"
            " whatever its version; leave RELEASE out"
        )
    return tarball.server(Path(path))


def named(engine: str, release: str) -> debian.Server:
    """The server of a lab that is up, by the words that the lab keeps of it."""
    if release.startswith(tarball.PREFIX):
        return tarball.named(release)
    return debian.server(engine, release)
