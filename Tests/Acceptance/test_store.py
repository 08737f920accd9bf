"""A store in trouble: a full disk, a file that somebody took away.

Source: J6.
"""

import http.server
import json
import os
import sqlite3
import subprocess
import tempfile
import threading
import time
import unittest

from rollcall_process import NotReady, RollcallTestCase, eventually


class FullDiskTestCase(RollcallTestCase):
    """A store on a disk of its own that is soon full."""

    def setUp(self):
        super().setUp()
        self.mount = tempfile.mkdtemp(prefix="rollcall-disk-")
        self.addCleanup(os.rmdir, self.mount)
        outcome = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", self.mount],
            capture_output=True, text=True)
        if outcome.returncode != 0:
            self.skipTest(f"no tmpfs can be mounted here: {outcome.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", self.mount], check=True)
        self.directory = self.mount

    def fill(self, config_path=None):
        """A server whose disk is full: the bodies that were acknowledged, and the one that was
        not, which nobody may have seen."""
        server = self.rollcall()
        server.config_path = config_path
        server.start()
        server.write("/v1/batches", {"responder_id": "early"})
        return server, *self.fill_up(server)

    def fill_up(self, server):
        """Fills the disk of a server that has started; as `fill`."""
        acknowledged = []
        for round in range(400):
            items = [
                {"responder_id": f"p{round}-{number}", "updates": [{"sequence": 1}],
                 "circles": [f"circle-{round}-{number}-" + "x" * 60]} for number in range(100)]
            answer = server.post("/v1/batches", items)
            if answer.status != 200:
                self.problem(answer, 503)
                self.assertIn("retry-after", answer.headers)
                return acknowledged, items
            acknowledged.append(items)
        self.fail("the disk never got full")

    def grow(self, server):
        """Gives the disk room and waits until writes are taken."""
        subprocess.run(["mount", "-o", "remount,size=64m", self.mount], check=True)
        eventually(lambda: server.get("/-/ready").status == 200, 10, "ready again")


class FullDiskTests(FullDiskTestCase):
    """What is acknowledged is stored, and a full disk recovers by itself."""

    def test_a_full_disk_refuses_writes_and_recovers_by_itself(self):
        server, acknowledged, refused = self.fill()
        # Who only reads is answered, and told that nobody is watching.
        self.assertEqual(server.get("/-/healthy").status, 200)
        self.problem(server.get("/-/ready"), 503)
        self.problem(server.post("/v1/batches", {"responder_id": "late"}), 503)
        page = server.scrape()
        self.assertEqual(page("rollcall_watching"), 0)
        self.assertEqual(page("rollcall_blind", reason="store"), 1)
        person = server.responder("early")
        self.assertIs(person["confirmed"], False)
        self.assertNotEqual(person["reachable"], "yes")
        status = server.get("/v1/status").json()
        self.assertIs(status["watching"], False)
        self.assertEqual(status["store"]["state"], "failing")
        # A window is told once it is a second old.
        windows = eventually(
            lambda: server.get("/v1/status/history").json()["blind"], 5, "the window is told")
        self.assertEqual([(w["reason"], w["until"]) for w in windows], [("store", None)])
        self.grow(server)
        page = eventually(
            lambda: (page := server.scrape())("rollcall_watching") == 1 and page, 5, "watching")
        self.assertEqual(page("rollcall_blind", reason="store"), 0)
        self.assertGreater(page("rollcall_blind_seconds_total", reason="store"), 0)
        history = server.get("/v1/status/history").json()
        self.assertEqual([w["reason"] for w in history["blind"]], ["store"])
        self.assertGreater(history["blind"][0]["until"], history["blind"][0]["since"])
        self.assertGreaterEqual(len(history["samples"]), 1)
        self.assertEqual(server.get("/v1/status").json()["store"]["state"], "ok")
        # 503 meant "unknown, send again": whatever became of it, it counts once.
        verdict = server.write("/v1/batches", refused)
        self.assertEqual(sum(verdict["updates"].values()), 100)
        server.kill()
        server.start()
        for items in acknowledged + [refused]:
            self.assertEqual(server.write("/v1/batches", items)["updates"]["duplicate"], 100)
        self.assertEqual(
            server.scrape()("rollcall_updates_total", outcome="accepted"),
            100 * (len(acknowledged) + 1))
        self.assertEqual(server.stop(), 0)

    def test_a_reload_that_cannot_be_stored_is_asked_for_again(self):
        holder = tempfile.TemporaryDirectory(prefix="rollcall-")
        self.addCleanup(holder.cleanup)
        path = os.path.join(holder.name, "r.yml")
        with open(path, "w", encoding="utf-8") as file:
            file.write("liveness: {forget_after: 7d}\n")
        server, _, _ = self.fill(path)
        server.configure("liveness: {forget_after: 3d}\n")
        answer = server.post("/-/reload", b"")
        self.problem(answer, 503)
        self.assertIn("retry-after", answer.headers)
        self.assertEqual(server.scrape()("rollcall_config_last_reload_successful"), 0)
        self.grow(server)
        answer = server.post("/-/reload", b"")
        self.assertEqual(
            [change["setting"] for change in answer.json()["changed"]], ["liveness.forget_after"])
        self.assertEqual(server.scrape()("rollcall_config_last_reload_successful"), 1)

    def test_what_a_full_disk_did_not_take_is_not_published(self):
        server, acknowledged, refused = self.fill()
        page = server.scrape()
        self.assertEqual(
            page("rollcall_updates_total", outcome="accepted"), 100 * len(acknowledged))
        self.problem(server.get(f"/v1/responders/{refused[0]['responder_id']}"), 404)
        self.grow(server)

    def test_a_stop_on_a_full_disk_loses_nothing_acknowledged(self):
        server, acknowledged, _ = self.fill()
        server.stop()
        subprocess.run(["mount", "-o", "remount,size=64m", self.mount], check=True)
        server.start()
        for items in acknowledged:
            self.assertEqual(server.write("/v1/batches", items)["updates"]["duplicate"], 100)
        self.assertEqual(server.stop(), 0)


