# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from ansible_collections.dbre.semisync.plugins.module_utils._host import server_files
from ansible_collections.dbre.semisync.plugins.module_utils._server import names
from ansible_collections.dbre.semisync.plugins.plugin_utils._plans import apply, problems, tls
from ansible_collections.dbre.semisync.tests.unit import samples

PEM = "-----BEGIN CERTIFICATE-----\nMIIC\nabc=\n-----END CERTIFICATE-----\n"
KEY = "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n"


def server(engine="mysql", version=None, on=True, ca=PEM):
    info = samples.server(engine, version=version)
    if version:
        table = names.Names(engine, samples.parsed(info))
        info["names"].update(
            verifies_source_by_default=table.verifies_source_by_default,
            proves_itself_by_password=table.proves_itself_by_password,
        )
    info["tls"], info["certificates"]["ca"] = {"on": on}, ca
    return info


def settings(mode="auto", ca="", name=False):
    return samples.settings(
        replication_ssl=mode, replication_ssl_ca=ca, replication_ssl_verify_name=name
    )


COPY = "/var/lib/mysql/dbre-semisync-source-ca.pem"


@pytest.mark.parametrize(
    "mode,on,configuring,ca,name,expected",
    [
        ("auto", True, True, "", False, {"ssl": True, "ca": "", "verify": False}),
        ("auto", False, True, "", False, {"ssl": False, "ca": None, "verify": None}),
        ("auto", True, False, "/etc/ca.pem", True, None),
        ("required", True, False, "", False, {"ssl": True, "ca": "", "verify": False}),
        (
            "required",
            True,
            True,
            "/etc/ca.pem",
            True,
            {"ssl": True, "ca": "/etc/ca.pem", "verify": True},
        ),
        ("required", True, False, "generated", False, {"ssl": True, "ca": COPY, "verify": False}),
        ("disabled", True, True, "/etc/ca.pem", True, {"ssl": False, "ca": None, "verify": None}),
        ("disabled", True, False, "", False, {"ssl": False, "ca": None, "verify": None}),
    ],
)
def test_a_channel_uses_tls_where_it_was_asked_for_or_can_be_had(
    mode, on, configuring, ca, name, expected
):
    assert tls.wanted(settings(mode, ca, name), server(on=on), server(), configuring) == expected


@pytest.mark.parametrize(
    "source,replica,mode,ca,name,verify",
    [
        ((11, 8, 6), (11, 8, 6), "required", "", False, True),
        ((11, 8, 6), (11, 8, 6), "required", "", True, True),
        ((10, 11, 19), (11, 8, 6), "required", "", False, False),
        ((11, 8, 6), (10, 11, 19), "required", "", False, False),
        ((11, 8, 6), (11, 8, 6), "required", "/etc/ca.pem", False, False),
        ((11, 8, 6), (11, 8, 6), "disabled", "", False, False),
        ((11, 8, 6), (10, 11, 19), "disabled", "", False, None),
    ],
)
def test_a_mariadb_that_verifies_by_itself_is_let_do_it_where_it_can(
    source, replica, mode, ca, name, verify
):
    words = [".".join(str(number) for number in version) for version in (source, replica)]
    want = tls.wanted(
        settings(mode, ca, name), server("mariadb", words[0]), server("mariadb", words[1]), False
    )
    assert want["verify"] is verify


WANT = {"ssl": True, "ca": "/etc/ca.pem", "verify": False}


@pytest.mark.parametrize(
    "want,channel,expected",
    [
        (None, {"tls": False, "tls_ca": "", "tls_verify": False}, False),
        (WANT, None, False),
        (WANT, {"tls": True, "tls_ca": "/etc/ca.pem", "tls_verify": False}, False),
        (WANT, {"tls": False, "tls_ca": "/etc/ca.pem", "tls_verify": False}, True),
        (WANT, {"tls": True, "tls_ca": "", "tls_verify": False}, True),
        (WANT, {"tls": True, "tls_ca": "/etc/ca.pem", "tls_verify": True}, True),
        (
            dict(WANT, verify=None),
            {"tls": True, "tls_ca": "/etc/ca.pem", "tls_verify": True},
            False,
        ),
        (
            {"ssl": False, "ca": None, "verify": None},
            {"tls": True, "tls_ca": "", "tls_verify": False},
            True,
        ),
        (
            {"ssl": False, "ca": None, "verify": False},
            {"tls": False, "tls_ca": "/old.pem", "tls_verify": True},
            False,
        ),
    ],
)
def test_a_channel_whose_tls_differs_is_found(want, channel, expected):
    assert tls.differs(want, channel) is expected


