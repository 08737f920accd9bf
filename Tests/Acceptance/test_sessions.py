"""A browser signs in with a token: what its cookie opens, what it does not, and when it ends.

Source: R7, E3, and the scope `act`.
"""

import base64
import http.client
import json
import os
import signal
import socket
import subprocess
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

from cluster_process import ClusterTestCase, Etcd, Members
from rollcall_process import (
    BINARY, RollcallTestCase, eventually, milliseconds, now_ms, plain_environment)

KEYS = {name: f"{name}-0123456789abcdef" for name in ("ops", "eye", "boss", "phones")}
SCOPES = {"ops": "[act, read]", "eye": "[read]", "boss": "[admin, read, ingest]",
          "phones": "[ingest]"}
SILENCE = {"matchers": ["region=x"], "duration": "1h", "author": "kim", "comment": "mast"}
HOURS = 3_600_000
SOON = 15


def settings(*names, more=""):
    """The settings of these tokens."""
    lines = [f"    - {{name: {name}, scopes: {SCOPES[name]}, token: {KEYS[name]}}}"
             for name in names or KEYS]
    return "\n".join(["web:", *more.splitlines(), "  tokens:", *lines]) + "\n"


class Browser:
    """What a browser sends of itself: the cookies that it keeps, and its page's origin."""

    def __init__(self, server, origin=None, host=None):
        self.server = server
        self.origin = origin or f"http://127.0.0.1:{server.port}"
        self.host = host
        self.cookies = {}
        self.fields = []

    def ask(self, method, target, body=None, cookies=None, **fields):
        """A request with all cookies and the origin; a field of None is left out. Keeps what is set."""
        kept = self.cookies if cookies is None else cookies
        head = {"Origin": self.origin if method != "GET" else None, "Host": self.host,
                "Cookie": "; ".join(f"{name}={value}" for name, value in kept.items()) or None}
        head.update({name.replace("_", "-"): value for name, value in fields.items()})
        data = None if body is None else json.dumps(body).encode()
        if data is not None:
            head.setdefault("Content-Type", "application/json")
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=10)
        try:
            connection.request(
                method, target, data,
                {name: value for name, value in head.items() if value is not None})
            response = connection.getresponse()
            text = response.read()
            self.fields = response.headers.get_all("Set-Cookie") or []
            self.challenges = response.headers.get_all("WWW-Authenticate") or []
            self.retry_after = response.headers.get("Retry-After")
        finally:
            connection.close()
        for field in self.fields:
            pair, *attributes = field.split("; ")
            name, _, value = pair.partition("=")
            if "Max-Age=0" in attributes:
                self.cookies.pop(name, None)
            else:
                self.cookies[name] = value
        self.text = text.decode()
        return response.status

    def json(self):
        """What the last answer says."""
        return json.loads(self.text)

    def sign_in(self, name="ops"):
        """Signs in with a token; the status."""
        return self.ask("POST", "/v1/session", {"token": KEYS[name]})

    def who(self):
        """Who one is, by the cookies."""
        self.ask("GET", "/v1/session")
        return self.json()


class SessionTestCase(RollcallTestCase):
    def signed_in(self, server, name="ops", **options):
        browser = Browser(server, **options)
        self.assertEqual(browser.sign_in(name), 200, browser.text)
        return browser

    def refused(self, browser, status, words, *arguments, **options):
        """A request is refused, and says why."""
        self.assertEqual(browser.ask(*arguments, **options), status, browser.text)
        self.assertIn(words, browser.json()["detail"])


