"""Clocks that step and machines that sleep, under the real binary: neither makes anybody OFFLINE, and
neither sends a second nudge. Nor does a backend whose clock is behind ours (D10).

A small library is preloaded that moves the server's clocks as a file says.
Source: T1, B1, §7 N2; faults T-01, T-02, T-04.
"""

import os
import time
import unittest
from datetime import datetime

from loopback_phones import Phones, PushHook
from loopback_receivers import Fleet, Hook, people
from rollcall_process import RollcallTestCase, eventually, now_ms

SOON = 15
HOUR = 3_600_000
YEAR = 365 * 24 * HOUR

CONFIG = """
liveness: {{on_duty: {{expected: 1s, degraded_after: 5s, offline_after: 8s}}}}
alerts:
  HighOfflineRate: {{by: region, for: 1s}}
  NoOnlineResponders: {{for: 1s}}
receivers: [{{name: hook, webhook: {{url: "{hook}"}}}}]
nudges: {{stale_after: 6s, min_interval: 6h, sink: {{webhook: {{url: "{push}"}}}}}}
"""


class ClockTests(RollcallTestCase):
    def setUp(self):
        super().setUp()
        library = self.preloaded("stepped_clock")
        self.steps = os.path.join(self.directory, "steps")
        self.hook, self.push = Hook(self), PushHook(self)
        self.server = self.serve(
            CONFIG.format(hook=self.hook.url, push=self.push.url),
            variables={"LD_PRELOAD": library, "CLOCK_STEPS": self.steps})

    def clocks(self, wall, boot=0):
        """By how many milliseconds the server's clocks are off from now on."""
        with open(self.steps + ".new", "w", encoding="ascii") as file:
            file.write(f"{wall} {boot}")
        os.rename(self.steps + ".new", self.steps)

    def fleet(self, count=6):
        fleet = Fleet(self, self.server, people("north", count)).start()
        self.await_online(count)
        return fleet

    def await_online(self, count):
        eventually(
            lambda: self.server.get("/v1/status").json()["responders"]["ONLINE"] == count, SOON,
            f"{count} are ONLINE")

    def check_nobody_was_late(self):
        page = self.server.scrape()
        self.assertEqual(page.total("status_transitions_total", to="DEGRADED"), 0)
        self.assertEqual(page.total("status_transitions_total", to="OFFLINE"), 0)
        self.assertEqual(self.hook.requests, [])
        self.assertEqual(self.push.requests, [])

    def test_whatever_the_wall_does_the_living_stay_online(self):
        self.fleet()
        steps = (61_000, -61_000, HOUR, -HOUR, 10 * YEAR, -10 * YEAR, -56 * YEAR, 0)
        for count, step in enumerate(steps, 1):
            self.clocks(step)
            time.sleep(1)
            eventually(
                lambda: self.server.log().count("the wall clock stepped") >= count, SOON, "it is noticed")
        self.check_nobody_was_late()
        status = self.server.get("/v1/status").json()
        self.assertIs(status["watching"], True)
        self.assertEqual(self.server.log().count("the wall clock stepped"), 8)

    def test_whatever_the_wall_does_the_dead_are_found(self):
        fleet = self.fleet()
        for step, name in ((10 * YEAR, "north-1"), (-10 * YEAR, "north-2")):
            fleet.cut(name)
            time.sleep(0.5)
            self.clocks(step)
            eventually(
                lambda: self.server.responder(name)["status"] == "OFFLINE", 20,
                f"{name} is OFFLINE")
        self.assertEqual(
            self.server.get("/v1/status").json()["responders"]["ONLINE"], 4)

    def test_a_machine_that_sleeps_finds_nobody_silent(self):
        """The boot clock and the wall go on for seven hours while the monotonic clock stands."""
        self.fleet()
        self.clocks(7 * HOUR, 7 * HOUR)
        eventually(
            lambda: self.server.scrape()("rollcall_blind_seconds_total", reason="suspended") > 0, SOON,
            "it is noticed")
        time.sleep(3)
        self.check_nobody_was_late()
        page = self.server.scrape()
        blind = page("rollcall_blind_seconds_total", reason="suspended")
        self.assertAlmostEqual(blind, 7 * 3600, delta=5)
        self.assertEqual(page("rollcall_watching"), 1)

    def test_a_backend_whose_clock_is_behind_is_corrected(self):
        """D10: two minutes that agree are enough. They pass while the machine sleeps."""
        behind = 31_000
        write = lambda path, body, headers=None: self.server.write(
            f"{path}?source=pod-1", body, headers)
        for minute in range(3):
            now = now_ms() + minute * 61_000
            write("/v1/heartbeat", {"every_seconds": 3600, "sent_at": now - behind})
            write("/v1/batches", [{"sent_at": now - behind}, {"responder_id": "r-1"}])
            write("/v1/batches", {"responder_id": "r-1"}, {"Rollcall-Sent-At": str(now - behind)})
            self.clocks((minute + 1) * 61_000, (minute + 1) * 61_000)
            if minute < 2:
                state = ("unsure", "corrected")[minute]
                eventually(lambda: [
                    one["state"] for one in self.server.get("/v1/status").json()["clocks"]
                ] == [state], SOON, state)
        now = now_ms() + 3 * 61_000
        skew = self.server.scrape()("rollcall_source_skew_seconds", source="pod-1")
        self.assertAlmostEqual(skew, behind / 1000, delta=5)
        # Half a minute ago is now by that clock, and no other.
        for source, name, ago in (("pod-1", "r-2", 0), ("pod-2", "r-3", behind)):
            self.server.write(f"/v1/batches?source={source}", {
                "responder_id": name, "received_at": now - behind})
            heard = self.server.responder(name)["last_contact_at"]
            self.assertAlmostEqual(
                datetime.fromisoformat(heard).timestamp(), (now - ago) / 1000, delta=8)
        self.assertIn("its times are corrected", self.server.log())
        text = self.server.get("/v1/status").json()["clocks"][0]["text"]
        self.assertRegex(text, r"^source pod-1: its clock is 3\d s behind ours; its times are corr")
        # A kill costs nobody two minutes.
        self.server.kill()
        self.server.start()
        self.assertEqual(self.server.get("/v1/status").json()["clocks"][0]["state"], "corrected")

    def test_a_wall_that_is_put_forward_nudges_nobody_again(self):
        phones = Phones(self, self.server, [
            {"responder_id": name, "circles": ["family"], "region": "north"}
            for name in ("mum", "teen")]).start()
        self.await_online(2)
        phones.swipe_away("teen")
        self.push.first(lambda _: True, SOON, "a nudge")
        for step in (7 * HOUR, 7 * HOUR + 59 * 60_000, -7 * HOUR, 24 * HOUR, 10 * YEAR):
            self.clocks(step)
            time.sleep(1.5)
            eventually(
                lambda: self.server.get("/v1/status").json()["nudges"]["frozen_until"] is not None, SOON,
                f"nudges are frozen: {step}")
            # A kill in between, while the wall is wrong.
            self.server.kill()
            self.server.start()
        told = [request.json()["data"]["responder_id"] for request in self.push.requests]
        self.assertEqual(told, ["teen"])


if __name__ == "__main__":
    unittest.main()
