"""kill -9, SIGTERM, SIGSTOP and crash loops while everything churns: ingest, pages, nudges. Nothing
acknowledged is lost or taken twice, nothing is told twice, no end of an alert is lost.

Source: Q7; G1, G6 to G8, P-01 to P-03.

    ROLLCALL_KILLS   kills under load, 20 by default
    ROLLCALL_SEED    for the times of the kills; printed by a test that fails
"""

import os
import random
import time
import unittest

from churning_world import REGIONS, World
from rollcall_process import RollcallTestCase, eventually

KILLS = int(os.environ.get("ROLLCALL_KILLS", "20"))
SEED = int(os.environ.get("ROLLCALL_SEED", str(random.SystemRandom().randrange(1 << 32))))
STOPS = max(5, KILLS // 4)
# How often all of it is looked at.
LOOK_EVERY = 4


class ChurnTestCase(RollcallTestCase):
    def judge(self, world, what):
        """Lets it come to rest, counts, and prints the counts."""
        server = world.server
        world.settle()
        page = world.check_whole()
        total = world.check_sequences()
        self.assertEqual(
            page("rollcall_updates_total", outcome="accepted"),
            total + world.located, f"taken twice or lost, seed {SEED}")
        self.assertEqual(page("location_update_delay_seconds_count"), total + world.located)
        self.assertEqual(page("rollcall_updates_total", outcome="late"), 0)
        self.assertNotIn("stepped", server.log())
        incidents, told = world.check_pages()
        decided, arrived, unknown = world.check_nudges()
        # A world in which nothing happens proves nothing.
        self.assertGreater(incidents, 0)
        self.assertEqual(server.stop(), 0)
        print(
            f"     {what}: {sum(w.requests for w in world.writers)} requests and {total} updates "
            f"acknowledged, 0 lost, 0 taken twice ({sum(w.duplicate for w in world.writers)} taken "
            f"though unanswered); {incidents} incidents paged by {told} messages, 0 doubled, 0 "
            f"resolves lost, 0 stuck; {decided} nudges decided, {arrived} arrived, "
            f"{unknown} unknown, 0 doubled")


class KillTests(ChurnTestCase):
    def test_kills_while_everything_churns(self):
        world = World(self, SEED)
        server = world.server
        for kill in range(KILLS):
            world.under_load(world.dice.uniform(0.05, 0.7), server.kill)
            if kill % 5 == 4:
                # Once more while it comes up: what it does then must be safe as well.
                server.spawn()
                time.sleep(world.dice.uniform(0.0, 0.1))
                server.kill()
            server.start()
            world.note_stored()
            if kill % LOOK_EVERY == 0:
                world.check_whole()
            if kill % 40 == 39:
                # A checkpoint: starts would fold ever more.
                self.assertEqual(server.stop(), 0)
                server.start()
        self.judge(world, f"{KILLS} kills")

    def test_a_crash_loop_while_everything_churns(self):
        world = World(self, SEED + 10)
        server = world.server
        world.under_load(1.0, server.kill)
        for _ in range(KILLS):
            server.spawn()
            time.sleep(world.dice.uniform(0.0, 0.06))
            server.kill()
        server.start()
        world.under_load(2.5, server.kill)
        server.start()
        self.judge(world, f"a loop of {KILLS} crashes")


class StopTests(ChurnTestCase):
    def test_sigterm_at_any_moment_while_everything_churns(self):
        world = World(self, SEED + 20)
        server = world.server

        def stop():
            began = time.monotonic()
            self.assertEqual(server.stop(10), 0)
            # A pager that does not answer is waited for 2 s, whatever waits for its answer.
            self.assertLess(time.monotonic() - began, 8)

        for round in range(STOPS):
            # The last one is long enough for something to fire.
            is_last = round == STOPS - 1
            world.under_load(2.5 if is_last else world.dice.uniform(0.05, 0.9), stop)
            server.start()
            world.note_stored()
            if round % LOOK_EVERY == 0:
                world.check_whole()
        self.assertNotIn("level=error", server.log())
        self.judge(world, f"{STOPS} orderly ends")


class PauseTests(ChurnTestCase):
    def test_a_stopped_process_makes_nobody_offline_and_pages_nobody(self):
        """Thresholds are longer than the 5 s of which a stop is told from slowness (B1)."""
        seconds = [2, 6] if KILLS <= 20 else [1, 2, 4, 5, 6, 8, 11, 15, 20] * (KILLS // 1000 + 1)
        world = World(self, SEED + 30)
        server = world.server
        world.calm()
        world.slacken()
        eventually(
            lambda: self.cut_off(server) == [] and server.scrape().total("rollcall_outbox_pending") == 0,
            60, "everybody reports, and no page of before is on its way")
        pages = len(world.pager.incidents)
        before = server.scrape().total("status_transitions_total", to="OFFLINE")
        for pause in seconds:
            world.under_load(0.5, lambda: self.pause(server, pause), longer=pause + 0.3)
            for _ in range(5):
                self.assertEqual(self.offline(server), [], f"after {pause} s, seed {SEED}")
                time.sleep(0.1)
        self.assertEqual(len(world.pager.incidents), pages, f"somebody was paged, seed {SEED}")
        page = world.check_whole()
        self.assertGreater(page.total("rollcall_blind_seconds_total", reason="suspended"), 5)
        # Those who were swiped away are OFFLINE by right, and nobody else ever was.
        gone = page.total("status_transitions_total", to="OFFLINE") - before
        self.assertLessEqual(gone, world.located)
        self.assertEqual(server.stop(), 0)
        print(f"     {len(seconds)} stops of {seconds} s: nobody OFFLINE by one, no page")

    def pause(self, server, seconds):
        server.pause()
        time.sleep(seconds)
        server.resume()

    def cut_off(self, server):
        return [
            a for a in server.get("/v1/alerts").json()["alerts"]
            if a["labels"].get("region") in REGIONS and a["state"] != "inactive"]

    def offline(self, server):
        people = server.get("/v1/responders?status=OFFLINE&limit=1000").json()["responders"]
        return [
            person["responder_id"] for person in people
            if not person["responder_id"].startswith("gone-")]


if __name__ == "__main__":
    unittest.main()
