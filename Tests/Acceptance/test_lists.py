"""Every list of the terminal in every form: `-o json`, `table`, `csv` and `ids` say the same, end with 0
only if all of it was said, and stay quiet when nobody reads any more.

Source: V6.
"""

import csv
import io
import json
import os
import signal
import subprocess
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from rollcall_process import (
    BINARY, HERE, RollcallTestCase, eventually, now_ms, plain_environment, rfc3339)

CONFIG = """
liveness:
  on_duty: {expected: 100ms, degraded_after: 500ms, offline_after: 1s}
nudges: {stale_after: 2s, min_interval: 6h}
alerts: {NoOnlineResponders: {for: 0s}}
"""
# What a shell, a spreadsheet or a line could take for something else.
NAMES = [
    "plain", "=1+1", "-x", "+15551", "@a", "'s", "a,b", 'q"u"o', "semi;=1", "two words", "ü\u202ey",
    "$(id)", "`id`", "\\n", "\uff1d1", "%41", "x" * 128,
]
REGIONS = ["north", "=nörd", "a,\"b\"", "'s-Hertogenbosch"]
# Commands that ask a server and print no list.
NO_LIST = {
    ("ask",), ("take",), ("drill",), ("silence", "add"), ("silence", "end"), ("cluster", "add"), ("cluster", "remove"),
    ("cluster", "drain"), ("cluster", "join"), ("cluster", "adopt"), ("now",), ("watch",), ("report",),
}
# Lists by their commands: where the JSON has the records, and which member is the id.
LISTS = {
    ("people",): ("responders", "responder_id"),
    ("gaps",): ("gaps", "responder_id"),
    ("gaps", "--state", "open", "--region", "north"): ("gaps", "responder_id"),
    ("nudges",): ("nudges", "responder_id"),
    ("nudges", "plain"): ("nudges", "responder_id"),
    ("silence", "list"): ("silences", "id"),
    ("status",): ("silent", "responder_id"),
    ("status", "--part", "regions"): ("regions", "region"),
    ("status", "--part", "alerts"): ("alerts", "incident"),
    ("events", "--limit", "1000"): (None, "cursor"),
    ("cluster",): ("members", "member"),
    ("cluster", "status"): ("members", "member"),
    ("cluster", "cells"): ("cells", "name"),
}
# What has no ids.
COUNTS = {
    ("gaps", "--by", "cause,region"): "rows", ("nudges", "--by", "platform"): "rows",
    ("explain", "plain"): "events",
}
FLEET = {
    "role": "cell", "cell": "a", "version": 1, "slots": 4096, "cells": [
        {"name": "a", "urls": ["http://127.0.0.1:9"], "slots": ["0-4095"], "share": 1}]}
MEMBERS = {
    "member": "b", "role": "leading", "leader": "b", "confirmed": True, "position": 7, "lag": 0,
    "members": [
        {"member": "b", "listed": True, "position": 7, "noted_at": "2026-11-21T06:00:09.000Z",
         "address": "http://10.0.0.1:10112"},
        {"member": "=c", "listed": False, "position": 5, "noted_at": None, "address": None}],
}


def rows(text):
    """The rows of a CSV document, as a spreadsheet reads it; each as wide as its header."""
    assert text.endswith("\r\n") or not text, text[-20:]
    table = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    assert all(len(row) == len(table[0]) for row in table)
    return [dict(zip(table[0], row)) for row in table[1:]]


def meant(cell):
    """The text of a cell: the first apostrophe is the mark of a text."""
    return cell[1:] if cell.startswith("'") else cell


def once(names):
    """Each once, in order; none of those that are not known."""
    return list(dict.fromkeys(str(name) for name in names if name is not None))


class Stub:
    """A server that answers what `answer(target)` returns: a status and a document."""

    def __init__(self, test, answer):
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                status, document = answer(self.path)
                body = json.dumps(document).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        test.addCleanup(self.stop)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def stop(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)


