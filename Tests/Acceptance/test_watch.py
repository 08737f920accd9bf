"""`rollcall` alone and `rollcall watch` on a real terminal: its size, its modes, whatever ends it, and a
server that goes away.

Source: V6, V10.
"""

import json
import os
import re
import resource
import signal
import subprocess
import termios
import threading
import time
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from rollcall_process import BINARY, RollcallTestCase, eventually, plain_environment
from terminal_screen import ENTER, LEAVE, Terminal, modes_of

CONFIG = """
liveness:
  on_duty: {expected: 100ms, degraded_after: 500ms, offline_after: 1s}
alerts: {NoOnlineResponders: {for: 0s}}
coverage: {regions: [harbour]}
"""
AS_OF = "2026-11-21T06:00:00.000Z"
HOSTILE = "\x1b[2J\x1b]0;x\x07\u202e\x9b31m\r\nx"
CUT_OFF = "THE SERVER DOES NOT ANSWER"


class Stub:
    """A server that answers what `answer(path)` returns, and counts what is asked."""

    def __init__(self, test, answer):
        self.asked = []
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                path = self.path.split("?")[0]
                stub.asked.append(path)
                status, document = answer(self.path)
                body = document if isinstance(document, bytes) else json.dumps(document).encode()
                kind = "text/html" if isinstance(document, bytes) else "application/json"
                try:
                    self.send_response(status)
                    self.send_header("Content-Type", kind)
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)
                except OSError:
                    pass

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        test.addCleanup(self.stop)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def stop(self):
        """Ends it."""
        self._server.shutdown()
        self._server.server_close()


def documents(name="r-1", people=1, wait=0.2, happens=False):
    """Answers of a fleet whose people have this name."""
    counts = {"UNKNOWN": 0, "ONLINE": 3, "DEGRADED": 0, "OFFLINE": people}
    gaps = [
        {"responder_id": f"{name}{number or ''}", "region": name, "suspected": "app_suspended",
         "evidence": {"last_contact_at": f"2026-11-21T05:{number % 60:02}:00.000Z"}}
        for number in range(people)]

    def answer(target):
        path = target.split("?")[0]
        if path == "/v1/events":
            if "wait" in target and not happens:
                time.sleep(wait)
            events = [{"cursor": "a-1"}] if happens and "wait" in target else []
            return 200, {"events": events, "next": "a-1"}
        return 200, {
            "/v1/status": {
                "version": "0.2.0", "as_of": AS_OF, "watching": True, "responders": counts,
                "sources": [], "sentence": {
                    "level": "bad", "headline": f"{name} cannot be reached.",
                    "rest": "Elsewhere 3 of 3 can.", "detail": f"Since 05:00, most likely {name}."}},
            "/v1/alerts": {"alerts": [
                {"alertname": "HighOfflineRate", "state": "firing", "severity": "critical",
                 "starts_at": "2026-11-21T05:50:00.000Z", "key": "k-7", "labels": {"region": name},
                 "annotations": {"summary": f"{name} is dark"},
                 "receivers": [{"receiver": name, "state": "trying", "last_error": name}]}]},
            "/v1/regions": {"regions": [
                {"region": name, "active": 3 + people, "responders": counts}], "next": None},
            "/v1/gaps": {"gaps": gaps[:1000], "next": None},
            # A server that does not know the parameter, and says nothing of it.
            "/v1/responders": {"responders": [], "next": None},
        }[path]
    return answer


