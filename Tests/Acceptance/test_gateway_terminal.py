"""The terminal at a gateway: what it says of cells that are away, whose numbers are whose, and one person's
story.

Source: K5.
"""

import subprocess
import unittest

from rollcall_process import BINARY, eventually, plain_environment
from test_cells import SOON, people
from test_gateway import LIVENESS, GatewayTestCase

RULES = "alerts: {ResponderOffline: {enabled: true, for: 0s}}\n"


class TerminalTests(GatewayTestCase):
    MORE = {"a": LIVENESS + RULES, "b": LIVENESS + RULES, "f": RULES}

    def told(self, *arguments):
        """The exit status of a command at the gateway, what it printed, and its errors."""
        done = subprocess.run(
            [BINARY, *arguments, "--server", f"http://127.0.0.1:{self.gateway.port}"], capture_output=True, text=True,
            timeout=60, check=False, cwd=self.directory, env=plain_environment())
        return done.returncode, done.stdout, done.stderr

    def fill(self):
        everybody = self.mixed(2)
        self.gateway.write("/v1/batches", [
            {"responder_id": one, "region": "north", "duty_state": "ON_DUTY"} for one in everybody])
        return everybody

    def test_a_list_without_a_cell_is_not_whole(self):
        self.fill()
        eventually(lambda: self.told("gaps", "-o", "ids")[1].count("\n") == 4, SOON, "all are silent")
        self.assertEqual(self.told("people", "-o", "ids")[0], 0)
        self.servers["b"].kill()
        for command in (["people"], ["gaps"], ["nudges"], ["silence", "list"], ["status"]):
            for form in ("table", "json", "csv", "ids"):
                with self.subTest(command, form=form):
                    status, text, error = self.told(*command, "-o", form)
                    self.assertEqual(status, 69, error)
                    self.assertIn("cell b does not answer", error)
                    if form == "table":
                        self.assertIn("Cell b does not answer", text)
        ids = self.told("people", "-o", "ids")[1].split()
        self.assertEqual(set(ids), set(people("a", 2)))
        status, _, error = self.told("events")
        self.assertEqual(status, 69, error)

    def test_one_person_s_story_and_the_newest_events(self):
        everybody = self.fill()
        for one in everybody:
            status, text, error = self.told("explain", one)
            self.assertEqual((status, error), (0, ""))
            self.assertIn(one, text)
        eventually(lambda: self.told("gaps", "-o", "ids")[1].count("\n") == 4, SOON, "all are silent")
        status, text, error = self.told("events", "-o", "ids", "--limit", "5")
        self.assertEqual((status, error, text.count("\n")), (0, "", 5))
        first = text.split()[0]
        status, text, error = self.told("events", "-o", "ids", "--after", first, "--limit", "2")
        self.assertEqual((status, error, text.count("\n")), (0, "", 2))

    def test_numbers_say_whose_they_are(self):
        self.fill()

        def keys():
            return self.told("status", "--part", "alerts", "-o", "ids")[1].split()
        found = eventually(lambda: len(keys()) >= 2 and keys(), SOON, "alerts fire")
        for key in found:
            self.assertEqual(self.told("take", key, "--by", "kim")[0], 0, key)
        for region in "xy":
            self.gateway.write("/v1/silences?cell=a", {
                "matchers": [f"region={region}"], "duration": "1h", "author": "kim", "comment": "test"})
        name, other = self.told("silence", "list", "-o", "ids")[1].split()
        self.assertRegex(name, r"^a/\d+$")
        self.assertEqual(self.told("silence", "end", name)[:2], (0, f"Silence {name} is over.\n"))
        number = other.split("/")[1]
        self.assertEqual(self.told("silence", "end", number, "--cell", "a")[0], 0)

    def test_the_map_comes_through_the_gateway(self):
        eventually(lambda: self.told("cluster", "cells")[0] == 0, SOON, "every cell has the map")
        _, text, error = self.told("cluster", "cells")
        self.assertEqual(error, "")
        self.assertIn("The fleet cell, through the gateway at http://", text)


if __name__ == "__main__":
    unittest.main()
