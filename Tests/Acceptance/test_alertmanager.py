"""Debian's Alertmanager receives, groups, notifies and resolves what Rollcall tells it.

Source: A8, V20; Alertmanager's `api/v2/openapi.yaml`.
"""

import json
import socket
import time
import unittest
import urllib.request

import yaml

from alertmanager_process import Alertmanager
from loopback_receivers import Fleet, Hook, people
from rollcall_process import RollcallTestCase, eventually, milliseconds, now_ms
from test_alert_rules import AlertRulesTestCase

SETTINGS = """
web: {{external_url: "https://rollcall.example.org"}}
liveness: {{on_duty: {{expected: 1s, degraded_after: 2s, offline_after: 4s}}}}
alerts:
  HighOfflineRate: {{enabled: false}}
  NoOnlineResponders:
    for: 1s
    keep_firing_for: 1s
    runbook_url: https://wiki.example.org/NoOnlineResponders
receivers:
  - name: am
    alertmanager: {{urls: [{urls}]}}
"""
CONFIG = """
route:
  receiver: hook
  group_by: [alertname]
  group_wait: 1s
  group_interval: 1s
  repeat_interval: 4h
receivers:
  - name: hook
    webhook_configs: [{{url: "{hook}", send_resolved: true}}]
"""
SOON = 12


class AlertmanagerTests(RollcallTestCase):
    def setUp(self):
        super().setUp()
        self.hook = Hook(self)
        self.alertmanager = Alertmanager(self, CONFIG.format(hook=self.hook.url))

    def begin(self, *urls):
        """A ready server that tells the Alertmanagers at `urls`, and a fleet of three regions."""
        server = self.serve(SETTINGS.format(urls=", ".join(f'"{url}"' for url in urls)))
        fleet = Fleet(self, server, [
            item for region in ("north", "south", "west") for item in people(region, 2)]).start()
        eventually(
            lambda: server.get("/v1/status").json()["responders"]["ONLINE"] == 6, SOON,
            "everybody is ONLINE")
        return server, fleet

    def firing(self):
        """What Alertmanager holds, by region."""
        return {alert["labels"]["region"]: alert for alert in self.alertmanager.alerts()}

    def told(self, status, *regions):
        """The first body that says this of exactly these regions."""
        def says(request):
            body = request.json()
            return body["status"] == status and {
                alert["labels"]["region"] for alert in body["alerts"]} == set(regions)
        return self.hook.first(says, SOON, f"{status} {regions}").json()

    def test_it_groups_notifies_and_resolves_and_a_crash_changes_neither(self):
        server, fleet = self.begin(self.alertmanager.url)
        fleet.cut(*fleet.of("north"), *fleet.of("south"))
        eventually(lambda: set(self.firing()) == {"north", "south"}, SOON, "two alerts")
        body = self.told("firing", "north", "south")
        self.check_alert(self.firing()["north"])
        self.assertEqual(body["groupLabels"], {"alertname": "NoOnlineResponders"})
        self.assertEqual(
            body["commonLabels"], {"alertname": "NoOnlineResponders", "severity": "critical"})

        server.kill()
        time.sleep(0.5)
        server.start()
        time.sleep(2)
        self.assertEqual(set(self.firing()), {"north", "south"})
        self.assertEqual(len(self.hook.requests), 1)
        # B1: what a start is told at once is no turn that came late.
        late = [line for line in server.log().splitlines() if "a turn came late" in line]
        self.assertEqual(late, [])

        fleet.restore(*fleet.of("north"))
        eventually(
            lambda: server.responder("north-1")["status"] == "ONLINE", SOON, "north is back")
        server.kill()
        server.start()
        eventually(lambda: set(self.firing()) == {"south"}, SOON, "north is over")
        fleet.restore(*fleet.of("south"))
        resolved = self.hook.first(
            lambda r: r.json()["status"] == "resolved", SOON, "all is over").json()
        self.assertIn("south", {alert["labels"]["region"] for alert in resolved["alerts"]})
        self.assertEqual(self.firing(), {})
        over = {
            alert["labels"]["region"] for request in self.hook.requests
            for alert in request.json()["alerts"] if alert["status"] == "resolved"}
        self.assertEqual(over, {"north", "south"})
        self.assertEqual(self.alertmanager.log(), "")

    def check_alert(self, alert):
        self.assertEqual(alert["labels"], {
            "alertname": "NoOnlineResponders", "region": "north", "severity": "critical"})
        annotations = alert["annotations"]
        self.assertTrue(
            annotations["summary"].startswith("Nobody can be reached in north, 2 of 2 out of contact"), annotations)
        self.assertEqual(
            annotations["runbook_url"], "https://wiki.example.org/NoOnlineResponders")
        self.assertTrue(alert["generatorURL"].startswith("https://rollcall.example.org/"))
        began, ends = milliseconds(alert["startsAt"]), milliseconds(alert["endsAt"])
        self.assertLess(abs(began - now_ms()), 20_000)
        # D9: by its own clock it holds the page for a quarter of an hour without us: our restart,
        # or another machine that takes over, may last longer than four minutes.
        self.assertGreater(ends - now_ms(), 13 * 60_000)

    def test_one_that_refuses_and_one_that_hangs_delay_the_third_nowhere(self):
        with socket.create_server(("127.0.0.1", 0)) as closed:
            refusing = f"http://127.0.0.1:{closed.getsockname()[1]}"
        # Connections are taken by the kernel and nobody ever answers.
        hanging = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(hanging.close)
        server, fleet = self.begin(
            refusing, f"http://127.0.0.1:{hanging.getsockname()[1]}", self.alertmanager.url)
        cut_at = now_ms()
        fleet.cut(*fleet.of("west"))
        self.told("firing", "west")
        # 2 + 1 s of silence, 1 s of group_wait.
        self.assertLess(now_ms() - cut_at, 8000)
        fleet.restore(*fleet.of("west"))
        restored_at = now_ms()
        self.told("resolved", "west")
        self.assertLess(now_ms() - restored_at, 6000)
        incident = server.get("/v1/alerts/history").json()["incidents"][0]
        fired = next(n for n in incident["notices"] if n["kind"] == "fired")
        third = next(t for t in fired["targets"] if t["target"] == 2)
        self.assertEqual(third["outcome"], "delivered")
        first = next(t for t in fired["targets"] if t["target"] == 0)
        self.assertNotEqual(first["outcome"], "delivered")
        self.assertTrue(all(attempt["error"] for attempt in first["attempts"]))


