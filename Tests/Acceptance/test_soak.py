"""Everything at once, for as long as one likes: memory, descriptors and threads stay flat, and what
was acknowledged is there in the end.

Source: G9, G10; Q7.

    ROLLCALL_SOAK=1800    half an hour instead of the usual 20 seconds
"""

import http.client
import json
import os
import random
import socket
import statistics
import subprocess
import threading
import time
import unittest

from loopback_phones import PushHook
from loopback_receivers import Pager, Receiver
from rollcall_process import (
    BINARY, RollcallTestCase, eventually, ndjson, now_ms, plain_environment, rfc3339)

SECONDS = float(os.environ.get("ROLLCALL_SOAK", "20"))
# The threads that write, and how many people each of them reports for.
WRITERS = 4
PEOPLE = 500

CONFIG = """
liveness: {{on_duty: {{expected: 1s, degraded_after: 3s, offline_after: 5s}}}}
alerts:
  HighOfflineRate: {{by: region, for: 1s, keep_firing_for: 1s}}
  NoOnlineResponders: {{for: 1s, keep_firing_for: 1s}}
receivers:
  - {{name: oncall, pagerduty: {{url: "{pager}", routing_key_file: routing.key}}}}
  - {{name: broken, webhook: {{url: "{broken}"}}}}
nudges: {{stale_after: 6s, rate: 50/s, sink: {{webhook: {{url: "{push}"}}}}}}
storage: {{size: 64MiB}}
"""


class Moody(Receiver):
    """Refuses half of what it is told."""

    def judge(self, told):
        return (200, {}) if len(self.requests) % 2 else (503, {"error": "not now"})


class Sample:
    """What the kernel says of the process: kilobytes that are no file's, descriptors, threads."""

    def __init__(self, process):
        with open(f"/proc/{process}/status", encoding="ascii") as file:
            fields = dict(line.split(":", 1) for line in file)
        self.memory = int(fields["RssAnon"].split()[0])
        self.threads = int(fields["Threads"])
        self.descriptors = len(os.listdir(f"/proc/{process}/fd"))


