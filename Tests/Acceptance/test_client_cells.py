"""The documented clients behind a real gateway of two cells, of which one is killed: nobody of the other goes OFFLINE,
and what the dead one missed arrives when it is back, and counts once.

Source: K5, P1.
"""

import json
import logging
import os
import re
import shutil
import subprocess
import threading
import time
import unittest

from client_cell_stories import FeignedGateway
from client_stories import SOURCE
from cluster_process import free_ports
from contrary_proxy import ContraryProxy
from documents import text
from rollcall_process import RollcallTestCase, eventually, now_ms, plain_environment
from test_cells import owner
from test_client_python import Recording, loaded
from test_client_swift import Backend, built
from test_gateway import GatewayTestCase
from test_integrate import BLOCK, blocks

LIVENESS = "liveness: {on_duty: {expected: 1s, degraded_after: 2s, offline_after: 4s}}\n"
AWAY_SECONDS = 8
FEEDER = """
import { createInterface } from "node:readline";
import { forward } from "./rollcall.mjs";
for await (const line of createInterface({ input: process.stdin })) forward(JSON.parse(line));
"""


class Feed:
    """People who report twice a second through a client, each with a count of their own."""

    def __init__(self, case, batch, ids):
        self.given = dict.fromkeys(ids, 0)
        self._batch = batch
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        case.addCleanup(self.end)

    def _run(self):
        while not self._end.wait(0.5):
            for one in self.given:
                self.given[one] += 1
                self._batch({"responder_id": one, "region": "north", "updates": [
                    {"sequence": self.given[one], "captured_at": now_ms()}]})

    def end(self):
        self._end.set()
        self._thread.join(10)

    def count(self, cell):
        return sum(count for one, count in self.given.items() if owner(one) == cell)


class FleetStory(GatewayTestCase):
    MORE = {"a": LIVENESS, "b": LIVENESS, "f": "alerts: {NoOnlineResponders: {for: 2s}}\n"}

    def told(self, feed, hangs=False):
        """The story; `hangs` if the cell is not killed, but takes what comes and answers nothing."""
        servers = self.servers

        def ledger(cell):
            return servers[cell].scrape()("rollcall_updates_total", outcome="accepted")

        def offline(cell):
            """How many changes to OFFLINE there were."""
            return servers[cell].scrape().total("status_transitions_total", to="OFFLINE")

        eventually(lambda: ledger("a") > 10 and ledger("b") > 10, 20, "both cells hear theirs")
        self.assertEqual(offline("a"), 0)
        servers["b"].pause() if hangs else servers["b"].kill()
        before, end = ledger("a"), time.monotonic() + AWAY_SECONDS
        while time.monotonic() < end:
            statuses = {one["status"] for one in servers["a"].get("/v1/responders").json()["responders"]}
            self.assertEqual(statuses, {"ONLINE"})
            time.sleep(0.2)
        self.assertEqual(offline("a"), 0)
        self.assertGreater(ledger("a") - before, 3 * AWAY_SECONDS)
        firing = {one["alertname"] for one in servers["f"].get("/v1/alerts").json()["alerts"]}
        self.assertNotIn("NoOnlineResponders", firing)
        servers["b"].resume() if hangs else self.begin("b", self.config("b", self.MORE["b"]))
        eventually(lambda: ledger("b") > feed.count("b") - 6, 60, "what waited arrives")
        feed.end()
        for cell in "ab":
            eventually(lambda cell=cell: ledger(cell) == feed.count(cell), 60, "all arrives, and counts once")
        self.assertEqual(
            {one["status"] for one in self.servers["b"].get("/v1/responders").json()["responders"]},
            {"ONLINE"})

    def url_of_gateway(self):
        return f"http://127.0.0.1:{self.gateway.port}"


class ClientTests(FleetStory):
    OPTIONS = {"source": SOURCE, "heartbeat": 1, "pause_max": 2}

    def test_python(self):
        logging.getLogger("rollcall").addHandler(logging.NullHandler())
        client = Recording(loaded(), self.url_of_gateway(), **self.OPTIONS)
        self.addCleanup(client.close, 0)
        self.told(Feed(self, client.batch, self.mixed(3)))
        self.settled(client)

    def test_swift(self):
        client = Backend(built(), self.url_of_gateway(), **self.OPTIONS)
        self.addCleanup(client.end)
        self.told(Feed(self, client.batch, self.mixed(3)))
        self.settled(client)

    def settled(self, client):
        self.assertEqual(client.close(10), 0)
        counts = client.counts()
        self.assertEqual(counts["accepted"] + counts["duplicates"], counts["given"], counts)
        self.assertEqual(client.dropped, [])


