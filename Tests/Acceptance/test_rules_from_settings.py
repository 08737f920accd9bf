"""What `rollcall manifest rules` and `alertmanager` print for settings, given to Debian's Prometheus and
Alertmanager: odd thresholds, odd names, routes, inhibitions, and both paging at once.

Source: V20.
"""

import json
import os
import re
import subprocess
import unittest
import urllib.request

import yaml

from alertmanager_process import Alertmanager
from loopback_receivers import Fleet, Hook, people
from random_settings import ALERTS as OWN_BY_SETTINGS
from random_settings import NAMES, Draw
from rollcall_process import eventually
from test_alert_rules import RULES, AlertRulesTestCase, replaced
from test_manifest import StrictLoader
from test_prometheus import Prometheus

TESTS = "rollcall.rules.test.yml"
# Settings drawn; ROLLCALL_RULES=FIRST-LAST draws others.
SEEDS = range(12)
RECEIVERS = {"critical": "pager", "warning": "chat", "info": "chat", "none": "chat"}
PROMETHEUS = """
global: {{scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}}
rule_files: ["{rules}"]
scrape_configs:
  - job_name: rollcall
    honor_labels: true
    static_configs: [{{targets: ["127.0.0.1:{port}"]}}]
"""


def milliseconds(text):
    """A duration of settings or of Prometheus'."""
    units = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
    return sum(int(number) * units[unit] for number, unit in re.findall(r"(\d+)(ms|s|m|h|d)", text))


def expanded(text):
    """A template that says only what its text is."""
    return text.replace('{{"{"}}', "{")


class SettingsTestCase(AlertRulesTestCase):
    def rules(self, text):
        """The alerts of a file that names nothing twice."""
        return [rule for group in yaml.load(text, StrictLoader)["groups"]
                for rule in group["rules"] if "alert" in rule]

    def try_out(self, settings, *arguments):
        """Prints rules and tests for settings, and lets `promtool` judge both; the rules."""
        text = self.printed(settings, *arguments)
        self.write(RULES, text)
        self.write(TESTS, self.printed(settings, "--tests", *arguments))
        self.tool("promtool", "check", "rules", "--lint=all", "--lint-fatal", RULES)
        self.tool("promtool", "test", "rules", TESTS)
        return self.rules(text)


