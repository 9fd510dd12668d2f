"""Servers from a tarball: what is refused before anything is made, what a version decides."""

import gzip
import io
import os
import platform
import subprocess
import sys
import tarfile
from argparse import Namespace
from pathlib import Path

import common
import debian
import docker_image
import pytest
import servers
import tarball
import tarball_host

LAB = Path(__file__).resolve().parents[2] / "lab"

NUMBERS = {name: number for number, name in tarball.MACHINES.items()}


def elf(machine=None, order="little"):
    """The beginning of a program for a machine, this one if none is named."""
    number = NUMBERS[machine or platform.machine()].to_bytes(2, order)
    return b"\x7fELF\x02" + (b"\x01" if order == "little" else b"\x02") + bytes(12) + number


def pack(path, files, mode="w:xz"):
    """A tarball of these files, name: content, or a link's target."""
    with tarfile.open(path, mode) as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            if isinstance(content, str):
                member.type, member.linkname = tarfile.SYMTYPE, content
            else:
                member.size = len(content)
            tar.addfile(member, io.BytesIO(content if isinstance(content, bytes) else b""))
    return path


def chosen(path, server="mysql", release=None):
    return servers.chosen(Namespace(tarball=str(path), server=server, release=release))


@pytest.mark.parametrize("mode, compression", [("w:xz", "xz"), ("w:gz", "gz"), ("w", "")])
@pytest.mark.parametrize("top, above", [("mysql-5.7.44-linux", 1), ("any name", 1), ("./x", 2)])
def test_a_tarball_of_any_top_folder_and_compression(tmp_path, mode, compression, top, above):
    path = pack(tmp_path / "any.file", {f"{top}/README": b"", f"{top}/bin/mysqld": elf()}, mode)
    server = chosen(path)
    assert (server.compression, server.above) == (compression, above)
    assert server.engine == "mysql" and server.suite == "bookworm"
    assert f"--strip-components={above} " in tarball_host.unpack(server)


@pytest.mark.parametrize(
    "files, words",
    [
        ({"mysql-8.0.36/CMakeLists.txt": b""}, "no bin/mysqld"),
        ({"mysql-test/a/b/c/bin/mysqld": elf()}, "no bin/mysqld"),
        ({"mysql-8.0.36.tar.xz": b"", "mysql-test-8.0.36.tar.xz": b""}, "holds further tarballs"),
        ({"mysql/bin/mysqld": "mariadbd"}, "SERVER=mariadb, without TARBALL"),
        ({"mysql/bin/mysqld": b"\xcf\xfa\xed\xfe" + bytes(40)}, "is no Linux program"),
        ({"mysql/bin/mysqld": b""}, "is no Linux program"),
        ({"mysql/bin/mysqld": elf("s390x", "big")}, "is for s390x; this machine is "),
    ],
)
def test_what_holds_no_server_for_this_machine_is_refused(tmp_path, files, words):
    with pytest.raises(common.LabError, match=words):
        chosen(pack(tmp_path / "mysql.tar.xz", files))


@pytest.mark.parametrize(
    "content",
    [b"", b"no archive", b"\xfd7zXZ\0 but no more", gzip.compress(b"x" * 2000, mtime=0)[:30]],
)
def test_what_is_no_tarball_is_refused(tmp_path, content):
    path = tmp_path / "mysql.tar.xz"
    path.write_bytes(content)
    with pytest.raises(common.LabError, match=r"cannot be read as a \.tar\.xz"):
        chosen(path)


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--tarball", "{}/absent.tar.xz"], "absent.tar.xz is not there"),
        (["--tarball", "{}"], "is no file"),
        (["--tarball", "{}/absent", "--server", "mariadb"], "give SERVER=mysql with it"),
        (["--tarball", "{}/absent", "--release", "sid"], "leave RELEASE out"),
    ],
)
@pytest.mark.parametrize("command", ["up", "image", "flags"])
def test_refusals_come_before_docker_is_asked(tmp_path, command, arguments, words):
    done = subprocess.run(
        [sys.executable, LAB, command, *(word.format(tmp_path) for word in arguments)],
        text=True,
        capture_output=True,
        check=False,
        env={**os.environ, "PATH": str(tmp_path)},
    )
    assert done.returncode == 1 and words in done.stderr, done.stderr
    assert done.stderr.startswith("lab: error: ") and done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "text, version",
    [
        ("bin/mysqld  Ver 5.5.62 for Linux on x86_64 (Source distribution)", (5, 5, 62)),
        ("bin/mysqld  Ver 5.6.21-ctrip for Linux on x86_64 (Source)", (5, 6, 21)),
        ("bin/mysqld  Ver 5.7.44-log for linux-glibc2.12 on x86_64 (MySQL)", (5, 7, 44)),
        ("/usr/local/mysql/bin/mysqld  Ver 8.4.6 for Linux on x86_64 (MySQL)", (8, 4, 6)),
        ("bin/mysqld  Ver 8.0.36-28 for Linux on x86_64 (Percona Server (GPL))", (8, 0, 36)),
    ],
)
def test_versions(text, version):
    assert tarball_host.parse_version(text) == version


