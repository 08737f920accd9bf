"""`rollcall report`: one file about a server that runs, hangs, is dead or damaged, and nobody is in it.

Source: V19; V2 (no responder's id in any label).
"""

import base64
import os
import random
import re
import subprocess
import time
import unittest

from loopback_receivers import Hook
from rollcall_process import BINARY, RollcallTestCase, eventually, plain_environment
from test_web_config import PASSWORD, WebConfigTestCase

SOON = 15
PARTS = (
    "Versions", "Machine", "Server", "Status", "Metrics", "What the server tells of itself",
    "Settings as the server has them", "Settings as the file and the variables of this command say",
    "Process", "Disk", "Store")

# Every setting that may hold a name, an address or a secret has a marker in it.
CONFIG = """
web:
  external_url: https://{host}.example/
  person_url: https://{host}.example/{{{{id}}}}
  trusted_hosts: [{host}.example]
  tokens:
    - {{name: {token}, scopes: [ingest, read, act, admin], token_file: {token}.token}}
liveness: {{on_duty: {{expected: 1s, degraded_after: 2s, offline_after: 3s}}}}
coverage: {{regions: [{region}]}}
alerts:
  HighOfflineRate: {{by: region, for: 1s, labels: {{team: {label}}}, annotations: {{note: {label}}}}}
  NoOnlineResponders: {{for: 1s, runbook_url: "https://{host}.example/run"}}
receivers:
  - {{name: {receiver}, webhook: {{url: "{hook}/{path}"}}}}
  - {{name: {receiver}2, slack: {{url: "http://127.0.0.1:9/{path}"}}}}
subscriptions:
  - {{name: {subscription}, url: "http://127.0.0.1:9/{path}", secret_file: {token}.key}}
inputs:
  - {{name: {input}, preset: owntracks}}
alive_ping: {{url: "http://127.0.0.1:9/{path}"}}
otlp:
  endpoint: "http://127.0.0.1:9/{path}"
  bearer_token_file: {token}.token
  headers: [{{name: "{label}", value: "{path}"}}]
  resource: {{"{label}": "{label}"}}
nudges:
  stale_after: 3s
  sink: {{webhook: {{url: "{hook}/{path}"}}}}
"""


def report(directory, *more, seconds=90, **variables):
    """Runs `rollcall report`; its outcome."""
    return subprocess.run(
        [BINARY, "report", *more], capture_output=True, text=True, timeout=seconds, cwd=directory,
        env={**plain_environment(), **variables})


def part(text, title):
    """The lines of a part."""
    found = re.search(rf"^== {re.escape(title)}\n(.*?)(?=^== |\Z)", text, re.M | re.S)
    assert found is not None, (title, text)
    return found.group(1)


