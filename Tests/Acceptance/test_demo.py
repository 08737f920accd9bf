"""`rollcall demo`: a newcomer sees a phone fall silent, be explained, be paged about and come back,
from one command. What it tells is what the server answers, asked here once more.

Source: V6; the README's "See it work in a minute".
"""

import os
import re
import signal
import socket
import subprocess
import threading
import time
import unittest

from rollcall_process import BINARY, Client, RollcallTestCase, Scrape, eventually, plain_environment

ANY_PORT = "127.0.0.1:0"
# The script takes 75 s on an idle machine.
SCRIPT_SECONDS = 150
AFTER_SCRIPT = "That was the script."
HARBOUR = [f"r-{number}" for number in range(35, 41)]


class Demo:
    """The command as a process, its folder for temporary files, and the lines it has printed."""

    def __init__(self, case, *arguments, variables=None):
        self.directory = os.path.join(case.directory, f"demo-{time.monotonic_ns()}")
        os.mkdir(self.directory)
        self.lines = []
        self.errors = os.path.join(case.directory, f"{os.path.basename(self.directory)}.log")
        with open(self.errors, "wb") as log:
            self.process = subprocess.Popen(
                [BINARY, "demo", *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=log, cwd=case.directory,
                # Variables are for real servers.
                env={**plain_environment(), "TMPDIR": self.directory,
                     "ROLLCALL_STORAGE_PATH": "/nonexistent/x.db", **(variables or {})})
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        case.addCleanup(self.close)

    def _read(self):
        for line in self.process.stdout:
            self.lines.append(line.decode("utf-8").rstrip("\n"))

    @property
    def text(self):
        return "\n".join(self.lines)

    def wait_for(self, text, seconds):
        eventually(
            lambda: text in self.text or self.process.poll() is not None, seconds,
            f"{text!r} in {self.text}")
        assert text in self.text, (self.text, self.log())

    def end(self, number=None, seconds=30):
        """The exit code, once it has ended by itself or by a signal."""
        if number is not None:
            self.process.send_signal(number)
        code = self.process.wait(seconds)
        self._reader.join(10)
        return code

    def log(self):
        with open(self.errors, encoding="utf-8") as file:
            return file.read()

    def port(self):
        self.wait_for("/metrics", 30)
        return int(re.search(r"http://127\.0\.0\.1:(\d+)/", self.text).group(1))

    def get(self, target):
        client = Client(self.port())
        try:
            answer = client.request("GET", target)
        finally:
            client.close()
        assert answer.status == 200, answer
        return answer

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(10)
        self._reader.join(10)
        self.process.stdout.close()


class DemoTestCase(RollcallTestCase):
    def assert_nothing_is_left(self, demo):
        self.assertEqual(os.listdir(demo.directory), [])

    def told(self, demo, *texts):
        """Checks that lines with these came, in this order."""
        rest = iter(demo.lines)
        for text in texts:
            self.assertTrue(any(text in line for line in rest), f"{text!r} in\n{demo.text}")


class DemoTests(DemoTestCase):
    def test_a_phone_falls_silent_is_explained_is_paged_about_and_comes_back(self):
        judged = Demo(self, "--once", "--web.listen-address", ANY_PORT)
        demo = Demo(self, "--web.listen-address", ANY_PORT)
        demo.wait_for(AFTER_SCRIPT, SCRIPT_SECONDS)
        self.told(
            demo, "40 of 40 are ONLINE", "r-07: the app is swiped away",
            "r-07 OFFLINE, suspected: app_suspended", "r-07 is nudged",
            "push      to r-07: Open the app", "r-07: the person reads the push",
            "r-07 ONLINE again", "nudge of r-07: located", "r-07 verdict: app_stopped")
        self.told(
            demo, "r-18: somebody revokes", "r-18 OFFLINE, suspected: permission_denied",
            "r-18 ONLINE again", "r-18 verdict: permission_denied")
        self.told(
            demo, "r-29: is in a tunnel", "r-29 OFFLINE, suspected: no_network",
            "r-29 verdict: network")
        self.told(demo, "r-12: goes off duty", "r-12 NOT_EXPECTED", "r-12 has no gap")
        self.told(
            demo, "harbour: the only mast fails", "NoOnlineResponders fires",
            "page      to oncall (critical): Nobody can be reached in harbour, 6 of 6 out of contact",
            "the mast works again", "NoOnlineResponders of harbour is resolved",
            "page      to oncall (critical): Over: harbour")
        self.assertNotIn("NOT SEEN", demo.text)
        self.check_answers(demo)
        self.check_metrics(demo)
        self.check_commands(demo)
        self.assertEqual(demo.end(signal.SIGINT), 0, demo.log())
        self.assertRegex(demo.lines[-1], r"Now with phones of your own: .*rollcall serve")
        self.assert_nothing_is_left(demo)
        self.assertEqual(judged.end(seconds=SCRIPT_SECONDS), 0, judged.text + judged.log())
        self.assertIn("Rollcall said all 26 things", judged.text)
        self.assert_nothing_is_left(judged)

    def check_answers(self, demo):
        """The same by the API."""
        gaps = {}
        for gap in demo.get("/v1/gaps?limit=1000").json()["gaps"]:
            gaps.setdefault(gap["responder_id"], []).append((gap["suspected"], gap["verdict"]))
        self.assertIn(("app_suspended", "app_stopped"), gaps["r-07"])
        self.assertIn(("permission_denied", "permission_denied"), gaps["r-18"])
        self.assertIn(("no_network", "network"), gaps["r-29"])
        for name in HARBOUR:
            self.assertIn("mass_gap", [suspected for suspected, _ in gaps[name]])
        self.assertNotIn("r-12", gaps)
        nudge = demo.get("/v1/nudges?responder_id=r-07").json()["nudges"][-1]
        self.assertEqual(
            (nudge["decision"], nudge["followed"], nudge["push"]["outcome"]),
            ("send", "located", "delivered"))
        incidents = demo.get("/v1/alerts/history?alertname=NoOnlineResponders").json()["incidents"]
        harbour = [i for i in incidents if i["labels"]["region"] == "harbour"][-1]
        self.assertEqual(harbour["state"], "resolved")
        self.assertEqual(
            {(n["receiver"], n["kind"], n["targets"][0]["outcome"]) for n in harbour["notices"]},
            {("oncall", "fired", "delivered"), ("oncall", "resolved", "delivered")})

    def check_metrics(self, demo):
        """The same by the metrics, and the plain page is there."""
        scrape = Scrape(demo.get("/metrics").text)
        for cause, least in (
                ("app_suspended", 1), ("permission_denied", 1), ("no_network", 1), ("mass_gap", 6)):
            self.assertGreaterEqual(scrape.total("rollcall_gaps_total", cause=cause), least)
        for verdict in ("app_stopped", "permission_denied", "network"):
            # The suspicion is graded by what followed it (C3).
            self.assertGreaterEqual(
                scrape.total("rollcall_gap_verdicts_total", verdict=verdict), 1)
        self.assertGreaterEqual(
            scrape.total("rollcall_nudge_outcomes_total", outcome="located"), 1)
        self.assertGreaterEqual(
            scrape("rollcall_notifications_total", receiver="oncall", outcome="delivered"), 2)
        self.assertEqual(
            sum(scrape.all("rollcall_responders_not_expected").values()), 1)
        self.assertIn("Rollcall", demo.get("/").text)

    def check_commands(self, demo):
        """The commands that it names are there, and work as they are named."""
        commands = [line.split("  try       ")[1] for line in demo.lines if "  try       " in line]
        self.assertEqual(len(commands), 7)
        for command in commands:
            outcome = subprocess.run(
                ["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True,
                timeout=30, cwd=self.directory, env=plain_environment())
            self.assertEqual((outcome.returncode, outcome.stderr), (0, ""), command)
            self.assertTrue(outcome.stdout)

    def test_a_store_may_be_kept_and_served(self):
        path = os.path.join(self.directory, "kept.db")
        demo = Demo(self, "--web.listen-address", ANY_PORT, "--storage.path", path)
        demo.wait_for("40 of 40 are ONLINE", 60)
        self.assertEqual(demo.end(signal.SIGTERM), 0, demo.log())
        self.assertIn(f"serve --storage.path {path}", demo.text)
        self.assertIn("The script was not at its end yet.", demo.text)
        self.assert_nothing_is_left(demo)
        server = self.serve(name="kept")
        self.assertEqual(len(server.get("/v1/responders").json()["responders"]), 40)
        server.stop()
        again = Demo(self, "--web.listen-address", ANY_PORT, "--storage.path", path)
        self.assertEqual(again.end(), 64)
        self.assertIn("exists", again.log())

    def test_a_port_that_is_taken_is_told_with_what_to_do(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            demo = Demo(self, "--web.listen-address", address)
            self.assertEqual(demo.end(), 1)
        self.assertEqual(
            demo.log(),
            f"rollcall: {address} is taken, perhaps by another rollcall: choose another place by "
            "--web.listen-address, such as 127.0.0.1:0 for any free port\n")
        self.assertEqual(demo.lines, [])
        self.assert_nothing_is_left(demo)

    def test_it_is_for_this_machine_only(self):
        demo = Demo(self, "--web.listen-address", "0.0.0.0:0")
        self.assertEqual(demo.end(), 64)
        self.assertIn("loopback only", demo.log())

    def test_its_settings_are_good(self):
        printed = subprocess.run(
            [BINARY, "demo", "--print-config"], capture_output=True, timeout=30, check=True).stdout
        check = subprocess.run(
            [BINARY, "check", "-"], input=printed, capture_output=True, timeout=30,
            env=plain_environment())
        self.assertEqual((check.returncode, check.stderr), (0, b""))
        self.assertIn(b"OFFLINE after 8 s", check.stdout)


class MembersDemoTests(DemoTestCase):
    """`--members`: a leader is killed, and another goes on (S1, S8, S12)."""

    def assert_nobody_is_left(self, demo):
        """No process that it started is there any more, nor what they wrote."""
        self.assert_nothing_is_left(demo)
        left = []
        for name in os.listdir("/proc"):
            try:
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    if demo.directory.encode() in file.read():
                        left.append(name)
            except OSError:
                pass
        self.assertEqual(left, [])

    def test_the_leader_is_killed_and_nothing_is_lost(self):
        demo = Demo(self, "--once", "--members", "3", "--web.listen-address", ANY_PORT)
        self.assertEqual(demo.end(seconds=SCRIPT_SECONDS), 0, demo.text + demo.log())
        self.told(
            demo, "members a, b, c share a log in etcd", "newcomers are acknowledged",
            "r-07: the app is swiped away", "is killed (SIGKILL)", "leads now",
            "nothing was acknowledged for", "nothing acknowledged was lost", "r-07 OFFLINE",
            "page      to oncall (critical): Nobody can be reached in harbour", "is started again",
            "follows, ", "every member knows all", "the pager heard of harbour once",
            "Members and etcd end now.")
        killed = re.search(r"member (.) leads, and is killed", demo.text).group(1)
        after = re.search(r"member (.) leads now", demo.text).group(1)
        self.assertNotEqual(killed, after)
        # Whoever leads was not heard of for this long, so it cannot have been quicker.
        self.assertRegex(demo.text, r"nothing was acknowledged for [1-9][0-9]*\.[0-9] s")
        self.assertNotIn("NOT SEEN", demo.text)
        self.assert_nobody_is_left(demo)

    def test_a_signal_ends_all_that_it_started(self):
        demo = Demo(self, "--members", "2", "--web.listen-address", ANY_PORT)
        demo.wait_for("leads, at", 60)
        self.assertEqual(demo.end(signal.SIGTERM), 0, demo.log())
        self.assertIn("The story was not at its end yet.", demo.text)
        self.assert_nobody_is_left(demo)

    def test_what_is_refused(self):
        for arguments, code, words in (
                (("--members", "5"), 64, "--members: 2 or 3 expected (5)"),
                (("--members", "3", "--storage.path", "x.db"), 64,
                 "--storage.path: with --members each has a store of its own")):
            demo = Demo(self, *arguments)
            self.assertEqual(demo.end(), code)
            self.assertIn(words, demo.log())
        demo = Demo(self, "--members", "3", "--web.listen-address", ANY_PORT,
                    variables={"PATH": "/nonexistent"})
        self.assertEqual(demo.end(), 69)
        self.assertEqual(
            demo.log(),
            "rollcall: etcd is not installed, in which several members share their log: apt install "
            "etcd-server, or put the program etcd into a folder of PATH\n")
        self.assert_nothing_is_left(demo)

    def test_its_settings_are_good(self):
        printed = subprocess.run(
            [BINARY, "demo", "--members", "3", "--print-config"], capture_output=True, timeout=30,
            check=True).stdout
        check = subprocess.run(
            [BINARY, "check", "-"], input=printed, capture_output=True, timeout=30,
            env=plain_environment())
        self.assertEqual((check.returncode, check.stderr), (0, b""))
        self.assertIn(b"It is member a of a watch", check.stdout)


if __name__ == "__main__":
    unittest.main()
