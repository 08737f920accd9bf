"""Thirty days of ten thousand people: how long history takes to answer, and what the keeper does
meanwhile. Only with `ROLLCALL_HISTORY=1`, and of use with a release build only.

The past is put into the store's tables from outside, as the server would have written it: one and
a half million gaps with their decisions, and a row of dark time a day and person.

Source: J8, §9.
"""

import os
import random
import sqlite3
import statistics
import threading
import time
import unittest

from rollcall_process import NDJSON, Client, RollcallTestCase, eventually, ndjson, now_ms

PEOPLE = 10_000
DAYS = 30
GAPS = 1_500_000
ROUNDS = 100
BUSY = "r-7"
DAY_MS = 86_400_000
REGIONS = [f"region-{number}".encode() for number in range(32)]
SHORT = "liveness: {on_duty: {expected: 20ms, degraded_after: 50ms, offline_after: 100ms}}"


def varint(value):
    """Seven bits a byte, low bits first."""
    written = bytearray()
    while value >= 0x80:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)


def after_varints(body, count):
    """What stands behind so many of them."""
    at = 0
    for _ in range(count):
        while body[at] >= 0x80:
            at += 1
        at += 1
    return body[at:]


class Past:
    """Gaps by number, as the store holds them."""

    def __init__(self, sample, now, turn):
        self.rest = after_varints(sample, 10)
        self.random = random.Random(17)
        self.now = now
        self.turn = turn

    def gap(self, number):
        """A row of the table."""
        opened = self.now - DAYS * DAY_MS + DAYS * DAY_MS * number // (GAPS + 1)
        length = 60_000 + self.random.randrange(3_600_000)
        cause = self.random.choice((0, 2, 4, 6, 6, 6, 7, 9))
        verdict = self.random.choice((0, 3, 3, 4, 5, 6))
        platform = 1 + number % 2
        fields = (3, number, cause, cause, verdict, opened, opened + 90_000, opened + length,
                  length, 0)
        body = b"".join(varint(field << 1) for field in fields) + self.rest
        return (
            number, 1 + number * 7919 % PEOPLE,
            cause | verdict + 1 << 8 | platform << 16 | (number % 20 == 0) << 24 | length << 25,
            REGIONS[number % 32], opened, opened + length, self.turn, self.turn, body)


