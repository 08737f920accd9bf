"""`GET /openapi.json` against a validator of its own, the page of routes, and what is really answered.

Source: I7, V5; https://spec.openapis.org/oas/v3.1.0.
"""

import copy
import json
import os
import re
import secrets
import socket
import unittest
import urllib.parse

from jsonschema import Draft202012Validator, FormatChecker
from openapi_spec_validator import OpenAPIV31SpecValidator

from cluster_process import Etcd, Members
from documents import page
from metric_messages import ACCEPT as MESSAGES, TYPE as MESSAGES_TYPE
from rollcall_process import (
    NDJSON, OPEN_METRICS, RollcallTestCase, eventually, ndjson, now_ms, rfc3339)

METHODS = ("get", "put", "post", "delete")
PROBLEM = "application/problem+json"
JSON = "application/json"
TAKE = "/v1/incidents/{key}/take"
SESSION = "/v1/session"
# What the page of routes says can befall any request.
ANYWHERE = {"400", "401", "403", "431", "503", "default"}
# Needs a slow disk, or a flood: that it is declared has to do.
HARD = {"429", "503"}
# Needs a lost log, or a second member: seen in test_cluster_orders.
LOST = {(f"/v1/cluster/{order}", "202") for order in ("drain", "join", "adopt")}


class Document:
    """The document, and what it says about a request and its answer."""

    def __init__(self, text):
        self.raw = json.loads(text)
        # Members that are not declared are faults here, though clients must bear with them.
        self.strict = closed(copy.deepcopy(self.raw))

    def operations(self):
        """Every operation by its method and path."""
        return {
            (method.upper(), path): operation
            for path, item in self.raw["paths"].items()
            for method, operation in item.items() if method in METHODS}

    def path(self, target):
        """The path of the document that a target is of; None if there is none."""
        path = urllib.parse.urlsplit(target).path
        for known in self.raw["paths"]:
            pattern = re.sub(r"\\{\w+\\}", "[^/]+", re.escape(known))
            if re.fullmatch(pattern, path):
                return known
        return None

    def resolved(self, node, document=None):
        """What a reference leads to, or the node itself."""
        document = document or self.raw
        while "$ref" in node:
            found = document
            for step in node["$ref"].removeprefix("#/").split("/"):
                found = found[step]
            node = found
        return node

    def parameters(self, method, path):
        """The parameters of an operation."""
        item = self.raw["paths"][path]
        found = item.get("parameters", []) + item[method.lower()].get("parameters", [])
        return [self.resolved(parameter) for parameter in found]

    def response(self, method, path, status):
        """What is declared for a status; None if nothing is."""
        responses = self.strict["paths"][path][method.lower()]["responses"]
        declared = responses.get(str(status))
        return declared and self.resolved(declared, self.strict)

    def body(self, method, path):
        """The declared body of a request; None if it has none."""
        declared = self.raw["paths"][path][method.lower()].get("requestBody")
        return declared and self.resolved(declared)

    def faults(self, schema, value, strict=False):
        """What a schema has against a value."""
        components = (self.strict if strict else self.raw)["components"]
        checker = Draft202012Validator(
            {**schema, "components": components}, format_checker=FormatChecker())
        return [f"{fault.json_path}: {fault.message}" for fault in checker.iter_errors(value)]


def closed(node):
    """The same document with schemas that allow only what they name."""
    if isinstance(node, dict):
        for child in node.values():
            closed(child)
        if isinstance(node.get("properties"), dict):
            node.setdefault("additionalProperties", False)
    elif isinstance(node, list):
        for child in node:
            closed(child)
    return node


class OpenAPITestCase(RollcallTestCase):
    """A test that holds each answer against the document."""

    def setUp(self):
        super().setUp()
        self.document = None
        self.seen = set()

    def fetch(self, server, headers=None):
        """The document of a server."""
        answer = server.get("/openapi.json", headers)
        self.assertEqual((answer.status, answer.headers["content-type"]), (200, JSON))
        self.document = Document(answer.body)
        return self.document

    def ask(self, server, method, target, status, body=None, headers=None):
        """A request whose answer must have a status and be what the document declares."""
        answer = server.request(method, target, body, headers)
        with self.subTest(f"{method} {target} {status}"):
            self.assertEqual(answer.status, status, answer)
            path = self.document.path(target)
            self.assertIsNotNone(path)
            if status < 300:
                self.check_request(method, path, target, body, headers or {})
            self.check_answer(method, path, answer)
        return answer

    def check_request(self, method, path, target, body, headers):
        """What is taken must be what the document says may be sent."""
        known = {
            parameter["name"]: parameter
            for parameter in self.document.parameters(method, path)
            if parameter["in"] == "query"}
        for name, value in urllib.parse.parse_qsl(urllib.parse.urlsplit(target).query):
            self.assertIn(name, known)
            schema = self.document.resolved(known[name]["schema"])
            typed = json.loads(value) if schema["type"] in ("integer", "boolean") else value
            self.assertEqual(self.document.faults(schema, typed), [])
        declared = self.document.body(method, path)
        if declared is None:
            return
        schema = declared["content"][JSON]["schema"]
        if headers.get("Content-Type") == NDJSON:
            self.assertIn(NDJSON, declared["content"])
            body = [json.loads(line) for line in body.splitlines()]
        # An item alone is taken too; the document has one way only, which generators understand.
        elif schema.get("type") == "array" and not isinstance(body, list):
            body = [body]
        self.assertEqual(self.document.faults(schema, body), [])

    def check_answer(self, method, path, answer):
        """Status, type, fields and body must be declared."""
        self.seen.add((method, path, str(answer.status)))
        declared = self.document.response(method, path, answer.status)
        self.assertIsNotNone(declared, f"{method} {path} {answer.status}")
        for name, field in declared.get("headers", {}).items():
            if self.document.resolved(field).get("required"):
                self.assertIn(name.lower(), answer.headers)
        kind = answer.headers["content-type"].split(";")[0]
        self.assertIn(kind, declared["content"])
        schema = declared["content"][kind]["schema"]
        if schema.get("format") == "binary":
            value = answer.body.decode("latin-1")
        else:
            value = answer.json() if kind.endswith("json") else answer.text
        self.assertEqual(self.document.faults(schema, value, strict=True), [])