class Pager:
    """Takes whatever is sent to it: requests as method, path and body."""

    def __init__(self):
        requests = self.requests = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self):
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                requests.append((self.command, self.path, json.loads(body) if body else None))
                self.send_response(202)
                self.send_header("content-length", "0")
                self.end_headers()

            do_GET = do_POST = answer

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    @property
    def events(self):
        """What was told of the store: action and key."""
        bodies = [body for method, _, body in self.requests if method == "POST"]
        return [
            (body["event_action"], body["dedup_key"]) for body in bodies
            if body["dedup_key"].endswith("-store")]

    @property
    def pings(self):
        return sum(method == "GET" for method, _, _ in self.requests)


class StoreAlarmTests(FullDiskTestCase):
    """A store that fails is told from memory, and its end is never forgotten (A5)."""

    def setUp(self):
        super().setUp()
        self.pager = Pager()
        self.addCleanup(self.pager.close)
        holder = tempfile.TemporaryDirectory(prefix="rollcall-")
        self.addCleanup(holder.cleanup)
        self.config = os.path.join(holder.name, "r.yml")
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(
                f"receivers:\n"
                f"  - name: oncall\n"
                f"    pagerduty: {{routing_key: r0uting, url: '{self.pager.url}/v2/enqueue'}}\n"
                f"    match: {{severity: critical}}\n"
                f"alive_ping: {{url: '{self.pager.url}/ping', every: 10s}}\n")

    def full(self):
        """A server whose disk is full, and has been for long enough."""
        server, _, _ = self.fill(self.config)
        eventually(lambda: self.pager.events, 15, "told")
        return server

    def test_a_full_disk_is_told_and_its_end_too(self):
        server = self.full()
        page = server.scrape()
        self.assertEqual(
            page(
                "rollcall_alerts", alertname="RollcallStoreFailing", severity="critical",
                alertstate="firing"), 1)
        alerts = server.get("/v1/alerts").json()["alerts"]
        self.assertEqual(
            [(alert["alertname"], alert["state"]) for alert in alerts
             if alert["alertname"] == "RollcallStoreFailing"],
            [("RollcallStoreFailing", "firing")])
        eventually(
            lambda: server.scrape()("rollcall_alive_pings_total", outcome="withheld") > 0, 15,
            "withheld")
        pings = self.pager.pings
        self.grow(server)
        eventually(lambda: len(self.pager.events) == 2, 10, "told that it is over")
        (trigger, key), (resolve, same) = self.pager.events
        self.assertEqual((trigger, resolve), ("trigger", "resolve"))
        self.assertEqual(key, same)
        self.assertRegex(key, "^rollcall-[0-9a-f]{16}-store$")
        eventually(lambda: self.pager.pings > pings, 15, "pinged again")
        self.assertEqual(server.get("/v1/alerts").json()["alerts"], [])
        self.assertEqual(server.stop(), 0)
        server.start()
        self.assertEqual(server.stop(), 0)
        self.assertEqual(len(self.pager.events), 2)

    def test_the_end_is_told_after_a_crash_on_the_full_disk(self):
        server = self.full()
        server.kill()
        subprocess.run(["mount", "-o", "remount,size=64m", self.mount], check=True)
        server.start()
        eventually(lambda: len(self.pager.events) == 2, 10, "told that it is over")
        (trigger, key), (resolve, same) = self.pager.events
        self.assertEqual((trigger, resolve, key), ("trigger", "resolve", same))
        eventually(
            lambda: open(server.store + ".lock", "rb").read().endswith(b"\n-000000000000000\n"),
            5, "the mark is taken away")
        self.assertEqual(server.stop(), 0)


