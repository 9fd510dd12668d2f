#!/bin/sh
# ProxySQL's scheduler runs this with the cluster's hosts as arguments: the host whose answer is 200 is online in
# hostgroup 1, and every other is OFFLINE_HARD, which ends its connections. Needs curl, flock and a client, mysql.
PATH=/usr/sbin:/usr/bin:/sbin:/bin
exec 9>/run/proxysql-source.lock
# ProxySQL starts the next one even if this one still runs.
flock --nonblock 9 || exit 0

# The login is of the file /etc/proxysql-admin.cnf, of mode 0600: [client], host=127.0.0.1, port=6032, user, password.
admin() {
    mysql --defaults-file=/etc/proxysql-admin.cnf --batch --skip-column-names --execute "$1"
}

ask() {
    curl -q --silent --fail --noproxy '*' --max-time 1 --output /dev/null "http://$1:8008/source" && echo "$1"
}

found=$(for host in "$@"; do ask "$host" & done; wait)
online=$(admin "SELECT hostname FROM runtime_mysql_servers WHERE hostgroup_id = 1 AND status = 'ONLINE'")
[ "$(echo "$found" | sort)" = "$(echo "$online" | sort)" ] && exit 0

wanted=
for host in $found; do wanted="$wanted${wanted:+, }'$host'"; done
admin "UPDATE mysql_servers SET status = CASE WHEN hostname IN ($wanted) THEN 'ONLINE' ELSE 'OFFLINE_HARD' END
       WHERE hostgroup_id = 1; LOAD MYSQL SERVERS TO RUNTIME"
