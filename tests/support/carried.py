"""On a host, without Ansible: reads a dead server's binary log, or carries out what was read.
Its arguments are what to do and a folder with the collection, then a file with what the module is
given, or the server's socket; the file with what was read comes last.
"""

import json
import shutil
import sys
import types

import pymysql

what, folder, given, carried = sys.argv[1:]
sys.path.insert(0, folder)
# What the collection logs in by, and what modules are of; here there is neither.
OTHERS = {
    "ansible_collections.community.mysql.plugins.module_utils.mysql": {
        "mysql_driver": pymysql,
        "mysql_connect": None,
        "mysql_common_argument_spec": None,
    },
    "ansible.module_utils.basic": {"AnsibleModule": None},
}
for name, content in OTHERS.items():
    sys.modules[name] = types.ModuleType(name)
    vars(sys.modules[name]).update(content)

from ansible_collections.dbre.semisync.plugins.module_utils._binlog import (  # noqa: E402
    salvage,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change import (  # noqa: E402
    roll_forward,
)
from ansible_collections.dbre.semisync.plugins.module_utils._role_change.plan import (  # noqa: E402
    SalvagePlan,
)
from ansible_collections.dbre.semisync.plugins.module_utils._server.connection import (  # noqa: E402
    Server,
)


class Module:
    """What salvage asks of a module."""

    def get_bin_path(self, name):
        return shutil.which(name)


if what == "read":
    with open(given, encoding="utf-8") as stream:
        wanted = SalvagePlan.from_dict(json.load(stream))
    seen = salvage.read_salvage(Module(), wanted.files, wanted.engine, wanted.received)
    with open(carried, "w", encoding="utf-8") as stream:
        json.dump(seen, stream)
else:
    with open(carried, encoding="utf-8") as stream:
        transactions = salvage.unpack(json.load(stream)["payload"])
    connection = pymysql.connect(
        unix_socket=given,
        user="root",
        charset="utf8mb4",
        autocommit=True,
        cursorclass=pymysql.cursors.DictCursor,
    )
    server = Server(connection.cursor())
    roll_forward.alone(server)
    for one in transactions:
        roll_forward.carry_out(server, one)
    print(len(transactions))
