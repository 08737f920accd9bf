"""Other settings tried on a history: the table, the JSON and the page of one small day.

Source: V6: transitions and pages a day, detection delay, advice.
"""

import html.parser
import json
import random
import re
import subprocess
import unittest
import xml.etree.ElementTree

from rollcall_process import BINARY, RollcallTestCase, plain_environment

ZERO = 1_795_219_200_000
PEOPLE = 5
HOURS = 21
VOID = {"meta"}


def day(seed=7):
    """Some people who are out of contact now and then, for minutes or for long."""
    dice = random.Random(seed)
    lines = []
    for person in range(PEOPLE):
        at = dice.uniform(0, 60)
        while at < HOURS * 3600:
            lines.append((round(ZERO + at * 1000), {
                "responder_id": f"secret-{person}", "duty_state": "ON_DUTY",
                "platform": ("ios", "android")[person % 2], "region": "<script>north"}))
            long = dice.random() < 0.3
            pause = dice.uniform(400, 1500) if long else dice.uniform(100, 290)
            at += pause if dice.random() < 1 / 30 else 60
    lines.sort(key=lambda line: line[0])
    text = [json.dumps({"at": at, "kind": "batch", "body": body}) for at, body in lines]
    text.append(json.dumps({"at": ZERO + HOURS * 3_600_000, "kind": "end"}))
    return "\n".join(text) + "\n"


class StrictPage(html.parser.HTMLParser):
    """Every tag is closed in its order, and nothing comes from elsewhere."""

    def __init__(self):
        super().__init__()
        self.open = []
        self.tags = []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        for name, value in attributes:
            assert not name.startswith("on") and name not in ("src", "href", "style"), name
            assert "url(" not in (value or ""), value
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag


class TuneTests(RollcallTestCase):
    def tune(self, *arguments, text=None, code=0):
        outcome = subprocess.run(
            [BINARY, "tune", *arguments], input=text or self.text, capture_output=True, text=True,
            timeout=300, env=plain_environment(), cwd=self.directory)
        self.assertEqual(outcome.returncode, code, outcome.stderr)
        return outcome.stdout if code == 0 else outcome.stderr

    @classmethod
    def setUpClass(cls):
        cls.text = day()

    def test_it_counts_what_replay_prints(self):
        printed = subprocess.run(
            [BINARY, "replay", "-"], input=self.text, capture_output=True, text=True, timeout=60,
            env=plain_environment(), cwd=self.directory, check=True).stdout
        lines = [json.loads(line) for line in printed.splitlines()]
        result = json.loads(self.tune(
            "-", "--json", "--set", "liveness.on_duty.offline_after=120s,180s,240s"))
        days = result["watched_seconds"] / 86400
        now = result["candidates"][0]
        for status in ("degraded", "offline"):
            count = sum(line["kind"] == "status" and line["to"] == status.upper()
                        for line in lines)
            self.assertGreater(count, 5)
            self.assertAlmostEqual(now["a_day"][status] * days, count, places=6)
        fired = sum(line["kind"] == "alert" and line["state"] == "firing" for line in lines)
        self.assertAlmostEqual(now["a_day"]["pages"] * days, fired, places=6)
        self.assertEqual(now["offline"]["delay_seconds"]["on_duty"]["p50"], 180)
        values = [candidate["changes"][0]["value"] for candidate in result["candidates"][1:]]
        self.assertEqual(values, ["120s", "240s"])
        alarms = [candidate["a_day"]["false_alarms"] for candidate in result["candidates"]]
        self.assertTrue(alarms[1] > alarms[0] > alarms[2], alarms)
        later = [c["long_gaps"]["mean_later_seconds"] for c in result["candidates"]]
        self.assertEqual(later, [0, -60, 60])
        # 240 s would be slower than the memo allows, and pages that lasted would not come.
        self.assertTrue(result["candidates"][2]["objection"])

    def test_the_page_stands_alone(self):
        table = self.tune("-", "--html", "page.html", "--set", "nudges.stale_after=2h",
                          "--set", "liveness.on_duty.offline_after=120s,150s")
        with open(f"{self.directory}/page.html", encoding="utf-8") as file:
            page = file.read()
        self.assertTrue(page.startswith("<!DOCTYPE html>"))
        parser = StrictPage()
        parser.feed(page)
        parser.close()
        self.assertEqual(parser.open, [])
        self.assertNotIn("script", parser.tags)
        self.assertEqual(parser.tags.count("svg"), 3)
        for drawing in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
            xml.etree.ElementTree.fromstring(drawing)
        for text in (page, table):
            self.assertNotIn("secret-", text)
            self.assertNotIn("north", text)
            self.assertIn("tells which value is better", " ".join(text.split()))
        self.assertTrue(all(len(line) <= 80 for line in table.splitlines()))

    def test_a_short_history_changes_nothing(self):
        text = "".join(line for line in self.text.splitlines(True)[:50])
        result = json.loads(self.tune(
            "-", "--json", "--set", "liveness.on_duty.offline_after=120s", text=text))
        self.assertEqual(result["axes"][0]["advice"], "keep")
        self.assertIn("too short", result["axes"][0]["reason"])
        self.assertIsNone(result["recommendation"]["yaml"])

    def test_what_is_wrong_ends_with_64(self):
        for arguments, message in (
                (("-", "--set", "liveness.on_duty.offline_after=80s"), "degraded_after"),
                (("-", "--set", "liveness.on_duty.offline_aftr=80s"), "did you mean"),
                (("-", "--grid"), "--grid needs --set"),
                (("-", "--costs", "page"), "false_alarm=1"),
                (("-", "--heals-within", "5"), "5m"),
                (("missing.ndjson",), "cannot be read")):
            error = self.tune(*arguments, code=64)
            self.assertIn(message, error)
            self.assertEqual(error.count("\n"), 1)


if __name__ == "__main__":
    unittest.main()
