"""Who is let in: tokens, listeners, hosts and origins, at the real binary.

Source: V9.
"""

import base64
import os
import secrets
import socket
import subprocess
import threading
import time
import unittest

from rollcall_process import BINARY, RollcallTestCase, eventually, plain_environment

ALL = "127.0.0.1:0"


class TokenTests(RollcallTestCase):
    def setUp(self):
        super().setUp()
        self.tokens = {name: secrets.token_hex(32) for name in ("pod", "next", "page", "boss")}
        for name, token in self.tokens.items():
            path = os.path.join(self.directory, name)
            with open(path, "w", encoding="ascii", opener=private) as file:
                file.write(token + "\n")
        self.config = f"""
web:
  tokens:
    - {{name: pod, scopes: [ingest], token_file: pod}}
    - {{name: next, scopes: [ingest], token_file: {self.directory}/next}}
    - {{name: page, scopes: [read], token_file: page}}
    - {{name: boss, scopes: [ingest, read, admin], token_file: boss}}
"""

    def bearer(self, name):
        return {"Authorization": f"Bearer {self.tokens[name]}"}

    def test_beyond_loopback_needs_tokens(self):
        for address in ("0.0.0.0:0", "[::]:0"):
            with self.subTest(address):
                store = os.path.join(self.directory, "x.db")
                outcome = subprocess.run(
                    [BINARY, "serve", "--storage.path", store, "--web.listen-address", address],
                    capture_output=True, text=True, timeout=30, env=plain_environment(),
                    cwd=self.directory, stdin=subprocess.DEVNULL)
                self.assertEqual(outcome.returncode, 64)
                self.assertEqual(outcome.stdout, "")
                self.assertIn("web.tokens", outcome.stderr)
                self.assertIn("--insecure", outcome.stderr)
                self.assertFalse(os.path.exists(store))

    def test_insecure_is_taken_at_its_word(self):
        server = self.serve(address="0.0.0.0:0", more=("--insecure",))
        server.write("/v1/batches", {"responder_id": "a"})
        self.assertIn("without tokens", server.log())

    def test_tokens_from_files_open_their_scopes(self):
        server = self.serve(self.config, address="0.0.0.0:0")
        self.assertNotIn("without tokens", server.log())
        batch = {"responder_id": "a"}
        refused = server.post("/v1/batches", batch)
        self.problem(refused, 401)
        self.assertEqual(server.get("/-/healthy").status, 200)
        self.assertEqual(server.get("/-/ready").status, 200)
        self.problem(server.get("/metrics"), 401)
        # Two at once are a rotation.
        for name in ("pod", "next", "boss"):
            server.write("/v1/batches", batch, self.bearer(name))
        self.problem(server.post("/v1/batches", batch, self.bearer("page")), 403)
        self.problem(server.get("/v1/status", self.bearer("pod")), 403)
        people = [{"responder_id": "a"}, {"responder_id": "b"}]
        for name, status in (("page", 403), ("pod", 200)):
            answer = server.request("PUT", "/v1/responders", people, self.bearer(name))
            self.assertEqual(answer.status, status, answer)
        for name, status in (("pod", 403), ("page", 403), ("boss", 202)):
            answer = server.request("DELETE", "/v1/responders/b", headers=self.bearer(name))
            self.assertEqual(answer.status, status, answer)
        self.problem(server.get(answer.headers["location"]), 401)
        self.assertEqual(
            server.get(answer.headers["location"], self.bearer("page")).status, 200)
        for target in ("/", "/metrics", "/v1/status", "/v1/responders", "/v1/responders/a"):
            self.assertEqual(server.get(target, self.bearer("page")).status, 200)
        pair = base64.b64encode(f"anybody:{self.tokens['page']}".encode()).decode()
        self.assertEqual(server.get("/", {"Authorization": f"Basic {pair}"}).status, 200)
        page = server.get("/metrics", self.bearer("page")).text
        self.assertIn('rollcall_http_requests_total{route="batches",code="401"} 1\n', page)
        self.assertIn('rollcall_http_requests_total{route="batches",code="403"} 1\n', page)
        self.assertEqual(server.stop(), 0)
        for token in self.tokens.values():
            self.assertNotIn(token, server.log())

    def test_a_reload_rotates_tokens(self):
        server = self.serve(self.config, address="0.0.0.0:0")
        batch = {"responder_id": "a"}
        old, boss = self.bearer("pod"), self.bearer("boss")
        server.write("/v1/batches", batch, old)
        self.tokens["pod"] = secrets.token_hex(32)
        with open(os.path.join(self.directory, "pod"), "w", encoding="ascii") as file:
            file.write(self.tokens["pod"])
        self.problem(server.request("POST", "/-/reload"), 401)
        self.problem(server.request("POST", "/-/reload", headers=old), 403)
        answer = server.request("POST", "/-/reload", headers=boss)
        self.assertEqual(
            [change["setting"] for change in answer.json()["changed"]], ["web.tokens"])
        self.assertNotIn(self.tokens["pod"], answer.text + server.log())
        self.problem(server.post("/v1/batches", batch, old), 401)
        server.write("/v1/batches", batch, self.bearer("pod"))
        # A file that would open all of it is refused whole, or keeps the tokens.
        server.configure("web: {listen_address: '0.0.0.0:0'}\n")
        server.request("POST", "/-/reload", headers=boss)
        self.problem(server.post("/v1/batches", batch), 401)
        server.write("/v1/batches", batch, boss)

    def test_tokens_are_rotated_under_load_and_nobody_is_refused(self):
        server = self.serve(self.config, address="0.0.0.0:0")
        boss = self.bearer("boss")
        ended = threading.Event()
        answers = [[] for _ in range(4)]
        used = [self.tokens["pod"]]

        def write(place):
            client = server.client(timeout=20)
            while not ended.is_set():
                answer = client.request(
                    "POST", "/v1/batches", {"responder_id": f"p{place}"},
                    {"Authorization": f"Bearer {used[-1]}"})
                answers[place].append(answer.status)
            client.close()

        threads = [threading.Thread(target=write, args=(place,)) for place in range(4)]
        for thread in threads:
            thread.start()
        try:
            # Two are valid at each moment: the one in use, and the one before or after it.
            for number in range(6):
                spare = ("next", "pod")[number % 2]
                self.tokens[spare] = secrets.token_hex(32)
                with open(os.path.join(self.directory, spare), "w", encoding="ascii") as file:
                    file.write(self.tokens[spare])
                self.assertEqual(server.request("POST", "/-/reload", headers=boss).status, 200)
                counts = [len(statuses) for statuses in answers]
                used.append(self.tokens[spare])
                eventually(
                    lambda: all(
                        len(statuses) > count + 5 for statuses, count in zip(answers, counts)),
                    20, "everybody has gone on with the new one")
        finally:
            ended.set()
            for thread in threads:
                thread.join(30)
        self.assertEqual({status for statuses in answers for status in statuses}, {200})
        # The one before still opens; those before it do not any more.
        for place, token in enumerate(used):
            answer = server.post(
                "/v1/batches", {"responder_id": "a"}, {"Authorization": f"Bearer {token}"})
            self.assertEqual(answer.status, 401 if place < len(used) - 2 else 200)

    def test_a_stranger_with_a_long_body_is_answered_before_it_is_read(self):
        server = self.serve(self.config)
        with socket.create_connection(("127.0.0.1", server.port), timeout=5) as connection:
            connection.sendall(
                b"POST /v1/batches HTTP/1.1\r\nHost: localhost\r\nContent-Length: 8000000\r\n\r\n")
            self.assertTrue(connection.recv(65536).startswith(b"HTTP/1.1 401 "))

    def test_many_refusals_are_few_lines(self):
        server = self.serve(self.config)
        began = time.monotonic()
        for _ in range(300):
            self.assertEqual(server.post("/v1/batches", {"responder_id": "a"}).status, 401)
        lines = server.log().count("refused at the door")
        self.assertTrue(1 <= lines <= 2 + (time.monotonic() - began), lines)

    def test_a_token_that_cannot_be_used_is_named_and_not_shown(self):
        with open(os.path.join(self.directory, "pod"), "w", encoding="ascii") as file:
            file.write("too-short\n")
        path = os.path.join(self.directory, "c.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.config)
        outcome = subprocess.run(
            [BINARY, "serve", "--config.file", path], capture_output=True, text=True, timeout=30,
            env=plain_environment(), cwd=self.directory, stdin=subprocess.DEVNULL)
        self.assertEqual(outcome.returncode, 64)
        self.assertIn("pod", outcome.stderr)
        self.assertIn("openssl rand", outcome.stderr)
        self.assertNotIn("too-short", outcome.stderr)


class ListenerTests(RollcallTestCase):
    def test_the_listener_of_its_own_answers_while_the_main_one_is_full(self):
        server = self.serve("web: {metrics_listen_address: '127.0.0.1:0'}\n")
        server.write("/v1/batches", {"responder_id": "a"})
        server.drop_client()
        held = []
        try:
            for _ in range(600):
                connection = socket.create_connection(("127.0.0.1", server.port), timeout=5)
                connection.sendall(b"POST /v1/batches HTTP/1.1\r\nHost: ")
                held.append(connection)
            probes = server.second()
            for target in ("/-/healthy", "/-/ready", "/metrics"):
                began = time.monotonic()
                self.assertEqual(probes.request("GET", target).status, 200)
                # A bound and not a measurement: who waited for the heads would wait for ten seconds.
                self.assertLess(time.monotonic() - began, 5.0)
            for target in ("/", "/v1/status", "/v1/responders/a"):
                self.problem(probes.request("GET", target), 404)
            self.problem(probes.request("POST", "/v1/batches", {"responder_id": "a"}), 404)
            probes.close()
        finally:
            for connection in held:
                connection.close()
        self.assertEqual(server.stop(), 0)

    def test_an_address_that_cannot_be_had_is_named(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            outcome = subprocess.run(
                [BINARY, "serve", "--storage.path", os.path.join(self.directory, "x.db"),
                 "--web.listen-address", ALL, "--web.metrics-listen-address", address],
                capture_output=True, text=True, timeout=30, env=plain_environment(),
                cwd=self.directory, stdin=subprocess.DEVNULL)
        self.assertEqual(outcome.returncode, 1)
        self.assertEqual(outcome.stdout, "")
        self.assertIn("web.metrics_listen_address", outcome.stderr)
        self.assertIn(address, outcome.stderr)
        self.assertFalse(os.path.exists(os.path.join(self.directory, "x.db")))


class BrowserTests(RollcallTestCase):
    def test_a_trusted_host_is_let_in_from_a_reload_on(self):
        server = self.serve("web: {trusted_hosts: []}\n")
        named = {"Host": f"api.example.org-shadow:{server.port}"}
        batch = {"responder_id": "a"}
        refused = self.problem(server.post("/v1/batches", batch, named), 403)
        self.assertIn("web.trusted_hosts", refused["detail"])
        server.configure("web: {trusted_hosts: [api.example.org-shadow]}\n")
        answer = server.request("POST", "/-/reload")
        self.assertEqual(
            [change["setting"] for change in answer.json()["changed"]], ["web.trusted_hosts"])
        server.write("/v1/batches", batch, named)
        # The name alone: not what it ends or begins, and no page of that name.
        for host in ("api.example.org", "evil.api.example.org-shadow", "evil.example"):
            self.problem(server.post("/v1/batches", batch, {"Host": host}), 403)
        self.problem(
            server.post("/v1/batches", batch, {**named, "Origin": f"http://{named['Host']}"}), 403)
        server.configure("web: {trusted_hosts: ['*.example.org']}\n")
        answer = server.request("POST", "/-/reload")
        self.problem(answer, 422)
        self.assertIn("web.trusted_hosts", answer.text)
        # With anything wrong the names from before stay.
        server.write("/v1/batches", batch, named)

    def test_other_hosts_and_origins_are_refused_on_loopback(self):
        server = self.serve("web: {external_url: 'https://watch.example.org/rollcall'}\n")
        for host, status in (
                ("evil.example", 403), (f"evil.example:{server.port}", 403), ("localhost", 200),
                (f"127.0.0.1:{server.port}", 200), ("watch.example.org", 200)):
            with self.subTest(host):
                self.assertEqual(server.get("/v1/status", {"Host": host}).status, status)
        beat = {"every_seconds": 60}
        for origin, status in (
                ("http://evil.example", 403), ("null", 403),
                (f"http://127.0.0.1:{server.port}", 200), ("https://watch.example.org", 200)):
            with self.subTest(origin):
                answer = server.post("/v1/heartbeat", beat, {"Origin": origin})
                self.assertEqual(answer.status, status, answer)
                if status == 403:
                    self.problem(answer, 403)


def private(path, flags):
    return os.open(path, flags, 0o600)


if __name__ == "__main__":
    unittest.main()
