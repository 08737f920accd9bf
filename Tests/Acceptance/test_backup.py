"""`rollcall backup` under load, and what becomes of stores that are restored, damaged or foreign.

`ROLLCALL_BACKUPS=100` makes that many copies under load instead of the usual 6.

Source: G12, G16, D-08 to D-14, O-06 to O-10.
"""

import glob
import hashlib
import http.client
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import threading
import time
import unittest

from loopback_receivers import Pager
from rollcall_process import BINARY, RollcallTestCase, eventually, plain_environment

BACKUPS = int(os.environ.get("ROLLCALL_BACKUPS", "6"))
EX_TEMPFAIL = 75


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def backup(store, target, *more, seconds=60):
    """Runs `rollcall backup`; its outcome."""
    return subprocess.run(
        [BINARY, "backup", target, "--storage.path", store, *more], capture_output=True, text=True,
        timeout=seconds, env=plain_environment())


class Writers:
    """Clients that write, and remember what was acknowledged, in order."""

    def __init__(self, server, count=4):
        self.server = server
        self.acknowledged = []
        self.slowest = 0.0
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._write, args=(number,), daemon=True)
            for number in range(count)]
        for thread in self._threads:
            thread.start()

    def _write(self, number):
        client = self.server.client()
        sequence = 0
        while not self._stop.is_set() and sequence < 100_000:
            sequence += 1
            items = [
                {"responder_id": f"w-{number}-{item}", "updates": [{"sequence": sequence}],
                 "telemetry": {"app_state": "x" * 40}} for item in range(20)]
            began = time.monotonic()
            try:
                answer = client.request("POST", "/v1/batches", items)
            except (OSError, http.client.HTTPException):
                return
            self.slowest = max(self.slowest, time.monotonic() - began)
            if answer.status == 200:
                self.acknowledged.append((number, sequence))
        client.close()

    def stop(self):
        self._stop.set()
        for thread in self._threads:
            thread.join(20)