class RandomSettingsTests(SettingsTestCase):
    """V20: whatever the settings are, rules and tests are of one mind, and of the settings'."""

    def seeds(self):
        first, _, last = os.environ.get("ROLLCALL_RULES", "").partition("-")
        return range(int(first), int(last) + 1) if last else SEEDS

    def test_rules_do_what_their_tests_say(self):
        for seed in self.seeds():
            with self.subTest(seed=seed):
                draw = Draw(seed)
                text = draw.text()
                arguments = ("--all",) if seed % 2 else ()
                self.hold_to(yaml.safe_load(text), self.try_out(text, *arguments), arguments)

    def hold_to(self, settings, rules, arguments):
        """Holds the rules to the settings, read by nobody of ours."""
        defaults = self.settings()["alerts"]
        for name in OWN_BY_SETTINGS:
            given = settings["alerts"].get(name, {})
            known = defaults[name] | given
            found = [rule for rule in rules if rule["alert"] == name]
            if not known["enabled"] and name != "ResponderOffline":
                self.assertEqual(found, [], name)
                continue
            if arguments:
                self.assertTrue(found, name)
            for rule in found:
                self.hold_rule(name, rule, known, given)

    def hold_rule(self, name, rule, known, given):
        labels = rule["labels"]
        pending = "0s" if name == "ResponderOffline" else known["for"]
        self.assertEqual(milliseconds(rule.get("for", "0s")), milliseconds(pending), name)
        self.assertEqual(
            milliseconds(rule.get("keep_firing_for", "0s")), milliseconds(known["keep_firing_for"]), name)
        if "source" not in str(rule["expr"]).split("or")[0] and "rollcall_feed_up == 0" not in rule["expr"]:
            self.assertEqual(labels["severity"], known["severity"], name)
        added = {
            label: value for label, value in given.get("labels", {}).items()
            if label not in ("job", "instance", "alertstate") and not label.startswith("__")}
        self.assertEqual(
            {label: expanded(value) for label, value in labels.items()
             if label not in ("severity", "suspected") and (label, value) != ("source", "")}, added, name)
        for annotation, value in given.get("annotations", {}).items():
            self.assertEqual(expanded(rule["annotations"][annotation]), value, name)
        if "runbook_url" in given:
            self.assertEqual(expanded(rule["annotations"]["runbook_url"]), given["runbook_url"])

    def test_a_rule_that_is_printed_wrongly_fails_its_tests(self):
        settings = """
            liveness: {on_duty: {expected: 30s, degraded_after: 60s, offline_after: 180s}}
            feed: {stall_after: 100s, min_active: 5}
            coverage: {regions: [north]}
            alerts:
              HighOfflineRate: {above: 0.2, min_active: 13, min_offline: 7, for: 100s, keep_firing_for: 7m}
              NoOnlineResponders: {for: 45s, keep_firing_for: 3m, severity: warning, labels: {team: x}}
            """
        self.try_out(settings)
        text = self.printed(settings)
        for old, new in (
                ("ratio > 0.2\n", "ratio > 0.2001\n"), ("ratio > 0.2\n", "ratio >= 0.2\n"),
                (":sum >= 13\n", ":sum >= 12\n"), ('"OFFLINE"}) >= 7\n', '"OFFLINE"}) >= 6\n'),
                ("for: 100s", "for: 90s"), ("for: 100s", "for: 106s"), ("keep_firing_for: 7m", "keep_firing_for: 6m"),
                ("- rollcall_last_batch_timestamp_seconds > 100", "- rollcall_last_batch_timestamp_seconds > 85"),
                ("- rollcall_last_batch_timestamp_seconds > 100", "- rollcall_last_batch_timestamp_seconds > 105"),
                ("- process_start_time_seconds > 100", "- process_start_time_seconds > 0"),
                ("[3m]) >= 5", "[3m]) >= 4"), ("[3m]) >= 5", "[15s]) >= 5"),
                ("[60s])\n", "[30s])\n"), ("offset 60s", "offset 45s"), ("offset 60s", "offset 75s"),
                ('sum{region="north"} == 0', 'sum{region="south"} == 0'), ("for: 45s", "for: 30s"),
                ("team: x", "team: y"), ("keep_firing_for: 3m", "keep_firing_for: 4m"),
                ("for: 30s", "for: 15s"), ("[115s]) == 1", "[30s]) == 1")):
            with self.subTest(f"{old!r} → {new!r}"):
                self.write(RULES, replaced(text, old, new))
                self.tool("promtool", "check", "rules", RULES)
                outcome = subprocess.run(
                    ["promtool", "test", "rules", TESTS], capture_output=True, timeout=60, cwd=self.directory)
                self.assertNotEqual(outcome.returncode, 0)

    def test_no_two_rules_are_one_to_lint(self):
        self.try_out("alerts: {TelemetryFeedDown: {severity: warning, labels: {team: x}}}\n")

    def test_options_are_in_rules_and_tests_alike(self):
        for settings in ("{}\n", Draw(3).text()):
            self.try_out(settings, "--job", "ops/watch.1", "--runbook-url", "http://[::1]/{{x}}",
                         "--page-url", "https://example.org/{{roll}}/call'")

    def test_alerts_get_to_their_receivers(self):
        for seed in list(self.seeds())[:4]:
            with self.subTest(seed=seed):
                text = Draw(seed).text()
                config = self.write("alertmanager.yml", self.printed(text, kind="alertmanager"))
                self.assertIn("SUCCESS", self.tool("amtool", "check-config", config))
                for rule in self.rules(self.printed(text, "--all")):
                    severity = rule["labels"]["severity"]
                    receiver = "heartbeat" if rule["alert"] == "Watchdog" else RECEIVERS[severity]
                    said = self.tool(
                        "amtool", "config", "routes", "test", f"--config.file={config}",
                        f"alertname={rule['alert']}", f"severity={severity}")
                    self.assertEqual(said.split(), [receiver], rule["alert"])


class NameTests(SettingsTestCase):
    """V20: a text of somebody's own stays that text in YAML, PromQL and templates."""

    def test_every_odd_name_is_a_region_that_must_be_staffed(self):
        settings = yaml.safe_dump({"coverage": {"regions": NAMES}}, allow_unicode=False)
        # The tests ask Prometheus for the alert of each, by its name and its page.
        rules = self.try_out(settings)
        text = self.printed(settings, "--tests")
        tests = yaml.load(text, StrictLoader)["tests"]
        covered = next(test for test in tests if "staffed" in str(test.get("alert_rule_test")))
        fired = {
            alert["exp_labels"]["region"]
            for check in covered["alert_rule_test"] for alert in check.get("exp_alerts", [])}
        self.assertEqual(fired, set(NAMES))
        self.assertEqual(len([rule for rule in rules if rule["alert"] == "NoOnlineResponders"]), 1)

    def test_every_odd_text_is_a_label_and_an_annotation(self):
        for start in range(0, len(NAMES), 16):
            texts = NAMES[start:start + 16]
            settings = yaml.safe_dump({"alerts": {"ResponderFlapping": {
                "labels": {f"label_{place}": text for place, text in enumerate(texts)},
                "annotations": {f"text_{place}": text for place, text in enumerate(texts)}}}})
            rule = next(
                rule for rule in self.try_out(settings) if rule["alert"] == "ResponderFlapping")
            for place, text in enumerate(texts):
                self.assertEqual(expanded(rule["labels"][f"label_{place}"]), text)
                self.assertEqual(expanded(rule["annotations"][f"text_{place}"]), text)

    def test_nothing_of_a_name_ends_a_comment(self):
        settings = yaml.safe_dump({"alerts": {"HighOfflineRate": {
            "labels": {"team": "a\n- b: {{ c\u2028d\u0085e"}}}})
        config = self.printed(settings, kind="alertmanager")
        plain = self.printed("{}\n", kind="alertmanager")
        self.assertEqual(yaml.load(config, StrictLoader), yaml.load(plain, StrictLoader))

    def test_every_manifest_of_rules_is_text_of_printable_lines(self):
        settings = yaml.safe_dump({"coverage": {"regions": NAMES}})
        for arguments in ((), ("--tests",)):
            for line in self.printed(settings, *arguments).split("\n"):
                self.assertTrue(line.isprintable(), line)