class SoakTests(RollcallTestCase):
    def setUp(self):
        super().setUp()
        with open(f"{self.directory}/routing.key", "w", encoding="utf-8") as file:
            file.write(Pager.ROUTING_KEY + "\n")
        self.end = threading.Event()
        self.troubles = []
        # The last sequence of each person that a 200 came for.
        self.acknowledged = {}
        self.counts = {}

    def test_everything_at_once_stays_flat(self):
        pager, broken, push = Pager(self), Moody(self), PushHook(self)
        self.server = self.serve(
            CONFIG.format(pager=pager.url, broken=broken.url, push=push.url),
            more=("--log.level", "warn"))
        works = [lambda n=n: self.write(n) for n in range(WRITERS)] + [
            self.ask, self.scrape, self.administer, self.reload, self.drip, self.leave, self.export]
        threads = [threading.Thread(target=self.repeat, args=(w,), daemon=True) for w in works]
        self.addCleanup(self.end.set)
        for thread in threads:
            thread.start()
        # Until everybody has been told something, threads and connections are still being made.
        eventually(
            lambda: self.troubles or (pager.incidents and broken.requests and push.requests), 60,
            "pages and nudges")
        samples = []
        ends_at = time.monotonic() + SECONDS
        while time.monotonic() < ends_at and not self.troubles:
            time.sleep(min(1.0, SECONDS / 20))
            samples.append(Sample(self.server.process.pid))
        self.end.set()
        for thread in threads:
            thread.join(60)
        self.assertEqual(self.troubles, [])
        self.assertFlat(samples)
        self.assertKept()
        self.assertEqual(pager.faults, [])
        print(f"     {self.counts}, pages {len(pager.incidents)}, pushes {len(push.requests)}")

    # What goes on

    def repeat(self, work):
        """Does a work again and again until the end; what it raises is a trouble."""
        try:
            while not self.end.is_set():
                work()
        except Exception as error:
            self.troubles.append(repr(error))

    def count(self, what):
        self.counts[what] = self.counts.get(what, 0) + 1

    def pause(self, seconds):
        self.end.wait(seconds)

    def write(self, number):
        """Batches of some people, singly and in bulk; every other eight seconds a region is
        silent."""
        client = self.server.client(30)
        draw = random.Random(number)
        sequence = self.counts.get(f"round {number}", 0)
        for _ in range(20):
            sequence += 1
            is_cut = time.monotonic() % 16 > 8
            items = [
                {"responder_id": f"r-{number}-{who}", "region": f"region-{who % 8}",
                 "circles": [f"c-{number}-{who // 4}"], "received_at": rfc3339(now_ms()),
                 "telemetry": {"queue_depth": draw.randrange(4), "app_state": "background"},
                 "updates": [{"sequence": sequence, "captured_at": rfc3339(now_ms())}]}
                for who in range(PEOPLE) if not (is_cut and who % 8 == 3)]
            for body in (ndjson(items[10:]), *(json.dumps(item) for item in items[:10])):
                answer = client.request(
                    "POST", f"/v1/batches?source=pod-{number}", body,
                    {"Content-Type": "application/x-ndjson"})
                assert answer.status == 200, answer
            self.acknowledged.update((item["responder_id"], sequence) for item in items)
            self.counts[f"round {number}"] = sequence
            self.pause(0.3)
        client.close()

    def ask(self):
        """All that people look at."""
        client = self.server.client()
        for target in (
                "/v1/status", "/v1/responders?limit=1000", "/v1/gaps?limit=100", "/v1/alerts",
                "/v1/alerts/history", "/v1/nudges", "/v1/responders/r-0-3/timeline", "/", "/nowhere"):
            answer = client.request("GET", target)
            assert answer.status in (200, 404), answer
            self.count("questions")
        client.close()
        self.pause(0.2)

    def scrape(self):
        client = self.server.client()
        answer = client.request("GET", "/metrics")
        assert answer.status == 200, answer
        client.close()
        self.pause(0.5)

    def administer(self):
        """Silences, drills, wakes, transitions, facts, rosters, erasures."""
        client = self.server.client()
        for method, target, body in (
                ("POST", "/v1/silences", {
                    "matchers": ["region=region-1"], "ends_at": rfc3339(now_ms() + 3000),
                    "author": "soak", "comment": "soak"}),
                ("POST", "/v1/drill", {"receiver": "oncall"}), ("POST", "/v1/wakes", {
                    "circle": "c-0-1", "viewer": "r-0-4"}),
                ("POST", "/v1/transitions", {
                    "responder_id": "r-1-1", "from": "ONLINE", "to": "OFFLINE"}),
                ("POST", "/v1/responders", {"responder_id": "gone", "duty_state": "ON_DUTY"}),
                ("POST", "/v1/heartbeat?source=pod-0", {"every_seconds": 10}),
                ("DELETE", "/v1/responders/gone", None)):
            answer = client.request(method, target, body)
            assert answer.status < 500, answer
            self.count(f"{method} {target.split('?')[0]} {answer.status}")
        client.close()
        self.pause(1)

    def reload(self):
        client = self.server.client()
        assert client.request("POST", "/-/reload").status == 200
        client.close()
        self.pause(2)

    def drip(self):
        """Somebody who sends a head byte by byte, and somebody who never reads."""
        with socket.create_connection(("127.0.0.1", self.server.port), 5) as slow, \
                socket.create_connection(("127.0.0.1", self.server.port), 5) as deaf:
            deaf.sendall(b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            for byte in b"POST /v1/batches HTTP/1.1\r\nHo":
                try:
                    slow.sendall(bytes([byte]))
                except OSError:
                    break
                self.pause(0.1)

    def leave(self):
        """Somebody who goes away in the middle of a body."""
        with socket.create_connection(("127.0.0.1", self.server.port), 5) as raw:
            raw.sendall(
                b"POST /v1/batches HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5000\r\n"
                b"Content-Type: application/json\r\n\r\n[{")
        self.pause(0.05)

    def export(self):
        """A reader of the store from outside."""
        outcome = subprocess.run(
            [BINARY, "export", "--storage.path", self.server.store], stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, timeout=120, env=plain_environment(), cwd=self.directory,
            stdin=subprocess.DEVNULL)
        # What retention or an erasure takes away meanwhile is told, and asked for again.
        assert outcome.returncode in (0, 75), outcome
        self.count(f"exports {outcome.returncode}")
        self.pause(5)

    # What holds

    def assertFlat(self, samples):
        """The last third uses what the middle one does: 8 % more memory and 8 MB at most, some
        descriptors of clients that come and go, and not one thread."""
        third = len(samples) // 3
        before, after = samples[third:2 * third], samples[2 * third:]
        for name, more in (("memory", 8 * 1024), ("descriptors", 16), ("threads", 0)):
            values = [[getattr(sample, name) for sample in part] for part in (before, after)]
            median = [statistics.median(value) for value in values]
            print(f"     {name}: {median[0]:.0f}, then {median[1]:.0f}, at most {max(values[1])}")
            self.assertLessEqual(median[1], median[0] * (1.08 if name == "memory" else 1) + more)

    def assertKept(self):
        """What was acknowledged is known after a kill: sent again, none of it is new."""
        self.server.kill()
        self.server.start()
        again = [
            {"responder_id": who, "updates": [{"sequence": sequence}]}
            for who, sequence in self.acknowledged.items()]
        self.assertGreater(len(again), WRITERS * PEOPLE / 2)
        answer = self.server.write(
            "/v1/batches", ndjson(again), {"Content-Type": "application/x-ndjson"})
        self.assertEqual(
            answer["updates"], {"accepted": 0, "duplicate": len(again), "late": 0})


if __name__ == "__main__":
    unittest.main()