class WatchTestCase(RollcallTestCase):
    """A terminal with `rollcall watch` on it."""

    def watch(self, url, *more, columns=80, rows=24, **variables):
        return Terminal(
            self, [BINARY, "watch", "--server", url, *more], columns, rows, variables)

    def fleet(self, **options):
        """A server of three people, who soon are silent."""
        server = self.serve(CONFIG, **options)
        server.write("/v1/batches", [
            {"responder_id": f"r-{number}", "region": "north"} for number in range(3)])
        return server, f"http://127.0.0.1:{server.port}"

    def assert_clean(self, terminal):
        """Nothing of it is left on the terminal."""
        self.assertEqual(modes_of(terminal.theirs), terminal.modes)
        eventually(lambda: terminal.sent.endswith(LEAVE), 5, "the last bytes give the screen back")
        self.assertEqual(terminal.sent.count(ENTER), terminal.sent.count(LEAVE))
        self.assertEqual(terminal.screen.faults, [])


class ScreenTests(WatchTestCase):
    """What it does to a terminal."""

    def test_the_worst_stands_first_and_q_gives_all_back(self):
        server, url = self.fleet()
        terminal = self.watch(url)
        terminal.shows(r"3 silent, the longest first\n(.*\n)+.*q quits")
        text = terminal.shows(r"FIRING NoOnlineResponders \(critical\)(.*\n)+  rollcall take \S+")
        for first, second in (("FIRING", "region "), ("region ", "responder ")):
            self.assertLess(text.index(first), text.index(second), text)
        self.assertRegex(text, r"As of \d\d:\d\d:\d\d UTC, \d+s old\. http")
        server.write("/v1/batches", {"responder_id": "r-9", "region": "south"})
        terminal.shows("south")
        self.assertEqual(terminal.process.poll(), None)
        terminal.press("\x1b[A\x1bOq\x1b[1;5Q")
        terminal.shows(", 2s old")
        self.assertEqual(terminal.process.poll(), None)
        terminal.press("\x1b[Bq")
        self.assertEqual(terminal.ended(), 0)
        self.assert_clean(terminal)

    def test_only_lines_and_echo_are_changed_and_no_cursor_is_hidden(self):
        terminal = self.watch(Stub(self, documents()).url)
        terminal.shows("q quits")
        modes = modes_of(terminal.theirs)
        self.assertEqual(terminal.modes[3] & ~modes[3], termios.ICANON | termios.ECHO)
        modes[3] |= termios.ICANON | termios.ECHO
        self.assertEqual(modes, terminal.modes)
        self.assertEqual(set(re.findall(r"\x1b\[\?\d+[hl]", terminal.sent)), {"\x1b[?1049h"})

    def test_whatever_ends_it_gives_the_terminal_back(self):
        url = Stub(self, documents()).url
        for number in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGABRT", "SIGSEGV"):
            with self.subTest(number):
                terminal = self.watch(url)
                resource.prlimit(terminal.process.pid, resource.RLIMIT_CORE, (0, 0))
                terminal.shows("q quits")
                terminal.process.send_signal(getattr(signal, number))
                self.assertEqual(terminal.ended(), -getattr(signal, number))
                self.assert_clean(terminal)
        for key, number in (("\x03", signal.SIGINT), ("\x1c", signal.SIGQUIT)):
            terminal = self.watch(url)
            resource.prlimit(terminal.process.pid, resource.RLIMIT_CORE, (0, 0))
            terminal.shows("q quits")
            terminal.press(key)
            self.assertEqual(terminal.ended(), -number)
            self.assert_clean(terminal)

    def test_a_shell_stops_it_and_lets_it_go_on(self):
        url = Stub(self, documents()).url
        terminal = Terminal(self, [
            "/bin/sh", "-c", f'set -m; "{BINARY}" watch --server {url}; stty -a; echo "status $?"; '
            'fg; echo over'])
        terminal.shows("q quits")
        terminal.press("\x1a")
        eventually(lambda: "status" in terminal.sent, 20, "the shell has the terminal")
        shown = terminal.sent.split("status")[0]
        self.assertIn(LEAVE, shown)
        self.assertRegex(shown, r"[ ;\n]icanon")
        self.assertRegex(shown, r"[ ;\n]echo ")
        eventually(lambda: terminal.sent.count(ENTER) == 2, 20, "it goes on")
        eventually(
            lambda: "q quits" in terminal.sent[terminal.sent.rindex(ENTER):], 20, "it is drawn anew")
        terminal.press("q")
        eventually(lambda: terminal.sent.endswith("over\r\n"), 20, "the shell ends")
        self.assertEqual(terminal.sent.count(LEAVE), 2)

    def test_a_terminal_that_goes_away_ends_it(self):
        terminal = self.watch(Stub(self, documents()).url)
        terminal.shows("q quits")
        terminal.hang_up()
        self.assertIn(terminal.ended(), (-signal.SIGHUP, 74))

    def test_each_size_has_its_page(self):
        stub = Stub(self, documents("north-" + "x" * 90, people=30))
        terminal = self.watch(stub.url, columns=80, rows=24)
        terminal.shows("q quits")
        for columns, rows in ((200, 60), (40, 12), (20, 6), (3, 2), (1, 1), (80, 24)):
            first = {3: "As…", 1: "…"}.get(columns, "As of")
            with self.subTest((columns, rows)):
                terminal.resize(columns, rows)
                terminal.shows(first)
                # What was meant for the size before has come by then.
                time.sleep(3.2)
                terminal.wipe()
                terminal.press("\x0c")
                terminal.shows(first)
                self.assertEqual(terminal.screen.faults, [])
                self.assertLessEqual(max(len(line) for line in terminal.text.split("\n")), columns)
        self.assertRegex(terminal.text, r"and \d+ more: rollcall gaps")
        terminal.press("q")
        self.assertEqual(terminal.ended(), 0)

    def test_names_cannot_steer_it(self):
        terminal = self.watch(Stub(self, documents(HOSTILE)).url, columns=160, rows=40)
        text = terminal.shows("q quits")
        self.assertIn(r"\u{1B}[2J\u{1B}]0;x\u{7}\u{202E}\u{9B}31m\u{D}\u{A}x cannot be reached.", text)
        self.assertGreaterEqual(text.count(r"\u{1B}[2J"), 5)
        terminal.press("q")
        self.assertEqual(terminal.ended(), 0)
        self.assert_clean(terminal)

    def test_no_colours_where_none_are_wanted(self):
        url = Stub(self, documents()).url
        for variables, is_coloured in (
                ({}, True), ({"NO_COLOR": "1"}, False), ({"CLICOLOR": "0"}, False)):
            terminal = self.watch(url, **variables)
            terminal.shows("q quits")
            self.assertEqual("\x1b[1;31m" in terminal.sent, is_coloured, variables)

    def test_what_is_no_terminal_is_refused(self):
        url = Stub(self, documents()).url
        for line in ([], ["--json"], ["--interval", "0s"]):
            done = subprocess.run(
                [BINARY, "watch", "--server", url, *line], capture_output=True, timeout=30,
                env=plain_environment())
            self.assertEqual((done.returncode, done.stdout), (64, b""))
        dumb = self.watch(url, TERM="dumb")
        self.assertEqual(dumb.ended(), 64)
        eventually(lambda: "rollcall status" in dumb.sent, 5, "what to do instead")
        self.assertNotIn("\x1b", dumb.sent)