class HangingTests(FleetStory):
    # Attempts for the cell that hangs take two seconds, heartbeats too: two may come one after the other.
    LIVENESS = "liveness: {on_duty: {expected: 1s, degraded_after: 5s, offline_after: 7s}}\n"
    MORE = {**FleetStory.MORE, "a": LIVENESS, "b": LIVENESS}

    def test_a_cell_that_hangs_delays_its_own_people_alone(self):
        logging.getLogger("rollcall").addHandler(logging.NullHandler())
        client = Recording(loaded(), self.url_of_gateway())
        self.addCleanup(client.close, 0)
        self.told(Feed(self, client.batch, self.mixed(3)), hangs=True)
        self.assertEqual(client.close(10), 0)
        self.assertEqual(client.dropped, [])


class NodeBackend:
    """A test with a backend in Node."""

    def feeder(self, script, url):
        """A backend that forwards each line that it is told."""
        node = shutil.which("node")
        if node is None:
            self.skipTest("no Node")
        for name, body in (("rollcall.mjs", script), ("feeder.mjs", FEEDER)):
            with open(os.path.join(self.directory, name), "w", encoding="utf-8") as file:
                file.write(body)
        log = open(os.path.join(self.directory, "feeder.log"), "wb")
        self.addCleanup(log.close)
        process = subprocess.Popen(
            [node, "feeder.mjs"], cwd=self.directory, stdin=subprocess.PIPE, stdout=log, stderr=log,
            env={**plain_environment(), "ROLLCALL_URL": url})
        self.addCleanup(process.stdin.close)
        self.addCleanup(process.wait, 10)
        self.addCleanup(process.kill)

        def batch(item):
            process.stdin.write(json.dumps(item).encode() + b"\n")
            process.stdin.flush()

        return batch

    @staticmethod
    def script():
        """That of the page "Forward from your backend"."""
        return blocks("js")["rollcall.mjs"]

    def first_script(self):
        """That of the README."""
        script, = (body for kind, body in BLOCK.findall(text("README.md")) if kind == "js")
        self.assertTrue(re.match(r"// rollcall\.mjs\n", script))
        return script


class NodeTests(NodeBackend, FleetStory):
    def test_node(self):
        self.told(Feed(self, self.feeder(self.script(), self.url_of_gateway()), self.mixed(3)))

    def test_the_first_page_s_script(self):
        self.told(Feed(self, self.feeder(self.first_script(), self.url_of_gateway()), self.mixed(3)))


class NodeOrderTests(NodeBackend, RollcallTestCase):
    """Behind a gateway of the test's own, which knows in which order it took what."""

    def check(self, script):
        server = self.rollcall(address=f"127.0.0.1:{free_ports(1)[0]}").start()
        gateway = FeignedGateway(lambda person: "abc"[int(person[1:]) % 3])
        gateway.away = {"b", "c"}
        batch = self.feeder(script, ContraryProxy(self, lambda: server.port, gateway.judge).url)

        def heard(cells, count):
            def people():
                return [line["responder_id"] for _, line in list(gateway.taken)]
            eventually(lambda: sum(gateway.cell_of(one) in cells for one in people()) == count, 40, cells)

        for number in range(60):
            for person in range(30):
                batch({"responder_id": f"p{person}", "updates": [{"sequence": number}]})
            if number % 20 == 19:
                heard("a", 10 * (number + 1))
        gateway.away = {"c"}
        heard("b", 600)
        # Half of the last cell is split from it meanwhile.
        gateway.cell_of = lambda person: "abcabd"[int(person[1:]) % 6]
        gateway.away = {"d"}
        heard("c", 300)
        gateway.away = set()
        heard("d", 300)
        last = {}
        for _, line in gateway.taken:
            person, sequence = line["responder_id"], line["updates"][0]["sequence"]
            self.assertEqual(sequence, last.get(person, -1) + 1, person)
            last[person] = sequence

    def test_node(self):
        self.check(self.script())

    def test_the_first_page_s_script(self):
        self.check(self.first_script())


if __name__ == "__main__":
    unittest.main()