class SignInTests(SessionTestCase):
    def test_a_cookie_that_no_script_reads_says_who_one_is(self):
        server = self.serve(settings(more="  person_url: 'https://a.example/p/{id}'"))
        browser = Browser(server)
        self.assertEqual(browser.who(), {
            "proof": "none", "token": None, "scopes": [], "until": None, "person_url": None})
        before = now_ms()
        self.assertEqual(browser.sign_in(), 200)
        field, = browser.fields
        pair, *attributes = field.split("; ")
        self.assertRegex(pair, r"^rollcall_session=[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]+$")
        self.assertEqual(
            attributes, ["Max-Age=43200", "Path=/", "HttpOnly", "SameSite=Strict"])
        said = browser.json()
        self.assertTrue(before <= milliseconds(said.pop("until")) - 12 * HOURS <= now_ms())
        self.assertEqual(said, {
            "proof": "session", "token": "ops", "scopes": ["read", "act"],
            "person_url": "https://a.example/p/{id}"})
        self.assertEqual(browser.who()["token"], "ops")
        # Asked about at once it is not written anew.
        self.assertEqual(browser.fields, [])
        self.assertNotIn(KEYS["ops"], server.log() + browser.cookies["rollcall_session"])
        self.assertNotIn(browser.cookies["rollcall_session"], server.log())

    def test_others_are_told_who_they_are_too(self):
        server = self.serve(settings())
        letters = base64.b64encode(f"any:{KEYS['boss']}".encode()).decode()
        for field, proof, scopes in (
                (f"Bearer {KEYS['boss']}", "bearer", ["ingest", "read", "act", "admin"]),
                (f"Basic {letters}", "password", ["ingest", "read", "admin"]),
                ("Bearer strange-0123456789", "none", [])):
            browser = Browser(server)
            browser.ask("GET", "/v1/session", Authorization=field)
            self.assertEqual((browser.json()["proof"], browser.json()["scopes"]), (proof, scopes))
            self.assertEqual(browser.fields, [])

    def test_where_nobody_needs_a_token_nobody_needs_to_sign_in(self):
        server = self.serve("web: {person_url: 'https://a.example/{id}'}\n")
        browser = Browser(server)
        who = {"proof": "open", "token": None, "scopes": ["ingest", "read", "act", "admin"],
               "until": None, "person_url": "https://a.example/{id}"}
        self.assertEqual(browser.who(), who)
        self.assertEqual(browser.sign_in(), 200)
        self.assertEqual((browser.json(), browser.fields), (who, []))
        # It acts from its own page and from none else's.
        self.assertEqual(browser.ask("POST", "/v1/silences", SILENCE), 200)
        for origin in ("http://evil.example", "null"):
            self.refused(browser, 403, "origin", "POST", "/v1/silences", SILENCE, Origin=origin)

    def test_only_our_own_page_signs_in(self):
        server = self.serve(settings())
        for origin in (None, "null", "http://evil.example", f"https://127.0.0.1:{server.port}",
                       f"http://127.0.0.1:{server.port}.evil.example", "http://127.0.0.1"):
            browser = Browser(server)
            self.refused(browser, 403, "rigin", "POST", "/v1/session", {"token": KEYS["ops"]},
                         Origin=origin)
            self.assertEqual(browser.fields, [], origin)

    def test_what_is_no_token_that_reads_is_refused_in_words(self):
        server = self.serve(settings())
        browser = Browser(server)
        for body, status, words in (
                ({"token": KEYS["phones"]}, 403, "scope read"), ({"token": "x" * 300}, 401, "not known"),
                ({"token": ""}, 401, "not known"), ({}, 422, "/token"), ({"token": 7}, 422, "/token"),
                ({"token": KEYS["ops"], "x": "y" * 5000}, 413, "4096")):
            self.refused(browser, status, words, "POST", "/v1/session", body)
            self.assertEqual(browser.fields, [])
        # No browser asks for a password by this.
        browser.ask("POST", "/v1/session", {"token": "x" * 300})
        self.assertEqual(browser.challenges, ['Bearer realm="rollcall"'])

    def test_a_strangers_body_is_not_read_beyond_its_limit(self):
        server = self.serve(settings())
        for head in (b"Content-Length: 5000\r\n\r\n" + b"x" * 5000,
                     b"Transfer-Encoding: chunked\r\n\r\n1388\r\n" + b"x" * 5000):
            with socket.create_connection(("127.0.0.1", server.port), timeout=5) as connection:
                connection.sendall(
                    b"POST /v1/session HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nOrigin: http://127.0.0.1:%d\r\n"
                    % (server.port, server.port) + head)
                answer = connection.recv(65536)
                self.assertTrue(answer.startswith(b"HTTP/1.1 413 "), answer)

    def assert_nothing_is_heard_behind(self, server, head, end):
        """Who waits for a page of events as `head` says hears of nobody behind `end`, which takes it away."""
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(server.client(timeout=30).request, "GET",
                                  "/v1/events?after=now&wait=20&kinds=person", None, head)
            time.sleep(1)
            end()
            eventually(lambda: server.get("/v1/status", head).status == 401, SOON, "it is taken away")
            server.write("/v1/batches", [{"responder_id": "anna"}],
                         {"Authorization": f"Bearer {KEYS['phones']}"})
            answer = waiting.result(25)
        self.assertEqual(answer.status, 401)
        self.assertNotIn("anna", answer.text)

    def test_a_page_of_events_that_is_waited_for_ends_with_its_token(self):
        server = self.serve(settings())

        def end():
            server.configure(settings().replace(KEYS["eye"], "another-0123456789abcdef"))
            server.process.send_signal(signal.SIGHUP)

        self.assert_nothing_is_heard_behind(
            server, {"Authorization": f"Bearer {KEYS['eye']}"}, end)

    def test_a_page_of_events_that_is_waited_for_ends_with_its_session(self):
        server = self.serve(settings())
        browser = self.signed_in(server)
        (name, value), = browser.cookies.items()
        self.assert_nothing_is_heard_behind(
            server, {"Cookie": f"{name}={value}"},
            lambda: self.assertEqual(browser.ask("DELETE", "/v1/session"), 200))

    def test_tokens_are_not_found_by_trying(self):
        server = self.serve(settings())
        browser = Browser(server)
        statuses = [browser.ask("POST", "/v1/session", {"token": f"guess-{n:020}"})
                    for n in range(40)]
        self.assertEqual(statuses[:20], [401] * 20)
        self.assertIn(429, statuses[20:])
        self.assertLessEqual(statuses.count(401), 20 + 15)
        # Each second lets one more be tried.
        eventually(
            lambda: browser.ask("POST", "/v1/session", {"token": "guess-00000000000000"}) == 429, SOON,
            "it is one too many")
        self.assertEqual((browser.retry_after, browser.json()["title"]), ("1", "Too Many Requests"))
        # Nobody keeps whoever has a token out by trying.
        self.assertEqual(browser.sign_in(), 200)
        # Whoever shows a token, or is signed in, notices nothing.
        self.assertEqual(
            server.get("/v1/status", {"Authorization": f"Bearer {KEYS['eye']}"}).status, 200)
        self.assertLessEqual(server.log().count("refused at the door"), 10)


