"""A cell of two members gives half of its people to a new one under load, or moves to other machines, with a ledger
of everything that was sent through a gateway: nobody is lost, and nothing is counted twice. Source: K6, S15.

    ROLLCALL_SPLIT_PEOPLE  so many more have been enrolled when it is split under load; 0 without it
    ROLLCALL_SPLIT_KILLS   how many are killed on the way; 8 without it
    ROLLCALL_SPLIT_SEED    which; 1 without it
"""

import base64
import json
import os
import random
import subprocess
import time
import unittest
import urllib.request
from types import SimpleNamespace

from cluster_process import ClusterTestCase, Etcd, Members, batch, free_ports
from fake_cells import Said
from gateway_process import Gateway
from rollcall_process import BINARY, Rollcall, eventually, ndjson, plain_environment, taken
from test_cells import slot
from test_fleet_cell_calls import Relay
from test_gateway_chaos import Ledger

PATIENCE = 60
PEOPLE = int(os.environ.get("ROLLCALL_SPLIT_PEOPLE", "0"))
KILLS = int(os.environ.get("ROLLCALL_SPLIT_KILLS", "8"))
SEED = int(os.environ.get("ROLLCALL_SPLIT_SEED", "1"))


class SplitTests(ClusterTestCase):
    # The settings of all members.
    settings = ""
    # Of the forty who report those in the later half of the slots.
    MOVED = sum(slot(f"p-{number}") >= 2048 for number in range(40))

    def start(self):
        """A fleet of one cell, behind a gateway."""
        self.etcd = Etcd(self, members=1)
        self.old = Members(
            self, self.etcd, names=[f"a{n}" for n in range(2)], prefix="/a", cell="a", settings=self.settings)
        self.old.start()
        port, = free_ports(1)
        self.fleet_cell = Rollcall(
            self.directory, self.named(a=self.old), name="fleet", address=f"127.0.0.1:{port}")
        self.addCleanup(self.fleet_cell.close)
        self.fleet_cell.start()
        self.gateway = Gateway(self, f"http://127.0.0.1:{port}").start()
        eventually(self.gateway.is_ready, PATIENCE, "the gateway has the map")

    @staticmethod
    def named(**cells):
        listed = "".join(
            f"    {cell}: {{urls: [" + ", ".join(
                f'"http://{members[name].address}"' for name in members.names) + "]}\n"
            for cell, members in cells.items())
        return f"cluster:\n  cells:\n{listed}"

    def new_cell(self, name="b", origin="a"):
        """The members of a cell that is to be split from another one."""
        new = Members(
            self, self.etcd, names=[f"{name}{n}" for n in range(2)], prefix=f"/{name}", cell=name,
            settings=self.settings, more=f"  split_from: {{cell: {origin}, log: /{origin}}}\n")
        new.start()
        return new

    def name(self, **cells):
        """The fleet cell is told of these."""
        self.assertEqual(self.fleet_cell.stop(), 0)
        with open(self.fleet_cell.config_path, "w", encoding="utf-8") as file:
            file.write(self.named(**cells))
        self.fleet_cell.start()

    def standing(self, cell):
        """How the fleet cell says that a cell stands."""
        standing = self.fleet_cell.get("/v1/cells").json()["standing"]
        return next((one for one in standing if one["cell"] == cell), {"problem": None, "dark": False})

    def version(self, server):
        return server.get("/v1/cells").json()["version"]

    def split(self, new):
        """Names the new cell, and waits until it is one."""
        self.name(a=self.old, b=new)
        self.wait_until_split(new)

    def wait_until_split(self, new, version=2):
        eventually(lambda: self.version(self.fleet_cell) == version, PATIENCE, "the map has the new cell")
        eventually(
            lambda: new[new.leader(PATIENCE)].get("/-/ready").status == 200, PATIENCE, "the new cell is ready")

    def write(self):
        """Forty people report through the gateway, and are taken."""
        self.gateway.write("/v1/batches", [batch(f"p-{number}") for number in range(40)])

    def people_of(self, members):
        members.settled()
        return self.people(members[members.leader()])

    def test_under_load_nobody_is_lost_and_nothing_is_counted_twice(self):
        self.start()
        self.enrol(PEOPLE)
        ids, ledgers = self.report()
        before = max(ledger.longest for ledger in ledgers)
        new = self.new_cell()
        self.split(new)
        self.go_on(ledgers)
        longest = max(ledger.longest for ledger in ledgers)
        print(f"     until all of sixty are acknowledged: at most {longest:.2f} s, before it {before:.2f} s")
        self.assertLess(longest, 15)
        moved = self.check_halves(new, ids, ledgers)
        # What was known of people went with them: an update of before is one again.
        one = sorted(moved)[0]
        again = {"responder_id": one, "region": "north", "updates": [{"sequence": 1, "captured_at": 1}]}
        answer = self.gateway.write("/v1/batches", [again])
        self.assertEqual((answer["accepted"], answer["duplicates"]), (0, 1), answer)
        # The old cell says whose they are.
        refused = self.old[self.old.leader()].post("/v1/batches", [batch(one)])
        self.assertEqual((refused.status, refused.json()["cell"]), (421, "b"), refused)
        self.check_same(new)
        self.check_same(self.old)

    def enrol(self, count):
        """So many report once."""
        for first in range(0, count, 2000):
            body = ndjson([
                {**batch(f"q-{number}", region=f"r{number % 20}"), "duty_state": "ON_DUTY"}
                for number in range(first, min(count, first + 2000))])
            self.gateway.write("/v1/batches", body, {"Content-Type": "application/x-ndjson"})

    def report(self):
        """Sixty people report one after the other, in bulk."""
        ids = [f"p-{number}" for number in range(60)]
        ledgers = [
            Ledger(self, [self.gateway, self.gateway], ids[place::2], is_partial=bool(place)).start()
            for place in range(2)]
        eventually(lambda: all(one.rounds > 5 for one in ledgers), PATIENCE, "batches are taken")
        return ids, ledgers

    def go_on(self, ledgers):
        """All of them are taken still, and end."""
        rounds = [one.rounds for one in ledgers]
        eventually(
            lambda: all(one.rounds > before + 5 for one, before in zip(ledgers, rounds)), PATIENCE,
            "batches are taken by both")
        for ledger in ledgers:
            ledger.end()

    def check_halves(self, new, ids, ledgers):
        """Everybody is in one half, and every update was counted once; those who moved."""
        moved = {one for one in ids if slot(one) >= 2048}
        self.assertTrue(0 < len(moved) < len(ids))
        halves = [
            {one for one in self.people_of(members) if one.startswith("p-")} for members in (new, self.old)]
        self.assertEqual(halves, [moved, set(ids) - moved])
        taken = sum(
            members[members.leader()].scrape()("rollcall_updates_total", outcome="accepted")
            for members in (self.old, new))
        self.assertEqual(taken, sum(one.rounds * len(one.ids) for one in ledgers))
        return moved

    def test_whoever_is_killed_on_the_way_nobody_is_lost(self):
        """Members of both cells, and the fleet cell, are killed one after the other while it is split."""
        self.start()
        ids, ledgers = self.report()
        new = self.new_cell()
        chance = random.Random(SEED)
        self.name(a=self.old, b=new)
        for number in range(KILLS):
            time.sleep(chance.random())
            members = chance.choice((self.old, new))
            server = chance.choice([members[name] for name in members.names] + [self.fleet_cell])
            server.kill()
            time.sleep(chance.random() / 2)
            server.start()
        self.wait_until_split(new)
        self.go_on(ledgers)
        self.check_halves(new, ids, ledgers)
        self.check_same(new)
        self.check_same(self.old)

    def test_a_half_is_split_again(self):
        self.start()
        self.write()
        half = self.new_cell()
        self.split(half)
        self.write()
        quarter = self.new_cell("c", "b")
        self.name(a=self.old, b=half, c=quarter)
        self.wait_until_split(quarter, 3)
        self.write()
        parts = [self.people_of(members) for members in (self.old, half, quarter)]
        ids = {f"p-{number}" for number in range(40)}
        ranges = ((0, 2048), (2048, 3072), (3072, 4096))
        for part, (first, last) in zip(parts, ranges):
            self.assertEqual(part, {one for one in ids if first <= slot(one) < last})

    def test_the_past_is_told_once(self):
        """Both halves hold what was before, and each tells what is its own people's."""
        self.settings = """liveness: {on_duty: {expected: 500ms, degraded_after: 1s, offline_after: 2s}}
alerts: {ResponderOffline: {enabled: true, for: 0s}}
"""
        self.start()
        ids = {f"p-{number}" for number in range(40)}
        # The first word may take as long as the wait for a leader: nobody was ONLINE by it. Then each is silent twice.
        for attempt in range(3):
            self.gateway.write("/v1/batches", [{**batch(one), "duty_state": "ON_DUTY"} for one in ids])
            if attempt > 0:
                eventually(lambda: self.gaps() == len(ids), PATIENCE, "everybody is OFFLINE")
        place = self.gateway.get("/v1/events").json()["next"]
        new = self.new_cell()
        self.split(new)
        # The gateway has not heard of the new map yet.
        people = self.gateway.get("/v1/responders").json()
        self.assertEqual((people["total"], people["unavailable"]), (len(ids), []))
        self.assertEqual(self.gaps(), len(ids))
        self.assertEqual(self.gaps("&cell=a"), sum(slot(one) < 2048 for one in ids))
        self.problem(self.gateway.get(f"/v1/events?after={place}"), 410)
        events = self.events()
        told = [json.dumps(one, sort_keys=True) for one in events]
        self.assertEqual(len(set(told)), len(told))
        self.assertEqual(
            sorted(one["responder_id"] for one in events if one.get("to") == "OFFLINE"), sorted([*ids, *ids]))
        # So it is with the time for which nothing was heard of them.
        for cell in "ab":
            rows = self.gateway.get(f"/v1/dark?by=responder&cell={cell}&limit=1000").json()["rows"]
            whole = self.gateway.get(f"/v1/dark?by=platform&cell={cell}").json()["rows"]
            self.assertEqual(
                {row["responder_id"] for row in rows}, {one for one in ids if (slot(one) >= 2048) == (cell == "b")})
            self.assertAlmostEqual(
                sum(row["contact_seconds"] for row in whole), sum(row["contact_seconds"] for row in rows), delta=5)
            self.assertGreater(sum(row["contact_seconds"] for row in rows), 10)
        # What fired in the old cell fires anew in the new one, and is its own from then on.
        eventually(lambda: self.fired("b"), PATIENCE, "it fires anew")
        self.assertEqual(len(self.fired("b")), 1)
        self.assertTrue(self.fired("a"))

    def fired(self, cell):
        """The incidents of people who are OFFLINE that a cell tells of."""
        return self.gateway.get(f"/v1/alerts/history?cell={cell}&alertname=ResponderOffline").json()["incidents"]

    def gaps(self, cell=""):
        """The gaps that are open by the table of their causes, also where somebody changed who leads meanwhile."""
        return sum(row["open"] + row["blind"] for row in self.gateway.get(f"/v1/gaps?by=cause{cell}").json()["rows"])

    def events(self):
        """All from the beginning on, without their places."""
        events, after = [], ""
        while True:
            answer = self.gateway.get(f"/v1/events?limit=200{after}").json()
            if not answer["events"]:
                return events
            events += [{name: value for name, value in one.items() if name != "cursor"} for one in answer["events"]]
            after = f"&after={answer['next']}"

    def test_a_cell_moves_to_other_machines(self):
        """Members elsewhere join it, the fleet cell is told their addresses, and the old ones are taken out."""
        self.start()
        ids, ledgers = self.report()
        moved = Members(self, self.etcd, names=["a2", "a3"], prefix="/a", cell="a")

        def at_the_leader(method, name):
            for members in (self.old, moved):
                for leader in members.names:
                    if members.leads(leader):
                        answer = members[leader].request(method, f"/v1/cluster/members/{name}")
                        return answer.status in (200, 404 if method == "DELETE" else 409)
            return False

        for name in moved.names:
            eventually(lambda name=name: at_the_leader("PUT", name), PATIENCE, f"{name} is named")
            moved.start(name)
            eventually(lambda name=name: (moved.standing(name) or {}).get("confirmed"), PATIENCE, f"{name} follows")
        self.name(a=moved)
        eventually(lambda: self.version(self.fleet_cell) == 2, PATIENCE, "the map has the new addresses")
        for name in self.old.names:
            self.assertEqual(self.old[name].stop(), 0)
        moved.leader(PATIENCE)
        for name in self.old.names:
            eventually(lambda name=name: at_the_leader("DELETE", name), PATIENCE, f"{name} is taken out")
        self.go_on(ledgers)
        self.assertEqual(self.people_of(moved), set(ids))
        taken = moved[moved.leader()].scrape()("rollcall_updates_total", outcome="accepted")
        self.assertEqual(taken, sum(one.rounds * len(one.ids) for one in ledgers))
        self.check_same(moved)

    def test_a_new_cell_without_its_people_is_not_handed_the_map(self):
        """It would begin with nobody: somebody started it anew without the word whose people it takes."""
        self.start()
        self.write()
        new = Members(
            self, self.etcd, names=["b0"], prefix="/b", cell="b", more="  split_from: {cell: a, log: /a}\n")
        new.start()
        relay = Relay(self, "b", int(new["b0"].address.split(":")[1]))

        def empty(_):
            # On a connection of its own: this is the relay's thread.
            with urllib.request.urlopen(f"http://{self.fleet_cell.address}/v1/cells", timeout=10) as answer:
                if json.load(answer)["version"] == 1:
                    return None
            return Said({"role": "cell", "cell": "b", "version": 0, "slots": 4096, "cells": []})

        relay.instead["GET", "/v1/cells"] = empty
        relay.instead["GET", "/v1/cells/summary"] = lambda _: Said({"status": 503}, 503)
        named = type("Named", (dict,), {"names": ["relay"]})
        self.name(a=self.old, b=named(relay=SimpleNamespace(address=relay.url.removeprefix("http://"))))

        words = "it does not have its people yet"
        eventually(lambda: words in (self.standing("b")["problem"] or ""), PATIENCE, "it is told")
        self.assertEqual(self.version(self.fleet_cell), 2)
        before = len(relay.asked("GET"))
        eventually(lambda: len(relay.asked("GET")) > before + 2, PATIENCE, "it is asked")
        self.assertEqual(relay.asked("PUT"), [])
        # Its people are not forgotten: nothing is known of them.
        eventually(lambda: self.standing("b")["dark"], PATIENCE, "the new cell is dark")
        eventually(
            lambda: [self.standing(cell)["active"] for cell in "ab"] == [40 - self.MOVED, self.MOVED], PATIENCE,
            "both halves are counted")
        self.assertEqual(self.standing("a")["dark"], False)

    def test_why_a_new_cell_waits_is_told(self):
        self.start()
        # Somebody started it once without the word whose people it takes.
        early = Members(self, self.etcd, names=["b0"], prefix="/b", cell="b")
        early.start()
        early.leader()
        self.assertEqual(early["b0"].stop(), 0)
        for ending in ("", "-wal", "-shm", ".epoch"):
            if os.path.exists(early["b0"].store + ending):
                os.remove(early["b0"].store + ending)
        new = self.new_cell()
        self.name(a=self.old, b=new)

        words = "its own log is begun already"
        eventually(lambda: words in (self.standing("b")["problem"] or ""), PATIENCE, "it is told")
        command = subprocess.run(
            [BINARY, "cluster", "cells", "--server", f"http://{self.fleet_cell.address}"], capture_output=True,
            text=True, timeout=30, env=plain_environment())
        self.assertEqual(command.returncode, 1, command)
        self.assertRegex(
            command.stdout, "Without slots, and so without people: b, since .*its own log is begun already")
        self.assertEqual(self.version(self.fleet_cell), 1)

    def check_same(self, members):
        """All members hold the same rows, and come back with them."""
        people = self.people_of(members)
        self.check_all_hold(members, people)
        for name in members.names:
            members[name].start()
        members.settled(seconds=40)
        self.assertEqual(self.people_of(members), people)

    def test_a_store_replays_what_it_was_split_from(self):
        """J3: a start folds the split again, in both halves."""
        self.start()
        self.write()
        new = self.new_cell()
        self.split(new)
        self.write()
        for members in (self.old, new):
            people = self.people_of(members)
            for name in members.names:
                members[name].kill()
            for name in members.names:
                members[name].start()
            members.leader(PATIENCE)
            self.assertEqual(self.people_of(members), people)
            for name in members.names:
                page = members[name].scrape()
                self.assertEqual(page("rollcall_refold_differences_total"), 0, name)


