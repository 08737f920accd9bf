"""An etcd of real processes, and the members of a watch on it, over loopback only."""

import json
import os
import random
import shutil
import signal
import socket
import sqlite3
import subprocess
import threading
import time
import urllib.request
from http.client import HTTPException

from rollcall_process import Client, Rollcall, RollcallTestCase, eventually, now_ms, rfc3339, taken

# What the members hold alike, by the order of their rows.
TABLES = ("journal", "decisions", "turns")


# Those of this process: suites that run beside each other have each their own.
PORTS = range(*(int(port) for port in os.environ.get("ROLLCALL_PORTS", "10240-32768").split("-")))
given = set()


def free_ports(count):
    """So many ports that nobody listens at now, and that nobody here got before: a server that was killed finds its
    own free when it starts again. They are below those that the kernel gives to connections."""
    sockets = []
    try:
        for port in random.sample(PORTS, len(PORTS)):
            if port in given:
                continue
            one = socket.socket()
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                one.bind(("127.0.0.1", port))
            except OSError:
                one.close()
                continue
            sockets.append(one)
            given.add(port)
            if len(sockets) == count:
                return [one.getsockname()[1] for one in sockets]
        raise AssertionError(f"no {count} free ports")
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
        eventually(lambda: all(self.is_well(n) for n in range(members)), 60, "etcd is well")

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
            # Without a leader the field is not there.
            if status.get("leader") == status["header"]["member_id"]:
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


class Proxy:
    """A way to somebody else's port that can be cut, or made slow, while connections go through it.

    `mode` is `open`; `refused`: what comes is closed at once; `silent`: bytes are taken and go nowhere
    until it is open again, when the connections that saw that are closed; `late`: what a client
    sends arrives `lateness` seconds later."""

    def __init__(self, case, target):
        self.mode = "open"
        self.lateness = 3.0
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._is_over = False
        case.addCleanup(self.close)
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self._is_over = True
        self._listener.close()

    def _accept(self):
        while not self._is_over:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        if self.mode == "refused":
            return client.close()
        try:
            server = socket.create_connection(("127.0.0.1", self._target), timeout=5)
        except OSError:
            return client.close()
        server.settimeout(None)
        for one in (client, server):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=self._carry, args=(client, server, True), daemon=True).start()
        self._carry(server, client, False)

    def _carry(self, source, sink, is_request):
        try:
            while True:
                chunk = source.recv(65536)
                if not chunk or self._is_over:
                    break
                mode = self.mode
                if mode == "refused":
                    break
                if mode == "silent":
                    while self.mode == "silent" and not self._is_over:
                        time.sleep(0.02)
                    break
                if mode == "late" and is_request:
                    time.sleep(self.lateness)
                sink.sendall(chunk)
        except OSError:
            pass
        for one in (source, sink):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            one.close()


class Members:
    """The members of a watch, each with a store of its own."""

    def __init__(
            self, case, etcd, names="abc", settings="", silence="1s", prefix="/watch",
            endpoints=None, variables=None, cell=None, more=""):
        self.names = list(names)
        ports = free_ports(len(self.names))
        self.all = {}
        for name, port in zip(self.names, ports):
            clients = endpoints(name) if endpoints else etcd.clients
            listed = ", ".join(f'"{url}"' for url in clients)
            config = settings + f"""
cluster:
  member: {name}
  address: http://127.0.0.1:{port}
  silence: {silence}
  log: {{etcd: {{endpoints: [{listed}], prefix: {prefix}}}}}
""" + (f"  cell: {cell}\n" if cell else "") + more
            self.all[name] = Rollcall(
                case.directory, config, name=name, address=f"127.0.0.1:{port}",
                variables=variables(name) if variables else None)
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

    def leader(self, seconds=30):
        """The name of the one that leads and takes writes."""
        def leads():
            found = [name for name in self.names if self.leads(name)]
            return found[0] if len(found) == 1 else None
        return eventually(leads, seconds, "one member leads", every=0.02)

    def leads(self, name):
        """True if this one leads and takes writes."""
        try:
            url = f"http://{self.all[name].address}/-/leader"
            with urllib.request.urlopen(url, timeout=1) as answer:
                return answer.status == 200
        except OSError:
            return False

    def write(self, target, body, seconds=20):
        """A POST to whoever leads that must be taken, sent again where a client would: on a 503,
        and to the next one where nobody answers. Its answer's JSON."""
        def send():
            try:
                return self.all[self.leader()].post(target, body)
            except (OSError, HTTPException):
                return None
        return taken(send, f"POST {target}", seconds=seconds).json()

    def settled(self, *names, seconds=40):
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


def batch(responder_id, region="north"):
    return {"responder_id": responder_id, "region": region, "received_at": rfc3339(now_ms())}


class Backend:
    """Sends one new person after the other to whoever takes writes, and notes who was taken."""

    def __init__(self, case, members, every=0.01, prefix="p"):
        self.prefix = prefix
        self.taken = []
        self.times = []
        self._members = members
        self._every = every
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        case.addCleanup(self.end)

    def start(self):
        self._thread.start()
        return self

    def end(self):
        self._end.set()
        if self._thread.ident is not None:
            self._thread.join(20)

    def longest_gap(self, since):
        """The longest time without an acknowledgement from then on, in seconds."""
        times = [moment for moment in self.times if moment >= since - 0.1] + [time.monotonic()]
        return max((b - a for a, b in zip(times, times[1:])), default=float("inf"))

    def _run(self):
        clients = {}
        number = 0
        names = list(self._members.names)
        while not self._end.wait(self._every):
            number += 1
            while not self._end.is_set():
                name = names[0]
                try:
                    if name not in clients:
                        port = int(self._members[name].address.split(":")[1])
                        clients[name] = Client(port, 3.0)
                    answer = clients[name].request("POST", "/v1/batches", [batch(f"{self.prefix}-{number}")])
                    if answer.status == 200:
                        self.taken.append(f"{self.prefix}-{number}")
                        self.times.append(time.monotonic())
                        break
                except Exception:  # a member that dies answers as it likes
                    clients.pop(name, None)
                names.append(names.pop(0))
                time.sleep(0.01)


class ClusterTestCase(RollcallTestCase):
    """What is asked of members once all is over."""

    def people(self, member):
        """Everybody whom a member knows."""
        found, after = set(), ""
        for _ in range(1000):
            page = member.get(f"/v1/responders?limit=1000{after}").json()
            found.update(one["responder_id"] for one in page["responders"])
            if page["next"] is None:
                return found
            after = f"&after={page['next']}"
        raise AssertionError("a list without an end")

    def check_all_hold(self, members, taken):
        """Nothing that was acknowledged is missing at anybody, and all stores are the same."""
        members.settled()
        for name in members.names:
            self.assertEqual(set(taken) - self.people(members[name]), set(), name)
        for name in members.names:
            members[name].stop()
        rows = {}
        for name in members.names:
            store = sqlite3.connect(f"file:{members[name].store}?mode=ro", uri=True)
            rows[name] = {t: store.execute(f"SELECT * FROM {t} ORDER BY 1, 2").fetchall()
                          for t in TABLES}
            store.close()
        first = rows[members.names[0]]
        for name in members.names[1:]:
            for table in TABLES:
                # Who stopped first lacks the last turns.
                shared = min(len(first[table]), len(rows[name][table]))
                self.assertEqual(first[table][:shared], rows[name][table][:shared], table)
            self.assertGreater(len(rows[name]["turns"]), 0)