class InhibitionTests(SettingsTestCase):
    """Debian's Alertmanager with what is printed, but for who is told."""

    def begin(self, settings):
        hook = Hook(self)
        config = yaml.safe_load(self.printed(settings, kind="alertmanager"))
        for receiver in config["receivers"]:
            for kind in [key for key in receiver if key.endswith("_configs")]:
                del receiver[kind]
            receiver["webhook_configs"] = [{"url": hook.url, "send_resolved": True}]
        return Alertmanager(self, yaml.safe_dump(config))

    def post(self, alertmanager, *alerts):
        request = urllib.request.Request(
            f"{alertmanager.url}/api/v2/alerts", method="POST",
            headers={"Content-Type": "application/json"},
            data=json.dumps([{"labels": labels} for labels in alerts]).encode())
        urllib.request.urlopen(request, timeout=10).read()
        return eventually(
            lambda: len(alertmanager.alerts()) == len(alerts) and {
                self.named(alert["labels"]): bool(alert["status"]["inhibitedBy"])
                for alert in alertmanager.alerts()}, 10, "all alerts")

    def named(self, labels):
        return " ".join(labels[name] for name in (
            "alertname", "instance", "region", "source", "suspected") if name in labels)

    def alert(self, name, instance="a", **labels):
        told = {"alertname": name, "severity": "critical"} | labels
        # Rollcall's own alerts have neither.
        return told | ({"job": "rollcall", "instance": instance} if instance else {})

    def test_who_mutes_whom(self):
        alertmanager = self.begin("receivers: [{name: am, alertmanager: {urls: ['http://127.0.0.1:9093']}}]\n")
        muted = self.post(
            alertmanager,
            self.alert("NoOnlineResponders", region="north"),
            self.alert("HighOfflineRate", region="north"), self.alert("HighOfflineRate", region="south"),
            self.alert("ResponderOffline", region="north"),
            self.alert("ResponderFlapping", region="north"),
            # The same of Rollcall itself, and of another one.
            self.alert("NoOnlineResponders", instance=None, region="west"),
            self.alert("ResponderOffline", instance=None, region="west"),
            self.alert("ResponderOffline", instance="b", region="north"),
            # One that does not see, and one that does not answer.
            self.alert("RollcallBlind", instance="c"), self.alert("NoOnlineResponders", instance="c", region="x"),
            self.alert("RollcallDown", instance="d"), self.alert("TelemetryFeedDown", instance="d", source="p"),
            self.alert("RollcallStoreFailing", instance="d"), self.alert("RollcallNobodyReached", instance="d"),
            self.alert("RollcallPagesTwice", instance="d"),
            # All sources, and a feed that is only suspected.
            self.alert("TelemetryFeedDown", instance="e"), self.alert("TelemetryFeedDown", instance="e", source="p"),
            self.alert("ResponderFlapping", instance="e", region="x"),
            self.alert("TelemetryFeedDown", instance="f", suspected="true"),
            self.alert("ResponderFlapping", instance="f", region="x"))
        self.assertEqual({name for name, is_muted in muted.items() if is_muted}, {
            "HighOfflineRate a north", "ResponderOffline a north", "ResponderOffline west",
            "NoOnlineResponders c x", "TelemetryFeedDown d p", "RollcallStoreFailing d",
            "TelemetryFeedDown e p", "ResponderFlapping e x"})

    def test_what_is_off_mutes_nothing(self):
        alertmanager = self.begin("alerts: {NoOnlineResponders: {enabled: false}}\n")
        muted = self.post(
            alertmanager, self.alert("NoOnlineResponders", region="north"),
            self.alert("ResponderOffline", region="north"))
        self.assertEqual(set(muted.values()), {False})

    def test_what_rollcall_sends_has_the_labels_of_the_rules(self):
        region = 'a "b" {{c}}'
        settings = {
            "liveness": {"on_duty": {"expected": "1s", "degraded_after": "2s", "offline_after": "3s"}},
            "alerts": {
                "HighOfflineRate": {"for": "0s", "by": "region", "severity": "info"},
                "NoOnlineResponders": {
                    "for": "0s", "severity": "warning", "labels": {"team": 'night {{ "x" }}'}}}}
        text = yaml.safe_dump(settings)
        alertmanager = self.begin(text)
        rules = {
            rule["alert"]: {name: expanded(value) for name, value in rule["labels"].items()}
            for rule in self.rules(self.printed(text))}
        server = self.serve(yaml.safe_dump(
            settings | {"receivers": [{"name": "am", "alertmanager": {"urls": [alertmanager.url]}}]}))
        fleet = Fleet(self, server, [
            *(item | {"region": region} for item in people("r", 2)), *people("south", 2)]).start()
        eventually(
            lambda: server.get("/v1/status").json()["responders"]["ONLINE"] == 4, 12, "all are ONLINE")
        # In the south one stays: else the rate there would be muted by the worse alert.
        fleet.cut("r-1", "r-2", "south-1")
        found = eventually(
            lambda: len(alertmanager.alerts()) == 2 and alertmanager.alerts(), 20, "both alerts")
        regions = {"NoOnlineResponders": region, "HighOfflineRate": "south"}
        self.assertEqual({alert["labels"]["alertname"] for alert in found}, set(regions))
        for alert in found:
            name = alert["labels"]["alertname"]
            self.assertEqual(
                alert["labels"], rules[name] | {"alertname": name, "region": regions[name]})
            self.assertEqual([receiver["name"] for receiver in alert["receivers"]], ["chat"])


