"""What the drive checks. Each scenario takes the cluster and fails with an AssertionError."""

import base64
import concurrent.futures
import random
import threading
import time

from api import Refused
from processes import wait_until

NS = "/api/v1/namespaces/default"
MAPS = f"{NS}/configmaps"
SECRETS = f"{NS}/secrets"


def config_map(name, value, labels=None):
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "labels": labels or {}},
        "data": {"value": str(value)},
    }


def secret(name, value):
    data = base64.b64encode(str(value).encode()).decode()
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name},
        "data": {"value": data},
    }


def revision(item):
    return int(item["metadata"]["resourceVersion"])


def many_creates(cluster):
    """500 ConfigMaps by 10 clients get distinct resource versions, and all are there."""
    api = cluster.api

    def work(client):
        return [
            revision(api.create(MAPS, config_map(f"many-{client}-{n}", n, {"set": "many"})))
            for n in range(50)
        ]

    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        revisions = [r for part in pool.map(work, range(10)) for r in part]
    assert len(set(revisions)) == 500, f"{500 - len(set(revisions))} doubled resource versions"
    found = api.read(f"{MAPS}?labelSelector=set%3Dmany")["items"]
    assert len(found) == 500, f"{len(found)} of 500 ConfigMaps are listed"


def conflicts(cluster):
    """12 parallel PUTs on one resource version: one is taken, eleven conflict."""
    api = cluster.api
    for kind, path, build in (("ConfigMap", MAPS, config_map), ("Secret", SECRETS, secret)):
        for round_number in range(5):
            name = f"conflict-{round_number}"
            item = api.create(path, build(name, "start"))
            barrier = threading.Barrier(12)

            def put(n, item=item, name=name, path=path, build=build, barrier=barrier):
                body = build(name, f"writer-{n}")
                body["metadata"]["resourceVersion"] = item["metadata"]["resourceVersion"]
                barrier.wait()
                return api.put(f"{path}/{name}", body).status

            with concurrent.futures.ThreadPoolExecutor(12) as pool:
                statuses = sorted(pool.map(put, range(12)))
            assert statuses == [200] + [409] * 11, f"{kind}: {statuses}"


