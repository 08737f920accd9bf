"""A region is cut off and one page comes, which says where, how many and why; it is restored and
the page is over; killing Rollcall in between changes neither; and history explains it.

Source: A1 to A10; PagerDuty's Events API v2; Standard Webhooks 1.0.0.
"""

import json
import signal
import time
import unittest

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from loopback_receivers import Fleet, Hook, Pager, RotatedPager, people
from rollcall_process import RollcallTestCase, eventually, milliseconds, now_ms

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
# Degraded 2 s after the last contact, paged 1 s later; over 1 s after the first is back.
CONFIG = """
liveness: {{on_duty: {{expected: 1s, degraded_after: 2s, offline_after: 3s}}}}
alerts:
  HighOfflineRate: {{by: region, for: 1s}}
  NoOnlineResponders: {{for: 1s, keep_firing_for: 1s, labels: {{team: night}}}}
receivers:
  - name: oncall
    pagerduty: {{url: "{pager}", routing_key_file: routing.key}}
  - name: hook
    webhook: {{url: "{hook}", secret_file: hook.secret}}
"""
# Long enough for a page of 2 + 1 s on a busy machine.
SOON = 12


class PagesTestCase(RollcallTestCase):
    def setUp(self):
        super().setUp()
        self.pager = Pager(self)

    def begin(self, hook):
        """A ready server that tells the pager and `hook`, and a fleet that reports to it."""
        for name, text in (("routing.key", Pager.ROUTING_KEY), ("hook.secret", SECRET)):
            with open(f"{self.directory}/{name}", "w", encoding="utf-8") as file:
                file.write(text + "\n")
        server = self.serve(CONFIG.format(pager=self.pager.url, hook=hook.url))
        north = people("north", 6, power_mode="low_power")
        for item in north[4:]:
            item["telemetry"] = {"network_type": "none"}
        fleet = Fleet(self, server, north + people("south", 5)).start()
        eventually(
            lambda: server.get("/v1/status").json()["responders"]["ONLINE"] == 11, SOON,
            "everybody is ONLINE")
        return server, fleet

    def crash(self, server):
        """kill -9, a moment of nothing, and a start on the same store."""
        server.kill()
        time.sleep(0.3)
        server.start()

    def history(self, server, **wanted):
        """Incidents as history tells them, newest first, that have these members."""
        incidents = server.get("/v1/alerts/history").json()["incidents"]
        return [i for i in incidents if all(i[name] == value for name, value in wanted.items())]

    def verified(self, request):
        """The body of a message whose signature is right."""
        return Webhook(SECRET).verify(request.body, request.headers)


