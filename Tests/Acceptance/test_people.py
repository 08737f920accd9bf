"""Rosters, whole and in parts; erasures and what is left of a person in the store's bytes.

Source: I11, F17.
"""

import os
import unittest

from rollcall_process import RollcallTestCase, eventually, now_ms

MARK = "Zz9marker"
SHORT = """
liveness:
  on_duty: {expected: 20ms, degraded_after: 50ms, offline_after: 120ms}
"""


def entry(number):
    return {"responder_id": f"r-{number}", "duty_state": "ON_DUTY"}


class RosterTests(RollcallTestCase):
    """`PUT /v1/responders`."""

    def retired(self, server):
        return server.scrape()("rollcall_responders_not_expected", reason="retired")

    def put(self, server, body, query=""):
        return server.request("PUT", f"/v1/responders{query}", body)

    def test_who_is_not_in_a_roster_is_retired(self):
        server = self.serve()
        answer = self.put(server, [entry(n) for n in range(8)])
        self.assertEqual(answer.status, 200)
        self.assertEqual(answer.json()["accepted"], 8)
        self.assertEqual(answer.json()["retired"], 0)
        answer = self.put(server, [entry(n) for n in range(5)])
        self.assertEqual(answer.json()["retired"], 3)
        self.assertEqual(server.responder("r-7")["not_expected"], "retired")
        self.assertEqual(self.put(server, [entry(n) for n in range(8)]).json()["retired"], 0)
        self.assertEqual(server.responder("r-7")["status"], "UNKNOWN")

    def test_a_failed_query_does_not_switch_the_watch_off(self):
        server = self.serve()
        self.put(server, [entry(n) for n in range(12)])
        document = self.problem(self.put(server, []), 409)
        self.assertIn("12 of 12", document["detail"])
        self.assertEqual(self.retired(server), 0)
        self.assertEqual(self.put(server, [], "?shrink=allow").json()["retired"], 12)
        self.problem(self.put(server, [], "?shrink=maybe"), 400)
        self.problem(self.put(server, [], "?more=true"), 400)
        self.problem(self.put(server, [], "?lost=1"), 400)
        self.problem(self.put(server, "no json"), 400)
        self.assertEqual(self.put(server, [{"duty_state": "ON_DUTY"}]).status, 422)

    def test_a_roster_in_parts_survives_a_crash_between_them(self):
        server = self.serve()
        self.put(server, [entry(n) for n in range(40)])
        for first in (0, 10):
            part = [entry(n) for n in range(first, first + 10)]
            answer = self.put(server, part, "?roster=a&more=true")
            self.assertEqual(answer.status, 200)
            self.assertNotIn("retired", answer.json())
        server.kill()
        server.start()
        last = [entry(n) for n in range(20, 30)]
        self.assertEqual(self.put(server, last, "?roster=a").json()["retired"], 10)
        # A retry of the last part is one; another use of the id is a mistake.
        again = self.put(server, last, "?roster=a")
        self.assertEqual((again.status, again.json()["duplicates"]), (200, 10))
        self.problem(self.put(server, [entry(1)], "?roster=a"), 409)
        self.problem(self.put(server, [entry(1)], "?roster=a&more=true"), 409)
        self.assertEqual(self.retired(server), 10)
        server.kill()
        server.start()
        self.assertEqual(self.retired(server), 10)
        self.assertEqual(server.scrape()("rollcall_refold_differences_total"), 0)

    def test_a_refused_roster_does_not_come_back_with_a_restart(self):
        server = self.serve()
        self.put(server, [entry(n) for n in range(4)])
        self.assertEqual(server.request("DELETE", "/v1/responders/r-3").status, 202)
        # All of it is refused, so it says nothing about the others.
        answer = self.put(server, [entry(3)], "?shrink=allow")
        self.assertEqual(answer.status, 422)
        server.kill()
        server.start()
        self.assertEqual(self.retired(server), 0)