class AwayTests(ClusterTestCase):
    """A fleet cell that is the test itself: the new cell is away when its people leave the old one."""

    # Entries that the log keeps though every member holds them, and those that it lets go of at once.
    KEPT = 1024 + 256

    def setUp(self):
        super().setUp()
        self.etcd = Etcd(self, members=1)
        self.old = Members(self, self.etcd, names=["a0", "a1"], prefix="/a", cell="a")
        self.new = Members(
            self, self.etcd, names=["b0"], prefix="/b", cell="b", more="  split_from: {cell: a, log: /a}\n")
        self.old.start()
        self.hand(1, a=["0-4095"])

    def hand(self, version, **slots):
        """Hands the old cell a map."""
        members = {"a": self.old, "b": self.new}
        cells = [
            {"name": name, "urls": [f"http://{members[name][one].address}" for one in members[name].names],
             "slots": slots[name]} for name in sorted(slots)]
        body = {"version": version, "slots": 4096, "cells": cells}
        taken(lambda: self.old[self.old.leader(PATIENCE)].request("PUT", "/v1/cells", body), "the map")

    def said(self, settled):
        """Asks the old cell as the fleet cell does, by which map every cell has its people."""
        target = f"/v1/cells/summary?fleet=true&after=0&settled={settled}"
        taken(lambda: self.old[self.old.leader(PATIENCE)].get(target), "the question")

    def value(self, name):
        """What stands under a key of the old cell's log, in words; none where there is none."""
        key = base64.b64encode(f"/a/{name}".encode()).decode()
        request = urllib.request.Request(
            self.etcd.clients[0] + "/v3/kv/range", data=json.dumps({"key": key}).encode(),
            headers={"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=10) as answer:
            rows = json.load(answer).get("kvs", [])
        return base64.b64decode(rows[0]["value"]).decode().split() if rows else []

    def head(self):
        return int(self.value("head")[2])

    def tail(self):
        return int((self.value("tail") or ["0"])[0])

    def turn(self, count):
        """So many turns of the old cell, one for each report of somebody who stays there."""
        leader = self.old[self.old.leader()]
        for _ in range(count):
            # Somebody else may lead meanwhile.
            if leader.post("/v1/batches", [batch("r-17")]).status != 200:
                self.old.write("/v1/batches", [batch("r-17")])

    def check_kept(self, split):
        """The log holds the split still, though all members of the old cell hold it, and what is behind."""
        self.said(settled=1)
        self.old.settled()
        time.sleep(2.5)
        self.assertGreater(self.head() - split, self.KEPT)
        self.assertLess(self.tail(), split)

    def test_its_people_are_kept_for_it_however_many_turns_it_is_away(self):
        ids = {f"p-{number}" for number in range(40)}
        moved = {one for one in ids if slot(one) >= 2048}
        self.old.write("/v1/batches", [batch(one) for one in [*sorted(ids), "r-17"]])
        self.new.start()
        ready = lambda: (self.new["b0"].get("/v1/cells").json().get("split_from") or {}).get("ready")
        eventually(ready, PATIENCE, "the new cell is ready to be split")
        self.assertEqual(self.new["b0"].stop(), 0)
        self.hand(2, a=["0-2047"], b=["2048-4095"])
        split = self.head()
        self.turn(self.KEPT + 100)
        self.check_kept(split)
        # Whoever leads then knows it, too: who followed when it was split, and who has begun anew since.
        for _ in range(2):
            before = self.old.leader()
            self.old[before].kill()
            self.old.leader(PATIENCE)
            self.old.start(before)
            self.check_kept(split)
        self.new.start()
        self.new.leader(PATIENCE)
        self.assertEqual(self.people(self.new["b0"]), moved)
        # Once all have their people it is as long as ever.
        self.said(settled=2)
        eventually(lambda: self.tail() > split, PATIENCE, "the log lets go of the split")


if __name__ == "__main__":
    unittest.main()
