"""Requests under a name of their own: sent again they do nothing again, whatever died between.

Source: Contract/Journal, S19.
"""

import os
import socket
import subprocess
import threading

from journal_rows import journal_rows
from rollcall_process import BINARY, RollcallTestCase, eventually, plain_environment

SILENCE = {"matchers": ["alertname=HighOfflineRate"], "duration": "2h", "author": "ann",
           "comment": "exercise"}
ROUNDS = int(os.environ.get("ROLLCALL_KILLS", "20"))
# The journal's codes of a silence and of a name.
SILENCE_ROW, NAME_ROW = 28, 40


def rows(server, kind):
    """How many rows of a kind the store holds, read as it stands."""
    return sum(found == kind for found, _ in journal_rows(server.store))


def send_only(port, path, body, name):
    """Sends a request whose answer nobody will read; the socket."""
    raw = body.encode()
    connection = socket.create_connection(("127.0.0.1", port), timeout=10)
    connection.sendall(
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Idempotency-Key: {name}\r\nContent-Length: {len(raw)}\r\n\r\n".encode() + raw)
    return connection


def numbers(server):
    return [one["id"] for one in server.get("/v1/silences").json()["silences"]]


class IdempotencyTests(RollcallTestCase):
    def ask(self, server, body, name, path="/v1/silences"):
        answer = server.post(path, body, {"Idempotency-Key": name})
        return answer, answer.headers.get("idempotent-replayed") == "true"

    def test_a_kill_between_commit_and_answer_makes_no_second_silence(self):
        server = self.serve()
        text = '{"matchers":["alertname=HighOfflineRate"],"duration":"2h","author":"a","comment":"b"}'
        for number in range(1, 4):
            sent = send_only(server.port, "/v1/silences", text, f"k-{number}")
            eventually(lambda: rows(server, SILENCE_ROW) == number, 10, "it is committed", every=0.002)
            server.kill()
            sent.close()
            server.start()
            answer, is_repeat = self.ask(server, text, f"k-{number}")
            self.assertEqual(answer.status, 200, answer)
            self.assertTrue(is_repeat)
            self.assertEqual(answer.json()["silence"]["id"], number)
            self.assertEqual(sorted(numbers(server)), list(range(1, number + 1)))
        self.assertEqual((rows(server, SILENCE_ROW), rows(server, NAME_ROW)), (3, 3))
        self.assertEqual(server.scrape()("rollcall_idempotency_keys_total", outcome="repeated"), 1)
        self.check_export(server)

    def test_whenever_it_is_killed_there_is_one_silence_of_a_name(self):
        server = self.serve()
        text = '{"matchers":["alertname=HighOfflineRate"],"duration":"2h","author":"a","comment":"b"}'
        repeats = 0
        for number in range(1, ROUNDS + 1):
            sent = send_only(server.port, "/v1/silences", text, f"k-{number}")
            # From before it was read until after it was answered.
            threading.Event().wait((number * 7 % 20) / 2000)
            server.kill()
            sent.close()
            server.start()
            answer, is_repeat = self.ask(server, text, f"k-{number}")
            self.assertEqual(answer.status, 200, answer)
            repeats += is_repeat
            self.assertEqual(answer.json()["silence"]["id"], number)
            self.assertEqual(len(numbers(server)), number)
        print(f"    {repeats} of {ROUNDS} had been done when it was killed")
        self.check_export(server)

    def test_names_over_http(self):
        server = self.serve()
        first, is_repeat = self.ask(server, SILENCE, '"a name, quoted"')
        self.assertEqual((first.status, is_repeat), (200, False))
        again, is_repeat = self.ask(server, SILENCE, '"a name, quoted"')
        self.assertEqual((again.body, is_repeat), (first.body, True))
        other, _ = self.ask(server, {**SILENCE, "comment": "another"}, '"a name, quoted"')
        self.assertIn("Idempotency-Key", self.problem(other, 422)["detail"])
        drill, _ = self.ask(server, SILENCE, '"a name, quoted"', "/v1/drill")
        self.problem(drill, 422)
        for bad in ("a b", '"a', "", "k" * 256):
            answer, _ = self.ask(server, SILENCE, bad)
            self.problem(answer, 400)
        for twice in (True, False):
            ended = server.request(
                "DELETE", "/v1/silences/1", headers={"Idempotency-Key": "end"})
            self.assertEqual(ended.status, 200, ended)
        self.assertEqual(ended.headers["idempotent-replayed"], "true")
        # Where a repeat does no harm anyway the field says nothing.
        batch = server.post(
            "/v1/batches", {"responder_id": "r-1"}, {"Idempotency-Key": "a b"})
        self.assertEqual(batch.status, 200, batch)
        self.check_export(server)

    def test_without_names_a_store_holds_none(self):
        """S16, S19: neither in rows nor in a checkpoint's bytes."""
        server = self.serve()
        server.write("/v1/batches", {"responder_id": "r-1"})
        server.write("/v1/silences", SILENCE)
        self.assertEqual(server.stop(), 0)
        self.assertEqual(rows(server, NAME_ROW), 0)

    def check_export(self, server):
        """What is exported replays to what was decided."""
        self.assertEqual(server.stop(), 0)
        path = os.path.join(self.directory, "export.ndjson")
        subprocess.run(
            [BINARY, "export", "--storage.path", server.store, "--output", path], timeout=60,
            check=True, capture_output=True, env=plain_environment())
        verified = subprocess.run(
            [BINARY, "replay", "--verify", path], capture_output=True, text=True, timeout=60,
            env=plain_environment())
        self.assertEqual(verified.returncode, 0, verified.stdout + verified.stderr)
        with open(path, encoding="utf-8") as file:
            self.assertNotIn("k-1", file.read())
        server.start()