class ErasureTests(RollcallTestCase):
    """`DELETE /v1/responders/{id}`."""

    def person(self, name, first=0):
        """Everything that can be told of somebody, all of it marked."""
        return {
            "responder_id": name, "duty_state": "ON_DUTY", "region": f"{name}-region",
            "circles": [f"{name}-circle", "c-1"], "install_id": f"{name}-install",
            "os_version": f"{name}-os", "app_version": f"{name}-app", "platform": "ios",
            "updates": [{"sequence": n, "captured_at": now_ms()} for n in range(first, first + 3)],
        }

    def tell(self, server, name, first):
        server.write("/v1/batches", [self.person(name, first), self.person("r-1", first)])
        server.write("/v1/responders", [
            {"responder_id": name, "push_token": f"{name}-token", "region": f"{name}-home"},
            {"responder_id": "r-2", "region": "north"}])
        server.write("/v1/transitions", {
            "responder_id": name, "from": "ONLINE", "to": "OFFLINE", "id": f"{name}-transition"})

    def traces(self):
        """Files of the store that still hold the mark.

        In the log a region's name may stay, as the page about operating says (D4), and nothing else of them.
        """
        found = []
        for name in sorted(os.listdir(self.directory)):
            with open(os.path.join(self.directory, name), "rb") as file:
                content = file.read()
            if name.endswith(".log"):
                for region in (f"{MARK}-region", f"{MARK}-home"):
                    content = content.replace(region.encode(), b"")
            if MARK.encode() in content:
                found.append(name)
        return found

    def erase(self, server, name):
        answer = server.request("DELETE", f"/v1/responders/{name}")
        self.assertEqual(answer.status, 202, answer)
        where = answer.headers["location"]
        self.assertEqual(where, f"/v1/erasures/{answer.json()['erasure']}")
        return where

    def done(self, server, where):
        def answer():
            state = server.get(where).json()
            return state if state["state"] == "done" else None
        return eventually(answer, 20, "the erasure is done")

    def test_nothing_is_left_of_an_erased_person(self):
        server = self.serve(SHORT)
        for round_ in range(3):
            self.tell(server, MARK, round_ * 10)
        # A checkpoint and a tail behind it, which both hold the person.
        self.assertEqual(server.stop(), 0)
        server.start()
        for round_ in range(3, 60):
            self.tell(server, MARK, round_ * 10)
        self.assertTrue(self.traces())
        where = self.erase(server, MARK)
        self.problem(server.get(f"/v1/responders/{MARK}"), 404)
        state = self.done(server, where)
        self.assertEqual(state["rows"], 180)
        self.assertGreater(state["decisions"], 3)
        self.assertEqual(state["kept"], ["names and words of who silences, takes and asks"])
        self.assertEqual(self.traces(), [])
        self.assertEqual(server.scrape()("rollcall_erasures_pending"), 0)
        self.assertNotIn(MARK, server.get("/metrics").text)
        # The others are as they were, also after a crash.
        before = server.responder("r-2")
        server.kill()
        server.start()
        self.assertEqual(server.responder("r-2")["region"], before["region"])
        self.assertEqual(server.scrape()("rollcall_refold_differences_total"), 0)
        self.assertEqual(server.get(where).json()["state"], "done")
        self.assertEqual(self.traces(), [])

    def test_an_erased_id_is_refused_until_it_is_named_again(self):
        server = self.serve()
        self.tell(server, MARK, 0)
        where = self.erase(server, MARK)
        refused = server.post("/v1/batches", {"responder_id": MARK})
        self.assertEqual(refused.status, 422)
        self.assertIn("erased", refused.json()["rejected"][0]["detail"])
        server.kill()
        server.start()
        self.assertEqual(server.post("/v1/batches", {"responder_id": MARK}).status, 422)
        self.done(server, where)
        server.write("/v1/responders", {"responder_id": MARK, "duty_state": "ON_DUTY"})
        server.write("/v1/batches", {"responder_id": MARK})
        self.assertEqual(server.responder(MARK)["status"], "ONLINE")

    def test_an_erasure_is_finished_after_a_crash(self):
        server = self.serve()
        for round_ in range(100):
            self.tell(server, MARK, round_ * 10)
        where = self.erase(server, MARK)
        for _ in range(5):
            server.kill()
            server.start()
        self.done(server, where)
        self.assertEqual(self.traces(), [])
        self.assertEqual(server.responder("r-2")["region"], "north")

    def test_whoever_asks_twice_or_for_a_stranger_gets_the_same(self):
        server = self.serve()
        server.write("/v1/batches", {"responder_id": "r-1"})
        where = self.erase(server, MARK)
        self.done(server, where)
        self.assertEqual(self.erase(server, MARK), where)
        self.assertEqual(self.traces(), [])
        self.problem(server.get("/v1/erasures/999999"), 404)
        self.problem(server.get("/v1/erasures/x"), 404)
        self.assertEqual(server.request("DELETE", "/v1/erasures/1").status, 405)


if __name__ == "__main__":
    unittest.main()
