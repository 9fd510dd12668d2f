# Copyright: (c) 2026, dbre.semisync contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What tc and ip printed on a test host of kind uml: Linux 6.1, iproute2 7.3 where nothing else is
said.

Qdiscs are of `tc -json qdisc show`, filters of `tc filter show dev vec0 egress` and so on. Blanks
at the ends of lines are gone, and tabs are blanks.
"""

from __future__ import annotations

# A new network namespace.
NO_QDISC = r"""[]
"""

# A namespace with a veth pair that is up.
NOQUEUE = r"""[{"kind":"noqueue","handle":"0:","dev":"lo","root":true,"refcnt":2,"options":{}},
 {"kind":"noqueue","handle":"0:","dev":"v1","root":true,"refcnt":2,"options":{}},
 {"kind":"noqueue","handle":"0:","dev":"v0","root":true,"refcnt":2,"options":{}}]
"""

# A test host as it boots.
PFIFO_FAST = r"""[{"kind":"noqueue","handle":"0:","dev":"lo","root":true,"refcnt":2,"options":{}},
 {"kind":"pfifo_fast","handle":"0:","dev":"vec0","root":true,"refcnt":2,"options":{"bands":3,"priomap":[1,2,2,2,1,
  2,0,0,1,1,1,1,1,1,1,1],"multiqueue":false}}]
"""

# The same with a device of two queues, net.core.default_qdisc = fq_codel.
MQ_FQ_CODEL = r"""[{"kind":"noqueue","handle":"0:","dev":"lo","root":true,"refcnt":2,"options":{}},
 {"kind":"pfifo_fast","handle":"0:","dev":"vec0","root":true,"refcnt":2,"options":{"bands":3,"priomap":[1,2,2,2,1,
  2,0,0,1,1,1,1,1,1,1,1],"multiqueue":false}},
 {"kind":"mq","handle":"0:","dev":"eth9","root":true,"options":{}},
 {"kind":"fq_codel","handle":"0:","dev":"eth9","parent":":2","options":{"limit":10240,"flows":1024,"quantum":1514,
  "target":4999,"interval":99999,"memory_limit":33554432,"ecn":true,"drop_batch":64}},
 {"kind":"fq_codel","handle":"0:","dev":"eth9","parent":":1","options":{"limit":10240,"flows":1024,"quantum":1514,
  "target":4999,"interval":99999,"memory_limit":33554432,"ecn":true,"drop_batch":64}}]
"""

# tc qdisc add dev vec0 root handle 1: htb default 10, a class, fq_codel under it.
ADMIN_HTB = r"""[{"kind":"noqueue","handle":"0:","dev":"lo","root":true,"refcnt":2,"options":{}},
 {"kind":"htb","handle":"1:","dev":"vec0","root":true,"refcnt":2,"options":{"r2q":10,"default":"0x10",
  "direct_packets_stat":0,"direct_qlen":1000}},
 {"kind":"fq_codel","handle":"10:","dev":"vec0","parent":"1:10","options":{"limit":10240,"flows":1024,
  "quantum":1514,"target":4999,"interval":99999,"memory_limit":33554432,"ecn":true,"drop_batch":64}}]
"""

# An administrator's clsact with filters on both sides.
ADMIN_CLSACT = r"""[{"kind":"noqueue","handle":"0:","dev":"lo","root":true,"refcnt":2,"options":{}},
 {"kind":"pfifo_fast","handle":"0:","dev":"vec0","root":true,"refcnt":2,"options":{"bands":3,"priomap":[1,2,2,2,1,
  2,0,0,1,1,1,1,1,1,1,1],"multiqueue":false}},
 {"kind":"clsact","handle":"ffff:","dev":"vec0","parent":"ffff:fff1","options":{}}]
"""

ADMIN_CLSACT_EGRESS = r"""filter protocol ip pref 5 u32 chain 0
filter protocol ip pref 5 u32 chain 0 fh 800: ht divisor 1
filter protocol ip pref 5 u32 chain 0 fh 800::800 order 2048 key ht 800 bkt 0 terminal flowid not_in_hw
  match c0000200/ffffff00 at 16
        action order 1: gact action drop
         random type none pass val 0
         index 2 ref 1 bind 1

filter protocol all pref 7 matchall chain 0
filter protocol all pref 7 matchall chain 0 handle 0x1
  not_in_hw
        action order 1: gact action continue
         random type none pass val 0
         index 3 ref 1 bind 1
"""

ADMIN_CLSACT_INGRESS = r"""filter protocol ip pref 1 flower chain 0
filter protocol ip pref 1 flower chain 0 handle 0x1
  eth_type ipv4
  ip_proto tcp
  dst_port 9999
  not_in_hw
        action order 1: gact action drop
         random type none pass val 0
         index 1 ref 1 bind 1