class RegionTests(PagesTestCase):
    def test_a_region_is_cut_off_and_restored_and_rollcall_killed_in_between(self):
        hook = Hook(self)
        server, fleet = self.begin(hook)
        cut_at = now_ms()
        fleet.cut(*fleet.of("north"))
        # Killed while pending, and soon after the page is out.
        time.sleep(2.2)
        self.crash(server)
        incident = eventually(
            lambda: next(iter(self.pager.incidents), None), SOON, "a page")
        self.check_page(incident, cut_at)
        hook.first(lambda _: True, SOON, "a message")
        self.crash(server)
        time.sleep(3)
        self.assertEqual(
            [(i.key, i.is_open) for i in self.pager.incidents], [(incident.key, True)])
        # Killed as soon as it is over, and again.
        fleet.restore(*fleet.of("north"))
        eventually(
            lambda: server.responder("north-1")["status"] == "ONLINE", SOON, "north is back")
        self.crash(server)
        eventually(lambda: not incident.is_open, SOON, "the page is over")
        hook.first(lambda r: r.json()["status"] == "resolved", SOON, "the message is over")
        self.crash(server)
        time.sleep(2)
        self.check_quiet(hook)
        self.check_hook(hook)
        self.check_history(server, cut_at)

    def check_page(self, incident, cut_at):
        """What somebody who is woken by it reads."""
        summary = incident.payload["summary"]
        self.assertEqual(
            summary, "Nobody can be reached in north, 6 of 6 out of contact: 4 low_power, 2 no_network")
        self.assertLessEqual(len(summary), 140)
        self.assertEqual(incident.payload["severity"], "critical")
        self.assertEqual(incident.payload["class"], "NoOnlineResponders")
        self.assertEqual(incident.payload["group"], "north")
        self.assertRegex(incident.key, r"^rollcall-[0-9a-f]{16}-[0-9]+$")
        details = incident.payload["custom_details"]
        self.assertEqual((details["count"], details["total"]), ("6", "6"))
        self.assertEqual(details["team"], "night")
        self.assertIn("north-1", details["responders"])
        fired = milliseconds(incident.payload["timestamp"].replace("+0000", "+00:00"))
        # Watched time stood still while it did not run.
        self.assertGreaterEqual(fired - cut_at, 2500)

    def check_quiet(self, hook):
        """One true incident is one incident, and nobody else was paged."""
        self.assertEqual(self.pager.faults, [])
        self.assertEqual(self.pager.ghosts, [])
        # Killed after the pager took a resolve and before that was stored, it is sent once more.
        self.assertLessEqual(len(self.pager.repeats), 1)
        self.assertEqual([i.is_open for i in self.pager.incidents], [False])
        for status in ("firing", "resolved"):
            told = set(hook.alerts(status))
            self.assertEqual(
                [(name, region) for name, region, _ in told], [("NoOnlineResponders", "north")])
        # Nothing is sent again under another id.
        self.assertEqual(len({r.headers["webhook-id"] for r in hook.requests}), 2)

    def check_hook(self, hook):
        firing = hook.requests[0]
        body = self.verified(firing)
        self.assertEqual(body["version"], "4")
        self.assertEqual(body["status"], "firing")
        self.assertEqual(body["receiver"], "hook")
        self.assertEqual(body["groupLabels"], {"alertname": "NoOnlineResponders"})
        self.assertEqual(body["commonLabels"], {
            "alertname": "NoOnlineResponders", "region": "north", "severity": "critical",
            "team": "night"})
        self.assertEqual(body["alerts"][0]["endsAt"], "0001-01-01T00:00:00Z")
        resolved = self.verified(hook.requests[-1])
        self.assertEqual(resolved["status"], "resolved")
        self.assertEqual(
            resolved["alerts"][0]["fingerprint"], body["alerts"][0]["fingerprint"])
        self.assertEqual(resolved["alerts"][0]["startsAt"], body["alerts"][0]["startsAt"])
        # The reference implementation notices a body that is not ours.
        with self.assertRaises(WebhookVerificationError):
            Webhook(SECRET).verify(firing.body + b" ", firing.headers)

    def check_history(self, server, cut_at):
        """Why was I (not) paged?"""
        incident, = self.history(server, alertname="NoOnlineResponders")
        self.assertEqual(incident["labels"]["region"], "north")
        self.assertEqual(incident["state"], "resolved")
        self.assertEqual((incident["count"], incident["total"]), (6, 6))
        self.assertEqual(
            incident["causes"],
            [{"cause": "low_power", "count": 4}, {"cause": "no_network", "count": 2}])
        self.assertEqual(sorted(incident["members"]), [f"north-{n}" for n in range(1, 7)])
        self.assertEqual(incident["for_ms"], 1000)
        self.assertEqual(
            [change["state"] for change in incident["changes"]],
            ["pending", "firing", "resolved"])
        began = milliseconds(incident["pending_at"])
        self.assertTrue(
            cut_at < began < milliseconds(incident["starts_at"])
            < milliseconds(incident["ended_at"]))
        told = {
            (notice["receiver"], notice["kind"]): notice["targets"][0]
            for notice in incident["notices"]}
        self.assertEqual(set(told), {
            (receiver, kind) for receiver in ("oncall", "hook") for kind in ("fired", "resolved")})
        for (receiver, _), target in told.items():
            self.assertEqual(target["outcome"], "delivered")
            last = target["attempts"][-1]
            self.assertEqual(last["status"], 202 if receiver == "oncall" else 200)
            self.assertIsNone(last["error"])
        # The other alert of the region fired as well, and says why nobody was told.
        other, = self.history(server, alertname="HighOfflineRate")
        self.assertEqual(other["notices"], [])
        self.assertEqual({(m["receiver"], m["reason"]) for m in other["muted"]}, {
            ("oncall", "inhibited"), ("hook", "inhibited")})


