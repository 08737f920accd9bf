"""Each person who goes OFFLINE alerts where somebody asks for it: who left, who is back and what it was.

Source: R1.
"""

import time
import unittest

from loopback_receivers import Fleet, Hook, people
from rollcall_process import RollcallTestCase, eventually

CONFIG = """
liveness: {{on_duty: {{expected: 1s, degraded_after: 4s, offline_after: 6s}}}}
alerts:
  HighOfflineRate: {{enabled: false}}
  ResponderFlapping: {{enabled: false}}
  NoOnlineResponders: {{enabled: false}}
  {offline}
receivers:
  - name: chat
    webhook: {{url: "{url}"}}
"""
ON = "ResponderOffline: {enabled: true}"
SOON = 20
# The half minute between two messages, and a machine that is busy.
PACE = 45
NAME = "ResponderOffline"


class OfflineTests(RollcallTestCase):
    def begin(self, offline=ON):
        self.hook = Hook(self)
        server = self.serve(CONFIG.format(url=self.hook.url, offline=offline))
        fleet = Fleet(
            self, server, people("north", 3, power_mode="low_power") + people("south", 1)).start()
        eventually(
            lambda: server.get("/v1/status").json()["responders"]["ONLINE"] == 4, SOON,
            "everybody is ONLINE")
        return server, fleet

    def configure(self, server, offline):
        server.configure(CONFIG.format(url=self.hook.url, offline=offline))
        self.assertEqual(server.post("/-/reload", b"").status, 200)

    def told(self):
        """The summaries that the webhook was told, by the status of their alerts."""
        return [
            (alert["status"], alert["annotations"]["summary"])
            for request in list(self.hook.requests) for alert in request.json()["alerts"]
            if alert["labels"]["alertname"] == NAME]

    def test_who_left_and_who_is_back_over_a_kill(self):
        server, fleet = self.begin()
        first, second = fleet.of("north")[:2]
        fleet.cut(first)
        eventually(self.told, SOON, "the first is told")
        self.assertEqual(
            self.told(), [("firing", f"north: 1 of 3 OFFLINE: {first} (low_power)")])
        labels = self.hook.requests[0].json()["alerts"][0]["labels"]
        self.assertEqual(
            labels, {"alertname": NAME, "severity": "info", "region": "north"})
        began = self.hook.requests[0].at
        fleet.cut(second)
        eventually(
            lambda: server.get("/v1/status").json()["responders"]["OFFLINE"] == 2, SOON,
            "two are OFFLINE")
        self.assertEqual(
            server.scrape()("rollcall_responders_missed", region="north"), 2)
        fleet.restore(first)
        eventually(
            lambda: server.get("/v1/status").json()["responders"]["OFFLINE"] == 1, SOON,
            "one is back")
        self.assertEqual(len(self.told()), 1)
        server.kill()
        server.start()
        eventually(lambda: len(self.told()) > 1, PACE, "the change is told")
        status, summary = self.told()[1]
        self.assertEqual(status, "firing")
        self.assertRegex(
            summary,
            rf"^north: 1 of 3 OFFLINE; left: {second} \(low_power\); "
            rf"{first} back after \d+ s: it was low_power$")
        self.assertGreater(self.hook.requests[-1].at - began, 29)
        fleet.restore(second)
        eventually(
            lambda: self.told()[-1][0] == "resolved", SOON, "nobody is OFFLINE any more")
        self.assertRegex(
            self.told()[-1][1],
            rf"^Over: north: nobody is OFFLINE any more; {second} back after \d+ s: "
            r"it was low_power$")
        self.assertEqual(server.scrape()("rollcall_responders_missed", region="north"), 0)

    def test_a_reload_turns_it_on_and_off(self):
        server, fleet = self.begin(offline="storm: 50")
        fleet.cut(*fleet.of("south"))
        eventually(
            lambda: server.get("/v1/status").json()["responders"]["OFFLINE"] == 1, SOON,
            "one is OFFLINE")
        self.assertEqual(server.scrape()("rollcall_responders_missed", region="south"), 0)
        self.configure(server, "ResponderOffline: {enabled: true, regions: [north]}")
        self.configure(server, "ResponderOffline: {enabled: true, duty_states: [ON_MISSION]}")
        time.sleep(1)
        self.assertEqual(self.told(), [])
        self.configure(server, ON)
        eventually(self.told, SOON, "it is told")
        self.configure(server, "storm: 50")
        eventually(lambda: len(self.told()) > 1, SOON, "it is over")
        person = fleet.of("south")[0]
        self.assertEqual(
            [status for status, _ in self.told()], ["firing", "resolved"])
        self.assertRegex(self.told()[0][1], rf"^south: 1 of 1 OFFLINE: {person} \(\w+\)$")


if __name__ == "__main__":
    unittest.main()