"""

# The same with a filter that has our preference and handle, but another device.
ADMIN_SAME_PREF = r"""[{"kind":"noqueue","handle":"0:","dev":"lo","root":true,"refcnt":2,"options":{}},
 {"kind":"pfifo_fast","handle":"0:","dev":"vec0","root":true,"refcnt":2,"options":{"bands":3,"priomap":[1,2,2,2,1,
  2,0,0,1,1,1,1,1,1,1,1],"multiqueue":false}},
 {"kind":"clsact","handle":"ffff:","dev":"vec0","parent":"ffff:fff1","options":{}}]
"""

ADMIN_SAME_PREF_EGRESS = r"""filter protocol ip pref 5 u32 chain 0
filter protocol ip pref 5 u32 chain 0 fh 800: ht divisor 1
filter protocol ip pref 5 u32 chain 0 fh 800::800 order 2048 key ht 800 bkt 0 terminal flowid not_in_hw
  match c0000200/ffffff00 at 16
        action order 1: gact action drop
         random type none pass val 0
         index 2 ref 1 bind 1

filter protocol all pref 7 matchall chain 0
filter protocol all pref 7 matchall chain 0 handle 0x1
  not_in_hw
        action order 1: gact action continue
         random type none pass val 0
         index 3 ref 1 bind 1

filter protocol ip pref 49500 flower chain 0
filter protocol ip pref 49500 flower chain 0 handle 0x5e51
  eth_type ipv4
  dst_ip 192.0.2.77
  not_in_hw
        action order 1: mirred (Egress Redirect to device other) stolen
        index 1 ref 1 bind 1
"""

# An ingress qdisc, which excludes clsact.
ADMIN_INGRESS = r"""[{"kind":"noqueue","handle":"0:","dev":"lo","root":true,"refcnt":2,"options":{}},
 {"kind":"pfifo_fast","handle":"0:","dev":"vec0","root":true,"refcnt":2,"options":{"bands":3,"priomap":[1,2,2,2,1,
  2,0,0,1,1,1,1,1,1,1,1],"multiqueue":false}},
 {"kind":"ingress","handle":"ffff:","dev":"vec0","parent":"ffff:fff1","options":{}}]
"""

# Ours: netem limit 5000 delay 1234.567ms 5.5ms loss 0.1234% rate 100mbit, one IPv4 and one IPv6
# peer.
OURS = r"""[{"kind":"noqueue","handle":"0:","dev":"lo","root":true,"refcnt":2,"options":{}},
 {"kind":"pfifo_fast","handle":"0:","dev":"vec0","root":true,"refcnt":2,"options":{"bands":3,"priomap":[1,2,2,2,1,
  2,0,0,1,1,1,1,1,1,1,1],"multiqueue":false}},
 {"kind":"clsact","handle":"ffff:","dev":"vec0","parent":"ffff:fff1","options":{}},
 {"kind":"netem","handle":"8001:","dev":"semisync-nm0","root":true,"refcnt":2,"options":{"limit":5000,
  "delay":{"delay":1.23457,"jitter":0.0055,"correlation":0},"loss-random":{"loss":0.001234,"correlation":0},
  "rate":{"rate":12500000,"packetoverhead":0,"cellsize":0,"celloverhead":0},"ecn":false,"gap":0}}]
"""

OURS_EGRESS = r"""filter protocol ip pref 49500 flower chain 0
filter protocol ip pref 49500 flower chain 0 handle 0x5e51
  eth_type ipv4
  dst_ip 10.99.0.11
  not_in_hw
        action order 1: mirred (Egress Redirect to device semisync-nm0) stolen
        index 1 ref 1 bind 1

filter protocol ipv6 pref 49501 flower chain 0
filter protocol ipv6 pref 49501 flower chain 0 handle 0x5e51
  eth_type ipv6
  dst_ip fd99::11
  not_in_hw
        action order 1: mirred (Egress Redirect to device semisync-nm0) stolen
        index 2 ref 1 bind 1
"""

# The same, by iproute2 5.9 (Debian 11).
OURS_5_9 = r"""[{"kind":"noqueue","handle":"0:","dev":"lo","root":true,"refcnt":2,"options":{}},
 {"kind":"pfifo_fast","handle":"0:","dev":"vec0","root":true,"refcnt":2,"options":{"bands":3,"priomap":[1,2,2,2,1,
  2,0,0,1,1,1,1,1,1,1,1],"multiqueue":false}},
 {"kind":"clsact","handle":"ffff:","dev":"vec0","parent":"ffff:fff1","options":{}},
 {"kind":"netem","handle":"8001:","dev":"semisync-nm0","root":true,"refcnt":2,"options":{"limit":5000,
  "delay":{"delay":1.23457,"jitter":0.005499,"correlation":0},"loss-random":{"loss":0.001234,"correlation":0},
  "rate":{"rate":12500000,"packetoverhead":0,"cellsize":0,"celloverhead":0},"ecn":false,"gap":0}}]
