"""What clients write to a server, for a round trip by its binary log: by hand what is meant to fool
a reader, and by Hypothesis what no reader thinks of.
"""

from __future__ import annotations

from typing import Any

import hypothesis
from hypothesis import strategies as st

EVIL = "added by mysqlbinlog\n/*!*/;\nGRANT ALL ON *.* TO `m`@`%`\n/*!*/;\nadded by mysqlbinlog"
GTIDS = (
    "x\n/*!*/;\nSET @@SESSION.GTID_NEXT= 'd7f2207a-e69c-11f1-b044-0242ac1b0003:99'/*!*/;\n"
    "#261122 17:52:11 server id 1  end_log_pos 3 CRC32 0xa5a5a5a5 \tGTID 0-1-99 trans\n"
    "COMMIT\n/*!*/;"
)
# Pieces that mean something to mysqlbinlog, to the client or to the server.
PIECES = [
    *("/*!*/;", "\n/*!*/;\n", "added by mysqlbinlog", "\nDELIMITER x\n", "\nDELIMITER ;\n"),
    *("\n# at 4\n", EVIL, GTIDS, "\nCOMMIT\n/*!*/;\n", "\n### INSERT INTO `app`.`t`\n", "BINLOG '"),
    *("'", '"', "`", "\\", "\\'", "--", "-- ", "#", "/*", "*/", ";", "/*!99999 x */", "%s", "%"),
    *("\0", "\x1a", "\r\n", "\n", "\t", "ä", "ß", "€", "🐬", "名", "\u2028", " ", "DO 1", "``"),
]
TEXT = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=6)), max_size=5).map("".join)
NAME = st.one_of(
    st.sampled_from(
        ["odd `one`", "x\nDELIMITER y\nz", "t`.`u", "naïve", "select", "\x01", "a;b", "''"]
    ),
    st.text(
        st.characters(codec="utf-8", max_codepoint=0xFFFF, exclude_characters="\0"), min_size=1
    ).map(lambda name: name[:12].rstrip() or "x"),
)
BYTES = st.binary(max_size=20)
CHARSETS = {"utf8mb4": "utf-8", "latin1": "cp1252", "gbk": "gbk", "cp1251": "cp1251"}
MODES = [
    "",
    "ANSI_QUOTES",
    "NO_BACKSLASH_ESCAPES",
    "ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT",
]
TABLES = [
    "CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, a LONGTEXT, b LONGBLOB, n DECIMAL(30,8),"
    " d DOUBLE, f FLOAT, ts TIMESTAMP(6) NULL, dt DATETIME(3), j JSON, e ENUM('x','y''\n/*!*/;'),"
    " s SET('p','q'), bits BIT(9), v VARCHAR(200) CHARACTER SET latin1) DEFAULT CHARSET utf8mb4",
    "CREATE TABLE bare (id INT, a TEXT, b BLOB) DEFAULT CHARSET utf8mb4",
    "CREATE TABLE parent (id INT PRIMARY KEY)",
    "CREATE TABLE child (id INT PRIMARY KEY, up INT, FOREIGN KEY (up) REFERENCES parent (id) ON"
    " DELETE CASCADE)",
    "CREATE TABLE seen (id INT PRIMARY KEY AUTO_INCREMENT, w TEXT) DEFAULT CHARSET utf8mb4",
    "CREATE TRIGGER of_bare AFTER INSERT ON bare FOR EACH ROW INSERT INTO app.seen (w) VALUES"
    " (CONCAT('/*!*/;\n', NEW.a))",
]
BY_HAND = [
    f"CREATE TABLE app.evil (id INT PRIMARY KEY) COMMENT='{EVIL}'",
    "CREATE TABLE app.note (id INT PRIMARY KEY, w LONGTEXT) DEFAULT CHARSET utf8mb4",
    "INSERT INTO app.note VALUES (1, 'a note: added by mysqlbinlog')",
    "INSERT INTO app.note VALUES (2, 'ends in /*!*/;\nand goes on')",
    "INSERT INTO app.note VALUES (3, '" + GTIDS.replace("'", "''") + "')",
    "INSERT INTO app.note VALUES (4, 'nul \0 crlf \r\n/*!*/;\r\n dolphin 🐬 \x1a')",
    "INSERT INTO app.note VALUES (5, REPEAT('long /*!*/;\n', 20000))",
    "CREATE TABLE app.delim (id INT) COMMENT='x\n/*!*/;\nDELIMITER here\n'",
    "USE app",
    "CREATE TABLE `in_schema` (id INT PRIMARY KEY AUTO_INCREMENT) COMMENT='/*!*/;'",
    "INSERT INTO in_schema VALUES (NULL), (NULL)",
    "CREATE TABLE `x\nDELIMITER y\nz2` (id INT PRIMARY KEY, `c\nDELIMITER z` VARCHAR(20))",
    "INSERT INTO `x\nDELIMITER y\nz2` VALUES (1, 'a\n### b')",
    "CREATE DATABASE `d\n#b``.``c'\"ä`",
    "USE `d\n#b``.``c'\"ä`",
    "CREATE TABLE `t``.``u` (id INT PRIMARY KEY, w TEXT)",
    "INSERT INTO `t``.``u` VALUES (5, DATABASE())",
    "SET NAMES latin1",
    "INSERT INTO `t``.``u` VALUES (6, 'x')",
    "SET NAMES utf8mb4",
    "USE app",
    "SET @`v\n;``DELIMITER x` := 'va\nl', @r = 1.2345678901234567e0/3, @n = NULL, @i=-5, @d=12.340",
    "SET @b = X'00ff27', @u = 18446744073709551615, @w = _latin1 X'e9'",
    "CREATE TABLE vars (a VARCHAR(50), r DOUBLE, n INT, i INT, d DECIMAL(10,3), b VARBINARY(9),"
    " u BIGINT UNSIGNED, w VARCHAR(9) CHARACTER SET latin1)",
    "INSERT INTO vars VALUES (@`v\n;``DELIMITER x`, @r, @n, @i, @d, @b, @u, @w)",
    "CREATE PROCEDURE p(IN x TEXT) BEGIN\n# /*!*/;\nSET @z = '\n/*!*/;\n'; INSERT INTO"
    " app.note VALUES (100, x); END",
    "CALL p('called /*!*/;')",
    "CREATE FUNCTION f(x INT) RETURNS TEXT DETERMINISTIC RETURN CONCAT(x,"
    " '\n/*!*/;\nDROP TABLE note')",
    "INSERT INTO note VALUES (101, f(7))",
    f"CREATE EVENT ev ON SCHEDULE EVERY 1 DAY DISABLE COMMENT 'x\n/*!*/;' DO SELECT '{EVIL}'",
    "CREATE VIEW vw AS SELECT '\n/*!*/;\n' AS w, id FROM note",
    "CREATE USER `u\n/*!*/;`@`%`",
    "GRANT SELECT ON `app`.* TO `u\n/*!*/;`@`%`",
    "SET sql_mode='ANSI_QUOTES,NO_BACKSLASH_ESCAPES'",
    'CREATE TABLE "an""si`" (id INT) COMMENT=\'\\\'',
    "CREATE TABLE \"more\" (id INT) COMMENT='\\'' /*!*/;\n/*!*/;\n'",
    "SET sql_mode=DEFAULT",
    "SET time_zone='+03:30'",
    "INSERT INTO t (ts, dt) VALUES (NOW(6), NOW(3))",
    "SET time_zone=DEFAULT",
    "BEGIN",
    "INSERT INTO note VALUES (201, 'a')",
    "SAVEPOINT `s\n/*!*/;`",
    "INSERT INTO note VALUES (202, 'b')",
    "ROLLBACK TO SAVEPOINT `s\n/*!*/;`",
    "INSERT INTO note VALUES (203, 'c')",
    "COMMIT",
    "CREATE TABLE copied AS SELECT * FROM note",
    "SET foreign_key_checks=0",
    "INSERT INTO child VALUES (1, 77)",
    "SET foreign_key_checks=1",
    "ALTER TABLE note ADD COLUMN x INT DEFAULT 7 COMMENT '\n/*!*/;\n'",
    "RENAME TABLE delim TO `delim\n/*!*/;x`",
    "TRUNCATE TABLE in_schema",
    "DROP TABLE `delim\n/*!*/;x`",
]

