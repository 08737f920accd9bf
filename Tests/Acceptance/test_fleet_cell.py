"""What concerns many is decided in the fleet cell, over all cells: real watches, with an app for each cell and
somebody who is paged.

Source: K2, K4.
"""

import json
import time
import unittest

import test_cells
from loopback_receivers import Fleet, Hook
from rollcall_process import eventually
from test_cells import CellTestCase

# An app that is late for a second or two makes nobody silent.
LIVENESS = "liveness: {on_duty: {expected: 1s, degraded_after: 3s, offline_after: 4s}}\n"
# Of twenty people, of whom each cell has ten: no cell alone has twelve.
RULES = """alerts:
  HighOfflineRate: {for: 0s, by: region, above: 0.5, min_offline: 12}
  NoOnlineResponders: {for: 0s, keep_firing_for: 0s}
receivers:
  - {name: desk, webhook: {url: "%s"}}
"""
SOON = 20


class ManyTests(CellTestCase):
    def setUp(self):
        super().setUp()
        self.hooks = {name: Hook(self) for name in "abf"}
        for name in "abf":
            self.begin(name, self.config(name, LIVENESS + RULES % self.hooks[name].url))
        for name in "ab":
            self.wait_for_map(name)

    def start_apps(self):
        """Ten people of each cell, in one region, who report."""
        self.apps = {
            name: Fleet(self, self.servers[name], [
                {"responder_id": one, "region": "harbour", "duty_state": "ON_DUTY"}
                for one in test_cells.people(name, 10)]).start()
            for name in "ab"}
        self.wait_for_counts({"ONLINE": 20})

    def wait_for_counts(self, wanted):
        """Until the fleet cell counts people of all cells like this."""
        def counted():
            people = self.servers["f"].get("/v1/status").json()["responders"]
            return {word: people[word] for word in people if word != "active" and people[word]} == wanted
        eventually(counted, SOON, f"the fleet cell counts {wanted}")

    def cut(self, name, count):
        self.apps[name].cut(*list(self.apps[name].people)[:count])

    def restore(self, name):
        self.apps[name].restore(*self.apps[name].people)

    def fired(self, status="firing"):
        return [(name, region) for name, region, _ in self.hooks["f"].alerts(status)]

    def wait_for(self, alert, status="firing", region="harbour", seconds=SOON):
        eventually(lambda: (alert, region) in self.fired(status), seconds, f"{alert} is {status}")

    def test_a_rate_is_of_the_people_of_all_cells(self):
        self.start_apps()
        self.cut("a", 6)
        self.wait_for_counts({"ONLINE": 14, "OFFLINE": 6})
        self.assertEqual(self.fired(), [])
        self.cut("b", 6)
        self.wait_for("HighOfflineRate")
        alert, = self.servers["f"].get("/v1/alerts").json()["alerts"]
        self.assertEqual((alert["count"], alert["total"]), (12, 20))
        text = alert["annotations"]["description"]
        self.assertIn("12 of 20 active responders are OFFLINE (60 %)", text)
        self.assertRegex(text, r": (\d+ \w+(, )?)+\.", "why they are silent is known")
        self.restore("a")
        self.wait_for("HighOfflineRate", "resolved")
        # Once, and by nobody else.
        self.assertEqual(self.fired(), [("HighOfflineRate", "harbour")])
        for name in "ab":
            self.assertEqual(self.hooks[name].requests, [])
            self.assertEqual(self.servers[name].get("/v1/alerts").json()["alerts"], [])

    def test_somebody_of_another_cell_can_be_reached(self):
        self.start_apps()
        self.cut("a", 10)
        self.wait_for_counts({"ONLINE": 10, "OFFLINE": 10})
        self.assertEqual(self.fired(), [])
        self.cut("b", 10)
        self.wait_for("NoOnlineResponders")
        self.restore("b")
        self.wait_for("NoOnlineResponders", "resolved")

    def test_a_dark_cell_decides_nothing_by_its_absence(self):
        self.start_apps()
        self.cut("a", 10)
        self.cut("b", 10)
        self.wait_for("NoOnlineResponders")
        self.servers["b"].kill()
        eventually(lambda: ("CellDark", None) in self.fired(), 40, "it is told that b is dark")
        standing = self.standing("b")
        self.assertTrue(standing["dark"], standing)
        self.assertEqual(standing["active"], 10)
        # Everybody of a is back; of b's ten nobody knows.
        self.assertNotIn(("NoOnlineResponders", "harbour"), self.fired("resolved"))
        self.begin("b", self.config("b", LIVENESS + RULES % self.hooks["b"].url))
        eventually(lambda: ("CellDark", None) in self.fired("resolved"), 40, "b is heard again")
        self.assertNotIn(("NoOnlineResponders", "harbour"), self.fired("resolved"))
        self.apps["b"].server = self.servers["b"]
        self.restore("b")
        self.wait_for("NoOnlineResponders", "resolved", seconds=40)
        self.assertEqual(self.fired().count(("NoOnlineResponders", "harbour")), 1)

    def test_a_fleet_cell_that_was_killed_goes_on_where_it_was(self):
        self.start_apps()
        self.cut("a", 10)
        self.cut("b", 10)
        self.wait_for("NoOnlineResponders")
        # What is killed before it has kept the answer asks again.
        def is_told():
            # HighOfflineRate, which may fire by now, is told to nobody beside it.
            alerts = [one for one in self.servers["f"].get("/v1/alerts").json()["alerts"]
                      if one["alertname"] == "NoOnlineResponders"]
            return alerts and all(one["told"] for one in alerts)
        eventually(is_told, SOON, "it is kept that the desk took the page")
        self.servers["f"].kill()
        fleet = self.begin("f", self.config("f", LIVENESS + RULES % self.hooks["f"].url))
        self.wait_for_counts({"OFFLINE": 20})
        alerts = fleet.get("/v1/alerts").json()["alerts"]
        self.assertEqual(
            [(one["alertname"], one["state"]) for one in alerts
             if one["alertname"] != "HighOfflineRate"], [("NoOnlineResponders", "firing")])
        self.restore("a")
        self.wait_for("NoOnlineResponders", "resolved")
        bodies = [(round(one.at, 2), one.headers["webhook-id"], one.json()["alerts"])
                  for one in self.hooks["f"].requests]
        self.assertEqual(self.fired().count(("NoOnlineResponders", "harbour")), 1, bodies)

    def silences(self, name):
        """What a cell's silences in force are: matchers, author, comment."""
        return [(tuple(one["matchers"]), one["author"], one["comment"], one["ends_at"])
                for one in self.servers[name].get("/v1/silences").json()["silences"]
                if one["state"] == "active"]

    def test_silences_of_the_fleet_cell_are_in_force_in_every_cell(self):
        own = self.servers["a"].post("/v1/silences", {
            "matchers": ["region=hills"], "duration": "1h", "author": "a", "comment": "a's own"})
        self.assertEqual(own.status, 200, own)
        before = self.silences("a")
        self.servers["b"].kill()
        answer = self.servers["f"].post("/v1/silences", {
            "matchers": ["region=harbour", "alertname=ResponderOffline"], "duration": "2h",
            "author": "kim", "comment": "drill at the quay"})
        self.assertEqual(answer.status, 200, answer)
        theirs, = self.silences("f")
        eventually(lambda: self.silences("a") == before + [theirs], SOON, "a has it")
        self.begin("b", self.config("b", LIVENESS + RULES % self.hooks["b"].url))
        eventually(lambda: self.silences("b") == [theirs], 60, "so has b, which was away")
        # A fleet cell that begins anew gives it to nobody a second time.
        self.servers["f"].kill()
        self.begin("f", self.config("f", LIVENESS + RULES % self.hooks["f"].url))
        number = answer.json()["silence"]["id"]
        eventually(lambda: self.standing("a")["version"] == 1, SOON, "it has asked a")
        time.sleep(3)
        self.assertEqual(self.silences("a"), before + [theirs])
        # Who ends one at a cell has ended it there.
        copy, = [one["id"] for one in self.servers["a"].get("/v1/silences").json()["silences"]
                 if (one["request_id"] or "").startswith("fleet-cell/")]
        self.assertEqual(self.servers["a"].request("DELETE", f"/v1/silences/{copy}").status, 200)
        odd = self.servers["f"].post("/v1/silences", {
            "matchers": [{"name": "region", "value": "\"quay\""}], "duration": "3h", "author": "kim",
            "comment": "a name in quotes"})
        self.assertEqual(odd.status, 200, odd)
        theirs = self.silences("f")
        eventually(lambda: self.silences("b") == theirs, SOON, "b has both, as they were meant")
        eventually(lambda: self.silences("a") == before + theirs[1:], SOON, "a has the new one alone")
        self.assertEqual(self.servers["f"].request(
            "DELETE", f"/v1/silences/{odd.json()['silence']['id']}").status, 200)
        self.assertEqual(self.servers["f"].request("DELETE", f"/v1/silences/{number}").status, 200)
        for name, left in (("a", before), ("b", [])):
            eventually(lambda name=name, left=left: self.silences(name) == left, SOON, f"{name} has it no more")

    def wait_for_hearing(self, name, word):
        """Until a cell says so of the fleet cell."""
        eventually(
            lambda: self.servers[name].get("/-/leader").headers["rollcall-fleet-cell"] == word, 40,
            f"{name} says: {word}")

    def fired_at(self, name, status="firing"):
        return [alert for alert, _, _ in self.hooks[name].alerts(status)]

    def test_the_first_cell_that_answers_tells_of_a_dark_fleet_cell(self):
        for name in "ab":
            self.wait_for_hearing(name, "heard")
        self.servers["f"].kill()
        eventually(lambda: self.fired_at("a") == ["FleetDark"], 40, "a tells that the fleet cell is dark")
        self.wait_for_hearing("b", "dark")
        # A cell that has just begun hears nothing, and has not been dark for long: it ends nothing.
        self.servers["b"].kill()
        self.begin("b", self.config("b", LIVENESS + RULES % self.hooks["b"].url))
        self.wait_for_hearing("b", "dark")
        time.sleep(6)
        self.assertEqual((self.fired_at("a", "resolved"), self.fired_at("b")), ([], []))
        sentence = self.servers["a"].get("/v1/status").json()["sentence"]
        self.assertIn("Nothing is heard of the fleet cell", json.dumps(sentence))
        # The first one is gone, too: the next one tells.
        self.servers["a"].kill()
        eventually(lambda: self.fired_at("b") == ["FleetDark"], 40, "b tells it instead")
        # It is back, and tells of it still: the other one leaves it to it.
        self.begin("a", self.config("a", LIVENESS + RULES % self.hooks["a"].url))
        eventually(lambda: self.fired_at("b", "resolved") == ["FleetDark"], 60, "b leaves it to a")
        self.assertEqual(self.fired_at("a", "resolved"), [])
        self.begin("f", self.config("f", LIVENESS + RULES % self.hooks["f"].url))
        eventually(lambda: self.fired_at("a", "resolved") == ["FleetDark"], 40, "a hears it again")
        for name in "ab":
            self.assertEqual(self.fired_at(name), ["FleetDark"])
            self.assertEqual(self.servers[name].stop(), 0)
            self.assert_replays(self.servers[name])

    def test_a_cell_that_alone_is_not_heard_says_nothing_of_the_fleet_cell(self):
        # The fleet cell has a's place wrong from now on, and a's name comes first.
        self.servers["f"].stop()
        self.ports["a"], port = test_cells.free_ports(1)[0], self.ports["a"]
        self.begin("f", self.config("f", LIVENESS + RULES % self.hooks["f"].url))
        self.ports["a"] = port
        self.wait_for_hearing("a", "dark")
        eventually(lambda: ("CellDark", None) in self.fired(), 40, "the fleet cell tells of a")
        # It has asked b by then.
        time.sleep(6)
        self.assertEqual(self.fired_at("a"), [])

    def test_only_a_cell_says_what_its_people_are(self):
        answer = self.servers["a"].get("/v1/cells/summary").json()
        self.assertTrue(answer["whole"])
        behind = self.servers["a"].get(f"/v1/cells/summary?after={answer['position']}").json()
        self.assertGreater(behind["position"], answer["position"])
        self.problem(self.servers["f"].get("/v1/cells/summary"), 404)
        self.problem(self.servers["a"].get("/v1/cells/summary?after=-1"), 400)


if __name__ == "__main__":
    unittest.main()