def paging(cluster):
    """Pages read while clients write are exactly the snapshot of the first page."""
    api = cluster.api
    for n in range(60):
        api.create(MAPS, config_map(f"page-{n:03}", "old"))
    before = {item["metadata"]["name"]: item for item in api.read(MAPS)["items"]}
    stop = threading.Event()

    def write():
        n = 0
        while not stop.is_set():
            name = f"page-{n % 60:03}"
            if n % 3 == 0:
                api.delete(f"{MAPS}/{name}")
            elif n % 3 == 1:
                api.call("POST", MAPS, config_map(name, "new"))
            else:
                api.call("POST", MAPS, config_map(f"page-new-{n}", "new"))
            n += 1

    first = api.read(f"{MAPS}?limit=40")
    writer = threading.Thread(target=write)
    writer.start()
    try:
        items, page = list(first["items"]), first
        while page["metadata"].get("continue"):
            page = api.read(f"{MAPS}?limit=40&continue={page['metadata']['continue']}")
            assert page["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
            items += page["items"]
    finally:
        stop.set()
        writer.join()
    found = {item["metadata"]["name"]: item for item in items}
    assert len(items) == len(found), "a key stands on two pages"
    assert found == before, f"{len(set(found) ^ set(before))} keys differ from the snapshot"


def check_events(name, events, expected):
    """`expected` is the exact sequence of (type, object name, value)."""
    got = [
        (e["type"], e["object"]["metadata"]["name"], e["object"].get("data", {}).get("value"))
        for e in events
    ]
    assert got == expected, f"{name}: {first_difference(got, expected)}"
    revisions = [revision(e["object"]) for e in events]
    assert revisions == sorted(set(revisions)), f"{name}: revisions out of order or doubled"


def first_difference(got, expected):
    for n, (a, b) in enumerate(zip(got, expected)):
        if a != b:
            return f"event {n} is {a}, expected {b}"
    return f"{len(got)} events, expected {len(expected)}"


def watches(cluster):
    """8 watchers over 300 writes: nothing lost, doubled or out of order, and the last state of
    what was deleted comes with the deletion."""
    api = cluster.api
    for path, build in ((MAPS, config_map), (SECRETS, secret)):
        start = api.read(f"{path}?limit=1")["metadata"]["resourceVersion"]
        watchers = [api.watch(path).start(start) for _ in range(4)]
        expected = []
        for n in range(50):
            name = f"watched-{n}"
            value = build(name, n)["data"]["value"]
            item = api.create(path, build(name, n))
            expected.append(("ADDED", name, value))
            changed = build(name, f"{n}-changed")
            changed["metadata"]["resourceVersion"] = item["metadata"]["resourceVersion"]
            assert api.put(f"{path}/{name}", changed).status == 200
            expected.append(("MODIFIED", name, changed["data"]["value"]))
            assert api.delete(f"{path}/{name}").status == 200
            expected.append(("DELETED", name, changed["data"]["value"]))
        for n, watcher in enumerate(watchers):
            wait_until(
                f"watcher {n} of {path} has 150 events",
                lambda w=watcher: len(w.taken()) >= len(expected),
                20,
            )
            watcher.stop()
            check_events(f"watcher {n} of {path}", watcher.taken(), expected)
            assert not watcher.errors, watcher.errors[:2]


def watch_list(cluster):
    """A watch-list sends what exists and then its end bookmark."""
    api = cluster.api
    import json

    for path in (MAPS, SECRETS, "/apis/rbac.authorization.k8s.io/v1/clusterroles"):
        listed = {i["metadata"]["name"] for i in api.read(path)["items"]}
        connection = api.connect(30)
        url = (
            f"{path}?watch=1&sendInitialEvents=true&allowWatchBookmarks=true"
            "&resourceVersionMatch=NotOlderThan&resourceVersion="
        )
        connection.request("GET", url, headers=api.headers())
        answer = connection.getresponse()
        assert answer.status == 200, f"{path}: {answer.status} {answer.read()[:200]}"
        seen = set()
        while True:
            event = json.loads(answer.readline())
            if event["type"] == "BOOKMARK":
                notes = event["object"]["metadata"].get("annotations", {})
                assert notes.get("k8s.io/initial-events-end") == "true", notes
                break
            assert event["type"] == "ADDED", event["type"]
            seen.add(event["object"]["metadata"]["name"])
        connection.close()
        assert seen == listed, f"{path}: {len(seen ^ listed)} names differ"


def large_objects(cluster):
    """24 objects of 900 kB are stored and listed; one of 1.7 MB is refused."""
    api = cluster.api
    for n in range(24):
        api.create(MAPS, config_map(f"large-{n}", "x" * 900_000, {"set": "large"}))
    found = api.read(f"{MAPS}?labelSelector=set%3Dlarge")["items"]
    assert len(found) == 24, f"{len(found)} of 24"
    assert all(len(item["data"]["value"]) == 900_000 for item in found)
    answer = api.call("POST", MAPS, config_map("too-large", "x" * 1_700_000))
    assert answer.status >= 400, answer.status
    assert api.get(f"{MAPS}/too-large", raw=True).status == 404
    for n in range(24):
        assert api.delete(f"{MAPS}/large-{n}").status == 200


def deployment(name, replicas):
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "main", "image": "none/none"}]},
            },
        },
    }


def bound_pods(api, name):
    pods = api.read(f"{NS}/pods?labelSelector=app%3D{name}")["items"]
    return [p for p in pods if p["spec"].get("nodeName") and "deletionTimestamp" not in p["metadata"]]


def controllers(cluster):
    """Deployments become replica sets, and those pods that the scheduler binds."""
    api = cluster.api
    path = "/apis/apps/v1/namespaces/default/deployments"
    for name, replicas in (("web", 5), ("worker", 3)):
        api.create(path, deployment(name, replicas))
    for name, replicas in (("web", 5), ("worker", 3)):
        wait_until(
            f"{replicas} pods of {name} are bound",
            lambda n=name, r=replicas: len(bound_pods(api, n)) == r,
            90,
        )


