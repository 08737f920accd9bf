"""A pager refuses, or does not answer, and somebody else is told instead: once, whenever Rollcall is
killed in between, and both learn of the end.

Source: D3.
"""

import time
import unittest

from loopback_receivers import Fleet, Hook, Pager, people
from rollcall_process import RollcallTestCase, eventually

# Paged some 4 s after the last contact, and given away 5 s later.
CONFIG = """
liveness: {{on_duty: {{expected: 1s, degraded_after: 3s, offline_after: 4s}}}}
alerts:
  HighOfflineRate: {{enabled: false}}
  NoOnlineResponders: {{for: 1s, keep_firing_for: 0s}}
receivers:
  - name: oncall
    webhook: {{url: "{oncall}"}}
    fallback: duty-phone
    fallback_after: 5s
  - name: duty-phone
    pagerduty: {{url: "{duty}", routing_key_file: routing.key}}
    match: none
"""
SOON = 15
REASON = "oncall has not taken it for "


class FallbackTests(RollcallTestCase):
    def begin(self, oncall):
        """A ready server, and a fleet of which the north is cut off."""
        self.duty = Pager(self)
        with open(f"{self.directory}/routing.key", "w", encoding="utf-8") as file:
            file.write(Pager.ROUTING_KEY + "\n")
        server = self.serve(CONFIG.format(oncall=oncall.url, duty=self.duty.url))
        fleet = Fleet(self, server, people("north", 2) + people("south", 1)).start()
        eventually(
            lambda: server.get("/v1/status").json()["responders"]["ONLINE"] == 3, SOON,
            "everybody is ONLINE")
        fleet.cut(*fleet.of("north"))
        return server, fleet

    def alert(self, server):
        """The alert of the north as it is now."""
        return next(
            (a for a in server.get("/v1/alerts").json()["alerts"] if a["state"] == "firing"), None)

    def test_what_a_pager_refuses_reaches_the_fallback_once_over_kills(self):
        oncall = Hook(self, refusals=1000, refusal=500)
        server, fleet = self.begin(oncall)
        oncall.first(lambda _: True, SOON, "an attempt")
        # Killed before it is given away: the pager has its time anew.
        server.kill()
        server.start()
        incident = eventually(
            lambda: next(iter(self.duty.incidents), None), SOON, "the fallback is paged")
        self.assertRegex(incident.key, r"^rollcall-[0-9a-f]{16}-[0-9]+-duty-phone$")
        self.assertIn("(fallback for oncall)", incident.payload["summary"])
        details = incident.payload["custom_details"]
        self.assertTrue(details["fallback"].startswith(REASON), details)
        self.assertIn("answered 500", details["fallback"])
        self.assertIn(REASON, details["description"])
        # Killed at once after it is: nobody is paged again.
        server.kill()
        server.start()
        alert = eventually(
            lambda: (a := self.alert(server)) and a["told"] and a, SOON, "it is told as taken")
        self.assertEqual(
            [(one["receiver"], one["fallback_of"]) for one in alert["told"]],
            [("duty-phone", "oncall")])
        states = {one["receiver"]: one["state"] for one in alert["receivers"]}
        self.assertEqual(set(states), {"oncall", "duty-phone"})
        self.assertNotEqual(states["oncall"], "taken")
        # History tells when what is not taken is tried again, as the list of now does.
        def told():
            incident = server.get("/v1/alerts/history").json()["incidents"][0]
            return {one["receiver"]: one for one in incident["receivers"]}
        eventually(lambda: "next_attempt_at" in told()["oncall"], SOON, "the next attempt")
        self.assertNotIn("next_attempt_at", told()["duty-phone"])
        # The fallback knows, so somebody has been reached.
        self.assertIsNone(server.get("/v1/status").json()["nobody_reached"])
        self.assertEqual(
            server.scrape()("rollcall_fallbacks_total", receiver="oncall", fallback="duty-phone"), 1)
        server.kill()
        server.start()
        time.sleep(6)
        # The pager takes it after all, and both learn of the end.
        oncall.refusals = 0
        oncall.first(lambda r: r.json()["status"] == "firing" and oncall.refusals == 0, 20, "a page")
        eventually(
            lambda: {one["receiver"] for one in self.alert(server)["told"]}
            == {"oncall", "duty-phone"}, 40, "both have taken it")
        fleet.restore(*fleet.of("north"))
        eventually(lambda: not incident.is_open, SOON, "the fallback learns of the end")
        oncall.first(lambda r: r.json()["status"] == "resolved", SOON, "so does the pager")
        self.assertEqual(len(self.duty.incidents), 1)
        self.assertEqual((self.duty.faults, self.duty.ghosts), ([], []))
        history = server.get("/v1/alerts/history").json()["incidents"][0]
        self.assertEqual(
            [(n["receiver"], n["kind"]) for n in history["notices"]].count(("duty-phone", "fired")), 1)
        self.assertIn(
            ("duty-phone", "oncall"),
            {(one["receiver"], one.get("fallback_of")) for one in history["receivers"]})
        self.assertEqual(server.stop(), 0)
        self.assert_replays(server)

    def test_what_is_taken_or_over_in_time_is_given_to_nobody(self):
        oncall = Hook(self)
        server, fleet = self.begin(oncall)
        oncall.first(lambda _: True, SOON, "a message")
        time.sleep(6)
        self.assertEqual(self.duty.requests, [])
        fleet.restore(*fleet.of("north"))
        oncall.first(lambda r: r.json()["status"] == "resolved", SOON, "the end")
        self.assertEqual(self.duty.requests, [])
        self.assertEqual(
            server.scrape()("rollcall_fallbacks_total", receiver="oncall", fallback="duty-phone"), 0)

    def test_a_reload_that_sets_a_fallback_gives_it_what_waits(self):
        oncall = Hook(self, refusals=1000, refusal=403)
        server, _ = self.begin(oncall)
        text = CONFIG.format(oncall=oncall.url, duty=self.duty.url)
        server.configure(text.replace("    fallback: duty-phone\n    fallback_after: 5s\n", ""))
        self.assertEqual(server.post("/-/reload", b"").status, 200)
        oncall.first(lambda _: True, SOON, "an attempt")
        time.sleep(6)
        self.assertEqual(self.duty.requests, [])
        server.configure(text)
        self.assertEqual(server.post("/-/reload", b"").status, 200)
        eventually(lambda: self.duty.incidents, SOON, "the fallback is paged")
        for wrong in ("fallback: nobody", "fallback: oncall"):
            server.configure(text.replace("fallback: duty-phone", wrong))
            self.assertEqual(server.post("/-/reload", b"").status, 422)


if __name__ == "__main__":
    unittest.main()
