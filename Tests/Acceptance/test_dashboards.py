"""`Dashboards/` is what Grafana takes, obeys the rules of its linter, and has a place for
every metric.

Source: issue of those who look; style 27.
"""

import copy
import json
import os
import re
import subprocess
import unittest

import yaml
from grafana_foundation_sdk.cog import plugins
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard

import dashboard_lint
from dashboard_lint import DASHBOARDS, dashboards, expressions, findings, variables
from documents import page
from rollcall_process import BINARY, RollcallTestCase
from test_alert_rules import ALERTS

# Read by Prometheus' own support of annotations; the model has what all data sources share.
ANNOTATION_KEYS = {"step", "titleFormat", "textFormat", "tagKeys", "useValueForTime"}
# Metrics that are on no dashboard, and why.
LEFT_OUT = {
    "responders_by_status": "the same people by region are rollcall_responders",
    "rollcall_state_lost_timestamp_seconds":
        "RollcallStateLost fires by it, and alerts are annotations of every dashboard",
    "rollcall_responders_missed":
        "those OFFLINE are rollcall_responders; ResponderOffline fires by it, and nobody has it on",
    "rollcall_names": "whoever reaches a limit shows in rollcall_item_problems_total",
    "rollcall_source_lag_seconds": "the log, /v1/status and the page say it in a sentence",
    "rollcall_source_skew_seconds": "the log, /v1/status and the page say it in a sentence",
    "rollcall_times_read_total": "it is looked at once, when a backend is joined",
    **{name: "only who has inputs has it, and GET /v1/inputs says where and why"
       for name in ("rollcall_input_requests_total", "rollcall_input_items_total",
                    "rollcall_input_problems_total")},
    **{name: "only who has events sent out has it, and the page's Health and /v1/status say it"
       for name in (
           "rollcall_subscription_events_total", "rollcall_subscription_attempts_failed_total",
           "rollcall_subscription_stopped")},
    **{name: "nobody need act on it: who follows sees that their stream ended, and goes on"
       for name in ("rollcall_event_streams", "rollcall_event_streams_cut_total")},
    **{name: "the alerts of a watch on several machines fire by it, and `rollcall cluster` tells it"
       for name in (
           "rollcall_member_leading", "rollcall_member_confirmed", "rollcall_member_lost",
           "rollcall_member_reign", "rollcall_member_position", "rollcall_member_lag_entries",
           "rollcall_member_noted_position", "rollcall_member_noted_timestamp_seconds")},
    **{name: "alerts of a watch on several machines fire by it"
       for name in (
           "rollcall_member_divergent", "rollcall_member_state_differences_total",
           "rollcall_member_single_copy")},
    "rollcall_promised_seconds_total":
        "it is looked at when promises are introduced, beside the dark time that they keep away",
    "rollcall_member_passed_on_total":
        "whoever is answered 503 at a follower shows in rollcall_http_requests_total",
    "rollcall_idempotency_keys_total":
        "it is looked at when a client that retries is joined",
    **{name: "TelemetryFeedDown fires for a broker that is away, and GET /v1/inputs tells it"
       for name in (
           "rollcall_input_mqtt_connected", "rollcall_input_mqtt_connections_total",
           "rollcall_input_mqtt_messages_total", "rollcall_input_mqtt_waiting")},
    "rollcall_chore_duration_seconds":
        "a checkpoint is judged by it; what writes wait for is rollcall_commit_duration_seconds",
}
plugins.register_default_plugins()


def provisioning(name):
    with open(os.path.join(DASHBOARDS, "provisioning", name), encoding="utf-8") as file:
        return yaml.safe_load(file)


# MARK: the files


def lost(ours, theirs, path=""):
    """What is in `ours` and not, or otherwise, in `theirs`."""
    if isinstance(ours, dict):
        for key, value in ours.items():
            there = isinstance(theirs, dict) and key in theirs
            yield from lost(value, theirs[key], f"{path}.{key}") if there else [f"{path}.{key}"]
    elif isinstance(ours, list):
        if not isinstance(theirs, list) or len(ours) != len(theirs):
            yield path
        else:
            for number, (mine, its) in enumerate(zip(ours, theirs)):
                yield from lost(mine, its, f"{path}[{number}]")
    elif ours != theirs:
        yield f"{path}: {ours!r}, {theirs!r}"


def lost_in_grafana(dashboard):
    """What Grafana's own model of a dashboard does not know."""
    model = json.loads(json.dumps(Dashboard.from_json(dashboard), cls=JSONEncoder))
    return [
        path for path in lost(dashboard, model)
        if not re.fullmatch(rf"\.annotations\.list\[\d+\]\.({'|'.join(ANNOTATION_KEYS)})", path)]


