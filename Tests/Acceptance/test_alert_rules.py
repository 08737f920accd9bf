"""What `Alerts/` holds is what Debian's Prometheus and Alertmanager take, and every alert has its
runbook.

Source: Contract/Alerts, V8; style 27.
"""

import json
import os
import re
import shutil
import subprocess
import unittest

import yaml

from dashboard_links import is_view, view
from documents import page
from rollcall_process import BINARY, RollcallTestCase

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ALERTS = os.path.join(ROOT, "Alerts")
RULES = "rollcall.rules.yml"
PACKAGES = {"promtool": "prometheus", "amtool": "prometheus-alertmanager"}
# Alerts that Rollcall decides by itself (Contract/Alerts, A2 to A5); those of the rules file may be more.
OWN = {
    "HighOfflineRate", "NoOnlineResponders", "ResponderFlapping", "ResponderOffline",
    "TelemetryFeedDown", "RollcallStateLost", "RollcallStoreFailing", "RollcallOverloaded", "RollcallUnsteady",
    "Watchdog"}
# Nobody who answers has a page, or it is not about Rollcall.
WITHOUT_PAGE = {"RollcallDown", "Watchdog"}


def read(name):
    with open(os.path.join(ALERTS, name), encoding="utf-8") as file:
        return file.read()


def replaced(text, old, new):
    """The text with `old` replaced, which must be in it exactly once."""
    if text.count(old) != 1:
        raise AssertionError(f"{text.count(old)} times in the file: {old!r}")
    return text.replace(old, new)


def seconds(text):
    """A duration of the settings' or of Prometheus'."""
    number, unit = re.fullmatch(r"(\d+)(s|m|h)", text).groups()
    return int(number) * {"s": 1, "m": 60, "h": 3600}[unit]