class BackupTests(RollcallTestCase):
    """A copy is whole, and holds everything that was acknowledged before it began."""

    def check(self, copy, before):
        """Serves a copy: what was acknowledged before is in it, and nothing is taken twice."""
        self.assertEqual(os.stat(copy).st_mode & 0o777, 0o600)
        connection = sqlite3.connect(f"file:{copy}?mode=ro", uri=True)
        self.assertEqual(connection.execute("PRAGMA integrity_check").fetchone(), ("ok",))
        connection.close()
        name = os.path.splitext(os.path.basename(copy))[0]
        restored = self.rollcall(name=name)
        restored.start()
        latest = {}
        for number, sequence in before:
            latest[number] = max(latest.get(number, 0), sequence)
        page = restored.scrape()
        self.assertGreaterEqual(
            page("rollcall_updates_total", outcome="accepted"), 20 * len(before))
        self.assertEqual(page("rollcall_refold_differences_total"), 0)
        for number, sequence in latest.items():
            for again in {1, sequence // 2 + 1, sequence}:
                items = [{"responder_id": f"w-{number}-{item}", "updates": [{"sequence": again}]}
                         for item in range(20)]
                verdict = restored.write("/v1/batches", items)
                self.assertEqual(
                    verdict["updates"], {"accepted": 0, "duplicate": 20, "late": 0})
        self.assertEqual(restored.stop(), 0)

    def test_copies_under_load_are_whole(self):
        server = self.serve()
        writers = Writers(server)
        self.addCleanup(writers.stop)
        copies = []
        for number in range(BACKUPS):
            time.sleep(0.3)
            copy = os.path.join(self.directory, f"copy-{number}.db")
            before = list(writers.acknowledged)
            outcome = backup(server.store, copy, "--json")
            self.assertEqual((outcome.returncode, outcome.stderr), (0, ""))
            made = json.loads(outcome.stdout)
            self.assertEqual(made["file"], copy)
            self.assertEqual(made["bytes"], os.path.getsize(copy))
            self.assertGreater(made["turn"], 0)
            copies.append((copy, before))
        eventually(lambda: len(writers.acknowledged) > 100, 60, "batches are taken")
        writers.stop()
        self.assertEqual(server.stop(), 0)
        self.assertNotIn("a turn came late", server.log())
        self.assertEqual(glob.glob(os.path.join(self.directory, "*.partial*")), [])
        for copy, before in copies:
            self.check(copy, before)

    def test_a_copy_of_a_stopped_and_of_a_killed_server_is_whole(self):
        server = self.serve()
        for sequence in range(1, 6):
            server.write("/v1/batches", [
                {"responder_id": f"w-0-{item}", "updates": [{"sequence": sequence}]}
                for item in range(20)])
        before = [(0, sequence) for sequence in range(1, 6)]
        server.kill()
        killed = os.path.join(self.directory, "killed.db")
        files = {path: digest(path) for path in (server.store, server.store + "-wal")}
        self.assertEqual(backup(server.store, killed).returncode, 0)
        self.assertEqual({path: digest(path) for path in files}, files, "the store is only read")
        server.start()
        self.assertEqual(server.stop(), 0)
        stopped = os.path.join(self.directory, "stopped.db")
        outcome = backup(server.store, stopped)
        self.assertEqual(outcome.returncode, 0, outcome.stderr)
        self.assertIn("verified, up to turn", outcome.stdout)
        for copy in (killed, stopped):
            self.check(copy, before)

    def test_a_kill_leaves_nothing_under_the_final_name(self):
        server = self.serve()
        writers = Writers(server)
        self.addCleanup(writers.stop)
        time.sleep(1)
        target = os.path.join(self.directory, "cut.db")
        kills = 0
        for round in range(12):
            process = subprocess.Popen(
                [BINARY, "backup", target, "--storage.path", server.store],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=plain_environment())
            time.sleep(0.008 * round)
            process.send_signal(signal.SIGKILL)
            if process.wait(10) == 0:
                os.unlink(target)
                continue
            kills += 1
            if os.path.exists(target):
                # Between its name and its end: it must be whole.
                connection = sqlite3.connect(f"file:{target}?mode=ro", uri=True)
                self.assertEqual(connection.execute("PRAGMA integrity_check").fetchone(), ("ok",))
                connection.close()
                os.unlink(target)
        self.assertGreater(kills, 0)
        # Whatever they left, the next one is made, and the server never stopped.
        self.assertEqual(backup(server.store, target).returncode, 0)
        self.assertEqual(glob.glob(target + ".partial*"), [])
        before = len(writers.acknowledged)
        eventually(lambda: len(writers.acknowledged) > before, 10, "the server goes on")
        writers.stop()
        self.assertEqual(server.stop(), 0)

    def test_what_cannot_be_copied_is_said(self):
        server = self.serve()
        server.write("/v1/batches", {"responder_id": "a"})
        taken = os.path.join(self.directory, "taken.db")
        with open(taken, "w", encoding="utf-8") as file:
            file.write("mine")
        outcome = backup(server.store, taken)
        self.assertEqual(outcome.returncode, 64)
        self.assertIn("overwrites nothing", outcome.stderr)
        with open(taken, encoding="utf-8") as file:
            self.assertEqual(file.read(), "mine")
        for store, what in (("nowhere.db", "no store"), ("taken.db", "")):
            outcome = backup(
                os.path.join(self.directory, store), os.path.join(self.directory, "no.db"))
            self.assertNotEqual(outcome.returncode, 0)
            self.assertIn(what, outcome.stderr)
        outcome = backup(server.store, "/no/such/folder/x.db")
        self.assertEqual(outcome.returncode, 64)
        self.assertEqual(server.stop(), 0)
        # A store in which a value changed is no backup.
        connection = sqlite3.connect(server.store)
        connection.execute("UPDATE journal SET responder = responder + 1 "
                           "WHERE id = (SELECT min(id) FROM journal)")
        connection.commit()
        connection.close()
        target = os.path.join(self.directory, "damaged.db")
        outcome = backup(server.store, target)
        self.assertEqual(outcome.returncode, 1, outcome)
        self.assertRegex(outcome.stderr, r"journal row \d+ is not as it was written")
        self.assertEqual(glob.glob(target + "*"), [])


class RestoreTests(RollcallTestCase):
    """What is put in a store's place."""

    def lost(self, server):
        return server.get("/v1/status").json()["store"]["lost"]

    def test_an_old_backup_is_said_and_what_is_sent_again_is_taken(self):
        server = self.serve()
        server.write("/v1/batches", {"responder_id": "a", "updates": [{"sequence": 1}]})
        old = os.path.join(self.directory, "old.db")
        self.assertEqual(backup(server.store, old).returncode, 0)
        server.write("/v1/batches", {"responder_id": "a", "updates": [{"sequence": 2}]})
        server.write("/v1/batches", {"responder_id": "b", "updates": [{"sequence": 1}]})
        self.assertEqual(server.stop(), 0)
        for ending in ("-wal", "-shm"):
            os.unlink(server.store + ending)
        os.replace(old, server.store)
        server.start()
        self.assertIn("the store is older than what was acknowledged", server.log())
        self.assertIn("nobody is nudged for an interval", server.log())
        self.assertEqual(self.lost(server)["cause"], "older")
        status = server.get("/v1/status").json()
        self.assertIsNotNone(status["nudges"]["frozen_until"])
        self.problem(server.get("/v1/responders/b"), 404)
        verdict = server.write("/v1/batches", [
            {"responder_id": "a", "updates": [{"sequence": 1}, {"sequence": 2}]},
            {"responder_id": "b", "updates": [{"sequence": 1}]}])
        self.assertEqual(verdict["updates"], {"accepted": 2, "duplicate": 1, "late": 0})
        self.assertEqual(server.stop(), 0)
        server.start()
        self.assertEqual(server.log().count("is older than what was acknowledged"), 1)
        self.assertEqual(self.lost(server)["cause"], "older")
        self.assertEqual(server.stop(), 0)

    def test_a_kill_under_load_is_no_loss(self):
        server = self.serve()
        for _ in range(8):
            writers = Writers(server, count=3)
            time.sleep(0.25)
            server.kill()
            writers.stop()
            server.start()
            self.assertIsNone(self.lost(server))
        self.assertNotIn("older than what was acknowledged", server.log())
        self.assertEqual(server.stop(), 0)

    def test_a_log_that_is_gone_or_another_stores_is_noticed(self):
        other = self.serve(name="other")
        for number in range(40):
            other.write("/v1/batches", {"responder_id": f"other-{number}"})
        other.kill()
        for number, change in enumerate(("gone", "foreign", "copied")):
            with self.subTest(change):
                server = self.serve(name=f"log-{number}")
                server.write("/v1/batches", {"responder_id": "a"})
                self.assertEqual(server.stop(), 0)
                server.start()
                for item in range(10):
                    server.write("/v1/batches", {"responder_id": f"b-{item}"})
                server.kill()
                log = server.store + "-wal"
                self.assertGreater(os.path.getsize(log), 0)
                if change == "foreign":
                    shutil.copy(other.store + "-wal", log)
                else:
                    os.unlink(log)
                if change == "copied":
                    os.unlink(server.store + "-shm")
                server.start()
                self.assertIn(self.lost(server)["cause"], ("older", "damaged"))
                self.assertIsNotNone(
                    server.get("/v1/status").json()["nudges"]["frozen_until"])
                self.assertEqual(
                    server.write("/v1/batches", {"responder_id": "b-1"})["accepted"], 1)
                self.assertEqual(server.stop(), 0)

    def test_a_store_that_is_replaced_while_open_takes_nothing_more(self):
        server = self.serve()
        server.write("/v1/batches", {"responder_id": "a"})
        copy = os.path.join(self.directory, "copy.db")
        self.assertEqual(backup(server.store, copy).returncode, 0)
        os.replace(copy, server.store)
        try:
            self.assertNotEqual(
                server.post("/v1/batches", {"responder_id": "b"}).status, 200)
        except (OSError, http.client.HTTPException):
            pass
        self.assertEqual(server.process.wait(10), 74)
        server.reap()

    def test_a_downgrade_is_refused_and_changes_nothing(self):
        server = self.serve()
        server.write("/v1/batches", {"responder_id": "a"})
        self.assertEqual(server.stop(), 0)
        connection = sqlite3.connect(server.store)
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        connection.execute(f"PRAGMA user_version = {version + 1}")
        connection.close()
        before = digest(server.store)
        server.spawn()
        self.assertEqual(server.process.wait(20), 1)
        server.reap()
        self.assertIn("run the newer rollcall", server.log())
        self.assertEqual(digest(server.store), before)
        self.assertEqual(glob.glob(server.store + ".corrupt-*"), [])


class QuarantineTests(RollcallTestCase):
    """A store that cannot be read is put aside, told, and the service goes on."""

    def test_a_damaged_store_is_put_aside_and_told(self):
        pager = Pager(self)
        server = self.serve(
            "receivers:\n"
            f"  - name: oncall\n    pagerduty: {{routing_key: {pager.ROUTING_KEY}, url: '{pager.url}'}}\n"
            "    match: {severity: critical}\n")
        server.write("/v1/batches", {"responder_id": "a"})
        self.assertEqual(server.stop(), 0)
        with open(server.store, "r+b") as file:
            file.seek(0)
            file.write(b"\0" * 4096)
        before = digest(server.store)
        server.start()
        kept = glob.glob(server.store + ".corrupt-*Z")
        self.assertEqual(len(kept), 1)
        self.assertEqual(digest(kept[0]), before)
        self.assertIn("what was known is lost", server.log())
        lost = server.get("/v1/status").json()["store"]["lost"]
        self.assertEqual((lost["cause"], lost["kept"][0]), ("damaged", os.path.basename(kept[0])))
        page = server.scrape()
        self.assertGreater(page("rollcall_state_lost_timestamp_seconds"), time.time() - 60)
        self.assertEqual(
            page("rollcall_alerts", alertname="RollcallStateLost", severity="critical",
                 alertstate="firing"), 1)
        alerts = [alert["alertname"] for alert in server.get("/v1/alerts").json()["alerts"]]
        self.assertIn("RollcallStateLost", alerts)
        self.problem(server.get("/v1/responders/a"), 404)
        self.assertEqual(server.write("/v1/batches", {"responder_id": "a"})["accepted"], 1)
        told = eventually(
            lambda: [told.json() for told in list(pager.requests)
                     if told.json()["dedup_key"].endswith("-state")], 10, "told")
        self.assertEqual(told[0]["event_action"], "trigger")
        self.assertIn("lost what it knew", told[0]["payload"]["summary"])
        # No loop: it is put aside once.
        self.assertEqual(server.stop(), 0)
        server.start()
        self.assertEqual(server.get("/v1/responders/a").status, 200)
        self.assertEqual(glob.glob(server.store + ".corrupt-*Z"), kept)
        self.assertEqual(server.stop(), 0)

    def test_a_foreign_store_that_is_open_elsewhere_is_refused(self):
        server = self.rollcall()
        other = sqlite3.connect(server.store, isolation_level=None)
        self.addCleanup(other.close)
        other.execute("PRAGMA journal_mode = WAL")
        other.execute("CREATE TABLE theirs(x)")
        server.spawn()
        self.assertEqual(server.process.wait(20), 1)
        server.reap()
        self.assertIn("another application's database", server.log())
        self.assertEqual(glob.glob(server.store + ".corrupt-*"), [])
        other.execute("INSERT INTO theirs VALUES(1)")
        other.close()
        server.start()
        self.assertEqual(
            server.get("/v1/status").json()["store"]["lost"]["cause"], "foreign")
        kept = sqlite3.connect(glob.glob(server.store + ".corrupt-*Z")[0])
        self.assertEqual(kept.execute("SELECT x FROM theirs").fetchall(), [(1,)])
        kept.close()
        self.assertEqual(server.stop(), 0)

    def test_a_read_only_place_is_no_damage(self):
        if os.geteuid() != 0:
            self.skipTest("only root mounts")
        mount = os.path.join(self.directory, "mount")
        os.mkdir(mount)
        self.directory = mount
        outcome = subprocess.run(
            ["mount", "-t", "tmpfs", "tmpfs", mount], capture_output=True, text=True)
        if outcome.returncode != 0:
            self.skipTest(f"no tmpfs can be mounted here: {outcome.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", mount], check=True)
        server = self.rollcall()
        server.log_path = os.path.join(os.path.dirname(mount), "log")
        server.start()
        server.write("/v1/batches", {"responder_id": "a"})
        self.assertEqual(server.stop(), 0)
        # Damaged as well: that alone would be a reason.
        with open(server.store, "r+b") as file:
            file.write(b"\0" * 4096)
        names = sorted(os.listdir(mount))
        subprocess.run(["mount", "-o", "remount,ro", mount], check=True)
        server.spawn()
        self.assertNotEqual(server.process.wait(20), 0)
        server.reap()
        self.assertEqual(sorted(os.listdir(mount)), names)
        subprocess.run(["mount", "-o", "remount,rw", mount], check=True)
        server.start()
        self.assertEqual(
            server.get("/v1/status").json()["store"]["lost"]["cause"], "damaged")
        self.assertEqual(server.stop(), 0)


if __name__ == "__main__":
    unittest.main()