class FileTests(unittest.TestCase):
    maxDiff = None

    def test_nothing_is_lost_in_grafanas_model(self):
        for name, dashboard in dashboards().items():
            with self.subTest(name):
                self.assertEqual(lost_in_grafana(dashboard), [])

    def test_what_grafana_does_not_know_is_noticed(self):
        good = dashboards()["rollcall-fleet.json"]
        panel = next(n for n, p in enumerate(good["panels"]) if p["type"] == "timeseries")
        for place in (
                (), ("panels", panel), ("panels", panel, "options"), ("templating", "list", 1),
                ("panels", panel, "options", "legend"), ("panels", panel, "targets", 0),
                ("panels", panel, "fieldConfig", "defaults"), ("annotations", "list", 0),
                ("panels", panel, "fieldConfig", "defaults", "custom")):
            bad = copy.deepcopy(good)
            part = bad
            for step in place:
                part = part[step]
            part["notAField"] = 1
            with self.subTest(place):
                self.assertEqual([path.split(".")[-1] for path in lost_in_grafana(bad)],
                                 ["notAField"])

    def test_each_has_an_address_of_its_own_and_leads_to_the_others(self):
        found = dashboards()
        self.assertEqual(
            [(f"{d['uid']}.json", d["tags"], d["schemaVersion"]) for d in found.values()],
            [(name, ["rollcall"], 39) for name in found])
        for dashboard in found.values():
            self.assertNotIn("id", dashboard)
            self.assertNotIn("__inputs", dashboard)
            self.assertEqual(
                [(l["type"], l["tags"], l["includeVars"], l["keepTime"])
                 for l in dashboard["links"]], [("dashboards", ["rollcall"], True, True)])
            self.assertEqual(
                [v["name"] for v in variables(dashboard)],
                ["datasource", "job", "instance", "region"])
            self.assertEqual(
                [(mark["name"], mark["enable"]) for mark in dashboard["annotations"]["list"]],
                [("Blind", True), ("No answer", True), ("Alerts", True),
                 ("Alerts from Prometheus", False)])

    def test_provisioning_reads_what_is_there(self):
        self.assertEqual(
            sorted(os.listdir(os.path.join(DASHBOARDS, "provisioning"))),
            ["dashboards.yaml", "datasources.yaml"])
        provider, = provisioning("dashboards.yaml")["providers"]
        self.assertEqual((provider["type"], provider["allowUiUpdates"]), ("file", False))
        text = page("Prometheus")
        self.assertIn(f"-t {provider['options']['path']} Dashboards/*.json", text)
        self.assertIn("Dashboards/provisioning/dashboards.yaml", text)
        source, = provisioning("datasources.yaml")["datasources"]
        self.assertEqual((source["type"], source["access"]), ("prometheus", "proxy"))
        self.assertIn(f"scrape_interval: {source['jsonData']['timeInterval']}\n", text)

    def test_every_metric_has_a_place_or_a_reason_not_to(self):
        rows = [row.split("|") for row in page("Metrics").splitlines() if row.startswith("| `")]
        documented = {name for row in rows for name in re.findall(r"`([a-z_]+)`", row[1])}
        process = next(row for row in rows if row[1].strip() == "`process_…`")
        documented |= {f"process_{word}" for word in re.findall(r"`([a-z_]+)`", process[4])}
        shown = {
            re.sub(r"_(bucket|count|sum|gcount|gsum)$", "", name)
            for dashboard in dashboards().values() for _, text in expressions(dashboard)
            for name in dashboard_lint.names(text)} - {"up", "ALERTS"}
        self.assertGreater(len(documented), 60)
        self.assertEqual(documented - shown, set(LEFT_OUT))
        self.assertEqual(shown - documented, set())


# MARK: the words


