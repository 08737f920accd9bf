"""What the person who holds the phone hears: `?tell=true`, at the real binary. Source: R4."""

import base64
import gzip
import hashlib
import hmac
import json
import os
import re
import secrets
import shutil
import subprocess

import input_bodies
from cluster_process import ClusterTestCase, Etcd, Members
from documents import page
from rollcall_process import (
    NDJSON, RollcallTestCase, eventually, ndjson, now_ms, plain_environment, read_line, rfc3339,
    taken)

TELL = "/v1/batches?tell=true"
FINE = {"status": "ONLINE", "reachable": "yes", "promised_until": None, "advice": []}
NOBODY = {**FINE, "status": "NOT_EXPECTED", "reachable": "unknown"}
WRONG = {"permission_status": "denied", "location_services": False, "network_type": "none",
         "power_mode": "low_power", "app_state": "suspended"}
ADVICE = [
    {"key": "permission_denied", "text": "Allow the app to see where you are, always."},
    {"key": "location_services_off", "text": "Switch on location services."},
    {"key": "no_network", "text": "Go where you have a network."},
    {"key": "battery_empty", "text": "Charge your phone."},
    {"key": "low_power", "text": "Switch off low power mode if you can."},
    {"key": "app_suspended", "text": "Open the app: the phone put it to sleep."},
]
ITEMS_MAX = 1000


def password(key, who):
    """The password of a phone under the key of its input (M3)."""
    return hmac.new(key.encode(), who.encode(), hashlib.sha256).hexdigest()


def basic(key, who):
    """The field by which a phone proves whose it is."""
    pair = base64.b64encode(f"{who}:{password(key, who)}".encode()).decode()
    return {"Authorization": f"Basic {pair}"}


