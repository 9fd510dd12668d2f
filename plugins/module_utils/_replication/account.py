# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The replication account and its password: what a server has, whether it is the wanted one, and
the statements.

If the server can (MySQL 8.0.14, MariaDB 10.4), the account accepts the old and the new password
until every channel has the new one. No statement is written to the binary log: a replica without
the account would stop at it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ansible_collections.dbre.semisync.plugins.module_utils._server.names import Names

if TYPE_CHECKING:
    from typing import TypedDict

    from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import Step
    from ansible_collections.dbre.semisync.plugins.plugin_utils._types.shapes import Reader
else:
    TypedDict = dict

# Plugins with a password that the server stores; '' is the native one of old servers.
NATIVE, SHA2, SHA256 = "mysql_native_password", "caching_sha2_password", "sha256_password"
PASSWORD_PLUGINS = ("", NATIVE, SHA2, SHA256, "ed25519", "parsec")
# Places of a SHA-crypt digest's bytes, three at a time (Drepper, "Unix crypt using SHA-256 and
# SHA-512").
ORDER = (
    (0, 10, 20),
    (21, 1, 11),
    (12, 22, 2),
    (3, 13, 23),
    (24, 4, 14),
    (15, 25, 5),
    (6, 16, 26),
    (27, 7, 17),
    (18, 28, 8),
    (9, 19, 29),
)
HIDDEN = "********"
LETTERS = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


class UnfitError(ValueError):
    """The account cannot get a new password this way; the text says why, and what to do."""


def native_hash(password: str) -> str:
    """What mysql_native_password stores of a password."""
    # The servers' own method; used only to compare with what they store.
    inner = hashlib.sha1(password.encode("utf-8")).digest()  # noqa: S324
    return "*" + hashlib.sha1(inner).hexdigest().upper()  # noqa: S324


