"""A canary: words and coordinates are planted in every place of the input that is not a name to be
kept, and are looked for wherever something comes out.

Source: G14; I8 (no coordinates), V2 (no responder's id in any label).

    ROLLCALL_CANARIES=10000    more payloads than the usual 600
"""

import json
import os
import random
import socket
import struct
import time
import unittest
import urllib.parse

from loopback_phones import Expo, Phones, PushHook
from loopback_receivers import Fleet, Hook, Pager, people
from rollcall_process import RollcallTestCase, eventually, now_ms, rfc3339

PAYLOADS = int(os.environ.get("ROLLCALL_CANARIES", "600"))
SOON = 15

PRIVATE_NAMES = (
    "lat", "latitude", "lng", "lon", "longitude", "coords", "coordinates", "location", "geo",
    "altitude", "heading", "speed")
UNKNOWN_NAMES = ("address", "note", "lat_e7", "what3words", "Latitude", "my_location", "x", "name")
# Members that Rollcall knows, and takes from a closed set or as a number: any other value is told
# to be a problem by the member's name alone.
CLOSED_MEMBERS = (
    "platform", "duty_state", "app_state", "power_mode", "network_type", "battery_state",
    "permission", "nudge_sound", "received_at", "paused", "sharing_paused", "push_enabled")
CLOSED_TELEMETRY = (
    "app_state", "power_mode", "network_type", "battery_level", "battery_state", "charging",
    "permission", "location_permission", "location_services", "queue_depth")

CONFIG = """
liveness: {{on_duty: {{expected: 1s, degraded_after: 2s, offline_after: 3s}}}}
alerts:
  name_members: 0
  HighOfflineRate: {{by: region, for: 1s}}
  NoOnlineResponders: {{for: 1s, keep_firing_for: 1s}}
receivers:
  - {{name: oncall, pagerduty: {{url: "{pager}", routing_key_file: routing.key}}}}
  - {{name: hook, webhook: {{url: "{hook}"}}}}
nudges:
  stale_after: 3s
  sink: {{{sink}}}
"""