class MissingFileTests(RollcallTestCase):
    def test_nothing_is_acknowledged_into_a_deleted_store(self):
        server = self.serve()
        server.write("/v1/batches", {"responder_id": "a"})
        os.unlink(server.store)
        try:
            answer = server.post("/v1/batches", {"responder_id": "b"})
            self.assertNotEqual(answer.status, 200, answer)
        except OSError:
            pass
        self.assertEqual(server.process.wait(10), 74)
        self.assertIn("renamed or deleted", server.log())
        server.reap()


class LongLogTests(RollcallTestCase):
    def test_batches_alone_do_not_make_the_log_grow_without_bound(self):
        server = self.serve()
        log = server.store + "-wal"
        for number in range(20_000):
            server.write(
                "/v1/batches", {"responder_id": f"r{number % 40}", "updates": [{"sequence": number}]})
            if number % 100 == 0 and os.path.getsize(log) > 32 << 20:
                break
        else:
            self.fail("the log did not become long")
        # It is used again from its start, and never longer than a turn or two beyond that.
        for number in range(2000):
            server.write("/v1/batches", {"responder_id": f"r{number % 40}"})
        self.assertLess(os.path.getsize(log), 40 << 20)
        self.assertGreater(os.path.getsize(server.store), 65536)
        self.assertEqual(server.stop(), 0)


