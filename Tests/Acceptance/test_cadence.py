"""Phones in the background: two cadences, one batch at each change, and what a phone promises.

The issue's six hours, compressed: behind, 15 minutes are some 2 s here, and the three minutes
after which a death in front is told are 1.5 s. Source: P5.
"""

import threading
import time
import unittest

from rollcall_process import RollcallTestCase, eventually, now_ms

SETTINGS = """
liveness:
  on_duty:
    {expected: 100ms, degraded_after: 700ms, offline_after: 1500ms,
     background: {expected: 2s, degraded_after: 4s, offline_after: 8s}}
  promise_max: 30s
"""


class CadenceTests(RollcallTestCase):
    """Thresholds of the background, and promises, in the binary."""

    def statuses(self, server, name):
        """What became of somebody, oldest first."""
        events = server.get(f"/v1/responders/{name}/timeline").json()["events"]
        return [event["to"] for event in reversed(events) if event["kind"] == "status"]

    def live(self, server, name, behind):
        """In front, 5 reports a second; behind, one each 2 to 3 s: five times."""
        for turn in range(4):
            for _ in range(6):
                self.report(server, name, app_state="foreground")
                time.sleep(0.2)
            for pause in (2.0, 2.6):
                self.report(server, name, **behind)
                time.sleep(pause)

    def report(self, server, name, app_state=None, **more):
        telemetry = {"telemetry": {"app_state": app_state}} if app_state else {}
        # Each with a connection of its own: phones report at once.
        client = server.client()
        answer = client.request("POST", "/v1/batches", {
            "responder_id": name, "duty_state": "ON_DUTY", **telemetry, **more})
        client.close()
        self.assertEqual(answer.status, 200, answer)

    def test_a_living_phone_is_never_offline_and_a_death_in_front_is_told(self):
        server = self.serve(SETTINGS)
        habits = {
            "state": {"app_state": "background"},
            "promise": {"next_expected_in": "3s"},
            "both": {"app_state": "suspended", "next_expected_in": 3},
        }
        lives = [
            threading.Thread(target=self.live, args=(server, name, behind))
            for name, behind in habits.items()]
        for life in lives:
            life.start()
        for life in lives:
            life.join()
        for name in habits:
            self.assertNotIn("OFFLINE", self.statuses(server, name), name)
        died = now_ms()
        for name in habits:
            self.report(server, name, app_state="foreground")
        eventually(
            lambda: all(server.responder(name)["status"] == "OFFLINE" for name in habits), 6,
            "all are OFFLINE")
        self.assertLess(now_ms() - died, 4000)

    def test_who_goes_behind_without_a_word_is_offline(self):
        server = self.serve(SETTINGS)
        self.report(server, "silent", app_state="foreground")
        eventually(
            lambda: server.responder("silent")["status"] == "OFFLINE", 6, "OFFLINE in front")

    def test_a_promise_is_answered_and_outlives_a_crash(self):
        server = self.serve(SETTINGS)
        self.report(server, "kept", next_expected_in=8)
        self.report(server, "mission", duty_state="ON_MISSION", next_expected_in=8)
        person = server.responder("kept")
        self.assertEqual(person["status"], "ONLINE")
        self.assertIn("promised_until", person)
        self.assertNotIn("promised_until", server.responder("mission"))
        server.kill()
        server.start()
        self.assertEqual(
            server.responder("kept")["promised_until"], person["promised_until"])

    def test_what_is_no_promise_is_named_and_ignored(self):
        server = self.serve(SETTINGS)
        answer = server.post("/v1/batches", {"responder_id": "odd", "next_expected_in": -5}).json()
        self.assertEqual(answer["accepted"], 1)
        self.assertEqual(
            [(one["pointer"]) for one in answer["problems"]], ["/next_expected_in"])
        self.assertNotIn("promised_until", server.responder("odd"))


if __name__ == "__main__":
    unittest.main()
