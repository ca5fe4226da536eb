//! The long texts of help, as etcdctl prints them.

pub(super) const STATUS_LONG: &str = "When --write-out is set to simple, this command prints out \
comma-separated status lists for each endpoint.
The items in the lists are endpoint, ID, version, db size, is leader, is learner, raft term, \
raft index, raft applied index, errors.";

pub(super) const MEMBER_LIST_LONG: &str =
    "When --write-out is set to simple, this command prints out \
comma-separated member lists for each endpoint.
The items in the lists are ID, Status, Name, Peer Addrs, Client Addrs, Is Learner.";

pub(super) const PUT_LONG: &str = "
Puts the given key into the store.

When <value> begins with '-', <value> is interpreted as a flag.
Insert '--' for workaround:

$ put <key> -- <value>
$ put -- <key> <value>

If <value> isn't given as a command line argument and '--ignore-value' is not specified,
this command tries to read the value from standard input.

If <lease> isn't given as a command line argument and '--ignore-lease' is not specified,
this command tries to read the value from standard input.

For example,
$ cat file | put <key>
will store the content of the file to <key>.";

pub(super) const TXN_LONG: &str =
    "Txn reads multiple etcd requests from standard input and applies them \
as a single atomic transaction.

A transaction consists of three components:
1) a list of conditions,
2) a list of requests to apply if all the conditions are true,
3) a list of requests to apply if any condition is false.

Example interactive stdin usage:

---
etcdctl txn -i
# compares:
mod(\"key1\") > \"0\"

# success requests (get, put, delete):
put key1 \"overwrote-key1\"

# failure requests (get, put, delete):
put key1 \"created-key1\"
put key2 \"some extra key\"
---

Refer to https://github.com/etcd-io/etcd/blob/main/etcdctl/README.md#txn-options.";
