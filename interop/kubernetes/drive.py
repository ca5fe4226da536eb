#!/usr/bin/env python3
"""Drives an unmodified Kubernetes control plane on a store, and proves that the drive can fail.

    drive.py --kubernetes DIR --store "mainstay serve" [--mutant NAME] [--only SCENARIO ...]

With `--mutant` the store is made faulty on purpose and the drive must turn red:
    drop-event      a proxy drops one watch event in twenty
    ignore-compare  a proxy removes the compares of transactions
    lost-key        at the second restart the store comes back with the data of the first
"""

import argparse
import os
import shlex
import shutil
import signal
import sys
import tempfile
import time

import scenarios
from cluster import Cluster
from processes import Process, Store, free_port, wait_until

MUTANTS = {
    "drop-event": ["watches"],
    "ignore-compare": ["conflicts"],
    "lost-key": ["killed_store"],
}


class Drive(Cluster):
    """The control plane with its store, and the faults of mutants."""

    def __init__(self, options, folder):
        self.store = Store(shlex.split(options.store), folder)
        self.mutant = options.mutant
        self.proxy = None
        self.copy = os.path.join(folder, "data-copy")
        url = self.store.url
        if self.mutant in ("drop-event", "ignore-compare"):
            port = free_port()
            self.proxy = Process(
                "mutator",
                [options.mutator, f"127.0.0.1:{port}", f"127.0.0.1:{self.store.port}", self.mutant],
                folder,
            )
            url = f"http://127.0.0.1:{port}"
        super().__init__(options.kubernetes, url, folder)

    def start(self):
        self.store.start().ready()
        if self.proxy:
            self.proxy.start()
        self.start_apiserver()
        self.manager = self.start_manager("manager-1")
        self.start_scheduler()
        wait_until(
            "the default service account exists",
            lambda: self.api.get(f"{scenarios.NS}/serviceaccounts/default", raw=True).status == 200,
            60,
        )
        self.add_node("drive-node")
        if self.proxy:
            self.proxy.signal(signal.SIGUSR1)  # from here on it mutates

    def kill_store(self):
        self.store.kill()
        if self.mutant == "lost-key":
            if os.path.exists(self.copy):
                shutil.rmtree(self.store.data)
                shutil.copytree(self.copy, self.store.data)
            else:
                shutil.copytree(self.store.data, self.copy)
        self.store.start().ready()

    def stop_all(self):
        self.stop()
        if self.proxy:
            self.proxy.stop(2)
        return self.store.stop()


def run(options, folder):
    """Runs the scenarios; returns the number of failures."""
    drive = Drive(options, folder)
    passed, failed = 0, 0
    try:
        drive.start()
        for scenario in scenarios.ALL:
            name = scenario.__name__
            if options.only and name not in options.only:
                continue
            begin = time.monotonic()
            try:
                scenario(drive)
                passed += 1
                print(f"ok    {name} ({time.monotonic() - begin:.1f} s)", flush=True)
            except Exception as error:
                failed += 1
                kind = "" if isinstance(error, AssertionError) else f"{type(error).__name__}: "
                print(f"FAIL  {name}: {kind}{error}", flush=True)
    finally:
        status = drive.stop_all()
    if status not in (0, -15):
        failed += 1
        print(f"FAIL  the store ended with {status} on SIGTERM: see {drive.store.log}")
    print(f"{passed} passed, {failed} failed", flush=True)
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kubernetes", required=True, help="folder of the Kubernetes programs")
    parser.add_argument("--store", required=True, help="command of the store, without flags")
    parser.add_argument("--mutator", help="program that mutates calls, for two of the mutants")
    parser.add_argument("--mutant", choices=sorted(MUTANTS))
    parser.add_argument("--only", nargs="*", help="names of scenarios")
    parser.add_argument("--keep", action="store_true", help="keep the folder of logs")
    options = parser.parse_args()
    for program in ("kube-apiserver", "kube-controller-manager", "kube-scheduler"):
        path = os.path.join(options.kubernetes, program)
        if not os.access(path, os.X_OK):
            sys.exit(f"drive: {path} is missing: run interop/kubernetes/build")
    if shutil.which("openssl") is None:
        sys.exit("drive: openssl is missing: apt-get install openssl")
    if options.mutant and not options.only:
        options.only = MUTANTS[options.mutant]
    folder = tempfile.mkdtemp(prefix="kubernetes-drive-")
    failed = 1
    try:
        failed = run(options, folder)
    finally:
        if failed or options.keep:
            print(f"logs: {folder}")
        else:
            shutil.rmtree(folder)
    if options.mutant:
        print(f"mutant {options.mutant}: {'caught' if failed else 'NOT CAUGHT'}")
        sys.exit(0 if failed else 1)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