class ServerTests(WatchTestCase):
    """What it does about a server."""

    def test_a_server_that_was_killed_is_told_and_comes_back(self):
        server, url = self.fleet()
        terminal = self.watch(url)
        terminal.shows("silent, the longest")
        server.kill()
        text = terminal.shows(CUT_OFF, 7)
        self.assertIn("silent, the longest", text, "what was known stays")
        self.assertTrue(text.startswith(CUT_OFF), text)
        server.address = f"127.0.0.1:{server.port}"
        server.start()
        eventually(lambda: CUT_OFF not in terminal.text, 20, "it goes on by itself")
        server.write("/v1/batches", {"responder_id": "r-9", "region": "south"})
        terminal.shows("south")

    def test_a_server_that_hangs_is_told_too(self):
        server, url = self.fleet()
        terminal = self.watch(url)
        terminal.shows("q quits")
        server.pause()
        try:
            terminal.shows(CUT_OFF, 8)
            terminal.shows(r", \d\ds old", 12)
        finally:
            server.resume()
        eventually(lambda: CUT_OFF not in terminal.text, 20, "it goes on by itself")

    def test_a_slow_server_is_waited_for(self):
        known = documents()

        def slow(target):
            time.sleep(1)
            return known(target)
        terminal = self.watch(Stub(self, slow).url)
        terminal.shows("q quits")
        for _ in range(8):
            self.assertNotIn(CUT_OFF, terminal.text)
            time.sleep(0.5)
        terminal.press("q")
        self.assertEqual(terminal.ended(), 0)

    def test_who_refuses_later_is_told_with_the_reason(self):
        known = documents()
        refuses = threading.Event()

        def answer(target):
            return (401, {"detail": "a token is needed"}) if refuses.is_set() else known(target)
        terminal = self.watch(Stub(self, answer).url)
        terminal.shows("q quits")
        refuses.set()
        terminal.shows("NO ANSWER since .*wants a token")

    def test_lists_are_asked_for_seldom_however_much_happens(self):
        stub = Stub(self, documents(people=1000, happens=True))
        began = time.monotonic()
        terminal = self.watch(stub.url, "--interval", "1s")
        eventually(lambda: stub.asked.count("/v1/status") >= 5, 30, "five changes")
        # Ten seconds lie between two lists of a thousand.
        lists = 2 + (time.monotonic() - began) // 10
        self.assertLessEqual(stub.asked.count("/v1/gaps"), lists)
        self.assertLessEqual(stub.asked.count("/v1/regions"), lists)
        self.assertLessEqual(stub.asked.count("/v1/events"), 20)
        terminal.shows("1,000 silent")

    def test_a_server_without_events_is_asked_again(self):
        known = documents()
        for status in (404, 503):
            refusal = status, {"detail": "there is no such path"}
            stub = Stub(
                self, lambda target, no=refusal: no if "events" in target else known(target))
            terminal = self.watch(stub.url)
            terminal.shows("q quits")
            eventually(lambda: stub.asked.count("/v1/status") >= 3, 20, "it is asked again")
            self.assertNotIn(CUT_OFF, terminal.text)
            terminal.press("q")
            self.assertEqual(terminal.ended(), 0)

    def test_a_server_that_sorts_is_asked_for_a_few(self):
        known = documents(people=5000)
        people = [{"responder_id": "sorted", "last_contact_at": "2026-11-20T06:00:00.000Z",
                   "gap": {"suspected": "app_terminated"}}]
        stub = Stub(self, lambda target: (
            (200, {"responders": people, "next": "x", "total": 5000})
            if target.startswith("/v1/responders?status=OFFLINE&sort=-silent_for&limit=100")
            else known(target)))
        terminal = self.watch(stub.url, rows=30)
        terminal.shows(r"5,000 silent, the longest first\n.*\nsorted +– +1d +app terminated\nand 4,999 more")
        self.assertNotIn("/v1/gaps", stub.asked)

    def test_without_a_first_answer_it_ends_as_every_command(self):
        terminal = self.watch("http://127.0.0.1:1")
        self.assertEqual(terminal.ended(), 69)
        eventually(lambda: "Is rollcall serve running" in terminal.sent, 5, "the reason")
        self.assertNotIn("\x1b", terminal.sent)


