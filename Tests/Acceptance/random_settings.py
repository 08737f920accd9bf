"""Valid settings of alerts, drawn by a seed: odd thresholds, odd names, alerts that are off."""

import random

import yaml

# Names that mean something to YAML, to PromQL or to a template of Go's.
NAMES = [
    "north", "söder", 'a"b', "back\\slash", "{{ .Labels }}", "{{", "}}", "{", "$labels.region", "$1", "%q",
    "a: b", "- x", "#x", "true", "null", "~", "*a", "&a", "!t", "|", ">-", "'", "`raw`", "a|b", ".*", "[a-z]+",
    "(", "a & b/ö?#", "日本", "e\u0301", "\u200bzero", "\u202eright", "\u2028line", "\u0085next", "b\ufeffom",
    "\u00a0blank", " ends ", "tab\tin", "two\nlines", "🚑", "x" * 128, "<script>", "{{\"{\"}}", "a\\nb", "\\u0041",
    "other", "{{- 1 -}}", "{{/* c */}}", "${x}", "\\", "\"", "a, b", "region=\"x\"", "\x7f", "\U000e0041",
]
ALERTS = ("HighOfflineRate", "ResponderFlapping", "ResponderOffline", "NoOnlineResponders", "TelemetryFeedDown")
SPANS = ("0s", "1ms", "1500ms", "14s", "15s", "16s", "30s", "59s", "60s", "100s", "7m", "1h", "2h30m")
SEVERITIES = ("critical", "warning", "info", "none")


class Draw:
    """Settings of one seed, as text of a file."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def maybe(self, settings, name, value):
        if self.random.random() < 0.5:
            settings[name] = value()

    def rule(self):
        draw = self.random
        rule = {}
        self.maybe(rule, "enabled", lambda: draw.random() < 0.8)
        self.maybe(rule, "for", lambda: draw.choice(SPANS))
        self.maybe(rule, "keep_firing_for", lambda: draw.choice(SPANS))
        self.maybe(rule, "severity", lambda: draw.choice(SEVERITIES))
        self.maybe(rule, "labels", lambda: {
            name: draw.choice(NAMES) for name in draw.sample(
                ("team", "job", "instance", "alertstate", "status", "cluster", "__x", "priority", "on", "null",
                 "NaN", "inf", "y", "by", "_", "bool"), 3)})
        self.maybe(rule, "annotations", lambda: {
            name: draw.choice(NAMES) for name in draw.sample(
                ("summary", "description", "page_url", "call", "exp_labels", "no", "null"), 2)})
        self.maybe(rule, "runbook_url", lambda: "https://wiki.example.org/" + draw.choice(
            ("x", "{{x}}", "a'b", "%7B", "a?b=c&d=e")))
        return rule

    def receivers(self):
        draw = self.random
        matches = (
            {}, {"severity": "critical"}, {"alertname": "HighOfflineRate"}, {"region": "north"},
            {"alertname": "TelemetryFeedDown", "source": ""}, {"severity": "warning|info"})
        found = []
        for place in range(draw.randint(0, 3)):
            kind = draw.choice((
                {"slack": {"url": "https://hooks.example.org/x"}}, {"log": {}},
                {"pagerduty": {"routing_key": "k" * 32}},
                {"alertmanager": {"urls": ["http://127.0.0.1:9093"]}}))
            receiver = {"name": f"r{place}"} | kind
            match = draw.choice(matches)
            if match:
                receiver["match"] = match
            if draw.random() < 0.2:
                receiver["escalate_after"] = "15m"
            found.append(receiver)
        return found

    def settings(self):
        draw = self.random
        settings = {"alerts": {name: self.rule() for name in ALERTS if draw.random() < 0.7}}
        rate = settings["alerts"].setdefault("HighOfflineRate", {})
        self.maybe(rate, "above", lambda: draw.choice((0, 0.0001, 0.05, 0.1, 0.1234, 0.3333, 0.5, 0.9999, 1)))
        self.maybe(rate, "by", lambda: draw.choice(("fleet", "region")))
        self.maybe(rate, "min_active", lambda: draw.choice((1, 2, 13, 10_001, 1_000_000)))
        self.maybe(rate, "min_offline", lambda: draw.choice((1, 2, 7, 20_000, 1_000_000)))
        degraded = draw.choice(("1ms", "5s", "31s", "90s", "100s", "20m"))
        settings["liveness"] = {"on_duty": {
            "expected": "1ms", "degraded_after": degraded, "offline_after": "3h"}}
        if draw.random() < 0.3:
            settings["liveness"]["on_mission"] = {
                "expected": "10m", "degraded_after": "15m", "offline_after": "20m"}
        settings["feed"] = {
            "stall_after": draw.choice(("1ms", "14s", "15s", "45s", "100s", "20m")),
            "min_active": draw.choice((1, 2, 20, 5000))}
        self.maybe(settings, "coverage", lambda: {
            "regions": draw.sample(NAMES, draw.randint(0, 12))})
        self.maybe(settings, "receivers", self.receivers)
        self.maybe(settings, "web", lambda: {"external_url": draw.choice(
            ("https://rollcall.example.org", "https://example.org/{{roll}}/call'", "http://[::1]:8080/x%7B"))})
        self.maybe(settings, "cluster", lambda: {"silence": draw.choice(("1s", "2s", "17s", "60s"))})
        return settings

    def text(self):
        return yaml.safe_dump(self.settings(), allow_unicode=False)
