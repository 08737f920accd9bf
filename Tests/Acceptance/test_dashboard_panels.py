"""Every panel of `Dashboards/` shows something of a real fleet that Debian's Prometheus scraped,
and no number of now while nobody watches.

Source: issue of those who look; B4.
"""

import math
import os
import re
import time
import unittest
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import dashboard_lint
import dashboard_links
from dashboard_lint import dashboards, expanded, expressions, inner, targets, variables
from loopback_phones import Phones, PushHook
from loopback_receivers import Hook
from rollcall_process import RollcallTestCase, eventually, ndjson, now_ms, rfc3339
from test_alert_rules import ALERTS, RULES, replaced
from test_alerts_prometheus import CONFIG as SCRAPE
from test_prometheus import Prometheus

CONFIG = """
liveness:
  on_duty: {{expected: 500ms, degraded_after: 2s, offline_after: 4s}}
  on_mission: {{expected: 500ms, degraded_after: 2s, offline_after: 4s}}
alerts:
  HighOfflineRate: {{for: 1s}}
  NoOnlineResponders: {{for: 1s, keep_firing_for: 1s}}
  ResponderFlapping: {{changes: 2, window: 60s, clear_below: 1}}
coverage: {{regions: [harbour]}}
receivers:
  - {{name: oncall, webhook: {{url: "{hook}"}}, fallback: standby}}
  - {{name: standby, webhook: {{url: "{hook}"}}, match: none}}
  - name: gone
    webhook: {{url: "http://127.0.0.1:9/"}}
    fallback: standby
    fallback_after: 5s
alive_ping: {{url: "{hook}", every: 10s}}
subscriptions: [{{name: dispatcher, url: "{hook}", secret: "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="}}]
nudges: {{stale_after: 6s, sink: {{webhook: {{url: "{push}"}}}}}}
"""
# Others whom the same Prometheus watches: one that answers, and one that does not.
PROMETHEUS = SCRAPE + """  - job_name: other
    static_configs: [{{targets: ["127.0.0.1:{other}", "127.0.0.1:9"]}}]
"""
FOREIGN = """process_cpu_seconds_total 900
process_open_fds 900
process_max_fds 1000
process_resident_memory_bytes 9e9
process_virtual_memory_bytes 9e9
process_start_time_seconds 9
process_threads 900
ALERTS{alertname="NodeDown",alertstate="firing"} 1
"""
# What Grafana puts in here: a scrape each second, all of everything, the whole story.
SPANS = {"__rate_interval": "5s", "__range": "90s", "__range_s": "90", "__interval": "1s"}
SELECTED = {"job": ".+", "instance": ".+", "region": ".+"}
SOON = 20
# Targets that show nothing but 0 of this story, and why.
ONLY_ZERO = {
    "Pending, A": "what is pending fires within a second here",
    "Pushes waiting, A": "the sink takes them at once",
    "Nobody has been reached, A": "an alert must fire for a minute before it counts",
    "Would be nudged, A": "there is a sink",
    "Dark regions, A": "somebody is back everywhere at the end",
    "Verdicts unexplained, A": "phones send a location when they are back",
    **{name: "DEGRADED lasts two seconds"
       for name in ("DEGRADED, A", "Regions now, C", "Silent now, by region, A")},
    "Folded otherwise, A": "it would be an error of ours",
    "Erasures, A": "nobody is erased", "Regions beyond their limit, A": "there are five",
    "Connections ended, A": "nobody is slow", "Lines of the log lost, A": "the log is read",
    "Age of what a scrape tells, A": "the loop has time"}


def fleet():
    """People of several regions, platforms and duties."""
    told = {
        "north": ("ios", {"app_state": "background", "network_type": "cellular"}),
        "south": ("android", {"app_state": "foreground", "network_type": "wifi", "queue_depth": 3}),
        "east": ("other", {"permission_status": "denied", "power_mode": "low_power"})}
    return [
        {"responder_id": f"{region}-{n}", "region": region, "platform": platform,
         "duty_state": "ON_MISSION" if region == "east" else "ON_DUTY", "circles": [region],
         "telemetry": telemetry}
        for region, (platform, telemetry) in told.items() for n in range(1, 5)]


