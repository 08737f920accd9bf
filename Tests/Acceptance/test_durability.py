"""Nothing acknowledged is lost, nothing is taken twice: crashes and orderly ends. Of those at any
moment, under load, test_churn has more.

Source: J9 (a 2xx means committed), J3, J4, I1, Q7.

    ROLLCALL_SEED   for what is sent; printed by a test that fails
"""

import os
import random
import re
import socket
import threading
import time
import unittest

from churning_world import Writer
from rollcall_process import NDJSON, RollcallTestCase, milliseconds, now_ms

SEED = int(os.environ.get("ROLLCALL_SEED", str(random.SystemRandom().randrange(1 << 32))))
WRITERS = 6
# Of the engine: these continue over restarts. Blind time is left out: it grows by the stop itself.
CONTINUING = (
    "status_transitions_total", "location_update_delay_seconds_sum",
    "location_update_delay_seconds_bucket", "rollcall_location_update_delay_seconds_bucket",
    "rollcall_update_interval_seconds_bucket", "rollcall_queue_depth_sum",
    "rollcall_batches_total", "rollcall_updates_total", "rollcall_clock_skewed_updates_total",
    "rollcall_installs_reset_total", "rollcall_server_transitions_total",
    "rollcall_disagreements_total", "rollcall_last_batch_timestamp_seconds",
)


class DurabilityTestCase(RollcallTestCase):
    def under_load(self, server, writers, seconds, act):
        """Lets all writers send, calls `act` after `seconds`, waits for the writers' end."""
        threads = [
            threading.Thread(target=writer.live, args=(server, seconds + 30), daemon=True)
            for writer in writers]
        for thread in threads:
            thread.start()
        time.sleep(seconds)
        act()
        for thread in threads:
            thread.join(45)
            self.assertFalse(thread.is_alive(), "a writer hangs")
        self.assertEqual([w.failure for w in writers if w.failure], [], f"seed {SEED}")

    def resend_everything(self, server, writers):
        """Posts every acknowledged sequence again; how many came back as duplicates."""
        count = 0
        for writer in writers:
            for phone, end in writer.acknowledged.items():
                if end == 0:
                    continue
                verdict = server.write("/v1/batches", {
                    "responder_id": phone,
                    "updates": [{"sequence": sequence} for sequence in range(end)]})
                self.assertEqual(
                    verdict["updates"], {"accepted": 0, "duplicate": end, "late": 0},
                    f"{phone}, seed {SEED}")
                self.assertEqual((verdict["accepted"], verdict["duplicates"]), (0, 1))
                count += end
        return count

    def assertWhole(self, server, writers):
        """Nothing acknowledged is missing, nothing counted twice."""
        page = server.scrape()
        accepted = page("rollcall_updates_total", outcome="accepted")
        acknowledged = sum(sum(writer.acknowledged.values()) for writer in writers)
        self.assertGreaterEqual(accepted, acknowledged, f"seed {SEED}")
        on_the_way = sum(
            sum(writer.pending[1].values()) - sum(writer.acknowledged.values())
            for writer in writers if writer.pending)
        self.assertLessEqual(accepted, acknowledged + on_the_way, f"seed {SEED}")
        self.assertEqual(page("rollcall_refold_differences_total"), 0, f"seed {SEED}")
        self.assertEqual(page("location_update_delay_seconds_count"), accepted)
        return page


class KillTests(DurabilityTestCase):
    def test_a_crash_loop_keeps_what_is_acknowledged(self):
        server = self.serve()
        server.write("/v1/batches", {"responder_id": "a", "updates": [{"sequence": 1}]})
        for _ in range(5):
            server.kill()
            server.start()
        verdict = server.write("/v1/batches", {"responder_id": "a", "updates": [{"sequence": 1}]})
        self.assertEqual(verdict["updates"]["duplicate"], 1)
        self.assertEqual(server.scrape()("rollcall_updates_total", outcome="accepted"), 1)