class StandingTests(RollcallTestCase):
    def test_an_object_is_answered_with_one_and_a_list_with_a_list(self):
        server = self.serve()
        one, two = {"responder_id": "a"}, {"responder_id": "b", "telemetry": WRONG, "battery_level": 0.01}
        self.assertEqual(server.write(TELL, one)["you"], FINE)
        wrong = {**FINE, "advice": ADVICE}
        self.assertEqual(server.write(TELL, two)["you"], wrong)
        self.assertEqual(server.write(TELL, [one])["you"], [FINE])
        self.assertEqual(server.write(TELL, [])["you"], [])
        lines = {"Content-Type": NDJSON}
        self.assertEqual(server.write(TELL, ndjson([two, one]), lines)["you"], [wrong, FINE])
        self.assertEqual(server.write(TELL, ndjson([one]), lines)["you"], [FINE])
        packed = gzip.compress(json.dumps([one, two]).encode())
        self.assertEqual(
            server.write(TELL, packed, {"Content-Encoding": "gzip"})["you"], [FINE, wrong])

    def test_it_says_what_every_other_answer_says(self):
        server = self.serve()
        you = server.write(TELL, {
            "responder_id": "a", "next_expected_in": "15m", "telemetry": {"power_mode": "low_power"}})["you"]
        person = server.responder("a")
        self.assertEqual(set(you), {"status", "reachable", "promised_until", "advice"})
        for name in ("status", "reachable", "promised_until"):
            self.assertEqual(you[name], person[name])
        self.assertEqual([one["key"] for one in you["advice"]], ["low_power"])
        # As of the end of it all: what a body's last item says holds for the first (D7).
        both = server.write(TELL, [
            {"responder_id": "b"}, {"responder_id": "b", "duty_state": "OFF_DUTY", "telemetry": WRONG}])
        self.assertEqual(both["you"], [NOBODY, NOBODY])
        paused = server.write(TELL, {"responder_id": "c", "sharing": "paused", "telemetry": WRONG})
        self.assertEqual(paused["you"], NOBODY)
        late = server.write(TELL, {"responder_id": "d", "received_at": rfc3339(now_ms() - 3_600_000)})
        self.assertEqual(late["you"], {**FINE, "status": "UNKNOWN", "reachable": "unknown"})

    def test_a_duplicate_is_answered_and_what_was_rejected_has_nothing(self):
        server = self.serve()
        update = {"responder_id": "a", "updates": [{"sequence": 1}], "telemetry": WRONG}
        first = server.write(TELL, update)
        again = server.write(TELL, update)
        self.assertEqual((again["duplicates"], again["you"]), (1, first["you"]))
        # Each `index` of a note is a place of `you`, also behind the object that is no item.
        mixed = server.write(TELL, [
            {"sent_at": now_ms()}, {"region": "north"}, {"responder_id": "a", "updates": [{"sequence": 2}]},
            "x", {"responder_id": "b", "received_at": "yesterday"}, {"responder_id": "c"}, {}])
        self.assertEqual([note["index"] for note in mixed["rejected"]], [1, 3, 4, 6])
        self.assertEqual(mixed["you"], [None, None, FINE, None, None, FINE, None])
        self.assertEqual(server.request("DELETE", "/v1/responders/c").status, 202)
        erased = server.write(TELL, [{"responder_id": "c"}, {"responder_id": "a"}])
        self.assertEqual(erased["rejected"][0]["index"], 0)
        self.assertEqual(erased["you"], [None, FINE])
        for body, you in (({}, None), ([{}, 7], [None, None])):
            document = self.problem(server.post(TELL, body), 422)
            self.assertEqual(document["you"], you)
        strict = self.problem(
            server.post(f"{TELL}&strict=true", {"responder_id": "a", "colour": "red"}), 422)
        self.assertIsNone(strict["you"])

    def test_without_it_the_answer_is_the_same_byte_for_byte(self):
        server = self.serve()
        for body in ({"responder_id": "a"}, [{"responder_id": "b", "telemetry": WRONG}, {}]):
            plain = server.post("/v1/batches", body).body
            self.assertEqual(server.post("/v1/batches?tell=false", body).body, plain)
            asked = server.post(TELL, body).body
            self.assertEqual(asked[:len(plain) - 2], plain[:-2])
            self.assertTrue(asked[len(plain) - 2:].startswith(b',"you":'))
        self.assertEqual(
            server.post("/v1/batches", {"responder_id": "a"}).body,
            b'{"accepted":1,"duplicates":0,"rejected":[],"problems":[],'
            b'"updates":{"accepted":0,"duplicate":0,"late":0}}\n')

    def test_wrong_values_are_refused_and_nothing_is_taken(self):
        server = self.serve()
        for query in ("tell=maybe", "tell=", "tell=1", "tell=true&tell=true"):
            document = self.problem(server.post(f"/v1/batches?{query}", {"responder_id": "a"}), 400)
            self.assertIn("tell", document["detail"])
        for path in ("/v1/transitions", "/v1/responders"):
            document = self.problem(server.post(f"{path}?tell=true", {"responder_id": "a"}), 400)
            self.assertEqual(document["detail"], "unknown parameter: tell")
        self.assertEqual(server.get("/v1/responders/a").status, 404)

    def test_the_answer_is_bounded(self):
        server = self.serve("limits: {items: 1000000}\n")
        item = {"responder_id": "a", "battery_level": 0.01, "telemetry": WRONG}
        answer = server.post(TELL, [item] * ITEMS_MAX)
        self.assertEqual(answer.status, 200)
        self.assertEqual(answer.json()["you"], [{**FINE, "advice": ADVICE}] * ITEMS_MAX)
        self.assertLess(len(answer.body), 1 << 20)
        document = self.problem(server.post(TELL, [{"responder_id": "b"}] * (ITEMS_MAX + 1)), 413)
        self.assertEqual(
            document["detail"], "more than 1000 items with tell=true: send them in parts")
        self.problem(server.post(TELL, b"[" + b"7," * 999_999 + b"7]"), 413)
        self.assertEqual(server.get("/v1/responders/b").status, 404)
        taken = server.write("/v1/batches", [{"responder_id": "b"}] * (ITEMS_MAX + 1))
        self.assertEqual(taken["accepted"], ITEMS_MAX + 1)
        small = self.serve("limits: {items: 2}\n", name="small")
        document = self.problem(small.post(TELL, [{"responder_id": "b"}] * 3), 413)
        self.assertEqual(document["detail"], "more than 2 items: send them in parts")

    def test_it_needs_no_more_than_the_scope_that_writes(self):
        tokens = {name: secrets.token_hex(32) for name in ("ingest", "read")}
        config = "web:\n  tokens:\n"
        for name, token in tokens.items():
            with open(os.path.join(self.directory, name), "w", encoding="ascii") as file:
                file.write(token)
            config += f"    - {{name: {name}, scopes: [{name}], token_file: {name}}}\n"
        server = self.serve(config)
        status = {name: server.post(
            TELL, {"responder_id": "a"}, {"Authorization": f"Bearer {token}"})
            for name, token in tokens.items()}
        self.assertEqual(status["read"].status, 403)
        self.assertEqual(status["ingest"].json()["you"], FINE)
        self.assertEqual(server.post(TELL, {"responder_id": "a"}).status, 401)