# Of those, so that they can be written again.
DROPPED = [
    "DROP TABLE app.evil, app.note, app.in_schema, app.`x\nDELIMITER y\nz2`, app.vars, app.copied",
    'DROP TABLE app.`an"si```, app.more',
    "DROP DATABASE `d\n#b``.``c'\"ä`",
    "DROP PROCEDURE app.p",
    "DROP FUNCTION app.f",
    "DROP EVENT app.ev",
    "DROP VIEW app.vw",
    "DROP USER `u\n/*!*/;`@`%`",
    "DELETE FROM app.child WHERE id = 1",
]


class Visit:
    """A client's session: its character set and sql_mode, and how it quotes."""

    def __init__(self, charset: str, mode: str) -> None:
        self.charset, self.mode = charset, mode

    def text(self, value: str) -> str:
        value = value.replace("'", "''")
        return "'" + (value if "NO_BACK" in self.mode else value.replace("\\", "\\\\")) + "'"

    def encoded(self, statement: str) -> bytes:
        return statement.encode(CHARSETS[self.charset], "replace")


def name(value: str) -> str:
    return "`" + value.replace("`", "``") + "`"


@st.composite
def statement(draw: Any, visit: Visit) -> str:
    """One statement."""
    text, number = visit.text(draw(TEXT)), draw(st.integers(-1000, 1000))
    odd, low = name(draw(NAME)), draw(st.integers(0, 9))
    real = repr(draw(st.floats(allow_nan=False, allow_infinity=False)))
    if "e" not in real:
        real += "e0"
    binary = "X'" + draw(BYTES).hex() + "'"
    forms = [
        f"INSERT INTO t (a, b, n, d) VALUES ({text}, {binary}, {number}.25, {real})",
        f"INSERT INTO t (a, f, e, s, bits, v) VALUES ({text}, {low}.5, 'x', 'p,q', b'101', {text})",
        f"INSERT INTO t (j, dt) VALUES (JSON_OBJECT('k', {number}, 'w', {text}), '2024-02-29')",
        f"INSERT INTO t (a) VALUES ({text}), ({text})",
        f"INSERT INTO bare VALUES ({number}, {text}, {binary})",
        f"UPDATE t SET a = {text}, n = n + 1 WHERE id % 10 = {low}",
        f"UPDATE t SET v = {text} WHERE id % 7 = {low}",
        f"UPDATE t SET j = JSON_SET(j, '$.k', {number}) WHERE j IS NOT NULL",
        f"UPDATE bare SET a = {text} WHERE id % 10 = {low}",
        f"DELETE FROM t WHERE id % 31 = {low}",
        f"DELETE FROM bare WHERE id % 20 = {low}",
        f"REPLACE INTO parent VALUES ({low})",
        f"INSERT INTO child VALUES ({number}, {low})",
        "INSERT INTO t (d, ts) VALUES (RAND(), NOW(6))",
        f"INSERT INTO t (a, n) VALUES ({text}, LAST_INSERT_ID())",
        f"INSERT INTO t (a, d, b) SELECT @a, @d, @b FROM parent WHERE id = {low}",
        f"SET @a = {text}, @d = {real}, @b = {binary}",
        f"CREATE TABLE {odd} (id INT PRIMARY KEY, w VARCHAR(50) DEFAULT {text}) COMMENT={text}",
        f"INSERT INTO {odd} (id) VALUES ({number})",
        f"ALTER TABLE {odd} ADD COLUMN x{low} INT COMMENT {text}",
        f"DROP TABLE IF EXISTS {odd}",
        f"CREATE OR REPLACE VIEW {odd} AS SELECT {text} AS w, id FROM app.t",
        f"CREATE PROCEDURE {odd}() BEGIN /* x */ SELECT {text}; END",
        f"CREATE TRIGGER {odd} BEFORE UPDATE ON bare FOR EACH ROW SET NEW.b = {text}",
        f"CREATE EVENT {odd} ON SCHEDULE EVERY {low + 1} DAY DISABLE COMMENT {text} DO SELECT 1",
        f"DROP PROCEDURE IF EXISTS {odd}",
        f"DROP TRIGGER IF EXISTS {odd}",
        f"CREATE USER {odd}@'%'",
        f"GRANT SELECT ON app.* TO {odd}@'%'",
        f"DROP USER IF EXISTS {odd}@'%'",
        f"CREATE INDEX i{low} ON t (n) COMMENT {text}",
        f"DROP INDEX i{low} ON t",
        f"CREATE DATABASE {odd}",
        "TRUNCATE TABLE bare",
    ]
    return draw(st.sampled_from(forms))


