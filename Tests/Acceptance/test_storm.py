"""Two hundred regions fall silent at once while the pager is away: it is told of them by one message,
whatever is killed meanwhile, and everything that it was told has its end.

Source: D11, A9, D1; PagerDuty's Events API v2.
"""

import json
import re
import time
import unittest

from loopback_receivers import Fleet, Hook, Pager, people
from rollcall_process import RollcallTestCase, eventually

# Degraded 2 s after the last contact, paged 1 s later.
CONFIG = """
web: {{external_url: "https://rollcall.example.org"}}
liveness: {{on_duty: {{expected: 1s, degraded_after: 2s, offline_after: 3s}}}}
alerts:
  HighOfflineRate: {{enabled: false}}
  ResponderFlapping: {{enabled: false}}
  NoOnlineResponders: {{for: 1s, keep_firing_for: 0s}}
receivers:
  - name: oncall
    pagerduty: {{url: "{pager}", routing_key: R0123456789ABCDEF0123456789ABCDE}}
  - name: hook
    webhook: {{url: "{hook}"}}
"""
REGIONS = 200
SOON = 15
# A pager that is back is asked 30 s later at the latest, give or take a fifth.
BACK = 45
KEY = re.compile(r"rollcall-[0-9a-f]{16}-NoOnlineResponders-(\d+)")


class AwayPager(Pager):
    """A pager that is away now and then."""

    def __init__(self, case):
        self.is_away = False
        self.refused = 0
        super().__init__(case)

    def judge(self, told):
        if self.is_away:
            self.refused += 1
            return 503, {}
        return super().judge(told)