class StopTests(DurabilityTestCase):
    def test_sigterm_under_load_ends_in_order(self):
        server = self.serve()
        writers = [Writer(number, SEED) for number in range(WRITERS)]
        codes = []

        def stop():
            began = time.monotonic()
            codes.append(server.stop(10))
            self.assertLess(time.monotonic() - began, 10)

        for _ in range(3):
            self.under_load(server, writers, 0.7, stop)
            self.assertNotIn("level=error", server.log())
            server.start()
            self.assertEqual(self.refolded(server), 0)
            self.assertWhole(server, writers)
        self.assertEqual(codes, [0, 0, 0])
        self.resend_everything(server, writers)

    def test_counters_continue_and_a_clean_stop_leaves_nothing_to_fold(self):
        server = self.serve()
        now = now_ms()
        server.write("/v1/batches", [
            {"responder_id": "a", "received_at": now - 500, "platform": "android",
             "telemetry": {"queue_depth": 3},
             "updates": [{"sequence": 1, "captured_at": now - 2750}, {"sequence": 2, "captured_at": now - 900},
                         {"sequence": 3, "captured_at": now + 60_000}]},
            {"responder_id": "b", "updates": [{"sequence": 9}, {"sequence": 9}]}])
        server.write("/v1/transitions", {"responder_id": "b", "from": "ONLINE", "to": "OFFLINE"})
        before = server.scrape()
        self.assertEqual(self.refolded(server), 0)
        self.assertEqual(server.stop(), 0)
        server.start()
        self.assertEqual(self.refolded(server), 0)
        after = server.scrape()
        self.assertSame(before, after)
        self.assertEqual(after("rollcall_refold_differences_total"), 0)
        # Those of the edges begin anew; the scrape itself is counted when it is answered.
        self.assertEqual(after.total("rollcall_rejected_items_total"), 0)
        self.assertLessEqual(after.total("rollcall_http_requests_total"), 1)
        server.kill()
        server.start()
        self.assertSame(before, server.scrape())
        server.write("/v1/batches", {"responder_id": "a", "updates": [{"sequence": 4}]})
        server.kill()
        server.start()
        # The checkpoint is that of the stop: the tail has one batch.
        self.assertGreaterEqual(self.refolded(server), 1)
        self.assertEqual(server.scrape()("rollcall_updates_total", outcome="accepted"), 5)

    def test_a_stop_while_nothing_happens_is_quick(self):
        server = self.serve()
        idle = server.client()
        self.assertEqual(idle.request("GET", "/-/healthy").status, 200)
        began = time.monotonic()
        self.assertEqual(server.stop(), 0)
        self.assertLess(time.monotonic() - began, 3)
        idle.close()

    def assertSame(self, before, after):
        for name in CONTINUING:
            self.assertTrue(before.all(name), name)
            self.assertEqual(before.all(name), after.all(name), name)

    def refolded(self, server):
        """Rows of the journal that the last start folded again, as its log says."""
        rows = re.findall(r"refolded_rows=(\d+)", server.log())
        self.assertTrue(rows, server.log())
        return int(rows[-1])


class ClockTests(DurabilityTestCase):
    def test_many_quick_commits_do_not_push_time_ahead(self):
        """Some thousand turns a second: a store in memory, one client, raw requests."""
        directory = "/dev/shm"
        if not os.access(directory, os.W_OK):
            self.skipTest(f"{directory}, where commits take no time, is not writable")
        server = self.rollcall(
            "liveness: {on_duty: {expected: 5s, degraded_after: 10s, offline_after: 20s}}\n")
        server.store = os.path.join(directory, f"rollcall-{os.getpid()}-{SEED}.db")
        for suffix in ("", "-wal", "-shm", ".lock"):
            self.addCleanup(remove, server.store + suffix)
        self.addCleanup(server.close)
        server.start()
        server.write("/v1/batches", {"responder_id": "quiet"})
        turns = 0
        deadline = time.monotonic() + 5
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            body = b'{"responder_id":"busy"}'
            head = b"POST /v1/batches HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body)
            while time.monotonic() < deadline and turns < 200_000:
                connection.sendall(head + body)
                self.assertTrue(connection.recv(65536).startswith(b"HTTP/1.1 200 "))
                turns += 1
        asked = now_ms()
        as_of = milliseconds(server.get("/v1/status").json()["as_of"])
        # However long the answer takes to come.
        self.assertTrue(asked - 100 < as_of < now_ms() + 100, (asked, as_of, f"after {turns} turns"))
        self.assertNotIn("stepped", server.log())
        self.assertEqual(server.responder("quiet")["status"], "ONLINE", f"after {turns} turns")
        page = server.scrape()
        self.assertEqual(page("rollcall_watching"), 1)
        self.assertEqual(page.total("rollcall_blind_seconds_total"), 0)
        self.assertEqual(page("rollcall_batches_total"), turns + 1)


def remove(path):
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass


if __name__ == "__main__":
    unittest.main()
