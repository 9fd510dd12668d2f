# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: seed_keys
short_description: A certificate, its key and passwords for one seeding
version_added: "1.0.0"
description:
  - Makes a key and a self-signed certificate that is valid for a week, and two random secrets.
    Nothing is written anywhere.
options: {}
author:
  - dbre.semisync contributors (@dbre-semisync)
"""

EXAMPLES = r"""
- name: Make them
  ansible.builtin.set_fact:
    keys: "{{ lookup('dbre.semisync.seed_keys') }}"
  no_log: true
"""

RETURN = r"""
_raw:
  description: C(certificate) and C(key) as PEM, C(token) and C(password).
  type: list
  elements: dict
"""

import datetime
import secrets
from typing import Any

from ansible.errors import AnsibleLookupError
from ansible.plugins.lookup import LookupBase

try:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
except ImportError:
    HAS_CRYPTOGRAPHY = False
else:
    HAS_CRYPTOGRAPHY = True

DAYS = 7


class LookupModule(LookupBase):
    """Secrets for one seeding; cryptography is what Ansible's own vault needs."""

    def run(self, terms: Any, variables: dict[str, Any] | None = None, **kwargs: Any) -> list[Any]:
        if not HAS_CRYPTOGRAPHY:
            raise AnsibleLookupError(
                "seeding needs the Python library cryptography on the controller, as vaults do"
            )
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "dbre-semisync-seed")])
        # Hosts' clocks may be apart.
        now = datetime.datetime.now(datetime.timezone.utc)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=DAYS))
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .sign(key, hashes.SHA256())
        )
        return [
            {
                "certificate": certificate.public_bytes(serialization.Encoding.PEM).decode("ascii"),
                "key": (
                    key.private_bytes(
                        serialization.Encoding.PEM,
                        serialization.PrivateFormat.PKCS8,
                        serialization.NoEncryption(),
                    ).decode("ascii")
                ),
                "token": secrets.token_hex(32),
                # Upper, lower, digit and other: password policies ask for one of each.
                "password": secrets.token_urlsafe(24)[:26] + "Aa1_",
            }
        ]