class DocumentTests(OpenAPITestCase):
    def test_a_validator_has_nothing_against_it(self):
        document = self.fetch(self.serve())
        self.assertEqual(document.raw["openapi"], "3.1.0")
        faults = [fault.message for fault in OpenAPIV31SpecValidator(document.raw).iter_errors()]
        self.assertEqual(faults, [])
        for name, schema in document.raw["components"]["schemas"].items():
            with self.subTest(name):
                Draft202012Validator.check_schema(schema)

    def test_it_is_answered_to_head_and_counted(self):
        server = self.serve()
        self.fetch(server)
        head = server.request("HEAD", "/openapi.json")
        self.assertEqual((head.status, head.body), (200, b""))
        self.assertEqual(
            server.scrape()("rollcall_http_requests_total", route="openapi", code="200"), 2)

    def test_routes_and_statuses_are_those_of_the_page_of_routes(self):
        document = self.fetch(self.serve())
        rows = re.findall(
            r"^\| (`[A-Z]+ /.*?) \| ([\d ]+) \|", page("Routes"), re.MULTILINE)
        told = {
            (method, path): set(statuses.split())
            for routes, statuses in rows
            for method, path in re.findall(r"`([A-Z]+) (/[^`?]*)", routes)}
        self.assertEqual(set(told), set(document.operations()))
        for operation, statuses in told.items():
            with self.subTest(" ".join(operation)):
                declared = set(document.operations()[operation]["responses"])
                self.assertEqual(statuses | ANYWHERE, declared | ANYWHERE)
                self.assertLessEqual({"400", "403", "431", "503", "default"}, declared)

    def test_every_write_declares_what_is_hard_to_provoke(self):
        document = self.fetch(self.serve())
        for (method, path), operation in document.operations().items():
            with self.subTest(f"{method} {path}"):
                statuses = ["503"]
                if operation.get("requestBody", {}).get("$ref", "").endswith(
                        ("Batches", "Transitions", "Facts")):
                    statuses.append("429")
                for status in statuses:
                    declared = document.response(method, path, status)
                    self.assertIn(PROBLEM, declared["content"])
                    self.assertIn("Retry-After", declared["headers"])

    def test_examples_fit_their_schemas_and_are_taken(self):
        server = self.serve()
        document = self.fetch(server)
        count = 0
        for (method, path), operation in document.operations().items():
            if path.startswith("/v1/in/"):
                # Which there are, the settings say.
                continue
            for response in operation["responses"].values():
                for media in document.resolved(response, document.strict).get(
                        "content", {}).values():
                    if "example" in media:
                        self.assertEqual(
                            document.faults(media["schema"], media["example"], strict=True), [])
                        count += 1
            declared = document.body(method, path)
            for kind, media in declared["content"].items() if declared else ():
                examples = [example["value"] for example in media.get("examples", {}).values()]
                for example in examples + ([media["example"]] if "example" in media else []):
                    with self.subTest(f"{method} {path} {kind}"):
                        # Neither is there.
                        status = 404 if path in ("/v1/drill", TAKE) else 200
                        # It is no cell.
                        status = 409 if path == "/v1/cells" else status
                        status = 404 if path.startswith("/v1/cells/") else status
                        fields = {"Content-Type": kind}
                        if path == SESSION:
                            # Of our own page alone.
                            fields["Origin"] = f"http://127.0.0.1:{server.port}"
                        answer = self.ask(server, method, path, status, example, fields).json()
                        count += 1
                        if path in ("/v1/drill", "/v1/silences", "/v1/wakes", "/v1/nudges", TAKE,
                                    SESSION) or path.startswith("/v1/cells"):
                            continue
                        self.assertEqual(answer["accepted"] + answer.get("duplicates", 0), 1)
                        self.assertEqual(answer.get("problems", []), [])
        self.assertGreater(count, 20)