class PrintedFileTests(AlertRulesTestCase):
    """V20: what somebody reads who is told by way of `rollcall manifest alertmanager`."""

    def setUp(self):
        super().setUp()
        self.hook = Hook(self)
        config = yaml.safe_load(self.printed("{}\n", kind="alertmanager"))
        receivers = {receiver["name"]: receiver for receiver in config["receivers"]}
        pager, = receivers["pager"]["pagerduty_configs"]
        chat, = receivers["chat"]["slack_configs"]
        del pager["routing_key_file"], chat["api_url_file"]
        pager |= {"routing_key": "k" * 32, "url": self.hook.url}
        chat["api_url"] = self.hook.url
        config["route"]["group_wait"] = "1s"
        self.alertmanager = Alertmanager(self, yaml.safe_dump(config))

    def post(self, *alerts):
        request = urllib.request.Request(
            f"{self.alertmanager.url}/api/v2/alerts", method="POST",
            headers={"Content-Type": "application/json"},
            data=json.dumps([
                {"labels": labels, "annotations": annotations} for labels, annotations in alerts]).encode())
        urllib.request.urlopen(request, timeout=10).read()

    def told(self, key):
        """The first body that has this member."""
        return self.hook.first(lambda request: key in request.json(), SOON, key).json()

    def chat(self):
        message, = self.told("attachments")["attachments"]
        return message["title"], message["text"].strip()

    def test_a_page_of_rollcalls_begins_with_its_sentence(self):
        summary = "Nobody can be reached in north, 2 of 2 out of contact: 1 no_network, 1 app_suspended"
        self.post(({"alertname": "NoOnlineResponders", "severity": "critical", "region": "north"},
                   {"summary": summary, "description": "Since 00:31."}))
        self.assertEqual(self.told("routing_key")["payload"]["summary"], summary)

    def test_a_page_of_prometheus_says_the_region_too(self):
        self.post(({"alertname": "NoOnlineResponders", "severity": "critical", "region": "north", "job": "rollcall",
                    "instance": "a"}, {"summary": "Nobody in a region can be reached.", "description": "Nobody is."}))
        self.assertEqual(
            self.told("routing_key")["payload"]["summary"], "Nobody in a region can be reached. (north)")

    def test_a_chat_has_a_line_for_each_thing(self):
        self.post(({"alertname": "ResponderFlapping", "severity": "warning", "region": "north"},
                   {"summary": "north: 2 of 9 flap", "description": "r-1 and r-2.",
                    "page_url": "https://watch.example.org/people", "runbook_url": "https://wiki.example.org/x"}))
        self.assertEqual(self.chat(), (
            "FIRING: north: 2 of 9 flap",
            "north: 2 of 9 flap\nr-1 and r-2.\n<https://watch.example.org/people|Rollcall>\n"
            "<https://wiki.example.org/x|Runbook>"))

    def test_a_group_has_the_name_of_what_fires_and_no_link_that_leads_nowhere(self):
        self.post(*(
            ({"alertname": "ResponderFlapping", "severity": "warning", "region": region},
             {"summary": f"{region} flaps", "page_url": "people", "runbook_url": "runbooks/ResponderFlapping.md"})
            for region in ("north", "south")))
        title, text = self.chat()
        self.assertEqual(title, "FIRING: ResponderFlapping: 2 alerts")
        self.assertEqual(sorted(text.split("\n\n")), ["north flaps", "south flaps"])


if __name__ == "__main__":
    unittest.main()