class ReportTests(RollcallTestCase):
    def setUp(self):
        super().setUp()
        self.hook = Hook(self)
        draw = random.Random()
        self.marks = {
            name: "zq" + "".join(draw.choice("bcdfghjklmnpqrstvwxz") for _ in range(12))
            for name in (
                "host", "token", "region", "label", "receiver", "path", "subscription", "input",
                "person", "circle", "install", "push", "source", "version", "model", "comment",
                "secret", "author", "folder")}

    def serve_marked(self):
        """A server in whose settings, store, log and metrics markers are wherever one can be."""
        marks = self.marks
        with open(f"{self.directory}/{marks['token']}.token", "w", encoding="ascii") as file:
            file.write(f"{marks['secret']}{marks['secret']}\n")
        os.chmod(file.name, 0o600)
        # The base64 of the marker: what stands in the file is looked for as well.
        self.key = base64.b64encode(marks["secret"].encode() * 2).decode()
        with open(f"{self.directory}/{marks['token']}.key", "w", encoding="ascii") as file:
            file.write(f"whsec_{self.key}\n")
        os.chmod(file.name, 0o600)
        server = self.serve(CONFIG.format(hook=self.hook.url, **marks))
        self.bearer = {"Authorization": f"Bearer {marks['secret']}{marks['secret']}"}
        people = [{
            "responder_id": f"{marks['person']}-{number}", "duty_state": "ON_DUTY",
            "region": marks["region"], "circles": [marks["circle"]],
            "install_id": f"{marks['install']}-{number}", "platform": "ios",
            "os_version": marks["version"], "app_version": marks["version"],
            "manufacturer": marks["model"], "model": marks["model"],
            "updates": [{"sequence": 1, "captured_at": int(time.time() * 1000)}],
        } for number in range(4)]
        source = f"?source={marks['source']}"
        for path, body in (
                (f"/v1/batches{source}", people),
                (f"/v1/heartbeat{source}", {"every_seconds": 60}),
                (f"/v1/responders{source}", [
                    {"responder_id": f"{marks['person']}-1",
                     "push_token": f"ExponentPushToken[{marks['push']}]"}]),
                ("/v1/silences", {
                    "matchers": [f"region={marks['region']}2"], "duration": "1h",
                    "author": marks["author"], "comment": marks["comment"]})):
            answer = server.post(path, body, self.bearer)
            self.assertIn(answer.status, (200, 201), answer)
        self.hook.first(lambda r: b"NoOnlineResponders" in r.body, SOON, "a message")
        eventually(
            lambda: marks["region"] in server.log(), SOON, "the log names the region, as it may")
        return server

    def assertNobody(self, text):
        for name, mark in self.marks.items():
            self.assertNotIn(mark, text.lower(), f"{name} in the report")
        self.assertNotIn(self.key[:16], text)
        self.assertNotIn("127.0.0.1", text)
        self.assertNotIn(self.directory, text)

    def options(self, server, *more):
        return (
            "--server", f"http://127.0.0.1:{server.port}", "--storage.path", server.store,
            "--config.file", server.config_path, "--output", "-",
            "--token-file", f"{self.directory}/{self.marks['token']}.token", *more)

    def test_a_report_has_what_is_looked_for_and_no_marker(self):
        server = self.serve_marked()
        done = report(self.directory, *self.options(server))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        text = done.stdout
        self.assertNobody(text)
        for title in PARTS:
            self.assertNotIn("not had", part(text, title), title)
        self.assertIn(f"process: {server.process.pid}\n", part(text, "Process"))
        self.assertRegex(part(text, "Process"), r"\d+ rollcall\S* [A-Z]{2} cpu\d+ \d+ % ")
        self.assertRegex(part(text, "Process"), r"\d+ StateWriter\S* [A-Z]{2} cpu")
        self.assertIn("readiness: 200, in ", part(text, "Server"))
        self.assertIn("responders.OFFLINE: 4\n", part(text, "Status"))
        self.assertRegex(part(text, "Metrics"), r'rollcall_responders\{region="region-\d+",status="OFFLINE"\} 4\n')
        settings = part(text, "Settings as the server has them")
        self.assertIn("liveness.on_duty.offline_after: 3s\n", settings)
        self.assertIn("receivers: (2: webhook, slack)\n", settings)
        self.assertIn("web.external_url: (set)\n", settings)
        self.assertIn(
            "liveness.on_duty.offline_after: 3s\n",
            part(text, "Settings as the file and the variables of this command say"))
        store = part(text, "Store")
        self.assertIn("integrity of all of it: ok\n", store)
        self.assertRegex(store, r"STORE: \d+ bytes, mode 600, ours")
        log = part(text, "Log, from the server")
        self.assertRegex(log, r'level=info component=rollcall msg="store opened"')
        # The same name stands for the same region everywhere.
        alias = re.search(r'rollcall_responders\{region="(region-\d+)",status="OFFLINE"\} 4', text)[1]
        self.assertRegex(log, rf"alertname=NoOnlineResponders .*region={alias}\b")
        named = report(self.directory, *self.options(server, "--with-names")).stdout
        self.assertIn(f'region="{self.marks["region"]}"', named)
        for name in ("person", "install", "push", "secret", "path", "circle", "comment", "author"):
            self.assertNotIn(self.marks[name], named.lower())

    def test_a_server_that_stands_still_is_said_to(self):
        server = self.serve_marked()
        server.pause()
        began = time.monotonic()
        text = report(self.directory, *self.options(server)).stdout
        took = time.monotonic() - began
        server.resume()
        self.assertLess(took, 60)
        self.assertNobody(text)
        self.assertIn("does not answer within 5 s: stopped, hung or overloaded", part(text, "Server"))
        self.assertIn("not asked: the server does not answer", part(text, "Metrics"))
        self.assertIn("State: T (stopped)", part(text, "Process"))
        self.assertRegex(part(text, "Process"), r" TT cpu\d+ 0 % ")
        self.assertIn("integrity of all of it: ok\n", part(text, "Store"))
        self.assertIn("liveness.on_duty.offline_after: 3s\n", text)

    def test_a_dead_server_and_a_damaged_store_leave_a_report(self):
        server = self.serve_marked()
        server.kill()
        files = {name: open(f"{server.store}{name}", "rb").read() for name in ("", "-wal")}
        text = report(self.directory, *self.options(server)).stdout
        self.assertNobody(text)
        self.assertIn("health: not had: nobody listens there", part(text, "Server"))
        self.assertIn("not had", part(text, "Process"))
        self.assertIn("integrity of all of it: ok\n", part(text, "Store"))
        self.assertRegex(part(text, "Log"), "not had from the server: see above")
        for name, content in files.items():
            with open(f"{server.store}{name}", "rb") as file:
                self.assertEqual(file.read(), content, "a report writes nothing into the store")
        with open(server.store, "r+b") as file:
            file.write(self.marks["person"].encode() * 300)
        os.unlink(server.store + "-wal")
        text = report(self.directory, *self.options(server)).stdout
        self.assertNobody(text)
        self.assertIn("not had: file is not a database (SQLite 26)", part(text, "Store"))
        os.unlink(server.store)
        text = report(self.directory, *self.options(server)).stdout
        self.assertIn("not had: there is no store of this name", part(text, "Store"))

    def test_a_token_that_opens_less_is_told_part_by_part(self):
        server = self.serve_marked()
        told = report(self.directory, *[
            word for word in self.options(server) if "token" not in word]).stdout
        self.assertIn("readiness: 200", part(told, "Server"))
        self.assertIn(
            "not had: it wants a token (--token-file) with the scope read", part(told, "Metrics"))
        self.assertIn("with the scope admin", part(told, "What the server tells of itself"))
        self.assertNobody(told)

    def test_a_file_is_for_its_owner_and_overwrites_nothing(self):
        server = self.serve()
        options = ("--server", f"http://127.0.0.1:{server.port}", "--storage.path", server.store)
        done = report(self.directory, *options)
        self.assertEqual(done.returncode, 0, done)
        found = re.match(r"(rollcall-report-\d{8}T\d{6}Z\.txt): \d+ bytes, \d+ lines", done.stdout)
        self.assertIsNotNone(found, done)
        path = f"{self.directory}/{found[1]}"
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        again = report(self.directory, *options, "--output", found[1])
        self.assertEqual(again.returncode, 64, again)
        self.assertIn("is there already; a report overwrites nothing", again.stderr)

    def test_the_servers_part_needs_the_scope_admin(self):
        server = self.serve_marked()
        self.problem(server.get("/-/report"), 401)
        answer = server.get("/-/report", self.bearer).json()
        self.assertEqual(answer["process"], server.process.pid)
        settings = {each["setting"]: each for each in answer["settings"]}
        self.assertEqual(
            settings["storage.retention"],
            {"setting": "storage.retention", "value": "30d", "default": True})
        for name in ("host", "secret", "path"):
            self.assertNotIn(self.marks[name], str(answer["settings"]))


