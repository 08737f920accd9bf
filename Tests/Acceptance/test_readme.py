"""What the README says is what the binary does.

Source: style, "README: … its commands are run by CI"; "every option is in the README".
"""

import os
import re
import subprocess
import unittest

from rollcall_process import BINARY, RollcallTestCase, plain_environment

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SUFFIXES = re.compile(r"_(bucket|count|sum|gcount|gsum)$")


class ReadmeTests(RollcallTestCase):
    @classmethod
    def setUpClass(cls):
        with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
            cls.text = file.read()
        cls.blocks = [(kind, body) for kind, body in BLOCK.findall(cls.text)]

    def block(self, mention):
        """The first code block that holds `mention`, and the one after it."""
        for place, (_, body) in enumerate(self.blocks):
            if mention in body:
                return body, self.blocks[place + 1][1]
        self.fail(f"no block with {mention!r}")

    def run_binary(self, *arguments, text=""):
        outcome = subprocess.run(
            [BINARY, *arguments], input=text, capture_output=True, text=True, timeout=30,
            env=plain_environment(), cwd=self.directory)
        self.assertEqual((outcome.returncode, outcome.stderr), (0, ""))
        return outcome.stdout

    def test_the_replay_example_prints_what_it_shows(self):
        given, shown = self.block("night.ndjson <<")
        events = re.search(r"<<'E'\n(.*?)^E$", given, re.MULTILINE | re.DOTALL).group(1)
        printed = self.run_binary("replay", "-", text=events)
        shown = [line for line in shown.splitlines() if line.startswith("{")]
        self.assertEqual(printed.splitlines()[-len(shown):], shown)

    def test_the_first_batch_gets_the_answer_that_is_shown(self):
        given, shown = self.block('"sequence": 4711, "captured_at": "\'$(date')
        command = given.replace("http://127.0.0.1:10112", f"http://127.0.0.1:{self.serve().port}")
        outcome = subprocess.run(
            ["bash", "-c", command], capture_output=True, text=True, timeout=30)
        self.assertEqual(outcome.stdout.strip(), shown.splitlines()[0])

    def test_every_option_is_there(self):
        for command in ("serve", "demo", "check", "backup", "replay", "tune", "simulate", "manifest", "status",
                        "gaps", "explain", "nudges", "drill", "silence add", "silence list",
                        "silence end"):
            options = set(re.findall(r"--[a-z.-]+", self.run_binary(*command.split(), "--help")))
            self.assertGreater(len(options), 2)
            for option in options:
                self.assertIn(option, self.text)

    def test_every_metric_is_there(self):
        server = self.serve()
        server.write("/v1/heartbeat", {"every_seconds": 60})
        names = {SUFFIXES.sub("", name) for name, _ in server.scrape().samples}
        for name in names:
            if name.startswith("process_"):
                self.assertIn(f"`{name.removeprefix('process_')}`", self.text)
            else:
                self.assertIn(f"`{name}`", self.text)

    def test_every_route_is_there(self):
        server = self.serve()
        for method, route in re.findall(r"`(GET|POST|PUT|DELETE) (/[^`?]*)`", self.text):
            target = route.replace("{id}", "nobody").replace("{number}", "0")
            with self.subTest(f"{method} {target}"):
                answer = server.request(method, target, body=b"" if method in ("POST", "PUT") else None)
                self.assertNotEqual(answer.status, 405)
                if "{" not in route:
                    self.assertNotEqual(answer.status, 404)


if __name__ == "__main__":
    unittest.main()
