"""History is packed while the server works, and nobody can tell: not over kills, in an export, in
somebody's timeline, or after an erasure.

Source: J12, J3, I11.

    ROLLCALL_SEED   for what is sent and when it is killed; printed by a test that fails
    ROLLCALL_KILLS  so many kills instead of ten
"""

import json
import os
import random
import sqlite3
import time

from rollcall_process import NDJSON, RollcallTestCase, eventually, ndjson, now_ms
from test_export import run

SEED = int(os.environ.get("ROLLCALL_SEED", str(random.SystemRandom().randrange(1 << 32))))
KILLS = int(os.environ.get("ROLLCALL_KILLS", "10"))
PEOPLE = 500
# Twice what is worth a segment.
ROUNDS = 70


class PackingTests(RollcallTestCase):
    def setUp(self):
        super().setUp()
        self.random = random.Random(SEED)
        self.rounds = 0

    def send(self, server, rounds):
        """Reports of everybody, each acknowledged."""
        for _ in range(rounds):
            self.rounds += 1
            verdict = server.write("/v1/batches", ndjson([self.report(n) for n in range(PEOPLE)]),
                                   {"Content-Type": NDJSON})
            self.assertEqual(verdict["updates"]["accepted"], PEOPLE, f"seed {SEED}")

    def report(self, number):
        update = {"sequence": self.rounds, "captured_at": now_ms() - self.random.randrange(2000)}
        return {
            "responder_id": f"person-{number:05}", "region": f"g{number % 4}", "install_id": f"i-{number}",
            "battery_level": self.random.randrange(100) / 100, "updates": [update],
            "telemetry": {"queue_depth": self.random.randrange(3), "permission_status": "granted"}}

    def look(self, server, sql):
        connection = sqlite3.connect(f"file:{server.store}?mode=ro", uri=True)
        try:
            return connection.execute(sql).fetchone()[0]
        finally:
            connection.close()

    def reports(self, server):
        """What an export has of each person: their sequences, in order."""
        path = os.path.join(self.directory, "export.ndjson")
        run("export", "--storage.path", server.store, "--output", path)
        found = {}
        with open(path, encoding="utf-8") as file:
            for line in file:
                event = json.loads(line)
                if event["kind"] != "batch":
                    continue
                body = event["body"]
                for item in body if isinstance(body, list) else [body]:
                    # Of somebody who was erased nothing is said.
                    if "updates" in item:
                        found.setdefault(item["responder_id"], []).extend(
                            update["sequence"] for update in item["updates"])
        os.unlink(path)
        return found

    def is_packed(self, server):
        """True once nothing that can be packed is left."""
        last = self.look(server, "SELECT max(last_turn) FROM segments WHERE state = 1")
        return last is not None and last == self.look(
            server, "SELECT max(turn) FROM checkpoints WHERE state = 1 AND turn < "
            "(SELECT max(turn) FROM checkpoints WHERE state = 1)"
        ) and self.look(server, "SELECT min(number) FROM turns") == last + 1 and self.look(
            server, "SELECT min(id) FROM journal") > self.look(
                server, "SELECT max(last_row) FROM segments")

    def test_what_is_packed_is_all_there_over_kills_and_goes_with_an_erasure(self):
        server = self.serve()
        for _ in range(2):
            # A stop in order leaves a checkpoint.
            self.send(server, ROUNDS)
            self.assertEqual(server.stop(), 0)
            server.start()
        for _ in range(KILLS):
            time.sleep(self.random.random() * 0.2)
            server.kill()
            server.start()
            self.send(server, 1)
        eventually(lambda: self.is_packed(server), 60, "everything is packed")
        expected = {f"person-{n:05}": list(range(1, self.rounds + 1)) for n in range(PEOPLE)}
        self.assertEqual(self.reports(server), expected, f"seed {SEED}")
        # A person's walk goes from what was just said to what was said first.
        contacts = [event for page in self.timeline(server, "person-00123") for event in page
                    if event["kind"] == "contact"]
        self.assertEqual(len(contacts), self.rounds, f"seed {SEED}")
        rows = self.look(server, "SELECT max(last_row) FROM segments")
        packed = self.look(server, "SELECT sum(length(body)) FROM blocks")
        self.assertLess(packed / rows, 40, "bytes a row")
        self.erase(server, "person-00123")
        del expected["person-00123"]
        server.kill()
        server.start()
        self.assertEqual(self.reports(server), expected, f"seed {SEED}")
        self.assertEqual(server.scrape()("rollcall_refold_differences_total"), 0, f"seed {SEED}")
        server.stop()
        run("backup", "--storage.path", server.store, os.path.join(self.directory, "copy.db"))

    def timeline(self, server, person):
        cursor = ""
        while cursor is not None:
            page = server.get(f"/v1/responders/{person}/timeline?limit=100{cursor}").json()
            yield page["events"]
            cursor = page["next"] and f"&after={page['next']}"

    def erase(self, server, person):
        answer = server.request("DELETE", f"/v1/responders/{person}")
        self.assertIn(answer.status, (200, 202))
        eventually(
            lambda: self.look(server, "SELECT min(finished_ms) FROM erasures"), 60,
            "the erasure is over")
        for ending in ("", "-wal"):
            with open(server.store + ending, "rb") as file:
                self.assertNotIn(person.encode(), file.read(), ending)