class ActingTests(SessionTestCase):
    def test_a_session_reads_and_acts_under_the_tokens_name(self):
        server = self.serve(settings())
        browser = self.signed_in(server)
        for target in ("/", "/v1/status", "/v1/responders", "/metrics", "/openapi.json"):
            self.assertEqual(browser.ask("GET", target), 200, target)
        self.assertEqual(browser.ask("POST", "/v1/silences", SILENCE), 200)
        silence = browser.json()["silence"]["id"]
        self.assertEqual(browser.ask("DELETE", f"/v1/silences/{silence}"), 200)
        browser.ask("GET", "/v1/events?kinds=action")
        self.assertEqual(
            [(one["by"], one["token"]) for one in browser.json()["events"]],
            [("kim", "ops"), ("ops", "ops")])

    def test_what_another_page_makes_a_browser_send_is_refused(self):
        server = self.serve(settings())
        browser = self.signed_in(server)
        for origin in ("http://evil.example", "null", None, f"https://127.0.0.1:{server.port}",
                       f"http://localhost:{server.port}", "", f"http://127.0.0.1:{server.port}/"):
            for method, target, body in (
                    ("POST", "/v1/silences", SILENCE), ("DELETE", "/v1/silences/1", None),
                    ("POST", "/v1/incidents/1/take", {}), ("DELETE", "/v1/incidents/1/take", None),
                    ("POST", "/v1/drill", {"receiver": "x"}), ("DELETE", "/v1/session", None),
                    ("POST", "/v1/nudges", {"responder_id": "a"})):
                self.refused(browser, 403, "rigin", method, target, body, Origin=origin)
        self.assertEqual(browser.ask("GET", "/v1/silences"), 200)
        self.assertEqual(browser.json()["silences"], [])
        # Nothing of it ended the session, and to read needs no origin.
        self.assertEqual(browser.ask("HEAD", "/v1/status"), 200)
        self.assertEqual(browser.ask("GET", "/v1/status", Origin="http://evil.example"), 200)
        for method in ("PUT", "PATCH", "OPTIONS", "TRACE"):
            self.assertEqual(browser.ask(method, "/v1/silences", Origin=None), 405, method)

    def test_it_opens_what_its_token_does_and_never_more_than_reading_and_acting(self):
        server = self.serve(settings())
        eye = self.signed_in(server, "eye")
        self.refused(eye, 403, "lacks the scope act", "POST", "/v1/silences", SILENCE)
        self.assertEqual(eye.ask("GET", "/v1/status"), 200)
        boss = self.signed_in(server, "boss")
        self.assertEqual(boss.json()["scopes"], ["read", "act"])
        self.assertEqual(boss.ask("POST", "/v1/silences", SILENCE), 200)
        for method, target, body in (
                ("POST", "/-/reload", None), ("DELETE", "/v1/responders/a", None),
                ("POST", "/v1/batches", {"responder_id": "a"}),
                ("PUT", "/v1/responders?shrink=allow", [{"responder_id": "a"}]),
                ("POST", "/v1/heartbeat", {"every_seconds": 60}),
                ("POST", "/v1/wakes", {"circle": "c", "viewer": "a"})):
            self.refused(boss, 403, "read and act", method, target, body)

    def test_a_password_reads_and_does_not_act_and_a_session_beside_it_does(self):
        server = self.serve(settings())
        letters = base64.b64encode(f"any:{KEYS['ops']}".encode()).decode()
        browser = Browser(server)
        basic = {"Authorization": f"Basic {letters}"}
        self.assertEqual(browser.ask("GET", "/", **basic), 200)
        self.refused(browser, 403, "sign in", "POST", "/v1/silences", SILENCE, **basic)
        self.assertEqual(browser.sign_in(), 200)
        self.assertEqual(browser.ask("POST", "/v1/silences", SILENCE, **basic), 200)
        self.refused(
            browser, 403, "rigin", "POST", "/v1/silences", SILENCE, Origin=None, **basic)
        # Whoever shows a Bearer is that, and needs no origin.
        bearer = {"Authorization": f"Bearer {KEYS['eye']}"}
        browser.ask("GET", "/v1/session", **bearer)
        self.assertEqual((browser.json()["proof"], browser.json()["token"]), ("bearer", "eye"))
        self.refused(browser, 403, "act", "POST", "/v1/silences", SILENCE, **bearer)
        self.assertEqual(
            browser.ask("GET", "/v1/status", Authorization="Bearer strange-0123456789"), 401)

    def test_only_a_challenge_that_no_page_meets_asks_for_a_password(self):
        server = self.serve(settings())
        browser = Browser(server)
        both = ['Bearer realm="rollcall"', 'Basic realm="rollcall", charset="UTF-8"']
        for accept, target, expected in (
                (None, "/v1/status", both), ("*/*", "/v1/status", both), ("*/*", "/", both),
                ("application/json", "/v1/status", both[:1]),
                ("text/event-stream", "/v1/events", both[:1]),
                ("text/html,*/*;q=0.8", "/alerts", both[:1]),
                ("text/html,*/*;q=0.8", "/alerts?login=basic", both)):
            self.assertEqual(browser.ask("GET", target, Accept=accept), 401)
            self.assertEqual(browser.challenges, expected, (accept, target))


