"""Phones as they are: no sequences, ids that are numbers, bodies that come compressed.

Source: P4, P8.
"""

import gzip
import json
import unittest
import zlib

from rollcall_process import NDJSON, RollcallTestCase, now_ms

GZIP = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
LIMIT = 8 << 20


class UnsequencedTests(RollcallTestCase):
    def test_the_capture_identifies_an_update_over_a_kill(self):
        server = self.serve()
        at = now_ms()
        body = {"responder_id": "a", "updates": [{"captured_at": at - 5}, {"captured_at": at}]}
        self.assertEqual(
            server.write("/v1/batches", body)["updates"], {"accepted": 2, "duplicate": 0, "late": 0})
        for again in (False, True):
            if again:
                server.kill()
                server = self.serve()
            verdict = server.write("/v1/batches", body)
            self.assertEqual(verdict["duplicates"], 1)
            self.assertEqual(verdict["updates"], {"accepted": 0, "duplicate": 2, "late": 0})
        body["updates"] = [{"captured_at": at + 1}, {"sequence": 1, "captured_at": at}, {}]
        verdict = server.write("/v1/batches", body)
        self.assertEqual(verdict["updates"], {"accepted": 2, "duplicate": 0, "late": 0})
        self.assertEqual([note["pointer"] for note in verdict["problems"]], ["/updates/2"])

    def test_an_id_that_is_a_number_is_the_same_everywhere(self):
        server = self.serve()
        self.assertEqual(server.write("/v1/batches", {"responder_id": 41})["accepted"], 1)
        fact = {"responder_id": 41, "region": "north", "circles": ["c"]}
        self.assertEqual(server.write("/v1/responders", fact)["accepted"], 1)
        move = {"responder_id": 41, "from": "ONLINE", "to": "OFFLINE"}
        self.assertEqual(server.write("/v1/transitions", move)["accepted"], 1)
        self.assertEqual(server.responder("41")["region"], "north")
        self.assertEqual(server.get("/v1/responders").json()["responders"][0]["responder_id"], "41")
        wake = server.write("/v1/wakes", {"circle": "c", "viewer": 41})
        self.assertEqual(wake["woken"], 0)
        roster = [{"responder_id": 41}, {"responder_id": "42"}]
        answer = server.request("PUT", "/v1/responders", roster)
        self.assertEqual((answer.status, answer.json()["retired"]), (200, 0))
        for value in (4.5, -1, True, 10 ** 19, ["41"]):
            with self.subTest(value):
                self.assertEqual(server.post("/v1/batches", {"responder_id": value}).status, 422)
        self.assertEqual(server.request("DELETE", "/v1/responders/41").status, 202)
        self.assertEqual(server.post("/v1/batches", {"responder_id": 41}).status, 422)


class CompressedTests(RollcallTestCase):
    def post(self, body, server, kind="application/json", coding="gzip"):
        return server.post(
            "/v1/batches", body, {"Content-Type": kind, "Content-Encoding": coding})

    def test_a_compressed_body_is_read_as_what_comes_out(self):
        server = self.serve()
        items = [{"responder_id": f"r-{number}"} for number in range(1000)]
        text = json.dumps(items).encode()
        for coding in ("gzip", "x-gzip", "GZIP"):
            answer = self.post(gzip.compress(text), server, coding=coding)
            self.assertEqual((answer.status, answer.json()["accepted"]), (200, 1000), answer)
        lines = "".join(json.dumps(item) + "\n" for item in items).encode()
        self.assertEqual(self.post(gzip.compress(lines), server, NDJSON).json()["accepted"], 1000)
        # Several members, as whoever appends to a file writes them.
        parts = gzip.compress(lines[:700]) + gzip.compress(b"") + gzip.compress(lines[700:])
        self.assertEqual(self.post(parts, server, NDJSON).json()["accepted"], 1000)
        roster = server.request("PUT", "/v1/responders", gzip.compress(text), GZIP)
        self.assertEqual((roster.status, roster.json()["retired"]), (200, 0))
        beat = server.post("/v1/heartbeat", gzip.compress(b'{"every_seconds":10}'), GZIP)
        self.assertEqual(beat.status, 200)
        self.assertEqual(
            server.scrape()("rollcall_http_requests_total", route="batches", code="200"), 5)

    def test_what_is_not_whole_is_refused_and_changes_nothing(self):
        server = self.serve()
        whole = gzip.compress(b'{"responder_id":"a"}')
        wrong = bytearray(whole)
        wrong[-6] ^= 1
        for body in (b"", whole[:-1], whole[:12], whole + b"\0", whole + b"{}", bytes(wrong),
                     zlib.compress(b'{"responder_id":"a"}'), b'{"responder_id":"a"}'):
            with self.subTest(body):
                answer = self.post(body, server)
                self.assertEqual(answer.status, 400, answer)
                self.assertEqual(answer.json()["status"], 400)
        self.assertEqual(server.get("/v1/responders/a").status, 404)
        self.assertEqual(self.post(whole, server).status, 200)

    def test_the_limit_holds_for_what_comes_out(self):
        server = self.serve()
        item = b'{"responder_id":"a"}'
        fits = gzip.compress(item + b" " * (LIMIT - len(item)))
        self.assertLess(len(fits), 20_000)
        self.assertEqual(self.post(fits, server).status, 200)
        over = gzip.compress(item + b" " * (LIMIT - len(item) + 1))
        self.assertEqual(self.post(over, server).status, 413)
        # 1 GiB in a megabyte, and the same in a hundred members: no more than the limit comes out.
        bomb = gzip.compress(b" " * (1 << 30), 1)
        before = server.scrape()("process_resident_memory_bytes")
        for body in (bomb, gzip.compress(b" " * (10 << 20)) * 100):
            self.assertLess(len(body), LIMIT)
            for _ in range(5):
                self.assertEqual(self.post(body, server).status, 413)
        self.assertLess(server.scrape()("process_resident_memory_bytes") - before, 3 * LIMIT)
        self.assertEqual(self.post(gzip.compress(item), server).status, 200)
        # What was sent has the limit, too.
        self.assertEqual(self.post(b"\x1f\x8b" + b"\0" * LIMIT, server).status, 413)


if __name__ == "__main__":
    unittest.main()
