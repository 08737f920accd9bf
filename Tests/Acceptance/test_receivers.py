"""People's receivers beside pagers and chats: ntfy and Opsgenie are told of what fires and of its
end, over kills and through refusals.

Source: A8, A9, D1, D8, D11; docs.ntfy.sh; docs.opsgenie.com.
"""

import signal
import time
import unittest

from loopback_pagers import Ntfy, Opsgenie
from loopback_receivers import Fleet, people
from rollcall_process import RollcallTestCase, eventually

CONFIG = """
web: {{external_url: "https://rollcall.example.org"}}
liveness: {{on_duty: {{expected: 1s, degraded_after: 3s, offline_after: 4s}}}}
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

    def wait_until_kept(self):
        """Until the store holds that something is delivered: what is killed before that tells it again."""
        def is_kept():
            incidents = self.server.get("/v1/alerts/history").json()["incidents"]
            return any(target["outcome"] == "delivered" for incident in incidents
                       for notice in incident["notices"] for target in notice["targets"])
        eventually(is_kept, SOON, "it is kept that it was taken")

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
        self.wait_until_kept()
        self.server.kill()
        self.server.start()
        time.sleep(2)
        fleet.restore(*fleet.of(REGION))
        eventually(lambda: len(self.ntfy.messages) == 2, SOON, "its end")
        self.assertEqual(self.ntfy.faults, [])
        fired, ended = self.ntfy.messages
        self.assertTrue(
            fired["title"].startswith(f"FIRING: Nobody can be reached in {REGION}, 2 of 2"), fired["title"])
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


class OpsgenieTests(ReceiversTestCase):
    def setUp(self):
        super().setUp()
        self.opsgenie = Opsgenie(self)

    def receiver(self, more=""):
        return f'{{name: team, opsgenie: {{api_url: "{self.opsgenie.url}/", api_key_file: key}}{more}}}'

    def write_key(self, key):
        with open(f"{self.directory}/key", "w", encoding="ascii") as file:
            file.write(key + "\n")

    def test_an_alert_is_created_once_over_kills_and_closed_by_its_alias(self):
        self.write_key(Opsgenie.KEY)
        fleet = self.begin(self.receiver(", send_resolved: true"))
        alert = eventually(lambda: next(iter(self.opsgenie.alerts), None), SOON, "an alert")
        self.server.kill()
        self.server.start()
        time.sleep(2)
        fleet.restore(*fleet.of(REGION))
        eventually(lambda: not alert.is_open, SOON, "it is closed")
        self.assertEqual((self.opsgenie.faults, self.opsgenie.ghosts), ([], []))
        self.assertEqual(len(self.opsgenie.alerts), 1)
        body = alert.body
        self.assertRegex(body["alias"], r"^rollcall-[0-9a-f]{16}-\d+$")
        self.assertTrue(body["message"].startswith(f"Nobody can be reached in {REGION}, 2 of 2"), body)
        self.assertEqual(
            (body["priority"], body["entity"], body["source"], body["tags"]),
            ("P1", REGION, "rollcall", ["NoOnlineResponders", "critical"]))
        self.assertEqual((body["details"]["count"], body["details"]["total"]), ("2", "2"))
        self.assertRegex(
            body["description"], r"\nRunbook: https://wiki\.example\.org/nobody\n"
            r"Rollcall: https://rollcall\.example\.org/alerts\?incident=\d+$")

    def test_a_wrong_key_is_told_without_it_and_the_right_one_sends_what_waits(self):
        self.write_key("wr0ng-key-0123")
        self.begin(self.receiver())
        eventually(lambda: "receiver refuses" in self.server.log(), SOON, "a word in the log")
        self.assertIn("answered 422: API Key <secret> is not valid!", self.server.log())
        self.assertEqual(self.opsgenie.alerts, [])
        self.write_key(Opsgenie.KEY)
        self.server.process.send_signal(signal.SIGHUP)
        eventually(lambda: self.opsgenie.alerts, SOON, "the alert")
        self.assertNotIn("wr0ng", self.server.log())
        self.assertNotIn(Opsgenie.KEY, self.server.log())

    def test_a_drill_reaches_it_and_the_close_of_what_it_forgot_is_taken(self):
        self.write_key(Opsgenie.KEY)
        self.server = self.serve(CONFIG.format(receiver=self.receiver()))
        self.assertEqual(self.drill("team")["status"], 202)
        eventually(lambda: self.opsgenie.alerts and not self.opsgenie.alerts[0].is_open, SOON, "its end")
        self.assertEqual(self.opsgenie.alerts[0].body["priority"], "P5")
        self.opsgenie.says_unknown = True
        # It forgets whatever it is told.
        judge = self.opsgenie.judge

        def forget(told):
            answer = judge(told)
            self.opsgenie.alerts.clear()
            return answer
        self.opsgenie.judge = forget
        self.assertEqual(self.drill("team")["status"], 202)
        eventually(lambda: self.opsgenie.ghosts, SOON, "a close of what is not known")
        eventually(
            lambda: self.server.get("/v1/status").json()["receivers"][0]["pending"] == 0, SOON,
            "it is taken")
        self.assertNotIn("receiver refuses", self.server.log())

    def test_a_storm_is_one_alert(self):
        self.write_key(Opsgenie.KEY)
        fleet = self.begin(self.receiver(), [f"r-{n:02}" for n in range(60)], each=1)
        alert = eventually(lambda: next(iter(self.opsgenie.alerts), None), SOON, "an alert")
        time.sleep(3)
        self.assertEqual((self.opsgenie.faults, len(self.opsgenie.alerts)), ([], 1))
        self.assertIn("60 regions", alert.body["message"])
        self.assertRegex(alert.body["alias"], r"-NoOnlineResponders-\d+$")
        fleet.restore(*fleet.people)
        eventually(lambda: not alert.is_open, SOON, "it is closed")

    def test_a_reload_with_another_key_says_what_may_stay_open(self):
        self.write_key(Opsgenie.KEY)
        self.begin(self.receiver())
        eventually(lambda: "receiver told" in self.server.log(), SOON, "an alert")
        self.write_key("an0ther-key-0123")
        self.assertEqual(self.server.post("/-/reload", b"").status, 200)
        self.assertIn("may stay open at Opsgenie, 1 at most: look there", self.server.log())


if __name__ == "__main__":
    unittest.main()
