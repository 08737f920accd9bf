"""Regions by time: what the history of regions says is what was so, and what was told.

J10, J11, C5: over a kill, a restart, a take and an erasure.
"""

import os
import time
import unittest
import urllib.parse

from page_fleet import CALM
from rollcall_process import RollcallTestCase, eventually, milliseconds, now_ms

STATUSES = ("ONLINE", "DEGRADED", "UNKNOWN", "OFFLINE")

# On a mission people fall silent in a second, on duty they stay as they were told.
SETTINGS = """
liveness:
  on_duty: {expected: 60s, degraded_after: 15m, offline_after: 30m}
  on_mission: {expected: 200ms, degraded_after: 500ms, offline_after: 1s}
coverage: {regions: [lighthouse]}
alerts: {NoOnlineResponders: {for: 300ms, keep_firing_for: 0s}}
receivers:
  - {name: oncall, log: {}}
"""
MARK = "kims-house-7c41"


class RegionHistoryTests(RollcallTestCase):
    """`GET /v1/regions/history` against everything else that the API says."""

    def tell(self, server, *people):
        server.write("/v1/batches", [
            {"responder_id": name, "region": region, "duty_state": duty, "platform": "ios",
             "telemetry": CALM, "updates": [{"sequence": now_ms(), "captured_at": now_ms()}]}
            for name, region, duty in people])

    def history(self, server, **query):
        answer = server.get(f"/v1/regions/history?{urllib.parse.urlencode(query)}")
        self.assertEqual(answer.status, 200, answer)
        return answer.json()

    def minute(self, server):
        """The newest minute that was counted, alone, with its begin."""
        newest = self.history(server, step="1m", since=now_ms() - 120_000)
        begin = milliseconds(newest["sampled_at"]) // 60_000 * 60_000
        return begin, self.history(server, step="1m", since=begin, until=begin + 60_000)

    def counted(self, history):
        """The only step's counts by region, as `/v1/regions` has them."""
        return {
            one["region"]: ({word: one["responders"].get(word, [0])[0] for word in STATUSES},
                            one.get("not_expected", [0])[0], one.get("unstaffed", [0])[0])
            for one in history["regions"]}

    def standing(self, server):
        return {
            one["region"]: (one["responders"], one["not_expected"],
                            int(one["must_be_staffed"] and one["active"] == 0))
            for one in server.get("/v1/regions").json()["regions"]}

    def firing(self, server):
        return {one["incident"]: one for one in server.get("/v1/alerts").json()["alerts"]
                if one["state"] == "firing" and one["alertname"] == "NoOnlineResponders"}

    def count_again(self, server, kill):
        """The minute's counts are taken anew after a start."""
        if kill:
            server.kill()
        else:
            self.assertEqual(server.stop(), 0)
        server.start()

    def dark_harbour(self):
        """Three in the north, one of them off duty; two in the harbour, of whom nobody is heard."""
        server = self.serve(SETTINGS)
        self.tell(server, ("n-1", "north", "ON_DUTY"), ("n-2", "north", "ON_DUTY"),
                  ("n-3", "north", "OFF_DUTY"), ("h-1", "harbour", "ON_MISSION"),
                  ("h-2", "harbour", "ON_MISSION"))
        eventually(
            lambda: self.standing(server)["harbour"][0]["OFFLINE"] == 2, 10, "harbour is silent")
        eventually(
            lambda: len(self.firing(server)) == 2
            and all(one["told"] for one in self.firing(server).values()), 10,
            "harbour and the lighthouse are told of")
        return server

    def test_a_minute_is_what_the_api_says_over_a_kill_and_a_restart(self):
        server = self.dark_harbour()
        for kill in (True, False, True):
            self.count_again(server, kill)
            begin, then = self.minute(server)
            self.assertEqual(self.counted(then), self.standing(server))
            self.assertEqual(then["samples"], [1])
            self.assertEqual(self.counted(then)["lighthouse"][2], 1)
            # Who was silent at the very instant of the count comes to the same numbers.
            gaps = server.get(f"/v1/gaps?at={then['sampled_at']}").json()["gaps"]
            self.assertEqual({one["responder_id"] for one in gaps}, {"h-1", "h-2"})
            self.assertEqual(
                sum(counts["OFFLINE"] for counts, _, _ in self.counted(then).values()),
                len(gaps))
            # And so do the whole fleet's.
            fleet = server.get(
                f"/v1/status/history?step=1m&since={begin}&until={begin + 60_000}").json()
            sample = fleet["samples"][0]
            for word in STATUSES:
                self.assertEqual(
                    sum(counts[word] for counts, _, _ in self.counted(then).values()),
                    sample[word])
            self.assertEqual(sample["at"], then["sampled_at"])
        self.assert_replays(server)

    def test_alerts_are_those_that_fired_with_who_was_told_and_who_took_them(self):
        server = self.dark_harbour()
        before = now_ms()
        harbour = next(number for number, one in self.firing(server).items()
                       if one["labels"]["region"] == "harbour")
        server.write(f"/v1/incidents/{harbour}/take", {"by": "kim", "duration": "30m"})
        self.count_again(server, kill=True)
        _, then = self.minute(server)
        past = {one["region"]: one["alerts"] for one in then["regions"]}
        firing = self.firing(server)
        self.assertEqual(
            {one["incident"] for alerts in past.values() for one in alerts}, set(firing))
        for region in ("harbour", "lighthouse"):
            alert = next(
                one for one in past[region] if one["alertname"] == "NoOnlineResponders")
            now = firing[alert["incident"]]
            self.assertEqual(alert["starts_at"], now["starts_at"])
            self.assertEqual(alert["severity"], now["severity"])
            self.assertIsNone(alert["ended_at"])
            self.assertLessEqual(alert["starts_at"], alert["paged_at"])
            self.assertLessEqual(milliseconds(alert["paged_at"]), before)
        self.assertEqual(past["north"], [])
        take = next(one for one in past["harbour"])["takes"][0]
        self.assertEqual(take["by"], "kim")
        self.assertAlmostEqual(
            milliseconds(take["until"]) - milliseconds(take["at"]), 1_800_000, delta=1000)
        # Given back, it was held until then, and taken again until it was over.
        released = server.request("DELETE", f"/v1/incidents/{harbour}/take")
        self.assertEqual(released.status, 200, released)
        server.write(f"/v1/incidents/{harbour}/take", {"by": "lee", "duration": "30m"})
        self.tell(server, ("h-1", "harbour", "ON_DUTY"), ("h-2", "harbour", "ON_DUTY"))
        eventually(lambda: harbour not in self.firing(server), 10, "harbour is over")
        whole = self.history(server)
        alert = next(one for region in whole["regions"] for one in region["alerts"]
                     if one["incident"] == harbour)
        known = next(one for one in server.get("/v1/alerts/history").json()["incidents"]
                     if one["incident"] == harbour)
        self.assertEqual((alert["starts_at"], alert["ended_at"]),
                         (known["starts_at"], known["ended_at"]))
        first, second = alert["takes"]
        self.assertEqual([first["by"], second["by"]], ["kim", "lee"])
        self.assertLessEqual(first["until"], second["at"])
        # What ends a take and what ends its alert are told by two looks at the wall.
        self.assertAlmostEqual(
            milliseconds(second["until"]), milliseconds(alert["ended_at"]), delta=1)
        # What ended before a stretch is not of it.
        time.sleep(0.05)
        after = milliseconds(alert["ended_at"]) + 1
        later = self.history(server, since=after, until=after + 60_000, step="1m")
        self.assertNotIn(harbour, [
            one["incident"] for region in later["regions"] for one in region["alerts"]])

    def test_the_worst_regions_come_first_and_pages_have_each_once(self):
        server = self.dark_harbour()
        names = [one["region"] for one in self.history(server)["regions"]]
        self.assertEqual(names, ["harbour", "lighthouse", "north"])
        found, after = [], None
        while True:
            page = self.history(server, limit=1, **({"after": after} if after else {}))
            found += [one["region"] for one in page["regions"]]
            after = page["next"]
            if after is None:
                break
        self.assertEqual(found, names)

    def test_an_erasure_takes_the_region_s_name_and_leaves_the_others_counts(self):
        server = self.serve(SETTINGS)
        self.tell(server, ("kim", MARK, "ON_DUTY"), ("n-1", "north", "ON_DUTY"))
        self.count_again(server, kill=False)
        _, before = self.minute(server)
        self.assertIn(MARK, self.counted(before))
        self.assertTrue(self.traces())
        answer = server.request("DELETE", "/v1/responders/kim")
        self.assertEqual(answer.status, 202)
        where = answer.headers["location"]
        eventually(
            lambda: server.get(where).json()["state"] == "done", 20, "the erasure is done")
        whole = self.history(server)
        self.assertEqual([one["region"] for one in whole["regions"]][-1], "north")
        self.assertNotIn(MARK, str(whole))
        self.assertEqual(self.traces(), [])
        self.count_again(server, kill=True)
        _, after = self.minute(server)
        self.assertEqual(self.counted(after)["north"], self.counted(before)["north"])
        self.assertEqual(self.traces(), [])

    def traces(self):
        """Files of the store in which the region's name stands."""
        found = []
        for name in sorted(os.listdir(self.directory)):
            if ".db" not in name:
                continue
            with open(os.path.join(self.directory, name), "rb") as file:
                if MARK.encode() in file.read():
                    found.append(name)
        return found

    def test_a_stop_is_a_window_and_no_count(self):
        server = self.serve(SETTINGS)
        self.tell(server, ("n-1", "north", "ON_DUTY"))
        server.kill()
        time.sleep(1.2)
        server.start()
        whole = self.history(server)
        self.assertEqual([one["reason"] for one in whole["blind"]], ["stopped"])
        self.assertEqual(whole["step_seconds"], 300)
        self.assertLessEqual(len(whole["samples"]), 73)
        self.assertEqual(whole["truncated"], False)
        lists = [*(region["responders"].values() for region in whole["regions"])]
        for one in lists:
            for numbers in one:
                self.assertEqual(len(numbers), len(whole["samples"]))
                self.assertEqual([n is None for n in numbers],
                                 [n == 0 for n in whole["samples"]])


if __name__ == "__main__":
    unittest.main()
