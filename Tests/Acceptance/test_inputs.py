"""Inputs: what phones and other servers send anyway, at the real binary. Source: M1 to M5, M8."""

import base64
import gzip
import hashlib
import hmac
import json
import os
import random
import secrets
import struct
import subprocess

import input_bodies
from input_bodies import CLIENTS, PRESETS
from rollcall_process import (
    BINARY, RollcallTestCase, eventually, now_ms, plain_environment)

SOON = 15
INPUTS = "inputs:\n" + "".join(f"  - {{name: {preset}, preset: {preset}}}\n" for preset in PRESETS)


class InputTestCase(RollcallTestCase):
    def send(self, server, preset, sent, headers=None):
        """Sends what a client sends; the answer."""
        return server.request(
            sent.method, f"/v1/in/{preset}{sent.path}", sent.body, {**sent.headers, **(headers or {})})

    def input(self, server, name):
        """What is counted of an input."""
        inputs = server.get("/v1/inputs").json()["inputs"]
        return next(entry for entry in inputs if entry["name"] == name)

    def token_file(self, name, text=None):
        text = text or secrets.token_hex(32)
        with open(os.path.join(self.directory, name), "w", encoding="ascii") as file:
            file.write(text + "\n")
        return text


class ClientTests(InputTestCase):
    def test_each_client_goes_from_its_body_to_ONLINE(self):
        server = self.serve(INPUTS)
        for number, (preset, make) in enumerate(CLIENTS):
            who = f"{make.__name__}-{number}"
            answer = self.send(server, preset, make(who, now_ms(), 52.520006, 13.404954))
            self.assertEqual(answer.status, 200, answer)
            self.assertEqual(answer.body, make(who, 0, 1, 2).answer, answer)
            person = server.responder(who)
            self.assertEqual(person["status"], "ONLINE", person)
            self.assertEqual(person["duty_state"], "ON_DUTY")
        for preset in PRESETS:
            counts = self.input(server, preset)
            self.assertGreaterEqual(counts["items"]["accepted"], 1, counts)
            self.assertEqual(counts["problems"], {}, counts)
            self.assertIsNone(counts["last_problem"])
            self.assertEqual(counts["preset"], preset)
        page = server.scrape()
        self.assertEqual(page("rollcall_input_requests_total", input="traccar_client"), 2)
        self.assertEqual(
            page("rollcall_input_items_total", input="owntracks", outcome="accepted"), 1)
        self.assertEqual(
            page("rollcall_input_problems_total", input="owntracks", reason="malformed"), 0)

    def test_a_body_may_come_compressed(self):
        # P8 holds for inputs, too.
        server = self.serve(INPUTS)
        for number, (preset, make) in enumerate(CLIENTS):
            who = f"gzip-{number}"
            sent = make(who, now_ms(), 52.520006, 13.404954)
            if sent.method == "GET":
                continue
            sent.body = gzip.compress(sent.body.encode())
            answer = self.send(server, preset, sent, {"Content-Encoding": "gzip"})
            self.assertEqual((answer.status, answer.body), (200, sent.answer), answer)
            self.assertEqual(server.responder(who)["status"], "ONLINE")
            answer = self.send(server, preset, sent, {"Content-Encoding": "br"})
            self.assertEqual(
                (answer.status, answer.headers["accept-encoding"]), (415, "gzip"), answer)
            sent.body = sent.body[:-4]
            answer = self.send(server, preset, sent, {"Content-Encoding": "gzip"})
            self.assertEqual(answer.status, 400, answer)

    def test_facts_are_those_of_the_body_and_of_the_input(self):
        server = self.serve(
            "inputs:\n  - {name: o, preset: owntracks, region: north, platform: ios}\n")
        self.send(server, "o", input_bodies.owntracks("jane", now_ms(), 1.5, 2.5))
        person = server.responder("jane")
        self.assertEqual(person["region"], "north")
        self.assertEqual(person["platform"], "ios")
        self.assertEqual(person["telemetry"]["network_type"], "wifi")

    def test_what_can_never_be_taken_is_answered_all_the_same_and_shown(self):
        server = self.serve(INPUTS)
        for body in ('{"_type":', "7", "[]", '{"_type":"location","tst":{"lat":1.5},"tid":"JJ"}'):
            answer = server.request("POST", "/v1/in/owntracks", body)
            self.assertEqual((answer.status, answer.body), (200, b"[]"), body)
        counts = self.input(server, "owntracks")
        self.assertEqual(counts["requests"], 4)
        self.assertEqual(counts["last_problem"]["pointer"], "/tst")
        self.assertEqual(counts["last_problem"]["reason"], "malformed")
        answer = server.request("POST", "/v1/in/owntracks", "")
        self.assertEqual((answer.status, answer.body), (200, b"[]"))
        self.assertEqual(self.input(server, "owntracks")["items"]["skipped"], 1)

    def test_what_was_answered_outlives_a_kill(self):
        server = self.serve(INPUTS)
        self.send(server, "overland", input_bodies.overland("jane", now_ms(), 1.5, 2.5))
        server.kill()
        server.start()
        self.assertEqual(server.responder("jane")["duty_state"], "ON_DUTY")
        self.assertEqual(server.stop(), 0)