class RefusalTests(PagesTestCase):
    def test_a_receiver_that_fails_twice_is_told_once_and_delays_nobody(self):
        hook = Hook(self, refusals=2, refusal=503)
        server, fleet = self.begin(hook)
        fleet.cut(*fleet.of("north"))
        eventually(lambda: self.pager.incidents, SOON, "a page")
        taken = eventually(
            lambda: hook.requests[2] if len(hook.requests) > 2 else None, 20, "a third attempt")
        ids = {request.headers["webhook-id"] for request in hook.requests}
        self.assertEqual(len(ids), 1)
        # Each attempt is signed for its own time.
        for request in hook.requests:
            self.assertEqual(self.verified(request)["status"], "firing")
        self.assertEqual(
            json.loads(taken.body)["alerts"], json.loads(hook.requests[0].body)["alerts"])
        eventually(
            lambda: [
                [attempt["status"] for attempt in notice["targets"][0]["attempts"]]
                for incident in self.history(server, alertname="NoOnlineResponders")
                for notice in incident["notices"]
                if notice["receiver"] == "hook" and notice["targets"][0]["outcome"]
            ] == [[503, 503, 200]], SOON, "history tells each attempt")

    def test_a_silence_keeps_the_pager_quiet_and_says_so(self):
        hook = Hook(self)
        server, fleet = self.begin(hook)
        silence = server.write("/v1/silences", {
            "matchers": ["region=north"], "duration": "1h", "author": "kim",
            "comment": "works on the mast"})["silence"]
        fleet.cut(*fleet.of("north"), *fleet.of("south"))
        eventually(lambda: self.pager.incidents, SOON, "a page about the south")

        def told():
            """What fires by region, once it is known that both have taken what was said of the south."""
            found = {
                alert["labels"].get("region"): alert
                for alert in server.get("/v1/alerts").json()["alerts"]
                if alert["alertname"] == "NoOnlineResponders" and alert["state"] == "firing"}
            return "south" in found and len(found["south"]["told"]) == 2 and found
        firing = eventually(told, SOON, "both are told of the south")
        self.assertEqual(set(firing), {"north", "south"})
        self.assertEqual({m["silence"] for m in firing["north"]["muted"]}, {silence["id"]})
        self.assertEqual({t["receiver"] for t in firing["south"]["told"]}, {"oncall", "hook"})
        time.sleep(1)
        self.assertEqual([i.payload["group"] for i in self.pager.incidents], ["south"])
        # Whoever was never told is told at its end.
        ended = server.request("DELETE", f"/v1/silences/{silence['id']}")
        self.assertEqual(ended.status, 200)
        eventually(
            lambda: {i.payload["group"] for i in self.pager.incidents} == {"south", "north"},
            SOON, "a page about the north")

    def test_a_drill_goes_the_real_way(self):
        hook = Hook(self)
        server, _ = self.begin(hook)
        answer = server.post("/v1/drill", {"receiver": "oncall"})
        self.assertIn(answer.status, (200, 202), answer)
        drill = answer.json()
        eventually(
            lambda: server.get(f"/v1/drill/{drill['drill']}").json()["outcome"] == "delivered",
            SOON, "the drill is delivered")
        incident = eventually(lambda: next(iter(self.pager.incidents), None), SOON, "a page")
        self.assertTrue(incident.payload["summary"].startswith("DRILL: "))
        self.assertEqual(incident.payload["severity"], "info")
        eventually(lambda: not incident.is_open, SOON, "it ends itself")
        self.assertEqual(hook.requests, [])
        self.problem(server.post("/v1/drill", {"receiver": "nobody"}), 404)


