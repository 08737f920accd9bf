"""A disk that fails, hangs, drags or takes no writes, under the real binary.

A small library is preloaded that disturbs the system's calls while a file says so.
Source: J6, J8, §2 B1.

    ROLLCALL_FSYNCS   so many of the first fsyncs of a life fail, one after the other; 30 by default
"""

import http.client
import os
import subprocess
import threading
import time
import unittest

from rollcall_process import (
    BINARY, NDJSON, NotReady, RollcallTestCase, eventually, ndjson, now_ms, plain_environment, sleep_until)

FSYNCS = int(os.environ.get("ROLLCALL_FSYNCS", "30"))


class FailingDiskTestCase(RollcallTestCase):
    def setUp(self):
        super().setUp()
        library = self.preloaded("failing_disk")
        self.switch = os.path.join(self.directory, "fault")
        self.variables = {"LD_PRELOAD": library, "DISK_FAULT": self.switch}

    def disk(self, word):
        """What the disk does from now on."""
        with open(self.switch + ".new", "w", encoding="ascii") as file:
            file.write(word)
        os.rename(self.switch + ".new", self.switch)


class FailingDiskTests(FailingDiskTestCase):
    def post_beside(self, server, items, count=1):
        """Posts from threads; the answers, or what was raised, once they are joined."""
        answers = []

        def post():
            client = server.client(timeout=20)
            try:
                answers.append(client.request("POST", "/v1/batches", items).status)
            except Exception as error:
                answers.append(error)
            finally:
                client.close()

        threads = [threading.Thread(target=post, daemon=True) for _ in range(count)]
        for thread in threads:
            thread.start()
        return answers, threads

    def join(self, threads):
        for thread in threads:
            thread.join(20)
            self.assertFalse(thread.is_alive())

    def test_a_failed_fsync_ends_it_with_74_and_acknowledges_nothing(self):
        server = self.serve(variables=self.variables)
        server.write("/v1/batches", {"responder_id": "a", "updates": [{"sequence": 1}]})
        self.disk("eio")
        answers, threads = self.post_beside(server, {"responder_id": "b"}, 3)
        self.assertEqual(server.process.wait(10), 74)
        self.join(threads)
        self.assertNotIn(200, answers)
        self.assertEqual(server.log().count("level=critical"), 1)
        self.assertIn("the store failed for good", server.log())
        server.reap()
        self.disk("")
        server.start()
        again = server.write("/v1/batches", {"responder_id": "a", "updates": [{"sequence": 1}]})
        self.assertEqual(again["updates"]["duplicate"], 1)
        self.assertEqual(server.stop(), 0)

    def test_a_disk_that_fails_at_the_start_is_told(self):
        self.disk("eio")
        with self.assertRaises(NotReady) as refused:
            self.serve(variables=self.variables)
        self.assertIn("exit 1", str(refused.exception))
        self.assertIn("rollcall.db", str(refused.exception))

    def test_a_reload_that_cannot_be_journaled_changes_nothing_and_going_back_is_a_change(self):
        tokens = "web: {tokens: [{name: x, scopes: [ingest, read, admin], token: TOKEN}]}\n"
        slow, quick = "liveness: {on_duty: {expected: 60s}}\n", (
            "liveness: {on_duty: {expected: 1s, degraded_after: 2s, offline_after: 3s}}\n")
        before = {"Authorization": "Bearer aaaaaaaaaaaaaaaa"}
        after = {"Authorization": "Bearer bbbbbbbbbbbbbbbb"}
        first = slow + tokens.replace("TOKEN", "a" * 16)
        server = self.serve(first, variables=self.variables)
        self.assertEqual(server.post("/v1/batches", {"responder_id": "a"}, before).status, 200)
        server.configure(
            quick + "limits: {items: 1}\n" + tokens.replace("TOKEN", "b" * 16))
        self.disk("full rollcall.db-wal")
        answer = server.post("/-/reload", b"", before)
        self.assertEqual(answer.status, 503, answer)
        # Tokens are those from before, and so are limits: two items are one too many by the others.
        self.assertEqual(server.get("/v1/status", after).status, 401)
        self.assertEqual(server.get("/v1/status", before).status, 200)
        self.disk("")
        batches = [{"responder_id": "a"}, {"responder_id": "b"}]
        eventually(
            lambda: server.post("/v1/batches", batches, before).status == 200, 10, "it commits")
        # What was refused may have been committed later. What was in force is a change then.
        server.configure(first)
        answer = server.post("/-/reload", b"", before)
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual(server.post("/v1/batches", batches, before).status, 200)
        time.sleep(4.5)
        for name in ("a", "b"):
            shown = server.get(f"/v1/responders/{name}", before).json()
            self.assertEqual(shown["status"], "ONLINE", shown)
        self.assertEqual(server.stop(), 0)

    def test_a_slow_disk_delays_answers_to_writes_alone(self):
        server = self.serve(variables=self.variables)
        server.write("/v1/batches", {"responder_id": "a"})
        server.scrape()
        self.disk("slow 1500")
        answers, threads = self.post_beside(server, {"responder_id": "b"}, 5)
        time.sleep(0.3)
        # A scrape gets the last copy, health does not ask at all.
        began = time.monotonic()
        page = server.scrape_at_once()
        self.assertEqual(server.get("/-/healthy").status, 200)
        self.assertEqual(server.get("/-/ready").status, 200)
        self.assertLess(time.monotonic() - began, 1.0)
        self.assertEqual(page("rollcall_watching"), 1)
        self.assertGreater(page("rollcall_snapshot_age_seconds"), 0)
        self.assertEqual(answers, [])
        self.join(threads)
        self.assertEqual(answers, [200] * 5)
        self.disk("")
        page = eventually(
            lambda: (page := server.scrape())("rollcall_batches_total") == 6 and page, 10, "all")
        self.assertEqual(page.total("rollcall_blind_seconds_total"), 0)
        self.assertEqual(server.stop(), 0)

    def test_a_hanging_disk_answers_503_in_5_s_and_blinds_the_watch(self):
        server = self.serve(
            # Shorter than the disk hangs, and longer than all else here.
            "liveness: {on_duty: {expected: 1s, degraded_after: 2s, offline_after: 9s}}\n",
            variables=self.variables)
        server.write("/v1/batches", {"responder_id": "a", "updates": [{"sequence": 1}]})
        server.scrape()
        began = now_ms()
        self.disk("hang")
        batch = {"responder_id": "b", "updates": [{"sequence": 1}]}
        answers, threads = self.post_beside(server, batch, 12)
        self.join(threads)
        self.assertEqual(answers, [503] * 12)
        took = now_ms() - began
        self.assertTrue(4500 <= took <= 8000, took)
        self.assertEqual(server.get("/-/healthy").status, 200)
        # What is older than 5 s is told as such: nobody watches while the loop stands still.
        page = server.scrape_at_once()
        self.assertEqual(page("rollcall_batches_total"), 1)
        self.assertGreater(page("rollcall_snapshot_age_seconds"), 4.5)
        page = eventually(
            lambda: (page := server.scrape_at_once())("rollcall_watching") == 0 and page, 5, "not watching")
        self.assertGreater(page("rollcall_snapshot_age_seconds"), 5)
        self.problem(server.get("/-/ready"), 503)
        # The next turn, due 5 s after the last one, is then more than 5 s late (B1).
        sleep_until(began + 11_500)
        self.disk("")
        page = eventually(
            lambda: (page := server.scrape())("rollcall_batches_total") == 13 and page, 10, "taken")
        self.assertGreaterEqual(page.total("rollcall_blind_seconds_total", reason="suspended"), 10)
        self.assertEqual(page("rollcall_http_requests_total", route="batches", code="503"), 12)
        # 503 meant "unknown": the very same body again is counted once.
        again = server.write("/v1/batches", batch)
        self.assertEqual(again["updates"]["duplicate"], 1)
        # Nobody was called OFFLINE for a time in which nobody could be heard.
        self.assertNotEqual(server.responder("a")["status"], "OFFLINE")
        self.assertEqual(server.stop(), 0)

    def test_a_disk_that_takes_no_writes_recovers_by_itself(self):
        server = self.serve(variables=self.variables)
        server.write("/v1/batches", {"responder_id": "a"})
        self.disk("readonly")
        self.problem(server.post("/v1/batches", {"responder_id": "b"}), 503)
        self.problem(server.get("/-/ready"), 503)
        self.assertEqual(server.get("/-/healthy").status, 200)
        page = server.scrape()
        self.assertEqual(page("rollcall_blind", reason="store"), 1)
        self.assertEqual(page("rollcall_watching"), 0)
        self.assertIn("make it writable", server.log())
        # What is shorter than a second is not counted (D5).
        time.sleep(1.2)
        self.disk("")
        eventually(lambda: server.get("/-/ready").status == 200, 10, "ready again")
        server.write("/v1/batches", {"responder_id": "b"})
        page = eventually(
            lambda: (page := server.scrape())("rollcall_watching") == 1 and page, 5, "watching")
        self.assertGreater(page("rollcall_blind_seconds_total", reason="store"), 0)
        self.assertEqual(server.stop(), 0)

    def test_probes_are_answered_while_the_main_listener_drains(self):
        server = self.serve(
            variables=self.variables, more=("--web.metrics-listen-address", "127.0.0.1:0"))
        server.write("/v1/batches", {"responder_id": "a"})
        probes = server.second()
        self.assertEqual(probes.request("GET", "/-/ready").status, 200)
        self.assertEqual(probes.request("GET", "/metrics").status, 200)
        self.disk("hang")
        answers, threads = self.post_beside(server, {"responder_id": "b"})
        time.sleep(0.3)
        server.process.terminate()
        eventually(lambda: probes.request("GET", "/-/ready").status == 503, 3, "it drains")
        self.problem(probes.request("GET", "/-/ready"), 503)
        self.assertEqual(probes.request("GET", "/-/healthy").status, 200)
        self.assertEqual(probes.request("GET", "/metrics").status, 200)
        self.disk("")
        self.join(threads)
        self.assertEqual(answers, [200])
        probes.close()
        self.assertEqual(server.process.wait(10), 0)
        server.reap()


