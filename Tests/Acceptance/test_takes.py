"""Somebody says that they see to an incident: nobody is told again, and nobody further, until that ends.

Source: R2, R7, and the scope `act`.
"""

import base64
import os
import subprocess
import time
import unittest

from loopback_receivers import Fleet, Hook, Pager, people
from rollcall_process import (
    BINARY, RollcallTestCase, eventually, milliseconds, now_ms, plain_environment, rfc3339)

# Paged some 4 s after the last contact.
CONFIG = """
liveness: {{on_duty: {{expected: 1s, degraded_after: 3s, offline_after: 4s}}}}
alerts:
  HighOfflineRate: {{enabled: false}}
  NoOnlineResponders: {{for: 1s, keep_firing_for: 0s}}
receivers:
  - name: oncall
    pagerduty: {{url: "{oncall}", routing_key: {key}}}
  - name: boss
    webhook: {{url: "{boss}"}}
    escalate_after: {after}
{more}
"""
SOON = 15
KEYS = {name: f"{name}-0123456789abcdef" for name in ("ops", "boss", "eye", "phones")}
TOKENS = """
web:
  tokens:
    - {{name: ops, scopes: [act, read], token: {ops}}}
    - {{name: boss, scopes: [admin], token: {boss}}}
    - {{name: eye, scopes: [read], token: {eye}}}
    - {{name: phones, scopes: [ingest], token: {phones}}}
""".format(**KEYS)


def bearer(name):
    """The head of somebody who shows their token as they should."""
    return {"Authorization": f"Bearer {KEYS[name]}"}


