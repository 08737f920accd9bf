"""A mirror is enough: nginx in front of an app that knows nothing of Rollcall, and what `rollcall manifest
envoy` prints.

Source: M7. There is no Envoy for Debian: its file is read as YAML only.
"""

import json
import os
import socket
import threading
import time

import input_bodies
from cluster_process import free_ports
from contrary_proxy import ContraryProxy, answers, holds, passes
from mirrored_app import TOKEN, App, Nginx
from rollcall_process import Client, eventually, now_ms
from test_manifest import ManifestTestCase
from test_web_config import Authority

LOCATIONS = "/locations"
# Of an answer that waits for nobody, on a machine that is busy.
AT_ONCE = 0.7
# What a copy may hold up the next request on its connection for: the time-out, and that again.
HELD_UP = 1.0 + AT_ONCE


class MirrorTestCase(ManifestTestCase):
    def setUp(self):
        super().setUp()
        self.app = App(self)
        self.phone = {"Authorization": f"Bearer {TOKEN}", "Cookie": "session=secret",
                      "Origin": "https://app.example.org", "Host": "api.example.org",
                      "User-Agent": "app/1.0"}

    def site(self, rollcall_port, *changes, web=""):
        """The file that is printed for Rollcall at this port, with what has to be changed changed."""
        path = self.settings(f"web: {{listen_address: '127.0.0.1:{rollcall_port}'{web}}}\n")
        text = self.manifest("nginx", "--config.file", path)
        self.port = free_ports(1)[0]
        for old, new in (
                ("listen 127.0.0.1:8080;", f"listen 127.0.0.1:{self.port};"),
                ("http://127.0.0.1:3000", f"http://127.0.0.1:{self.app.port}"), *changes):
            self.assertIn(old, text)
            text = text.replace(old, new)
        return text

    def nginx(self, rollcall_port, *changes, **more):
        text = self.site(rollcall_port, *changes, **more)
        self.proxy = Nginx(self, self.directory, self.port, text)

    def speak_tls(self):
        """An authority, and a web configuration by which a client shows a certificate of it."""
        authority = Authority(self.directory)
        for name in ("server", "client"):
            authority.sign(name)
        self.settings(
            "tls_server_config:\n  cert_file: server.pem\n  key_file: server.key\n"
            "  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: ca.pem\n", "web.yml")
        return authority

    @staticmethod
    def batch(number, responder="r-17"):
        return {"responder_id": responder, "region": "north",
                "updates": [{"sequence": number, "captured_at": now_ms(), "lat": 52.5}]}

    def post(self, number=0, client=None, path=LOCATIONS, headers=None, **more):
        """Posts as the phone does; the answer and how long it took."""
        own = client or Client(self.port)
        began = time.monotonic()
        answer = own.request(
            "POST", path, {**self.batch(number), **more}, headers or self.phone)
        took = time.monotonic() - began
        if client is None:
            own.close()
        return answer, took

    def same(self, answer, body):
        """It is the app's answer, untouched."""
        self.assertEqual((answer.status, answer.headers["x-app"]), (201, "mine"))
        self.assertEqual(answer.json(), {"stored": len(json.dumps(body).encode())})


