"""`Dashboards/` is what Grafana takes, obeys the rules of its linter, and has a place for
every metric.

Source: issue of those who look; style 27.
"""

import copy
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import yaml

import dashboard_lint
import dashboard_links
import dashboard_looks
from dashboard_lint import DASHBOARDS, dashboards, expressions, findings, variables
from documents import page
from grafana_types import wrong_in_grafana
from rollcall_process import BINARY, RollcallTestCase
from test_alert_rules import ALERTS

# Metrics that are on no dashboard, and why.
LEFT_OUT = {
    "responders_by_status": "the same people by region are rollcall_responders",
    "rollcall_state_lost_timestamp_seconds":
        "RollcallStateLost fires by it, and alerts are annotations of every dashboard",
    "rollcall_store_segments_mended":
        "a start that mends says so in the log, segment by segment; nothing is to be done",
    "rollcall_responders_missed":
        "those OFFLINE are rollcall_responders; ResponderOffline fires by it, and nobody has it on",
    "rollcall_alert_receivers": "RollcallPagesTwice fires by it, and `rollcall check` tells who is told of what",
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
    **{name: "who has metrics pushed sees there whether they come, and the log says why not"
       for name in (
           "rollcall_otlp_exports_total", "rollcall_otlp_rejected_points_total",
           "rollcall_otlp_last_success_timestamp_seconds")},
    **{name: "nobody need act on it: who follows sees that their stream ended, and goes on"
       for name in ("rollcall_event_streams", "rollcall_event_streams_cut_total")},
    **{name: "only a fleet of many cells has it, and `rollcall cluster cells` tells more"
       for name in ("rollcall_cell_map_version", "rollcall_cell_misdirected_total",
                    "rollcall_gateway_cell_requests_total", "rollcall_gateway_fleet_requests_total")},
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


def provisioning(name):
    with open(os.path.join(DASHBOARDS, "provisioning", name), encoding="utf-8") as file:
        return yaml.safe_load(file)


def at(part, place):
    """The part of a dashboard that is at a place."""
    for step in place:
        part = part[step]
    return part


# A kind of panel, where in its first one, and what is no value there.
WRONG_TYPES = [
    (None, ("refresh",), 30), (None, ("editable",), "no"), (None, ("graphTooltip",), 7),
    (None, ("templating", "list", 4, "hide"), "2"),
    ("stat", ("type",), "statt"), ("stat", ("gridPos", "w"), "3"), ("stat", ("id",), 1.5),
    ("stat", ("fieldConfig", "defaults", "decimals"), "0"),
    ("stat", ("fieldConfig", "defaults", "thresholds", "mode"), "absolut"),
    ("stat", ("fieldConfig", "defaults", "thresholds", "steps", 0, "color"), 1),
    ("stat", ("options", "colorMode"), "values"),
    ("stat", ("options", "reduceOptions", "calcs"), "lastNotNull"),
    ("stat", ("links", 0, "targetBlank"), "true"),
    ("stat", ("fieldConfig", "defaults", "links", 0, "url"), ["/"]),
    ("timeseries", ("fieldConfig", "defaults", "custom", "lineWidth"), "1"),
    ("timeseries", ("fieldConfig", "overrides", 0, "properties", 0, "id"), "colour"),
    ("timeseries", ("targets", 0, "expr"), None), ("timeseries", ("targets", 0, "instant"), 0),
    ("table", ("fieldConfig", "overrides", 0, "properties", 1, "id"), "custom.cellOption"),
    ("table", ("transformations", 0, "id"), "merged"),
    ("table", ("options", "footer", "fields"), "all")]


# MARK: the files


class FileTests(unittest.TestCase):
    maxDiff = None

    def test_grafanas_types_take_all_of_it(self):
        for name, dashboard in dashboards().items():
            with self.subTest(name):
                self.assertEqual(wrong_in_grafana(dashboard), [])

    def test_a_field_that_grafana_does_not_know_is_noticed(self):
        good = dashboards()["rollcall-fleet.json"]
        panel = next(n for n, p in enumerate(good["panels"]) if p["type"] == "timeseries")
        stat = next(n for n, p in enumerate(good["panels"]) if p.get("links"))
        for place in (
                (), ("panels", panel), ("panels", panel, "options"), ("templating", "list", 1),
                ("panels", panel, "options", "legend"), ("panels", panel, "targets", 0),
                ("panels", panel, "fieldConfig", "defaults"), ("annotations", "list", 0),
                ("panels", panel, "fieldConfig", "defaults", "custom"),
                ("panels", stat, "links", 0),
                ("panels", stat, "fieldConfig", "defaults", "links", 0),
                ("panels", panel, "fieldConfig", "overrides", 0, "properties", 0, "value")):
            bad = copy.deepcopy(good)
            at(bad, place)["notAField"] = 1
            with self.subTest(place):
                found = wrong_in_grafana(bad)
                self.assertTrue(found)
                self.assertTrue(all("notAField is not known" in fault for fault in found), found)

    def test_a_value_of_another_type_is_noticed(self):
        good = dashboards()["rollcall-fleet.json"]
        for kind, place, value in WRONG_TYPES:
            bad = copy.deepcopy(good)
            at(first(bad, kind) if kind else bad, place[:-1])[place[-1]] = value
            with self.subTest(place):
                self.assertEqual(len(wrong_in_grafana(bad)), 1)

    def test_each_has_an_address_of_its_own_and_leads_to_the_others(self):
        found = dashboards()
        self.assertEqual(
            [(f"{d['uid']}.json", d["tags"], d["schemaVersion"]) for d in found.values()],
            [(name, ["rollcall"], 39) for name in found])
        for dashboard in found.values():
            self.assertNotIn("id", dashboard)
            self.assertNotIn("__inputs", dashboard)
            self.assertEqual(
                [v["name"] for v in variables(dashboard)],
                ["datasource", "job", "instance", "region", "page", "runbooks"])
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

    def test_the_two_addresses_are_two_commands_away(self):
        commands = re.findall(r"^sed -i .*\.json$", page("Prometheus"), re.MULTILINE)
        self.assertEqual(len(commands), 2)
        with tempfile.TemporaryDirectory() as folder:
            for name in dashboards():
                shutil.copy(os.path.join(DASHBOARDS, name), folder)
            for command in commands:
                there = command.replace("/var/lib/grafana/dashboards/rollcall", folder)
                subprocess.run(["sh", "-c", there], check=True, timeout=30)
            for name, dashboard in dashboards(folder).items():
                before = dashboards()[name]
                for was, now in zip(
                        variables(before, "constant"), variables(dashboard, "constant")):
                    values = [now["query"], now["current"]["value"], now["options"][0]["value"]]
                    self.assertEqual(len(set(values)), 1)
                    self.assertNotEqual(was["query"], now["query"])
                    self.assertNotIn("example.org/rollcall", now["query"])

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
    "house-links": lambda d: first(d, "stat")["links"][0].update(
        url="${runbooks:raw}/Rollcall.md"),
    "house-links-of-all": lambda d: d["links"][0].update(keepTime=False),
    "house-runbooks": lambda d: first(d, "stat")["links"].pop(0),
    "house-names": lambda d: first(d, "stat").update(description='See "Regions then".'),
    "house-grid": lambda d: first(d, "timeseries")["gridPos"].update(w=14),
    "house-titles": lambda d: first(d, "stat").update(title="rollcall_watching"),
    "house-units": lambda d: asks(d, f"60 * sum(rate(rollcall_batches_total{{{OURS}}}[1m]))"),
    "house-colours": lambda d: at(
        first(d, "stat"), ("fieldConfig", "defaults", "thresholds", "steps", 0)).update(
            color="red"),
}
# Addresses that must not get into a link, and why.
DEAD_LINKS = {
    "${page:raw}/peple?status=OFFLINE": "no view", "${page:raw}/people/17": "it names somebody",
    "${page:raw}/people?responder=17": "it names somebody",
    "${page:raw}/silent?status=OFFLINE": "no parameter",
    "${page:raw}/people?region=${__field.labels.region}": "a region with an & is another question",
    "${page:raw}/people?region=${__field.labels.place:percentencode}": "no label",
    "${page:raw}/people?region=${__data.fields.Region:percentencode}": "no column of a curve",
    "${page}/people": "may be encoded",
    "${page:raw}/at?t=${__value.time}": "milliseconds, which the page does not read",
    "${page:raw}/at?at=${__value.time:date:iso}": "no parameter",
    "http://127.0.0.1:10112/people": "not the operator's address",
    "${runbooks:raw}/RollcallGone.md": "no runbook",
    "runbooks/RollcallDown.md": "in Grafana itself",
    "/d/rollcall-causes?${__url_time_range}&${__all_variables}": "no dashboard",
    "/d/rollcall-fleet?${__url_time_range}&${__all_variables}": "itself",
    "/d/rollcall-self?${__url_time_range}": "loses the choice",
    "/d/rollcall-self?${__all_variables}": "loses the time"}