class TakeTests(RollcallTestCase):
    def begin(self, after="2s", more=""):
        """A server, its pager and its boss, and a fleet of which the north was cut off and is paged."""
        self.oncall, self.boss = Pager(self), Hook(self)
        server = self.serve(CONFIG.format(
            oncall=self.oncall.url, key=Pager.ROUTING_KEY, boss=self.boss.url, after=after,
            more=more))
        fleet = Fleet(self, server, people("north", 2) + people("south", 1)).start()
        eventually(
            lambda: server.get("/v1/status").json()["responders"]["ONLINE"] == 3, SOON,
            "everybody is ONLINE")
        fleet.cut(*fleet.of("north"))
        incident = eventually(
            lambda: next(iter(self.oncall.incidents), None), SOON, "the pager is paged")
        return server, fleet, incident

    def close(self, server):
        """From now on only who has a token is let in."""
        with open(server.config_path, encoding="utf-8") as file:
            server.configure(file.read() + TOKENS)
        self.assertEqual(server.post("/-/reload", b"").status, 200)

    @staticmethod
    def alert(server):
        """The alert of the north as it is now."""
        return next(a for a in server.get("/v1/alerts").json()["alerts"] if a["state"] == "firing")

    def test_what_somebody_takes_by_the_pagers_key_goes_no_further_over_a_kill(self):
        server, fleet, incident = self.begin(after="6s")
        alert = self.alert(server)
        self.assertEqual(alert["key"], incident.key)
        self.assertIsNone(alert["taken"])
        self.assertEqual([one["receiver"] for one in alert["escalations"]], ["boss"])
        due = milliseconds(alert["escalations"][0]["at"])
        self.assertAlmostEqual(due, milliseconds(alert["starts_at"]) + 6000, delta=50)
        taken = server.post(
            f"/v1/incidents/{incident.key}/take", {"by": "kim", "note": "calling", "duration": "15s"})
        self.assertEqual(taken.status, 200, taken)
        take = taken.json()["taken"]
        self.assertEqual(
            (take["by"], take["note"], take["token"], take["incident"]),
            ("kim", "calling", None, alert["incident"]))
        end = milliseconds(take["until"])
        self.assertAlmostEqual(end - milliseconds(take["at"]), 15_000, delta=100)
        server.kill()
        server.start()
        alert = self.alert(server)
        self.assertEqual(alert["taken"], take)
        self.assertEqual(milliseconds(alert["escalations"][0]["at"]), end)
        self.assertEqual(server.scrape()("rollcall_incidents_taken"), 1)
        status = subprocess.run(
            [BINARY, "status", "--server", f"http://127.0.0.1:{server.port}"],
            capture_output=True, text=True, timeout=30, env=plain_environment(), check=True)
        self.assertIn("kim sees to it until", " ".join(status.stdout.split()))
        # It ends by itself, and what was held goes on.
        told = self.boss.first(lambda r: r.json()["status"] == "firing", 30, "the boss is told")
        self.assertGreaterEqual(told.at * 1000, end)
        self.assertLess(told.at * 1000, end + 6000)
        self.assertEqual(told.json()["alerts"][0]["labels"]["region"], "north")
        self.assertIsNone(self.alert(server)["taken"])
        self.assertEqual(server.scrape()("rollcall_incidents_taken"), 0)
        fleet.restore(*fleet.of("north"))
        self.boss.first(lambda r: r.json()["status"] == "resolved", SOON, "and of the end")
        eventually(lambda: not incident.is_open, SOON, "so is the pager")
        over = server.post(f"/v1/incidents/{incident.key}/take", {"by": "kim"})
        self.problem(over, 409)
        events = server.get("/v1/events?kinds=action").json()["events"]
        self.assertEqual(
            [(one["action"], one["incident"], one["by"], one["comment"], one["until"])
             for one in events],
            [("take", alert["incident"], "kim", "calling", take["until"])])

    def test_what_is_given_back_goes_on_at_once(self):
        server, _, incident = self.begin(after="8s")
        number = self.alert(server)["incident"]
        self.assertEqual(
            server.post(f"/v1/incidents/{number}/take", {"by": "kim"}).status, 200)
        # Somebody else takes it over.
        again = server.post(f"/v1/incidents/{number}/take", {"by": "lee", "duration": "2h"})
        self.assertEqual(again.json()["taken"]["by"], "lee")
        time.sleep(9)
        self.assertEqual(self.boss.requests, [])
        self.assertEqual(
            server.request("DELETE", f"/v1/incidents/{incident.key}/take").json(),
            {"incident": number})
        self.boss.first(lambda r: r.json()["status"] == "firing", SOON, "the boss is told")
        self.problem(server.request("DELETE", f"/v1/incidents/{number}/take"), 404)

    def test_what_cannot_be_taken_is_refused_with_its_reason(self):
        more = "  - {name: deadman, webhook: {url: 'http://127.0.0.1:9/'}, match: {alertname: Watchdog}}"
        server, _, incident = self.begin(after="1h", more=more)
        store, number = incident.key.split("-")[1:3]
        other = f"{int(store, 16) ^ 1:016x}"
        for key in ("9999", "0", "-1", "x", "rollcall", f"rollcall-{store}", f"rollcall-{other}-{number}",
                    f"rollcall-{store}-{number}9", "%ff", "%00", "9" * 40):
            self.problem(server.post(f"/v1/incidents/{key}/take", {"by": "kim"}), 404)
            self.problem(server.request("DELETE", f"/v1/incidents/{key}/take"), 404)
        watchdog = next(
            a["incident"] for a in server.get("/v1/alerts").json()["alerts"]
            if a["alertname"] == "Watchdog")
        self.problem(server.post(f"/v1/incidents/{watchdog}/take", {"by": "kim"}), 409)
        path = f"/v1/incidents/{number}/take"
        for body in (
                {}, [], {"by": ""}, {"by": 7}, {"by": "x" * 129}, {"by": "a\nb"}, {"by": "a\u009bb"},
                {"by": "kim", "duration": "13h"}, {"by": "kim", "duration": "0s"},
                {"by": "kim", "duration": "1h", "until": rfc3339(now_ms() + 1000)},
                {"by": "kim", "until": rfc3339(now_ms() - 1000)},
                {"by": "kim", "until": rfc3339(now_ms() + 13 * 3600_000)}, {"by": "kim", "until": "soon"},
                {"by": "kim", "note": "x" * 1025}, {"by": "kim", "note": "at 52.520008, 13.404954"},
                b'{"by": "kim", "by": "lee"}'):
            self.problem(server.post(path, body), 422)
        self.problem(server.post(path, b"{"), 400)
        strange = server.post(path, {"by": "kim", "untill": "x"})
        self.assertEqual(strange.status, 200)
        self.assertEqual(strange.json()["problems"][0]["pointer"], "/untill")
        self.problem(server.post(path + "?strict=true", {"by": "kim", "untill": "x"}), 422)
        # The fallback's own key names the same incident.
        self.assertEqual(
            server.post(f"/v1/incidents/{incident.key}-duty-phone/take", {"by": "kim"}).status, 200)

    def test_who_may_act(self):
        server, _, incident = self.begin(after="1h")
        self.close(server)
        path = f"/v1/incidents/{incident.key}/take"
        self.problem(server.post(path, {}), 401)
        for name in ("eye", "phones"):
            refused = self.problem(server.post(path, {}, bearer(name)), 403)
            self.assertIn("act", refused["detail"])
        for name in ("ops", "boss"):
            taken = server.post(path, {}, bearer(name)).json()["taken"]
            self.assertEqual((taken["by"], taken["token"]), (name, name))
        other = server.post(path, {"by": "kim"}, bearer("ops")).json()["taken"]
        self.assertEqual((other["by"], other["token"]), ("kim", "ops"))
        # A browser sends a password whoever asks for it (R7).
        for name in ("ops", "boss"):
            letters = base64.b64encode(f"any:{KEYS[name]}".encode()).decode()
            for target, body in (
                    (path, {}), ("/v1/drill", {"receiver": "boss"}),
                    ("/v1/silences", {"matchers": ["region=x"], "duration": "1h", "author": "a",
                                      "comment": "c"})):
                refused = self.problem(
                    server.post(target, body, {"Authorization": f"Basic {letters}"}), 403)
                self.assertIn("Bearer", refused["detail"])
        # To act is less than to administer.
        self.problem(server.post("/-/reload", b"", bearer("ops")), 403)
        self.problem(server.request("DELETE", "/v1/responders/x", headers=bearer("ops")), 403)
        silence = server.post(
            "/v1/silences",
            {"matchers": ["region=north"], "duration": "1h", "author": "kim", "comment": "mast"},
            bearer("ops"))
        self.assertEqual(silence.status, 200)
        self.assertEqual(
            server.request(
                "DELETE", f"/v1/silences/{silence.json()['silence']['id']}",
                headers=bearer("ops")).status, 200)
        self.assertEqual(server.post("/v1/drill", {"receiver": "boss"}, bearer("ops")).status, 200)

    def test_a_request_that_is_sent_again_takes_once(self):
        server, _, incident = self.begin(after="1h")
        path = f"/v1/incidents/{incident.key}/take"
        head = {"Idempotency-Key": "take-1"}
        first = server.post(path, {"by": "kim"}, head)
        server.post(path, {"by": "lee"})
        again = server.post(path, {"by": "kim"}, head)
        self.assertEqual((first.status, again.status), (200, 200))
        self.assertEqual(again.headers["idempotent-replayed"], "true")
        self.assertEqual(again.json()["taken"]["by"], "lee")
        self.problem(server.post(path, {"by": "pat"}, head), 422)
        actions = [one["by"] for one in server.get("/v1/events?kinds=action").json()["events"]]
        self.assertEqual(actions, ["kim", "lee"])

    def test_from_a_terminal(self):
        server, _, incident = self.begin(after="1h")
        self.close(server)
        path = os.path.join(self.directory, "ops.token")
        with open(path, "w", encoding="utf-8") as file:
            file.write(KEYS["ops"] + "\n")

        def run(*arguments, token=path):
            return subprocess.run(
                [BINARY, "take", *arguments, "--server", f"http://127.0.0.1:{server.port}",
                 "--token-file", token], capture_output=True, text=True, timeout=30,
                env=plain_environment())

        done = run(incident.key, "--by", "kim", "--note", "on it", "--for", "30m")
        self.assertRegex(done.stdout, r"\Akim sees to incident \d+ until .*\n\Z")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        done = run(incident.key, "--release")
        self.assertRegex(done.stdout, r"\ANobody sees to incident \d+ any more\.\n\Z")
        for arguments, code, words in (
                ((incident.key, "--release"), 1, "nobody has taken it"),
                (("999",), 1, "no such incident"),
                ((incident.key, "--for", "soon"), 64, "--for"),
                ((incident.key, "--for", "13h"), 1, "at most 12h"),
                ((incident.key, "--release", "--by", "kim"), 64, "--release stands alone"),
                ((), 64, "incident")):
            done = run(*arguments)
            self.assertEqual((done.returncode, done.stdout), (code, ""), done)
            self.assertIn(words, done.stderr)
        with open(path, "w", encoding="utf-8") as file:
            file.write(KEYS["eye"] + "\n")
        done = run(incident.key)
        self.assertEqual(done.returncode, 1)
        self.assertIn("act", done.stderr)


if __name__ == "__main__":
    unittest.main()