def sha256_crypt(password: str, salt: bytes, rounds: int) -> str:
    """The digest of SHA-crypt, 43 letters; the servers give it all 20 bytes of their salt."""
    key = password.encode("utf-8")

    def whole(digest: bytes, length: int) -> bytes:
        return (digest * (length // 32 + 1))[:length]

    inner = hashlib.sha256(key + salt + key).digest()
    text = key + salt + whole(inner, len(key))
    count = len(key)
    while count:
        text += inner if count & 1 else key
        count >>= 1
    digest = hashlib.sha256(text).digest()
    long_key = whole(hashlib.sha256(key * len(key)).digest(), len(key))
    long_salt = whole(hashlib.sha256(salt * (16 + bytearray(digest)[0])).digest(), len(salt))
    for number in range(rounds):
        text = long_key if number & 1 else digest
        text += long_salt if number % 3 else b""
        text += long_key if number % 7 else b""
        digest = hashlib.sha256(text + (digest if number & 1 else long_key)).digest()
    letters = [
        letter for places in ORDER for letter in sixes([digest[place] for place in places], 4)
    ]
    return "".join(letters + sixes([0, digest[31], digest[30]], 3))


def sixes(three: list[int], count: int) -> list[str]:
    """Three bytes as letters of six bits each."""
    value = (three[0] << 16) | (three[1] << 8) | three[2]
    return [LETTERS[(value >> (6 * place)) & 63] for place in range(count)]


def matches(plugin: str, stored: str, password: str) -> bool | None:
    """Whether the stored hash is of this password; None if only the server could tell."""
    if plugin in ("", NATIVE):
        return stored.upper() == native_hash(password)
    if plugin == SHA2 and stored.startswith("$A$") and len(stored) == 70:
        salt = stored[7:27]
        digest = stored[27:]
        return sha256_crypt(password, salt.encode("utf-8"), int(stored[3:6], 16) * 1000) == digest
    return None


class Known(TypedDict):
    """An account: its host, and what it accepts, the first one first: [(plugin, hash)]."""

    host: str
    accepts: list[tuple[str, str]]


def parse_row(row: Mapping[str, str | None]) -> Known:
    """One account of accounts_query(): its host, and what it accepts, the first one first:
    [(plugin, hash)].

    MySQL stores a second password in User_attributes, MariaDB further methods in Priv's auth_or,
    where {} is the account's own.
    """
    if row.get("priv"):
        priv = json.loads(row["priv"] or "{}")
        own = (priv.get("plugin", ""), priv.get("authentication_string", ""))
        accepts = [
            (entry.get("plugin", ""), entry.get("authentication_string", "")) if entry else own
            for entry in priv.get("auth_or", [{}])
        ]
    else:
        plugin = row.get("plugin") or ""
        accepts = [(plugin, row.get("hash") or row.get("password") or "")]
        second = json.loads(row.get("attributes") or "{}").get("additional_password")
        if second:
            accepts.append((plugin, second))
    return {"host": row["host"] or "", "accepts": accepts}


def accounts_query(names: Names) -> str:
    """The statement that lists the accounts of a name that may read the binary log; its argument is
    the name.
    """
    columns, table = "u.User AS user, u.Host AS host", "mysql.user u"
    if names.mariadb and names.dual_passwords:
        columns += ", g.Priv AS priv"
        table += " JOIN mysql.global_priv g ON g.User = u.User AND g.Host = u.Host"
    elif names.alter_user and not names.mariadb:
        columns += ", u.plugin AS plugin, u.authentication_string AS hash"
        columns += ", u.User_attributes AS attributes" if names.dual_passwords else ""
    else:
        columns += ", u.plugin AS plugin, u.authentication_string AS hash, u.Password AS password"
    where = "u.User = %s AND u.Repl_slave_priv = 'Y'"
    # All parts are constants above; none is input.
    return f"SELECT {columns} FROM {table} WHERE {where} ORDER BY u.Host"  # noqa: S608


def check(names: Names, user: str, accounts: list[Known]) -> None:
    """Refuse what cannot be rotated.

    Raises:
        UnfitError: there is no account of that name, it has no password, or this version takes its
            password only in plain text.
    """
    if not accounts:
        raise UnfitError(
            f"there is no account {user} with REPLICATION SLAVE; set semisync_replication_user"
        )
    for account in accounts:
        for plugin, _dummy in account["accepts"]:
            if plugin not in PASSWORD_PLUGINS:
                raise UnfitError(
                    f"{user}@{account['host']} logs in by {plugin}, which has no password; give"
                    " replication its own account"
                )
            if not names.alter_user and plugin not in ("", NATIVE):
                version = ".".join(str(number) for number in names.version)
                raise UnfitError(
                    f"{user}@{account['host']} logs in by {plugin}, whose password {names.engine}"
                    f" {version} cannot be given as a hash; change it yourself, or give replication"
                    f" an account with {NATIVE}"
                )


def has_only(account: Known, password: str) -> bool:
    """Whether only this password is accepted; False if unknown."""
    return len(account["accepts"]) == 1 and bool(matches(*(account["accepts"][0] + (password,))))


def password_steps(
    names: Names,
    user: str,
    account: Known,
    password: str,
    keep_old: bool,
) -> list[Step]:
    """The statements that make an account accept the new password: [(statement, arguments)], empty
    if it already does.

    Args:
        account: result of parse_row().
        keep_old: whether it still accepts its present one, if the server can.

    Raises:
        UnfitError: the account has two other passwords already.
    """
    (plugin, stored), second = account["accepts"][0], account["accepts"][1:]
    known = matches(plugin, stored, password)
    name = (user, account["host"])
    if keep_old and names.dual_passwords:
        if known or (known is None and second):
            return []
        if second:
            raise UnfitError(
                f"{user}@{account['host']} accepts two passwords, and the first is not the new one:"
                " a rotation to another one was not finished. Finish it with that password, or"
                " make sure that every replica has the account's first password and drop the other"
                f" ({drop_second(names, user, account)})"
            )
        return [
            both(
                names,
                plugin,
                stored,
                name,
                secret(plugin, password),
            )
        ]
    if has_only(account, password):
        return []
    # On MySQL the second one stays when the first changes.
    discard: list[Step] = (
        [("ALTER USER %s@%s DISCARD OLD PASSWORD", name)] if second and not names.mariadb else []
    )
    if known and discard:
        return discard
    return [(alone(names, plugin), (*name, secret(plugin, password))), *discard]


def by_grant(names: Names) -> bool:
    """Whether CREATE USER cannot express what an account needs, so that GRANT creates it; that
    would give an existing account the new password.
    """
    return not (names.alter_user and names.if_not_exists)


def creation(
    names: Names,
    user: str,
    host: str,
    password: str,
    require_ssl: bool,
    exists: bool = False,
) -> list[Step]:
    """The statements that create an account with only REPLICATION SLAVE; an existing one keeps its
    password.

    Args:
        exists: whether the account does, for a server by_grant().
    """
    name = (user, host)
    ssl = " REQUIRE SSL" if require_ssl else ""
    grant = "GRANT REPLICATION SLAVE ON *.* TO %s@%s"
    # MySQL: since 8.0.4 the plugin can be named, for servers with another default.
    by = f"WITH {names.account_plugin} BY" if names.account_plugin else "BY"
    if names.mariadb:
        # Its binary log contains the statement as sent (seen on 11.8.6); MySQL writes a hash.
        by = "BY PASSWORD"
        password = native_hash(password)
    if by_grant(names) and exists:
        return [(grant, name)]
    if by_grant(names):
        return [(grant + " IDENTIFIED " + by + " %s" + ssl, (*name, password))]
    return [
        ("CREATE USER IF NOT EXISTS %s@%s IDENTIFIED " + by + " %s" + ssl, (*name, password)),
        (grant, name),
    ]


def secret(plugin: str, password: str) -> str:
    """What the statement has for the password: its hash if we can compute it, so that no log can
    reveal it.
    """
    return native_hash(password) if plugin in ("", NATIVE) else password


def both(
    names: Names,
    plugin: str,
    stored: str,
    name: tuple[str, str],
    new: str,
) -> tuple[str, tuple[object, ...]]:
    """(statement, arguments) that makes an account accept the new password beside its own."""
    if names.mariadb:
        plugin = plugin or NATIVE
        return f"ALTER USER %s@%s IDENTIFIED VIA {new_way(plugin)} OR {plugin} USING %s", (
            *name,
            new,
            stored,
        )
    return alone(names, plugin) + " RETAIN CURRENT PASSWORD", (*name, new)


def show(statement: str, arguments: tuple[object, ...]) -> str:
    """The statement for people: it names the account, without its password."""
    return statement % (
        tuple(repr(part) for part in arguments[:2]) + (HIDDEN,) * (len(arguments) - 2)
    )


def alone(names: Names, plugin: str) -> str:
    """The statement that makes an account accept the new password and no other."""
    plugin = plugin or NATIVE
    if not names.alter_user:
        return "SET PASSWORD FOR %s@%s = %s"
    if names.mariadb:
        return f"ALTER USER %s@%s IDENTIFIED VIA {new_way(plugin)}"
    return f"ALTER USER %s@%s IDENTIFIED WITH {plugin} {'AS' if plugin == NATIVE else 'BY'} %s"


def new_way(plugin: str) -> str:
    """MariaDB's syntax for a plugin and its password, which is an argument."""
    return f"{plugin} USING {'%s' if plugin == NATIVE else 'PASSWORD(%s)'}"


def drop_second(names: Names, user: str, account: Known) -> str:
    """The statement that an operator can run to drop an account's second password."""
    if names.mariadb:
        return f"ALTER USER '{user}'@'{account['host']}' IDENTIFIED VIA … with the first only"
    return f"ALTER USER '{user}'@'{account['host']}' DISCARD OLD PASSWORD"


def accounts_text(user: str, accounts: list[Known], password: str) -> str:
    """The accounts for a diff: which passwords they accept, without showing any."""
    words = {
        True: "the new password",
        False: "another password",
        None: "a password",
    }
    lines = []
    for account in accounts:
        accepted = [
            words[matches(plugin, stored, password)] for plugin, stored in account["accepts"]
        ]
        lines.append(f"{user}@{account['host']} accepts {' and '.join(accepted)}\n")
    return "".join(lines)


def predict(user: str, hosts: Iterable[str], keep_old: bool) -> str:
    """The accounts as they should be afterwards, for the diff."""
    kept = " and the one before" if keep_old else ""
    return "".join(f"{user}@{host} accepts the new password{kept}\n" for host in hosts)


def strangers(sessions: list[Reader], user: str, expected: int) -> list[str]:
    """Addresses of the binary log's readers with this account, if there are more than the
    cluster has replicas.
    """
    readers = [session["host"] for session in sessions if session["user"] == user]
    return sorted(readers) if len(readers) > expected else []


def in_master_info(text: str) -> str | None:
    """The password in the text of master.info: line 6 (file format of MySQL 5.x and MariaDB); None
    if there is none.
    """
    lines = text.split("\n")
    return lines[5] if len(lines) > 6 and lines[0].strip().isdigit() else None
