"""An etcd of real processes, and the members of a watch on it, over loopback only."""

import json
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.request

from rollcall_process import Rollcall, eventually


def free_ports(count):
    """So many ports that nobody listens at now."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


class Etcd:
    """The members of one etcd; each may be killed, stopped and started anew."""

    def __init__(self, case, members=3, more=()):
        assert shutil.which("etcd"), "etcd is missing: install etcd-server"
        self.directory = case.directory
        self.more = list(more)
        ports = free_ports(2 * members)
        self.clients = [f"http://127.0.0.1:{port}" for port in ports[:members]]
        self.peers = [f"http://127.0.0.1:{port}" for port in ports[members:]]
        self.processes = [None] * members
        case.addCleanup(self.close)
        for number in range(members):
            self.start(number)
        eventually(lambda: all(self.is_well(n) for n in range(members)), 20, "etcd is well")

    def start(self, number):
        """Starts a member, with what it has on its disk."""
        cluster = ",".join(f"e{n}={url}" for n, url in enumerate(self.peers))
        with open(os.path.join(self.directory, f"etcd{number}.log"), "ab") as log:
            self.processes[number] = subprocess.Popen(
                ["etcd", "--name", f"e{number}", "--data-dir", self.data(number),
                 "--listen-client-urls", self.clients[number],
                 "--advertise-client-urls", self.clients[number],
                 "--listen-peer-urls", self.peers[number],
                 "--initial-advertise-peer-urls", self.peers[number],
                 "--initial-cluster", cluster, "--initial-cluster-state", "new",
                 "--heartbeat-interval", "50", "--election-timeout", "500", *self.more],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)

    def data(self, number):
        return os.path.join(self.directory, f"etcd{number}")

    def is_well(self, number):
        try:
            with urllib.request.urlopen(self.clients[number] + "/health", timeout=1) as answer:
                return json.load(answer).get("health") in ("true", True)
        except OSError:
            return False

    def leader(self):
        """The number of the member that leads; None if none says so."""
        for number, url in enumerate(self.clients):
            try:
                request = urllib.request.Request(
                    url + "/v3/maintenance/status", data=b"{}",
                    headers={"Content-Type": "application/json"})
                with urllib.request.urlopen(request, timeout=1) as answer:
                    status = json.load(answer)
            except OSError:
                continue
            if status["leader"] == status["header"]["member_id"]:
                return number
        return None

    def signal(self, number, what):
        self.processes[number].send_signal(what)

    def kill(self, number):
        """Ends a member as a machine does that loses its power."""
        self.processes[number].kill()
        self.processes[number].wait(timeout=10)

    def close(self):
        for process in self.processes:
            if process and process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
                process.wait(timeout=10)


class Members:
    """The members of a watch, each with a store of its own."""

    def __init__(self, case, etcd, names="abc", settings="", silence="1s", prefix="/watch"):
        self.case = case
        self.names = list(names)
        ports = free_ports(len(self.names))
        self.all = {}
        for name, port in zip(self.names, ports):
            endpoints = ", ".join(f'"{url}"' for url in etcd.clients)
            config = settings + f"""
cluster:
  member: {name}
  address: http://127.0.0.1:{port}
  silence: {silence}
  log: {{etcd: {{endpoints: [{endpoints}], prefix: {prefix}}}}}
"""
            self.all[name] = Rollcall(
                case.directory, config, name=name, address=f"127.0.0.1:{port}")
        case.addCleanup(self.close)

    def __getitem__(self, name):
        return self.all[name]

    def start(self, *names):
        for name in names or self.names:
            self.all[name].start()

    def standing(self, name):
        """What a member says of itself; None if it does not answer."""
        try:
            url = f"http://{self.all[name].address}/v1/cluster"
            with urllib.request.urlopen(url, timeout=2) as answer:
                return json.load(answer)
        except OSError:
            return None

    def leader(self, seconds=15):
        """The name of the one that leads and takes writes."""
        def leads():
            found = [name for name in self.names if self._leads(name)]
            return found[0] if len(found) == 1 else None
        return eventually(leads, seconds, "one member leads", every=0.02)

    def _leads(self, name):
        try:
            url = f"http://{self.all[name].address}/-/leader"
            with urllib.request.urlopen(url, timeout=1) as answer:
                return answer.status == 200
        except OSError:
            return False

    def settled(self, *names, seconds=20):
        """Waits until these hold all of the log, at one position."""
        def same():
            found = [self.standing(name) for name in names or self.names]
            if not all(one and one["confirmed"] for one in found):
                return None
            places = {(one["log"], one["hash"]) for one in found}
            return found if len(places) == 1 else None
        return eventually(same, seconds, "the members hold the same")

    def close(self):
        for member in self.all.values():
            if member.process and member.process.poll() is None:
                member.process.send_signal(signal.SIGCONT)
                member.process.kill()
                member.process.wait(timeout=10)