class NginxTests(MirrorTestCase):
    def test_phones_are_heard_though_nobody_was_told(self):
        server = self.serve()
        self.nginx(server.port)
        client = Client(self.port)
        for number in range(50):
            answer, _ = self.post(number, client)
            self.same(answer, self.batch(number))
        client.close()
        accepted = lambda: server.scrape()("rollcall_updates_total", outcome="accepted")
        eventually(lambda: accepted() == 50, 10, "each of them has come")
        self.assertEqual(server.responder("r-17")["region"], "north")
        # The app got what the phone sent, with all that is its own.
        path, headers, body = self.app.got[-1]
        self.assertEqual((path, json.loads(body)["updates"][0]["sequence"]), (LOCATIONS, 49))
        self.assertEqual(headers["Cookie"], self.phone["Cookie"])
        self.assertEqual(self.proxy.process.poll(), None)

    def test_nothing_that_is_the_phones_goes_along(self):
        server = self.serve()
        copies = ContraryProxy(self, lambda: server.port)
        self.nginx(copies.port)
        answer, _ = self.post(1, path=f"{LOCATIONS}?key=hidden&lat=52")
        self.same(answer, self.batch(1))
        self.assertEqual(self.app.got[-1][0], f"{LOCATIONS}?key=hidden&lat=52")
        # In pieces, as some phones post.
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as phone:
            body = json.dumps(self.batch(2, "r-18")).encode()
            head = "".join(f"{name}: {value}\r\n" for name, value in self.phone.items())
            phone.sendall(
                f"POST {LOCATIONS} HTTP/1.1\r\n{head}Content-Type: application/json\r\n"
                "Transfer-Encoding: chunked\r\n\r\n".encode())
            for piece in (body[:7], body[7:]):
                phone.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
                time.sleep(0.05)
            phone.sendall(b"0\r\n\r\n")
            self.assertTrue(phone.recv(65536).startswith(b"HTTP/1.1 201 "))
        eventually(lambda: len(copies.asked) == 2, 10, "both have come")
        for asked, number, responder in zip(copies.asked, (1, 2), ("r-17", "r-18")):
            self.assertEqual(asked.path, "/v1/batches?source=nginx")
            self.assertEqual(asked.headers, {
                "Host": "localhost", "Content-Type": "application/json",
                "Content-Length": str(len(asked.body))})
            self.assertEqual(json.loads(asked.body)["updates"][0]["sequence"], number)
            eventually(lambda: asked.status == 200, 10, "Rollcall took it")
            self.assertEqual(server.responder(responder)["status"], "ONLINE")

    def test_who_is_not_let_in_is_not_mirrored(self):
        server = self.serve()
        self.nginx(server.port, ("#auth_request /authenticated;", "auth_request /authenticated;"))
        stranger = {"Authorization": "Bearer somebody-else", "Content-Type": "application/json"}
        for number in range(3):
            answer, _ = self.post(number, headers=stranger, responder_id="r-99")
            self.assertEqual(answer.status, 401)
        answer, _ = self.post(3)
        self.same(answer, self.batch(3))
        eventually(lambda: server.get("/v1/responders/r-17").status == 200, 10, "it came")
        self.assertEqual(server.get("/v1/responders/r-99").status, 404)
        # Nor did the app see anything of the others but the question.
        self.assertEqual([json.loads(body)["updates"][0]["sequence"]
                          for _, _, body in self.app.got], [3])

    def test_only_what_is_posted_is_mirrored(self):
        copies = ContraryProxy(self, lambda: 1, lambda asked, number: answers(500))
        self.nginx(copies.port)
        client = Client(self.port)
        self.assertEqual(client.request("GET", LOCATIONS, headers=self.phone).status, 204)
        self.same(self.post(1, client)[0], self.batch(1))
        client.close()
        eventually(lambda: copies.asked, 10, "the post")
        self.assertEqual(len(copies.asked), 1)

    def test_a_token_comes_from_a_file(self):
        token = "0123456789abcdef-mirror"
        server = self.serve(f"web: {{tokens: [{{name: edge, scopes: [ingest, read], token: {token}}}]}}\n")
        path = os.path.join(self.directory, "rollcall-token")
        with open(path, "w", encoding="ascii", opener=lambda *a: os.open(*a, 0o600)) as file:
            file.write(f'proxy_set_header Authorization "Bearer {token}";\n')
        self.nginx(server.port, ("#include /etc/nginx/rollcall-token;", f"include {path};"))
        self.same(self.post(1)[0], self.batch(1))
        reader = {"Authorization": f"Bearer {token}"}
        eventually(
            lambda: server.get("/v1/responders/r-17", reader).status == 200, 10, "it came")

    def test_a_rollcall_that_speaks_tls_is_verified(self):
        authority = self.speak_tls()
        server = self.rollcall("web: {config_file: web.yml}\n")
        server.context = authority.client("client")
        server.start()
        Authority(self.directory, "other")
        heard = lambda who: server.get(f"/v1/responders/{who}").status
        for number, trusted in enumerate(("other", "ca")):
            self.nginx(
                server.port,
                *((f"/etc/nginx/rollcall-{old}", authority.path(new)) for old, new in (
                    ("ca.pem", f"{trusted}.pem"), ("client.pem", "client.pem"),
                    ("client.key", "client.key"))),
                web=", config_file: web.yml")
            self.same(self.post(number, responder_id=trusted)[0], {
                **self.batch(number), "responder_id": trusted})
        eventually(lambda: heard("ca") == 200, 10, "it came")
        self.assertEqual(heard("other"), 404)

    def test_a_name_that_the_mirror_leaves_is_let_in_when_it_is_trusted(self):
        server = self.serve("web: {trusted_hosts: []}\n")
        self.nginx(server.port, ("proxy_set_header Host localhost;", "proxy_set_header Host $host;"))
        self.same(self.post(1)[0], self.batch(1))
        refused = lambda: server.scrape().total("rollcall_http_requests_total", route="batches")
        eventually(lambda: refused() == 1, 10, "it was refused")
        self.assertEqual(server.get("/v1/responders/r-17").status, 404)
        server.configure("web: {trusted_hosts: [api.example.org]}\n")
        self.assertEqual(server.request("POST", "/-/reload").status, 200)
        self.same(self.post(2)[0], self.batch(2))
        eventually(lambda: server.get("/v1/responders/r-17").status == 200, 10, "it came")

    def mirrors(self, preset, make):
        """What a client posts to its app reaches an input, and the app answers whatever befalls it."""
        port = free_ports(1)[0]
        server = self.serve(
            f"inputs: [{{name: phones, preset: {preset}}}]\n", address=f"127.0.0.1:{port}")
        self.nginx(port, ("http://rollcall/v1/batches;", "http://rollcall/v1/in/phones;"))

        def posts(who):
            sent = make(who, now_ms(), 52.520006, 13.404954)
            client = Client(self.port)
            began = time.monotonic()
            answer = client.request(
                sent.method, LOCATIONS, sent.body, {**self.phone, **sent.headers})
            client.close()
            self.assertLess(time.monotonic() - began, AT_ONCE)
            self.same(answer, json.loads(sent.body))

        online = lambda who: lambda: (
            (answer := server.get(f"/v1/responders/{who}")).status == 200
            and answer.json()["status"] == "ONLINE")
        posts("before")
        eventually(online("before"), 10, "it came")
        server.pause()
        posts("hanging")
        server.resume()
        server.kill()
        posts("killed")
        server.start()
        posts("after")
        eventually(online("after"), 10, "it came")
        self.assertEqual(server.get("/v1/responders/killed").status, 404)
        counts = server.get("/v1/inputs").json()["inputs"][0]
        self.assertEqual(counts["problems"], {}, counts)
        # The app saw each of them, and each time all that the phone sent.
        self.assertEqual(
            [who for _, _, body in self.app.got for who in ("before", "hanging", "killed", "after")
             if who in body.decode()], ["before", "hanging", "killed", "after"])

    def test_what_OwnTracks_posts_reaches_an_input(self):
        self.mirrors("owntracks", input_bodies.owntracks)

    def test_what_transistorsoft_posts_reaches_an_input(self):
        self.mirrors("transistorsoft", input_bodies.transistorsoft)

    # MARK: whatever befalls Rollcall

    def steady_answers(self, count=20):
        """Posts on connections of their own and on one that is kept: the app's answers, in time."""
        slowest = 0
        for number in range(count):
            answer, took = self.post(number)
            self.same(answer, self.batch(number))
            slowest = max(slowest, took)
        self.assertLess(slowest, AT_ONCE)
        client, kept = Client(self.port), []
        for number in range(4):
            answer, took = self.post(number, client)
            self.same(answer, self.batch(number))
            kept.append(took)
        client.close()
        self.assertLess(kept[0], AT_ONCE)
        self.assertLess(max(kept), HELD_UP)
        return max(kept)

    def test_the_app_does_not_notice_what_befalls_rollcall(self):
        port = free_ports(1)[0]
        server = self.serve(address=f"127.0.0.1:{port}")
        self.nginx(port)
        with self.subTest("well"):
            self.assertLess(self.steady_answers(), AT_ONCE)
        with self.subTest("it hangs"):
            server.pause()
            # What the comment in the file says: the next one on the same connection waits.
            self.assertGreater(self.steady_answers(), 0.5)
            server.resume()
        with self.subTest("killed"):
            server.kill()
            self.assertLess(self.steady_answers(), AT_ONCE)
        with self.subTest("back"):
            server.start()
            answer, _ = self.post(0, responder_id="r-back")
            self.assertEqual(answer.status, 201)
            eventually(lambda: server.get("/v1/responders/r-back").status == 200, 10, "heard again")
            self.assertLess(self.steady_answers(), AT_ONCE)

    def test_a_slow_or_broken_mirror_changes_no_answer(self):
        judges = {
            "slow": lambda asked, number: holds(3), "refuses": lambda asked, number: answers(503),
            "nonsense": lambda asked, number: answers(200, b"x" * 100_000),
            "mixed": lambda asked, number: (holds(3), answers(500), passes)[number % 3]}
        server = self.serve()
        copies = ContraryProxy(self, lambda: server.port)
        self.nginx(copies.port)
        for name, judge in judges.items():
            with self.subTest(name):
                copies.judge = judge
                self.steady_answers(10)

    def test_many_phones_at_once_while_it_hangs(self):
        server = self.serve()
        self.nginx(server.port)
        server.pause()
        slow, wrong, lock = [], [], threading.Lock()

        def phone(number):
            for turn in range(5):
                answer, took = self.post(turn, responder_id=f"p{number}")
                with lock:
                    slow.append(took)
                    wrong.extend([answer.status] if answer.status != 201 else [])

        threads = [threading.Thread(target=phone, args=(number,)) for number in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        server.resume()
        self.assertEqual((len(slow), wrong), (100, []))
        self.assertLess(max(slow), 2 * AT_ONCE)


class EnvoyTests(MirrorTestCase):
    def test_the_file_is_yaml_and_its_parts_fit(self):
        path = self.settings("web: {listen_address: '[::1]:4711'}\n")
        text = self.manifest("envoy", "--config.file", path)
        (document,) = self.documents(text)
        resources = document["static_resources"]
        listeners = {one["name"]: one for one in resources["listeners"]}
        clusters = {one["name"]: one for one in resources["clusters"]}
        self.assertEqual(
            (set(listeners), set(clusters)),
            ({"app", "rollcall_mirror"}, {"app", "rollcall", "rollcall_mirror"}))

        def endpoint(name):
            self.assertEqual(clusters[name]["load_assignment"]["cluster_name"], name)
            (locality,) = clusters[name]["load_assignment"]["endpoints"]
            (one,) = locality["lb_endpoints"]
            return one["endpoint"]["address"]

        self.assertEqual(endpoint("rollcall"), {
            "socket_address": {"address": "::1", "port_value": 4711}})
        # Copies go to the second listener, and nowhere else.
        self.assertEqual(endpoint("rollcall_mirror"), listeners["rollcall_mirror"]["address"])
        manager = {name: one["filter_chains"][0]["filters"][0]["typed_config"]
                   for name, one in listeners.items()}
        first, rest = manager["app"]["route_config"]["virtual_hosts"][0]["routes"]
        self.assertEqual(
            first["route"],
            {"cluster": "app", "request_mirror_policies": [{"cluster": "rollcall_mirror"}]})
        self.assertEqual(rest["route"], {"cluster": "app"})
        routes = manager["rollcall_mirror"]["route_config"]
        self.assertEqual(
            routes["request_headers_to_remove"],
            ["authorization", "cookie", "origin", "x-forwarded-for"])
        (copy,) = routes["virtual_hosts"][0]["routes"]
        self.assertEqual(copy["route"]["regex_rewrite"]["substitution"], "/v1/batches")
        self.assertEqual(
            [copy["route"][name] for name in ("cluster", "timeout", "host_rewrite_literal")],
            ["rollcall", "1s", "localhost"])
        for one in manager.values():
            self.assertTrue(one["http_filters"][-1]["name"].endswith(".router"))
        default = self.documents(self.manifest("envoy"))[0]["static_resources"]["clusters"][-1]
        self.assertIn("10112", json.dumps(default))

    def test_to_a_rollcall_that_speaks_tls_so_does_it(self):
        path = self.settings("web: {config_file: web.yml}\n")
        plain = self.documents(self.manifest("envoy"))[0]["static_resources"]["clusters"]
        self.speak_tls()
        clusters = self.documents(
            self.manifest("envoy", "--config.file", path))[0]["static_resources"]["clusters"]
        secured = clusters[-1].pop("transport_socket")
        self.assertEqual(clusters, plain)
        self.assertEqual(secured["name"], "envoy.transport_sockets.tls")
        common = secured["typed_config"]["common_tls_context"]
        self.assertEqual(
            common["validation_context"]["trusted_ca"], {"filename": "/etc/envoy/rollcall-ca.pem"})
        self.assertEqual(common["tls_certificates"], [{
            "certificate_chain": {"filename": "/etc/envoy/rollcall-client.pem"},
            "private_key": {"filename": "/etc/envoy/rollcall-client.key"}}])

    def test_envoys_name_for_a_copy_is_one_that_can_be_trusted(self):
        # As ShadowWriterImpl makes it of Host: before a port.
        server = self.serve("web: {trusted_hosts: [api.example.org-shadow]}\n")
        for host in ("api.example.org-shadow", "api.example.org-shadow:8443"):
            server.write("/v1/batches", self.batch(1), {"Host": host})


if __name__ == "__main__":
    import unittest

    unittest.main()
