"""The server under test: a process on free loopback ports that keeps its data over a restart."""

import os
import shutil
import socket
import subprocess
import tempfile
import time

import etcd3

START_TIMEOUT = 30


def free_ports(count):
    """Ports that nobody listens on: all are held until all are chosen."""
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class Server:
    def __init__(self, command):
        self.words = command.split()
        self.folder = tempfile.mkdtemp(prefix="interop-python-")
        self.port, self.peer = free_ports(2)
        self.process = None

    def start(self):
        client, peer = (f"http://127.0.0.1:{p}" for p in (self.port, self.peer))
        with open(os.path.join(self.folder, "log"), "a") as log:
            self.process = subprocess.Popen(
                self.words + [
                    "--name=interop", f"--data-dir={self.folder}/data",
                    f"--listen-client-urls={client}", f"--advertise-client-urls={client}",
                    f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}",
                    f"--initial-cluster=interop={peer}",
                ], stdout=log, stderr=log)
        deadline = time.monotonic() + START_TIMEOUT
        while True:
            try:
                with self.client(timeout=2) as client:
                    client.get("k")
                return
            except etcd3.exceptions.Etcd3Exception:
                if time.monotonic() > deadline or self.process.poll() is not None:
                    raise RuntimeError("the server does not answer:\n" + self.log()) from None
                time.sleep(0.1)

    def client(self, timeout=10):
        return etcd3.client(host="127.0.0.1", port=self.port, timeout=timeout)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.terminate()
        self.process.wait()

    def log(self):
        with open(os.path.join(self.folder, "log")) as file:
            return file.read()[-2000:]

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)
