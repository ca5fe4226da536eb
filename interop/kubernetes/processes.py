"""Processes of the drive: the store and the control plane. Each is ended by its own id."""

import os
import signal
import socket
import subprocess
import time
import urllib.request


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_until(what, condition, seconds=60.0):
    """Waits for a condition and fails with its name after a deadline."""
    deadline = time.monotonic() + seconds
    last = None
    while time.monotonic() < deadline:
        try:
            if value := condition():
                return value
        except Exception as error:  # the last reason goes into the failure
            last = error
        time.sleep(0.1)
    raise AssertionError(f"{what}: not within {seconds:.0f} s (last: {last})")


class Process:
    """A child with its log file."""

    def __init__(self, name, args, folder, env=None):
        self.name = name
        self.log = os.path.join(folder, f"{name}.log")
        self.args = args
        self.env = {**os.environ, **(env or {})}
        self.child = None

    def start(self):
        with open(self.log, "ab") as log:
            self.child = subprocess.Popen(
                self.args, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.env
            )
        return self

    def alive(self):
        return self.child is not None and self.child.poll() is None

    def signal(self, number):
        self.child.send_signal(number)

    def kill(self):
        if self.alive():
            self.child.send_signal(signal.SIGKILL)
            self.child.wait()

    def stop(self, seconds=15):
        if self.alive():
            self.child.send_signal(signal.SIGTERM)
            try:
                self.child.wait(seconds)
            except subprocess.TimeoutExpired:
                self.kill()
        return self.child.returncode if self.child else None


class Store(Process):
    """The store under test, with the flags that kubeadm gives etcd."""

    def __init__(self, command, folder):
        self.data = os.path.join(folder, "data")
        self.port, peer, metrics = free_port(), free_port(), free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.metrics_url = f"http://127.0.0.1:{metrics}"
        peer_url = f"http://127.0.0.1:{peer}"
        args = command + [
            "--name=node-1",
            f"--data-dir={self.data}",
            f"--listen-client-urls={self.url}",
            f"--advertise-client-urls={self.url}",
            f"--listen-peer-urls={peer_url}",
            f"--initial-advertise-peer-urls={peer_url}",
            f"--initial-cluster=node-1={peer_url}",
            "--snapshot-count=10000",
            f"--listen-metrics-urls={self.metrics_url}",
            "--feature-gates=InitialCorruptCheck=true",
            "--watch-progress-notify-interval=5s",
        ]
        super().__init__("store", args, folder)

    def ready(self):
        def probe():
            assert self.alive(), f"the store ended: see {self.log}"
            with urllib.request.urlopen(self.metrics_url + "/readyz", timeout=2) as answer:
                return answer.status == 200

        wait_until("the store answers /readyz", probe, 30)
        return self
