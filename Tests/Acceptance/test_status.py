"""The fleet's last hours, over restarts and crashes, and what a terminal is told of everything.

Source: J6, J7, §2, §9.
"""

import fcntl
import json
import os
import pty
import struct
import subprocess
import termios
import time
import unittest

from rollcall_process import (
    BINARY, RollcallTestCase, eventually, milliseconds, now_ms, plain_environment, rfc3339)


class StatusHistoryTests(RollcallTestCase):
    """`GET /v1/status/history`: counts by the minute, and when nobody was watching."""

    def history(self, server, query=""):
        answer = server.get(f"/v1/status/history{query}")
        self.assertEqual(answer.status, 200, answer)
        return answer.json()

    def test_counts_and_windows_survive_a_crash_and_a_stop(self):
        server = self.serve()
        server.write("/v1/batches", [{"responder_id": "a"}, {"responder_id": "b"}])
        began = now_ms()
        first = self.history(server)
        self.assertIn(len(first["samples"]), (1, 2))
        self.assertEqual(first["blind"], [])
        self.assertEqual((first["step_seconds"], first["truncated"]), (300, False))
        self.assertEqual(
            milliseconds(first["until"]) - milliseconds(first["since"]), 12 * 3_600_000)
        server.kill()
        # What is shorter than a second is not told, and less than ten apart is one window (D5).
        time.sleep(1.2)
        server.start()
        self.assertEqual(server.stop(), 0)
        time.sleep(1.2)
        server.start()
        after = self.history(server)
        self.assertEqual([w["reason"] for w in after["blind"]], ["stopped"])
        ends = [milliseconds(t) for w in after["blind"] for t in (w["since"], w["until"])]
        self.assertEqual(ends, sorted(ends))
        self.assertLessEqual(began - 1000, ends[0])
        self.assertLessEqual(ends[-1], now_ms() + 1000)
        # The minute's row was taken again after each start: both are still waited for.
        self.assertEqual(sum(after["samples"][-1][word] for word in (
            "UNKNOWN", "ONLINE", "DEGRADED", "OFFLINE")), 2)
        self.assertEqual(self.history(server, "?step=1d")["step_seconds"], 86400)
        past = rfc3339(now_ms() - 24 * 3_600_000)
        self.assertEqual(self.history(server, f"?until={past}")["samples"], [])

    def test_what_is_not_seen_is_not_counted(self):
        server = self.serve()
        server.write("/v1/heartbeat?source=pod-1", {"every_seconds": 1})
        server.write("/v1/batches?source=pod-1", {"responder_id": "a"})
        eventually(
            lambda: not server.get("/v1/status").json()["watching"], 10, "a missing source")
        blind = self.history(server)["blind"]
        self.assertEqual([(w["reason"], w["until"]) for w in blind], [("heartbeat", None)])
        server.write("/v1/heartbeat?source=pod-1", {"every_seconds": 60})
        server.write("/v1/batches?source=pod-1", {"responder_id": "a"})
        window = self.history(server)["blind"][0]
        self.assertEqual(window["since"], blind[0]["since"])
        self.assertGreater(window["until"], window["since"])

    def test_too_much_at_once_is_refused_with_a_reason(self):
        server = self.serve()
        for query in ("step=30s", "step=2d", "step=x", "since=x", "limit=3",
                      "since=2026-11-22T00:00:00Z&until=2026-11-22T00:00:00Z"):
            self.problem(server.get(f"/v1/status/history?{query}"), 400)
        now = now_ms()
        for minutes, status in ((1500, 200), (1501, 400)):
            answer = server.get(
                f"/v1/status/history?since={now - minutes * 60_000}&until={now}&step=1m")
            self.assertEqual(answer.status, status)
        self.assertIn("1501 steps are too many, at most 1500", answer.json()["detail"])


