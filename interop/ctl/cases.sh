# Command lines for compare.sh, in an order that builds up a history.
# t: plain; i: with input; w: stopped after so many bytes.

# Nothing there yet.
t version
t version -w json
t get nothing
t get nothing -w json
t get nothing -w fields
t del nothing
t lease list
t alarm list
t alarm list -w json
t alarm disarm
t alarm disarm -w fields
t endpoint hashkv

# put and get in every format.
t put a 1
t put a 2 --prev-kv
t put a 3 --prev-kv -w json
t put a 4 --prev-kv -w fields
t put a 5 -w protobuf
t put a 6 -w table
t put b -- -dashed
t put -- -key value
i 'from input' put c
i '' put c
t put c
t put
t put a --ignore-value
t put a x --ignore-value
t put nokey --ignore-value
t put a x --ignore-lease
t put nokey x --ignore-lease
t put '' x
t put quoted "$(printf 'tab\t "quote" back\\slash \x01 \xff ü 日本 \u200b')"
t get quoted
t get quoted -w fields
t get quoted -w json
t get quoted --hex
t get a
t get a -w json
t get a -w fields
t get a -w protobuf
t get a -w table
t get a -w nosuch
t get a --hex
t get a --hex -w json
t get a --hex -w fields
t get a b
t get a b c
t get
t get ''
t get '' --prefix
t get '' --from-key
t get '' --prefix --keys-only
t get a --prefix --from-key
t get a b --prefix
t get a --keys-only --count-only
t get a --count-only
t get a --prefix --count-only -w fields
t get '' --prefix --limit 2
t get '' --prefix --limit 2 -w json
t get '' --prefix --limit 2 -w fields
t get '' --prefix --order DESCEND
t get '' --prefix --order descend --sort-by create
t get '' --prefix --sort-by MODIFY --order ASCEND
t get '' --prefix --sort-by VALUE
t get '' --prefix --sort-by VERSION --order DESCEND
t get a --order up
t get a --sort-by size
t get a --consistency s
t get a --consistency x
t get a --rev 2
t get a --rev 2 -w json
t get a --rev 1000
t get a --rev x
t get '' --prefix --min-create-rev 8
t get '' --prefix --max-create-rev 4
t get '' --prefix --min-mod-rev 8 --max-mod-rev 9
t get '' --prefix --min-mod-rev 9 --max-mod-rev 8
t get '' --prefix --min-create-rev 9 --max-create-rev 8
t get a --print-value-only
t get a --print-value-only -w json
t get --stream '' --prefix
t get --stream a -w json
t get a --limit=0x1
t get a --bogus
t get a -x
t get a --limit
t ge a
t g a
t nosuch
t get -wjson a
t -w=json get a
t get a --hex=false
t get a --hex=maybe
t get a --command-timeout 1x
t get a --command-timeout 1ns

# The hash covers lease ids, which differ: compared before there are any.
t endpoint hashkv
t endpoint hashkv -w json
t endpoint hashkv -w fields
t endpoint hashkv -w table

# Help.
t
t --help
t help
t help get
t get --help
t put --help
t del --help
t txn -h
t watch --help
t lease
t lease --help
t lease nosuch
t lease grant --help
t lease keep-alive --help
t lease timetolive --help
t lease revoke --help
t lease list --help
t compaction --help
t lock --help
t elect --help
t endpoint
t endpoint status --help
t endpoint health --help
t endpoint hashkv --help
t member
t member list --help
t alarm
t alarm list --help
t defrag --help
t version --help
t options

# Transactions.
i 'mod("a") > "0"\n\nput t 1\nget a\ndel nothing\n\n\n' txn
i 'mod("a") > "0"\n\nput t 1\nget a\ndel nothing\n\n\n' txn -w json
i 'mod("a") > "0"\n\nput t 1\nget a\ndel nothing\n\n\n' txn -w fields
i 'mod("a") > "0"\n\nput t 1\nget a\ndel nothing\n\n\n' txn -w protobuf
i 'mod("a") > "0"\n\nput t 1\n\n\n' txn -w table
i 'mod("a") > "0"\n\nput t 1\n\n\n' txn -i
i 'val("a") = "no"\nver("a") = "1"\n\n\nget a\nput t "two words"\n\n' txn
i "create(\"a\") < \"100\"\nvalue(\"nothing\") != \"x\"\n\n\nput t 'single quoted'\nget t --hex\n\n" txn
i 'version("nothing") = "0"\nm("a") != "3"\nc("a") > "1"\n\nget a b\ndel t --prev-kv\n\n\n' txn
i '\nput "k\\x41\\n" v --prev-kv\nget "kA" --prefix\n\n\n' txn -w json
i '\n\n\n' txn
i '\n\n\n' txn -w json
i 'mod("a") > "0"\n\nput t 1\n' txn
i 'bogus("a") > "0"\n\n\n\n' txn
i 'mod(a) > "0"\n\n\n\n' txn
i 'mod("a") > "x"\n\n\n\n' txn
i 'mod "a" > 0\n\n\n\n' txn
i '\nbogus a\n\n\n' txn
i '\nput\n\n\n' txn
i '\nput a b --bogus\n\n\n' txn
i '\nput d 1\nput d 2\n\n\n' txn
i '\n' txn extra