def replaced_manager(cluster):
    """The leading controller manager is killed; the other one takes over and acts."""
    api = cluster.api
    lease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-controller-manager"
    path = "/apis/apps/v1/namespaces/default/deployments"
    second = cluster.start_manager("manager-2")
    old = api.read(lease)["spec"]["holderIdentity"]
    cluster.manager.kill()
    wait_until(
        "another controller manager leads",
        lambda: api.read(lease)["spec"]["holderIdentity"] not in ("", old),
        60,
    )
    assert second.alive()
    scaled = api.read(f"{path}/web")
    scaled["spec"]["replicas"] = 7
    assert api.put(f"{path}/web", scaled).status == 200
    wait_until("7 pods of web are bound", lambda: len(bound_pods(api, "web")) == 7, 90)


def custom_resources(cluster):
    """A custom resource is defined, written by server-side apply of two owners, and listed."""
    api = cluster.api
    group = "drive.test"
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"things.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "things", "singular": "thing", "kind": "Thing"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "x-kubernetes-preserve-unknown-fields": True,
                        }
                    },
                }
            ],
        },
    }
    api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
    path = f"/apis/{group}/v1/namespaces/default/things"
    wait_until("the custom resource is served", lambda: api.get(path, raw=True).status == 200)
    for owner in ("a", "b"):
        body = {
            "apiVersion": f"{group}/v1",
            "kind": "Thing",
            "metadata": {"name": "one"},
            "spec": {owner: f"by {owner}"},
        }
        answer = api.apply(f"{path}/one", body, owner)
        assert answer.status in (200, 201), answer.text()[:200]
    thing = api.read(f"{path}/one")
    assert thing["spec"] == {"a": "by a", "b": "by b"}, thing["spec"]
    assert len(api.read(path)["items"]) == 1


def compaction(cluster):
    """After the API server's compaction, old lists, pages and watches answer 410, and a fresh
    list works."""
    api = cluster.api
    old = api.read(f"{MAPS}?limit=1")
    old_revision, token = old["metadata"]["resourceVersion"], old["metadata"]["continue"]

    def gone():
        api.call("POST", MAPS, config_map(f"tick-{time.monotonic_ns()}", "x"))
        query = f"resourceVersion={old_revision}&resourceVersionMatch=Exact"
        return api.get(f"{MAPS}?{query}", raw=True).status == 410

    wait_until("a list at a compacted revision answers 410", gone, 60)
    assert api.get(f"{MAPS}?limit=1&continue={token}", raw=True).status == 410
    watcher = api.watch(MAPS).start(old_revision)
    wait_until("a watch from a compacted revision ends", lambda: watcher.errors, 20)
    assert watcher.errors[0][0] == 410, watcher.errors[0]
    assert len(api.read(MAPS)["items"]) >= 500


def start_event(cluster):
    """An event is written; `expired_event` looks for its end."""
    body = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "short-lived"},
        "involvedObject": {"kind": "Pod", "namespace": "default", "name": "none"},
        "reason": "Drive",
        "message": "gone soon",
    }
    cluster.api.create(f"{NS}/events", body)
    cluster.event_written = time.monotonic()


def expired_event(cluster):
    """The event is gone after its TTL of 40 s, and not before."""
    path = f"{NS}/events/short-lived"
    if time.monotonic() - cluster.event_written < 38:
        assert cluster.api.get(path, raw=True).status == 200, "the event expired early"
    left = 60 - (time.monotonic() - cluster.event_written)
    wait_until(
        "the event is gone", lambda: cluster.api.get(path, raw=True).status == 404, max(left, 1)
    )


