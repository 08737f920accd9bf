"""One scenario, judged by Rollcall and by Debian's Prometheus with what `rollcall manifest rules` prints:
the same alerts fire and resolve, within one scrape and one evaluation.

Source: issue of the main job, acceptance; Contract/Alerts, B4.
"""

import os
import subprocess
import time
import unittest
import urllib.parse

from loopback_receivers import Fleet, people
from rollcall_process import BINARY, RollcallTestCase, eventually, milliseconds, now_ms, sleep_until
from test_alert_rules import RULES, replaced
from test_prometheus import Prometheus

# `for` and the like are a fraction of what they usually are; both sides alike.
SETTINGS = """
liveness: {on_duty: {expected: 1s, degraded_after: 3s, offline_after: 5s}}
alerts:
  HighOfflineRate: {for: 2s}
  NoOnlineResponders: {for: 2s, keep_firing_for: 2s}
  ResponderFlapping: {changes: 2, window: 8s, clear_below: 1}
"""
CONFIG = """
global: {{scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}}
rule_files: ["{rules}"]
scrape_configs:
  - job_name: rollcall
    honor_labels: true
    static_configs: [{{targets: ["127.0.0.1:{port}"]}}]
"""
# Seconds of a scrape and of an evaluation, and of a machine that is busy.
LATE_SECONDS = 1 + 1 + 1.0
# Instants of the two are read from two clocks' stamps of milliseconds.
EARLY_SECONDS = 0.1
SECONDS = 31


class AlertsPrometheusTests(RollcallTestCase):
    def test_both_judge_alike(self):
        server = self.serve(SETTINGS)
        prometheus = Prometheus(
            self.directory, config_text=CONFIG.format(rules=self.rules(), port=server.port))
        self.addCleanup(prometheus.stop)
        fleet = Fleet(self, server, [
            *people("north", 4), *people("south", 5), *people("west", 1)], source="p1").start()
        eventually(lambda: prometheus.get("/-/ready"), 30, "Prometheus is ready")
        eventually(
            lambda: prometheus.query("region:responders_active:sum"), 20, "the first evaluation")
        began = now_ms()
        self.play(fleet, server, began)
        own = self.told_by_rollcall(server)
        theirs = self.told_by_prometheus(prometheus, began)
        self.assertEqual(self.counted(own), self.counted(theirs))
        self.assertEqual(self.counted(own), {
            # West's one person came and went; while nobody is there nobody can be reached.
            ("NoOnlineResponders", "critical", "region=north"): 1,
            ("NoOnlineResponders", "critical", "region=west"): 1,
            ("HighOfflineRate", "warning", ""): 1,
            ("ResponderFlapping", "warning", "region=north"): 1,
            ("ResponderFlapping", "warning", "region=west"): 1,
            ("TelemetryFeedDown", "critical", ""): 1,
            ("TelemetryFeedDown", "warning", "source=p1"): 1})
        for alert, spans in own.items():
            for mine, its in zip(spans, theirs[alert]):
                for what, a, b in zip(("fires", "resolves"), mine, its):
                    with self.subTest(f"{alert} {what}"):
                        self.assertGreaterEqual(b - a, -EARLY_SECONDS)
                        self.assertLessEqual(b - a, LATE_SECONDS)

    def rules(self):
        """The rules of these settings, evaluated as often as it is scraped here."""
        path = os.path.join(self.directory, "settings.yml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(SETTINGS)
        text = subprocess.run(
            [BINARY, "manifest", "rules", "--config.file", path], capture_output=True, text=True,
            check=True, timeout=30).stdout
        text = replaced(text, "interval: 15s", "interval: 1s")
        # Two scrapes of the usual ones; here the threshold itself is longer than two.
        for old, new in (("[30s]", "[3s]"), ("offset 30s", "offset 3s")):
            text = replaced(text, old, new)
        path = os.path.join(self.directory, RULES)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def play(self, fleet, server, began):
        """What happens, second by second."""
        def at(second):
            sleep_until(began + 1000 * second)
            self.assertLess(now_ms() - began - 1000 * second, 900, "this machine stands still")
        at(1)
        fleet.cut("west-1")
        at(2)
        fleet.cut(*fleet.of("north"))
        # West is OFFLINE at 6 and back at 8: two changes. North is OFFLINE at 7 and, as watched
        # time runs, back at 12; its second change is 8 s old at 28.
        at(8)
        fleet.restore("west-1")
        # Everything falls silent: blind from 12 on, noticed at 14.5, before South would be DEGRADED.
        at(12)
        fleet.is_beating = False
        fleet.cut(*fleet.people)
        # North is heard while we are blind, from a source that never beat: that is no news yet.
        at(17)
        for second in (17, 18, 19):
            at(second)
            server.write("/v1/batches?source=relay", people("north", 4))
        self.assertFalse(server.get("/v1/status").json()["watching"])
        at(20)
        fleet.restore(*fleet.people)
        fleet.is_beating = True
        at(SECONDS)

    def told_by_rollcall(self, server):
        """Spans of firing, in seconds, by alert; all of them must be over."""
        spans = {}
        for incident in reversed(server.get("/v1/alerts/history").json()["incidents"]):
            self.assertEqual(incident["state"], "resolved", incident)
            spans.setdefault(self.named(incident["labels"]), []).append(
                (milliseconds(incident["starts_at"]) / 1000,
                 milliseconds(incident["ended_at"]) / 1000))
        return spans

    def told_by_prometheus(self, prometheus, began):
        """The same: the first evaluation that says firing, and the first that does not any more."""
        # Until the last evaluation that can be asked for surely happened.
        time.sleep(1.5)
        data = prometheus.get("/api/v1/query?" + urllib.parse.urlencode({
            "query": f'ALERTS{{alertstate="firing", alertname!="Watchdog"}}[{SECONDS + 10}s]'}))
        spans = {}
        for series in data["result"]:
            alert = self.named(series["metric"])
            times = [when for when, _ in series["values"] if when * 1000 >= began]
            first = times[0]
            for before, after in zip(times, times[1:] + [None]):
                if after is None or after - before > 1.5:
                    spans.setdefault(alert, []).append((first, before + 1))
                    first = after
        return {alert: sorted(found) for alert, found in spans.items()}

    def named(self, labels):
        identity = ",".join(
            f"{name}={labels[name]}" for name in ("region", "source", "suspected")
            if name in labels)
        return labels["alertname"], labels["severity"], identity

    def counted(self, spans):
        return {alert: len(found) for alert, found in spans.items()}


if __name__ == "__main__":
    unittest.main()