class AccessTests(InputTestCase):
    def config(self, more=""):
        self.own, self.other, self.read = (
            self.token_file(name) for name in ("own.key", "other.key", "read.key"))
        return f"""web:
  tokens:
    - {{name: phones, scopes: ["input:owntracks", "input:traccar_client"], token_file: own.key}}
    - {{name: others, scopes: [ingest], token_file: other.key}}
    - {{name: reader, scopes: [read], token_file: read.key}}
""" + (more or INPUTS.replace("}\n", ", enrol: true}\n"))

    def test_a_token_opens_the_inputs_that_it_names(self):
        server = self.serve(self.config())
        sent = input_bodies.owntracks("jane", now_ms(), 1.5, 2.5)
        basic = base64.b64encode(f"phone:{self.own}".encode()).decode()
        self.assertEqual(self.send(server, "owntracks", sent).status, 401)
        self.assertEqual(
            self.send(server, "nowhere", sent).status, 401, "who has no token learns no names")
        for fields in ({"Authorization": f"Bearer {self.own}"}, {"Authorization": f"Basic {basic}"}):
            self.assertEqual(self.send(server, "owntracks", sent, fields).status, 200)
        for token in (self.other, self.read):
            fields = {"Authorization": f"Bearer {token}"}
            self.assertEqual(self.send(server, "owntracks", sent, fields).status, 403)
        own = {"Authorization": f"Bearer {self.own}"}
        for name in ("expo", "owntrakcs"):
            answer = self.send(server, name, sent, own)
            self.assertEqual(answer.status, 403)
            # Whoever holds a token may read what it opens, and not what else there is.
            self.assertEqual(
                answer.json()["detail"], "this token opens no input of this name; it has "
                "input:owntracks, input:traccar_client")
        self.assertEqual(server.request("POST", "/v1/batches", "{}", own).status, 403)
        self.assertEqual(server.get("/v1/inputs", own).status, 403)
        read = {"Authorization": f"Bearer {self.read}"}
        names = [entry["name"] for entry in server.get("/v1/inputs", read).json()["inputs"]]
        self.assertEqual(names, list(PRESETS))

    def test_a_query_may_hold_the_token_and_is_never_logged(self):
        server = self.serve(self.config())
        sent = input_bodies.osmand_query("7", now_ms(), 52.520006, 13.404954)
        answer = server.get(f"/v1/in/traccar_client{sent.path}&token={self.own}")
        self.assertEqual((answer.status, answer.body), (200, b""))
        self.assertEqual(server.get(f"/v1/in/traccar_client{sent.path}").status, 401)
        self.assertEqual(server.get(f"/v1/in/owntracks?token={self.own}").status, 405)
        read = {"Authorization": f"Bearer {self.read}"}
        person = server.get("/v1/responders/7", read).json()
        self.assertEqual(person["status"], "ONLINE")
        head = server.request("HEAD", f"/v1/in/traccar_client{sent.path}&token={self.own}")
        self.assertEqual((head.status, head.body), (200, b""))
        self.assertEqual(
            server.get("/v1/inputs", {"Authorization": f"Bearer {self.read}"}).json()["inputs"][3]
            ["requests"], 1, "HEAD brings nothing")
        self.assertEqual(server.stop(), 0)
        for secret in (self.own, "520006", "&token=", "?token="):
            self.assertNotIn(secret, server.log())

    def test_GET_needs_a_token_even_on_this_machine(self):
        server = self.serve(INPUTS)
        sent = input_bodies.osmand_query("7", now_ms(), 1.5, 2.5)
        self.assertEqual(self.send(server, "traccar_client", sent).status, 401)
        self.assertEqual(server.get("/v1/responders/7").status, 404)

    def test_pages_of_others_may_not_write(self):
        server = self.serve(self.config())
        own = {"Authorization": f"Bearer {self.own}"}
        get = input_bodies.osmand_query("7", now_ms(), 1.5, 2.5)
        post = input_bodies.owntracks("jane", now_ms(), 1.5, 2.5)
        for fields in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
            for preset, sent in (("traccar_client", get), ("owntracks", post)):
                self.assertEqual(
                    self.send(server, preset, sent, {**own, **fields}).status, 403, fields)
        self.assertEqual(
            self.send(server, "owntracks", post, {**own, "Sec-Fetch-Site": "none"}).status, 200)

    def test_nobody_is_enrolled_where_tokens_are_unless_the_input_says_so(self):
        server = self.serve(self.config(INPUTS))
        own = {"Authorization": f"Bearer {self.own}"}
        sent = input_bodies.owntracks("stranger", now_ms(), 1.5, 2.5)
        answer = self.send(server, "owntracks", sent, own)
        self.assertEqual((answer.status, answer.body), (200, b"[]"))
        read = {"Authorization": f"Bearer {self.read}"}
        self.assertEqual(server.get("/v1/responders/stranger", read).status, 404)
        entry = server.get("/v1/inputs", read).json()["inputs"][0]
        self.assertFalse(entry["enrols"])
        self.assertEqual(entry["problems"], {"unknown_responder": 1})
        self.assertEqual(entry["items"]["rejected"], 1)
        ingest = {"Authorization": f"Bearer {self.other}"}
        server.request(
            "POST", "/v1/responders", {"responder_id": "stranger", "duty_state": "ON_DUTY"}, ingest)
        self.send(server, "owntracks", sent, own)
        self.assertEqual(
            server.get("/v1/responders/stranger", read).json()["status"], "ONLINE")

    def test_a_phone_with_a_key_of_its_own_speaks_for_itself_alone(self):
        key = self.token_file("device.key")
        server = self.serve(
            "inputs:\n  - {name: o, preset: owntracks, device_key_file: device.key}\n")
        password = hmac.new(key.encode(), b"jane", hashlib.sha256).hexdigest()

        def ask(user, secret, who):
            basic = base64.b64encode(f"{user}:{secret}".encode()).decode()
            sent = input_bodies.owntracks(who, now_ms(), 1.5, 2.5)
            sent.body = json.dumps({**json.loads(sent.body), "topic": f"owntracks/{who}/p"})
            return self.send(server, "o", sent, {"Authorization": f"Basic {basic}"}).status

        self.assertEqual(ask("jane", password, "jane"), 200)
        self.assertEqual(ask("jane", password.upper(), "jane"), 200)
        self.assertEqual(ask("mia", password, "mia"), 401)
        self.assertEqual(ask("jane", password[:-1] + "x", "jane"), 401)
        self.assertEqual(ask("jane", "", "jane"), 401)
        sent = input_bodies.owntracks("jane", now_ms(), 1.5, 2.5)
        self.assertEqual(self.send(server, "o", sent).status, 401)
        self.assertEqual(server.responder("jane")["status"], "ONLINE")

    def test_another_id_than_the_keys_is_refused(self):
        key = self.token_file("device.key")
        server = self.serve("""inputs:
  - {name: t, preset: transistorsoft, device_key_file: device.key}
""")
        password = hmac.new(key.encode(), b"41", hashlib.sha256).hexdigest()
        basic = base64.b64encode(f"41:{password}".encode()).decode()
        fields = {"Authorization": f"Basic {basic}"}
        own = input_bodies.transistorsoft("41", now_ms(), 1.5, 2.5)
        other = input_bodies.transistorsoft("42", now_ms(), 1.5, 2.5)
        self.assertEqual(self.send(server, "t", own, fields).status, 200)
        self.assertEqual(self.send(server, "t", other, fields).status, 403)
        self.assertEqual(server.get("/v1/responders/42").status, 404)


