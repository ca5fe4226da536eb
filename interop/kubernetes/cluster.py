"""A control plane on one machine: API servers, controller managers, a scheduler, one fake node."""

import json
import os
import subprocess

from api import Api
from processes import Process, free_port, wait_until

TOKEN = "drive-token"


class Cluster:
    def __init__(self, programs, store_url, folder):
        self.programs, self.store_url, self.folder = programs, store_url, folder
        self.sa_key = os.path.join(folder, "sa.key")
        self.tokens = os.path.join(folder, "tokens.csv")
        subprocess.run(
            ["openssl", "genrsa", "-out", self.sa_key, "2048"], check=True, capture_output=True
        )
        with open(self.tokens, "w") as f:
            f.write(f'{TOKEN},admin,admin,"system:masters"\n')
        self.processes = []
        self.api = None
        self.port = None

    def program(self, name):
        return os.path.join(self.programs, name)

    def start_apiserver(self, name="apiserver", extra=()):
        port = free_port()
        certificates = os.path.join(self.folder, f"{name}-certs")
        process = Process(
            name,
            [
                self.program("kube-apiserver"),
                f"--etcd-servers={self.store_url}",
                f"--secure-port={port}",
                "--bind-address=127.0.0.1",
                "--advertise-address=192.0.2.1",
                f"--cert-dir={certificates}",
                f"--token-auth-file={self.tokens}",
                "--authorization-mode=RBAC",
                "--service-account-issuer=https://drive.test",
                f"--service-account-key-file={self.sa_key}",
                f"--service-account-signing-key-file={self.sa_key}",
                "--service-cluster-ip-range=10.96.0.0/16",
                "--watch-cache-sizes=configmaps#0",
                "--etcd-compaction-interval=15s",
                "--etcd-count-metric-poll-period=10s",
                "--event-ttl=40s",
                "--profiling=false",
                *extra,
            ],
            self.folder,
        ).start()
        self.processes.append(process)
        api = Api(port, TOKEN)

        def up():
            assert process.alive(), f"{name} ended: see {process.log}"
            return api.get("/readyz", raw=True).status == 200

        wait_until(f"{name} answers /readyz", up, 120)
        if self.api is None:
            self.api, self.port = api, port
        return process, api

    def kubeconfig(self, port):
        path = os.path.join(self.folder, f"kubeconfig-{port}")
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {
                    "name": "drive",
                    "cluster": {
                        "server": f"https://127.0.0.1:{port}",
                        "insecure-skip-tls-verify": True,
                    },
                }
            ],
            "users": [{"name": "admin", "user": {"token": TOKEN}}],
            "contexts": [{"name": "drive", "context": {"cluster": "drive", "user": "admin"}}],
            "current-context": "drive",
        }
        with open(path, "w") as f:
            json.dump(config, f)
        return path

    def start_manager(self, name):
        config = self.kubeconfig(self.port)
        process = Process(
            name,
            [
                self.program("kube-controller-manager"),
                f"--kubeconfig={config}",
                f"--authentication-kubeconfig={config}",
                f"--authorization-kubeconfig={config}",
                f"--secure-port={free_port()}",
                "--bind-address=127.0.0.1",
                f"--cert-dir={os.path.join(self.folder, name + '-certs')}",
                f"--service-account-private-key-file={self.sa_key}",
                "--leader-elect-lease-duration=6s",
                "--leader-elect-renew-deadline=4s",
                "--leader-elect-retry-period=1s",
                "--node-monitor-grace-period=600s",
            ],
            self.folder,
        ).start()
        self.processes.append(process)
        return process

    def start_scheduler(self):
        config = self.kubeconfig(self.port)
        process = Process(
            "scheduler",
            [
                self.program("kube-scheduler"),
                f"--kubeconfig={config}",
                f"--authentication-kubeconfig={config}",
                f"--authorization-kubeconfig={config}",
                f"--secure-port={free_port()}",
                "--bind-address=127.0.0.1",
                f"--cert-dir={os.path.join(self.folder, 'scheduler-certs')}",
                "--leader-elect=false",
            ],
            self.folder,
        ).start()
        self.processes.append(process)
        return process

    def add_node(self, name):
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
        self.api.create("/api/v1/nodes", node)

        def ready():
            node = self.api.read(f"/api/v1/nodes/{name}")
            size = {"cpu": "32", "memory": "64Gi", "pods": "200"}
            node["status"] = {
                "capacity": size,
                "allocatable": size,
                "conditions": [
                    {
                        "type": "Ready",
                        "status": "True",
                        "reason": "Drive",
                        "message": "a node of the drive",
                        "lastHeartbeatTime": "2026-01-01T00:00:00Z",
                        "lastTransitionTime": "2026-01-01T00:00:00Z",
                    }
                ],
            }
            return self.api.put(f"/api/v1/nodes/{name}/status", node).status == 200

        wait_until(f"node {name} is ready", ready)

    def stop(self):
        for process in reversed(self.processes):
            process.stop(3)