class BothPageTests(SettingsTestCase):
    """V20: whoever lets both page is told so, by the Prometheus that would."""

    def test_prometheus_tells_what_both_would_page(self):
        hook = Hook(self)
        settings = (
            f"receivers: [{{name: some, webhook: {{url: '{hook.url}'}}, match: {{alertname: NoOnlineResponders}}}}, "
            f"{{name: north, webhook: {{url: '{hook.url}'}}, match: {{region: north}}}}]\n")
        server = self.serve(settings)
        counts = {
            (match[1], match[2]): int(match[3]) for match in re.finditer(
                r'rollcall_alert_receivers\{alertname="(\w+)",severity="\w+",extent="(\w+)"\} (\d)',
                server.get("/metrics").body.decode())}
        self.assertEqual({key: count for key, count in counts.items() if count}, {
            ("NoOnlineResponders", "all"): 1, ("NoOnlineResponders", "some"): 1, ("ResponderFlapping", "some"): 1})
        self.assertEqual(len(counts), 18)
        for printed_for, arguments, named in (
                (settings, ("--all",), "NoOnlineResponders"), (settings, (), None),
                ("{}\n", (), "NoOnlineResponders, ResponderFlapping")):
            with self.subTest(named):
                text = self.printed(printed_for, *arguments)
                self.assertEqual("alert: NoOnlineResponders\n" in text, named is not None)
                path = self.write(
                    RULES, replaced(replaced(text, "for: 10m", "for: 1s"), "interval: 15s", "interval: 1s"))
                os.makedirs(os.path.join(self.directory, f"{named}"))
                prometheus = Prometheus(
                    os.path.join(self.directory, f"{named}"),
                    config_text=PROMETHEUS.format(rules=path, port=server.port))
                self.addCleanup(prometheus.stop)
                eventually(lambda: prometheus.get("/-/ready"), 30, "Prometheus is ready")
                if named is None:
                    # What is printed for these settings knows of the receiver of one region.
                    eventually(
                        lambda: prometheus.query("count_over_time(status_transitions[1m]) > 5"), 30, "evaluations")
                    self.assertEqual(prometheus.query("alertname:rollcall_alert_receivers:max"), {})
                    self.assertIsNone(self.firing(prometheus))
                    prometheus.stop()
                    continue
                alert = eventually(lambda: self.firing(prometheus), 30, "it fires")
                self.assertEqual(alert["labels"], {
                    "alertname": "RollcallPagesTwice", "severity": "warning", "job": "rollcall",
                    "instance": f"127.0.0.1:{server.port}"})
                self.assertEqual(
                    alert["annotations"]["description"],
                    f"127.0.0.1:{server.port} tells receivers of its own of what Prometheus alerts of too: {named}.")
                prometheus.stop()

    def firing(self, prometheus):
        data = prometheus.get("/api/v1/alerts")
        return data and next(
            (alert for alert in data["alerts"]
             if alert["labels"]["alertname"] == "RollcallPagesTwice" and alert["state"] == "firing"), None)


if __name__ == "__main__":
    unittest.main()
