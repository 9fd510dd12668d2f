# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import absolute_import, division, print_function

__metaclass__ = type

import pytest

from ansible_collections.dbre.semisync.plugins.module_utils import load, load_tools

PARAMS = {"login_user": "bench", "login_password": "geheim", "login_unix_socket": None, "login_host": "10.0.0.1",
          "login_port": 3307}


@pytest.mark.parametrize("more,text", [
    ({}, '[client]\nuser="bench"\npassword="geheim"\nhost="10.0.0.1"\nport="3307"\nprotocol="tcp"\n'),
    ({"login_unix_socket": "/run/x.sock"}, '[client]\nuser="bench"\npassword="geheim"\nsocket="/run/x.sock"\n'),
    ({"login_unix_socket": "/run/x.sock", "login_user": None, "login_password": None},
     '[client]\nuser="root"\nsocket="/run/x.sock"\n'),
    ({"login_unix_socket": "/run/x.sock", "login_password": 'a"b\\c#d\'e f'},
     '[client]\nuser="bench"\npassword="a\\"b\\\\c#d\'e f"\nsocket="/run/x.sock"\n'),
])
def test_the_tools_login_is_the_modules(more, text):
    assert load.option_file(dict(PARAMS, **more)) == text


def test_the_tools_login_file_is_for_its_owner_only(tmp_path):
    class Module(object):
        params, tmpdir = PARAMS, str(tmp_path)

    tool = load_tools.Load(Module(), None, None, "s")
    path = tool.write("secret", ".cnf")
    assert tmp_path.joinpath(path).stat().st_mode & 0o777 == 0o600
    tool.close()
    assert list(tmp_path.iterdir()) == []