class HistorySizeTests(RollcallTestCase):
    @unittest.skipUnless(os.environ.get("ROLLCALL_HISTORY"), "ROLLCALL_HISTORY is not set")
    def test_each_answer_comes_within_a_second_and_no_turn_takes_20_ms_for_it(self):
        server = self.serve("storage: {size: 64GiB}\n")
        self.enrol(server)
        server.kill()
        self.write_past(server.store, self.sample())
        began = time.monotonic()
        server.start()
        print(f"\nstart {time.monotonic() - began:.1f} s, "
              f"store {os.path.getsize(server.store) >> 20} MiB", flush=True)
        self.assertEqual(server.stop(60), 0)
        server.start()
        slow = self.measure(server)
        self.assertEqual(slow, [])

    def sample(self):
        """What a real gap looks like in the store."""
        short = self.serve(SHORT, name="short")
        short.write("/v1/batches", {
            "responder_id": "a", "platform": "ios", "region": "region-0",
            "telemetry": {"app_state": "background"}, "updates": [
                {"sequence": 1, "captured_at": now_ms()}]})
        eventually(lambda: short.get("/v1/gaps").json()["gaps"], 10, "a gap")
        short.write("/v1/responders", {"responder_id": "a", "duty_state": "OFF_DUTY"})
        eventually(lambda: short.get("/v1/gaps?state=closed").json()["gaps"], 10, "its end")
        self.assertEqual(short.stop(), 0)
        with sqlite3.connect(short.store) as store:
            return store.execute("SELECT body FROM gaps").fetchone()[0]

    def enrol(self, server):
        """Everybody, and so many batches that a person's are far from each other."""
        client = Client(server.port, timeout=60)
        sequence = 0
        for round_ in range(ROUNDS):
            items = []
            for number in range(PEOPLE):
                items.append({
                    "responder_id": f"r-{number}", "region": f"region-{number % 32}",
                    "platform": "ios", "duty_state": "ON_DUTY",
                    "updates": [{"sequence": round_, "captured_at": now_ms()}]})
                if number % 24 == 0:
                    sequence += 1
                    items.append({
                        "responder_id": BUSY, "telemetry": {"app_state": "background"},
                        "updates": [{"sequence": 1_000_000 + sequence, "captured_at": now_ms()}]})
            for first in range(0, len(items), 5000):
                answer = client.request(
                    "POST", "/v1/batches", ndjson(items[first:first + 5000]),
                    {"Content-Type": NDJSON})
                self.assertEqual(answer.status, 200, answer)
        client.close()

    def write_past(self, path, sample):
        """Gaps, their decisions behind each other, and dark time."""
        store = sqlite3.connect(path, isolation_level=None)
        turn = store.execute("SELECT max(number) FROM turns").fetchone()[0]
        decision = store.execute("SELECT max(id) FROM decisions").fetchone()[0]
        last = dict(store.execute(
            "SELECT responder, max(id) FROM decisions WHERE responder > 0 GROUP BY responder"))
        past = Past(sample, now_ms(), turn)
        store.execute("PRAGMA synchronous = OFF")
        store.execute("BEGIN")
        decisions = []
        for number in range(1, GAPS + 1):
            row = past.gap(number)
            store.execute(f"INSERT INTO gaps VALUES({','.join('?' * 9)},NULL)", row)
            for at in (row[4], row[4] + 90_000, row[5], row[5] + 120_000):
                decision += 1
                decisions.append((
                    decision, turn, 3, row[1], last.get(row[1], 0), at, row[8]))
                last[row[1]] = decision
            if len(decisions) >= 100_000 or number == GAPS:
                store.executemany("INSERT INTO decisions VALUES(?,?,?,?,?,?,?,NULL)", decisions)
                decisions = []
        today = now_ms() // DAY_MS
        store.executemany("INSERT INTO dark VALUES(?,?,?,?,?,?,NULL)", (
            (day, person, 1 + person % 2, 60_000 * (person % 60), 50_000, REGIONS[person % 32])
            for day in range(today - DAYS + 1, today + 1) for person in range(1, PEOPLE + 1)))
        store.execute("COMMIT")
        store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        store.close()

    def processor_seconds(self, server):
        """What the process has used so far: what others use of the machine is not in it."""
        with open(f"/proc/{server.process.pid}/stat", encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def turns(self, server):
        """Turns so far, and those of them within 20 ms."""
        scrape = server.scrape()
        return (scrape("rollcall_turn_duration_seconds_count"),
                scrape("rollcall_turn_duration_seconds_bucket", le="0.02"))

    def measure(self, server):
        """Asks while phones report; returns what was too slow."""
        begun = now_ms() - DAYS * DAY_MS
        targets = [
            "/v1/gaps", "/v1/gaps?limit=1000", "/v1/gaps?state=open",
            f"/v1/gaps?since={begun + 9 * DAY_MS}&until={begun + 10 * DAY_MS}&limit=1000",
            "/v1/gaps?responder=r-4711&limit=1000", "/v1/gaps?verdict=permission_denied",
            "/v1/gaps?by=cause,verdict", "/v1/gaps?by=region,platform",
            f"/v1/gaps?by=cause&since={begun + 23 * DAY_MS}",
            f"/v1/responders/{BUSY}/timeline", f"/v1/responders/{BUSY}/timeline?limit=1000",
            f"/v1/responders/{BUSY}/timeline?contacts=false",
            "/v1/responders/r-4711/timeline?limit=1000",
            "/v1/dark", "/v1/dark?by=region,day", "/v1/dark?by=responder&limit=1000",
            "/v1/dark?by=day&responder=r-4711",
        ]
        ended = threading.Event()
        reports = threading.Thread(target=self.report, args=(server.port, ended))
        reports.start()
        slow = []
        try:
            time.sleep(3)
            quiet = self.turns(server)
            time.sleep(5)
            before = self.turns(server)
            self.tell("quiet", quiet, before)
            for target in targets:
                seconds = []
                used = self.processor_seconds(server)
                for _ in range(5):
                    start = time.monotonic()
                    answer = server.get(target)
                    seconds.append(time.monotonic() - start)
                    self.assertEqual(answer.status, 200, answer)
                used = (self.processor_seconds(server) - used) / 5
                said = answer.json()
                rows = next(said[name] for name in ("gaps", "rows", "events") if name in said)
                count = rows if isinstance(rows, int) else len(rows)
                print(f"{statistics.median(seconds) * 1000:7.0f} ms, longest "
                      f"{max(seconds) * 1000:5.0f} ms, processor {used * 1000:4.0f} ms, "
                      f"{count:7} of {target}"
                      f"{' truncated' if said.get('truncated') else ''}", flush=True)
                if max(seconds) > 1:
                    slow.append(target)
            after = self.turns(server)
            self.tell("asked", before, after)
        finally:
            ended.set()
            reports.join()
        return slow

    def tell(self, word, before, after):
        turns, good = (b - a for a, b in zip(before, after))
        print(f"{word}: {turns:.0f} turns, {turns - good:.0f} of them beyond 20 ms", flush=True)

    def report(self, port, ended):
        """A hundred batches a second."""
        client = Client(port, timeout=60)
        count = 0
        while not ended.wait(0.01):
            count += 1
            client.request("POST", "/v1/batches", {
                "responder_id": f"r-{count % PEOPLE}", "updates": [
                    {"sequence": 2_000_000 + count, "captured_at": now_ms()}]})
        client.close()


if __name__ == "__main__":
    unittest.main()
