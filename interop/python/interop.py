"""Drives the Python client etcd3, unmodified, against the server that SERVER names."""

import os
import queue
import sys
import threading
import time
import traceback

import etcd3

from server import Server

EVENT_TIMEOUT = 20
CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


def same(what, got, wanted):
    if got != wanted:
        raise AssertionError(f"{what} is {got!r}, not {wanted!r}")


def empty(client):
    """This client has no call that deletes everything."""
    for _, meta in list(client.get_all()):
        client.delete(meta.key)


def event_text(event):
    kind = "put" if isinstance(event, etcd3.events.PutEvent) else "delete"
    return f"{kind} {event.key.decode()}={event.value.decode()}"


class Events:
    """Events of one watch, read by callback."""

    def __init__(self, client, prefix, **options):
        self.queue = queue.Queue()
        self.client = client
        self.watch = client.add_watch_prefix_callback(prefix, self.queue.put, **options)
        self.revision = 0

    def take(self, count):
        seen = []
        while len(seen) < count:
            answer = self.queue.get(timeout=EVENT_TIMEOUT)
            if isinstance(answer, Exception):
                raise answer
            for event in answer.events:
                seen.append(event_text(event))
                self.revision = event.mod_revision
        return seen


@check
def put_get_delete(server, client):
    client.put("a", "1")
    client.put("a", "2")
    value, meta = client.get("a")
    same("value", value, b"2")
    same("version", meta.version, 2)
    same("previous", client.put("a", "3", prev_kv=True).prev_kv.value, b"2")
    same("deleted", client.delete("a"), True)
    same("deleted again", client.delete("a"), False)
    same("gone", client.get("a"), (None, None))


@check
def prefixes_and_order(server, client):
    for i in range(5):
        client.put(f"p/{i}", str(9 - i))
    same("prefix", [v for v, _ in client.get_prefix("p/")], [b"9", b"8", b"7", b"6", b"5"])
    same("sorted", [m.key for _, m in client.get_prefix("p/", sort_order="ascend", sort_target="value")],
         [b"p/4", b"p/3", b"p/2", b"p/1", b"p/0"])
    same("range", len(list(client.get_range("p/1", "p/3"))), 2)
    same("all", len(list(client.get_all())), 5)
    same("deleted", client.delete_prefix("p/").deleted, 5)


@check
def transactions(server, client):
    created = client.transaction(
        compare=[client.transactions.version("a") == 0],
        success=[client.transactions.put("a", "new")],
        failure=[client.transactions.get("a")])
    same("created", created[0], True)
    again, answers = client.transaction(
        compare=[client.transactions.version("a") == 0],
        success=[client.transactions.put("a", "newer")],
        failure=[client.transactions.get("a")])
    same("again", again, False)
    same("present", answers[0][0][0], b"new")
    same("replace", client.replace("a", "new", "swapped"), True)
    same("replace stale", client.replace("a", "new", "lost"), False)
    same("value", client.get("a")[0], b"swapped")
    same("put if absent", client.put_if_not_exists("a", "no"), False)


@check
def compaction(server, client):
    client.put("a", "1")
    revision = client.put("a", "2").header.revision
    client.compact(revision, physical=True)
    try:
        client.compact(revision)
    except etcd3.exceptions.Etcd3Exception:
        return
    except Exception as error:  # etcd3 passes codes that it does not know
        same("code", error.code().name, "OUT_OF_RANGE")
        return
    raise AssertionError("a second compaction was accepted")


@check
def watch(server, client):
    events = Events(client, "w/")
    client.put("w/a", "1")
    client.put("x", "no")
    client.delete("w/a")
    same("events", events.take(2), ["put w/a=1", "delete w/a="])
    client.cancel_watch(events.watch)


