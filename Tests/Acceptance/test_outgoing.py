"""What goes out, against receivers that answer anything but what they should: nobody is followed,
nothing is read without end, no address of a cloud's own is called, TLS is verified, and no secret
of ours shows anywhere.

Source: A8, A9; reliability §2 N-01 to N-13, §5 E.
"""

import os
import socket
import ssl
import subprocess
import unittest
from concurrent.futures import ThreadPoolExecutor

from hostile_receiver import Certificates, HostileReceiver
from loopback_receivers import Hook
from rollcall_process import BINARY, RollcallTestCase, eventually, plain_environment

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
# What one attempt may take at most: three seconds to connect, ten in all; and a slow machine.
ATTEMPT_SECONDS = 25
# What the kernel's buffers of both sides may hold of what nobody reads.
TAKEN_BYTES_MAX = 16 << 20


class OutgoingTestCase(RollcallTestCase):
    def hooks(self, urls, more=""):
        """Settings with a webhook for each name; `more` is said of each."""
        lines = [f'  - {{name: {name}, webhook: {{url: "{url}"{more}}}}}' for name, url in urls.items()]
        return "receivers:\n" + "\n".join(lines) + "\n"

    def attempts(self, server, names, fields=None):
        """The first attempt to deliver a drill to each receiver, by its name."""
        def attempt(name):
            client = server.client(timeout=20)
            try:
                answer = client.request("POST", "/v1/drill", {"receiver": name}, fields)
                self.assertIn(answer.status, (200, 202), answer)
                number = answer.json()["drill"]

                def first():
                    drill = client.request("GET", f"/v1/drill/{number}", headers=fields)
                    # History has room for so many questions at once and no more.
                    targets = drill.json()["targets"] if drill.status != 503 else []
                    made = targets[0]["attempts"] if targets else []
                    # One that is under way has not taken any time yet.
                    return made[0] if made and made[0]["took_ms"] is not None else None
                return eventually(first, ATTEMPT_SECONDS, f"an attempt to tell {name}", every=0.3)
            finally:
                client.close()

        with ThreadPoolExecutor(len(names)) as pool:
            return dict(zip(names, pool.map(attempt, names)))

    def outcomes(self, server, expected):
        """Compares status and words of the first attempts."""
        attempts = self.attempts(server, list(expected))
        for name, (status, words) in expected.items():
            with self.subTest(name):
                attempt = attempts[name]
                self.assertEqual(attempt["status"], status, attempt)
                if words is None:
                    self.assertIsNone(attempt["error"])
                else:
                    self.assertIn(words, attempt["error"] or "no error")