class RuleTests(unittest.TestCase):
    def test_every_dashboard_obeys_every_rule(self):
        found = dashboards()
        self.assertEqual(len(found), 5)
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

    def test_a_dead_link_is_noticed(self):
        for url, why in DEAD_LINKS.items():
            dashboard = dashboards()["rollcall-fleet.json"]
            panel = next(p for p in dashboard["panels"] if p["title"] == "Flapping responders")
            with self.subTest(url):
                self.assertTrue(dashboard_links.wrong(url, dashboard, panel), why)

    def test_links_of_the_page_are_read_by_the_page(self):
        """The file of a view has its path and each parameter that a link gives it."""
        assets = os.path.join(os.path.dirname(DASHBOARDS), "Sources/Rollcall/Page/Assets")
        texts = {}
        for name in os.listdir(assets):
            with open(os.path.join(assets, name), encoding="utf-8") as file:
                texts[name] = file.read()
        for path, (names, _) in dashboard_links.VIEWS.items():
            found = [text for text in texts.values() if f'path: "{path}"' in text]
            with self.subTest(path):
                self.assertTrue(found)
                # What a view has from another file of the page is below it.
                found += [texts[name] for text in found
                          for name in re.findall(r'from "\./(\w+\.js)"', text)]
                for name in names:
                    self.assertRegex("".join(found), rf'query\.{name}\b|"{name}"')

    def test_colours_can_be_told_apart(self):
        for one, other, eye, difference in dashboard_looks.differences():
            with self.subTest(f"{one} and {other}, {eye}"):
                self.assertGreater(difference, 18)
        for name, colour in dashboard_looks.COLOURS.items():
            for ground in dashboard_looks.GROUNDS:
                with self.subTest(f"{name} on {ground}"):
                    self.assertGreaterEqual(dashboard_looks.contrast(colour, ground), 3)


if __name__ == "__main__":
    unittest.main()