class HostileTests(InputTestCase):
    def test_whatever_comes_is_answered_below_500_and_leaves_no_place(self):
        seed = int(os.environ.get("ROLLCALL_CANARY_SEED", random.randrange(2**32)))
        draw = random.Random(seed)
        server = self.serve(INPUTS, log_format="json")
        places = []

        def place():
            number = f"{draw.randint(10, 80)}.{draw.randint(10**8, 10**9 - 1)}"
            places.append(number)
            return float(number)

        for number in range(int(os.environ.get("ROLLCALL_CANARIES", "400"))):
            preset, make = draw.choice(CLIENTS)
            sent = make(f"p-{number % 20}", now_ms(), place(), place())
            body = sent.body.encode()
            kind = draw.randrange(6)
            if kind == 1:
                body = body[:draw.randrange(len(body))]
            elif kind == 2:
                body = bytes(draw.randrange(256) for _ in range(draw.randrange(200)))
            elif kind == 3 and isinstance(json_or_none(sent.body), dict):
                body = json.dumps(self.spoilt(json.loads(sent.body), draw, place)).encode()
            elif kind == 4:
                other, foreign = draw.choice(CLIENTS)
                body = foreign("p-0", now_ms(), place(), place()).body.encode()
            elif kind == 5:
                body = b"[" * draw.choice((3, 70, 5000)) + body
            answer = server.request(
                sent.method, f"/v1/in/{preset}{sent.path}", body, sent.headers)
            self.assertLess(answer.status, 500, f"seed {seed}: {body!r}")
        listed = server.get("/v1/inputs").body + server.get("/metrics").body
        for preset in PRESETS:
            problem = self.input(server, preset)["last_problem"]
            if problem is not None:
                self.assertTrue(problem["pointer"] or problem["detail"], problem)
        self.assertIn("ONLINE", server.get("/v1/status").text)
        server.kill()
        content = {"/v1/inputs": listed}
        for name in sorted(os.listdir(self.directory)):
            with open(os.path.join(self.directory, name), "rb") as file:
                content[name] = file.read()
        self.assertIn(b"p-1", b"".join(content.values()), "what is kept would be found")
        for number in places:
            traces = (
                number.split(".")[1].encode(), struct.pack("<d", float(number)),
                struct.pack(">d", float(number)))
            for where, text in content.items():
                for trace in traces:
                    self.assertEqual(text.find(trace), -1, f"seed {seed}: {number} in {where}")

    def spoilt(self, body, draw, place):
        """A body of which one member somewhere is something else."""
        spots = []

        def walk(value):
            if isinstance(value, dict):
                spots.extend((value, key) for key in value)
                for inner in value.values():
                    walk(inner)
            elif isinstance(value, list):
                for inner in value:
                    walk(inner)

        walk(body)
        spot, key = draw.choice(spots)
        spot[key] = draw.choice((
            {"lat": place(), "lng": place()}, [place(), place()], None, True, -1, 1e300, "",
            f"{place()}, {place()}", {"deep": [{"coords": [place()]}]}))
        return body