class ReportOverTLSTests(WebConfigTestCase):
    def write(self, name, text):
        path = os.path.join(self.directory, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o600)
        return path

    def test_it_is_let_in_as_every_command_is_at_the_address_of_the_settings(self):
        self.authority.sign("client")
        server = self.serve_web(
            tls="  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: ca.pem\n",
            client=self.authority.client("client"))
        settings = self.write(
            "report.yml", f"web: {{listen_address: '127.0.0.1:{server.port}', config_file: web.yml}}\n")
        options = [
            "--config.file", settings, "--storage.path", server.store, "--output", "-",
            "--user", "alice", "--token-file", self.write("password", PASSWORD),
            "--ca-file", self.authority.path("ca.pem")]
        shown = ["--cert-file", self.authority.path("client.pem"), "--key-file", self.authority.path("client.key")]
        done = report(self.directory, *options, *shown)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for title in PARTS:
            self.assertNotIn("not had", part(done.stdout, title), title)
        self.assertIn(
            "asked where the settings have it listen: --server says another", part(done.stdout, "Server"))
        self.assertNotIn("127.0.0.1", done.stdout)
        # Without the certificate that is asked for nobody is let in, and a server named is the one asked.
        self.assertIn("health: not had: ", part(report(self.directory, *options).stdout, "Server"))
        other = part(
            report(self.directory, *options, *shown, "--server", "http://127.0.0.1:9").stdout, "Server")
        self.assertEqual(other.splitlines()[0], "health: not had: nobody listens there")

    def test_a_password_that_is_not_theirs_is_said_to_be_none(self):
        server = self.serve_web()
        text = report(
            self.directory, "--server", f"https://localhost:{server.port}", "--user", "alice",
            "--token-file", self.write("wrong", "something-else"), "--ca-file",
            self.authority.path("ca.pem"), "--output", "-").stdout
        self.assertIn("not had: it does not know the user with this password", part(text, "Metrics"))


if __name__ == "__main__":
    unittest.main()