class RotationTests(PagesTestCase):
    # Five seconds after the last attempt at the latest, where it would be five minutes.
    HASTENED = 20

    def setUp(self):
        super().setUp()
        self.pager = RotatedPager(self)

    def refused(self):
        """A server whose page was just refused for its old routing key."""
        server, fleet = self.begin(Hook(self))
        fleet.cut(*fleet.of("north"))
        eventually(lambda: self.pager.refused, SOON, "a page that is refused")
        eventually(lambda: "receiver refuses" in server.log(), SOON, "a word in the log")
        self.assertEqual(self.pager.incidents, [])
        return server

    def rotate(self):
        with open(f"{self.directory}/routing.key", "w", encoding="utf-8") as file:
            file.write(self.pager.ROUTING_KEY + "\n")

    def check_told(self, server):
        """The page is there, once, and its history tells both attempts."""
        eventually(lambda: self.pager.incidents, self.HASTENED, "the page")
        eventually(lambda: self.statuses(server, "oncall") == [[403, 202]], SOON, "the history")
        self.assertEqual([i.payload["group"] for i in self.pager.incidents], ["north"])
        self.assertEqual((len(self.pager.refused), self.pager.faults), (1, []))

    def statuses(self, server, receiver):
        """What each attempt to tell a receiver was answered."""
        return [
            [attempt["status"] for attempt in notice["targets"][0]["attempts"]]
            for incident in self.history(server, alertname="NoOnlineResponders")
            for notice in incident["notices"] if notice["receiver"] == receiver]

    def test_a_refused_page_goes_out_once_the_right_key_is_read(self):
        server = self.refused()
        # Only the file of the secret is another one.
        self.rotate()
        server.process.send_signal(signal.SIGHUP)
        self.check_told(server)
        attempts = "rollcall_notification_attempts_total"
        page = server.scrape()
        self.assertEqual(page(attempts, receiver="oncall", result="refused"), 1)
        self.assertEqual(page(attempts, receiver="oncall", result="delivered"), 1)
        log = server.log()
        self.assertIn("what was refused is tried sooner", log)
        for key in (self.pager.OLD_KEY, self.pager.ROUTING_KEY):
            self.assertNotIn(key, log)

    def test_a_kill_after_the_reload_changes_nothing(self):
        server = self.refused()
        self.rotate()
        answer = server.post("/-/reload", b"")
        self.assertEqual(answer.status, 200, answer)
        server.kill()
        server.start()
        eventually(lambda: self.pager.incidents, self.HASTENED, "the page")
        eventually(
            lambda: self.statuses(server, "oncall")[0][-1] == 202, SOON, "the history")
        self.assertEqual((len(self.pager.refused), self.pager.faults), (1, []))

    def test_a_new_url_does_not_wait_for_the_old_one(self):
        old, new = Hook(self, refusals=1000, refusal=503), Hook(self)
        old.fields = {"Retry-After": "600"}
        server, fleet = self.begin(old)
        fleet.cut(*fleet.of("north"))
        old.first(lambda _: True, SOON, "an attempt")
        eventually(lambda: "receiver not told" in server.log(), SOON, "a word in the log")
        # The same settings once more: it wants to be left alone.
        self.assertEqual(server.post("/-/reload", b"").status, 200)
        server.configure(CONFIG.format(pager=self.pager.url, hook=new.url))
        answer = server.post("/-/reload", b"")
        self.assertEqual(answer.status, 200, answer)
        told = new.first(lambda _: True, self.HASTENED, "a message")
        self.assertEqual(
            [r.headers["webhook-id"] for r in old.requests], [told.headers["webhook-id"]])


if __name__ == "__main__":
    unittest.main()