class InputStandingTests(RollcallTestCase):
    def serve_inputs(self, *more):
        with open(os.path.join(self.directory, "device.key"), "w", encoding="ascii") as file:
            self.key = secrets.token_hex(32)
            file.write(self.key + "\n")
        return self.serve("inputs:\n" + "".join(
            f"  - {{name: {name}, {settings}, enrol: true{key}}}\n" for name, settings, key in more))

    def ask(self, server, name, sent, query="?tell=true"):
        return server.request(
            sent.method, f"/v1/in/{name}{sent.path}{query}", sent.body,
            {**sent.headers, **basic(self.key, "41")})

    def test_a_phone_with_a_key_of_its_own_hears_how_it_stands(self):
        key = ", device_key_file: device.key"
        own = "id: {item: /responder_id}, facts: {power_mode: /telemetry/power_mode}"
        server = self.serve_inputs(
            ("overland", "preset: overland", key), ("geo", "preset: transistorsoft", key),
            ("expo", "preset: expo", key), ("ours", f'{own}, answer: {{status: 202, body: "{{}}"}}', key),
            ("said", f"{own}, answer: {{body: '{{\"you\":1}}'}}", key), ("mute", own, key))
        for name, make, before in (
                ("overland", input_bodies.overland, {"result": "ok"}),
                ("geo", input_bodies.transistorsoft, {}), ("expo", input_bodies.expo, {})):
            with self.subTest(name):
                sent = make("41", now_ms(), 1.5, 2.5)
                self.assertEqual(self.ask(server, name, sent).json(), {**before, "you": FINE})
                for query in ("", "?tell=false", "?tell=maybe"):
                    self.assertEqual(self.ask(server, name, sent, query).body, sent.answer)
                other = make("42", now_ms(), 1.5, 2.5)
                refused = self.problem(self.ask(server, name, other), 403)
                self.assertNotIn("you", refused)
                sent.body = "{"
                self.assertEqual(self.ask(server, name, sent).json(), {**before, "you": None})
        saving = input_bodies.Sent("POST", "", {
            "responder_id": "41", "telemetry": {"power_mode": "low_power"}}, b"{}")
        answer = self.ask(server, "ours", saving)
        self.assertEqual(answer.status, 202)
        self.assertEqual(answer.json(), {"you": {**FINE, "advice": [ADVICE[4]]}})
        self.assertEqual(self.ask(server, "said", saving).json(), {"you": 1})
        self.assertEqual(self.ask(server, "mute", saving).body, b"")
        self.assertEqual(server.get("/v1/responders/42").status, 404)

    def test_a_client_that_has_no_place_for_it_gets_what_it_expects(self):
        key = ", device_key_file: device.key"
        server = self.serve_inputs(*((preset, f"preset: {preset}", key) for preset in (
            "owntracks", "traccar_client", "traccar_forward", "home_assistant")))
        for make in (input_bodies.owntracks, input_bodies.traccar_client,
                     input_bodies.traccar_forward, input_bodies.home_assistant):
            sent = make("41", now_ms(), 1.5, 2.5)
            answer = self.ask(server, make.__name__, sent)
            self.assertEqual((answer.status, answer.body), (200, sent.answer), make.__name__)

    def test_without_keys_it_is_as_if_nobody_had_asked(self):
        server = self.serve_inputs(("geo", "preset: transistorsoft", ""))
        sent = input_bodies.transistorsoft("41", now_ms(), 1.5, 2.5)
        answer = server.post("/v1/in/geo?tell=true", sent.body, sent.headers)
        self.assertEqual((answer.status, answer.body), (200, sent.answer))
        self.assertEqual(server.responder("41")["status"], "ONLINE")

    def test_who_is_not_enrolled_hears_nothing(self):
        server = self.serve_inputs(("geo", "preset: transistorsoft", ", device_key_file: device.key"))
        with open(server.config_path, encoding="utf-8") as file:
            server.configure(file.read().replace("enrol: true", "enrol: false"))
        self.assertEqual(server.post("/-/reload", b"").status, 200)
        sent = input_bodies.transistorsoft("41", now_ms(), 1.5, 2.5)
        self.assertEqual(self.ask(server, "geo", sent).json(), {"you": None})


