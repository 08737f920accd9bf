"""`rollcall export` and `rollcall replay --verify`: a store's history as a file, of a server that runs
under load, of one that was killed, of one that stopped.

Source: V7, J1 to J7.
"""

import json
import os
import sqlite3
import stat
import subprocess
import threading
import unittest

from rollcall_process import (
    BINARY, NDJSON, RollcallTestCase, eventually, ndjson, now_ms, plain_environment, rfc3339)

TOKEN = "ExponentPushToken[Zz9secret]"
SHORT = """
liveness:
  on_duty: {expected: 100ms, degraded_after: 300ms, offline_after: 700ms}
alerts:
  NoOnlineResponders: {for: 100ms}
nudges: {stale_after: 1s, min_interval: 2s, mode: dry_run, sink: {expo: {}}}
receivers:
  - {name: hook, webhook: {url: "http://127.0.0.1:9/Zz9hook", secret: whsec_Wno5c2VjcmV0Wno5c2VjcmV0Wno5c2VjcmV0MTIzNDU=}}
"""


def run(*arguments, code=0, **more):
    """Runs the binary to its end, which must have this exit code."""
    done = subprocess.run(
        [BINARY, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, timeout=120, env=plain_environment(), **more)
    if done.returncode != code:
        raise AssertionError(
            f"{arguments}: exit {done.returncode}\n{done.stdout[-2000:]!r}\n{done.stderr[-2000:]!r}")
    return done


class Load:
    """Backends that post without a pause; what was not answered 200 is kept."""

    def __init__(self, server, people=60):
        self.server = server
        self.people = people
        self.refused = []
        self.sent = 0
        self._ends = threading.Event()
        self._threads = [threading.Thread(target=self._post, args=(n,)) for n in range(2)]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._ends.set()
        for thread in self._threads:
            thread.join(30)

    def _post(self, backend):
        client = self.server.client()
        sequence = 0
        while not self._ends.is_set():
            sequence += 1
            # Some fall silent and come back.
            people = [n for n in range(self.people) if n % 20 > 3 or sequence % 200 < 100]
            body = ndjson([
                {"responder_id": f"r-{n}", "region": f"g{n % 4}", "circles": [f"c{n % 9}"],
                 "updates": [{"sequence": sequence * 2 + backend, "captured_at": now_ms()}]}
                for n in people[backend::2]])
            answer = client.request("POST", "/v1/batches", body, {"Content-Type": NDJSON})
            self.sent += 1
            if answer.status != 200:
                self.refused.append(answer)
            self._ends.wait(0.04)


class ExportTests(RollcallTestCase):
    def path(self, name):
        return os.path.join(self.directory, name)

    def export(self, server, name, *more, code=0):
        path = self.path(name)
        run("export", "--storage.path", server.store, "--output", path, *more, code=code)
        return path

    def verify(self, path, code=0):
        return run("replay", "--verify", path, code=code).stdout.decode()

    def clean(self, path, *words):
        with open(path, "rb") as file:
            content = file.read()
        for word in (b"Zz9", b"secret", b"whsec", *words):
            self.assertNotIn(word, content)
        return content

    def lines(self, path):
        with open(path, encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    # MARK: live

    def test_a_server_under_load_is_exported_and_does_not_mind(self):
        server = self.serve(SHORT)
        server.write("/v1/responders", {
            "responder_id": "r-1", "push_token": TOKEN, "duty_state": "ON_DUTY"})
        server.write("/v1/silences", {
            "matchers": ["region=g3"], "duration": "1h", "author": "Zz9author",
            "comment": "Zz9comment"})
        with Load(server) as load:
            eventually(lambda: load.sent > 40, 30, "load")
            for turn in range(4):
                path = self.export(server, f"live-{turn}.ndjson")
                report = self.verify(path)
                self.assertTrue(report.startswith("all the same: "), report)
                self.clean(path)
            # Gaps and alerts take their time.
            eventually(lambda: server.scrape().total("rollcall_gaps_total") > 0, 30, "gaps")
            eventually(
                lambda: server.scrape().total("rollcall_gap_verdicts_total") > 0, 60, "verdicts")
            path = self.export(server, "last.ndjson")
        self.assertEqual(load.refused, [])
        self.assertEqual(server.scrape()("rollcall_watching"), 1)
        report = self.verify(path)
        for word in ("transitions", "gap lines", "alert lines"):
            count = int(report.split(f" {word}")[0].split()[-1])
            self.assertGreater(count, 0, report)
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        self.assertEqual(self.lines(path)[-1]["kind"], "end")
        self.assertFalse(os.path.exists(path + ".partial"))
        # What a replay prints is what the turns say.
        printed = run("replay", path).stdout.splitlines()
        told = [
            line for turn in self.lines(path) if turn["kind"] == "turn"
            for line in turn["body"].get("decided", [])]
        self.assertEqual([json.loads(line) for line in printed], told)
        self.assertEqual(server.stop(), 0)
        # The store itself is read alike, and now to its end.
        whole = self.export(server, "stopped.ndjson")
        self.assertEqual(run("replay", server.store).stdout, run("replay", whole).stdout)
        self.verify(server.store)

    def test_crashes_late_turns_and_stops_verify(self):
        server = self.serve(SHORT)
        people = [{"responder_id": f"r-{n}", "region": "north"} for n in range(20)]
        server.write("/v1/batches", people)
        server.write("/v1/heartbeat", {"every_seconds": 1})
        server.kill()
        whole = self.export(server, "killed.ndjson")
        self.verify(whole)
        server.start()
        server.write("/v1/batches", people)
        server.pause()
        eventually(lambda: False or self.slept(11), 20, "eleven seconds")
        server.resume()
        eventually(lambda: server.scrape().total("rollcall_blind_seconds_total") > 5, 20, "blind")
        server.write("/v1/batches", people[:10])
        server.request("PUT", "/v1/responders?shrink=allow", people[:12])
        self.verify(self.export(server, "late.ndjson"))
        self.assertEqual(server.stop(), 0)
        path = self.export(server, "stopped.ndjson")
        self.assertIn("blind lines", self.verify(path))
        kinds = {line["kind"] for line in self.lines(path)}
        self.assertLessEqual({"start", "stop", "policy", "turn", "roster", "heartbeat"}, kinds)
        # A stop left a checkpoint: behind it there is nothing but the end.
        short = self.export(server, "short.ndjson", "--since", "0s")
        self.assertEqual([line["kind"] for line in self.lines(short)][0], "state")
        self.assertTrue(self.verify(short).startswith("all the same: 0 transitions"))
        server.start()
        server.write("/v1/batches", people)
        since = rfc3339(now_ms())
        self.assertEqual(server.stop(), 0)
        part = self.export(server, "part.ndjson", "--since", since)
        self.assertEqual(self.lines(part)[0]["kind"], "state")
        self.verify(part)
        early = self.export(server, "early.ndjson", "--until", since)
        self.assertLessEqual(self.lines(early)[-1]["at"], since)
        self.verify(early)

    def slept(self, seconds):
        threading.Event().wait(seconds)
        return True

    # MARK: differences and errors

    def test_one_decision_that_was_changed_is_shown(self):
        server = self.serve(SHORT)
        server.write("/v1/batches", [{"responder_id": "r-1"}])
        eventually(lambda: server.responder("r-1")["status"] == "OFFLINE", 10, "OFFLINE")
        self.assertEqual(server.stop(), 0)
        self.verify(server.store)
        with sqlite3.connect(server.store) as database:
            # Two bytes of statuses and one of the origin.
            database.execute(
                "UPDATE decisions SET body = x'000201', checksum = NULL"
                " WHERE kind = 1 AND body = x'000101'")
        database.close()
        report = self.verify(server.store, code=1)
        self.assertIn("differs at turn ", report)
        self.assertIn('"to":"UNKNOWN","origin":"deadline"}', report)
        self.assertIn('"to":"DEGRADED","origin":"deadline"}', report)
        self.assertIn("the same before: ", report)

    def test_what_cannot_be_verified_or_exported_is_an_error(self):
        plain = self.path("plain.ndjson")
        with open(plain, "w", encoding="utf-8") as file:
            file.write('{"at":0,"kind":"start"}\n{"at":1,"kind":"end"}\n')
        self.assertIn(b"rollcall export", run("replay", "--verify", plain, code=64).stderr)
        run("replay", "--verify", "--config.file", plain, plain, code=64)
        run("replay", "--verify", "--updates", plain, code=64)
        run("export", "--storage.path", self.path("none.db"), code=64)
        run("export", "--storage.path", plain, code=64)
        run("export", "--storage.path", self.path("none.db"), "--since", "yesterday", code=64)
        server = self.serve()
        self.assertEqual(server.stop(), 0)
        self.export(server, "no/such/directory", code=64)
        run("export", "--storage.path", server.store, "--until", "3000d", code=64)
        run("export", "--storage.path", server.store, "--since", "1h", "--until", "2h", code=64)
        self.assertEqual(
            run("export", "--storage.path", server.store).stdout,
            run("export", "--storage.path", server.store, "--output", "-").stdout)

    def test_an_export_is_whole_once_its_directory_is_durable_too(self):
        server = self.serve()
        self.assertEqual(server.stop(), 0)
        report = self.path("report")
        path = self.path("history.ndjson")
        for number, whose in ((1, path + ".partial"), (2, self.directory)):
            variables = {
                "LD_PRELOAD": self.preloaded("failing_disk"), "DISK_SYNC_FAILS": str(number),
                "DISK_REPORT": report}
            done = subprocess.run(
                [BINARY, "export", "--storage.path", server.store, "--output", path],
                capture_output=True, timeout=60, env={**plain_environment(), **variables})
            self.assertEqual(done.returncode, 64, done.stderr)
            with open(report, encoding="utf-8") as file:
                self.assertEqual(file.read(), whose)
        self.export(server, "history.ndjson")

    def test_nobody_is_exported_while_being_erased(self):
        server = self.serve(SHORT)
        server.write("/v1/batches", [{"responder_id": f"r-{n}"} for n in range(5)])
        server.write("/v1/batches", [{"responder_id": "Zz9marker"}, {"responder_id": "r-1"}])
        # A checkpoint must be complete without them first, so that it waits a moment.
        self.assertEqual(server.request("DELETE", "/v1/responders/Zz9marker").status, 202)
        server.kill()
        pending = sqlite3.connect(f"file:{server.store}?mode=ro", uri=True)
        count = pending.execute(
            "SELECT count(*) FROM erasures WHERE finished_ms = 0").fetchone()[0]
        pending.close()
        if count:
            path = self.export(server, "pending.ndjson", code=75)
            self.assertFalse(os.path.exists(path))
            self.assertFalse(os.path.exists(path + ".partial"))
            self.assertIn(
                b"being erased", run("replay", "--verify", server.store, code=75).stderr)
        server.start()
        eventually(
            lambda: server.scrape()("rollcall_erasures_pending") == 0, 60, "the erasure's end")
        path = self.export(server, "erased.ndjson")
        content = self.clean(path, b"Zz9marker")
        self.assertIn(b'"erased":[', content)
        self.assertIn("people were erased", self.verify(path))


if __name__ == "__main__":
    unittest.main()
