"""A made-up fleet: as a file, as a store, and against a running server.

Source: V6, `rollcall simulate`.
"""

import json
import os
import signal
import subprocess
import time
import unittest

from rollcall_process import BINARY, RollcallTestCase, eventually, milliseconds, plain_environment


class SimulateTests(RollcallTestCase):
    def simulate(self, *arguments, code=0):
        """Runs it to its end; standard output and standard error."""
        outcome = subprocess.run(
            [BINARY, "simulate", *arguments], capture_output=True, text=True, timeout=120,
            env=plain_environment(), cwd=self.directory)
        self.assertEqual(outcome.returncode, code, outcome.stderr)
        return outcome.stdout, outcome.stderr

    def begin(self, server, *arguments, variables=None):
        """Starts a fleet that reports to `server`."""
        process = subprocess.Popen(
            [BINARY, "simulate", "--target", f"http://127.0.0.1:{server.port}", "--json",
             *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.directory,
            env={**plain_environment(), **(variables or {})})
        self.addCleanup(self.end, process)
        return process

    def end(self, process):
        if process.poll() is None:
            process.kill()
        process.wait(10)
        process.stdout.close()
        process.stderr.close()

    def summary(self, process, seconds=90):
        out, err = process.communicate(timeout=seconds)
        self.assertEqual(process.returncode, 0, err)
        return json.loads(out)

    def path(self, name):
        return os.path.join(self.directory, name)

    def fast(self):
        """Settings for a fleet that lives sixty times faster than the clock."""
        return self.simulate("--print-config", "--speed", "60x")[0]

    def test_a_file_is_the_same_bytes_and_replays(self):
        size = ("--responders", "40", "--for", "90m", "--seed", "7")
        self.simulate(*size, "--output", "a.ndjson", "--truth", "a.truth")
        piped, _ = self.simulate(*size, "--output", "-")
        with open(self.path("a.ndjson"), encoding="utf-8") as file:
            text = file.read()
        self.assertEqual(text, piped)
        lines = [json.loads(line) for line in text.splitlines()]
        self.assertEqual((lines[0]["kind"], lines[-1]["kind"]), ("start", "end"))
        self.assertEqual([line["at"] for line in lines], sorted(line["at"] for line in lines))
        outcome = subprocess.run(
            [BINARY, "replay", "a.ndjson"], capture_output=True, text=True, timeout=60,
            cwd=self.directory)
        self.assertEqual((outcome.returncode, outcome.stderr), (0, ""))
        self.assertIn('"kind":"gap"', outcome.stdout)
        with open(self.path("a.truth"), encoding="utf-8") as file:
            truth = [json.loads(line) for line in file]
        self.assertGreater(len(truth), 20)
        self.assertEqual([one["from"] for one in truth], sorted(one["from"] for one in truth))
        self.assertEqual(
            list(truth[0]), ["responder_id", "region", "platform", "cause", "from", "to", "heals",
                             "told"])
        with open(self.path("slow.yaml"), "w", encoding="utf-8") as file:
            file.write("liveness: {on_duty: {degraded_after: 100m, offline_after: 101m}}\n")
        decided, _ = self.simulate(*size, "--output", "-", "--config.file", "slow.yaml")
        self.assertEqual(json.loads(decided.splitlines()[1])["kind"], "policy")
        self.assertEqual(decided.splitlines()[2:], text.splitlines()[1:])
        _, complaint = self.simulate(*size, "--output", "a.ndjson", code=64)
        self.assertIn("is there already", complaint)

    def test_a_store_is_served(self):
        server = self.rollcall()
        self.simulate(
            "--responders", "60", "--for", "3h", "--store", server.store, "--truth", "truth")
        server.start()
        self.addCleanup(server.close)
        self.assertEqual(server.scrape()("rollcall_refold_differences_total"), 0)
        gaps = server.get("/v1/gaps?limit=1000").json()["gaps"]
        with open(self.path("truth"), encoding="utf-8") as file:
            truth = [json.loads(line) for line in file]
        # Every gap that counted is a silence of the truth.
        for gap in gaps:
            opened = milliseconds(gap["opened_at"])
            self.assertTrue(
                any(one["responder_id"] == gap["responder_id"]
                    and milliseconds(one["from"]) <= opened <= milliseconds(one["to"]) + 1000
                    for one in truth), gap)
        self.assertGreater(len(gaps), 10)
        address = f"http://127.0.0.1:{server.port}"
        for question in (["gaps", "--by", "cause"], ["explain", gaps[0]["responder_id"]]):
            outcome = subprocess.run(
                [BINARY, *question, "--server", address], capture_output=True, text=True,
                timeout=30, env=plain_environment())
            self.assertEqual((outcome.returncode, outcome.stderr), (0, ""))
        _, complaint = self.simulate("--store", server.store, code=64)
        self.assertIn("is there already", complaint)

    def test_a_fast_fleet_reports_to_a_server(self):
        server = self.serve(self.fast())
        fleet = self.begin(
            server, "--responders", "80", "--for", "20m", "--speed", "60x", "--truth", "truth")
        seen = set()
        while fleet.poll() is None:
            page = server.scrape()
            seen.add(int(page("responders_by_status", status="OFFLINE")))
            time.sleep(0.2)
        summary = self.summary(fleet)
        page = server.scrape()
        self.assertEqual((summary["rejected"], summary["unsent"]), (0, 0))
        self.assertEqual(summary["batches"], page("rollcall_batches_total"))
        self.assertEqual(page.total("rollcall_rejected_items_total"), 0)
        self.assertGreater(summary["batches"], 1000)
        self.assertGreater(sum(summary["silences"].values()), 10)
        self.assertGreater(page.total("status_transitions_total", to="OFFLINE"), 5)
        # Some of them came back.
        self.assertGreater(
            page("status_transitions_total", **{"from": "OFFLINE"}, to="ONLINE"), 0)
        self.assertGreater(max(seen), 0)

    def test_a_restart_in_the_middle_loses_nothing(self):
        server = self.serve(self.fast())
        server.address = f"127.0.0.1:{server.port}"
        fleet = self.begin(server, "--responders", "30", "--for", "10m", "--speed", "60x")
        time.sleep(3)
        server.kill()
        time.sleep(1)
        server.start()
        summary = self.summary(fleet)
        self.assertGreater(summary["retried"], 0)
        self.assertEqual((summary["rejected"], summary["unsent"]), (0, 0))
        # What each phone sent last is known of everybody: nothing that was acknowledged is lost.
        people = server.get("/v1/responders?limit=1000").json()["responders"]
        self.assertEqual(len(people), 30)
        self.assertEqual(server.scrape()("rollcall_refold_differences_total"), 0)

    def test_an_interrupt_ends_it_in_order(self):
        server = self.serve(self.fast())
        fleet = self.begin(server, "--responders", "20", "--speed", "60x")
        eventually(
            lambda: server.scrape()("rollcall_batches_total") > 50, 20, "some batches")
        fleet.send_signal(signal.SIGINT)
        summary = self.summary(fleet, 20)
        self.assertTrue(summary["interrupted"])
        self.assertEqual(summary["batches"], server.scrape()("rollcall_batches_total"))

    def test_a_server_that_lets_nobody_in_is_told(self):
        with open(self.path("token"), "w", encoding="utf-8") as file:
            file.write("a-token-of-some-length-for-ingest\n")
        os.chmod(self.path("token"), 0o600)
        server = self.serve(
            "web:\n  tokens:\n    - {name: fleet, scopes: [ingest], token_file: "
            + self.path("token") + "}\n")
        size = ("--responders", "5", "--for", "20s")
        fleet = self.begin(server, *size)
        _, err = fleet.communicate(timeout=30)
        self.assertEqual(fleet.returncode, 69)
        self.assertIn("--token-file", err)
        fleet = self.begin(
            server, *size, variables={"ROLLCALL_TOKEN_FILE": self.path("token")})
        self.assertEqual(self.summary(fleet, 60)["rejected"], 0)

    def test_what_makes_no_sense_is_said(self):
        for arguments in (
                [], ["--output", "a", "--store", "b"], ["--output", "a", "--responders", "0"],
                ["--output", "a", "--days", "1", "--for", "1h"],
                ["--target", "ftp://x"], ["--print-config", "--speed", "fast"]):
            self.simulate(*arguments, code=64)


if __name__ == "__main__":
    unittest.main()