class PanelTests(RollcallTestCase):
    def test_every_panel_shows_a_real_fleet_and_no_number_while_nobody_watches(self):
        self.push = PushHook(self)
        self.settings = CONFIG.format(hook=Hook(self).url, push=self.push.url)
        self.server = self.serve(self.settings)
        # An orderly stop leaves a checkpoint. It is always started at the same address, where
        # Prometheus looks for it.
        self.server.address = f"127.0.0.1:{self.server.port}"
        self.server.stop()
        self.server.start()
        self.prometheus = Prometheus(self.directory, config_text=PROMETHEUS.format(
            rules=self.rules(), port=self.server.port, other=self.other()))
        self.addCleanup(self.prometheus.stop)
        eventually(lambda: self.prometheus.get("/-/ready"), 30, "Prometheus is ready")
        self.wait_for("rollcall_watching == 1")
        self.began = time.time()
        self.play()
        self.check_every_metric_is_real()
        self.check_everything_shows_something()
        self.check_every_link_leads_somewhere()
        self.check_a_healthy_fleet_is_no_hole()
        self.check_others_are_not_shown()
        self.check_variables()
        self.check_nothing_is_known_while_nobody_watches()

    def rules(self):
        """The rules for Prometheus, with spans as short as the story's."""
        with open(os.path.join(ALERTS, RULES), encoding="utf-8") as file:
            text = replaced(file.read(), "interval: 15s", "interval: 1s")
        path = os.path.join(self.directory, RULES)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace("for: 60s", "for: 1s"))
        return path

    def other(self):
        """The port of a program that is not Rollcall."""
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/plain")
                self.end_headers()
                self.wfile.write(FOREIGN.encode())

            def log_message(self, *_):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return server.server_address[1]

    def wait_for(self, promql):
        """The instant at which an expression was first seen to be true."""
        eventually(lambda: self.prometheus.query(promql), SOON, promql)
        return time.time()

    # The story

    def play(self):
        server = self.server
        phones = Phones(self, server, fleet()).start()
        beat = lambda source, seconds: server.write(
            f"/v1/heartbeat?source={source}", {"every_seconds": seconds})
        beat("p1", 3600)
        beat("p2", 1)
        server.write("/v1/responders", {"responder_id": "off-1", "duty_state": "OFF_DUTY"})
        self.wait_for('sum(responders_by_status{status="ONLINE"}) == 12')
        time.sleep(2)
        self.healthy = self.wait_for("rollcall_watching == 1")
        # A whole region and a phone of another fall silent: missed, paged, nudged. In Harbour,
        # which must be staffed, nobody ever was.
        away = [f"north-{n}" for n in range(1, 5)] + ["south-1"]
        phones.swipe_away(*away)
        self.wait_for('ALERTS{alertname="HighOfflineRate", alertstate="firing"}')
        self.wait_for('rollcall_alerts{alertname="NoOnlineResponders", alertstate="firing"} == 2')
        eventually(lambda: self.push.events("responder.nudge"), SOON, "a nudge")
        self.ask_for_everything_else()
        # Some come back; one of them falls silent again, which settles what the gap was.
        phones.open("north-1", "north-2")
        self.wait_for('sum(rollcall_nudge_outcomes_total{outcome="located"}) > 0')

        def is_settled():
            # A batch that overtakes the transition is newer, and wins (L7).
            server.write("/v1/transitions", [
                {"responder_id": name, "from": "ONLINE", "to": "OFFLINE", "at": now_ms()}
                for name in ("north-1", "north-2")])
            return self.prometheus.query("sum(rollcall_gap_verdicts_total) > 0")

        eventually(is_settled, SOON, "a verdict", every=3)
        # It is killed and started again; later its only source falls silent.
        server.kill()
        self.down = self.wait_for('up{job="rollcall"} == 0')
        time.sleep(2)
        server.start()
        self.wait_for("rollcall_watching == 1")
        beat("p1", 1)
        self.blind = self.wait_for('rollcall_blind{reason="heartbeat"} == 1')
        time.sleep(1)
        beat("p1", 3600)
        self.wait_for("rollcall_watching == 1")
        # Requests and phones go on for a moment, so that what is a rate has one.
        self.ask_for_everything_else()
        firing = next(one for one in server.get("/v1/alerts").json()["alerts"]
                      if one["labels"].get("region") == "harbour")
        self.assertEqual(server.post(
            f"/v1/incidents/{firing['key']}/take", {"by": "kim", "duration": "2h"}).status, 200)
        # Some who were away meanwhile are back: what their gaps were we did not see.
        phones.open("north-3", "north-4")
        self.wait_for("sum(rate(rollcall_gaps_blind_total[10s])) > 0")
        server.write("/v1/responders", {"responder_id": "new-1", "duty_state": "ON_DUTY"})
        time.sleep(3)
        self.ended = self.wait_for("rollcall_watching == 1")

    def ask_for_everything_else(self):
        """What a backend, an operator and somebody on call do."""
        server = self.server
        server.write("/v1/wakes", {"circle": "north", "viewer": "south-2"})
        server.write("/v1/nudges", {"responder_id": "east-3", "by": "east-2"})
        server.write("/v1/transitions", {
            "responder_id": "east-1", "from": "ONLINE", "to": "DEGRADED", "at": now_ms()})
        # One that is older than what was heard since; a clock that runs ahead; a reinstall.
        server.write("/v1/transitions", {
            "responder_id": "east-4", "from": "ONLINE", "to": "OFFLINE", "at": now_ms() - 9000})
        for sequence, ahead in ((900, 0), (901, 9000), (1, 0)):
            server.write("/v1/batches", {
                "responder_id": "odd-1", "region": "south", "updates": [
                    {"sequence": sequence, "captured_at": now_ms() + ahead}]})
        server.write("/v1/batches", ndjson([
            {"responder_id": "east-2", "latitude": 1.5, "updates": [{"sequence": -1}]},
            {"region": "north"}]), {"Content-Type": "application/x-ndjson"})
        server.get("/nothing")
        server.post("/v1/silences", {
            "matchers": ["alertname=ResponderFlapping"], "duration": "2h", "author": "kim",
            "comment": "exercise"})
        self.assertEqual(server.post("/-/reload", {}).status, 200)

    # The checks

    def ask(self, expression, instant, at=None, **more):
        """The series of an expression as Grafana asks for it: (labels, values that are numbers)."""
        text = expanded(expression, {**SPANS, **SELECTED, **more})
        if instant:
            data = self.prometheus.get("/api/v1/query?" + urllib.parse.urlencode(
                {"query": text, "time": f"{at or self.ended:.3f}"}))
        else:
            data = self.prometheus.get("/api/v1/query_range?" + urllib.parse.urlencode({
                "query": text, "start": f"{self.began:.3f}", "end": f"{self.ended:.3f}",
                "step": 1}))
        return sorted((
            (series["metric"], [
                round(float(value), 6) for _, value in series.get("values") or [series["value"]]
                if not math.isnan(float(value))])
            for series in data["result"]), key=lambda entry: sorted(entry[0].items()))

    def check_every_metric_is_real(self):
        """No rules are needed: each is in a scrape, or Prometheus' own."""
        real = {name for name, _ in self.server.scrape().samples} | {"up", "ALERTS"}
        # Only a fleet of cells has it: without it nothing is left out.
        real.add("rollcall_cell_role")
        for name, dashboard in dashboards().items():
            for where, expression in expressions(dashboard):
                with self.subTest(f"{name}: {where}"):
                    self.assertEqual(dashboard_lint.names(expression) - real, set())

    def check_everything_shows_something(self):
        count, zeros = 0, set()
        for name, dashboard in dashboards().items():
            for panel, target in targets(dashboard):
                with self.subTest(f"{name}: {panel['title']}, {target['refId']}"):
                    if not any(map(any, self.check_target(panel, target))):
                        zeros.add(f"{panel['title']}, {target['refId']}")
                    count += 1
            for mark in dashboard["annotations"]["list"]:
                with self.subTest(f"{name}: annotation {mark['name']}"):
                    found = self.ask(mark["expr"], instant=False)
                    # Grafana draws where the value is above 0.
                    self.assertTrue(any(value > 0 for _, values in found for value in values))
                    for label in re.findall(r"\{\{(\w+)\}\}", mark["titleFormat"]):
                        self.assertTrue(all(series.get(label) for series, _ in found))
        self.assertGreater(count, 100)
        with self.subTest("something other than 0"):
            self.assertEqual(zeros - set(ONLY_ZERO), set())

    def check_target(self, panel, target):
        """The values of its series."""
        found = self.ask(target["expr"], target["instant"])
        self.assertTrue(any(values for _, values in found), target["expr"])
        labels = {label for series, _ in found for label in series}
        for label in re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]):
            self.assertTrue(all(series.get(label) for series, _ in found), label)
        if panel["type"] == "stat":
            self.assertEqual(len(found), 1)
        if panel["type"] == "heatmap":
            self.assertEqual((target["format"], target["legendFormat"]), ("heatmap", "{{le}}"))
            self.assertEqual(labels, {"le"})
        if panel["type"] == "table":
            sorted_by = {
                change["options"]["sort"][0]["field"] for change in panel["transformations"]
                if change["id"] == "sortBy"}
            self.assertEqual(labels, sorted_by)
            for change in panel["transformations"]:
                if change["id"] == "groupingToMatrix":
                    row, column = (change["options"][f] for f in ("rowField", "columnField"))
                    self.assertEqual(labels, {row, column})
                if change["id"] == "organize":
                    # The corner of a matrix has the names of both.
                    corner = "\\".join([row, column]) if len(labels) == 2 else next(iter(labels))
                    self.assertIn(corner, change["options"]["renameByName"])
        return [values for _, values in found]

    # Links

    def check_every_link_leads_somewhere(self):
        """With what is clicked at put in, as Grafana does it."""
        asked, known, at = {}, dashboard_links.runbooks(), rfc3339(now_ms() - 60_000)
        for name, dashboard in dashboards().items():
            for panel, link in dashboard_links.links(dashboard):
                with self.subTest(f"{name}: {panel['title']}, {link['url']}"):
                    urls = dashboard_links.clicked(panel, link["url"], [
                        series for target in panel["targets"]
                        for series, _ in self.ask(target["expr"], target["instant"])], at)
                    self.assertTrue(urls)
                    for url in urls:
                        view = dashboard_links.view(url)
                        if view is not None and url not in asked:
                            asked[url] = self.check_view(*view)
                        elif view is None and not url.startswith("/d/"):
                            self.assertIn(re.search(r"/(\w+)\.md$", url)[1], known)
        self.assertGreater(len(asked), 40)

    def check_view(self, path, query):
        """The page is there, and what it asks is a question; it lists as many as were counted."""
        text = "&".join(f"{key}={value}" for key, value in query.items())
        self.assertEqual(self.server.get(f"/{path}?{text}", {"Accept": "text/html"}).status, 200)
        _, route = dashboard_links.VIEWS[path]
        if "status" not in query:
            # By what a table is made is the page's own word, and `t` is what it asks for as `at`.
            text = "&".join(f"at={part[2:]}" if part.startswith("t=") else part
                            for part in text.split("&") if not part.startswith("by="))
            answer = self.server.get(f"{route}?{text}")
            self.assertEqual(answer.status, 200, answer.json())
            return
        labels = {key: urllib.parse.unquote(value) for key, value in query.items()}

        def is_as_counted():
            listed = len(self.server.get(f"{route}?limit=1000&{text}").json()["responders"])
            return listed == sum(
                value for (name, have), value in self.server.scrape().samples.items()
                if name == "rollcall_responders" and labels.items() <= dict(have).items())

        eventually(is_as_counted, SOON, f"as many as there are: {text}")

    # Numbers

    def check_a_healthy_fleet_is_no_hole(self):
        """Where nothing ever went wrong a panel shows 0, or says that nothing happened."""
        for name, dashboard in dashboards().items():
            for panel, target in targets(dashboard):
                found = self.ask(target["expr"], True, at=self.healthy)
                is_said = "No curve" in panel["description"] or any(
                    mapping["type"] == "special"
                    for mapping in panel["fieldConfig"]["defaults"]["mappings"])
                with self.subTest(f"{name}: {panel['title']}, {target['refId']}"):
                    self.assertTrue(found)
                    self.assertTrue(is_said or any(values for _, values in found))

    def check_others_are_not_shown(self):
        """All jobs are those of Rollcall, though others are scraped too."""
        self.assertEqual(len(self.ask("process_threads", True)), 2)
        for name, dashboard in dashboards().items():
            for where, expression in expressions(dashboard):
                for instant in (True, False):
                    with self.subTest(f"{name}: {where}"):
                        self.assertEqual(
                            self.ask(expression, instant),
                            self.ask(expression, instant, job="rollcall"))

    def check_variables(self):
        """What can be chosen."""
        expected = {
            "job": {"rollcall"}, "instance": {self.server.address},
            "region": {"default", "harbour", "north", "south", "east"}}
        for dashboard in dashboards().values():
            for variable in variables(dashboard, "query"):
                _, expression = inner(variable["query"])
                label = re.search(r", (\w+)\)$", variable["query"])[1]
                self.assertEqual(
                    {series[label] for series, _ in self.ask(expression, True)},
                    expected[variable["name"]])
                self.assertEqual(label, variable["name"])

    def check_nothing_is_known_while_nobody_watches(self):
        """A status is no number of now while it is not known; and the watch says so itself."""
        fleet_now = dashboards()["rollcall-fleet.json"]
        # The last known ones are there to be shown, which is the temptation.
        self.assertTrue(self.ask("sum(rollcall_responders)", True, at=self.blind))
        for instant, watch in ((self.down, -1), (self.blind, 0), (self.ended, 1)):
            for panel, target in targets(fleet_now):
                if panel["type"] not in dashboard_lint.NOW:
                    continue
                found = self.ask(target["expr"], True, at=instant)
                with self.subTest(f"{panel['title']} while the watch is {watch}"):
                    if panel["title"] == "Watch":
                        self.assertEqual(found, [({}, [watch])])
                    else:
                        self.assertEqual(bool(found), watch == 1)


if __name__ == "__main__":
    unittest.main()