class MemberStandingTests(ClusterTestCase):
    def test_a_follower_passes_the_question_on_and_the_answer_back(self):
        key = secrets.token_hex(32)
        path = os.path.join(self.directory, "device.key")
        with open(path, "w", encoding="ascii") as file:
            file.write(key)
        members = Members(self, Etcd(self), names="abc", settings=(
            f"inputs: [{{name: geo, preset: transistorsoft, enrol: true, device_key_file: {path}}}]\n"))
        members.start()
        members.settled()
        follower = next(name for name in members.names if name != members.leader())
        eventually(lambda: members.standing(follower)["leader_address"], 10, "who leads")

        def ask(target, body, headers=None):
            """The answer of the follower, asked again where nobody leads for a moment."""
            return taken(
                lambda: members[follower].post(target, body, headers), f"POST {target}", status=None)

        answer = ask(TELL, [{"responder_id": "a"}, {}])
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual(answer.json()["you"], [FINE, None])
        item = {"responder_id": "a", "battery_level": 0.01, "telemetry": WRONG}
        answer = ask(TELL, [item] * ITEMS_MAX)
        self.assertEqual(answer.json()["you"], [{**FINE, "advice": ADVICE}] * ITEMS_MAX)
        self.problem(ask("/v1/batches?tell=maybe", item), 400)
        sent = input_bodies.transistorsoft("41", now_ms(), 1.5, 2.5)
        answer = ask("/v1/in/geo?tell=true", sent.body, {**sent.headers, **basic(key, "41")})
        self.assertEqual(answer.json(), {"you": FINE})


class PhoneTests(RollcallTestCase):
    """The phone of the page "Forward from your backend" shows green, yellow or red."""

    def begin(self, url, **variables):
        node = shutil.which("node")
        if node is None:
            self.skipTest("no Node")
        code = re.search(r"```js\n(// phone.mjs.*?)```", page("Integrate"), re.DOTALL).group(1)
        self.assertLessEqual(sum(1 for line in code.splitlines() if line.strip()), 45)
        path = os.path.join(self.directory, "phone.mjs")
        with open(path, "w", encoding="utf-8") as file:
            file.write(code)
        phone = subprocess.Popen(
            [node, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={**plain_environment(), "ROLLCALL_URL": url, "PHONE": "41", **variables})
        self.addCleanup(phone.wait, 10)
        self.addCleanup(phone.kill)
        self.addCleanup(phone.stdout.close)
        self.addCleanup(phone.stdin.close)

        def shows(**telemetry):
            phone.stdin.write(json.dumps(telemetry).encode() + b"\n")
            phone.stdin.flush()
            return read_line(phone.stdout, 20).rstrip()

        return shows

    def story(self, server, shows):
        fine = {"permission_status": "granted", "location_services": True, "power_mode": "normal"}
        self.assertEqual(shows(**fine), "green: you can be reached")
        self.assertEqual(
            shows(**{**fine, "power_mode": "low_power"}),
            "yellow: Switch off low power mode if you can.")
        self.assertEqual(
            shows(**{**fine, "permission_status": "denied", "power_mode": "low_power"}),
            "yellow: Allow the app to see where you are, always. "
            "Switch off low power mode if you can.")
        self.assertEqual(shows(**fine), "green: you can be reached")
        server.write("/v1/responders", {"responder_id": "41", "sharing": "paused"})
        self.assertEqual(shows(**fine), "red: you are NOT_EXPECTED")
        server.write("/v1/responders", {"responder_id": "41", "sharing": "active"})
        self.assertEqual(shows(**fine), "green: you can be reached")
        server.kill()
        self.assertRegex(shows(**fine), r"\Ared: no answer: \w+\Z")
        self.assertEqual(server.stop() if server.process else 0, 0)

    def test_it_shows_how_its_person_stands(self):
        server = self.serve()
        self.story(server, self.begin(f"http://127.0.0.1:{server.port}/v1/batches"))

    def test_it_needs_no_backend_in_between_where_it_has_a_key_of_its_own(self):
        settings = re.search(
            r"```yaml\n(inputs:\n  - name: app\n.*?)```", page("Integrate"), re.DOTALL).group(1)
        key = secrets.token_hex(32)
        with open(os.path.join(self.directory, "device.key"), "w", encoding="ascii") as file:
            file.write(key)
        server = self.serve(settings)
        self.story(server, self.begin(
            f"http://127.0.0.1:{server.port}/v1/in/app", PHONE_PASSWORD=password(key, "41")))
