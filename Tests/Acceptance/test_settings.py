"""Settings of the binary: who wins, what a file means, and reloads, all or nothing (V3, V8).

Source: L6, §9, §11.
"""

import base64
import os
import signal
import subprocess
import threading
import time
import unittest

from journal_rows import journal_rows
from rollcall_process import (
    BINARY, RollcallTestCase, eventually, milliseconds, now_ms, plain_environment, sleep_until)

POLICY_KIND = 24
SLACK_MS = 500


def duty(expected, degraded, offline):
    """A file with these thresholds for duty, in seconds."""
    return (f"liveness:\n  on_duty: {{expected: {expected}s, degraded_after: {degraded}s, "
            f"offline_after: {offline}s}}\n")


class ReloadTests(RollcallTestCase):
    def reload(self, server):
        """POST /-/reload that must be taken; its answer."""
        answer = server.post("/-/reload", b"")
        self.assertEqual(answer.status, 200, answer)
        return answer.json()

    def hang_up(self, server):
        """SIGHUP; returns when its word is in the log."""
        before = server.log().count("reloaded")
        server.process.send_signal(signal.SIGHUP)
        eventually(lambda: server.log().count("reloaded") > before, 5, "a word in the log")

    def policies(self, server):
        """The number of `policy` events in the store of a server that has stopped."""
        return sum(kind == POLICY_KIND for kind, _ in journal_rows(server.store))

    # L6

    def test_looser_thresholds_judge_anew_at_once(self):
        for ask in (self.reload, self.hang_up):
            with self.subTest(ask.__name__):
                server = self.serve(duty(1, 1, 2), name=ask.__name__)
                server.write("/v1/batches", {"responder_id": "a"})
                eventually(
                    lambda: server.responder("a")["status"] == "OFFLINE", 5, "a is OFFLINE")
                server.configure(duty(60, 90, 180))
                ask(server)
                person = server.responder("a")
                self.assertEqual((person["status"], person["reachable"]), ("ONLINE", "yes"))
                self.assertEqual(server.stop(), 0)

    def test_stricter_thresholds_put_nobody_late_at_once(self):
        server = self.serve(duty(60, 90, 180))
        server.write("/v1/batches", {"responder_id": "a"})
        # Longer than the new ones, which leave time to look before each.
        time.sleep(8.5)
        server.configure(duty(4, 4, 8))
        before = now_ms()
        self.reload(server)
        after = now_ms()
        self.assertEqual(server.responder("a")["status"], "ONLINE")
        sleep_until(after + 4000 + SLACK_MS)
        degraded = server.responder("a")
        self.assertEqual(degraded["status"], "DEGRADED")
        self.assertTrue(before + 4000 <= milliseconds(degraded["since"]) <= after + 4000, degraded)
        sleep_until(after + 8000 + SLACK_MS)
        offline = server.responder("a")
        self.assertEqual(offline["status"], "OFFLINE")
        self.assertEqual(
            milliseconds(offline["since"]), milliseconds(degraded["since"]) + 4000)

    # All or nothing

    def test_a_wrong_file_changes_nothing_and_says_the_line(self):
        server = self.serve(duty(1, 1, 2))
        first = server.scrape()
        self.assertEqual(first("rollcall_config_last_reload_successful"), 1)
        loaded = first("rollcall_config_last_reload_success_timestamp_seconds")
        self.assertLess(abs(loaded - time.time()), 60)
        server.configure(duty(60, 90, 180) + "limits:\n  boddy: 1MiB\n")
        document = self.problem(server.post("/-/reload", b""), 422)
        self.assertIn("line 4: limits.boddy: unknown setting, did you mean \"body\"?",
                      document["detail"])
        self.hang_up(server)
        self.assertEqual(server.log().count("settings not reloaded"), 2)
        page = server.scrape()
        self.assertEqual(page("rollcall_config_last_reload_successful"), 0)
        self.assertEqual(page("rollcall_config_last_reload_success_timestamp_seconds"), loaded)
        # The thresholds before it, which were right, still hold.
        server.write("/v1/batches", {"responder_id": "a"})
        eventually(lambda: server.responder("a")["status"] == "OFFLINE", 5, "a is OFFLINE")
        server.configure(duty(60, 90, 180))
        self.reload(server)
        page = server.scrape()
        self.assertEqual(page("rollcall_config_last_reload_successful"), 1)
        self.assertGreater(page("rollcall_config_last_reload_success_timestamp_seconds"), loaded)
        self.assertEqual(server.stop(), 0)

    def test_each_setting_wrong_once_changes_nothing(self):
        whole = run("config").stdout
        server = self.serve(whole)
        events = server.scrape()("rollcall_journal_events_total")
        lines = whole.splitlines()
        wrong = 0
        for place, line in enumerate(lines):
            name, colon, value = line.partition(": ")
            if not colon or name.lstrip().startswith("#"):
                continue
            wrong += 1
            strange = "[]" if value.startswith("{") else "{}"
            mutated = lines[:place] + [f"{name}: {strange}"] + lines[place + 1:]
            server.configure("\n".join(mutated) + "\n")
            document = self.problem(server.post("/-/reload", b""), 422)
            self.assertIn(f"line {place + 1}: ", document["detail"])
            self.assertIn(name.strip(), document["detail"])
        self.assertGreater(wrong, 20)
        server.configure(whole)
        self.assertEqual(self.reload(server)["changed"], [])
        self.assertEqual(server.scrape()("rollcall_journal_events_total"), events)

    def test_what_a_file_that_is_no_yaml_holds_is_not_told(self):
        server = self.serve("{}\n")
        server.configure("storage:\n  path: a: topsecret\n")
        answer = server.post("/-/reload", b"")
        self.assertIn("line 2: not YAML", self.problem(answer, 422)["detail"])
        self.assertNotIn("topsecret", answer.text + server.log())

    def test_a_file_that_no_end_of_brackets_opens_harms_nobody(self):
        server = self.serve("{}\n")
        for depth in (990, 100_000):
            for text in ("[" * depth, "[" * depth + "]" * depth):
                server.configure(f"coverage: {{regions: {text}}}\n")
                self.problem(server.post("/-/reload", b""), 422)
        self.assertEqual(server.stop(), 0)

    # What changed

    def test_the_answer_and_the_log_tell_what_changed_and_what_needs_a_restart(self):
        server = self.serve("storage: {size: 4GiB}\n")
        server.configure(duty(50, 90, 180) + "storage: {size: 8GiB}\n")
        answer = self.reload(server)
        restart = [{"setting": "storage.size", "from": "4GiB", "to": "8GiB"}]
        self.assertEqual(answer, {
            "file": server.config_path,
            "changed": [{"setting": "liveness.on_duty.expected", "from": "60s", "to": "50s"}],
            "needs_restart": restart,
        })
        self.assertIn("storage.size: 4GiB → 8GiB", server.log())
        self.assertEqual(
            self.reload(server),
            {"file": server.config_path, "changed": [], "needs_restart": restart})
        self.assertEqual(server.stop(), 0)
        server.start()
        self.assertEqual(self.reload(server)["needs_restart"], [])

    def test_a_change_is_journaled_once_and_survives_a_crash(self):
        server = self.serve(duty(1, 1, 2))
        server.write("/v1/batches", {"responder_id": "a"})
        self.reload(server)
        server.configure(duty(60, 90, 180))
        self.reload(server)
        self.reload(server)
        server.kill()
        server.start()
        self.assertEqual(server.scrape()("rollcall_refold_differences_total"), 0)
        self.assertEqual(server.stop(), 0)
        # The first settings, and the change.
        self.assertEqual(self.policies(server), 2)

    def test_limits_of_a_body_change_while_it_runs(self):
        server = self.serve("{}\n")
        items = [{"responder_id": str(number)} for number in range(3)]
        server.write("/v1/batches", items)
        server.configure("limits: {items: 2, depth: 3}\n")
        self.reload(server)
        self.problem(server.post("/v1/batches", items), 413)
        deep = {"responder_id": "a", "more": [[[]]]}
        self.problem(server.post("/v1/batches", deep), 400)
        server.configure("{}\n")
        self.reload(server)
        server.write("/v1/batches", items)
        server.write("/v1/batches", deep)

    def test_tokens_change_while_it_runs_and_never_show(self):
        def config(name):
            return (f"web: {{tokens: [{{name: a, scopes: [admin, read], token_file: {name}}}]}}\n"
                    + duty(60, 90, 180))

        def token(secret):
            return {"Authorization": f"Bearer {secret}"}

        first, second = "first-" + "x" * 32, "second-" + "y" * 32
        path = os.path.join(self.directory, "token")
        with open(path, "w", encoding="utf-8") as file:
            file.write(first + "\n")
        server = self.serve(config("token"))
        self.problem(server.post("/-/reload", b""), 401)
        with open(path, "w", encoding="utf-8") as file:
            file.write(second + "\n")
        self.assertEqual(server.post("/-/reload", b"", token(first)).status, 200)
        self.assertEqual(server.get("/v1/status", token(first)).status, 401)
        self.assertEqual(server.get("/v1/status", token(second)).status, 200)
        server.configure(config("missing"))
        answer = server.post("/-/reload", b"", token(second))
        self.problem(answer, 422)
        self.assertIn("missing", answer.text)
        self.assertEqual(server.get("/v1/status", token(second)).status, 200)
        for secret in (first, second):
            self.assertNotIn(secret, answer.text + server.log())
            self.assertNotIn(secret, run("check", server.config_path).stdout)
        self.assertEqual(server.stop(), 0)

    def test_receivers_change_while_it_runs_and_never_show(self):
        def config(secret, severity="critical"):
            key = "whsec_" + base64.b64encode(f"{secret:>32}".encode()).decode()
            path = os.path.join(self.directory, "slack")
            with open(path, "w", encoding="ascii") as file:
                file.write(f"http://127.0.0.1:9/{secret}\n")
            os.chmod(path, 0o600)
            hidden.update((secret, key))
            return (
                "receivers:\n"
                f"  - {{name: hook, webhook: {{url: 'http://127.0.0.1:9/{secret}',"
                f" secret: {key}}}, match: {{severity: {severity}}}}}\n"
                f"  - {{name: oncall, pagerduty: {{routing_key: {secret},"
                " url: 'http://127.0.0.1:9'}}\n"
                "  - {name: chat, slack: {url_file: slack}}\n"
                f"alive_ping: {{url: 'http://127.0.0.1:9/{secret}'}}\n")

        hidden = set()
        server = self.serve(config("topsecret"))
        told = [server.post("/v1/drill", {"receiver": name}).text
                for name in ("hook", "oncall", "chat")]
        server.configure(config("othersecret"))
        answer = self.reload(server)
        self.assertEqual(
            [change["setting"] for change in answer["changed"]], ["receivers", "alive_ping.url"])
        server.configure(config("othersecret", "warning"))
        answer = self.reload(server)
        self.assertEqual([change["setting"] for change in answer["changed"]], ["receivers.hook"])
        told += [server.get(path).text for path in ("/v1/alerts", "/v1/alerts/history", "/")]
        told.append(run("check", server.config_path).stdout)
        self.assertIn("hook (webhook at http://127.0.0.1:9) is told", told[-1])
        self.assertEqual(server.stop(), 0)
        stored = b""
        for name in sorted(os.listdir(self.directory)):
            if name.startswith(os.path.basename(server.store)):
                with open(os.path.join(self.directory, name), "rb") as file:
                    stored += file.read()
        for secret in hidden:
            self.assertNotIn(secret, str(answer) + "".join(told) + server.log())
            self.assertNotIn(secret.encode(), stored)

    def test_without_a_file_there_is_nothing_to_read(self):
        server = self.serve()
        self.assertEqual(self.reload(server), {
            "file": None, "detail": "there is no file to read again", "changed": [],
            "needs_restart": []})
        self.assertEqual(server.get("/-/reload").status, 405)
        self.assertEqual(server.get("/-/reload").headers["allow"], "POST")

    def test_many_reloads_at_once_amid_writes_end_with_the_file(self):
        server = self.serve("limits: {regions: 100}\n")
        failures = []

        def ask():
            client = server.client()
            for _ in range(20):
                answer = client.request("POST", "/-/reload", b"")
                if answer.status != 200:
                    failures.append(answer)
            client.close()

        def write():
            client = server.client()
            for number in range(100):
                answer = client.request("POST", "/v1/batches", {"responder_id": f"r{number}"})
                if answer.status != 200:
                    failures.append(answer)
            client.close()

        threads = [threading.Thread(target=work) for work in (ask, ask, ask, write, write)]
        for thread in threads:
            thread.start()
        for number in range(50):
            server.configure(f"limits: {{regions: {number + 1}}}\n")
            server.process.send_signal(signal.SIGHUP)
            time.sleep(0.01)
        for thread in threads:
            thread.join(60)
            self.assertFalse(thread.is_alive())
        self.assertEqual(failures, [])
        self.reload(server)
        server.configure("limits: {regions: 7}\n")
        self.assertEqual(
            self.reload(server)["changed"],
            [{"setting": "limits.regions", "from": "50", "to": "7"}])
        self.assertEqual(server.stop(), 0)


