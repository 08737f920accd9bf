"""A client that openapi-python-client makes of `GET /openapi.json` works: a batch goes in, people come out.

Source: V5; https://github.com/openapi-generators/openapi-python-client.
"""

import importlib
import json
import os
import pkgutil
import re
import subprocess
import sys
import unittest
from datetime import datetime, timezone

from rollcall_process import RollcallTestCase, eventually

NAME = "rollcall_client"
SETTINGS = (
    "liveness: {on_duty: {expected: 20ms, degraded_after: 50ms, offline_after: 120ms}}\n"
    "alerts: {NoOnlineResponders: {for: 200ms}}\n")


class GeneratedClientTests(RollcallTestCase):
    def setUp(self):
        super().setUp()
        self.server = self.serve(SETTINGS)
        self.document = self.server.get("/openapi.json").json()
        self.output = self.generated()
        sys.path.insert(0, self.directory)
        self.addCleanup(sys.path.remove, self.directory)
        self.addCleanup(self.forget)
        self.models = importlib.import_module(f"{NAME}.models")
        client = importlib.import_module(f"{NAME}.client").Client
        self.client = client(
            base_url=f"http://127.0.0.1:{self.server.port}", raise_on_unexpected_status=True)
        self.addCleanup(self.client.get_httpx_client().close)

    def generated(self):
        """Makes the client; what the generator said."""
        document = os.path.join(self.directory, "openapi.json")
        settings = os.path.join(self.directory, "generator.yml")
        with open(document, "w", encoding="utf-8") as file:
            json.dump(self.document, file)
        with open(settings, "w", encoding="utf-8") as file:
            # What it would run then is another package's program, and changes no meaning.
            file.write("post_hooks: []\n")
        done = subprocess.run(
            [sys.executable, "-m", "openapi_python_client", "generate", "--path", document,
             "--config", settings, "--meta", "none",
             "--output-path", os.path.join(self.directory, NAME)],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120, check=False, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    @staticmethod
    def forget():
        for name in [name for name in sys.modules if name.split(".")[0] == NAME]:
            del sys.modules[name]

    def call(self, tag, operation, *arguments, **options):
        """The answer of an operation, which must be a 2xx with a body of its type."""
        module = importlib.import_module(f"{NAME}.api.{tag}.{operation}")
        answer = module.sync_detailed(*arguments, client=self.client, **options)
        self.assertIn(int(answer.status_code), range(200, 300), answer)
        self.assertIsNotNone(answer.parsed, operation)
        return answer.parsed

    def test_nothing_is_left_out(self):
        # Of bodies that may be JSON or lines it makes the first, and says so.
        bodies = [operation for item in self.document["paths"].values()
                  for operation in item.values() if isinstance(operation, dict)
                  and operation.get("requestBody", {}).get("$ref", "").endswith(
                      ("/Batches", "/Transitions", "/Facts"))]
        warned = re.findall(r"^WARNING parsing (.*)\.$", self.output, re.MULTILINE)
        self.assertEqual(len(warned), len(bodies), self.output)
        self.assertEqual(
            self.output.count("Unsupported content type application/x-ndjson"), len(warned))
        for words in ("will not be generated", "Unable to", "omitted", "removal"):
            self.assertNotIn(words, self.output)
        made = {
            module.name
            for tag in self.document["tags"]
            for module in pkgutil.iter_modules(
                [os.path.join(self.directory, NAME, "api", tag["name"])])}
        named = {
            operation["operationId"] for item in self.document["paths"].values()
            for method, operation in item.items() if method != "parameters"}
        self.assertEqual({name.replace("_", "") for name in made},
                         {name.lower() for name in named})

    def test_a_batch_goes_in_and_people_come_out(self):
        models = self.models
        now = datetime.now(timezone.utc)
        batch = models.Batch(
            responder_id="r/17", region="north", circles=["c-9"],
            duty_state=models.DutyState.ON_DUTY, platform=models.PhonePlatform.IOS,
            telemetry=models.Telemetry(app_state=models.AppState.BACKGROUND, queue_depth=2),
            updates=[models.Update(sequence=1, captured_at=now)])
        verdict = self.call("writes", "post_batches", body=[batch], source="pod-1")
        self.assertIsInstance(verdict, models.Verdict)
        self.assertEqual((verdict.accepted, verdict.problems, verdict.updates.accepted), (1, [], 1))
        person = self.call("answers", "get_responder", "r/17")
        self.assertEqual((person.responder_id, person.region), ("r/17", "north"))
        self.assertIsInstance(person.status, models.ShownStatus)
        eventually(
            lambda: self.call("answers", "list_gaps", state=models.ListGapsState.OPEN).gaps, 10,
            "a gap")
        firing = eventually(
            lambda: [alert for alert in self.call("answers", "list_alerts").alerts
                     if alert.state == models.AlertState.FIRING], 10, "an alert")
        self.assertEqual([type(alert) for alert in firing], [models.Alert])
        self.assertEqual(firing[0].alertname, models.AlertName.NOONLINERESPONDERS)
        self.assertEqual(firing[0].labels["region"], "north")
        self.call("writes", "post_responders", body=[models.Facts(
            responder_id="r/17", region="south")])
        self.call("writes", "post_transitions", body=[
            models.Sending(sent_at=now),
            models.Transition(responder_id="r/17", from_=models.Status.ONLINE,
                              to=models.Status.OFFLINE)])
        self.call("writes", "wake", body=models.WakeRequest(circle="c-9", viewer="somebody"))
        self.call("writes", "post_batches", body=[models.Batch(responder_id="r/17")])
        self.check_timeline()
        status = self.call("answers", "get_status")
        self.assertTrue(status.watching)
        self.assertEqual(status.responders.active, 1)

    def check_timeline(self):
        """Each event is of the class of its kind."""
        events = self.call("answers", "get_timeline", "r/17").events
        for event in events:
            self.assertEqual(type(event).__name__, f"{event.kind.capitalize()}Event")
        kinds = {event.kind for event in events}
        self.assertLessEqual({"contact", "status", "gap", "told", "server"}, kinds)
        contact = next(event for event in reversed(events) if event.kind == "contact")
        self.assertEqual(contact.updates, 1)
        self.assertEqual(contact.facts.region, "north")

    def test_what_it_sends_unasked_is_taken(self):
        # A client sends the defaults that the document tells, also where nobody gave a value.
        for tag, operation in (
                ("answers", "list_responders"), ("answers", "list_gaps"), ("answers", "sum_dark"),
                ("answers", "list_nudges"), ("answers", "list_incidents"),
                ("answers", "list_silences"), ("answers", "get_status_history"),
                ("answers", "list_regions")):
            with self.subTest(operation):
                self.call(tag, operation)
        self.call("answers", "list_gaps", by="cause,region")
        self.call("answers", "sum_dark", by="responder", limit=5)
        roster = [self.models.Facts(responder_id=f"p{number}") for number in range(2)]
        self.call("writes", "put_responders", body=roster)
        self.call("writes", "post_heartbeat", body=self.models.Heartbeat(every_seconds=60))
        self.call("writes", "delete_heartbeat")


if __name__ == "__main__":
    unittest.main()