@check
def watch_resumes_after_a_restart(server, client):
    events = Events(client, "w/")
    client.put("w/a", "1")
    same("before", events.take(1), ["put w/a=1"])
    server.stop()
    server.start()
    with server.client() as other:
        other.put("w/a", "2")
        other.put("w/b", "3")
        # This client leaves it to its user to go on from the last revision seen.
        resumed = Events(other, "w/", start_revision=events.revision + 1)
        same("missed", resumed.take(2), ["put w/a=2", "put w/b=3"])
        other.put("w/a", "4")
        same("live", resumed.take(1), ["put w/a=4"])


@check
def watch_with_previous_values(server, client):
    client.put("w/a", "1")
    events = Events(client, "w/", prev_kv=True)
    client.put("w/a", "2")
    answer = events.queue.get(timeout=EVENT_TIMEOUT)
    same("previous", answer.events[0].prev_value, b"1")


@check
def lease_revoke(server, client):
    lease = client.lease(600)
    client.put("l/a", "1", lease=lease)
    same("granted", lease.granted_ttl, 600)
    same("keys", list(lease.keys), [b"l/a"])
    lease.revoke()
    same("gone", client.get("l/a")[0], None)


@check
def lease_keep_alive(server, client):
    lease = client.lease(2)
    client.put("l/a", "1", lease=lease)
    for _ in range(5):
        time.sleep(1)
        same("renewed", [r.TTL for r in lease.refresh()], [2])
    same("kept", client.get("l/a")[0], b"1")


@check
def lease_ends(server, client):
    lease = client.lease(2)
    events = Events(client, "l/")
    client.put("l/a", "1", lease=lease)
    same("events", events.take(2), ["put l/a=1", "delete l/a="])


@check
def lease_after_a_restart(server, client):
    lease = client.lease(5)
    client.put("l/a", "1", lease=lease)
    server.kill()
    server.start()
    with server.client() as other:
        until = time.monotonic() + 7
        while time.monotonic() < until:
            same("renewed", [r.TTL for r in other.refresh_lease(lease.id)], [5])
            time.sleep(1)
        same("kept", other.get("l/a")[0], b"1")


@check
def lock_hand_over(server, client):
    order = []
    first = client.lock("lock", ttl=20)
    same("first", first.acquire(timeout=5), True)
    second_client = server.client()
    second = second_client.lock("lock", ttl=20)
    same("busy", second.acquire(timeout=1), False)

    def wait():
        order.append(second.acquire(timeout=20))

    waiter = threading.Thread(target=wait)
    waiter.start()
    first.release()
    waiter.join(timeout=30)
    same("handed over", order, [True])
    same("held", second.is_acquired(), True)
    second.release()
    second_client.close()


@check
def data_survive_a_kill(server, client):
    for i in range(20):
        client.put(f"d/{i:02}", "v")
    server.kill()
    server.start()
    with server.client() as other:
        same("keys", len(list(other.get_prefix("d/"))), 20)


@check
def status_and_members(server, client):
    status = client.status()
    same("version", status.version.split(".")[:2], ["3", "7"])
    same("size is known", status.db_size > 0, True)
    members = list(client.members)
    same("members", [m.name for m in members], ["interop"])
    same("leader", status.leader.id, members[0].id)
    same("alarms", list(client.list_alarms()), [])
    client.defragment()
    same("hash", isinstance(client.hash(), int), True)


def quiet_watch_threads(args):
    """A watch thread of this client that loses its connection tries a closed channel and says so."""
    if not isinstance(args.exc_value, ValueError):
        sys.__excepthook__(args.exc_type, args.exc_value, args.exc_traceback)


def main():
    threading.excepthook = quiet_watch_threads
    server = Server(os.environ["SERVER"])
    passed = failed = 0
    try:
        server.start()
        for function in CHECKS:
            try:
                with server.client() as client:
                    empty(client)
                    function(server, client)
                passed += 1
            except Exception:
                failed += 1
                print(f"FAIL {function.__name__}: {traceback.format_exc()}")
    finally:
        if server.process and server.process.poll() is None:
            server.stop()
        server.remove()
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


main()