class SyncTests(FailingDiskTestCase):
    """Each fsync of a life fails in its turn."""

    # A batch a commit, and now and then what has the log moved into the file.
    POSTS = FSYNCS + 10

    def setUp(self):
        super().setUp()
        # Whose fsync failed, by its number.
        self.synced = {}

    def test_whichever_fsync_fails_nothing_of_it_is_acknowledged(self):
        found = {"start": [], "commit": [], "beside": []}
        for number in range(1, FSYNCS + 1):
            found[self.live(number)].append(number)
        # Of the files, of their directory, and of the one beside the store.
        self.assertGreater(len(found["start"]), 1, found)
        self.assertGreater(len(found["commit"]), FSYNCS // 3, found)
        self.assertGreater(len(found["beside"]), 0, found)
        print(f"     fsyncs that fail: {found}")
        # The file beside the store is durable before it has its name, and its name is, too.
        epochs = [number for number, path in self.synced.items() if path.endswith(".epoch.new")]
        self.assertGreater(len(epochs), 0, self.synced)
        for number in epochs:
            self.assertEqual(self.synced.get(number + 1, self.directory), self.directory)

    def live(self, number):
        """One life whose fsync of that number fails: when that was."""
        report = os.path.join(self.directory, f"report-{number}")
        server = self.rollcall(name=f"life-{number}", variables={
            **self.variables, "DISK_SYNC_FAILS": str(number), "DISK_REPORT": report})
        acknowledged, when = [], "beside"
        try:
            server.start()
        except NotReady as refused:
            self.assertIn("exit 1,", str(refused))
            self.assertIn("what the disk holds is unknown", str(refused))
            when = "start"
        else:
            acknowledged, when = self.post_until(server, report)
        self.check_failed(server, report, when, number)
        # A clean start knows all that was acknowledged, and takes more.
        server.variables = {}
        server.start()
        for sequence in acknowledged:
            self.assertEqual(self.post(server, sequence)["duplicate"], 1, f"fsync {number}")
        self.assertEqual(self.post(server, self.POSTS + 1)["accepted"], 1)
        self.assertEqual(server.stop(), 0)
        return when

    def post(self, server, sequence):
        batch = {"responder_id": "a", "updates": [{"sequence": sequence}]}
        return server.write("/v1/batches", batch)["updates"]

    def post_until(self, server, report):
        """Posts until the process ends by it, or it is clear that it does not."""
        acknowledged = []
        for sequence in range(self.POSTS):
            try:
                if sequence == 5:
                    # Erasing somebody writes a checkpoint, and has the log cut off.
                    server.write("/v1/batches", {"responder_id": "b"})
                    server.request("DELETE", "/v1/responders/b")
                self.post(server, sequence)
            except (OSError, http.client.HTTPException):
                self.assertEqual(server.process.wait(10), 74)
                server.reap()
                self.assertIn("the store failed for good", server.log())
                return acknowledged, "commit"
            acknowledged.append(sequence)
        self.assertEqual(server.stop(), 0)
        return acknowledged, "beside"

    def check_failed(self, server, report, when, number):
        """Only the files beside the store may fail and be lived with: of the lock file there is
        nothing to be lost yet, and without the other nobody is nudged."""
        with open(report, encoding="utf-8") as file:
            path = self.synced[number] = file.read()
        if when != "beside" or path.endswith(".db.lock"):
            return
        self.assertTrue(path == self.directory or path.endswith(".epoch.new"), path)
        self.assertIn("the epoch file cannot be written", server.log(), f"fsync {number}")


class BackupSyncTests(FailingDiskTestCase):
    """A backup is durable when it has its name."""

    def backup(self, store, target, **variables):
        return subprocess.run(
            [BINARY, "backup", target, "--storage.path", store], capture_output=True, text=True,
            timeout=60, env={**plain_environment(), **self.variables, **variables})

    def test_a_backup_is_synced_under_its_first_name_and_then_its_directory(self):
        server = self.serve()
        server.write("/v1/batches", {"responder_id": "a"})
        self.assertEqual(server.stop(), 0)
        synced = []
        for number in range(1, 10):
            target = os.path.join(self.directory, f"copy-{number}.db")
            report = os.path.join(self.directory, f"report-{number}")
            outcome = self.backup(
                server.store, target, DISK_SYNC_FAILS=str(number), DISK_REPORT=report)
            if outcome.returncode == 0:
                break
            with open(report, encoding="utf-8") as file:
                synced.append(file.read())
            self.assertIn("fsync", outcome.stderr)
            # It has its name once it is durable itself.
            self.assertEqual(os.path.exists(target), synced[-1] == self.directory)
            self.assertFalse(os.path.exists(target + ".partial"))
        # The names that the failed ones had: of the file, then of the directory.
        self.assertEqual(
            synced, [os.path.join(self.directory, "copy-1.db.partial"), self.directory])


class CheckpointTests(FailingDiskTestCase):
    """There is no room in the file, but still some in the log."""

    def test_a_full_disk_that_only_checkpoints_meet_holds_nobody_up(self):
        server = self.serve(variables=self.variables)
        server.write("/v1/batches", {"responder_id": "a"})
        self.disk("full rollcall.db")
        body = ndjson([
            {"responder_id": f"p{number}", "circles": ["c" * 100]} for number in range(2000)])
        # Some MiB, each of which is to be moved.
        for _ in range(12):
            server.write("/v1/batches", body, {"Content-Type": NDJSON})
        eventually(lambda: "the log's checkpoint failed" in server.log(), 10, "it is told")
        page = server.scrape()
        self.assertEqual(page("rollcall_watching"), 1)
        self.assertEqual(page.total("rollcall_blind_seconds_total"), 0)
        self.assertGreater(os.path.getsize(server.store + "-wal"), 2 << 20)
        self.assertIn("free some space", server.log())
        server.kill()
        self.disk("")
        server.start()
        self.assertEqual(server.scrape()("rollcall_batches_total"), 24_001)
        self.assertEqual(server.stop(), 0)
        self.assertGreater(os.path.getsize(server.store), 2 << 20)
        self.assertEqual(os.path.getsize(server.store + "-wal"), 0)

    def test_a_full_disk_that_a_stop_meets_loses_nothing(self):
        server = self.serve(variables=self.variables)
        server.write("/v1/batches", {"responder_id": "a", "updates": [{"sequence": 1}]})
        self.disk("full rollcall.db")
        self.assertEqual(server.stop(), 0)
        self.assertIn("the last checkpoint failed", server.log())
        self.disk("")
        server.start()
        again = server.write("/v1/batches", {"responder_id": "a", "updates": [{"sequence": 1}]})
        self.assertEqual(again["updates"]["duplicate"], 1)
        self.assertEqual(server.stop(), 0)


class ReadOnlyDirectoryTests(RollcallTestCase):
    def test_a_store_that_cannot_be_written_is_told_at_the_start(self):
        mount = os.path.join(self.directory, "disk")
        os.mkdir(mount)
        outcome = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", mount],
            capture_output=True, text=True)
        if outcome.returncode != 0:
            self.skipTest(f"no tmpfs can be mounted here: {outcome.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", mount], check=True)
        server = self.serve()
        server.stop()
        server.store = os.path.join(mount, "rollcall.db")
        server.start()
        server.write("/v1/batches", {"responder_id": "a"})
        self.assertEqual(server.stop(), 0)
        subprocess.run(["mount", "-o", "remount,ro", mount], check=True)
        with self.assertRaises(NotReady) as refused:
            server.start()
        self.assertIn("exit 1", str(refused.exception))
        self.assertIn("make it writable", str(refused.exception))
        subprocess.run(["mount", "-o", "remount,rw", mount], check=True)
        server.start()
        self.assertEqual(server.responder("a")["status"], "ONLINE")
        self.assertEqual(server.stop(), 0)


if __name__ == "__main__":
    unittest.main()