@pytest.mark.parametrize(
    "text, words",
    [
        ("mysqld: Exec format error", "no version in what"),
        ("mysqld  Ver 5.1.73 for unknown-linux-gnu", "begins with 5.5"),
        ("mysqld  Ver 10.11.6-MariaDB for linux-systemd", "SERVER=mariadb, without TARBALL"),
    ],
)
def test_versions_that_are_refused(text, words):
    with pytest.raises(common.LabError, match=words):
        tarball_host.parse_version(text)


@pytest.mark.parametrize(
    "version, command, words",
    [
        ((5, 5, 62), "scripts/mysql_install_db", "--basedir=/usr/local/mysql"),
        ((5, 6, 51), "scripts/mysql_install_db", "--basedir=/usr/local/mysql"),
        ((5, 7, 6), "bin/mysqld", "--initialize-insecure"),
        ((8, 0, 11), "bin/mysqld", "--initialize-insecure"),
        ((9, 4, 0), "bin/mysqld", "--initialize-insecure"),
    ],
)
def test_a_version_s_first_start(version, command, words):
    line = tarball_host.first_start(version)
    # Both kinds of programs take the choice of option files only as their first argument.
    assert line.startswith(f"{command} --defaults-file=/etc/my.cnf ")
    assert words in line and "--user=mysql" in line
    assert (tarball_host.ROOT_FILE in tarball_host.set_up(version)) == (version >= (5, 7))


def test_the_scripts_are_shell(tmp_path):
    server = chosen(pack(tmp_path / "a.tar", {"x/bin/mysqld": elf()}, "w"))
    scripts = [
        tarball_host.unpack(server),
        tarball_host.look_for_libraries(),
        tarball_host.set_up((5, 5, 0)),
        tarball_host.set_up((8, 4, 0)),
        tarball_host.first_start_script((5, 5, 0)),
        tarball_host.first_start_script((8, 4, 0)),
    ]
    for script in scripts:
        done = subprocess.run(["sh", "-n", "-c", script], capture_output=True, check=False)
        assert done.returncode == 0 and not done.stderr, done.stderr


def test_missing_libraries_are_named_with_what_needs_them():
    text = (
        "bin/mysqladmin: absent\n"
        "bin/mysqld: \tlibaio.so.1 => not found\n"
        "bin/mysqld: \tlibm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007fe3b4101000)\n"
        "bin/mysqld: bin/mysqld: /lib/libc.so.6: version `GLIBC_2.38' not found (required by x)\n"
        "bin/mysql: bin/mysql: /lib/libc.so.6: version `GLIBC_2.38' not found (required by y)\n"
        "bin/mysql: bin/mysql: /lib/libc.so.6: version `GLIBC_2.38' not found (required by z)\n"
    )
    assert tarball_host.missing(text) == [
        "there is no bin/mysqladmin in it",
        "libaio.so.1 is missing (bin/mysqld)",
        "GLIBC_2.38 is missing (bin/mysqld, bin/mysql)",
    ]
    assert tarball_host.missing("bin/mysqld: \tlinux-vdso.so.1 (0x00007fe3b4233000)\n") == []


def test_an_image_s_name_and_recipe_tell_tarballs_apart(tmp_path, monkeypatch):
    one = chosen(pack(tmp_path / "one.tar.xz", {"a/bin/mysqld": elf()}))
    other = chosen(pack(tmp_path / "other.tar.xz", {"b/bin/mysqld": elf()}))
    (tmp_path / "copy.tgz").write_bytes(one.path.read_bytes())
    copy = chosen(tmp_path / "copy.tgz")
    assert docker_image.tag(one) == docker_image.tag(copy) != docker_image.tag(other)
    recipe = docker_image.recipe(one)
    assert recipe == docker_image.recipe(copy) != docker_image.recipe(other)
    assert recipe not in [docker_image.recipe(item) for item in debian.SERVERS]
    monkeypatch.setattr(tarball_host, "ROOT_BY_SOCKET", "SELECT 1;\n")
    assert docker_image.recipe(one) != recipe


def test_a_lab_that_is_up_knows_its_server_without_the_tarball(tmp_path):
    server = chosen(pack(tmp_path / "a.tar.xz", {"a/bin/mysqld": elf()}))
    server.path.unlink()
    known = servers.named(*server.name.split(":"))
    assert (known.name, known.unit, known.admin) == (server.name, server.unit, server.admin)
    assert servers.named("mariadb", "13") == debian.server("mariadb", "13")