class MembersTests(ClusterTestCase):
    def test_a_session_of_one_member_holds_at_each_and_acts_at_those_who_follow(self):
        members = Members(self, Etcd(self, members=1), names="ab", settings=settings())
        members.start()
        bearer = {"Authorization": f"Bearer {KEYS['ops']}"}

        def leads():
            found = [name for name in "ab" if members[name].get("/-/leader").status == 200]
            return found[0] if len(found) == 1 else None

        leader = eventually(leads, SOON, "one leads")
        follower = members["b" if leader == "a" else "a"]
        eventually(
            lambda: follower.get("/v1/cluster", bearer).json()["leader_address"], SOON, "who leads")
        browser = Browser(follower)
        eventually(lambda: browser.sign_in() == 200, SOON, "it is up")
        self.silence(browser, "one")
        self.assertEqual(browser.ask("POST", "/v1/silences", SILENCE, Origin=None), 403)
        self.assertEqual(
            browser.ask("POST", "/v1/silences", SILENCE, Origin="http://evil.example"), 403)
        there = Browser(members[leader])
        there.cookies = dict(browser.cookies)
        self.assertEqual(there.who()["token"], "ops")
        self.silence(there, "two")

        def told():
            there.ask("GET", "/v1/events?kinds=action")
            return len(there.json()["events"]) >= 2

        eventually(told, SOON, "both are told there")
        self.assertEqual([one["token"] for one in there.json()["events"]], ["ops", "ops"])

    def silence(self, browser, name):
        """A silence is set; sent again under its name where nobody leads for a moment, it is set once."""
        def answered():
            status = browser.ask("POST", "/v1/silences", SILENCE, Idempotency_Key=name)
            return status if status != 503 else None

        self.assertEqual(eventually(answered, SOON, "somebody leads"), 200, browser.text)