def json_or_none(text):
    try:
        return json.loads(text)
    except ValueError:
        return None


class MapTests(InputTestCase):
    def map(self, body, *arguments):
        return subprocess.run(
            [BINARY, "map", "-", *arguments], input=body, capture_output=True, text=True,
            env=plain_environment(), timeout=30, check=False, cwd=self.directory)

    def test_a_recorded_body_line_by_line(self):
        sent = input_bodies.owntracks("jane", now_ms(), 52.520006, 13.404954)
        outcome = self.map(sent.body, "--preset", "owntracks")
        self.assertEqual(outcome.returncode, 0, outcome)
        lines = outcome.stdout.splitlines()
        self.assertTrue(lines[0].startswith('taken    {"responder_id":"jane",'), lines)
        self.assertEqual(lines[1:], ["answer   200 []"])
        self.assertNotIn("520006", outcome.stdout)
        told = json.loads(self.map(sent.body, "--preset", "owntracks", "--json").stdout)
        self.assertEqual(told["items"][0]["battery_level"], 0.87)
        self.assertEqual(told["answer"], {"status": 200, "body": "[]"})

    def test_an_input_of_the_settings(self):
        with open(os.path.join(self.directory, "inputs.yml"), "w", encoding="utf-8") as file:
            file.write("""inputs:
  - name: ours
    id: [{pointer: /device_id}, {basic: user}, {header: X-Device}]
    items: /points
    captured_at: {pointer: /t, unit: s}
    sequence: none
    facts:
      battery_level: {pointer: /batt, scale: 0.01}
      network_type: {pointer: /conn, values: {w: wifi, m: cellular, o: none}}
    answer: {status: 202, body: "[]"}
""")
        body = '{"points":[{"t":1795230000,"batt":"x","conn":"m"}]}'
        known = ("--input", "ours", "--config.file", "inputs.yml")
        outcome = self.map(body, *known, "--header", "X-Device: d-1")
        self.assertIn('"responder_id":"d-1"', outcome.stdout)
        self.assertIn("problem  /points/0/batt: not a number\n", outcome.stdout)
        self.assertIn("answer   202 []\n", outcome.stdout)
        self.assertEqual(outcome.returncode, 0)
        nobody = self.map(body, *known)
        self.assertEqual(nobody.returncode, 1)
        self.assertIn("refused  no id: there is none of /device_id", nobody.stdout)
        self.assertEqual(self.map(body, "--input", "theirs", "--config.file", "inputs.yml").returncode, 64)