class StormTests(RollcallTestCase):
    def setUp(self):
        super().setUp()
        self.pager = AwayPager(self)
        self.hook = Hook(self)
        self.server = self.serve(CONFIG.format(pager=self.pager.url, hook=self.hook.url))
        all_of_them = [one for n in range(REGIONS) for one in people(f"r-{n:03}", 1)]
        self.fleet = Fleet(self, self.server, all_of_them).start()
        self.everybody = list(self.fleet.people)
        eventually(
            lambda: self.status()["responders"]["ONLINE"] == REGIONS, SOON, "everybody is ONLINE")

    def status(self):
        return self.server.get("/v1/status").json()

    def alerts(self):
        return self.server.get("/v1/alerts").json()["alerts"]

    def crash(self):
        self.server.kill()
        self.server.start()

    def fires(self, count):
        eventually(
            lambda: sum(a["state"] == "firing" for a in self.alerts()) == count, SOON,
            f"{count} alerts fire")

    def is_over(self):
        return not self.alerts() and not any(i.is_open for i in self.pager.incidents)

    def test_one_message_tells_of_two_hundred_regions_over_kills(self):
        self.pager.is_away = True
        # One is tried alone before there is a storm.
        self.fleet.cut(*self.everybody[:1])
        eventually(lambda: self.pager.refused, SOON, "the pager is tried")
        self.fleet.cut(*self.everybody)
        self.fires(REGIONS)
        self.crash()
        self.pager.is_away = False
        incident = eventually(lambda: next(iter(self.pager.incidents), None), BACK, "a page")
        self.assertRegex(incident.key, KEY)
        storm = int(KEY.fullmatch(incident.key)[1])
        payload = incident.payload
        self.assertEqual(
            payload["summary"], "Nobody can be reached in 200 regions, 200 of 200 out of contact")
        self.assertEqual((payload["severity"], payload["source"]), ("critical", "rollcall"))
        details = payload["custom_details"]
        self.assertEqual((details["alerts"], details["storm"]), ("200", str(storm)))
        self.assertRegex(details["description"], r"r-009 1 of 1[^;]*; and 190 more\.$")
        self.assertEqual(
            [one["href"] for one in incident.event["links"]],
            ["https://rollcall.example.org/alerts?alertname=NoOnlineResponders"])
        # Each of them says by what it was told. A page that was taken and not noted goes out again.
        self.crash()
        eventually(
            lambda: sum(
                any(t["receiver"] == "oncall" for t in a["told"]) for a in self.alerts())
            == REGIONS, BACK, "all are known to be told")
        one = self.alerts()[-1]
        oncall = next(r for r in one["receivers"] if r["receiver"] == "oncall")
        self.assertEqual((oncall["state"], oncall["storm"]), ("taken", storm))
        self.assertIsNone(self.status()["nobody_reached"])
        past = self.server.get("/v1/alerts/history?limit=1").json()["incidents"][0]
        self.assertIn(
            {"receiver": "oncall", "reason": "storm", "storm": storm},
            [{k: v for k, v in muted.items() if k != "at"} for muted in past["muted"]])
        oncall = next(r for r in past["receivers"] if r["receiver"] == "oncall")
        self.assertEqual((oncall["state"], oncall["storm"]), ("taken", storm))
        # Some are back, which is no news; then all of them.
        self.fleet.restore(*self.everybody[:50])
        self.fires(REGIONS - 50)
        self.assertTrue(incident.is_open)
        self.fleet.restore(*self.everybody)
        eventually(self.is_over, SOON, "all is over")
        time.sleep(1)
        self.assertEqual(len(self.pager.incidents), 1)
        self.assertEqual(self.pager.faults + self.pager.repeats, [])
        # The one that was tried alone may have arrived: its own end was told.
        self.assertLessEqual(len(self.pager.ghosts), 1)
        # Whoever is a program was told of each, and of its end.
        eventually(
            lambda: len({region for _, region, _ in self.hook.alerts("resolved")}) == REGIONS,
            SOON, "the webhook is told of all")
        self.assertEqual(
            {region for _, region, _ in self.hook.alerts("firing")},
            {f"r-{n:03}" for n in range(REGIONS)})

    def test_what_was_taken_singly_keeps_its_key_and_its_end(self):
        self.fleet.cut(*self.everybody[:3])
        eventually(lambda: len(self.pager.incidents) == 3, SOON, "three pages")
        self.pager.is_away = True
        self.fleet.cut(*self.everybody)
        self.fires(REGIONS)
        self.pager.is_away = False
        eventually(lambda: len(self.pager.incidents) >= 4, BACK, "the storm")
        storm = next(i for i in self.pager.incidents if KEY.fullmatch(i.key))
        self.assertEqual(
            storm.payload["summary"], "Nobody can be reached in 197 regions, 197 of 197 out of contact")
        self.crash()
        self.fleet.restore(*self.everybody[:3])
        eventually(
            lambda: [i.is_open for i in self.pager.incidents] == [False, False, False, True],
            SOON, "what was told singly is over, the storm is not")
        self.fleet.restore(*self.everybody)
        eventually(self.is_over, SOON, "all is over")
        self.assertEqual(len(self.pager.incidents), 4)
        self.assertEqual(self.pager.faults + self.pager.repeats + self.pager.ghosts, [])

    def test_who_joins_a_storm_that_was_taken_is_not_said_to_be_told(self):
        self.pager.is_away = True
        self.fleet.cut(*self.everybody[:120])
        self.fires(120)
        self.pager.is_away = False
        eventually(
            lambda: any(KEY.fullmatch(i.key) for i in self.pager.incidents), BACK, "the storm")
        self.fleet.cut(*self.everybody[120:160])
        self.fires(160)
        self.crash()
        joined = [a for a in self.alerts() if a["labels"]["region"] >= "r-120"]
        past = self.server.get("/v1/alerts/history?limit=200").json()["incidents"]
        joined += [i for i in past if i["labels"]["region"] >= "r-120"]
        self.assertEqual(len(joined), 80)
        for one in joined:
            oncall = next(r for r in one["receivers"] if r["receiver"] == "oncall")
            self.assertEqual(oncall["state"], "waiting", one)
            self.assertGreaterEqual(oncall["decided_at"], one["starts_at"])
            self.assertNotIn("taken_at", oncall)
        # They have an incident of which somebody knows.
        self.assertIsNone(self.status()["nobody_reached"])
        self.assertEqual(len([i for i in self.pager.incidents if KEY.fullmatch(i.key)]), 1)

    def test_whom_a_silence_keeps_out_of_a_storms_repeat_is_not_said_to_be_told(self):
        def oncall(one):
            return next(r for r in one["receivers"] if r["receiver"] == "oncall")

        def shown(region):
            past = self.server.get("/v1/alerts/history?limit=200").json()["incidents"]
            return [
                oncall(a)["state"] for a in self.alerts() + past if a["labels"]["region"] == region]

        self.pager.is_away = True
        self.fleet.cut(*self.everybody[:60])
        self.fires(60)
        self.pager.is_away = False
        incident = eventually(
            lambda: next((i for i in self.pager.incidents if KEY.fullmatch(i.key)), None), BACK,
            "the storm")
        self.fleet.cut(*self.everybody[60:70])
        self.fires(70)
        silence = {
            "matchers": ["region=r-000|r-065"], "duration": "1h", "author": "kim", "comment": "x"}
        self.assertEqual(self.server.post("/v1/silences", json.dumps(silence)).status, 200)
        self.fleet.cut(*self.everybody[70:130])
        self.fires(130)
        eventually(
            lambda: any(
                '"alerts":"128"' in json.dumps(r.json(), separators=(",", ":"))
                for r in list(self.pager.requests)), SOON, "the storm is told again")
        eventually(lambda: shown("r-066") == ["taken", "taken"], SOON, "others are told")
        # The first message told of one of the two.
        self.assertEqual(shown("r-000"), ["taken", "taken"])
        self.assertEqual(shown("r-065"), ["waiting", "waiting"])
        self.crash()
        self.assertEqual(shown("r-065"), ["waiting", "waiting"])
        one = next(a for a in self.alerts() if a["labels"]["region"] == "r-065")
        self.assertEqual(
            one["muted"], [{"receiver": "oncall", "reason": "silence", "silence": 1}])

    def test_a_pager_by_another_name_leaves_an_incident_and_that_is_told(self):
        self.fleet.cut(*self.everybody[:120])
        self.fires(120)
        eventually(
            lambda: any(KEY.fullmatch(i.key) for i in self.pager.incidents), BACK, "the storm")
        self.fleet.cut(*self.everybody[120:130])
        self.fires(130)
        config = CONFIG.format(pager=self.pager.url, hook=self.hook.url)
        self.server.configure(config.replace("name: oncall", "name: duty"))
        self.assertEqual(self.server.post("/-/reload", b"").status, 200)
        log = self.server.log()
        self.assertRegex(
            log, r"receivers\.oncall: incidents that were opened with its old settings may stay "
            r"open at PagerDuty, \d+ at most: look there")
        self.assertNotIn("the settings do not say how it is reached", log)
        # Nobody sends anything to a name that the settings do not know.
        def states():
            past = self.server.get("/v1/alerts/history?limit=200").json()["incidents"]
            return {
                r["state"] for a in self.alerts() + past for r in a["receivers"]
                if r["receiver"] == "oncall"
            }
        eventually(lambda: "waiting" not in states(), SOON, "nobody is said to wait")


if __name__ == "__main__":
    unittest.main()