class EndTests(SessionTestCase):
    def test_a_cookie_that_somebody_wrote_is_nobodys(self):
        server = self.serve(settings())
        browser = self.signed_in(server)
        own = browser.cookies["rollcall_session"]
        parts = own.split(".")

        def with_part(place, text):
            return ".".join(text if n == place else part for n, part in enumerate(parts))

        eye = "eye".encode().hex()
        later = str(int(parts[4]) + 1000)
        for text in (
                with_part(1, eye), with_part(2, "0"), with_part(3, "0"), with_part(4, later),
                with_part(4, "9223372036854775807"), with_part(5, "0" * 64), with_part(5, ""),
                with_part(5, parts[5].upper()), with_part(5, parts[5][:-2]), with_part(0, "2"),
                with_part(2, "0" + parts[2]), with_part(4, "+" + parts[4]), own + ".", own + "00",
                "", ".....", "1", KEYS["ops"], own[::-1], "1." + "ff" * 200 + "." + own, " "):
            self.assertEqual(
                browser.ask("GET", "/v1/status", cookies={"rollcall_session": text}), 401, text)
        self.assertEqual(browser.ask("GET", "/v1/status", cookies={"other": own}), 401)
        self.assertEqual(browser.ask("GET", "/v1/status", cookies={"x": "1", **browser.cookies}), 200)

    def test_of_two_cookies_of_different_tokens_neither_counts(self):
        server = self.serve(settings())
        ops, eye = self.signed_in(server), self.signed_in(server, "eye")
        own, others = (one.cookies["rollcall_session"] for one in (ops, eye))
        again = self.signed_in(server).cookies["rollcall_session"]

        def status(*values):
            field = "; ".join(f"rollcall_session={value}" for value in values)
            return ops.ask("GET", "/v1/status", cookies={}, Cookie=field)

        self.assertEqual(status(own, others), 401)
        self.assertEqual(status(others, own), 401)
        # What is nobody's beside it does nothing, nor does another of the same token.
        self.assertEqual(status("strange", own), 200)
        self.assertEqual(status(own, again), 200)
        self.assertEqual(status(*["strange"] * 9, own), 401)

    def test_it_ends_with_its_token_and_so_does_what_it_follows(self):
        server = self.serve(settings())
        browser, other = self.signed_in(server), self.signed_in(server, "eye")
        stream = self.stream(server, browser)
        kept = self.stream(server, other)
        server.configure(settings("eye", "boss", "phones"))
        boss = {"Authorization": f"Bearer {KEYS['boss']}"}
        self.assertEqual(server.request("POST", "/-/reload", headers=boss).status, 200)
        self.assert_ends(stream)
        self.assertEqual(browser.ask("GET", "/v1/status"), 401)
        self.refused(browser, 401, "token", "POST", "/v1/silences", SILENCE)
        self.assertEqual(browser.who()["proof"], "none")
        self.assertEqual(other.ask("GET", "/v1/status"), 200)
        # Under the same name another token is another.
        changed = settings().replace(KEYS["ops"], "ops-fedcba9876543210")
        server.configure(changed)
        self.assertEqual(server.request("POST", "/-/reload", headers=boss).status, 200)
        self.assertEqual(browser.ask("GET", "/v1/status"), 401)
        # With fewer scopes it opens less.
        server.configure(settings().replace("name: ops, scopes: [act, read]",
                                            "name: ops, scopes: [read]"))
        self.assertEqual(server.request("POST", "/-/reload", headers=boss).status, 200)
        self.assertEqual(browser.who()["scopes"], ["read"])
        kept.settimeout(0.5)
        with self.assertRaises(TimeoutError):
            while kept.recv(65536):
                pass

    def test_signing_out_ends_it_here_and_what_it_follows(self):
        server = self.serve(settings())
        browser = self.signed_in(server)
        stolen = dict(browser.cookies)
        stream = self.stream(server, browser)
        self.assertEqual(browser.ask("DELETE", "/v1/session"), 200)
        self.assertEqual((browser.json()["proof"], browser.cookies), ("none", {}))
        self.assertIn("Max-Age=0", browser.fields[0])
        self.assert_ends(stream)
        self.assertEqual(browser.ask("GET", "/v1/status", cookies=stolen), 401)
        self.assertEqual(browser.ask("DELETE", "/v1/session"), 200)
        # Who signs in anew has another; the one before is over with it.
        first = self.signed_in(server)
        before = dict(first.cookies)
        self.assertEqual(first.sign_in("eye"), 200)
        self.assertEqual(first.ask("GET", "/v1/status", cookies=before), 401)
        self.assertEqual(first.who()["token"], "eye")

    def test_it_outlives_the_process(self):
        server = self.serve(settings())
        browser = self.signed_in(server)
        self.assertEqual(server.stop(), 0)
        server.start()
        self.assertEqual(browser.ask("POST", "/v1/silences", SILENCE,
                                     Origin=f"http://127.0.0.1:{server.port}"), 200)

    def stream(self, server, browser):
        """A stream of events that has begun."""
        connection = socket.create_connection(("127.0.0.1", server.port), timeout=10)
        self.addCleanup(connection.close)
        name, value = next(iter(browser.cookies.items()))
        connection.sendall(
            f"GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nCookie: {name}={value}\r\n"
            "Accept: text/event-stream\r\n\r\n".encode())
        self.assertTrue(connection.recv(65536).startswith(b"HTTP/1.1 200 "))
        return connection

    def assert_ends(self, stream):
        """The server ends a stream, soon."""
        end = time.monotonic() + SOON
        while True:
            self.assertLess(time.monotonic(), end, "the stream ends")
            if not stream.recv(65536):
                return


