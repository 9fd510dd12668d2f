# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    """The options by which a module logs in; our own words, since Galaxy reads a collection without
    its neighbours.
    """

    DOCUMENTATION = r"""
options:
  login_user:
    description: The account to log in with. Without it O(config_file), else the system user's name.
    type: str
  login_password:
    description: Its password. Not needed if the server authenticates by the unix socket.
    type: str
  login_host:
    description: Where the server listens. V(localhost) with the default port means the unix socket.
    type: str
    default: localhost
  login_port:
    description: The server's port.
    type: int
    default: 3306
  login_unix_socket:
    description: The server's unix socket. By default the usual places are tried.
    type: str
  config_file:
    description: Option file on the host with a C([client]) section that holds user and password.
      Empty to read none.
    type: path
    default: ~/.my.cnf
  connect_timeout:
    description: Seconds to wait for a connection.
    type: int
    default: 30
  client_cert:
    description: The client's certificate.
    type: path
    aliases: [ssl_cert]
  client_key:
    description: The key of O(client_cert).
    type: path
    aliases: [ssl_key]
  ca_cert:
    description: The certificate authority that the server's certificate is checked against.
    type: path
    aliases: [ssl_ca]
  check_hostname:
    description: Whether the name in the server's certificate must be O(login_host).
    type: bool
  peer_ssl:
    description:
      - TLS of the logins that the module makes on other members, with the replication account.
      - With V(auto) it is used if the server offers it, and needed if the server is known to have
        it; with V(required) there is no login without it.
    version_added: "1.1.0"
    type: str
    choices: [auto, required, disabled]
    default: auto
  peer_ssl_ca:
    description: The certificate authority, a file on the host, that must have signed the other
      member's certificate.
    version_added: "1.1.0"
    type: path
  peer_ssl_verify:
    description: Whether the name in that certificate must be the other member's address, too.
    version_added: "1.1.0"
    type: bool
    default: false
requirements:
  - PyMySQL on the host (C(python3-pymysql) on Debian, C(python3-PyMySQL) on RedHat and SUSE)
"""