def pair(**source):
    members = samples.pair("mysql")
    members[0].info["tls"], members[0].info["certificates"]["ca"] = (
        {"on": source.get("on", True)},
        source.get("ca", PEM),
    )
    return members


def planned(members, **wanted):
    return apply.set_up_plan(members[1], members, settings(**wanted))


def test_a_running_plain_channel_is_changed_only_where_tls_is_required():
    assert planned(pair())["tls_differs"] is False and planned(pair())["changes"] is False
    after = planned(pair(), mode="required")
    assert after["tls_differs"] is True and after["changes"] is True and after["channel"] == "none"
    assert planned(pair(), mode="disabled")["changes"] is False
    members = pair()
    members[1].info["channel"]["tls"] = True
    assert planned(members, mode="required")["changes"] is False
    assert planned(members, mode="disabled")["tls_differs"] is True
    assert apply.set_up_plan(members[0], members, settings("required"))["tls"] is None


@pytest.mark.parametrize("there,changed", [(None, True), (PEM, False), ("another", True)])
def test_the_sources_own_authority_is_copied_where_it_is_not_there(there, changed):
    members = pair()
    members[1].info["certificates"]["copy"]["text"] = there
    members[1].info["channel"].update(tls=True, tls_ca=COPY)
    made = planned(members, mode="required", ca="generated")
    assert made["tls_authority"] == {"path": COPY, "content": PEM, "changed": changed}
    assert made["changes"] is changed and made["tls_differs"] is False
    assert planned(members, mode="required", ca=COPY)["tls_authority"] is None


def found(members, **wanted):
    return " ".join(problems.cluster_problems(members, settings(**wanted)))


def test_tls_that_cannot_be_is_refused_with_the_way_out():
    assert found(pair(), mode="required", ca="generated") == ""
    assert "db1: semisync_replication_ssl is required, but the server has no TLS" in found(
        pair(on=False), mode="required"
    )
    assert found(pair(on=False), mode="auto") == found(pair(on=False), mode="disabled") == ""
    assert "has no authority of its own" in found(pair(ca=None), mode="required", ca="generated")
    assert "name a file on the replicas" in found(pair(ca=None), mode="required", ca="generated")
    assert "db2: semisync_replication_ssl_verify_name needs semisync_replication_ssl_ca" in found(
        pair(), mode="required", name=True
    )
    members = pair(ca=None)
    members[0].info["names"]["proves_itself_by_password"] = True
    assert "proves itself by the account's password" in found(
        members, mode="required", ca="generated"
    )


@pytest.mark.parametrize(
    "text,expected", [(PEM, PEM), (KEY + PEM + "text\n" + PEM, PEM + PEM), (KEY, None), ("", None)]
)
def test_only_certificates_leave_a_host(text, expected):
    assert server_files.certificates(text) == expected


def test_the_authority_is_read_where_the_server_has_it():
    files = {"/data/ca.pem": KEY + PEM, "/data/" + server_files.COPY: PEM}

    def read_text(path):
        if path not in files:
            raise OSError(path)
        return files[path]

    expected = {"ca": PEM, "copy": {"path": "/data/" + server_files.COPY, "text": PEM}}
    assert (
        server_files.read_certificates({"ssl_ca": "ca.pem", "datadir": "/data/"}, read_text)
        == expected
    )
    assert (
        server_files.read_certificates({"ssl_ca": "/data/ca.pem", "datadir": "/data"}, read_text)
        == expected
    )
    assert (
        server_files.read_certificates({"ssl_ca": "", "datadir": "/other"}, read_text)["ca"] is None
    )
    assert (
        server_files.read_certificates({"ssl_ca": "/gone", "datadir": "/other"}, read_text)["copy"][
            "text"
        ]
        is None
    )


@pytest.mark.parametrize(
    "mode,on,ca,expected",
    [
        ("auto", True, "", {"need": "required", "ca": None}),
        ("auto", False, "", {"need": "any", "ca": None}),
        ("auto", None, "/etc/ca.pem", {"need": "any", "ca": None}),
        ("auto", True, "/etc/ca.pem", {"need": "required", "ca": "/etc/ca.pem"}),
        ("auto", True, "generated", {"need": "required", "ca": COPY}),
        ("required", True, "", {"need": "required", "ca": None}),
        ("required", False, "/etc/ca.pem", {"need": "required", "ca": "/etc/ca.pem"}),
        ("disabled", True, "/etc/ca.pem", {"need": "disabled", "ca": None}),
    ],
)
def test_a_clone_travels_in_clear_only_if_that_was_asked_for_or_its_source_has_no_tls(
    mode, on, ca, expected
):
    assert tls.clone(settings(mode, ca), server(on=on), server()) == expected
