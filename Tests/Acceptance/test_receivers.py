"""People's receivers beside pagers and chats: ntfy and Opsgenie are told of what fires and of its
end, over kills and through refusals.

Source: A8, A9, D1, D8, D11; docs.ntfy.sh; docs.opsgenie.com.
"""

import re
import time
import unittest

from loopback_pagers import Ntfy
from loopback_receivers import Fleet, people
from rollcall_process import RollcallTestCase, eventually

CONFIG = """
web: {{external_url: "https://rollcall.example.org"}}
liveness: {{on_duty: {{expected: 1s, degraded_after: 1s, offline_after: 2s}}}}
alerts:
  HighOfflineRate: {{enabled: false}}
  ResponderFlapping: {{enabled: false}}
  NoOnlineResponders: {{for: 1s, keep_firing_for: 0s, runbook_url: "https://wiki.example.org/nobody"}}
receivers:
  - {receiver}
"""
SOON = 15
REGION = "Nørrebro, Süd ☂"


class ReceiversTestCase(RollcallTestCase):
    def begin(self, receiver, regions=(REGION,), each=2):
        """A ready server that tells `receiver`, and a fleet of which some regions are cut off."""
        self.server = self.serve(CONFIG.format(receiver=receiver))
        staff = people("south", 1) + [one for name in regions for one in people(name, each)]
        fleet = Fleet(self, self.server, staff).start()
        eventually(
            lambda: self.server.get("/v1/status").json()["responders"]["ONLINE"] == len(staff), SOON,
            "everybody is ONLINE")
        fleet.cut(*[person for name in regions for person in fleet.of(name)])
        return fleet

    def drill(self, name):
        """Asks for a drill and returns it once its first attempt is over."""
        number = self.server.post("/v1/drill", {"receiver": name}).json()["drill"]

        def attempt():
            targets = self.server.get(f"/v1/drill/{number}").json()["targets"]
            made = targets[0]["attempts"] if targets else []
            return made[0] if made and made[0]["took_ms"] is not None else None
        return eventually(attempt, SOON, "an attempt")


class NtfyTests(ReceiversTestCase):
    def setUp(self):
        super().setUp()
        self.ntfy = Ntfy(self)

    def receiver(self, more=""):
        return f'{{name: phones, ntfy: {{url: "{self.ntfy.url}"{more}}}}}'

    def test_a_phone_reads_where_why_and_where_to_look_and_that_it_is_over(self):
        fleet = self.begin(self.receiver(f", bearer_token: {Ntfy.TOKEN}"))
        self.ntfy.first(lambda _: True, SOON, "a message")
        # Killed after it is taken: it is not told twice.
        eventually(lambda: "receiver told" in self.server.log(), SOON, "that is stored")
        self.server.kill()
        self.server.start()
        time.sleep(2)
        fleet.restore(*fleet.of(REGION))
        eventually(lambda: len(self.ntfy.messages) == 2, SOON, "its end")
        self.assertEqual(self.ntfy.faults, [])
        fired, ended = self.ntfy.messages
        self.assertTrue(
            fired["title"].startswith(f"FIRING: {REGION}: nobody online, 2 of 2"), fired["title"])
        self.assertEqual((fired["priority"], fired["tags"]), (5, ["rotating_light", "NoOnlineResponders"]))
        self.assertRegex(fired["click"], r"^https://rollcall\.example\.org/alerts\?incident=\d+$")
        self.assertIn("count: 2\n", fired["message"])
        self.assertIn("\nRunbook: https://wiki.example.org/nobody\n", fired["message"])
        self.assertTrue(ended["title"].startswith(f"RESOLVED: {REGION}: "), ended["title"])
        self.assertEqual((ended["priority"], ended["tags"][0]), (2, "white_check_mark"))
        self.assertEqual(ended["click"], fired["click"])

    def test_a_drill_reaches_a_user_with_a_password_and_a_wrong_one_is_told(self):
        self.server = self.serve(CONFIG.format(receiver=self.receiver(
            f", username: {Ntfy.USER}, password: {Ntfy.PASSWORD}")))
        self.assertEqual(self.drill("phones")["status"], 200)
        eventually(lambda: len(self.ntfy.messages) == 2, SOON, "the drill and its end")
        self.assertTrue(self.ntfy.messages[0]["title"].startswith("FIRING: DRILL: "))
        self.assertEqual(self.ntfy.messages[0]["priority"], 3)
        self.server.configure(CONFIG.format(receiver=self.receiver(", bearer_token: tk_wr0ng-wr0ng")))
        self.assertEqual(self.server.post("/-/reload", b"").status, 200)
        attempt = self.drill("phones")
        self.assertEqual(attempt["status"], 403)
        self.assertRegex(attempt["error"], r"^http://127\.0\.0\.1:\d+: answered 403: forbidden$")
        for secret in ("wr0ng", Ntfy.PASSWORD, Ntfy.TOPIC):
            self.assertNotIn(secret, self.server.log())

    def test_a_storm_is_one_message_that_leads_to_all(self):
        self.begin(self.receiver(f", bearer_token: {Ntfy.TOKEN}"),
                   [f"r-{n:02}" for n in range(60)], each=1)
        eventually(lambda: self.ntfy.messages, SOON, "a message")
        time.sleep(3)
        self.assertEqual(self.ntfy.faults, [])
        storms = [m for m in self.ntfy.messages if "60 regions" in m["title"]]
        self.assertEqual(len(storms), 1, [m["title"] for m in self.ntfy.messages])
        self.assertEqual(
            storms[0]["click"], "https://rollcall.example.org/alerts?alertname=NoOnlineResponders")


if __name__ == "__main__":
    unittest.main()