class StatusCommandTests(RollcallTestCase):
    """`rollcall status`, and what all commands have in common on a terminal."""

    CONFIG = """
liveness:
  on_duty: {expected: 100ms, degraded_after: 500ms, offline_after: 1s}
coverage: {regions: [harbour]}
alerts: {NoOnlineResponders: {for: 0s}}
"""

    def run_binary(self, *arguments, code=0, **variables):
        outcome = subprocess.run(
            [BINARY, *arguments], capture_output=True, text=True, timeout=60,
            env={**plain_environment(), **variables}, cwd=self.directory)
        self.assertEqual(outcome.returncode, code, outcome.stderr)
        return outcome.stdout, outcome.stderr

    def on_terminal(self, columns, *arguments, **variables):
        """What a terminal of so many columns gets."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        process = subprocess.Popen(
            [BINARY, *arguments], stdin=subprocess.DEVNULL, stdout=theirs,
            stderr=subprocess.DEVNULL, cwd=self.directory,
            env={**plain_environment(), "TERM": "xterm", **variables})
        os.close(theirs)
        text = b""
        try:
            while chunk := os.read(ours, 65536):
                text += chunk
        except OSError:
            # So a terminal tells that nobody has it open any more.
            pass
        os.close(ours)
        self.assertEqual(process.wait(30), 0)
        return text.decode().replace("\r\n", "\n")

    def test_everything_that_matters_is_on_one_page(self):
        server = self.serve(self.CONFIG)
        at = {"ROLLCALL_SERVER": f"http://127.0.0.1:{server.port}"}
        self.assertIn("Nobody is silent.\n", self.run_binary("status", **at)[0])
        ids = [f"r-{number}" for number in range(14)]
        server.write("/v1/batches", [
            {"responder_id": name, "region": "north", "platform": "ios",
             "telemetry": {"app_state": "background", "network_type": "none"}} for name in ids])
        eventually(
            lambda: len(server.get("/v1/gaps?state=open").json()["gaps"]) == 14, 10, "all OFFLINE")
        text, _ = self.run_binary("status", **at)
        self.assertRegex(text, r"(?m)^Watching\. As of .* UTC; last batch ")
        self.assertRegex(text, r"north +14 +0 +0 +0 +14 +0\n")
        self.assertRegex(text, r"harbour \* +0 +0 +0 +0 +0 +0\n")
        self.assertIn("14 silent, the newest first\n", text)
        self.assertEqual(text.count("in north, ios: last seen "), 10)
        self.assertIn("and 4 more: --limit shows more here", text)
        self.assertIn("because the phone had said that it has no network.", text)
        self.assertIn("FIRING NoOnlineResponders (critical) since ", text)
        self.assertRegex(text, r"\nRollcall \S+, started ")
        whole, _ = self.run_binary("status", "--limit", "14", **at)
        self.assertEqual(whole.count("in north, ios: last seen "), 14)
        told = json.loads(self.run_binary("status", "--json", "--limit", "3", **at)[0])
        self.assertEqual((len(told["silent"]), told["truncated"]), (3, True))
        self.assertEqual(told["status"]["responders"]["OFFLINE"], 14)
        self.assertEqual([r["region"] for r in told["regions"]], ["harbour", "north"])
        # One source of words.
        gap = server.get("/v1/gaps?state=open&limit=1").json()["gaps"][0]
        self.assertIn(gap["text"], " ".join(whole.split()))
        self.run_binary("status", "--limit", "0", code=64, **at)
        self.run_binary("status", "--server", "http://127.0.0.1:1", code=69)
        _, error = self.run_binary("status", "--server", f"{at['ROLLCALL_SERVER']}/x", code=1)
        self.assertIn("or no Rollcall", error)

    def test_blindness_comes_first(self):
        server = self.serve()
        server.write("/v1/batches?source=pod-1", {"responder_id": "a"})
        server.write("/v1/heartbeat?source=pod-1", {"every_seconds": 1})
        eventually(
            lambda: not server.get("/v1/status").json()["watching"], 10, "a missing source")
        text, _ = self.run_binary("status", "--server", f"http://127.0.0.1:{server.port}")
        self.assertRegex(text, r"(?m)^NOT WATCHING since ")
        self.assertIn("heartbeats stayed away. Everything below is what was last known.",
                      " ".join(text.split()))
        self.assertNotIn("Watching.", text)
        self.assertIn("0 of 1 source beating; pod-1 DOWN, last beat ", " ".join(text.split()))

    def test_a_terminal_gets_its_width_and_colours_unless_it_wants_none(self):
        server = self.serve(self.CONFIG)
        at = {"ROLLCALL_SERVER": f"http://127.0.0.1:{server.port}"}
        server.write("/v1/batches", {"responder_id": "r" * 60, "region": "n" * 60})
        eventually(lambda: server.get("/v1/gaps?state=open").json()["gaps"], 10, "it is OFFLINE")
        server.write("/v1/silences", {
            "matchers": ["region=x"], "duration": "1h", "author": "kim", "comment": "c" * 100})
        for command in (("status",), ("gaps",), ("silence", "list")):
            with self.subTest(command):
                loud = self.on_terminal(100, *command, **at)
                self.assertIn("\x1b[1m", loud)
                for plain in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
                    text = self.on_terminal(100, *command, **at, **plain)
                    self.assertNotIn("\x1b", text)
                    self.assertLessEqual(max(map(len, text.splitlines())), 100)
                self.assertNotIn("\x1b", self.run_binary(*command, **at)[0])
        narrow = self.on_terminal(50, "status", **at, NO_COLOR="1")
        self.assertNotIn("not expected\n", narrow)
        names = [line for line in narrow.splitlines() if "r" * 60 in line or "n" * 60 in line]
        for line in narrow.splitlines():
            self.assertTrue(len(line) <= 50 or line in names, line)

    def test_what_a_file_says_cannot_steer_a_terminal(self):
        def write(name, text):
            with open(os.path.join(self.directory, name), "w", encoding="utf-8") as file:
                file.write(text)
        write("named.yml", 'coverage: {regions: ["\\e[2Jx\\u009by"]}\n')
        write("unknown.yml", '"\\e[2Jx": 1\n')
        shown = self.run_binary("check", "named.yml")[0]
        self.assertIn(r"Must always be staffed: \u{1B}[2Jx\u{9B}y.", shown)
        wrong = self.run_binary("check", "unknown.yml", code=64)[1]
        self.assertIn(r"line 1: \u{1B}[2Jx: unknown setting", wrong)
        for arguments in (("check", "\x1b[2J"), ("replay", "\x1b[2J"), ("tune", "\x1b[2J"),
                          ("export", "--storage.path", "\x1b[2J"), ("manifest", "\x1b[2J")):
            with self.subTest(arguments):
                _, error = self.run_binary(*arguments, code=64)
                self.assertNotIn("\x1b", error)

    def test_json_is_to_be_had_where_somebody_counts(self):
        with open(os.path.join(self.directory, "a.yml"), "w", encoding="utf-8") as file:
            file.write("storage: {path: ./x.db, retention: 1d}\n")
        told = json.loads(self.run_binary("check", "a.yml", "--json", ROLLCALL_STORAGE_PATH="y")[0])
        self.assertEqual(
            told["variables"], [{"variable": "ROLLCALL_STORAGE_PATH", "setting": "storage.path"}])
        self.assertEqual([weak["setting"] for weak in told["weak"]], ["storage.retention"])
        self.assertTrue(told["meaning"] and told["warnings"] == [])
        size = ("--responders", "5", "--for", "30m", "--json")
        made = json.loads(self.run_binary("simulate", *size, "--store", "s.db")[0])
        self.assertEqual((made["written"], made["responders"]), ("s.db", 5))
        self.run_binary("simulate", *size, "--output", "-", code=64)
        same = json.loads(self.run_binary("replay", "--verify", "--json", "s.db")[0])
        self.assertEqual((same["same"], same["difference"]), (True, None))
        self.assertGreater(same["decisions"]["transitions"], 0)
        self.run_binary("replay", "--json", "s.db", code=64)
        # A made-up history has its counts by the minute too.
        server = self.serve(name="s")
        history = server.get("/v1/status/history?step=1m").json()
        self.assertGreater(len(history["samples"]), 25)
        self.assertEqual([w["reason"] for w in history["blind"]], ["stopped"])


if __name__ == "__main__":
    unittest.main()