"""

# ip -json -details link show dev semisync-nm0
OURS_LINK = r"""[{"ifindex":7,"ifname":"semisync-nm0","flags":["BROADCAST","NOARP","UP","LOWER_UP"],"mtu":1500,
  "qdisc":"netem","operstate":"UNKNOWN","linkmode":"DEFAULT","group":"default","txqlen":32,"link_type":"ether",
  "address":"22:9c:a8:3a:78:b8","broadcast":"ff:ff:ff:ff:ff:ff","promiscuity":0,"allmulti":0,"min_mtu":0,
  "max_mtu":0,"linkinfo":{"info_kind":"ifb"},"inet6_addr_gen_mode":"eui64","num_tx_queues":1,"gso_max_size":65536,
  "gso_max_segs":65535,"tso_max_size":65536,"tso_max_segs":65535,"gro_max_size":65536,
  "ifalias":"dbre.semisync netem; clsact is ours on: vec0"}]
"""

# The same filters after `ip link del semisync-nm0`: what they redirect is dropped.
ORPHANS_EGRESS = r"""filter protocol ip pref 49500 flower chain 0
filter protocol ip pref 49500 flower chain 0 handle 0x5e51
  eth_type ipv4
  dst_ip 10.99.0.11
  not_in_hw
        action order 1: mirred (Egress Redirect to device *) stolen
        index 1 ref 1 bind 1

filter protocol ipv6 pref 49501 flower chain 0
filter protocol ipv6 pref 49501 flower chain 0 handle 0x5e51
  eth_type ipv6
  dst_ip fd99::11
  not_in_hw
        action order 1: mirred (Egress Redirect to device *) stolen
        index 2 ref 1 bind 1
"""

# Ours, the way "root", for one IPv4 and one IPv6 peer.
TREE = r"""[{"kind":"noqueue","handle":"0:","dev":"lo","root":true,"refcnt":2,"options":{}},
 {"kind":"htb","handle":"5e51:","dev":"vec0","root":true,"refcnt":2,"options":{"r2q":10,"default":"0",
  "direct_packets_stat":2,"direct_qlen":1000}},
 {"kind":"netem","handle":"5e52:","dev":"vec0","parent":"5e51:10","options":{"limit":112500,"delay":{"delay":0.09,
  "jitter":0,"correlation":0},"ecn":false,"gap":0}}]
"""

# tc filter show dev vec0 parent 5e51:
TREE_FILTERS = r"""filter protocol ip pref 49500 u32 chain 0
filter protocol ip pref 49500 u32 chain 0 fh 800: ht divisor 1
filter protocol ip pref 49500 u32 chain 0 fh 800::800 order 2048 key ht 800 bkt 0 flowid 5e51:10 not_in_hw
  match 0a63000c/ffffffff at 16
filter protocol ipv6 pref 49501 u32 chain 0
filter protocol ipv6 pref 49501 u32 chain 0 fh 801: ht divisor 1
filter protocol ipv6 pref 49501 u32 chain 0 fh 801::800 order 2048 key ht 801 bkt 0 flowid 5e51:10 not_in_hw
  match fd990000/ffffffff at 24
  match 00000000/ffffffff at 28
  match 00000000/ffffffff at 32
  match 00000012/ffffffff at 36
"""

# The same, by iproute2 6.1 (Debian 12).
TREE_FILTERS_6_1 = r"""filter protocol ip pref 49500 u32 chain 0
filter protocol ip pref 49500 u32 chain 0 fh 800: ht divisor 1
filter protocol ip pref 49500 u32 chain 0 fh 800::800 order 2048 key ht 800 bkt 0 *flowid 5e51:10 not_in_hw
  match 0a63000c/ffffffff at 16
filter protocol ipv6 pref 49501 u32 chain 0
filter protocol ipv6 pref 49501 u32 chain 0 fh 801: ht divisor 1
filter protocol ipv6 pref 49501 u32 chain 0 fh 801::800 order 2048 key ht 801 bkt 0 *flowid 5e51:10 not_in_hw
  match fd990000/ffffffff at 24
  match 00000000/ffffffff at 28
  match 00000000/ffffffff at 32
  match 00000012/ffffffff at 36
"""

# How `tc -json filter show` begins for the same, by iproute2 5.9: no JSON.
TREE_FILTERS_JSON_5_9 = r"""[{"protocol":"ip","pref":49500,"kind":"u32","chain":0},
 {"protocol":"ip","pref":49500,"kind":"u32","chain":0,"options":{fh 800: ht divisor 1 }}]
"""