class SettingsTests(InputTestCase):
    def check(self, text):
        path = os.path.join(self.directory, "check.yml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return subprocess.run(
            [BINARY, "check", path], capture_output=True, text=True, env=plain_environment(),
            timeout=30, check=False)

    def test_check_says_what_each_input_takes(self):
        outcome = self.check(INPUTS)
        self.assertEqual(outcome.returncode, 0, outcome)
        self.assertIn("/v1/in/owntracks is read as OwnTracks sends it", outcome.stdout)
        self.assertIn("battery_level, network_type", outcome.stdout)

    def test_what_would_read_a_place_is_refused_at_the_start(self):
        for member in (
                "captured_at: /location", "facts: {app_version: /position/latitude}",
                "facts: {battery_level: {item: /lat}}", "id: [{header: X-Lat}]",
                "sequence: {root: /coords}", "skip: [{pointer: /speed, values: [x]}]"):
            more = "" if member.startswith("id") else "id: /id\n    "
            outcome = self.check(f"inputs:\n  - name: ours\n    {more}{member}\n")
            self.assertEqual(outcome.returncode, 64, (member, outcome))
            self.assertIn("coordinates, which are never taken", outcome.stderr, member)

    def test_wrong_inputs_are_refused_with_their_line(self):
        for text, said in (
                ("- {name: a/b, preset: expo}", "letters, digits"), ("- {name: a}", "inputs[0].id"),
                ("- {name: a, preset: owntrack}", "owntracks"),
                ("- {name: a, preset: expo}\n  - {name: a, preset: expo}", "another input's"),
                ("- {name: a, preset: expo, regoin: x}", "region"),
                ("- {name: a, id: /x, facts: {network_type: {pointer: /n, values: {w: wire}}}}", "wifi"),
                ("- {name: a, id: /x, captured_at: {pointer: /t, unit: h}}", "unit"),
                ("- {name: a, preset: expo, answer: {status: 500}}", "status"),
                ("- {name: a, preset: expo, device_key: short}", "device_key")):
            outcome = self.check(f"inputs:\n  {text}\n")
            self.assertEqual(outcome.returncode, 64, (text, outcome))
            self.assertIn(said, outcome.stderr, text)

    def test_a_reload_brings_an_input_and_takes_one_away(self):
        server = self.serve(INPUTS)
        with open(server.config_path, "w", encoding="utf-8") as file:
            file.write("inputs:\n  - {name: fresh, preset: expo}\n")
        answer = server.post("/-/reload", None)
        self.assertEqual(answer.status, 200, answer)
        sent = input_bodies.expo("41", now_ms(), 1.5, 2.5)
        self.assertEqual(self.send(server, "fresh", sent).status, 200)
        self.assertEqual(self.send(server, "expo", sent).status, 404)