class ProxyTests(SessionTestCase):
    def test_behind_tls_the_browser_keeps_it_to_that(self):
        for url, name, path in (
                ("https://watch.example.org", "__Host-rollcall_session", "/"),
                ("https://watch.example.org/rollcall/", "__Secure-rollcall_session", "/rollcall"),
                ("http://watch.example.org/rollcall", "rollcall_session", "/rollcall")):
            with self.subTest(url):
                server = self.serve(settings(more=f"  external_url: {url}"), name=name + str(len(url)))
                origin = url.rsplit("/rollcall", 1)[0]
                for host in (None, "watch.example.org"):
                    browser = self.signed_in(server, origin=origin, host=host)
                    field, = browser.fields
                    pair, *attributes = field.split("; ")
                    self.assertEqual(pair.split("=")[0], name)
                    self.assertEqual(attributes[1:], [f"Path={path}", "HttpOnly", "SameSite=Strict"] + (
                        ["Secure"] if url.startswith("https") else []))
                    self.assertEqual(browser.ask("POST", "/v1/silences", SILENCE), 200)
                    self.refused(browser, 403, "rigin", "POST", "/v1/silences", SILENCE,
                                 Origin="http://watch.example.org.evil.example")
                # At the machine itself there is no TLS.
                near = self.signed_in(server)
                self.assertEqual(near.fields[0].split("; ")[2], "Path=/")
                self.assertEqual(list(near.cookies), ["rollcall_session"])
                self.assertEqual(near.ask("POST", "/v1/silences", SILENCE), 200)
                # A neighbour's cookie cannot have the prefix.
                if url.startswith("https"):
                    self.assertEqual(near.ask("GET", "/v1/status", Host="watch.example.org"), 401)
                self.assertEqual(browser.ask("DELETE", "/v1/session"), 200)
                self.assertEqual((len(browser.fields), browser.cookies), (2, {}))
                self.assertEqual(server.stop(), 0)

    def test_a_name_that_is_not_ours_signs_nobody_in(self):
        server = self.serve(settings(more="  trusted_hosts: [api.example.org]"))
        for host, status in (("evil.example", 403), ("api.example.org", 403)):
            browser = Browser(server, origin=f"http://{host}", host=host)
            self.assertEqual(browser.sign_in(), status)
            self.assertEqual(browser.fields, [])

    def test_the_listener_for_probes_knows_no_sessions(self):
        server = self.serve(settings(more="  metrics_listen_address: '127.0.0.1:0'"))
        probes = server.second()
        for target in ("/v1/session", "/assets/x/main.js"):
            self.problem(probes.request("GET", target), 404)
        probes.close()


class SettingTests(RollcallTestCase):
    def check(self, text):
        path = os.path.join(self.directory, "c.yml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return subprocess.run(
            [BINARY, "check", path], capture_output=True, text=True, timeout=30,
            env=plain_environment(), cwd=self.directory)

    def test_the_url_of_a_person_must_name_one(self):
        for url in ("https://a.example/people/{id}", "http://a:8080/?p={id}&x={id}",
                    "https://a.example/#/p/{id}"):
            self.assertEqual(self.check(f"web: {{person_url: '{url}'}}\n").returncode, 0, url)
        for url in ("https://a.example/people", "javascript:alert({id})", "https://{id}.example/",
                    "ftp://a/{id}", "//a/{id}", "/people/{id}", "https://user:pw@a.example/{id}",
                    "https://a.example?{id}", "https://a.example/ {id}", "https:///{id}"):
            outcome = self.check(f"web: {{person_url: '{url}'}}\n")
            self.assertEqual(outcome.returncode, 64, (url, outcome))
            self.assertIn("web.person_url", outcome.stdout + outcome.stderr)
            self.assertNotIn("pw@", outcome.stdout + outcome.stderr)


if __name__ == "__main__":
    unittest.main()