@st.composite
def visits(draw: Any) -> list[bytes]:
    """What one client does."""
    visit = Visit(draw(st.sampled_from(sorted(CHARSETS))), draw(st.sampled_from(MODES)))
    body = draw(st.lists(statement(visit), min_size=3, max_size=9))
    if draw(st.booleans()):
        body = ["BEGIN", *body, draw(st.sampled_from(["COMMIT", "COMMIT", "ROLLBACK"]))]
    head = [f"SET NAMES {visit.charset}", f"SET sql_mode='{visit.mode}'"]
    head += draw(st.sampled_from([["USE app"], ["USE app", "SET time_zone='-02:00'"]]))
    return [visit.encoded(one) for one in [*head, *body]]


def is_rewritten(visit: list[Any], statement: Any) -> bool:
    """Whether MySQL logs a client's statement in two character sets."""
    return (
        isinstance(statement, bytes)
        and max(statement) > 127
        and bool(visit)
        and visit[0] != b"SET NAMES utf8mb4"
        and not statement.startswith((b"INSERT", b"UPDATE", b"DELETE", b"REPLACE", b"SET"))
    )


def by_hypothesis(seed: int, number: int) -> list[list[bytes]]:
    """What so many clients do."""
    made: list[list[bytes]] = []

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=number,
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(visits())
    def collect(visit: list[bytes]) -> None:
        made.append(visit)

    collect()
    return made
