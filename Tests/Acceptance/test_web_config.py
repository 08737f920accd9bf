"""TLS, passwords and headers by the file that every exporter reads: Debian's Prometheus, openssl and
others as clients of the real binary.

Source: V18.
"""

import base64
import crypt
import http.client
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import threading
import time
import unittest

from browser import Browser, program
from rollcall_process import BINARY, RollcallTestCase, eventually, plain_environment
from test_prometheus import Prometheus

PASSWORD = "secret-one"
ALICE = {"Authorization": "Basic " + base64.b64encode(f"alice:{PASSWORD}".encode()).decode()}
REFUSED = (ssl.SSLError, ConnectionError, http.client.HTTPException)


def basic(user, password):
    """The field of a user and a password."""
    return {"Authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}


def hashed(password, cost=5):
    """A password as bcrypt keeps it."""
    return crypt.crypt(password, f"$2y${cost:02d}$abcdefghijklmnopqrstuu")


class Authority:
    """An authority of certificates in a directory; names of files are those of whom they are for."""

    def __init__(self, directory, name="ca"):
        self.directory, self.name = directory, name
        self.run(
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
            "-keyout", f"{name}.key", "-out", f"{name}.pem", "-days", "2", "-subj", f"/CN={name}")

    def run(self, *line):
        subprocess.run(
            ["openssl", *line], cwd=self.directory, check=True, capture_output=True, timeout=60)

    def path(self, name):
        return os.path.join(self.directory, name)

    def sign(self, name, names="DNS:localhost,IP:127.0.0.1", days=2, rsa=None, use=None):
        """A certificate `name`.pem with its key; of negative days it has expired."""
        kind = rsa or ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
        self.run(
            "req", "-newkey", *kind, "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.csr",
            "-subj", f"/CN={name}")
        with open(self.path(f"{name}.ext"), "w", encoding="ascii") as file:
            file.write(f"subjectAltName={names}\nextendedKeyUsage={use or 'serverAuth,clientAuth'}\n")
        self.run(
            "x509", "-req", "-in", f"{name}.csr", "-CA", f"{self.name}.pem", "-CAkey",
            f"{self.name}.key", "-CAcreateserial", "-days", str(days), "-extfile", f"{name}.ext",
            "-out", f"{name}.pem")
        os.chmod(self.path(f"{name}.key"), 0o600)

    def client(self, certificate=None):
        """What a client trusts, and shows."""
        context = ssl.create_default_context(cafile=self.path(f"{self.name}.pem"))
        if certificate is not None:
            context.load_cert_chain(
                self.path(f"{certificate}.pem"), self.path(f"{certificate}.key"))
        return context


class WebConfigTestCase(RollcallTestCase):
    """A directory with an authority and a server's certificate in it."""

    def setUp(self):
        super().setUp()
        self.authority = Authority(self.directory)
        self.authority.sign("server")
        self.web = os.path.join(self.directory, "web.yml")

    def write_web(self, text=None, tls="", yaml="", users=True):
        """Writes the file, which has TLS and one user unless it says otherwise."""
        if text is None:
            text = f"tls_server_config:\n  cert_file: server.pem\n  key_file: server.key\n{tls}"
            if users:
                text += f"basic_auth_users:\n  alice: {hashed(PASSWORD)}\n"
            text += yaml
        with open(self.web + ".new", "w", encoding="utf-8", opener=private) as file:
            file.write(text)
        os.replace(self.web + ".new", self.web)

    def serve_web(self, config=None, client=None, more=(), **web):
        """A server by the file, and a client of it."""
        self.write_web(**web)
        server = self.rollcall(config, more=("--web.config.file", self.web, *more))
        server.context = client or self.authority.client()
        return server.start()

    def outcome(self, *line):
        """A command of the binary that ends."""
        return subprocess.run(
            [BINARY, *line], capture_output=True, text=True, timeout=30, env=plain_environment(),
            cwd=self.directory, stdin=subprocess.DEVNULL)

    def attempt(self, server, context):
        """True if a client with this context is answered."""
        try:
            connection = http.client.HTTPSConnection(
                "localhost", server.port, timeout=10, context=context)
            connection.request("GET", "/-/healthy")
            return connection.getresponse().status == 200
        except REFUSED:
            return False
        finally:
            connection.close()

    def serial(self, server):
        """The serial number of the certificate that a new connection gets."""
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as plain:
            with server.context.wrap_socket(plain, server_hostname="localhost") as secure:
                return secure.getpeercert()["serialNumber"]


def private(path, flags):
    """Nobody else reads what is written."""
    return os.open(path, flags, 0o600)


class ScrapeTests(WebConfigTestCase):
    def test_prometheus_scrapes_over_tls_with_a_password(self):
        server = self.serve_web()
        password = os.path.join(self.directory, "password")
        with open(password, "w", encoding="ascii") as file:
            file.write(PASSWORD)
        prometheus = Prometheus(self.directory, config_text=f"""
global: {{scrape_interval: 1s, scrape_timeout: 1s}}
scrape_configs:
  - job_name: rollcall
    scheme: https
    tls_config: {{ca_file: {self.authority.path("ca.pem")}, server_name: localhost}}
    basic_auth: {{username: alice, password_file: {password}}}
    static_configs: [{{targets: ["127.0.0.1:{server.port}"]}}]
  - job_name: stranger
    scheme: https
    tls_config: {{ca_file: {self.authority.path("ca.pem")}}}
    basic_auth: {{username: alice, password: wrong}}
    static_configs: [{{targets: ["127.0.0.1:{server.port}"]}}]
""")
        self.addCleanup(prometheus.stop)
        eventually(lambda: prometheus.get("/-/ready"), 30, "Prometheus is ready")

        def targets():
            data = prometheus.get("/api/v1/targets")
            found = {t["labels"]["job"]: t for t in (data or {}).get("activeTargets", [])}
            return found if len(found) == 2 and all(
                t["health"] != "unknown" for t in found.values()) else None
        found = eventually(targets, 30, "two scrapes")
        self.assertEqual(found["rollcall"]["health"], "up", found["rollcall"]["lastError"])
        self.assertEqual(found["stranger"]["health"], "down")
        self.assertRegex(found["stranger"]["lastError"], "401|429")
        server.write("/v1/batches", {"responder_id": "a"}, ALICE)
        eventually(
            lambda: prometheus.query('responders_by_status{status="ONLINE",job="rollcall"}').get(
                frozenset({("status", "ONLINE")})) == 1, 20, "one of them ONLINE")


class PasswordTests(WebConfigTestCase):
    def test_a_user_with_a_password_may_do_everything(self):
        server = self.serve_web()
        self.assertEqual(server.get("/-/healthy").status, 200)
        self.assertEqual(server.get("/-/ready").status, 200)
        for headers in (None, basic("alice", "wrong"), basic("bob", PASSWORD), basic("alice", ""),
                        basic("alice", "a" * 5000), {"Authorization": "Basic ???"},
                        {"Authorization": f"Bearer {PASSWORD}"}):
            for target in ("/metrics", "/v1/status", "/", "/v1/none"):
                refused = server.get(target, headers)
                self.assertEqual(refused.status, 401, (headers, target))
                self.assertIn("Basic", refused.headers["www-authenticate"])
            self.assertEqual(server.post("/v1/batches", {"responder_id": "x"}, headers).status, 401)
        server.write("/v1/batches", {"responder_id": "a"}, ALICE)
        self.assertEqual(server.get("/v1/responders/a", ALICE).json()["status"], "ONLINE")
        self.assertEqual(server.get("/v1/responders/x", ALICE).status, 404)
        silence = {"matchers": [{"name": "region", "value": "north"}], "duration": "1h",
                   "author": "x", "comment": "x"}
        answer = server.post("/v1/silences", silence, ALICE)
        self.assertIn(answer.status, (200, 201), answer)
        self.assertEqual(server.post("/-/reload", b"", ALICE).status, 200)
        self.assertEqual(
            server.request("DELETE", "/v1/responders/a", headers=ALICE).status, 202)
        who = server.get("/v1/session", ALICE).json()
        self.assertEqual((who["proof"], who["token"]), ("user", "alice"))
        self.assertEqual(sorted(who["scopes"]), ["act", "admin", "ingest", "read"])
        foreign = {**ALICE, "Origin": "https://evil.example"}
        self.problem(server.post("/v1/silences", silence, foreign), 403)
        # The origin of our own page is https here.
        own = {**ALICE, "Origin": f"https://127.0.0.1:{server.port}"}
        self.assertIn(server.post("/v1/silences", silence, own).status, (200, 201))
        self.problem(server.post(
            "/v1/silences", silence, {**ALICE, "Origin": f"http://127.0.0.1:{server.port}"}), 403)
        log = server.log()
        self.assertNotIn(PASSWORD, log)
        self.assertNotIn("$2y$", log)
        self.assertEqual(server.stop(), 0)

    def test_no_password_is_looked_at_for_a_page_of_another_name(self):
        server = self.serve_web()
        for password in (PASSWORD, "wrong"):
            refused = server.get(
                "/v1/status", {**basic("alice", password), "Host": "evil.example"})
            self.problem(refused, 403)
            self.assertIn("Host", refused.json()["detail"])
        self.assertEqual(server.get("/v1/status", ALICE).status, 200)

    def test_tokens_and_users_stand_side_by_side(self):
        config = """
web:
  tokens:
    - {name: pod, scopes: [ingest], token: 0123456789abcdef0123456789abcdef}
"""
        server = self.serve_web(config)
        pod = "0123456789abcdef0123456789abcdef"
        server.write("/v1/batches", {"responder_id": "a"}, {"Authorization": f"Bearer {pod}"})
        server.write("/v1/batches", {"responder_id": "a"}, basic("anybody", pod))
        self.problem(server.get("/v1/status", {"Authorization": f"Bearer {pod}"}), 403)
        self.assertEqual(server.get("/v1/status", ALICE).status, 200)
        self.problem(server.get("/v1/status", basic("bob", "wrong")), 401)
        self.problem(server.get("/v1/status"), 401)

    def test_what_is_not_loopback_needs_no_token_beside_a_user(self):
        self.write_web()
        server = self.rollcall(address="0.0.0.0:0", more=("--web.config.file", self.web))
        server.context = self.authority.client()
        server.start()
        self.assertEqual(server.get("/v1/status", ALICE).status, 200)
        self.write_web(users=False)
        self.problem(server.post("/-/reload", b"", ALICE), 422)
        self.assertEqual(server.get("/v1/status", ALICE).status, 200)

    def test_users_work_without_tls_and_change_with_a_reload(self):
        text = "basic_auth_users:\n  {}: {}\n"
        self.write_web(text.format("alice", hashed(PASSWORD)))
        server = self.serve(more=("--web.config.file", self.web))
        self.assertEqual(server.get("/v1/status", ALICE).status, 200)
        self.write_web(text.format("bob", hashed("other-one")))
        self.assertEqual(server.get("/v1/status", ALICE).status, 200)
        server.process.send_signal(signal.SIGHUP)
        bob = basic("bob", "other-one")
        eventually(lambda: server.get("/v1/status", bob).status == 200, 10, "the reload")
        self.assertEqual(server.get("/v1/status", ALICE).status, 401)
        # A hash that is none: all or nothing.
        self.write_web(text.format("bob", "plain"))
        self.problem(server.post("/-/reload", b"", bob), 422)
        self.assertEqual(server.get("/v1/status", bob).status, 200)
        self.assertEqual(server.stop(), 0)

    def test_a_salt_with_bits_of_no_salt_is_as_good_as_any(self):
        text = "basic_auth_users:\n  alice: {}\n"
        self.write_web(text.format("$2b$04$ZKGTTIJrOz9.x0cOg8v/ojjDQj09/PKRM4ktz/I.eQZx926Fn1Coa"))
        server = self.serve(more=("--web.config.file", self.web))
        self.assertEqual(server.get("/v1/status", basic("alice", "pw1")).status, 200)
        self.assertEqual(server.get("/v1/status", basic("alice", "pw2")).status, 401)

    def test_wrong_passwords_hold_nobody_up(self):
        """Hundreds of guesses: some are looked at, none is right, and no batch waits or is lost."""
        server = self.serve_web()
        server.write("/v1/batches", {"responder_id": "a"}, ALICE)
        ends = time.monotonic() + 4
        statuses = {}
        lock = threading.Lock()

        def guess(number):
            client = server.client()
            place = 0
            while time.monotonic() < ends:
                place += 1
                try:
                    answer = client.request(
                        "GET", "/metrics", headers=basic("alice", f"guess-{number}-{place}"))
                except (OSError, http.client.HTTPException):
                    client.close()
                    client = server.client()
                    continue
                with lock:
                    statuses[answer.status] = statuses.get(answer.status, 0) + 1
                if answer.status != 401:
                    self.assertEqual(answer.headers["retry-after"], "1")
            client.close()

        threads = [threading.Thread(target=guess, args=(n,)) for n in range(6)]
        for thread in threads:
            thread.start()
        taken = 0
        while time.monotonic() < ends:
            batch = {"responder_id": f"p-{taken}", "updates": [{"sequence": 1, "captured_at": 1}]}
            answer = server.post("/v1/batches", batch, ALICE)
            self.assertEqual(answer.status, 200, answer)
            taken += 1
        for thread in threads:
            thread.join()
        self.assertLessEqual(set(statuses), {401, 429, 503})
        self.assertGreater(statuses.get(429, 0), 10)
        # 20 at once and one a second: nobody buys more of the processor.
        self.assertLess(statuses.get(401, 0), 60)
        self.assertGreater(taken, 20)
        server.kill()
        server.start()
        people = sum(
            value for (name, _), value in server_samples(server, ALICE)
            if name == "responders_by_status")
        self.assertEqual(people, taken + 1)


def server_samples(server, headers):
    """Samples of a scrape that needs a password, each with its name and labels."""
    text = server.get("/metrics", headers).text
    found = re.findall(r"^([a-z_]+)(\{[^}]*\})? (\S+)$", text, re.M)
    return [((name, labels), float(value)) for name, labels, value in found]


class ProtocolTests(WebConfigTestCase):
    def s_client(self, server, *line):
        """openssl as a client that says nothing; what it prints, and whether it shook hands."""
        done = subprocess.run(
            ["openssl", "s_client", "-connect", f"127.0.0.1:{server.port}", "-servername",
             "localhost", "-CAfile", self.authority.path("ca.pem"), *line],
            input="", capture_output=True, text=True, timeout=20)
        return done.returncode == 0 and "Verify return code: 0" in done.stdout, (
            done.stdout + done.stderr)

    OLD = ("-cipher", "DEFAULT:@SECLEVEL=0")

    def test_old_protocols_are_refused(self):
        server = self.serve_web()
        for version in ("-tls1", "-tls1_1"):
            is_done, words = self.s_client(server, version, *self.OLD)
            self.assertFalse(is_done, words)
            self.assertIn("alert", words.lower())
        for version, name in (("-tls1_2", "TLSv1.2"), ("-tls1_3", "TLSv1.3")):
            is_done, words = self.s_client(server, version)
            self.assertTrue(is_done, words)
            self.assertIn(name, words)
        # No key that is stolen later opens what was recorded, and no broken cipher does.
        for cipher in ("AES128-SHA", "AES128-GCM-SHA256", "DES-CBC3-SHA", "RC4-SHA", "NULL-SHA",
                       "aNULL:@SECLEVEL=0"):
            self.assertFalse(self.s_client(server, "-tls1_2", "-cipher", cipher)[0], cipher)

    def test_keys_are_exchanged_by_curves_alone(self):
        """A share of a finite field takes a hundred milliseconds of the thread of all handshakes."""
        server = self.serve_web()
        for group in ("X25519", "P-256", "P-384", "P-521"):
            self.assertTrue(self.s_client(server, "-tls1_3", "-groups", group)[0], group)
        for group in ("ffdhe2048", "ffdhe8192", "X448"):
            is_done, words = self.s_client(server, "-tls1_3", "-groups", group)
            self.assertFalse(is_done, group)
            self.assertIn("alert", words.lower())

    def test_versions_suites_and_curves_are_those_that_are_listed(self):
        server = self.serve_web(tls="  min_version: TLS13\n  curve_preferences: [CurveP384]\n")
        self.assertFalse(self.s_client(server, "-tls1_2")[0])
        self.assertTrue(self.s_client(server, "-tls1_3")[0])
        self.assertFalse(self.s_client(server, "-tls1_3", "-groups", "X25519")[0])
        self.assertTrue(self.s_client(server, "-tls1_3", "-groups", "P-384")[0])
        self.assertFalse(self.s_client(server, "-tls1_3", "-groups", "ffdhe2048")[0])
        # A reload changes them for those who come from now on.
        self.write_web(tls="""  min_version: TLS10
  max_version: TLS12
  cipher_suites: [TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA, TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA]
""")
        self.assertEqual(server.post("/-/reload", b"", ALICE).status, 200)
        self.assertFalse(self.s_client(server, "-tls1_3")[0])
        self.assertTrue(self.s_client(server, "-tls1_2")[0])
        self.assertFalse(self.s_client(server, "-tls1_2", "-cipher", "AESGCM")[0])
        is_done, words = self.s_client(server, "-tls1", *self.OLD)
        self.assertTrue(is_done, words)
        self.assertIn("TLSv1", words)

    def test_plain_http_is_told_what_is_spoken_here(self):
        server = self.serve_web()
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as plain:
            plain.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            answer = b""
            while True:
                part = plain.recv(4096)
                if not part:
                    break
                answer += part
        self.assertTrue(answer.startswith(b"HTTP/1.0 400 "), answer)
        self.assertIn(b"HTTPS", answer)
        for noise in (b"\x00" * 50, b"\x16\x03\x01\xff\xff" + b"x" * 100, b"\x80\x2e\x01\x00\x02"):
            with socket.create_connection(("127.0.0.1", server.port), timeout=30) as plain:
                plain.sendall(noise)
                try:
                    while plain.recv(4096):
                        pass
                except ConnectionError:
                    pass
        self.assertEqual(server.get("/-/healthy").status, 200)

    def test_half_handshakes_hold_nobody_up(self):
        server = self.serve_web("limits: {connections: 64}\n")
        server.write("/v1/batches", {"responder_id": "a"}, ALICE)
        held = []
        for number in range(120):
            plain = socket.socket()
            plain.setblocking(False)
            plain.connect_ex(("127.0.0.1", server.port))
            held.append(plain)
        for plain in held[::2]:
            try:
                plain.send(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
            except OSError:
                pass
        slowest = 0
        for number in range(50):
            began = time.monotonic()
            server.write("/v1/batches", {"responder_id": f"p-{number}"}, ALICE)
            slowest = max(slowest, time.monotonic() - began)
        # Whoever comes now is let in as well, once those who say nothing have given way.
        eventually(
            lambda: self.attempt(server, server.context), 25, "a newcomer's handshake", every=0.2)
        for plain in held:
            plain.close()
        eventually(
            lambda: len(os.listdir(f"/proc/{server.process.pid}/fd")) < 60, 25,
            "their descriptors are given back", every=0.2)
        self.assertEqual(server.stop(), 0)

    def test_bodies_heads_and_refusals_are_those_of_plain_http(self):
        server = self.serve_web("limits: {body: 2MiB}\n")
        items = [{"responder_id": f"p-{n % 500}", "updates": [
            {"sequence": n, "captured_at": 1}]} for n in range(9000)]
        body = b"".join(json.dumps(item).encode() + b"\n" for item in items)
        headers = {**ALICE, "Content-Type": "application/x-ndjson"}
        self.assertGreater(len(body), 500_000)
        answer = server.post("/v1/batches", body, headers)
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual(server.post("/v1/batches", b"x" * (2 << 20 | 1), headers).status, 413)
        self.assertEqual(server.get("/metrics", {**ALICE, "X": "y" * 15_000}).status, 431)
        self.assertEqual(server.request("HEAD", "/metrics", headers=ALICE).body, b"")
        # The head of a body that nobody reads is answered at once, and ends the connection.
        answer = server.request("GET", "/v1/status", b"{}", ALICE)
        self.assertEqual(answer.status, 200)
        people = server.get("/v1/responders?limit=500", ALICE).json()
        self.assertEqual(len(people["responders"]), 500)


class PlacesTests(WebConfigTestCase):
    """Over TLS a stream stays a connection of the library's, and is still none of the limit's."""

    LIMITS = "limits: {connections: 16, streams: 20}\n"

    def connect(self, server, timeout):
        plain = socket.create_connection(("127.0.0.1", server.port), timeout=timeout)
        try:
            return server.context.wrap_socket(plain, server_hostname="localhost")
        except BaseException:
            plain.close()
            raise

    def ask(self, secure):
        """True if the connection goes on behind an answer."""
        secure.sendall(b"GET /-/healthy HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answer = b""
        while b"healthy." not in answer:
            part = secure.recv(4096)
            if not part:
                return False
            answer += part
        return b"Connection: close" not in answer

    def test_connections_are_those_of_the_limit(self):
        server = self.serve_web(self.LIMITS)
        held = []
        for _ in range(16):
            held.append(self.connect(server, 20))
            self.assertTrue(self.ask(held[-1]))
        for secure in held:
            self.assertTrue(self.ask(secure))
        with self.assertRaises(TimeoutError):
            self.connect(server, 1)
        held.pop().close()
        held.append(self.connect(server, 20))
        self.ask(held[-1])
        # Those who wait for a place are let go, too, at a stop.
        waiting = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(8)]
        self.assertEqual(server.stop(), 0)
        for secure in held + waiting:
            secure.close()

    def test_who_asks_now_and_then_over_all_connections_lets_others_in(self):
        server = self.serve_web(self.LIMITS)
        is_over = threading.Event()

        def ask():
            while not is_over.is_set():
                try:
                    with self.connect(server, 20) as secure:
                        while not is_over.is_set() and self.ask(secure):
                            is_over.wait(0.5)
                except OSError:
                    pass

        threads = [threading.Thread(target=ask) for _ in range(40)]
        for thread in threads:
            thread.start()
        try:
            time.sleep(2)
            for _ in range(3):
                with self.connect(server, 25) as newcomer:
                    self.ask(newcomer)
        finally:
            is_over.set()
            for thread in threads:
                thread.join()
        self.assertEqual(server.stop(), 0)


class ClientCertificateTests(WebConfigTestCase):
    def setUp(self):
        super().setUp()
        self.authority.sign("phone", names="DNS:phone.example,URI:spiffe://a/b,IP:192.0.2.7")
        self.authority.sign("late", names="DNS:phone.example", days=-1)
        self.authority.sign("other", names="DNS:other.example")
        self.authority.sign("serverly", names="DNS:phone.example", use="serverAuth")
        self.stranger = Authority(self.directory, "stranger")
        self.stranger.sign("foreign", names="DNS:phone.example")

    def shown(self, certificate):
        """What a client that trusts the server shows of itself."""
        return self.authority.client(certificate)

    def test_certificates_of_clients_are_asked_for_as_the_policy_says(self):
        tls = "  client_auth_type: {}\n{}"
        authorities = "  client_ca_file: ca.pem\n"
        allowed = "  client_allowed_sans: [{}]\n"
        everybody = {"none", "phone", "late", "foreign", "serverly"}
        cases = [
            ("RequestClientCert", "", everybody),
            ("RequireAnyClientCert", "", everybody - {"none"}),
            ("RequireClientCert", "", everybody - {"none"}),
            ("VerifyClientCertIfGiven", authorities, {"none", "phone", "other"}),
            ("RequireAndVerifyClientCert", authorities, {"phone", "other"}),
            ("RequireAndVerifyClientCert", authorities + allowed.format("phone.example"), {"phone"}),
            ("RequireAndVerifyClientCert", authorities + allowed.format("spiffe://a/b"), {"phone"}),
            ("RequireAndVerifyClientCert", authorities + allowed.format("192.0.2.7"), {"phone"}),
            ("RequireAndVerifyClientCert", authorities + allowed.format("example"), set()),
            ("NoClientCert", "", everybody),
        ]
        server = self.serve_web(tls=tls.format(*cases[0][:2]))
        for kind, more, expected in cases:
            self.write_web(tls=tls.format(kind, more))
            server.process.send_signal(signal.SIGHUP)
            for name in sorted(everybody | {"other"}):
                if name == "other" and "Verify" not in kind:
                    continue
                context = self.shown(None if name == "none" else name)
                with self.subTest(kind=kind, more=more, name=name):
                    eventually(
                        lambda: self.attempt(server, context) == (name in expected), 15,
                        f"{name} is let in: {name in expected}", every=0.2)
        self.assertIn("certificate", server.log())

    def test_a_key_that_takes_long_to_verify_is_refused(self):
        self.authority.sign("usual", rsa=["rsa:4096"])
        self.authority.sign("wide", rsa=["rsa:8448", "-pkeyopt", "rsa_keygen_primes:5"])
        self.authority.sign("steep", rsa=["rsa:2048", "-pkeyopt", "rsa_keygen_pubexp:8589934593"])
        server = self.serve_web(tls="  client_auth_type: RequireAndVerifyClientCert\n"
                                "  client_ca_file: ca.pem\n", client=self.shown("phone"))
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            for name, expected in (("usual", True), ("wide", False), ("steep", False)):
                context = self.shown(name)
                context.maximum_version = version
                with self.subTest(name=name, version=version):
                    self.assertEqual(self.attempt(server, context), expected)

    def test_certificates_alone_are_not_enough_by_a_reload(self):
        tls = ("  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: ca.pem\n")
        self.write_web()
        server = self.rollcall(address="0.0.0.0:0", more=("--web.config.file", self.web))
        server.context = self.shown("phone")
        server.start()
        kept = http.client.HTTPSConnection(
            "127.0.0.1", server.port, timeout=10, context=self.authority.client())
        self.addCleanup(kept.close)

        def status():
            kept.request("GET", "/v1/status")
            answer = kept.getresponse()
            answer.read()
            return answer.status
        self.assertEqual(status(), 401)
        self.write_web(users=False, tls=tls)
        refused = server.post("/-/reload", b"", ALICE)
        self.problem(refused, 422)
        self.assertIn("restart", refused.json()["detail"])
        # Nor by way of both.
        self.write_web(tls=tls)
        self.assertEqual(server.post("/-/reload", b"", ALICE).status, 200)
        self.write_web(users=False, tls=tls)
        self.problem(server.post("/-/reload", b"", ALICE), 422)
        self.assertEqual(status(), 401)

    def test_a_good_certificate_is_enough_beyond_loopback(self):
        self.write_web(users=False, tls="  client_auth_type: RequireAndVerifyClientCert\n"
                       "  client_ca_file: ca.pem\n")
        server = self.rollcall(address="0.0.0.0:0", more=("--web.config.file", self.web))
        server.context = self.shown("phone")
        server.start()
        self.assertNotIn("without tokens", server.log())
        server.write("/v1/batches", {"responder_id": "a"})
        words = subprocess.run(
            ["openssl", "s_client", "-connect", f"127.0.0.1:{server.port}", "-tls1_2"], input="",
            capture_output=True, text=True, timeout=20)
        self.assertIn("alert", (words.stdout + words.stderr).lower())
        done = self.outcome(
            "status", "--server", f"https://localhost:{server.port}", "--ca-file",
            self.authority.path("ca.pem"), "--cert-file", self.authority.path("phone.pem"),
            "--key-file", self.authority.path("phone.key"))
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.outcome(
            "status", "--server", f"https://localhost:{server.port}", "--ca-file",
            self.authority.path("ca.pem"))
        self.assertEqual(done.returncode, 69)
        self.assertIn("--cert-file", done.stderr)

    def test_what_is_weak_is_said_at_a_start_too(self):
        self.write_web(tls="  client_auth_type: RequestClientCert\n")
        server = self.rollcall(more=(
            "--web.config.file", self.web, "--web.metrics-listen-address", "0.0.0.0:0"))
        server.context = self.authority.client()
        server.start()
        self.assertIn("keeps nobody out", server.log())
        self.assertIn("without TLS and passwords", server.log())


class RenewalTests(WebConfigTestCase):
    def replace(self, name, source):
        """Puts another file in its place at once, as whoever renews certificates does."""
        with open(self.authority.path(source), "rb") as file:
            content = file.read()
        with open(self.authority.path(name + ".new"), "wb", opener=private) as file:
            file.write(content)
        os.replace(self.authority.path(name + ".new"), self.authority.path(name))

    def test_certificates_are_read_again_without_a_reload(self):
        self.authority.sign("first")
        self.authority.sign("second", rsa=["rsa:2048"])
        self.replace("server.pem", "first.pem")
        self.replace("server.key", "first.key")
        server = self.serve_web()
        kept = server.client()
        self.assertEqual(kept.request("GET", "/v1/status", headers=ALICE).status, 200)
        first = self.serial(server)
        # The certificate alone does not fit the key: the old pair goes on, and the log says so once.
        self.replace("server.pem", "second.pem")
        eventually(lambda: "certificates not read again" in server.log(), 15, "a word in the log")
        self.assertEqual(self.serial(server), first)
        self.replace("server.key", "second.key")
        eventually(lambda: self.serial(server) != first, 15, "the new pair")
        self.assertIn("certificates read again", server.log())
        second = self.serial(server)
        os.unlink(self.authority.path("server.key"))
        eventually(
            lambda: server.log().count("certificates not read again") == 2, 15, "the missing file")
        self.assertEqual(self.serial(server), second)
        # A connection that stands is none of this.
        self.assertEqual(kept.request("GET", "/v1/status", headers=ALICE).status, 200)
        # A reload that cannot read them changes nothing either.
        self.problem(server.post("/-/reload", b"", ALICE), 422)
        self.assertEqual(self.serial(server), second)
        self.assertEqual(server.stop(), 0)

    def test_a_reload_is_all_or_nothing(self):
        server = self.serve_web()
        for text in ("tls_server_config: {}\n", "nonsense: 1\n", "", "basic_auth_users: 5\n"):
            with self.subTest(text):
                self.write_web(text)
                refused = server.post("/-/reload", b"", ALICE)
                self.problem(refused, 422)
                self.assertIn("web.config_file", refused.json()["detail"])
                self.assertEqual(server.get("/v1/status", ALICE).status, 200)
        os.unlink(self.web)
        self.problem(server.post("/-/reload", b"", ALICE), 422)
        self.assertEqual(server.get("/v1/status", ALICE).status, 200)
        self.write_web(yaml="http_server_config: {headers: {X-Frame-Options: deny}}\n")
        self.assertEqual(server.post("/-/reload", b"", ALICE).status, 200)
        self.assertEqual(server.get("/v1/status", ALICE).headers["x-frame-options"], "deny")


class StreamTests(WebConfigTestCase):
    def open_stream(self, server):
        """A stream of events, and the lines that it says first."""
        connection = http.client.HTTPSConnection(
            "localhost", server.port, timeout=15, context=server.context)
        connection.request(
            "GET", "/v1/events", headers={**ALICE, "Accept": "text/event-stream"})
        response = connection.getresponse()
        self.assertEqual(response.status, 200)
        self.assertEqual(response.getheader("x-frame-options"), "deny")
        return connection, response

    def test_events_stream_over_tls(self):
        server = self.serve_web(yaml="http_server_config: {headers: {X-Frame-Options: deny}}\n")
        before = len(os.listdir(f"/proc/{server.process.pid}/fd"))
        streams = [self.open_stream(server) for _ in range(20)]
        for number in range(200):
            server.write("/v1/batches", {"responder_id": f"p-{number}"}, ALICE)
        for connection, response in streams:
            found = 0
            while found < 200:
                line = response.readline()
                self.assertTrue(line, f"the end after {found}")
                found += line.startswith(b"event: status")
        # Those who leave cost nothing any more.
        for connection, response in streams[:19]:
            response.close()
            connection.close()
        eventually(
            lambda: len(os.listdir(f"/proc/{server.process.pid}/fd")) < before + 12, 15,
            "descriptors are given back")
        # Whose password is another one is let go.
        self.write_web(text=None, users=False,
                       yaml=f"basic_auth_users: {{alice: {hashed('another')}}}\n")
        self.assertEqual(server.post("/-/reload", b"", ALICE).status, 200)
        connection, response = streams[19]
        while response.readline():
            pass
        connection.close()
        self.assertEqual(server.stop(), 0)

    def test_a_stop_ends_streams_and_handshakes(self):
        server = self.serve_web(yaml="http_server_config: {headers: {X-Frame-Options: deny}}\n")
        connection, response = self.open_stream(server)
        idle = socket.create_connection(("127.0.0.1", server.port), timeout=10)
        self.assertIn(b"begin", response.readline() + response.readline() + response.readline())
        self.assertEqual(server.stop(), 0)
        idle.close()
        connection.close()


class PageTests(WebConfigTestCase):
    def test_the_page_lives_and_acts_over_tls_by_a_password(self):
        if program() is None:
            self.fail("there is no chromium: Tests/run installs it")
        browser = Browser()
        self.addCleanup(browser.close)
        server = self.serve_web()
        server.write("/v1/batches", {"responder_id": "anna"}, ALICE)
        page = browser.page(login=("alice", PASSWORD))
        self.addCleanup(page.close)
        page.tell("Security.setIgnoreCertificateErrors", {"ignore": True})
        page.open(f"https://127.0.0.1:{server.port}/people/anna")
        page.until("document.querySelector('.view')", "the page shows something")
        page.until("document.body.innerText.includes('alice')", "who one is")
        self.assertTrue(any("/v1/events" in asked for asked in page.asked))
        # What is decided comes by the stream.
        page.open(f"https://127.0.0.1:{server.port}/")
        page.until("document.querySelector('.view')", "the page shows something")
        page.until("!document.body.innerText.includes('2 of 2')", "one person")
        server.write("/v1/batches", {"responder_id": "bert"}, ALICE)
        page.until("/\\b2 of 2\\b|\\b2 can/.test(document.body.innerText)", "the second person")
        self.assertEqual(page.run(
            "fetch('/v1/session').then((r) => r.json()).then((r) => r.scopes.includes('act'))"), True)
        self.assertEqual(page.troubles, [])


class ToolTests(WebConfigTestCase):
    def test_commands_reach_a_server_over_tls(self):
        server = self.serve_web()
        server.write("/v1/batches", {"responder_id": "a"}, ALICE)
        with open(os.path.join(self.directory, "password"), "w", encoding="ascii",
                  opener=private) as file:
            file.write(PASSWORD + "\n")
        reach = ("--server", f"https://localhost:{server.port}", "--ca-file",
                 self.authority.path("ca.pem"), "--user", "alice", "--token-file",
                 os.path.join(self.directory, "password"))
        done = self.outcome("people", *reach, "-o", "ids")
        self.assertEqual((done.returncode, done.stdout), (0, "a\n"), done.stderr)
        done = self.outcome("people", *reach[:2], "-o", "ids")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("TLS", done.stderr)

    def test_what_cannot_be_done_is_refused_in_words(self):
        good = "tls_server_config: {cert_file: server.pem, key_file: server.key"
        self.authority.sign("other")
        cases = [
            ("http_server_config: {http2: true}", "HTTP/1.1"),
            ("rate_limit: {interval: 1s, burst: 2}", "limits"),
            ("tls_server_confg: {}", "tls_server_config"),
            (good + ", client_ca: x}", "client_auth_type"),
            (good + ", min_version: SSL30}", "TLS12"),
            (good + ", client_auth_type: RequireAndVerifyClientCert}", "client_ca_file"),
            ("tls_server_config: {cert_file: server.pem, key_file: other.key}", "key"),
            ("tls_server_config: {cert_file: none.pem, key_file: server.key}", "No such file"),
            ("tls_server_config: {min_version: TLS12}", "cert_file"),
            (good + ", cipher_suites: [TLS_FAKE]}", "TLS_FAKE"),
            ("basic_auth_users: {alice: plain}", "bcrypt"),
            ("basic_auth_users: {alice: " + hashed("x", 4).replace("$04$", "$15$") + "}", "4 to 14"),
            ("tls_server_config: server.pem", "mapping"),
            ("tls_server_config: [server.pem]", "mapping"),
            ("tls_server_config: true", "mapping"),
            ("basic_auth_users: alice", "mapping"),
            (good + ", client_auth_type: RequestClientCert, client_allowed_sans: [a]}",
             "RequireAnyClientCert"),
            ("http_server_config: {headers: {Server: x}}", "Server"),
        ]
        config = os.path.join(self.directory, "rollcall.yml")
        with open(config, "w", encoding="ascii") as file:
            file.write("web: {config_file: web.yml}\n")
        for text, word in cases:
            with self.subTest(text):
                self.write_web(text + "\n")
                for line in (("check", config), (
                        "serve", "--web.config.file", self.web, "--web.listen-address",
                        "127.0.0.1:0")):
                    done = self.outcome(*line)
                    self.assertEqual(done.returncode, 64, done.stderr)
                    self.assertIn(word, done.stderr)
                    self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.write_web()
        done = self.outcome("check", config)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("TLS12 to TLS13", done.stdout)
        self.assertIn("alice", done.stdout)
        self.assertNotIn("$2y$", done.stdout)


if __name__ == "__main__":
    unittest.main()