class Writer(threading.Thread):
    """Writes until told to stop, and keeps what was acknowledged."""

    def __init__(self, api, number):
        super().__init__(daemon=True)
        self.api, self.number = api, number
        self.state = {}  # name -> value, or None for deleted; only acknowledged outcomes
        self.unknown = set()
        self.done = threading.Event()
        self.acknowledged = 0

    def run(self):
        dice = random.Random(self.number)
        n = 0
        while not self.done.is_set():
            n += 1
            name = f"kill-{self.number}-{dice.randrange(40)}"
            try:
                self.write(name, dice, n)
            except Exception:  # the outcome is unknown: the name is not judged
                self.unknown.add(name)
                time.sleep(0.05)

    def write(self, name, dice, n):
        current = self.state.get(name)
        if current is None:
            answer = self.api.call("POST", MAPS, config_map(name, n, {"set": "kill"}))
            expected, outcome = (201,), str(n)
        elif dice.random() < 0.25:
            answer = self.api.delete(f"{MAPS}/{name}")
            expected, outcome = (200,), None
        else:
            answer = self.api.put(f"{MAPS}/{name}", config_map(name, n, {"set": "kill"}))
            expected, outcome = (200,), str(n)
        if answer.status in expected:
            self.state[name] = outcome
            self.acknowledged += 1
        elif answer.status >= 500 or answer.status in (408, 429):
            self.unknown.add(name)
            time.sleep(0.05)
        elif name not in self.unknown:
            raise AssertionError(f"{name}: {answer.status} {answer.text()[:200]}")


def killed_store(cluster):
    """The store is killed twice under 8 writers: every acknowledged object, value and deletion is
    there afterwards, and open watches miss nothing."""
    api = cluster.api
    start = api.read(f"{MAPS}?limit=1")["metadata"]["resourceVersion"]
    watchers = [api.watch(f"{MAPS}?labelSelector=set%3Dkill").start(start) for _ in range(3)]
    writers = [Writer(api, n) for n in range(8)]
    for writer in writers:
        writer.start()
    for _ in range(2):
        floor = sum(w.acknowledged for w in writers)
        wait_until(
            "150 more writes are acknowledged",
            lambda: sum(w.acknowledged for w in writers) >= floor + 150,
            60,
        )
        cluster.kill_store()
    floor = sum(w.acknowledged for w in writers)
    wait_until(
        "writes go on after the second restart",
        lambda: sum(w.acknowledged for w in writers) >= floor + 100,
        60,
    )
    for writer in writers:
        writer.done.set()
    for writer in writers:
        writer.join(60)
    listed = api.read(f"{MAPS}?labelSelector=set%3Dkill")["items"]
    found = {item["metadata"]["name"]: item["data"]["value"] for item in listed}
    judged = 0
    for writer in writers:
        for name, value in writer.state.items():
            if name not in writer.unknown:
                judged += 1
                assert found.get(name) == value, f"{name} is {found.get(name)}, acknowledged {value}"
    assert judged >= 30, f"only {judged} names could be judged"
    for watcher in watchers:
        wait_until("a watch shows the final state", lambda w=watcher: replay(w) == found, 30)
        watcher.stop()
        revisions = [revision(e["object"]) for e in watcher.taken()]
        assert revisions == sorted(set(revisions)), "a watch is out of order or doubled"


def replay(watcher):
    """What the events of a watch amount to."""
    state = {}
    for event in watcher.taken():
        name = event["object"]["metadata"]["name"]
        if event["type"] == "DELETED":
            assert name in state, f"{name} is deleted but never was"
            del state[name]
        else:
            state[name] = event["object"]["data"]["value"]
    return state


def second_apiserver(cluster):
    """An API server without watch caches sees the same, and its watches deliver."""
    process, other = cluster.start_apiserver("apiserver-2", ["--watch-cache=false"])
    api = cluster.api
    for path in (MAPS, SECRETS, f"{NS}/pods"):
        names = lambda a, p=path: {i["metadata"]["name"] for i in a.read(p)["items"]}
        wait_until(f"both API servers list the same {path}", lambda n=names: n(api) == n(other), 20)
    start = other.read(f"{SECRETS}?limit=1")["metadata"]["resourceVersion"]
    watcher = other.watch(SECRETS).start(start)
    for n in range(20):
        api.create(SECRETS, secret(f"second-{n}", n))
    wait_until("20 events arrive", lambda: len(watcher.taken()) >= 20, 20)
    watcher.stop()
    names = [e["object"]["metadata"]["name"] for e in watcher.taken()]
    assert names == [f"second-{n}" for n in range(20)], names
    process.stop()


ALL = [
    start_event,
    many_creates,
    conflicts,
    paging,
    watches,
    watch_list,
    large_objects,
    controllers,
    replaced_manager,
    custom_resources,
    compaction,
    # Before the store is restarted: a restart gives every lease its full time again, as in etcd.
    expired_event,
    killed_store,
    second_apiserver,
]