class AnswerTests(OutgoingTestCase):
    """Answers that are none, never end, or lead elsewhere."""

    def test_nobody_is_followed_and_nothing_is_read_without_end(self):
        head = b"HTTP/1.1 200 OK\r\n"
        block = b"x" * 65536
        scripts = {
            "/stolen": lambda play: play.send(OK),
            "/body": lambda play: (
                play.send(head + b"Content-Length: 1073741824\r\n\r\n"), play.for_ever(block)),
            "/chunks": lambda play: (
                play.send(head + b"Transfer-Encoding: chunked\r\n\r\n"),
                play.for_ever(b"10000\r\n" + block + b"\r\n")),
            "/failing-body": lambda play: (
                play.send(b"HTTP/1.1 503 No\r\n\r\n"), play.for_ever(block)),
            "/fields": lambda play: (play.send(head), play.for_ever(b"X-%s\r\n" % (b"a: " * 300))),
            "/one-field": lambda play: (play.send(head + b"X: "), play.for_ever(block)),
            "/status-line": lambda play: play.for_ever(block),
            "/interim": lambda play: play.for_ever(b"HTTP/1.1 100 Continue\r\n\r\n" * 100),
            "/drip": lambda play: (play.send(head), play.for_ever(b"x", every=1)),
            "/drip-body": lambda play: (
                play.send(head + b"Content-Length: 1000\r\n\r\n"), play.for_ever(b"x", every=1)),
            "/nothing": lambda play: play.wait(),
            "/end": lambda play: None,
            "/reset": lambda play: play.reset(),
            "/half": lambda play: (play.send(head + b"Content-Length: 10\r\n\r\nhalf"), play.reset()),
            "/half-a-head": lambda play: play.send(b"HTTP/1.1 200 OK\r\nContent-"),
            "/mail": lambda play: play.send(b"220 mail.example.org ESMTP\r\n"),
            "/0.9": lambda play: play.send(b"<html>fine</html>"),
            "/99": lambda play: play.send(b"HTTP/1.1 99 What\r\n\r\n"),
            "/two": lambda play: play.send(b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n" + OK),
            "/page": lambda play: play.send(
                head + b"Content-Type: text/html\r\nContent-Length: 19\r\n\r\n<html>log in</html>"),
            "/gzip": lambda play: play.send(
                head + b"Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x8b\x08\x00"),
            "/lengths": lambda play: play.send(
                head + b"Content-Length: 99999999999999999999\r\n\r\n"),
            "/switch": lambda play: play.send(
                b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"),
        }
        redirects = (301, 302, 303, 307, 308)
        receiver = HostileReceiver(self, scripts)
        for status in redirects:
            target = receiver.url("/stolen") if status != 307 else "http://169.254.169.254/latest"
            scripts[f"/{status}"] = lambda play, status=status, target=target: play.send(
                b"HTTP/1.1 %d Go\r\nLocation: %s?key=l0cation-secret\r\nContent-Length: 0\r\n\r\n"
                % (status, target.encode()))
        # Bound, so that nobody else gets it, and not listening.
        closed = socket.socket()
        self.addCleanup(closed.close)
        closed.bind(("127.0.0.1", 0))
        urls = {path.strip("/"): receiver.url(path) for path in scripts if path != "/stolen"}
        urls["closed"] = "http://127.0.0.1:%d/" % closed.getsockname()[1]
        server = self.serve(self.hooks(urls))
        not_whole = "no whole answer within 10 s"
        cut = "the connection was closed before the answer was whole"
        self.outcomes(server, {
            **{str(status): (status, "redirects are not followed") for status in redirects},
            "body": (200, None), "chunks": (200, None), "drip-body": (200, None), "half": (200, None),
            "page": (200, None), "gzip": (200, None),
            "failing-body": (503, "the answer is larger than 64 KiB"),
            "fields": (None, "head is larger than 64 KiB"),
            "one-field": (None, "head is larger than"), "interim": (None, "head is larger than 64 KiB"),
            "drip": (None, not_whole), "nothing": (None, not_whole), "end": (None, cut),
            "reset": (None, cut), "half-a-head": (None, cut), "mail": (None, "does not speak HTTP"),
            "0.9": (None, "does not speak HTTP"), "status-line": (None, "does not speak HTTP"),
            "99": (None, ""), "two": (503, "answered 503"), "lengths": (200, None),
            "switch": (None, ""), "closed": (None, "Connection refused"),
        })
        self.assertEqual(receiver.of("/stolen"), [])
        for path in ("/body", "/chunks", "/failing-body", "/fields", "/one-field", "/interim"):
            play, *_ = receiver.of(path)
            self.assertLess(play.sent, TAKEN_BYTES_MAX, path)
        self.assertNotIn("l0cation-secret", server.log())
        self.assertEqual(server.get("/-/ready").status, 200)

    def test_a_slow_receiver_holds_up_nobody(self):
        hook = Hook(self)
        receiver = HostileReceiver(self, {"/": lambda play: play.wait()})
        urls = {f"slow{number}": receiver.url("/") for number in range(40)}
        server = self.serve(self.hooks({**urls, "good": hook.url}))
        with ThreadPoolExecutor(41) as pool:
            for name in urls:
                pool.submit(
                    lambda name=name: server.client(timeout=20).request(
                        "POST", "/v1/drill", {"receiver": name}))
            eventually(lambda: len(receiver.plays) >= 40, 20, "all are hanging")
            pool.submit(self.attempts, server, ["good"])
            hook.first(lambda _: True, 20, "the good one is told")
            self.assertIn(False, [play.is_over for play in receiver.plays], "nobody hangs any more")


class AddressTests(OutgoingTestCase):
    """Who is never called, whatever name leads there, and who is."""

    def names(self):
        """Variables with names that only these tests know."""
        library = self.preloaded("loopback_names")
        return {"LD_PRELOAD": library}

    def test_names_are_judged_by_where_they_lead(self):
        receiver = HostileReceiver(self, {"/": lambda play: play.send(OK)})
        urls = {
            host.replace(".", "-"): receiver.url("/", host=host)
            for host in ("metadata.test", "both.test", "flip.test", "missing.test", "broken.test",
                         "hang.test", "localhost", "2130706433", "0.0.0.0", "0x0", "[::]",
                         "[::ffff:0:0]", "169.254.169.254", "[fe80::1]", "224.0.0.1")}
        urls = {name.strip("[]").replace(":", "_"): url for name, url in urls.items()}
        urls["flip-again"] = urls["flip-test"]
        server = self.serve(self.hooks(urls), variables=self.names())
        local = "is link-local"
        nobody = "is no machine's"
        self.outcomes(server, {
            "metadata-test": (None, "169.254.169.254 is link-local"),
            "169-254-169-254": (None, local), "fe80__1": (None, local), "224-0-0-1": (None, "group"),
            # Linux would connect these to this machine, and the receiver would answer.
            "0-0-0-0": (None, nobody), "0x0": (None, nobody), "__": (None, nobody),
            "__ffff_0_0": (None, nobody),
            "missing-test": (None, "no such host"), "broken-test": (None, "no such host"),
            "hang-test": (None, "no whole answer within 3 s"),
            "both-test": (200, None), "localhost": (200, None), "2130706433": (200, None),
        })
        # One name, and another address behind it for whoever asks later.
        flips = self.attempts(server, ["flip-test", "flip-again"])
        self.assertEqual({flip["status"] for flip in flips.values()}, {200, None})
        self.assertEqual(
            {host_of(play.request) for play in receiver.plays},
            {"both.test", "flip.test", "localhost", "127.0.0.1"})

    def test_no_proxy_and_no_password_file_of_the_environment_is_used(self):
        proxy = HostileReceiver(self, {})
        hook = Hook(self)
        address = f"http://127.0.0.1:{proxy.port}"
        variables = {
            name: address
            for name in ("http_proxy", "https_proxy", "all_proxy", "HTTPS_PROXY", "ALL_PROXY")}
        with open(os.path.join(self.directory, ".netrc"), "w", encoding="ascii") as file:
            file.write("default login n3trc-user password n3trc-password\n")
        # No name that is plainly this machine's: those need no proxy anyway.
        server = self.serve(
            self.hooks({
                "hook": hook.url.replace("127.0.0.1", "home.test"),
                "secure": "https://home.test:1/"}),
            variables={
                **variables, **self.names(), "HOME": self.directory,
                "NETRC": f"{self.directory}/.netrc"})
        self.outcomes(server, {"hook": (200, None), "secure": (None, "Connection refused")})
        self.assertNotIn("authorization", hook.requests[0].headers)
        self.assertNotIn("cookie", hook.requests[0].headers)
        self.assertEqual(proxy.plays, [])
        self.assertEqual(proxy.faults, [])

    def test_settings_take_http_and_https_without_users(self):
        for url in ("ftp://127.0.0.1/", "file:///etc/passwd", "gopher://127.0.0.1/", "//127.0.0.1/",
                    "127.0.0.1", "http://", "http:///x", "http://a b/", "http://127.0.0.1/\x7f",
                    "http://us3r:passw0rd@127.0.0.1/", "https://us3r@127.0.0.1/",
                    "http://127.0.0.1@evil.example/", "dict://127.0.0.1:11211/", "HTTPS//a"):
            self.check(url, "receivers: [{name: a, webhook: {url: %s}}]", 64)
        for place in ("alive_ping: {url: %s}", "nudges: {sink: {webhook: {url: %s}}}",
                      "receivers: [{name: a, alertmanager: {urls: [%s]}}]",
                      "receivers: [{name: a, slack: {url: %s}}]",
                      "receivers: [{name: a, opsgenie: {api_key: k, api_url: %s}}]",
                      "receivers: [{name: a, pagerduty: {routing_key: k, url: %s}}]"):
            self.check("https://us3r:passw0rd@127.0.0.1/", place, 64)
            self.check("https://127.0.0.1/us3r@passw0rd", place, 0)

    def check(self, url, place, code):
        """Judges settings with this URL at this place."""
        with self.subTest(url=url, place=place):
            path = os.path.join(self.directory, "c.yaml")
            with open(path, "w", encoding="utf-8") as file:
                file.write(place % f'"{url}"'.replace("\x7f", "\\x7f") + "\n")
            outcome = subprocess.run(
                [BINARY, "check", path], capture_output=True, text=True, timeout=30,
                env=plain_environment(), stdin=subprocess.DEVNULL)
            self.assertEqual(outcome.returncode, code, outcome)
            self.assertNotIn("us3r", outcome.stdout + outcome.stderr)
            if code != 0:
                self.assertIn("url", outcome.stderr)


class TLSTests(OutgoingTestCase):
    def test_who_cannot_be_trusted_is_told_nothing(self):
        made = Certificates(self.directory)
        answer = {"/": lambda play: play.send(OK)}
        plain = HostileReceiver(self, answer)
        hanging = HostileReceiver(self, {})
        good = HostileReceiver(self, answer, made.context("good"))
        receivers = {
            "good": good, "self": HostileReceiver(self, answer, made.context("self")),
            "expired": HostileReceiver(self, answer, made.context("expired")),
            "other": HostileReceiver(self, answer, made.context("other")),
            "tls10": HostileReceiver(self, answer, made.context("good", ssl.TLSVersion.TLSv1)),
            "tls11": HostileReceiver(self, answer, made.context("good", ssl.TLSVersion.TLSv1_1)),
            "tls12": HostileReceiver(self, answer, made.context("good", ssl.TLSVersion.TLSv1_2)),
        }
        urls = {name: receiver.url("/") for name, receiver in receivers.items()}
        urls["plain"] = f"https://127.0.0.1:{plain.port}/"
        urls["hanging"] = f"https://127.0.0.1:{hanging.port}/"
        urls["named"] = good.url("/", host="localhost")
        trusting = self.hooks(urls, f", ca_file: {made.authority}")
        # Without the file, nobody vouches for it.
        server = self.serve(trusting + f'  - {{name: stranger, webhook: {{url: "{good.url("/")}"}}}}\n')
        self.outcomes(server, {
            "good": (200, None), "named": (200, None), "tls12": (200, None),
            "stranger": (None, "TLS: "), "self": (None, "TLS: "), "expired": (None, "TLS: "),
            "other": (None, "TLS: "), "tls10": (None, "TLS: "), "tls11": (None, "TLS: "),
            "plain": (None, ""), "hanging": (None, "no whole answer within 3 s"),
        })
        for name in ("self", "expired", "other", "tls10", "tls11"):
            self.assertEqual(receivers[name].plays, [], name)
        self.assertEqual(
            {host_of(play.request) for play in good.plays}, {"127.0.0.1", "localhost"})
        self.assertEqual(plain.plays, [])


    def test_who_lies_in_tls_hears_no_event_and_is_tried_again(self):
        made = Certificates(self.directory)
        answer = {"/": lambda play: play.send(OK)}
        receivers = {
            name: HostileReceiver(self, answer, made.context(name))
            for name in ("good", "self", "expired", "other")}
        key = os.path.join(self.directory, "events.secret")
        with open(key, "w", encoding="utf-8") as file:
            file.write(SecretTests.KEY + "\n")
        settings = "".join(
            f"  - {{name: {name}, url: '{receiver.url('/')}', secret_file: {key}, "
            f"ca_file: {made.authority}}}\n" for name, receiver in receivers.items())
        server = self.serve("subscriptions:\n" + settings)

        def standing():
            return {one["name"]: one for one in server.get("/v1/status").json()["subscriptions"]}
        eventually(
            lambda: {one["state"] for one in standing().values()} == {"idle"}, 30, "all have begun")
        server.write("/v1/batches", [{"responder_id": "a"}])
        found = eventually(
            lambda: (now := standing())["good"]["state"] == "idle" and receivers["good"].plays
            and all(now[name]["state"] == "trying" for name in ("self", "expired", "other")) and now,
            30, "those who lie are tried again")
        for name in ("self", "expired", "other"):
            self.assertIn("TLS: ", found[name]["error"])
            self.assertEqual(receivers[name].plays, [], name)


class SecretTests(OutgoingTestCase):
    """Nothing of a URL but its host, no token and no key shows anywhere, whatever goes wrong."""

    MARKS = ("p4th-canary", "qu3ry-canary", "b3arer-canary", "r0uting-canary", "c2lnbmluZy1jYW5hcnk",
             "p1ng-canary", "sl4ck-canary", "tok3n-canary")
    KEY = "whsec_c2lnbmluZy1jYW5hcnktc2lnbmluZy1jYW5hcnk="

    def test_secrets_show_nowhere(self):
        def echo(status):
            """Repeats all it was told."""
            return lambda play: play.send(
                b"HTTP/1.1 %d What\r\nContent-Length: %d\r\n\r\n" % (status, len(play.request))
                + play.request)
        quiet = {"/p4th-canary/%d" % status: echo(status)
                 for status in (200, 301, 400, 401, 429, 500)}
        receiver = HostileReceiver(self, {
            **quiet, "/p4th-canary/mail": lambda play: play.send(b"220 p4th-canary\r\n"),
            "/p4th-canary/end": lambda play: None, "/sl4ck-canary": echo(403),
            "/p1ng-canary": echo(500)})
        urls = {
            path.rsplit("/", 1)[1]: receiver.url(path) + "?key=qu3ry-canary"
            for path in receiver.scripts if path.startswith("/p4th")}
        urls["closed"] = "http://127.0.0.1:1/p4th-canary?qu3ry-canary"
        urls["banned"] = "http://169.254.169.254/p4th-canary?qu3ry-canary"
        urls["untrusted"] = f"https://127.0.0.1:{receiver.port}/p4th-canary?qu3ry-canary"
        token = os.path.join(self.directory, "token")
        with open(token, "w", encoding="ascii") as file:
            file.write("tok3n-canary" * 4 + "\n")
        os.chmod(token, 0o600)
        more = f', secret: "{self.KEY}", bearer_token: b3arer-canary'
        pager = receiver.url("/p4th-canary/400")
        config = self.hooks(urls, more) + f"""
  - {{name: pager, pagerduty: {{url: "{pager}", routing_key: r0uting-canary}}}}
  - {{name: slack, slack: {{url: "{receiver.url("/sl4ck-canary")}"}}}}
alive_ping: {{url: "{receiver.url("/p1ng-canary")}", every: 10s}}
web: {{tokens: [{{name: all, scopes: [ingest, read, admin], token_file: {token}}}]}}
"""
        server = self.serve(config, more=("--log.level", "debug"))
        fields = {"Authorization": f"Bearer {'tok3n-canary' * 4}"}
        seen = [repr(self.attempts(server, [*urls, "pager", "slack"], fields)).encode()]
        eventually(lambda: receiver.of("/p1ng-canary"), 20, "a ping")
        for target in ("/", "/alerts", "/nudges", "/feeds", "/metrics", "/v1/status", "/v1/alerts",
                       "/v1/alerts/history", "/v1/silences", "/openapi.json", "/v1/nudges"):
            answer = server.get(target, fields)
            self.assertIn(answer.status, (200, 404), target)
            seen.append(answer.body)
        seen.append(server.request("POST", "/-/reload", headers=fields).body)
        for command in (["check", server.config_path], ["config"]):
            outcome = subprocess.run(
                [BINARY, *command], capture_output=True, timeout=30, env=plain_environment(),
                stdin=subprocess.DEVNULL)
            self.assertEqual(outcome.returncode, 0, outcome)
            seen += [outcome.stdout, outcome.stderr]
        self.assertEqual(server.stop(), 0)
        seen.append(server.log().encode())
        # The canaries did go out, each to whom it belongs.
        sent = b"".join(play.request for play in receiver.plays)
        for mark in ("p4th-canary", "qu3ry-canary", "b3arer-canary", "r0uting-canary",
                     "p1ng-canary", "sl4ck-canary"):
            self.assertIn(mark.encode(), sent)
        everything = b"\n".join(seen)
        self.assertIn(b"RollcallDrill", everything)
        for name in os.listdir(self.directory):
            if name.startswith("rollcall.db"):
                with open(os.path.join(self.directory, name), "rb") as file:
                    everything += file.read()
        for mark in self.MARKS:
            self.assertNotIn(mark.encode(), everything)


def host_of(request):
    """The host that a request names, without its port."""
    line, = [line for line in request.split(b"\r\n") if line.startswith(b"Host: ")]
    return line[6:].rsplit(b":", 1)[0].decode()


if __name__ == "__main__":
    unittest.main()
