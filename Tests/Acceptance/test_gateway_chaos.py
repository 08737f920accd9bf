"""Two cells of three members each, a fleet cell and two gateways through faults drawn by chance, with a ledger
of everything that was sent: a request whose gateway dies in the middle of it is made whole by being sent again.

Source: K5.

    ROLLCALL_CELL_FAULTS   how many faults; 8 without it
    ROLLCALL_CELL_SEED     which; 1 without it
"""

import http.client
import os
import random
import signal
import threading
import time
import unittest

from cluster_process import ClusterTestCase, Etcd, Members, free_ports
from gateway_process import Gateway
from rollcall_process import Client, Rollcall, eventually, ndjson, now_ms
from test_cells import people

FAULTS = int(os.environ.get("ROLLCALL_CELL_FAULTS", "8"))
SEED = int(os.environ.get("ROLLCALL_CELL_SEED", "1"))
PATIENCE = 60


class Ledger:
    """A backend that sends each of some people one update after the other, in bulk, to whichever gateway
    answers, and sends again what was not taken: all of it, or what is said to be missing."""

    def __init__(self, case, gateways, ids, is_partial):
        self.ids = ids
        self.rounds = 0
        self.attempts = 0
        # The longest time until all of a round was acknowledged, in seconds.
        self.longest = 0.0
        self._gateways = gateways
        self._where = "/v1/batches" + ("?partial=true" if is_partial else "")
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        case.addCleanup(self.end)

    def start(self):
        self._thread.start()
        return self

    def end(self):
        self._end.set()
        if self._thread.ident is not None:
            self._thread.join(PATIENCE)

    def _run(self):
        while not self._end.is_set():
            number = self.rounds + 1
            left = [{"responder_id": one, "region": "north",
                     "updates": [{"sequence": number, "captured_at": now_ms()}]} for one in self.ids]
            began = time.monotonic()
            # What was begun is ended: all of it is acknowledged.
            while left:
                self.attempts += 1
                left = self._send(left)
            self.rounds = number
            self.longest = max(self.longest, time.monotonic() - began)

    def _send(self, items):
        """Sends items; returns those that are not acknowledged."""
        gateway = self._gateways[self.attempts % 2]
        client = Client(gateway.port, timeout=6)
        try:
            answer = client.request(
                "POST", self._where, ndjson(items), {"Content-Type": "application/x-ndjson"})
        except (OSError, http.client.HTTPException):
            time.sleep(0.05)
            return items
        finally:
            client.close()
        if answer.status != 200:
            time.sleep(0.05)
            return items
        missing = [items[place] for part in answer.json().get("unavailable", []) for place in part["items"]]
        if missing:
            time.sleep(0.05)
        return missing


class GatewayChaosTests(ClusterTestCase):
    def test_nothing_is_lost_and_nothing_is_counted_twice(self):
        etcd = Etcd(self, members=1)
        self.cells = {
            cell: Members(self, etcd, names=[f"{cell}{n}" for n in range(3)], prefix=f"/{cell}", cell=cell)
            for cell in "ab"}
        for cell in self.cells.values():
            cell.start()
        port, = free_ports(1)
        listed = "".join(
            f"    {cell}: {{urls: [" + ", ".join(
                f'"http://{members[name].address}"' for name in members.names) + "]}\n"
            for cell, members in self.cells.items())
        self.fleet_cell = Rollcall(
            self.directory, f"cluster:\n  cells:\n{listed}", name="fleet", address=f"127.0.0.1:{port}")
        self.addCleanup(self.fleet_cell.close)
        self.fleet_cell.start()
        gateway_ports = free_ports(2)
        self.gateways = [
            Gateway(self, f"http://127.0.0.1:{port}", name=f"gateway{n}", address=f"127.0.0.1:{own}").start()
            for n, own in enumerate(gateway_ports)]
        for gateway in self.gateways:
            eventually(gateway.is_ready, PATIENCE, "the gateway has the map")
        for members in self.cells.values():
            leader = members[members.leader()]
            eventually(lambda leader=leader: leader.get("/-/ready").status == 200, PATIENCE, "has the map")
        ids = people("a", 20) + people("b", 20)
        ledgers = [
            Ledger(self, self.gateways, ids[place::2], is_partial=bool(place)).start() for place in range(2)]
        eventually(lambda: all(one.rounds > 5 for one in ledgers), PATIENCE, "batches are taken")
        chance = random.Random(SEED)
        for number in range(FAULTS):
            fault = chance.choice(
                (self.kill_gateway, self.pause_gateway, self.kill_leader, self.pause_leader,
                 self.kill_fleet_cell))
            rounds = [one.rounds for one in ledgers]
            fault(chance)
            eventually(
                lambda rounds=rounds: all(one.rounds > before + 2 for one, before in zip(ledgers, rounds)),
                PATIENCE, f"batches are taken after fault {number}, {fault.__name__}")
        for ledger in ledgers:
            ledger.end()
        print(f"{FAULTS} faults; {sum(one.rounds * len(one.ids) for one in ledgers)} updates acknowledged in "
              f"{sum(one.rounds for one in ledgers)} requests of {sum(one.attempts for one in ledgers)}")
        total = 0
        for members in self.cells.values():
            members.settled()
            leader = members[members.leader()]
            total += leader.scrape()("rollcall_updates_total", outcome="accepted")
        self.assertEqual(total, sum(one.rounds * len(one.ids) for one in ledgers))

    def kill_gateway(self, chance):
        gateway = chance.choice(self.gateways)
        time.sleep(chance.random() / 10)
        gateway.kill()
        time.sleep(0.3)
        gateway.start()

    def pause_gateway(self, chance):
        gateway = chance.choice(self.gateways)
        gateway.pause()
        time.sleep(1)
        gateway.resume()

    def leader(self, chance):
        members = self.cells[chance.choice("ab")]
        return members[members.leader()]

    def kill_leader(self, chance):
        leader = self.leader(chance)
        leader.kill()
        time.sleep(0.3)
        leader.start()

    def pause_leader(self, chance):
        leader = self.leader(chance)
        leader.process.send_signal(signal.SIGSTOP)
        time.sleep(3)
        leader.process.send_signal(signal.SIGCONT)

    def kill_fleet_cell(self, _chance):
        self.fleet_cell.kill()
        time.sleep(0.5)
        self.fleet_cell.start()


if __name__ == "__main__":
    unittest.main()