class PrecedenceTests(RollcallTestCase):
    def test_variables_and_flags_keep_winning_over_the_file(self):
        server = self.serve(
            "limits: {items: 5}\n", variables={
                "ROLLCALL_LIMITS_ITEMS": "2", "ROLLCALL_STORAGE_PATH": "/nowhere/x.db",
                "ROLLCALL_LOG_FORMAT": "json", "ROLLCALL_SERVICE_HOST": "10.0.0.1",
                "ROLLCALL_LIMITS_ITEM": "9"})
        items = [{"responder_id": str(number)} for number in range(3)]
        self.problem(server.post("/v1/batches", items), 413)
        self.assertTrue(os.path.exists(server.store))
        self.assertTrue(server.log().startswith("{"))
        self.assertIn("ROLLCALL_LIMITS_ITEM: unknown variable, did you mean", server.log())
        self.assertNotIn("SERVICE_HOST", server.log())
        server.configure("limits: {items: 9, regions: 3}\nstorage: {path: other.db}\n")
        answer = server.post("/-/reload", b"").json()
        self.assertEqual(
            answer["changed"], [{"setting": "limits.regions", "from": "256", "to": "3"}])
        self.assertEqual(answer["needs_restart"], [])
        self.problem(server.post("/v1/batches", items), 413)
        self.assertEqual(server.stop(), 0)

    def test_the_file_itself_can_be_named_by_a_variable(self):
        path = os.path.join(self.directory, "by-variable.yml")
        with open(path, "w", encoding="utf-8") as file:
            file.write("limits: {items: 1}\n")
        server = self.serve(variables={"ROLLCALL_CONFIG_FILE": path})
        self.problem(
            server.post("/v1/batches", [{"responder_id": "a"}, {"responder_id": "b"}]), 413)
        self.assertEqual(server.post("/-/reload", b"").json()["file"], path)

    def test_a_wrong_variable_is_named_and_ends_with_64(self):
        outcome = run("serve", variables={"ROLLCALL_LIMITS_ITEMS": "none"})
        self.assertEqual(outcome.returncode, 64)
        self.assertEqual(
            outcome.stderr,
            "rollcall: ROLLCALL_LIMITS_ITEMS: limits.items must be an integer from 1 to 1000000 "
            "(none)\n")
        outcome = run("serve", variables={"ROLLCALL_LOG_LEVEL": "loud"})
        self.assertEqual(outcome.returncode, 64)
        self.assertIn("(loud)", outcome.stderr)

    def test_a_replay_decides_by_its_input_alone(self):
        line = '{"at":"2026-11-21T03:00:00Z","kind":"batch","body":{"responder_id":"a"}}\n'
        end = '{"at":"2026-11-21T03:01:00Z","kind":"end"}\n'
        plain = run("replay", "-", text=line + end)
        other = run("replay", "-", text=line + end, variables={
            "ROLLCALL_LIVENESS_ON_DUTY_EXPECTED": "1s",
            "ROLLCALL_LIVENESS_ON_DUTY_DEGRADED_AFTER": "2s", "ROLLCALL_CONFIG_FILE": "/nowhere"})
        self.assertEqual((plain.returncode, plain.stdout), (other.returncode, other.stdout))
        self.assertNotIn("DEGRADED", plain.stdout)


