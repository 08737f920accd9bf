"""A circle whose members are in two cells: whoever is to be nudged has company there, and it is known
before anything is sent. Real watches.

Source: K3, N3, R3.
"""

import time
import unittest

import test_cells
from rollcall_process import eventually, now_ms, rfc3339
from test_cells import CellTestCase

# Long enough for somebody to be located in each cell before anybody is asked about.
NUDGES = "nudges: {stale_after: 6s, min_interval: 6h}\n"
SOON = 30


class CompanyTests(CellTestCase):
    def setUp(self):
        super().setUp()
        for name in "abf":
            self.begin(name, self.config(name, NUDGES))
        for name in "ab":
            self.wait_for_map(name)

    def locate(self, name, responder, circle="family", **more):
        """Somebody of a cell is located, once."""
        answer = self.servers[name].post("/v1/batches", {
            "responder_id": responder, "circles": [circle], "duty_state": "ON_DUTY",
            "updates": [{"captured_at": rfc3339(now_ms()), "lat": 47.1, "lon": 8.5}], **more})
        self.assertEqual(answer.status, 200, answer)

    def decisions(self, name):
        """The ledger of a cell, oldest first."""
        entries = self.servers[name].get("/v1/nudges").json()["nudges"]
        return [(one["responder_id"], one["decision"], one.get("reason")) for one in reversed(entries)]

    def why_not(self, name, responder):
        answer = self.servers[name].get(f"/v1/responders/{responder}/nudge").json()
        return [one["reason"] if isinstance(one, dict) else one for one in answer["reasons"]]

    def test_members_of_two_cells_are_company(self):
        ours, theirs = test_cells.people("a", 1)[0], test_cells.people("b", 1)[0]
        self.locate("a", ours)
        self.locate("b", theirs)
        for name, one in (("a", ours), ("b", theirs)):
            eventually(
                lambda name=name, one=one: self.decisions(name) == [
                    (one, "hold", "pending_company"), (one, "dry_run", None)],
                SOON, f"{one} is nudged once it is known that they have company")
            scrape = self.servers[name].scrape()
            self.assertEqual(
                scrape("rollcall_nudges_total", decision="hold", reason="pending_company"), 1)
        for name in "ab":
            self.assertEqual(self.servers[name].stop(), 0)
            self.assert_replays(self.servers[name])

    def test_nobody_anywhere_is_nobody(self):
        ours, theirs = test_cells.people("a", 1)[0], test_cells.people("b", 1)[0]
        self.locate("a", ours)
        # Of the same circle, but not expected to report.
        self.locate("b", theirs, duty_state="OFF_DUTY")
        eventually(
            lambda: self.decisions("a") == [
                (ours, "hold", "pending_company"), (ours, "hold", "solo")],
            SOON, "nobody of theirs is active in any cell")
        self.assertEqual(self.why_not("a", ours), ["solo"])
        self.assertEqual(self.decisions("b"), [])

    def test_while_a_cell_is_away_nobody_is_alone(self):
        ours, theirs = test_cells.people("a", 1)[0], test_cells.people("b", 1)[0]
        self.locate("b", theirs)
        self.servers["b"].kill()
        self.locate("a", ours)
        eventually(
            lambda: self.decisions("a") == [(ours, "hold", "pending_company")], SOON, "b was not heard")
        # Nobody can say that nobody is there.
        time.sleep(4)
        self.assertEqual(self.why_not("a", ours), ["pending_company"])
        self.assertEqual(len(self.decisions("a")), 1)
        self.begin("b", self.config("b", NUDGES))
        eventually(
            lambda: self.decisions("a")[1:] == [(ours, "dry_run", None)], 2 * SOON, "b says who is there")

    def test_an_operator_who_asks_again_gets_an_answer(self):
        ours, theirs = test_cells.people("a", 1)[0], test_cells.people("b", 1)[0]
        self.locate("b", theirs)
        # Never located, so that nothing but the ask decides.
        self.assertEqual(self.servers["a"].post("/v1/batches", {
            "responder_id": ours, "circles": ["family"], "duty_state": "ON_DUTY"}).status, 200)

        def ask():
            return self.servers["a"].post("/v1/nudges", {"responder_id": ours, "by": "kim"}).json()
        first = ask()
        self.assertEqual((first["decision"], first["reason"]), ("hold", "pending_company"), first)
        self.assertIn("the others were not heard yet", first["text"])
        eventually(lambda: ask()["decision"] == "dry_run", SOON, "it is known by now", every=0.5)

    def test_only_a_cell_knows_company(self):
        groups = {"circles": ["family"], "regions": []}
        word = {"active": groups, "nobody": groups}
        for method, body in (("POST", groups), ("PUT", word)):
            self.problem(self.servers["f"].request(method, "/v1/cells/company", body), 404)
            self.problem(self.servers["a"].request(method, "/v1/cells/company", {"circles": 1}), 422)
            self.problem(self.servers["a"].request(method, "/v1/cells/company", []), 422)
        answer = self.servers["a"].post("/v1/cells/company", groups)
        self.assertEqual(answer.json(), {"cell": "a", "active": {"circles": [], "regions": []}})
        # Nobody waits for it.
        answer = self.servers["a"].request("PUT", "/v1/cells/company", word)
        self.assertEqual(answer.json(), {"cell": "a", "people": 0})


if __name__ == "__main__":
    unittest.main()