class AlertRulesTestCase(RollcallTestCase):
    def tool(self, name, *arguments):
        """Runs a tool, which must end well; what it printed."""
        if shutil.which(name) is None:
            self.fail(f"no {name}: apt-get install {PACKAGES.get(name)}")
        outcome = subprocess.run(
            [name, *arguments], capture_output=True, text=True, timeout=60, cwd=self.directory)
        self.assertEqual(outcome.returncode, 0, outcome.stdout + outcome.stderr)
        return outcome.stdout

    def write(self, name, text):
        path = os.path.join(self.directory, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def settings(self):
        """All settings with their defaults, as the binary prints them."""
        return yaml.safe_load(self.tool(BINARY, "config"))

    def printed(self, settings, *arguments, kind="rules"):
        """What the binary prints for these settings."""
        path = self.write("settings.yml", settings)
        return self.tool(BINARY, "manifest", kind, "--config.file", path, *arguments)

    def alerts(self):
        return [rule for group in yaml.safe_load(read(RULES))["groups"]
                for rule in group["rules"] if "alert" in rule]


class RulesTests(AlertRulesTestCase):
    def test_the_files_are_what_is_printed_of_the_defaults(self):
        for name, command in (
                (RULES, ("rules",)), ("rollcall.rules.test.yml", ("rules", "--tests")),
                ("alertmanager.example.yml", ("alertmanager",))):
            self.assertEqual(
                read(name), self.tool(BINARY, "manifest", *command),
                f"write it anew: rollcall manifest {' '.join(command)} > Alerts/{name}")

    def test_promtool_takes_the_rules(self):
        said = self.tool("promtool", "check", "rules", "--lint=all", os.path.join(ALERTS, RULES))
        self.assertIn("SUCCESS", said)

    def test_they_do_what_their_tests_say(self):
        self.tool("promtool", "test", "rules", os.path.join(ALERTS, "rollcall.rules.test.yml"))

    def test_every_rule_is_tested(self):
        tests = yaml.safe_load(read("rollcall.rules.test.yml"))["tests"]
        fired = {
            case["alertname"] for test in tests for case in test.get("alert_rule_test", [])
            if case.get("exp_alerts")}
        asked = " ".join(
            case["expr"] for test in tests for case in test.get("promql_expr_test", []))
        for group in yaml.safe_load(read(RULES))["groups"]:
            for rule in group["rules"]:
                if "alert" in rule:
                    self.assertIn(rule["alert"], fired)
                else:
                    self.assertIn(rule["record"], asked.split())

    def test_thresholds_and_severities_are_those_of_the_engine(self):
        settings = self.settings()
        own = {
            (name, rule["severity"]): (seconds(rule["for"]), seconds(rule["keep_firing_for"]))
            for name, rule in settings["alerts"].items() if name in OWN}
        # What the settings do not know (F11, A5).
        own["TelemetryFeedDown", "warning"] = (0, 0)
        own["RollcallStateLost", "critical"] = (0, 0)
        own["RollcallStoreFailing", "critical"] = (0, 0)
        own["RollcallOverloaded", "critical"] = (0, 0)
        own["RollcallUnsteady", "critical"] = (0, 0)
        own["Watchdog", "none"] = (0, 0)
        told = {
            (rule["alert"], rule["labels"]["severity"]):
                (seconds(rule.get("for", "0s")), seconds(rule.get("keep_firing_for", "0s")))
            for rule in self.alerts() if rule["alert"] in OWN}
        self.assertEqual(told, own)
        text = read(RULES)
        for part in (
                f":ratio > {settings['alerts']['HighOfflineRate']['above']}\n",
                f"timestamp_seconds > {seconds(settings['feed']['stall_after'])}\n",
                f"[3m]) >= {settings['feed']['min_active']}\n",
                f"[{settings['liveness']['on_duty']['degraded_after']}])\n"):
            self.assertIn(part, text)

    def test_an_alert_by_region_is_one_setting_away(self):
        self.write(RULES, self.printed("alerts: {HighOfflineRate: {by: region}}\n"))
        self.write("region.test.yml", """
rule_files: [rollcall.rules.yml]
evaluation_interval: 15s
tests:
  - interval: 15s
    input_series:
      - series: rollcall_watching{job="rollcall", instance="a"}
        values: 1x9
      - series: rollcall_responders{job="rollcall", instance="a", region="north", status="OFFLINE"}
        values: 1x9
      - series: rollcall_responders{job="rollcall", instance="a", region="north", status="ONLINE"}
        values: 7x9
      - series: rollcall_responders{job="rollcall", instance="a", region="south", status="OFFLINE"}
        values: 1x9
      - series: rollcall_responders{job="rollcall", instance="a", region="south", status="ONLINE"}
        values: 9x9
    alert_rule_test:
      - eval_time: 1m
        alertname: HighOfflineRate
        exp_alerts:
          - exp_labels: {job: rollcall, instance: a, region: north, severity: warning}
            exp_annotations:
              summary: More than 10 % of the people expected to report are OFFLINE.
              description: 12.5% of the people whom a expects to report in region north are OFFLINE.
              runbook_url: runbooks/HighOfflineRate.md
              page_url: silent?region=north
""")
        self.tool("promtool", "test", "rules", "region.test.yml")

    def test_a_page_of_rollcalls_opens_for_a_region_whatever_its_name(self):
        self.write(RULES, read(RULES))
        self.write("region.test.yml", """
rule_files: [rollcall.rules.yml]
evaluation_interval: 15s
tests:
  - interval: 15s
    input_series:
      - series: rollcall_watching{job="rollcall", instance="a"}
        values: 1x9
      - series: rollcall_responders_flapping{job="rollcall", instance="a", region="a & b/ö?#"}
        values: 1x9
    alert_rule_test:
      - eval_time: 1m
        alertname: ResponderFlapping
        exp_alerts:
          - exp_labels: {job: rollcall, instance: a, region: "a & b/ö?#", severity: warning}
            exp_annotations:
              summary: People in a region change between ONLINE and OFFLINE again and again.
              description: So do 1 in region a & b/ö?#; do not rely on them for an assignment.
              runbook_url: runbooks/ResponderFlapping.md
              page_url: people?region=a+%26+b%2F%C3%B6%3F%23
""")
        self.tool("promtool", "test", "rules", "region.test.yml")

    def test_commands_of_the_page_print_rules_and_tests_that_agree(self):
        """V20: whatever the page says is to be typed, tests that are printed succeed."""
        os.symlink(BINARY, os.path.join(self.directory, "rollcall"))
        blocks = [block for block in re.findall(r"^```sh\n(.*?)^```$", page("Prometheus"), re.M | re.S)
                  if "manifest rules" in block]
        self.assertEqual([("--job" in block, "promtool test" in block) for block in blocks],
                         [(False, True), (True, True)])
        self.write("rollcall.yml", "coverage: {regions: [north]}\n")
        for block in blocks:
            self.tool("sh", "-ec", f"PATH=.:$PATH\n{block}")
        with open(os.path.join(self.directory, RULES), encoding="utf-8") as file:
            text = file.read()
        self.assertNotIn('job="rollcall"', text)
        for group in yaml.safe_load(text)["groups"]:
            for rule in group["rules"]:
                for name, value in rule.get("annotations", {}).items():
                    if name.endswith("_url"):
                        self.assertRegex(value, r"^https://\w+\.example\.org/\w+")

    def test_covered_regions_are_one_setting_away(self):
        self.write(RULES, self.printed("coverage: {regions: [north, south]}\n"))
        self.write("covered.test.yml", """
rule_files: [rollcall.rules.yml]
evaluation_interval: 15s
tests:
  - interval: 15s
    input_series:
      - series: rollcall_watching{job="rollcall", instance="a"}
        values: 1x30
      # Nobody can be missed before the first batch, at 1:00.
      - series: rollcall_last_batch_timestamp_seconds{job="rollcall", instance="a"}
        values: 0x3 1x30
      - series: rollcall_responders{job="rollcall", instance="a", region="north", status="ONLINE"}
        values: 0x30
      - series: rollcall_responders{job="rollcall", instance="a", region="closed", status="ONLINE"}
        values: 0x30
      # All go silent at 4:00 and are signed off at 5:00: one alert, first for this, then for that.
      - series: rollcall_responders{job="rollcall", instance="a", region="south", status="ONLINE"}
        values: 2x15 0x30
      - series: rollcall_responders{job="rollcall", instance="a", region="south", status="OFFLINE"}
        values: 0x15 2x3 0x30
    alert_rule_test:
      - {eval_time: 1m45s, alertname: NoOnlineResponders}
      - eval_time: 2m
        alertname: NoOnlineResponders
        exp_alerts:
          - &north
            exp_labels: {job: rollcall, instance: a, region: north, severity: critical}
            exp_annotations:
              summary: Nobody in a region can be reached.
              description: Nobody is on duty in region north, which must always be staffed.
              runbook_url: runbooks/NoOnlineResponders.md
              page_url: people?region=north
      - eval_time: 5m
        alertname: NoOnlineResponders
        exp_alerts:
          - *north
          - exp_labels: {job: rollcall, instance: a, region: south, severity: critical}
            exp_annotations:
              summary: Nobody in a region can be reached.
              description: Nobody is on duty in region south, which must always be staffed.
              runbook_url: runbooks/NoOnlineResponders.md
              page_url: people?region=south
""")
        self.tool("promtool", "test", "rules", "covered.test.yml")


class AlertmanagerTests(AlertRulesTestCase):
    CONFIG = os.path.join(ALERTS, "alertmanager.example.yml")

    def test_amtool_takes_the_example(self):
        said = self.tool("amtool", "check-config", self.CONFIG)
        self.assertIn("SUCCESS", said)

    def test_every_alert_gets_to_its_receiver(self):
        expected = {"critical": "pager", "warning": "chat", "info": "chat", "none": "heartbeat"}
        for rule in self.alerts():
            severity = rule["labels"]["severity"]
            said = self.tool(
                "amtool", "config", "routes", "test", f"--config.file={self.CONFIG}",
                f"alertname={rule['alert']}", f"severity={severity}")
            self.assertEqual(said.split(), [expected[severity]], rule["alert"])

    def test_a_heartbeat_goes_out_at_every_second_look(self):
        """Were both intervals the same, a look that comes a little too soon would leave one out."""
        text = read("alertmanager.example.yml")
        routes = yaml.safe_load(text)["route"]["routes"]
        route = next(route for route in routes if route["receiver"] == "heartbeat")
        look, between = seconds(route["group_interval"]), seconds(route["repeat_interval"])
        self.assertLess(look, between)
        self.assertLess(between, 2 * look)
        self.assertEqual(2 * look, 60)
        self.assertIn("a grace of 3", text)

    def test_inhibitions_name_alerts_that_there_are(self):
        names = {rule["alert"] for rule in self.alerts()}
        matchers = re.findall(r'alertname=~?"([^"]*)"', json.dumps(
            yaml.safe_load(read("alertmanager.example.yml"))).replace('\\"', '"'))
        self.assertGreater(len(matchers), 9)
        for matcher in matchers:
            self.assertTrue(
                any(re.fullmatch(matcher, name) for name in names), matcher)
            for word in re.sub(r"Rollcall\(([^)]*)\)", lambda m: "|".join(
                    "Rollcall" + end for end in m[1].split("|")), matcher).split("|"):
                self.assertIn(word, names)


class RunbookTests(AlertRulesTestCase):
    def test_every_alert_has_a_runbook_and_every_runbook_an_alert(self):
        names = {rule["alert"] for rule in self.alerts()}
        self.assertEqual(OWN - names, set())
        there = {
            name.removesuffix(".md") for name in os.listdir(os.path.join(ALERTS, "runbooks"))}
        self.assertEqual(there, names)
        for rule in self.alerts():
            self.assertEqual(
                rule["annotations"]["runbook_url"], f"runbooks/{rule['alert']}.md")
            self.assertLessEqual(len(rule["annotations"]["summary"]), 140)

    def test_every_alert_leads_to_a_view_of_the_page(self):
        for rule in self.alerts():
            with self.subTest(rule["alert"]):
                self.assertEqual(
                    "page_url" in rule["annotations"], rule["alert"] not in WITHOUT_PAGE)
                if "page_url" in rule["annotations"]:
                    url = rule["annotations"]["page_url"]
                    # A region is quoted, or its question is left out.
                    rest = re.sub(r"{{ (\.|\$labels\.region) \| urlquery }}", "north", url)
                    rest = re.sub(r"{{ (with \$labels\.region|end) }}", "", rest)
                    self.assertTrue(is_view(*view(rest, before="")), url)

    def test_runbooks_are_short_and_their_links_lead_somewhere(self):
        for name in os.listdir(os.path.join(ALERTS, "runbooks")):
            text = read(os.path.join("runbooks", name))
            with self.subTest(name):
                self.assertTrue(text.startswith(f"# {name.removesuffix('.md')}\n"))
                self.assertLess(len(text.splitlines()), 65)
                for link in re.findall(r"\]\(([^)]*)\)", text):
                    self.assertTrue(os.path.exists(os.path.join(ALERTS, "runbooks", link)), link)

    def test_routes_and_settings_in_them_exist(self):
        settings = self.keys(self.settings())
        routes = set(self.serve().get("/openapi.json").json()["paths"])
        unknown = []
        for name in os.listdir(os.path.join(ALERTS, "runbooks")):
            text = read(os.path.join("runbooks", name))
            unknown += [
                (name, route) for route in re.findall(r"localhost:10112(/[a-z0-9/.-]*)", text)
                if route not in routes]
            for setting in re.findall(
                    r"`((?:alerts|liveness|feed|storage|limits|coverage|web)\.[\w.*]+)`", text):
                pattern = re.escape(setting).replace(r"\*", ".*")
                if not any(re.fullmatch(f"{pattern}(\\..*)?", known) for known in settings):
                    unknown.append((name, setting))
        self.assertEqual(unknown, [])

    def keys(self, tree, prefix=""):
        found = set()
        for key, value in tree.items():
            found.add(prefix + key)
            if isinstance(value, dict):
                found |= self.keys(value, f"{prefix}{key}.")
        return found

    def test_commands_in_them_exist(self):
        for name in os.listdir(os.path.join(ALERTS, "runbooks")):
            text = read(os.path.join("runbooks", name)).replace("\\\n", "")
            for line in re.findall(r"^rollcall (.*)|`rollcall ([^`]*)`", text, re.MULTILINE):
                command = re.sub(r"\s*#.*", "", line[0] or line[1])
                words = command.split()
                is_below = words[0] == "silence" or words[:2] == ["cluster", "cells"]
                count = 2 if is_below else 1
                with self.subTest(f"{name}: {command}"):
                    help_text = self.tool(BINARY, *words[:count], "--help")
                    self.assertIn(f"rollcall {' '.join(words[:count])} ", help_text)
                    for option in re.findall(r"--[a-z.-]+", command):
                        self.assertIn(option, help_text)


if __name__ == "__main__":
    unittest.main()