class CheckTests(RollcallTestCase):
    def test_the_default_file_is_good_and_serves(self):
        whole = run("config")
        self.assertEqual((whole.returncode, whole.stderr), (0, ""))
        check = run("check", "--strict", "-", text=whole.stdout)
        self.assertEqual((check.returncode, check.stderr), (0, ""))
        self.assertEqual(check.stdout, run("check", "-", text="{}\n").stdout)
        self.assertIn("DEGRADED after 90 s and OFFLINE after 180 s", check.stdout)
        server = self.serve(whole.stdout)
        self.assertEqual(server.get("/-/ready").status, 200)

    def test_weak_settings_are_named_and_strict_ends_with_1(self):
        text = duty(60, 60, 100)
        check = run("check", "-", text=text)
        self.assertEqual(check.returncode, 0)
        weak = [line for line in check.stdout.splitlines() if line.startswith("weak: ")]
        self.assertEqual(len(weak), 2)
        self.assertIn("one lost report makes a phone OFFLINE", weak[1])
        strict = run("check", "--strict", "-", text=text)
        self.assertEqual((strict.returncode, strict.stdout), (1, check.stdout))

    def test_a_wrong_file_gets_the_message_of_serve_and_64(self):
        path = os.path.join(self.directory, "wrong.yml")
        for text in ("a: b: c\n", "storage: {retention: 1h}\n", "nudges: {mode: live}\n",
                     "web: {listen_address: localhost}\n"):
            with self.subTest(text):
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
                check, serve = run("check", path), run("serve", "--config.file", path)
                self.assertEqual((check.returncode, check.stdout), (64, ""))
                self.assertEqual((serve.returncode, serve.stderr), (64, check.stderr))
                self.assertIn("wrong.yml: line 1: ", check.stderr)

    def test_variables_that_would_win_are_named_and_do_not(self):
        check = run("check", "-", text="{}\n", variables={"ROLLCALL_STORAGE_RETENTION": "x"})
        self.assertEqual(check.returncode, 0)
        self.assertIn("It keeps 30 d", check.stdout)
        self.assertIn("ROLLCALL_STORAGE_RETENTION is set here and would win", check.stdout)


def run(*arguments, text="", variables=None):
    """A command that ends by itself."""
    return subprocess.run(
        [BINARY, *arguments], input=text, capture_output=True, text=True, timeout=30,
        env=plain_environment() | (variables or {}))


if __name__ == "__main__":
    unittest.main()