class WordTests(RollcallTestCase):
    """Settings, commands, routes and runbooks that descriptions name are there."""

    def setUp(self):
        super().setUp()
        self.texts = [
            (f"{name}: {panel['title']}", panel["description"])
            for name, dashboard in dashboards().items()
            for panel in dashboard_lint.panels(dashboard)]

    def named(self, pattern):
        found = [(where, name) for where, text in self.texts for name in re.findall(pattern, text)]
        self.assertTrue(found, pattern)
        return found

    def output(self, *arguments):
        return subprocess.run(
            [BINARY, *arguments], capture_output=True, text=True, timeout=30, check=True).stdout

    def test_settings_exist(self):
        known = list(self.keys(yaml.safe_load(self.output("config"))))
        for where, name in self.named(
                r"\b(?:alerts|liveness|feed|storage|limits|coverage|nudges|alive_ping)\.[\w.…]+\w"):
            pattern = re.escape(name).replace("…", r"[\w.]+")
            with self.subTest(f"{where}: {name}"):
                self.assertTrue(any(re.fullmatch(rf"{pattern}(\..*)?", key) for key in known))

    def keys(self, tree, prefix=""):
        for key, value in tree.items():
            yield prefix + key
            if isinstance(value, dict):
                yield from self.keys(value, f"{prefix}{key}.")

    def test_commands_exist(self):
        known = re.findall(r"^  (\w+) ", self.output("--help"), re.MULTILINE)
        for where, name in self.named(r"\brollcall ([a-z]+)"):
            with self.subTest(where):
                self.assertIn(name, known)

    def test_routes_exist(self):
        routes = self.serve().get("/openapi.json").json()["paths"]
        for where, (method, route) in self.named(r"\b(GET|POST) (/[\w/-]+)"):
            with self.subTest(where):
                self.assertIn(method.lower(), routes[route])

    def test_runbooks_exist(self):
        known = {name.removesuffix(".md") for name in os.listdir(os.path.join(ALERTS, "runbooks"))}
        for where, name in self.named(r"\b(?:[A-Z][a-z]+){2,}\b"):
            with self.subTest(where):
                self.assertIn(name, known)


# MARK: the rules


def first(dashboard, kind):
    return next(panel for panel in dashboard["panels"] if panel["type"] == kind)


def asks(dashboard, expression):
    first(dashboard, "timeseries")["targets"][0]["expr"] = expression


OURS = 'job=~"$job", instance=~"$instance"'
# For each rule a dashboard that breaks it.
BROKEN = {
    "template-datasource-rule": lambda d: variables(d)[0].update(label="Data Source"),
    "template-job-rule": lambda d: variables(d)[1].update(allValue=".*"),
    "template-instance-rule": lambda d: d["templating"]["list"].pop(2),
    "template-label-promql-rule": lambda d: variables(d)[3].update(query="label_values(a{, b)"),
    "template-on-time-change-reload-rule": lambda d: variables(d)[1].update(refresh=1),
    "panel-datasource-rule": lambda d: first(d, "stat").update(
        datasource={"type": "prometheus", "uid": "${DS_PROMETHEUS}"}),
    "panel-title-description-rule": lambda d: first(d, "stat").update(description=""),
    "panel-units-rule": lambda d: first(d, "stat")["fieldConfig"]["defaults"].update(unit="heads"),
    "panel-no-targets-rule": lambda d: first(d, "stat").update(targets=[]),
    "target-promql-rule": lambda d: asks(d, "sum(rollcall_watching"),
    "target-rate-interval-rule": lambda d: asks(d, f"rate(rollcall_batches_total{{{OURS}}}[5m])"),
    "target-job-rule": lambda d: asks(d, 'rollcall_watching{instance=~"$instance"}'),
    "target-instance-rule": lambda d: asks(d, 'rollcall_watching{job=~"$job"}'),
    "target-counter-agg-rule": lambda d: asks(d, f"sum(rollcall_batches_total{{{OURS}}})"),
    "uneditable-dashboard-rule": lambda d: d.update(editable=True),
    "house-layout": lambda d: first(d, "stat")["gridPos"].update(w=5),
    "house-no-stale-value": lambda d: first(d, "stat")["targets"][0].update(
        instant=False, range=True),
    "house-no-invented-zero": lambda d: asks(d, f"rollcall_watching{{{OURS}}} or vector(0)"),
    "house-own-targets-only": lambda d: asks(d, f"process_open_fds{{{OURS}}}"),
    "house-region": lambda d: asks(d, f"rollcall_responders{{{OURS}}}"),
    "house-columns": lambda d: first(d, "table")["options"]["sortBy"][0].update(displayName="X"),
    "house-variables": lambda d: asks(d, 'rollcall_watching{job=~"$cluster"}'),
}


class RuleTests(unittest.TestCase):
    def test_every_dashboard_obeys_every_rule(self):
        found = dashboards()
        self.assertEqual(len(found), 4)
        for name, dashboard in found.items():
            with self.subTest(name):
                self.assertEqual(findings(dashboard), [])

    def test_every_rule_can_be_broken(self):
        self.assertEqual(set(BROKEN), set(dashboard_lint.RULES))
        for name, breaks in BROKEN.items():
            bad = copy.deepcopy(dashboards()["rollcall-fleet.json"])
            breaks(bad)
            with self.subTest(name):
                self.assertTrue(findings(bad, only=name))


if __name__ == "__main__":
    unittest.main()