class TourTests(OpenAPITestCase):
    def test_every_answer_is_as_declared(self):
        server = self.serve("limits: {items: 20}\n")
        self.fetch(server)
        self.tour_items(server)
        self.tour_roster(server)
        self.tour_inputs()
        self.tour_heartbeats(server)
        self.tour_people(server)
        self.tour_history(server)
        self.tour_nudges(server)
        self.tour_alerts()
        self.tour_operation(server)
        self.tour_bad_heads(server)
        self.tour_other_methods(server)
        self.tour_tokens()
        self.tour_users()
        self.tour_members(server)
        self.tour_cells(server)
        # What is declared was seen, each answer of each route.
        declared = {
            (method, path, status)
            for (method, path), operation in self.document.operations().items()
            for status in operation["responses"]}
        missing = {
            (method, path, status) for method, path, status in declared - self.seen
            if status not in HARD | {"default"} and (path, status) not in LOST}
        self.assertEqual(missing, set())
        self.assertEqual(self.seen - declared, set())

    def tour_items(self, server):
        valid = {
            "/v1/batches": {
                "responder_id": "a", "updates": [{"sequence": 1, "captured_at": 1_795_000_000_000}],
                "telemetry": {"location_services": False, "app_state": "background"}},
            "/v1/transitions": {"responder_id": "a", "from": "ONLINE", "to": "DEGRADED"},
            "/v1/responders": {"responder_id": "b", "sharing": "paused",
                               "paused_until": "2099-01-01T00:00:00Z", "platform": "android"},
        }
        for body in (valid["/v1/batches"], [{"responder_id": "a"}] * 2):
            self.ask(server, "POST", "/v1/batches?tell=true", 200, body)
        self.check_answer("POST", "/v1/batches", server.post("/v1/batches?tell=true", [{}, {}]))
        for path, item in valid.items():
            ways = [("POST", path)] + [("PUT", path)] * (path == "/v1/responders")
            for method, target in ways:
                self.ask(server, method, f"{target}?source=pod-1", 200, item)
                self.ask(server, method, target, 200, [item, {**item, "responder_id": "c"}])
                self.ask(server, method, target, 200, ndjson([item, item]),
                         {"Content-Type": NDJSON})
                self.ask(server, method, target, 200, [{"sent_at": 1_795_000_000_000}, item],
                         {"Rollcall-Sent-At": "2026-11-21T00:00:00Z"})
                self.ask(server, method, target, 400, "{")
                self.ask(server, method, target, 413, [item] * 21)
                self.ask(server, method, target, 415, "{}", {"Content-Type": "text/plain"})
                self.ask(server, method, target, 422, [{}, {"responder_id": ""}])
                self.ask(server, method, f"{target}?source=", 422, item)
                # Partly taken, and not what the schema asks for: so checked by its answer alone.
                answer = server.request(method, target, [{**item, "region": 7, "id": 7}, {}])
                self.check_answer(method, path, answer)
                # Two members of the first (a value, or a name that nobody knows: P3), and the second.
                self.assertEqual(len(answer.json()["problems"] + answer.json()["rejected"]), 3)

    def tour_inputs(self):
        """What comes to inputs is in their clients' words, and checked by its answer alone."""
        path = os.path.join(self.directory, "phones")
        token = secrets.token_hex(32)
        with open(path, "w", encoding="ascii", opener=private) as file:
            file.write(token)
        server = self.serve(f"""web:
  tokens:
    - {{name: phones, scopes: [read, "input:o", "input:f", "input:none"], token_file: phones}}
inputs:
  - {{name: o, preset: owntracks, enrol: true}}
  - {{name: f, id: /id, captured_at: /t, format: form, enrol: true, answer: {{body: "[]"}}}}
""", name="inputs")
        own = {"Authorization": f"Bearer {token}"}
        body = {"_type": "location", "tst": now_ms() // 1000, "tid": "JJ"}
        for suffix in ("", "/{id}"):
            declared = "/v1/in/{input}" + suffix
            below = suffix.replace("{id}", "somebody")

            def ask(method, name, status, body=None, headers=None, query=""):
                answer = server.request(
                    method, f"/v1/in/{name}{below}{query}", body, {**own, **(headers or {})})
                with self.subTest(f"{method} {declared} {status}"):
                    self.assertEqual(answer.status, status, answer)
                    self.check_answer(method, declared, answer)

            for method in ("POST", "PUT"):
                ask(method, "o", 200, body)
                ask(method, "o", 200, "{")
                ask(method, "o", 413, b" " * ((8 << 20) + 1))
                ask(method, "o", 415, "{}", {"Content-Encoding": "br"})
            for method in ("POST", "PUT", "GET"):
                ask(method, "none", 404)
            ask("GET", "f", 200, query="?id=41&t=1795000000")
        answer = server.get("/v1/inputs", own)
        self.check_answer("GET", "/v1/inputs", answer)
        self.assertEqual([one["name"] for one in answer.json()["inputs"]], ["o", "f"])

    def tour_roster(self, server):
        roster = [{"responder_id": f"p{n}", "duty_state": "ON_DUTY"} for n in range(8)]
        self.ask(server, "PUT", "/v1/responders", 200, roster)
        self.ask(server, "PUT", "/v1/responders", 409, [])
        self.ask(server, "PUT", "/v1/responders?shrink=all", 400, [])
        part = self.ask(server, "PUT", "/v1/responders?roster=x&more=true", 200, roster[:4])
        self.assertNotIn("retired", part.json())
        last = self.ask(server, "PUT", "/v1/responders?roster=x&shrink=allow", 200, [])
        self.assertEqual(last.json()["retired"], 4)
        self.ask(server, "PUT", "/v1/responders?roster=x", 409, roster[:1])

    def tour_heartbeats(self, server):
        self.ask(server, "POST", "/v1/heartbeat", 200, {"source": "pod-0", "every_seconds": 9.5})
        self.ask(server, "POST", "/v1/heartbeat", 200, {
            "every_seconds": 9.5, "sent_at": 1_795_000_000.25})
        # D10: a time that is none is a problem, and no more.
        odd = server.request("POST", "/v1/heartbeat", {"every_seconds": 9.5, "sent_at": "soon"})
        self.check_answer("POST", "/v1/heartbeat", odd)
        self.assertEqual([one["pointer"] for one in odd.json()["problems"]], ["/sent_at"])
        self.ask(server, "DELETE", "/v1/heartbeat", 200)
        self.ask(server, "POST", "/v1/heartbeat", 400, "every 10")
        self.ask(server, "POST", "/v1/heartbeat", 413, b" " * ((8 << 20) + 1))
        self.ask(server, "POST", "/v1/heartbeat", 415, "{}", {"Content-Type": "text/plain"})
        self.ask(server, "POST", "/v1/heartbeat", 422, {"every_seconds": 0})
        for number in range(1, 64):
            self.ask(server, "POST", f"/v1/heartbeat?source=pod-{number}", 200,
                     {"every_seconds": 3600})
        self.ask(server, "POST", "/v1/heartbeat?source=one-more", 409, {"every_seconds": 10})
        for number in range(1, 64):
            self.ask(server, "DELETE", f"/v1/heartbeat?source=pod-{number}", 200)
        self.ask(server, "DELETE", "/v1/heartbeat?source=", 422)

    def tour_people(self, server):
        everything = {
            "responder_id": "whole", "duty_state": "ON_MISSION", "region": "north",
            "circles": ["c-1", "c-2"], "sharing": "active", "platform": "ios",
            "os_version": "18.2", "app_version": "4.1.0", "install_id": "i", "battery_level": 1,
            "telemetry": {
                "permission_status": "denied", "location_services": True,
                "power_mode": "low_power", "app_state": "foreground", "queue_depth": 0,
                "network_type": "none"}}
        self.ask(server, "POST", "/v1/batches", 200, everything)
        told = {"telemetry": {"app_state": "asleep"}, "platform": "watch", "responder_id": "odd"}
        self.assertEqual(server.post("/v1/batches", told).status, 200)
        self.ask(server, "POST", "/v1/responders", 200, {"responder_id": "nobody-yet"})
        for query in ("", "?limit=2", "?status=ONLINE&reachable=yes&region=north",
                      "?duty_state=ON_MISSION&after=whole&limit=1000"):
            self.ask(server, "GET", f"/v1/responders{query}", 200)
        for query in ("?limit=0", "?status=FINE", "?colour=red", "?instead_of=whole&region=north"):
            self.ask(server, "GET", f"/v1/responders{query}", 400)
        self.ask(server, "GET", "/v1/responders?instead_of=whole&limit=3", 200)
        self.ask(server, "GET", "/v1/responders?sort=-silent_for&q=h&platform=ios,unknown", 200)
        self.ask(server, "GET", "/v1/differences?status=ONLINE", 200)
        self.ask(server, "GET", "/v1/differences?colour=red", 400)
        self.ask(server, "GET", "/v1/responders?instead_of=stranger", 404)
        for query in ("", "?step=1m&since=" + rfc3339(now_ms() - 60_000), "?step=1d"):
            self.ask(server, "GET", f"/v1/status/history{query}", 200)
        for query in ("?step=1s", "?colour=red"):
            self.ask(server, "GET", f"/v1/status/history{query}", 400)
        for query in ("", "?limit=1", "?after=north&limit=1000"):
            self.ask(server, "GET", f"/v1/regions{query}", 200)
        for query in ("", "?limit=1&after=1", "?step=1m&since=" + rfc3339(now_ms() - 60_000)):
            self.ask(server, "GET", f"/v1/regions/history{query}", 200)
        for query in ("?limit=0", "?step=1s", "?region=north"):
            self.ask(server, "GET", f"/v1/regions/history{query}", 400)
        self.ask(server, "GET", f"/v1/gaps?at={rfc3339(now_ms())}", 200)
        for query in ("?limit=0", "?region=north"):
            self.ask(server, "GET", f"/v1/regions{query}", 400)
        for name in ("whole", "odd", "nobody-yet", "p7"):
            self.ask(server, "GET", f"/v1/responders/{name}", 200)
        self.ask(server, "GET", "/v1/responders/stranger", 404)
        erased = self.ask(server, "DELETE", "/v1/responders/whole?source=pod-1", 202)
        self.ask(server, "GET", erased.headers["location"], 200)
        self.ask(server, "GET", "/v1/erasures/999999", 404)
        self.ask(server, "DELETE", f"/v1/responders/{'x' * 129}", 404)
        self.ask(server, "DELETE", "/v1/responders/whole?source=", 422)
        self.ask(server, "POST", "/v1/batches", 422, everything)

    def tour_history(self, server):
        short = self.serve(
            "liveness: {on_duty: {expected: 20ms, degraded_after: 50ms, offline_after: 120ms}}",
            name="short")
        for first in (0, 3):
            self.ask(short, "POST", "/v1/batches", 200, {
                "responder_id": "p", "region": "north", "platform": "ios", "battery_level": 0.5,
                "circles": ["c"], "app_version": "4.1", "telemetry": {
                    "app_state": "background", "location_services": True, "queue_depth": 3},
                "updates": [{"sequence": first, "captured_at": now_ms(), "fix": "cached"}]})
            self.ask(short, "POST", "/v1/responders", 200, {
                "responder_id": "p", "region": "south", "paused_until": "2020-01-01T00:00:00Z"})
            eventually(
                lambda: self.ask(short, "GET", "/v1/gaps?state=open", 200).json()["gaps"], 10,
                "a gap")
        self.ask(short, "POST", "/v1/transitions", 200, {
            "responder_id": "p", "from": "ONLINE", "to": "OFFLINE"})
        short.kill()
        short.start()
        for query in ("", "?limit=1", "?state=closed&cause=app_suspended&verdict=unexplained",
                      "?region=north&platform=ios&responder=p&since=2026-01-01T00:00:00Z",
                      "?by=cause,verdict,region,platform", "?by=verdict&until=2030-01-01T00:00:00Z"):
            self.ask(short, "GET", f"/v1/gaps{query}", 200)
        for query in ("", "?by=platform,day", "?by=responder&limit=1&since=2026-11-01",
                      "?responder=p&region=north"):
            self.ask(short, "GET", f"/v1/dark{query}", 200)
        for query in ("", "?limit=1&contacts=false&since=2026-01-01T00:00:00Z"):
            page = self.ask(short, "GET", f"/v1/responders/p/timeline{query}", 200).json()
        self.ask(short, "GET", f"/v1/responders/p/timeline?after={page['next']}", 200)
        for target in ("/v1/gaps", "/v1/dark", "/v1/responders/p/timeline"):
            self.ask(short, "GET", f"{target}?colour=red", 400)
        page = self.ask(short, "GET", "/v1/events?limit=1000", 200).json()
        self.assertLess({"status", "gap", "person"}, {one["kind"] for one in page["events"]})
        self.ask(short, "GET", f"/v1/events?after={page['next']}&wait=1", 200)
        self.ask(short, "GET", "/v1/events?colour=red", 400)
        self.ask(short, "GET", f"/v1/events?after={'0' * 16}-1", 410)
        for target in ("/v1/gaps?responder=x", "/v1/dark?responder=x", "/v1/responders/x/timeline"):
            self.ask(short, "GET", target, 404)

    def tour_nudges(self, server):
        body = {"circle": "c-1", "viewer": "p1"}
        self.ask(server, "POST", "/v1/responders", 200, [
            {"responder_id": name, "circles": ["c-1"]} for name in ("p1", "p2", "p3")])
        self.ask(server, "POST", "/v1/responders", 200, {
            "responder_id": "p3", "sharing": "paused"})
        woken = self.ask(server, "POST", "/v1/wakes?source=pod-1", 200, body).json()["decisions"]
        self.assertEqual({one["decision"] for one in woken}, {"wake", "skip"})
        self.ask(server, "POST", "/v1/wakes", 422, {"circle": "c-1"})
        self.ask(server, "POST", "/v1/wakes", 400, "{")
        self.ask(server, "POST", "/v1/wakes", 413, b" " * ((8 << 20) + 1))
        self.ask(server, "POST", "/v1/wakes", 415, "{}", {"Content-Type": "text/plain"})
        self.ask(server, "GET", "/v1/responders/p2/timeline", 200)
        for name in ("p1", "p3"):
            self.ask(server, "GET", f"/v1/responders/{name}/nudge", 200)
        self.ask(server, "GET", "/v1/responders/p1/nudge?x=1", 400)
        self.ask(server, "GET", "/v1/responders/stranger/nudge", 404)
        for query in ("", "?limit=1&decision=hold", "?responder_id=p1&decision=dry_run"):
            self.ask(server, "GET", f"/v1/nudges{query}", 200)
        self.ask(server, "GET", "/v1/nudges?decision=maybe", 400)
        asked = self.ask(server, "POST", "/v1/nudges", 200, {
            "responder_id": "p1", "by": "kim", "note": "needed"}).json()
        self.assertIn(asked["decision"], ("hold", "send", "dry_run"))
        self.ask(server, "POST", "/v1/nudges", 404, {"responder_id": "stranger", "by": "kim"})
        quiet = self.serve("nudges: {mode: disabled}\n", name="quiet")
        self.ask(quiet, "POST", "/v1/batches", 200, {"responder_id": "p1"})
        self.ask(quiet, "POST", "/v1/nudges", 409, {"responder_id": "p1", "by": "kim"})
        self.ask(server, "POST", "/v1/nudges", 422, {"responder_id": "p1"})
        self.ask(server, "POST", "/v1/nudges", 400, "{")
        self.ask(server, "POST", "/v1/nudges", 413, b" " * ((8 << 20) + 1))
        self.ask(server, "POST", "/v1/nudges", 415, "{}", {"Content-Type": "text/plain"})
        self.ask(server, "GET", "/v1/nudges?responder_id=stranger", 404)

    def tour_alerts(self):
        hole = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(hole.close)
        server = self.serve(
            "alerts: {NoOnlineResponders: {for: 200ms, keep_firing_for: 0s, labels: {team: a}}}\n"
            "liveness: {on_duty: {expected: 20ms, degraded_after: 50ms, offline_after: 120ms}}\n"
            "receivers:\n"
            "  - {name: lines, log: {}}\n"
            f"  - {{name: hole, webhook: {{url: 'http://127.0.0.1:{hole.getsockname()[1]}/'}},"
            " match: {alertname: HighOfflineRate}}\n", name="alerts")
        silence = {"matchers": ["region=muted"], "author": "kim", "comment": "x"}
        number = self.ask(server, "POST", "/v1/silences", 200, {
            **silence, "duration": "1h"}).json()["silence"]["id"]
        self.ask(server, "POST", "/v1/silences", 200, {
            **silence, "ends_at": "2027-01-01T00:00:00Z"})
        self.ask(server, "POST", "/v1/batches", 200, [
            {"responder_id": region, "region": region} for region in ("north", "muted")])
        eventually(
            lambda: len([a for a in self.ask(server, "GET", "/v1/alerts", 200).json()["alerts"]
                         if a["state"] == "firing"]) == 2, 10, "two alerts")
        self.ask(server, "GET", "/v1/silences", 200)
        self.ask(server, "GET", f"/v1/silences/{number}", 200)
        named = {"Idempotency-Key": '"end"'}
        self.ask(server, "DELETE", f"/v1/silences/{number}", 200, headers=named)
        again = self.ask(server, "DELETE", f"/v1/silences/{number}", 200, headers=named)
        self.assertEqual(again.headers["idempotent-replayed"], "true")
        self.ask(server, "DELETE", "/v1/silences/998", 422, headers=named)
        self.ask(server, "DELETE", f"/v1/silences/{number}", 404)
        self.ask(server, "GET", "/v1/silences/999", 404)
        take = self.tour_takes(server)
        self.ask(server, "POST", "/v1/batches", 200, [
            {"responder_id": region, "region": region} for region in ("north", "muted")])
        eventually(
            lambda: server.post(take, {"by": "kim"}).status == 409, 10, "the incident is over")
        self.ask(server, "POST", take, 409, {"by": "kim"})
        self.ask(server, "DELETE", take, 409)
        incidents = self.ask(server, "GET", "/v1/alerts/history", 200).json()["incidents"]
        self.assertEqual({i["labels"]["region"] for i in incidents}, {"north", "muted"})
        self.assertTrue(any(i["muted"] for i in incidents))
        for query in ("?limit=1", "?before=2&region=north&receiver=lines",
                      "?alertname=NoOnlineResponders&since=2026-01-01T00:00:00Z"):
            self.ask(server, "GET", f"/v1/alerts/history{query}", 200)
        for target in ("/v1/alerts?x=1", "/v1/alerts/history?limit=0", "/v1/silences?x=1"):
            self.ask(server, "GET", target, 400)
        for target, wrong in (("/v1/silences", silence), ("/v1/drill", {})):
            self.ask(server, "POST", target, 422, wrong)
            self.ask(server, "POST", target, 400, "{")
            self.ask(server, "POST", target, 413, b" " * ((8 << 20) + 1))
            self.ask(server, "POST", target, 415, "{}", {"Content-Type": "text/plain"})
        for _ in range(255):
            self.assertEqual(
                server.post("/v1/silences", {**silence, "duration": "1h"}).status, 200)
        self.ask(server, "POST", "/v1/silences", 409, {**silence, "duration": "1h"})
        self.ask(server, "POST", "/v1/drill", 404, {"receiver": "nobody"})
        drill = self.ask(server, "POST", "/v1/drill", 200, {"receiver": "lines"}).json()["drill"]
        self.ask(server, "GET", f"/v1/drill/{drill}", 200)
        self.ask(server, "GET", "/v1/drill/0", 404)
        drill = self.ask(server, "POST", "/v1/drill", 202, {"receiver": "hole"}).json()["drill"]
        self.ask(server, "GET", f"/v1/drill/{drill}", 202)

    def tour_takes(self, server):
        alerts = self.ask(server, "GET", "/v1/alerts", 200).json()["alerts"]
        take = TAKE.replace("{key}", next(one["key"] for one in alerts if one["state"] == "firing"))
        named = {"Idempotency-Key": '"take"'}
        for body in ({"by": "kim", "note": "on it", "duration": "30m"}, {"by": "kim"}):
            self.ask(server, "POST", take, 200, body)
        self.assertTrue(any(
            one["taken"] for one in self.ask(server, "GET", "/v1/alerts", 200).json()["alerts"]))
        self.ask(server, "POST", take, 422, {})
        self.ask(server, "POST", take, 400, "{")
        self.ask(server, "POST", take, 413, b" " * ((8 << 20) + 1))
        self.ask(server, "POST", take, 415, "{}", {"Content-Type": "text/plain"})
        self.ask(server, "DELETE", take, 200, headers=named)
        again = self.ask(server, "DELETE", take, 200, headers=named)
        self.assertEqual(again.headers["idempotent-replayed"], "true")
        self.ask(server, "DELETE", take, 404)
        unknown = TAKE.replace("{key}", "998")
        self.ask(server, "POST", unknown, 404, {"by": "kim"})
        self.ask(server, "DELETE", unknown, 422, headers=named)
        self.ask(server, "GET", "/v1/events?kinds=action", 200)
        return take

    def tour_users(self):
        """Where there are users and no tokens, who one is needs a password too (V18)."""
        web = os.path.join(self.directory, "web.yml")
        with open(web, "w", encoding="ascii") as file:
            file.write("basic_auth_users: {alice: "
                       "$2y$04$abcdefghijklmnopqrstuu7iYOvkEIdAVpQAhxqiHRxIF2GQzjIRm}\n")
        server = self.serve(name="users", more=("--web.config.file", web))
        alice = {"Authorization": "Basic YWxpY2U6c2VjcmV0LW9uZQ=="}
        for method in ("GET", "DELETE"):
            self.ask(server, method, SESSION, 401)
            self.ask(server, method, SESSION, 200, headers=alice)

    def tour_members(self, server):
        orders = [("PUT", "/v1/cluster/members/b")] + [
            ("POST", f"/v1/cluster/{order}") for order in ("drain", "join", "adopt")]
        for method, target in orders:
            self.ask(server, method, target, 404)
            self.ask(server, method, target, 413, b" " * ((8 << 20) + 1))
            self.ask(server, method, target, 415, "{}", {"Content-Type": "text/plain"})
        self.ask(server, "DELETE", "/v1/cluster/members/b", 404)
        members = Members(self, Etcd(self, members=1), names="a")
        members.start()
        members.leader()
        member = members["a"]
        self.ask(member, "GET", "/v1/cluster", 200)
        made = self.ask(member, "GET", "/v1/cluster/copy", 200).json()
        piece = member.get(f"/v1/cluster/copy?copy={made['copy']}&offset=0")
        self.assertTrue(piece.body.startswith(b"SQLite format 3"))
        for target, status in (
                (f"/v1/cluster/copy?copy={made['copy']}&offset={made['bytes']}", 404),
                ("/v1/cluster/copy?copy=x", 400), ("/-/leader", 200)):
            self.ask(member, "GET", target, status)
        # Named are members once all that are alive read that.
        eventually(
            lambda: member.request("PUT", "/v1/cluster/members/a").status == 200, 20, "a is named")
        self.ask(member, "PUT", "/v1/cluster/members/b", 200)
        self.ask(member, "PUT", "/v1/cluster/members/b", 409)
        self.ask(member, "DELETE", "/v1/cluster/members/c", 404)
        self.ask(member, "DELETE", "/v1/cluster/members/b", 200)
        self.ask(member, "DELETE", "/v1/cluster/members/a", 409)
        for method in ("PUT", "DELETE"):
            self.ask(member, method, "/v1/cluster/members/" + "x" * 65, 422)
        for order in ("drain", "join", "adopt"):
            self.ask(member, "POST", f"/v1/cluster/{order}", 409)

    def tour_cells(self, server):
        """Of a fleet of two cells each refuses the other's people, by every route that names one."""
        document = self.document.body("PUT", "/v1/cells")["content"][JSON]["example"]
        self.ask(server, "GET", "/v1/cells", 404)
        self.ask(server, "PUT", "/v1/cells", 409, document)
        path = os.path.join(self.directory, "cells")
        token = secrets.token_hex(32)
        with open(path, "w", encoding="ascii", opener=private) as file:
            file.write(token)
        own = {"Authorization": f"Bearer {token}"}
        cell = self.serve("""cluster: {cell: a}
web:
  tokens:
    - {name: all, scopes: [ingest, read, admin, "input:o", "input:f"], token_file: cells}
inputs:
  - {name: o, preset: owntracks, enrol: true}
  - {name: f, id: /id, captured_at: /t, format: form, enrol: true}
""", name="cell")
        self.ask(cell, "GET", "/v1/cells", 200, headers=own)
        for body, status in (
                ({"version": 1}, 422), ("{", 400), (b" " * ((8 << 20) + 1), 413), (document, 200)):
            self.ask(cell, "PUT", "/v1/cells", status, body, own)
        self.ask(cell, "PUT", "/v1/cells", 415, "{}", {**own, "Content-Type": "text/plain"})
        self.ask(cell, "GET", "/v1/cells", 200, headers=own)
        other = "4712"
        item = {"responder_id": other}
        for method, target, body in (
                ("POST", "/v1/batches", item),
                ("POST", "/v1/transitions", {**item, "from": "ONLINE", "to": "OFFLINE", "at": now_ms()}),
                ("POST", "/v1/responders", item), ("PUT", "/v1/responders", [item]),
                ("POST", "/v1/nudges", {**item, "by": "kim"}),
                ("GET", f"/v1/responders/{other}", None), ("DELETE", f"/v1/responders/{other}", None),
                ("GET", f"/v1/responders/{other}/timeline", None),
                ("GET", f"/v1/responders/{other}/nudge", None),
                ("GET", f"/v1/events?responder={other}", None),
                ("GET", f"/v1/gaps?responder={other}", None),
                ("GET", f"/v1/dark?responder={other}", None),
                ("GET", f"/v1/nudges?responder_id={other}", None)):
            answer = self.ask(cell, method, target, 421, body, own)
            self.assertEqual(answer.headers["rollcall-cell-map"], "1")
        phone = {"_type": "location", "tst": now_ms() // 1000, "tid": "JJ"}
        for suffix, below in (("", ""), ("/{id}", f"/{other}")):
            user = {**own, "X-Limit-U": other}
            for method in ("POST", "PUT"):
                answer = cell.request(method, f"/v1/in/o{below}", phone, user)
                self.assertEqual(answer.status, 421, answer)
                self.check_answer(method, "/v1/in/{input}" + suffix, answer)
            answer = cell.request("GET", f"/v1/in/f{below}?id={other}&t=1795000000", headers=own)
            self.assertEqual(answer.status, 421, answer)
            self.check_answer("GET", "/v1/in/{input}" + suffix, answer)
        self.ask(cell, "GET", "/v1/cells/summary", 200, headers=own)
        self.ask(cell, "GET", "/v1/cells/summary?after=x", 400, headers=own)
        self.ask(server, "GET", "/v1/cells/summary", 404)
        groups = {"circles": ["home"], "regions": ["harbour"]}
        mass = {"number": 1, "region": "harbour", "since": "2026-11-21T15:04:20Z",
                "to": "2026-11-21T15:04:20Z", "people": 5, "active": 5}
        for method, path, body in (
                ("POST", "/v1/cells/company", groups),
                ("PUT", "/v1/cells/company", {"active": groups, "nobody": groups}),
                ("PUT", "/v1/cells/masses", {"masses": [mass]})):
            self.ask(cell, method, path, 200, body, own)
            self.ask(cell, method, path, 422, {}, own)
            self.ask(cell, method, path, 400, "{", own)
            self.ask(cell, method, path, 413, b" " * ((8 << 20) + 1), own)
            self.ask(cell, method, path, 415, "{}", {**own, "Content-Type": "text/plain"})
            self.ask(server, method, path, 404, body)
        for change in ({"number": 0}, {"people": 4}, {"since": "2026-11-21T15:04:21Z"}, {"region": ""},
                       {"active": -1}, {"to": "yesterday"}):
            self.ask(cell, "PUT", "/v1/cells/masses", 422, {"masses": [{**mass, **change}]}, own)
        fleet = self.serve(
            f"cluster:\n  cells: {{a: {{url: 'http://127.0.0.1:{cell.port}'}}}}\n"
            "  cells_token_file: cells\n", name="fleet")
        eventually(
            lambda: self.ask(fleet, "GET", "/v1/cells", 200).json()["standing"][0]["problem"], 20,
            "it is another map of this version", every=0.5)

    def tour_operation(self, server):
        shell = server.get("/").text
        asset = "/" + shell.split('src="')[1].split('"')[0]
        for target in (
                "/v1/status", SESSION, "/metrics", "/-/healthy", "/-/ready", "/-/leader", "/-/report", "/openapi.json", "/",
                "/silent", "/at",
                "/alerts", "/nudges", "/feeds", "/people", "/people/p1", asset,
                asset.replace("main.js", "page.css")):
            self.ask(server, "GET", target, 200)
            # Of another's name on loopback.
            self.ask(server, "GET", target, 403, headers={"Host": "evil.example"})
        self.ask(server, "GET", "/metrics", 200, headers={"Accept": OPEN_METRICS})
        native = self.serve("metrics: {native_histograms: true}\n", name="native")
        page = self.ask(native, "GET", "/metrics", 200, headers={"Accept": MESSAGES})
        self.assertEqual(page.headers["content-type"], MESSAGES_TYPE)
        self.ask(server, "POST", "/-/reload", 200)
        server.configure("limits: {items: 20, regions: 7}\nstorage: {size: 1GiB}\n")
        changes = self.ask(server, "POST", "/-/reload", 200).json()
        self.assertTrue(changes["changed"] and changes["needs_restart"])
        server.configure("limits: {itemz: 20}\n")
        self.ask(server, "POST", "/-/reload", 422)
        self.ask(server, "POST", "/-/reload", 413, b" " * ((8 << 20) + 1))
        self.ask(server, "POST", "/-/reload", 415, "{}", {"Content-Type": "text/plain"})
        # Without settings, and blind.
        bare = self.serve(name="bare")
        self.ask(bare, "POST", "/-/reload", 200)
        self.ask(bare, "POST", "/v1/heartbeat", 200, {"every_seconds": 1})
        eventually(
            lambda: not self.ask(bare, "GET", "/v1/status", 200).json()["watching"], 10,
            "a missing source blinds the watch", every=0.5)
        self.assertTrue(self.ask(bare, "GET", "/v1/status", 200).json()["blind"])

    def tour_bad_heads(self, server):
        for method, path in self.document.operations():
            self.ask(server, method, filled(path), 431, headers={"X-Long": "x" * 15_360})
            self.ask(server, method, filled(path), 400, headers={"Transfer-Encoding": "gzip"})

    def tour_other_methods(self, server):
        for path in self.document.raw["paths"]:
            known = {method for method, other in self.document.operations() if other == path}
            allowed = sorted(known | ({"HEAD"} if "GET" in known else set()))
            for method in sorted({"GET", "POST", "PUT", "DELETE", "PATCH"} - known):
                with self.subTest(f"{method} {path}"):
                    answer = server.request(method, filled(path))
                    self.assertEqual(
                        self.document.faults(
                            self.document.strict["components"]["schemas"]["Problem"],
                            self.problem(answer, 405), strict=True), [])
                    self.assertEqual(
                        sorted(re.split(r",\s*", answer.headers["allow"])), allowed)
        self.problem(server.get("/openapi.yaml"), 404)

    def tour_tokens(self):
        scopes = ("ingest", "read", "act", "admin")
        tokens = {scope: secrets.token_hex(32) for scope in scopes}
        config = "web:\n  tokens:\n"
        for scope, token in tokens.items():
            path = os.path.join(self.directory, scope)
            with open(path, "w", encoding="ascii", opener=private) as file:
                file.write(token)
            config += f"    - {{name: {scope}, scopes: [{scope}], token_file: {scope}}}\n"
        server = self.serve(config, name="guarded")
        for (method, path), operation in self.document.operations().items():
            needed = {
                role for way in operation["security"] for roles in way.values() for role in roles}
            with self.subTest(f"{method} {path}"):
                if not operation["security"]:
                    # Neither came from our page, nor is there such a file.
                    status = 403 if method == "POST" else 404 if "asset" in path else 200
                    self.ask(server, method, filled(path), status)
                    continue
                self.assertEqual(len(needed), 1)
                self.assertIn(f"`{next(iter(needed))}`", operation["description"])
                self.ask(server, method, filled(path), 401)
                for scope in scopes:
                    headers = {"Authorization": f"Bearer {tokens[scope]}"}
                    # Who administers acts, too, and who acts asks for people.
                    acts = "act" in needed or (method, path) == ("POST", "/v1/nudges")
                    if scope not in needed and not (scope in ("act", "admin") and acts):
                        self.ask(server, method, filled(path), 403, headers=headers)
                        continue
                    answer = server.request(method, filled(path), headers=headers)
                    self.assertNotIn(answer.status, (401, 403), answer)
                    self.check_answer(method, path, answer)
        self.tour_sessions(server, tokens)

    def tour_sessions(self, server, tokens):
        own = {"Origin": f"http://127.0.0.1:{server.port}"}
        strange = {"token": "strange-0123456789"}
        signed_in = self.ask(server, "POST", SESSION, 200, {"token": tokens["read"]}, own)
        cookie = {"Cookie": signed_in.headers["set-cookie"].split(";")[0]}
        self.assertEqual(self.ask(server, "GET", SESSION, 200, headers=cookie).json()["token"], "read")
        self.ask(server, "DELETE", SESSION, 403, headers=cookie)
        self.ask(server, "DELETE", SESSION, 200, headers={**cookie, **own})
        self.ask(server, "GET", SESSION, 200)
        self.ask(server, "POST", SESSION, 403, {"token": tokens["act"]}, own)
        self.ask(server, "POST", SESSION, 422, {}, own)
        self.ask(server, "POST", SESSION, 400, "{", own)
        self.ask(server, "POST", SESSION, 413, b" " * 4097, own)
        self.ask(server, "POST", SESSION, 415, "{}", {**own, "Content-Type": "text/plain"})
        self.ask(server, "POST", SESSION, 401, strange, own)
        last = []

        def is_refused():
            last[:] = [server.post(SESSION, strange, own)]
            return last[0].status == 429

        eventually(is_refused, 10, "too many", every=0)
        self.check_answer("POST", SESSION, last[0])


def filled(path):
    """A path of the document with something in its braces."""
    for name, value in {"id": "somebody", "number": "1", "version": "0", "name": "x",
                        "input": "x", "key": "1"}.items():
        path = path.replace("{" + name + "}", value)
    return path


def private(path, flags):
    return os.open(path, flags, 0o600)


if __name__ == "__main__":
    unittest.main()
