"""What `Alerts/` holds is what Debian's Prometheus and Alertmanager take, and every alert has its
runbook.

Source: design §6, §11; style 27.
"""

import json
import os
import re
import shutil
import subprocess
import unittest

import yaml

from rollcall_process import RollcallTestCase

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ALERTS = os.path.join(ROOT, "Alerts")
RULES = "rollcall.rules.yml"
# Alerts that Rollcall decides by itself (design §6, A2 to A5); those of the rules file may be more.
OWN = {
    "HighOfflineRate", "NoOnlineResponders", "ResponderFlapping", "TelemetryFeedDown",
    "RollcallStoreFailing", "RollcallOverloaded", "Watchdog"}


def read(name):
    with open(os.path.join(ALERTS, name), encoding="utf-8") as file:
        return file.read()


def replaced(text, old, new):
    """The text with `old` replaced, which must be in it exactly once."""
    if text.count(old) != 1:
        raise AssertionError(f"{text.count(old)} times in the file: {old!r}")
    return text.replace(old, new)


class AlertRulesTestCase(RollcallTestCase):
    def tool(self, name, *arguments):
        """Runs a tool of Debian's, which must end well; what it printed."""
        if shutil.which(name) is None:
            package = {"promtool": "prometheus", "amtool": "prometheus-alertmanager"}[name]
            self.fail(f"no {name}: apt-get install {package}")
        outcome = subprocess.run(
            [name, *arguments], capture_output=True, text=True, timeout=60, cwd=self.directory)
        self.assertEqual(outcome.returncode, 0, outcome.stdout + outcome.stderr)
        return outcome.stdout

    def write(self, name, text):
        path = os.path.join(self.directory, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def alerts(self):
        return [rule for group in yaml.safe_load(read(RULES))["groups"]
                for rule in group["rules"] if "alert" in rule]


class RulesTests(AlertRulesTestCase):
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
        told = {
            (rule["alert"], rule["labels"]["severity"]):
                (rule.get("for", "0s"), rule.get("keep_firing_for", "0s"))
            for rule in self.alerts() if rule["alert"] in OWN}
        self.assertEqual(told, {
            ("HighOfflineRate", "warning"): ("60s", "0s"),
            ("ResponderFlapping", "warning"): ("0s", "0s"),
            ("NoOnlineResponders", "critical"): ("60s", "2m"),
            ("TelemetryFeedDown", "critical"): ("0s", "0s"),
            ("TelemetryFeedDown", "warning"): ("0s", "0s"),
            ("RollcallStoreFailing", "critical"): ("0s", "0s"),
            ("RollcallOverloaded", "critical"): ("0s", "0s"),
            ("Watchdog", "none"): ("0s", "0s")})

    def test_an_alert_by_region_is_one_word_away(self):
        self.write(RULES, replaced(
            read(RULES), "          instance:responders_offline_per", "          region:responders_offline_per"))
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
""")
        self.tool("promtool", "test", "rules", "region.test.yml")

    def test_covered_regions_are_three_lines_away(self):
        text = read(RULES)
        for line in (
                "or\n", '  region:responders_active:sum{region=~"north|south"} == 0\n',
                "    and on (job, instance) rollcall_last_batch_timestamp_seconds > 0\n"):
            text = replaced(text, f"            # {line}", f"              {line}")
        self.write(RULES, text)
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
      - eval_time: 5m
        alertname: NoOnlineResponders
        exp_alerts:
          - *north
          - exp_labels: {job: rollcall, instance: a, region: south, severity: critical}
            exp_annotations:
              summary: Nobody in a region can be reached.
              description: Nobody is on duty in region south, which must always be staffed.
              runbook_url: runbooks/NoOnlineResponders.md
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

    def test_runbooks_are_short_and_their_links_lead_somewhere(self):
        for name in os.listdir(os.path.join(ALERTS, "runbooks")):
            text = read(os.path.join("runbooks", name))
            with self.subTest(name):
                self.assertTrue(text.startswith(f"# {name.removesuffix('.md')}\n"))
                self.assertLess(len(text.splitlines()), 65)
                for link in re.findall(r"\]\(([^)]*)\)", text):
                    self.assertTrue(os.path.exists(os.path.join(ALERTS, "runbooks", link)), link)


if __name__ == "__main__":
    unittest.main()