class DisturbedFileTests(RollcallTestCase):
    """Somebody lays hands on the store's files while they are open."""

    def served(self, name):
        """A server whose store and log both hold something, and what it acknowledged."""
        server = self.serve(name=name)
        items = [{"responder_id": f"p{number}", "updates": [{"sequence": 1}]}
                 for number in range(2000)]
        server.write("/v1/batches", items)
        self.assertEqual(server.stop(), 0)
        server.start()
        late = [{"responder_id": "late", "updates": [{"sequence": 1}]}]
        server.write("/v1/batches", late)
        self.assertGreater(os.path.getsize(server.store), 65536)
        self.assertGreater(os.path.getsize(server.store + "-wal"), 4096)
        return server, items + late

    def ends(self, server, ending, words):
        """Without a request: it looks at them each second."""
        self.assertEqual(server.process.wait(10), 74)
        self.assertIn(f"{server.store}{ending} {words} while it was open", server.log())
        # The next start looks at all of it.
        self.assertTrue(os.path.exists(server.store + ".suspect"))
        server.reap()

    @staticmethod
    def overwrite(path, place, data):
        with open(path, "r+b") as file:
            file.seek(place)
            file.write(data)

    def test_a_deleted_log_is_noticed_and_nothing_acknowledged_is_lost(self):
        server, items = self.served("deleted")
        os.unlink(server.store + "-wal")
        self.ends(server, "-wal", "was renamed or deleted")
        server.start()
        self.assertEqual(
            server.write("/v1/batches", items)["updates"]["duplicate"], len(items))
        self.assertIsNone(server.get("/v1/status").json()["store"]["lost"])
        self.assertEqual(server.stop(), 0)

    def test_nothing_is_acknowledged_into_a_deleted_log(self):
        server, _ = self.served("deleted")
        os.unlink(server.store + "-wal")
        try:
            answer = server.post("/v1/batches", {"responder_id": "b"})
            self.assertNotEqual(answer.status, 200, answer)
        except OSError:
            pass
        self.ends(server, "-wal", "was renamed or deleted")

    def test_a_log_that_is_cut_replaced_or_overwritten_is_noticed(self):
        for name, words in (
                ("cut", "was cut"), ("emptied", "was cut"), ("replaced", "was renamed or deleted"),
                ("zeros", "was overwritten"), ("another", "was overwritten")):
            with self.subTest(name):
                server, _ = self.served(name)
                log = server.store + "-wal"
                if name in ("cut", "emptied"):
                    os.truncate(log, os.path.getsize(log) // 2 if name == "cut" else 0)
                elif name == "replaced":
                    with open(log, "rb") as file:
                        content = file.read()
                    with open(log + ".new", "wb") as file:
                        file.write(content)
                    os.replace(log + ".new", log)
                elif name == "zeros":
                    self.overwrite(log, 0, bytes(64))
                else:
                    # The salts of another log.
                    self.overwrite(log, 16, b"otherlog")
                self.ends(server, "-wal", words)

    def test_a_log_that_is_cut_while_it_is_written_is_noticed(self):
        server, _ = self.served("busy")
        stopped = threading.Event()

        def write():
            client = server.client()
            number = 0
            while not stopped.is_set():
                number += 1
                try:
                    client.request("POST", "/v1/batches", {"responder_id": f"w{number % 50}"})
                except OSError:
                    return

        writer = threading.Thread(target=write, daemon=True)
        writer.start()
        self.addCleanup(stopped.set)
        log = server.store + "-wal"
        eventually(lambda: os.path.getsize(log) > 200_000, 20, "the log grows")
        # Once is enough, but for the moment in which a commit is being written.
        for _ in range(20):
            if server.process.poll() is None:
                os.truncate(log, os.path.getsize(log) // 2)
                time.sleep(0.05)
        self.ends(server, "-wal", "was cut")
        stopped.set()
        writer.join(10)

    def test_a_file_that_begins_otherwise_beside_its_log_is_put_right_by_a_start(self):
        for name in ("noise", "backup"):
            with self.subTest(name):
                server = self.serve(name=name)
                items = [{"responder_id": f"p{number}", "updates": [{"sequence": 1}]}
                         for number in range(300)]
                for place in range(0, 300, 10):
                    server.write("/v1/batches", items[place:place + 10])
                server.kill()
                if name == "noise":
                    self.overwrite(server.store, 0, os.urandom(4096))
                else:
                    # As `rollcall backup` makes it, copied over the store with the log forgotten.
                    self.overwrite(server.store, 18, b"\1\1")
                server.start()
                # It looks at its files each second.
                for number in range(10):
                    server.write("/v1/batches", {"responder_id": f"late{number}"})
                    time.sleep(0.25)
                self.assertEqual(
                    server.write("/v1/batches", items)["updates"]["duplicate"], len(items))
                self.assertIsNone(server.get("/v1/status").json()["store"]["lost"])
                server.kill()
                server.start()
                self.assertEqual(
                    server.write("/v1/batches", items)["updates"]["duplicate"], len(items))
                self.assertEqual(server.stop(), 0)

    def test_a_store_that_is_cut_or_overwritten_is_noticed(self):
        for name, words in (
                ("cut", "was cut"), ("emptied", "was cut"), ("zeros", "was overwritten"),
                ("text", "was overwritten"), ("older", "was overwritten")):
            with self.subTest(name):
                server, _ = self.served(name)
                size = os.path.getsize(server.store)
                if name in ("cut", "emptied"):
                    os.truncate(server.store, size - 4096 if name == "cut" else 0)
                elif name == "older":
                    # A copy that was not made by us, put in its place by `cp`.
                    with open(server.store, "rb") as file:
                        file.seek(24)
                        changes = int.from_bytes(file.read(4), "big")
                    self.overwrite(server.store, 24, (changes - 1).to_bytes(4, "big"))
                else:
                    self.overwrite(
                        server.store, 0, bytes(4096) if name == "zeros" else b"id,name\n" * 512)
                self.ends(server, "", words)

    def test_whoever_only_reads_or_moves_the_log_disturbs_nobody(self):
        server, items = self.served("calm")
        outsider = sqlite3.connect(server.store, isolation_level=None)
        self.addCleanup(outsider.close)
        for number in range(20):
            outsider.execute("SELECT count(*) FROM journal").fetchone()
            outsider.execute(
                f"PRAGMA wal_checkpoint({'TRUNCATE' if number % 2 else 'PASSIVE'})").fetchone()
            server.write("/v1/batches", {"responder_id": f"again-{number}"})
            time.sleep(0.1)
        outsider.close()
        self.assertEqual(
            server.write("/v1/batches", items)["updates"]["duplicate"], len(items))
        self.assertEqual(server.stop(), 0)

    def test_a_hard_link_elsewhere_lets_no_second_server_in(self):
        server, items = self.served("linked")
        elsewhere = tempfile.mkdtemp(prefix="rollcall-link-", dir=self.directory)
        other = self.rollcall(name="link")
        other.store = os.path.join(elsewhere, "other.db")
        os.link(server.store, other.store)
        with self.assertRaises(NotReady) as refused:
            other.start()
        self.assertIn("exit 1", str(refused.exception))
        self.assertIn("other.db is locked by another process", str(refused.exception))
        self.assertEqual(
            server.write("/v1/batches", items)["updates"]["duplicate"], len(items))
        # Nor one whose lock file was taken away.
        os.unlink(server.store + ".lock")
        third = self.rollcall(name="linked")
        with self.assertRaises(NotReady):
            third.start()
        self.assertEqual(server.stop(), 0)
        other.start()
        self.assertEqual(
            other.write("/v1/batches", items)["updates"]["duplicate"], len(items))
        self.assertEqual(other.stop(), 0)


if __name__ == "__main__":
    unittest.main()