# Leases.
grant
t lease list
t lease list -w json
t lease list -w fields
t lease list -w protobuf
t put leased 1 --lease "$lease"
t put leased 2 --lease="$lease" --prev-kv -w json
t get leased -w json
t get leased -w fields --hex
t put leased 3 --ignore-lease
t lease timetolive "$lease"
t lease timetolive "$lease" --keys
t lease timetolive "$lease" --keys -w json
t lease timetolive "$lease" --keys -w fields --hex
t lease timetolive 1234
t lease timetolive 1234 -w json
t lease timetolive zz
t lease timetolive
t lease keep-alive --once "$lease"
t lease keep-alive --once "$lease" -w json
t lease keep-alive --once "$lease" -w fields
t lease keep-alive --once 1234
t lease keep-alive 1234
t lease keep-alive 1234 -w json
w 1 KILL lease keep-alive "$lease"
t lease grant
t lease grant x
t lease grant 9000000001
t lease grant -5
t put a 1 --lease 1234
t put a 1 --lease xyz
t lease revoke "$lease"
t lease revoke "$lease"
t lease revoke zz
t get leased
grant
t lease revoke "$lease" -w json
grant
t lease revoke "$lease" -w protobuf
grant
t lease revoke "$lease" -w fields

# Watches over the history so far.
w 40 KILL watch a --rev 1
w 40 KILL watch a --rev 1 --prev-kv
w 300 KILL watch a --rev 1 --prev-kv -w json
w 300 KILL watch a --rev 1 -w fields
w 100 KILL watch a --rev 1 -w protobuf
w 60 KILL watch '' --prefix --rev 1 --prev-kv
w 20 KILL watch a c --rev 3
w 200 KILL watch leased --rev 1 -w json
w 20 KILL watch a --rev 6 -- sh -c 'echo "$ETCD_WATCH_EVENT_TYPE $ETCD_WATCH_KEY $ETCD_WATCH_VALUE"'
t watch a --rev 6 -- sh -c 'exit 7'
t watch a --rev 6 -- nosuchcommand
t watch
t watch a --
t watch a b --prefix
t watch a --rev x
i 'watch\n' watch -i
i 'nonsense\n' watch -i
i 'watch a --\n' watch -i

# Compaction.
t compaction
t compaction x
t compaction 1000
t compaction 5
t compaction 5
t compaction 4 -w json
t compaction 6 --physical
t get a --rev 4
t watch a --rev 2
t watch a --rev 2 -w json
t watch a --rev 2 -w fields
t watch a --rev 2 -w protobuf
t endpoint hashkv --rev 2
t endpoint hashkv -w protobuf

# Deletes.
t put d1 x
t put d2 x
t put d3 x
t put e1 x
t del d1
t del d1 -w json
t del d2 d3 --range --prev-kv
t del d --prefix --prev-kv -w json
t del e1 --prev-kv -w fields
t del a b c
t del
t del a --prefix --from-key
t del a b --prefix
t del c --from-key
t del '' --prefix

# Locks and elections.
t lock l echo held
t lock l -- sh -c 'echo "$ETCD_LOCK_REV"; exit 5'
t lock l nosuchcommand
t lock
w 5 INT elect e proposal
t elect e
t elect
t elect e p -l

# The cluster.
t member list
t member list -w json
t member list -w fields
t member list -w table
t member list -w protobuf
t member list --hex
t member list --hex -w json
t member list --hex -w fields
t member list --consistency s
t member list --consistency x
t memb li
t endpoint health
t endpoint health -w json
t endpoint health -w fields
t endpoint health -w table
t endpoint health --cluster
t endpoint health --endpoints 127.0.0.1:1 --command-timeout 300ms
t endpoint health --endpoints 127.0.0.1:1 --command-timeout 300ms -w protobuf
t endpoint status
t endpoint status -w json
t endpoint status -w fields
t endpoint status -w table
t endpoint status --cluster
t endpoint status --endpoints 127.0.0.1:1 --command-timeout 300ms
t endpoint status -w protobuf
t defrag
t defrag --cluster
t alarm list x
t alarm list -w table
t get a --endpoints http://127.0.0.1:$client
ETCDCTL_WRITE_OUT=json t get a
ETCDCTL_ENDPOINTS=127.0.0.1:1 t get a
ETCDCTL_API=3 t get a
ETCDCTL_WATCH_KEY=a t watch b
ETCDCTL_WATCH_RANGE_END=a t watch b