class ListTestCase(RollcallTestCase):
    def run_binary(self, url, *arguments, code=0):
        """Standard output and error of a command that must end with `code`."""
        outcome = subprocess.run(
            [BINARY, *arguments, "--server", url], capture_output=True, timeout=60,
            env=plain_environment(), cwd=self.directory)
        self.assertEqual(outcome.returncode, code, (arguments, outcome.stderr))
        return outcome.stdout.decode(), outcome.stderr.decode()

    def form(self, url, command, form, code=0):
        """What a list prints in a form; nothing on standard error if it is whole."""
        text, error = self.run_binary(url, *command, "-o", form, code=code)
        self.assertEqual(bool(error), code != 0, (command, form, error))
        return text


class FormTests(ListTestCase):
    def story(self):
        """A server with people who fell silent, nudges in a dry run, alerts and silences."""
        server = self.serve(CONFIG)
        at = now_ms()
        server.write("/v1/batches", [
            {"responder_id": name, "region": REGIONS[place % len(REGIONS)], "platform": "ios",
             "circles": ["c"], "updates": [{"sequence": 1, "captured_at": rfc3339(at)}],
             "telemetry": {"app_state": "background"}}
            for place, name in enumerate(NAMES)])
        server.write("/v1/silences", {
            "matchers": ["region=north"], "duration": "1h", "author": "=kim", "comment": "b,\"c\""})
        server.write("/v1/silences", {
            "matchers": ["alertname=HighOfflineRate"], "duration": "1h", "author": "kim",
            "comment": "@home"})
        eventually(
            lambda: len(server.get("/v1/gaps?state=open").json()["gaps"]) == len(NAMES), 20,
            "all OFFLINE")
        # So many a second, and then no more.
        eventually(
            lambda: {one["responder_id"] for one in server.get("/v1/nudges?limit=1000").json()["nudges"]
                     if one["decision"] == "dry_run"} >= set(NAMES), 30, "all would be nudged")
        return f"http://127.0.0.1:{server.port}"

    def test_every_form_says_the_same(self):
        url = self.story()
        cluster = Stub(
            self, lambda target: (200, FLEET if target == "/v1/cells" else MEMBERS)).url
        for command, (place, name) in LISTS.items():
            at = cluster if command[0] == "cluster" else url
            with self.subTest(command):
                document = self.form(at, [c for c in command if c not in (
                    "--part", "regions", "alerts")], "json")
                if place is None:
                    records = [json.loads(line) for line in document.splitlines()]
                else:
                    records = json.loads(document)[place]
                self.assertTrue(records)
                wanted = once(record[name] for record in records)
                table = rows(self.form(at, command, "csv"))
                self.assertEqual(len(table), len(records))
                self.assertEqual(once(meant(row[name]) or None for row in table), wanted)
                self.assertEqual(self.form(at, command, "ids").splitlines(), wanted)
                for row, record in zip(table, records):
                    self.check_row(row, record)
                if "--part" not in command:
                    # The default, on a terminal and off it.
                    page = self.form(at, command, "table")
                    self.assertEqual(len(page.splitlines()), len(
                        self.run_binary(at, *command)[0].splitlines()))
                    self.assertEqual(page, "".join(c for c in page if c == "\n" or c.isprintable()))
        for command, place in COUNTS.items():
            with self.subTest(command):
                records = json.loads(self.form(url, command, "json"))[place]
                table = rows(self.form(url, command, "csv"))
                self.assertEqual(len(table), len(records))
                for row, record in zip(table, records):
                    self.check_row(row, record)
                self.assertIn(b"-o ids", self.refused(url, *command, "-o", "ids"))

    def check_row(self, row, record):
        """Each cell is what the JSON has under its heading, and no formula."""
        for heading, cell in row.items():
            if heading == "details":
                rest = {k: v for k, v in record.items() if k not in row}
                self.assertEqual(json.loads(cell), rest)
                continue
            self.assertFalse(
                cell.lstrip(" ")[:1] in tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20"), cell)
            if heading not in record:
                continue
            value = record[heading]
            if value is None:
                self.assertEqual(cell, "")
            elif isinstance(value, str):
                self.assertEqual(meant(cell), value)
                if heading.endswith("at") or heading == "until":
                    self.assertRegex(cell, r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
            elif not self.moves(heading):
                self.assertEqual(json.loads(cell), value)

    def moves(self, heading):
        """True for what grows between two answers."""
        return heading in ("length_seconds", "silent_seconds", "blind_seconds", "median_seconds", "receivers", "told")

    def refused(self, url, *arguments):
        """What is said of arguments that make no sense; nothing is printed."""
        outcome = subprocess.run(
            [BINARY, *arguments, "--server", url], capture_output=True, timeout=60,
            env=plain_environment(), cwd=self.directory)
        self.assertEqual((outcome.returncode, outcome.stdout), (64, b""), arguments)
        return outcome.stderr

    def test_ids_go_into_other_commands(self):
        url = self.story()
        told = subprocess.run(
            "\"$ROLLCALL\" gaps -o ids | xargs -d '\\n' -n 1 \"$ROLLCALL\" explain --json --",
            shell=True, capture_output=True, timeout=120, cwd=self.directory,
            env={**plain_environment(), "ROLLCALL": BINARY, "ROLLCALL_SERVER": url})
        self.assertEqual((told.returncode, told.stderr), (0, b""))
        people = [json.loads(line)["status"]["responder_id"] for line in told.stdout.splitlines()]
        self.assertEqual(sorted(people), sorted(NAMES))
        first = self.form(url, ("events",), "ids").splitlines()[0]
        behind = self.form(url, ("events", "--after", first), "ids").splitlines()
        self.assertEqual(len(behind), 19)
        self.assertNotIn(first, behind)
        for number in self.form(url, ("silence", "list"), "ids").splitlines():
            self.run_binary(url, "silence", "end", number)
        self.assertEqual(
            {row["state"] for row in rows(self.form(url, ("silence", "list"), "csv"))}, {"over"})

    def test_json_is_an_old_name_and_two_forms_are_an_error(self):
        url = self.story()
        self.assertEqual(
            json.loads(self.run_binary(url, "silence", "list", "--json")[0])["silences"],
            json.loads(self.form(url, ("silence", "list"), "json"))["silences"])
        self.run_binary(url, "silence", "list", "--json", "--output", "json")
        self.assertIn(b"one form", self.refused(url, "gaps", "--json", "-o", "csv"))
        for more in (("gaps", "-o", "xml"), ("status", "--part", "regions"),
                     ("status", "-o", "csv", "--part", "x")):
            self.refused(url, *more)

    def test_nobody_who_reads_is_no_error_and_a_full_disk_is_one(self):
        url = self.story()
        for form in ("json", "table", "csv", "ids"):
            ours, theirs = os.pipe()
            os.close(ours)
            process = subprocess.run(
                [BINARY, "gaps", "-o", form, "--server", url], stdout=theirs,
                stderr=subprocess.PIPE, timeout=60, env=plain_environment(), cwd=self.directory)
            os.close(theirs)
            self.assertEqual((process.returncode, process.stderr), (-signal.SIGPIPE, b""))
            with open("/dev/full", "wb") as full:
                process = subprocess.run(
                    [BINARY, "gaps", "-o", form, "--server", url], stdout=full,
                    stderr=subprocess.PIPE, timeout=60, env=plain_environment(),
                    cwd=self.directory)
            self.assertEqual(process.returncode, 74)
            self.assertIn(b"standard output: No space left on device", process.stderr)


class WholeTests(ListTestCase):
    """Lists of pages, of which one may be missing."""

    def stub(self, pages, last=None):
        """Answers with pages of two gaps; the one at `last` with an error."""
        asked = []

        def answer(target):
            asked.append(target)
            number = len(asked)
            if number == last:
                return 503, {"title": "busy", "status": 503, "detail": "busy"}
            gaps = [{"gap": number, "responder_id": f"r-{number}-{n}"} for n in range(2)]
            return 200, {"gaps": gaps, "next": str(number) if number < pages else None}
        return Stub(self, answer).url

    def test_all_pages_are_followed(self):
        for form in ("json", "csv", "ids"):
            text = self.form(self.stub(600), ("gaps",), form)
            self.assertEqual(text.count("r-"), 1200)
        # A limit that somebody gave is what they wanted.
        text = self.form(self.stub(600), ("gaps", "--limit", "3"), "ids")
        self.assertEqual(text, "r-1-0\nr-1-1\nr-2-0\n")

    def test_what_is_not_whole_does_not_end_with_0(self):
        for form in ("json", "csv", "ids"):
            text, error = self.run_binary(self.stub(5, last=3), "gaps", "-o", form, code=1)
            self.assertEqual(text, "")
            self.assertIn("answers 503", error)
            # More pages than are followed.
            text, error = self.run_binary(self.stub(2000), "gaps", "-o", form, code=1)
            self.assertEqual(text.count("r-"), 2000)
            self.assertIn("the list is not whole: there are more than 2,000 gaps.", error)
            if form == "json":
                self.assertTrue(json.loads(text)["truncated"])

    def test_an_id_that_is_no_line_is_not_two(self):
        gaps = [{"responder_id": name} for name in ("a", "b\nc", "d\x1b[2J", "e")]
        url = Stub(self, lambda target: (200, {"gaps": gaps, "next": None})).url
        text, error = self.run_binary(url, "gaps", "-o", "ids", code=1)
        self.assertEqual(text, "a\ne\n")
        self.assertIn("2 ids with control characters cannot be a line", error)
        self.assertEqual(
            [row["responder_id"] for row in rows(self.form(url, ("gaps",), "csv"))],
            [gap["responder_id"] for gap in gaps])
        self.assertEqual(json.loads(self.form(url, ("gaps",), "json"))["gaps"], gaps)


class TreeTests(ListTestCase):
    """The commands themselves."""

    def leaves(self):
        """Every command that has none below it, with the names of its options."""
        text = subprocess.run(
            [BINARY, "--experimental-dump-help"], capture_output=True, timeout=60, check=True,
            env=plain_environment()).stdout

        def walk(command, path):
            below = command.get("subcommands", [])
            for one in below:
                if one["commandName"] != "help":
                    yield from walk(one, (*path, one["commandName"]))
            if not below:
                yield path, {
                    (name["kind"], name["name"]) for argument in command.get("arguments", [])
                    for name in argument.get("names", [])}
        return dict(walk(json.loads(text)["command"], ()))

    def test_whatever_asks_a_server_takes_a_form_or_is_no_list(self):
        leaves = self.leaves()
        asking = {path for path, names in leaves.items() if ("long", "server") in names}
        listing = {
            path for path in asking
            if {("short", "o"), ("long", "output"), ("long", "json")} <= leaves[path]}
        self.assertEqual(asking - listing, NO_LIST)
        tried = {tuple(word for word in command[:2] if word in (command[0], "list", "status", "cells"))
                 for command in (*LISTS, *COUNTS)}
        self.assertEqual(listing, tried - {("cluster",)}, "each list is tried above")

    def test_the_columns_are_those_of_the_reference(self):
        path = os.path.join(HERE, "../../Sources/Rollcall/Rollcall.docc/Reference.md")
        with open(path, encoding="utf-8") as file:
            page = file.read()
        empty = {"gaps": [], "responders": [], "nudges": [], "silences": [], "regions": [], "alerts": [],
                 "events": [], "next": None, **{k: v for k, v in MEMBERS.items()}}

        def answer(target):
            if target.startswith("/v1/events"):
                return 200, {"events": [], "next": "a-0"}
            if target == "/v1/cells":
                return 200, FLEET
            return 200, {**empty, "rows": []}
        url = Stub(self, answer).url
        for command in (*LISTS, *COUNTS):
            head = self.form(url, command, "csv").split("\r\n")[0].split(",")
            if "--by" in command:
                head = head[len(command[2].split(",")):]
            shown = ", ".join(f"`{name}`" for name in head)
            with self.subTest(command):
                self.assertIn(shown, " ".join(page.split()))


if __name__ == "__main__":
    unittest.main()