class NowTests(WatchTestCase):
    """`rollcall` alone."""

    def run_binary(self, *line, code=0, **variables):
        done = subprocess.run(
            [BINARY, *line], capture_output=True, timeout=30, text=True,
            env={**plain_environment(), **variables})
        self.assertEqual(done.returncode, code, done)
        return done.stdout, done.stderr

    def test_the_sentence_and_what_fits_it(self):
        url = Stub(self, documents()).url
        text, _ = self.run_binary(ROLLCALL_SERVER=url)
        self.assertTrue(text.startswith(
            "r-1 cannot be reached. Elsewhere 3 of 3 can.\nSince 05:00, most likely r-1.\n\n"), text)
        for line in (
                "  rollcall take k-7 ", "  rollcall gaps --state open ", "  rollcall explain r-1 ",
                "  rollcall status ", "  rollcall watch "):
            self.assertIn(line, text)
        self.assertNotIn("\x1b", text)
        with_flag, _ = self.run_binary("--server", url)
        self.assertIn(f"  rollcall take --server {url} k-7\n", with_flag)
        told = json.loads(self.run_binary("now", "--json", ROLLCALL_SERVER=url)[0])
        self.assertEqual(told["sentence"]["level"], "bad")
        self.assertEqual(told["next"][0]["command"], "rollcall take k-7")

    def test_what_is_typed_next_is_what_it_says(self):
        _, url = self.fleet()
        found = eventually(
            lambda: re.search(r"rollcall explain (\S+)", self.run_binary(ROLLCALL_SERVER=url)[0]),
            20, "somebody is silent")
        self.assertIn(found[1], self.run_binary("explain", found[1], ROLLCALL_SERVER=url)[0])
        keys = eventually(
            lambda: re.search(r"rollcall take (\S+)", self.run_binary(ROLLCALL_SERVER=url)[0]),
            20, "an alert fires")
        self.run_binary("take", keys[1], "--by", "kim", ROLLCALL_SERVER=url)
        self.assertNotIn(keys[1], self.run_binary(ROLLCALL_SERVER=url)[0])

    def test_names_are_words_of_a_shell_or_left_out(self):
        for name, shown in (
                ("it's", r"explain 'it'\''s' "), ("-x", "explain -- -x "), (HOSTILE, None)):
            text, _ = self.run_binary(ROLLCALL_SERVER=Stub(self, documents(name)).url)
            self.assertNotIn("\x1b", text)
            if shown:
                self.assertIn(shown, text)
            else:
                self.assertNotIn("explain", text)

    def test_without_a_server_it_says_what_to_type(self):
        text, error = self.run_binary("--server", "http://127.0.0.1:1", code=69)
        self.assertEqual(text, "")
        for line in ("cannot be connected to", "  rollcall serve ", "  rollcall demo ", "--server URL"):
            self.assertIn(line, error)

    def test_a_command_that_there_is_not_is_told(self):
        _, error = self.run_binary("staus", code=64)
        self.assertIn('there is no command "staus", did you mean "status"?', error)

    def test_each_reason_has_its_sentence(self):
        def error(answer, code=1, **variables):
            url = Stub(self, lambda _: answer).url
            return self.run_binary(ROLLCALL_SERVER=url, code=code, **variables)[1]
        needed = (401, {"detail": "a token is needed"})
        self.assertIn("wants a token, and none was given", error(needed))
        self.assertIn("does not know the token that was given", error(needed, ROLLCALL_TOKEN="t"))
        self.assertIn(
            "knows this token, and it does not open this: it lacks the scope read",
            error((403, {"detail": "this token lacks the scope read"}), ROLLCALL_TOKEN="t"))
        self.assertIn("answers 403 (Host is", error((403, {"detail": "Host is"})))
        for status in (200, 404):
            self.assertIn("is no Rollcall: status", error((status, b"<html>")))
        self.assertIn("A proxy in front of it does not reach it", error((502, b"<html>")))
        self.assertIn("does not answer like Rollcall", error((200, [])))

    def test_tls_where_there_is_none_is_told(self):
        url = Stub(self, documents()).url.replace("http:", "https:")
        _, error = self.run_binary("--server", url, code=69)
        self.assertIn("If nothing speaks TLS there, --server begins with http://", error)


if __name__ == "__main__":
    unittest.main()