class Canaries:
    """Markers that cannot stand anywhere by chance, and the places to plant them."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.words = ["Zq" + self._letters(14) for _ in range(24)]
        # Names of members that nobody knows: the answer to who sent one says it (P3), nothing else.
        self.names = ["Zq" + self._letters(14) for _ in range(8)]
        # A place on earth with nine decimals: the fraction alone is looked for.
        self.numbers = [
            f"{self.random.randint(-89, 179)}.{self.random.randint(10**8, 10**9 - 1)}"
            for _ in range(24)]

    def _letters(self, count):
        return "".join(self.random.choice("bcdfghjklmnpqrstvwxz") for _ in range(count))

    def traces(self):
        """The bytes by which a marker would be known: as text, in a URL, and as a double."""
        for word in self.words:
            yield word, word.encode()
        for number in self.numbers:
            yield number, number.split(".")[1].encode()
            yield f"{number} as a double", struct.pack("<d", float(number))
            yield f"{number} as a double, big-endian", struct.pack(">d", float(number))

    def name(self):
        """A marker as the name of a member."""
        return self.random.choice(self.names)

    def value(self):
        """A marker as some JSON value."""
        word, number = self.random.choice(self.words), self.random.choice(self.numbers)
        return self.random.choice((
            lambda: word, lambda: number, lambda: float(number), lambda: [float(number), word],
            lambda: {"lat": float(number), "lng": float(number), self.name(): word},
            lambda: {"deep": [{"deeper": {"coords": [number, float(number)]}}]},
            lambda: f"geo:{number},{number}", lambda: f"{word} \u00e4 \" \\ \n {number}",
        ))()

    def place(self):
        """A place on earth as somebody would write it where a name is asked for."""
        latitude = self.random.choice([n for n in self.numbers if abs(float(n)) <= 90])
        longitude = self.random.choice(self.numbers)
        return self.random.choice((
            "{}, {}", "{},{}", "{};{}", "{} {}", "{} / {}", "geo:{},{}", "POINT({1} {0})",
            "N{}E{}", "{}N {}E", "lat {} lon {}", "home ({}|{})", "{}\u00b0 {}\u00b0", "@{},{},15z",
            "{}%2C{}", "{}%252c%20{}", "{}\uff0c{}", "{}\u3001{}", "{}\u00a0{}", "{}\u2009/\u2009{}",
        )).format(latitude, longitude)

    def plant(self, item):
        """An item with one to three markers somewhere in it."""
        for _ in range(self.random.randint(1, 3)):
            kind = self.random.randrange(7)
            places = [item, *item.get("updates", []), item.get("telemetry")]
            place = self.random.choice([place for place in places if isinstance(place, dict)])
            if kind == 0:
                place[self.random.choice(PRIVATE_NAMES)] = self.value()
            elif kind == 1:
                place[self.random.choice(UNKNOWN_NAMES)] = self.value()
            elif kind == 2:
                place[self.name()] = self.value()
            elif kind == 3:
                item[self.random.choice(CLOSED_MEMBERS)] = self.value()
            elif kind == 4:
                telemetry = item.setdefault("telemetry", {})
                if isinstance(telemetry, dict):
                    telemetry[self.random.choice(CLOSED_TELEMETRY)] = self.value()
            elif kind == 5:
                item["region"] = self.place()
                item["circles"] = [self.place(), self.place()]
                item["os_version"], item["app_version"] = self.place(), self.place()
                # Of a silence and of a wake.
                item["comment"] = item["author"] = item["circle"] = self.place()
                item["viewer"], item["matchers"], item["duration"] = "a", ["region=north"], "1s"
            else:
                item["updates"] = [
                    {"sequence": self.value(), "captured_at": self.value()}, self.value()]
        return item

    def spoil(self, body):
        """A body whose end, beginning or middle is no JSON any more."""
        mark = self.random.choice(self.words + self.numbers)
        cut = self.random.randrange(len(body))
        return self.random.choice((
            body + mark, body + '{"lat":' + mark, mark + body,
            # A control character stands nowhere in JSON, so that no part of it becomes an id.
            f"{body[:cut]}\x01{mark}\x01{body[cut:]}", f'{body[:cut]}\x01"{mark}',
            '{"' + mark + '":' + mark * 40))


class CanaryTests(RollcallTestCase):
    def setUp(self):
        super().setUp()
        self.seed = int(os.environ.get("ROLLCALL_CANARY_SEED", random.randrange(2**32)))
        self.canaries = Canaries(self.seed)
        self.pager, self.hook = Pager(self), Hook(self)
        with open(f"{self.directory}/routing.key", "w", encoding="utf-8") as file:
            file.write(Pager.ROUTING_KEY + "\n")
        self.answers = []

    def begin(self, sink, log_format=None):
        return self.serve(
            CONFIG.format(pager=self.pager.url, hook=self.hook.url, sink=sink),
            log_format=log_format)

    def send(self, server, method, target, body, headers=None):
        """A request of which only its answer is kept."""
        answer = server.request(method, target, body, headers)
        self.answers.append(str(answer.headers).encode() + answer.body)
        self.assertLess(answer.status, 500, answer)

    def assertNowhere(self, traces, where, content):
        for name, trace in traces:
            found = content.find(trace)
            around = content[max(0, found - 100):found + 100]
            self.assertEqual(found, -1, f"seed {self.seed}: {name} in {where}: {around!r}")

    def files(self):
        """Every file of the store and the log, whole, by name."""
        found = {}
        for name in sorted(os.listdir(self.directory)):
            with open(os.path.join(self.directory, name), "rb") as file:
                found[name] = file.read()
        return found

    def told(self, *receivers):
        """All that anybody outside was sent."""
        return b"\n".join(
            request.path.encode() + repr(request.headers).encode() + request.body
            for receiver in receivers for request in list(receiver.requests))

    def asked(self, server):
        """What can be asked: the answers of every way to look."""
        targets = (
            "/metrics", "/v1/status", "/v1/responders?limit=1000", "/v1/gaps", "/v1/alerts",
            "/v1/alerts/history", "/v1/nudges", "/v1/regions", "/openapi.json", "/",
            "/v1/responders/north-1", "/v1/responders/north-1/timeline", "/v1/responders/north-1/nudge")
        return b"\n".join(server.get(target).body for target in targets)

    def test_what_is_planted_anywhere_is_found_nowhere(self):
        push = PushHook(self)
        server = self.begin(f'webhook: {{url: "{push.url}"}}', log_format="json")
        fleet = Fleet(self, server, people("north", 4) + people("south", 4), source="pod").start()
        eventually(
            lambda: server.get("/v1/status").json()["responders"]["ONLINE"] == 8, SOON,
            "everybody is ONLINE")
        self.plant_in_bodies(server, PAYLOADS)
        self.plant_around_bodies(server)
        fleet.cut(*fleet.of("north"))
        self.hook.first(lambda r: b"NoOnlineResponders" in r.body, SOON, "a message")
        eventually(lambda: self.pager.incidents, SOON, "a page")
        push.first(lambda _: True, SOON, "a nudge")
        asked = self.asked(server)
        refused = server.scrape()("rollcall_item_problems_total", reason="coordinate")
        self.assertGreater(refused, 10, f"seed {self.seed}: places in names are counted")
        # The store as a crash leaves it, its log not folded in; and as an orderly stop does.
        server.kill()
        crashed = self.files()
        server.start()
        self.plant_in_bodies(server, 20)
        self.assertEqual(server.stop(), 0)
        outputs = {
            "an answer": asked + b"\n".join(self.answers),
            "a message": self.told(self.pager, self.hook, push),
            **{f"{name} after a kill": content for name, content in crashed.items()},
            **self.files(),
        }
        self.assertIn("rollcall.db-wal after a kill", outputs)
        # What must be there shows that the search would have found the rest.
        for trace, where in ((b"north-1", "rollcall.db"), (b"north-1", "an answer"),
                             (b"NoOnlineResponders", "a message")):
            self.assertTrue(trace in outputs[where], f"{trace} in {where}")
        traces = list(self.canaries.traces())
        for where, content in outputs.items():
            self.assertNowhere(traces, where, content)
        names = [(name, name.encode()) for name in self.canaries.names]
        for where, content in {**outputs, "an answer": asked}.items():
            self.assertNowhere(names, where, content)

    def plant_in_bodies(self, server, count):
        """Batches, transitions, facts, rosters, heartbeats, wakes, silences: whole and spoilt."""
        draw = self.canaries.random
        for number in range(count):
            who = draw.choice(("north-1", "south-2", f"canary-{number % 40}"))
            item = {
                "responder_id": who, "received_at": rfc3339(now_ms()),
                "updates": [{"sequence": number, "captured_at": rfc3339(now_ms())}],
                "telemetry": {"app_state": "background", "queue_depth": 0}}
            path = draw.choice((
                "/v1/batches", "/v1/batches", "/v1/batches", "/v1/transitions", "/v1/responders",
                "/v1/heartbeat", "/v1/wakes", "/v1/silences", "/v1/drill"))
            if path == "/v1/transitions":
                item = {"responder_id": who, "from": "UNKNOWN", "to": "ONLINE", "at": now_ms()}
            body = json.dumps(self.canaries.plant(item), ensure_ascii=draw.random() < 0.5)
            if draw.random() < 0.3:
                body = self.canaries.spoil(body)
            self.send(server, "POST", path, body.encode())

    def plant_around_bodies(self, server):
        """Header fields, queries and paths; and what is no HTTP at all."""
        draw = self.canaries.random
        for word in self.canaries.words:
            number = draw.choice(self.canaries.numbers)
            fields = {
                "User-Agent": word, "X-Location": number, "Referer": f"http://{word}/?lat={number}",
                "Cookie": f"geo={number}", "X-Forwarded-For": word,
                "Authorization": f"Bearer {word}"}
            query = urllib.parse.urlencode({"lat": number, word: number})
            self.send(server, "POST", f"/v1/batches?{query}", {"responder_id": "north-1"}, fields)
            self.send(server, "GET", f"/v1/responders?{query}", None, fields)
            self.send(server, "GET", f"/v1/{word}/{number}?{query}", None, fields)
            self.send(server, "GET", f"/v1/responders?after={word}&limit={number}", None)
            self.send(server, "POST", "/v1/batches", word, {"Content-Type": f"text/{word}"})
            with socket.create_connection(("127.0.0.1", server.port), 5) as raw:
                raw.sendall(f"{word} /{number} HTTP/1.1\r\n{word}: {number}\r\n{word}\r\n\r\n".encode())
                raw.settimeout(5)
                try:
                    self.answers.append(raw.recv(65536))
                except OSError:
                    pass

    def test_who_people_are_is_told_to_no_log_and_no_metric(self):
        """Ids, circles, installs and tokens are kept and answered, as they must be. No line of the
        log and no metric has them, no page without `alerts.name_members`, and a token goes to
        Expo alone."""
        expo = Expo(self)
        server = self.begin(f'expo: {{url: "{expo.url}"}}')
        marks = {name: "Zq" + self.canaries._letters(14) for name in (
            "person", "circle", "install", "token")}
        token = f"ExponentPushToken[{marks['token']}]"
        phones = Phones(self, server, [{
            "responder_id": f"{marks['person']}-{number}", "circles": [marks["circle"]],
            "install_id": f"{marks['install']}-{number}", "region": "north",
        } for number in range(4)]).start()
        server.write("/v1/responders", [
            {"responder_id": f"{marks['person']}-{number}", "push_token": token}
            for number in range(4)])
        eventually(
            lambda: server.get("/v1/status").json()["responders"]["ONLINE"] == 4, SOON,
            "everybody is ONLINE")
        server.post("/v1/wakes", {"circle": marks["circle"], "viewer": f"{marks['person']}-0"})
        phones.swipe_away(*(f"{marks['person']}-{number}" for number in range(3)))
        eventually(lambda: expo.messages, SOON, "a nudge")
        phones.end()
        # No crash leaves an image of a memory that holds them.
        with open(f"/proc/{server.process.pid}/limits", encoding="ascii") as file:
            self.assertRegex(file.read(), r"Max core file size +0 +0 ")
        self.hook.first(lambda _: True, SOON, "a message")
        eventually(lambda: self.pager.incidents, SOON, "a page")
        server.request("DELETE", f"/v1/responders/{marks['person']}-3")
        metrics = server.get("/metrics").body
        listed = server.get("/v1/responders?limit=10").body
        server.kill()
        server.start()
        metrics += server.get("/metrics").body
        self.assertEqual(server.stop(), 0)
        log = server.log().encode()
        traces = [(name, mark.encode()) for name, mark in marks.items()]
        self.assertIn(marks["person"].encode(), listed)
        self.assertNowhere(traces, "the log", log)
        self.assertNowhere(traces, "a metric", metrics)
        self.assertNowhere(traces, "a page", self.told(self.pager, self.hook))
        self.assertNowhere(traces[-1:], "an answer", listed)
        self.assertEqual({message["to"] for _, message in expo.messages}, {token})


if __name__ == "__main__":
    unittest.main()
