"""The page of metrics in both formats, as strict readers see it, in several states.

Source: V1; Prometheus' exposition formats and content negotiation.
"""

import gzip
import http.client
import json
import math
import re
import subprocess
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

from prometheus_client.openmetrics.parser import (
    text_string_to_metric_families as parse_open_metrics)
from prometheus_client.parser import text_string_to_metric_families as parse_text

from rollcall_process import (
    BINARY, OPEN_METRICS, STATUSES, Answer, RollcallTestCase, eventually, now_ms)

TEXT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
OPEN_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"
# These move between two scrapes by themselves, or by the scrape itself.
MOVING = (
    "process_", "rollcall_http_", "rollcall_blind_seconds", "rollcall_location_age_seconds",
    "rollcall_checkpoint_age_seconds", "rollcall_commit_duration_seconds",
    "rollcall_turn_duration_seconds", "rollcall_chore_duration_seconds",
    "rollcall_store_used_bytes")
# Design §8, as far as this version goes, by the names of their samples without suffixes.
FAMILIES = {
    "responders_by_status": "gauge",
    "location_update_delay_seconds": "histogram",
    "status_transitions": "counter",
    "rollcall_watching": "gauge",
    "rollcall_blind": "gauge",
    "rollcall_blind_seconds": "counter",
    "rollcall_last_batch_timestamp_seconds": "gauge",
    "rollcall_feed_up": "gauge",
    "rollcall_source_skew_seconds": "gauge",
    "rollcall_source_lag_seconds": "gauge",
    "rollcall_responders": "gauge",
    "rollcall_responders_not_expected": "gauge",
    "rollcall_telemetry_responders": "gauge",
    "rollcall_location_update_delay_seconds": "histogram",
    "rollcall_update_interval_seconds": "histogram",
    "rollcall_location_age_seconds": "gaugehistogram",
    "rollcall_queue_depth": "histogram",
    "rollcall_server_transitions": "counter",
    "rollcall_disagreements": "counter",
    "rollcall_detection_lateness_seconds": "histogram",
    "rollcall_batches": "counter",
    "rollcall_updates": "counter",
    "rollcall_rejected_items": "counter",
    "rollcall_item_problems": "counter",
    "rollcall_private_fields_dropped": "counter",
    "rollcall_clock_skewed_updates": "counter",
    "rollcall_installs_reset": "counter",
    "rollcall_names": "gauge",
    "rollcall_regions_folded": "gauge",
    "rollcall_http_requests": "counter",
    "rollcall_idempotency_keys": "counter",
    "rollcall_http_request_duration_seconds": "histogram",
    "rollcall_http_connections": "gauge",
    "rollcall_http_connections_max": "gauge",
    "rollcall_http_connections_cut": "counter",
    "rollcall_commit_duration_seconds": "histogram",
    "rollcall_journal_events": "counter",
    "rollcall_journal_oldest_timestamp_seconds": "gauge",
    "rollcall_checkpoint_age_seconds": "gauge",
    "rollcall_store_used_bytes": "gauge",
    "rollcall_store_size_limit_bytes": "gauge",
    "rollcall_alive_pings": "counter",
    "rollcall_otlp_exports": "counter",
    "rollcall_otlp_rejected_points": "counter",
    "rollcall_otlp_last_success_timestamp_seconds": "gauge",
    "rollcall_refold_differences": "counter",
    "rollcall_snapshot_age_seconds": "gauge",
    "rollcall_log_lines_lost": "counter",
    "rollcall_build": "info",
    "process_cpu_seconds": "counter",
    "process_open_fds": "gauge",
    "process_max_fds": "gauge",
    "process_virtual_memory_bytes": "gauge",
    "process_resident_memory_bytes": "gauge",
    "process_start_time_seconds": "gauge",
}
DELAY_BUCKETS = [
    "0.5", "1.0", "2.0", "5.0", "10.0", "15.0", "30.0", "60.0", "90.0", "180.0", "300.0", "600.0",
    "1800.0", "3600.0", "14400.0", "+Inf"]
ODD_REGIONS = [
    'quo"ted', "back\\slash", "both\\\"", "ends with \\", "emoji 🚑🧭", "{curly=\"x\"}", "a,b", "#",
    "Zürich/Süd", "日本", " ", "\\n", "le", "other",
]


class MetricsTestCase(RollcallTestCase):
    def check_page(self, server):
        """Checks one state of the server with every reader; its samples by name and labels."""
        text = server.metrics()
        self.assertEqual(text.headers["content-type"], TEXT_TYPE)
        self.promtool(text.body)
        plain = self.samples(parse_text(text.text))
        page = server.metrics({"Accept": OPEN_METRICS})
        self.assertEqual(page.headers["content-type"], OPEN_TYPE)
        self.assertTrue(page.body.endswith(b"\n# EOF\n"))
        families = list(parse_open_metrics(page.text))
        names = [family.name for family in families]
        self.assertEqual(len(names), len(set(names)), "a family twice")
        self.assertEqual(
            {family.name: family.type for family in families if family.name in FAMILIES}, FAMILIES)
        for family in families:
            self.assertTrue(family.documentation, family.name)
            if family.name.endswith("_seconds") or family.name.endswith("_bytes"):
                self.assertEqual(family.unit, family.name.rsplit("_", 1)[1])
        strict = self.samples(families)
        # Both formats tell the same.
        self.assertEqual(set(plain), set(strict))
        for key, value in strict.items():
            if not key[0].startswith(MOVING):
                self.assertEqual(plain[key], value, key)
        for (name, labels), value in strict.items():
            self.assertFalse(math.isnan(value), name)
            self.assertNotIn("responder", " ".join(label for label, _ in labels))
        return strict

    def promtool(self, body):
        outcome = subprocess.run(
            ["promtool", "check", "metrics"], input=body, capture_output=True, timeout=60)
        self.assertEqual((outcome.returncode, outcome.stdout + outcome.stderr), (0, b""))

    def samples(self, families):
        found = {}
        for family in families:
            for sample in family.samples:
                key = (sample.name, frozenset(sample.labels.items()))
                self.assertNotIn(key, found)
                found[key] = sample.value
        return found

    def by_label(self, samples, name, label):
        """The series of a name by one of its labels."""
        return {dict(labels)[label]: value for (n, labels), value in samples.items() if n == name}


class StateTests(MetricsTestCase):
    def test_an_empty_store(self):
        samples = self.check_page(self.serve())
        self.assertEqual(
            self.by_label(samples, "responders_by_status", "status"),
            {status: 0 for status in STATUSES})
        transitions = {
            (dict(labels)["from"], dict(labels)["to"])
            for name, labels in samples if name == "status_transitions_total"}
        self.assertEqual(transitions, {(a, b) for a in STATUSES for b in STATUSES if a != b})
        buckets = [
            dict(labels)["le"] for name, labels in samples
            if name == "location_update_delay_seconds_bucket"]
        self.assertEqual(sorted(buckets, key=float), DELAY_BUCKETS)
        self.assertEqual(
            self.by_label(samples, "rollcall_blind", "reason"),
            {reason: 0 for reason in ("heartbeat", "overload", "stopped", "store", "suspended")})
        self.assertEqual(
            self.by_label(samples, "rollcall_responders_not_expected", "reason"),
            {reason: 0 for reason in ("retired", "forgotten", "no_duty", "off_duty", "paused")})
        self.assertEqual(
            self.by_label(samples, "rollcall_updates_total", "outcome"),
            {"accepted": 0, "duplicate": 0, "late": 0})
        self.assertEqual(samples["rollcall_watching", frozenset()], 1)
        self.assertEqual(samples["rollcall_last_batch_timestamp_seconds", frozenset()], 0)
        counted = {
            (name, labels): value for (name, labels), value in samples.items()
            if name.endswith(("_total", "_count")) and value != 0
            and not name.startswith(("process_", "rollcall_http_", "rollcall_commit_"))}
        self.assertEqual(
            {key for key in counted if key[0] != "rollcall_journal_events_total"}, set())

    def test_a_fleet_with_odd_regions(self):
        server = self.serve()
        now = now_ms()
        server.write("/v1/batches", [
            {"responder_id": f"p{place}", "region": region, "platform": "android",
             "telemetry": {"queue_depth": place, "network_type": "satellite"},
             "updates": [{"sequence": place, "captured_at": now - 100 * place}]}
            for place, region in enumerate(ODD_REGIONS)])
        # A line feed is a control character: a region may not hold one, the batch is taken.
        verdict = server.write("/v1/batches", {"responder_id": "lf", "region": "a\nb"})
        self.assertEqual(verdict["problems"][0]["pointer"], "/region")
        samples = self.check_page(server)
        online = {
            dict(labels)["region"]: value for (name, labels), value in samples.items()
            if name == "rollcall_responders" and ("status", "ONLINE") in labels}
        self.assertEqual(online, {**{region: 1 for region in ODD_REGIONS}, "default": 1})
        telemetry = {
            dict(labels)["value"]: value for (name, labels), value in samples.items()
            if name == "rollcall_telemetry_responders" and ("field", "network_type") in labels}
        self.assertEqual(telemetry["other"], len(ODD_REGIONS))

    def test_after_a_restart(self):
        server = self.serve()
        now = now_ms()
        server.write("/v1/batches", [
            {"responder_id": f"p{number}", "region": f"r{number % 3}",
             "updates": [{"sequence": 1, "captured_at": now - 700 * number}]}
            for number in range(20)])
        server.write("/v1/responders", {"responder_id": "p0", "sharing": "paused"})
        before = self.check_page(server)
        for end in (server.stop, server.kill):
            end()
            # What is shorter than a second is not counted (D5).
            time.sleep(1.2)
            server.start()
            after = self.check_page(server)
            self.assertEqual(
                after["rollcall_blind_seconds_total", frozenset({("reason", "stopped")})] > 0, True)
            # What the engine tells is what it told; only series may come to it, none may go.
            self.assertEqual(set(before) - set(after), set())
            for key, value in before.items():
                if not key[0].startswith(MOVING + (
                        "rollcall_journal_", "rollcall_item_problems", "rollcall_rejected",
                        "rollcall_config_", "rollcall_times_read")):
                    self.assertEqual(after[key], value, key)

    def test_while_blind(self):
        server = self.serve()
        server.write("/v1/batches", {
            "responder_id": "a", "updates": [{"sequence": 1, "captured_at": now_ms()}]})
        server.write("/v1/heartbeat", {"every_seconds": 1, "source": 'pod "1"\\'})
        eventually(lambda: server.scrape()("rollcall_watching") == 0, 15, "it is blind")
        samples = self.check_page(server)
        self.assertEqual(samples["rollcall_watching", frozenset()], 0)
        self.assertEqual(
            self.by_label(samples, "rollcall_blind", "reason"),
            {"heartbeat": 1, "overload": 0, "stopped": 0, "store": 0, "suspended": 0})
        self.assertEqual(
            self.by_label(samples, "rollcall_feed_up", "source"), {'pod "1"\\': 0})
        self.assertGreaterEqual(
            samples["rollcall_blind_seconds_total", frozenset({("reason", "heartbeat")})], 2.5)

    def test_many_regions_are_folded(self):
        server = self.serve("limits: {regions: 8}\ncoverage: {regions: [covered]}\n")
        server.write("/v1/batches", [
            {"responder_id": f"p{number}", "region": f"r{number:02d}"} for number in range(20)])
        samples = self.check_page(server)
        online = {
            dict(labels)["region"]: value for (name, labels), value in samples.items()
            if name == "rollcall_responders" and ("status", "ONLINE") in labels}
        # Of 8 places, one is the covered region's and one that of those without a region.
        own = [f"r{number:02d}" for number in range(6)]
        self.assertEqual(
            online, {"covered": 0, "default": 0, **{name: 1 for name in own}, "other": 14})
        self.assertEqual(samples["rollcall_regions_folded", frozenset()], 14)


class NegotiationTests(MetricsTestCase):
    TABLE = [
        (None, TEXT_TYPE),
        ("", TEXT_TYPE),
        ("*/*", TEXT_TYPE),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", TEXT_TYPE),
        ("text/plain", TEXT_TYPE),
        ("text/plain;version=0.0.4", TEXT_TYPE),
        ("application/json", TEXT_TYPE),
        ("application/openmetrics-text", OPEN_TYPE),
        ("application/openmetrics-text;version=1.0.0", OPEN_TYPE),
        ("application/openmetrics-text; version=1.0.0; charset=utf-8", OPEN_TYPE),
        ("APPLICATION/OpenMetrics-Text;VERSION=1.0.0", OPEN_TYPE),
        ("application/openmetrics-text;version=0.0.1", TEXT_TYPE),
        ("application/openmetrics-text;version=2.0.0", TEXT_TYPE),
        ("application/openmetrics-text;version=1.0.0;q=0", TEXT_TYPE),
        ("application/openmetrics-text;version=1.0.0;q=0.4,text/plain;version=0.0.4;q=0.5",
         TEXT_TYPE),
        ("text/plain;version=0.0.4;q=0.5,application/openmetrics-text;version=1.0.0;q=0.75",
         OPEN_TYPE),
        ("text/plain;version=1.0.0;q=0.9,text/plain;version=0.0.4;q=0.1", TEXT_TYPE),
        ("application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;"
         "encoding=delimited;q=0.7,application/openmetrics-text;version=1.0.0;q=0.6,*/*;q=0.1",
         OPEN_TYPE),
        # Prometheus 3, as its scraper writes it, and 2.42.
        ("application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
         "application/openmetrics-text;version=0.0.1;q=0.5,"
         "text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,"
         "*/*;q=0.2", OPEN_TYPE),
        ("application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;"
         "q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1", OPEN_TYPE),
        (";;;,,q=,text", TEXT_TYPE),
    ]

    def test_the_table(self):
        server = self.serve()
        for accept, expected in self.TABLE:
            with self.subTest(accept):
                answer = server.get("/metrics", {} if accept is None else {"Accept": accept})
                self.assertEqual((answer.status, answer.headers["content-type"]), (200, expected))
                self.assertEqual(answer.headers["vary"], "Accept, Accept-Encoding")
                self.assertEqual(answer.body.endswith(b"# EOF\n"), expected == OPEN_TYPE)

    def test_head_and_other_methods(self):
        server = self.serve()
        head = server.request("HEAD", "/metrics", headers={"Accept": OPEN_METRICS})
        self.assertEqual((head.status, head.body), (200, b""))
        self.assertEqual(head.headers["content-type"], OPEN_TYPE)
        self.assertGreater(int(head.headers["content-length"]), 10_000)
        for method in ("POST", "PUT", "DELETE", "PATCH"):
            answer = server.request(method, "/metrics")
            self.assertEqual((answer.status, answer.headers["allow"]), (405, "GET, HEAD"), method)
        # The connection is still good.
        self.assertEqual(server.get("/metrics").status, 200)

    CODINGS = [
        (None, "identity"), ("", "identity"), ("gzip", "gzip"), ("gzip, deflate, br", "gzip"),
        ("*", "gzip"), ("gzip;q=0", "identity"), ("identity", "identity"), ("br", "identity"),
        ("identity;q=0", "identity"), ("identity;q=0, gzip;q=0.1", "gzip"),
        ("gzip;q=0.5, identity", "identity"), ("*;q=0, gzip", "gzip"), ("gzip;q=0, *", "identity"),
    ]

    def test_codings(self):
        """V16: by name, weight and star; nobody gets a 406, and caches are told what it hangs on."""
        server = self.serve()
        for accepted, coding in self.CODINGS:
            # urllib's and http.client's own field would ask for identity.
            for accept, kind in ((None, TEXT_TYPE), (OPEN_METRICS, OPEN_TYPE)):
                with self.subTest(accepted=accepted, accept=accept):
                    answer = raw_get(server, "/metrics", {
                        "Accept-Encoding": accepted, "Accept": accept})
                    self.assertEqual(answer.status, 200)
                    self.assertEqual(answer.headers["content-type"], kind)
                    self.assertEqual(answer.headers["vary"], "Accept, Accept-Encoding")
                    self.assertEqual(answer.headers.get("content-encoding", "identity"), coding)
                    self.assertEqual(int(answer.headers["content-length"]), len(answer.body))
                    if coding == "gzip":
                        page = gzip.decompress(answer.body)
                        self.assertLess(len(answer.body), len(page) / 5)
                    else:
                        page = answer.body
                    if accept is None:
                        self.promtool(page)
                    else:
                        list(parse_open_metrics(page.decode()))

    def test_a_compressed_page_is_the_page(self):
        """V16: the same series, one answer behind the other on a connection, by HEAD too."""
        server = self.serve()
        server.write("/v1/batches", [
            {"responder_id": f"p{place}", "region": region,
             "updates": [{"sequence": 1, "captured_at": now_ms() - place * 900}]}
            for place, region in enumerate(ODD_REGIONS)])
        plain = self.samples(parse_text(server.get("/metrics").text))
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
        self.addCleanup(connection.close)
        for _ in range(3):
            connection.request("GET", "/metrics", headers={"Accept-Encoding": "gzip"})
            packed = connection.getresponse().read()
            page = self.samples(parse_text(gzip.decompress(packed).decode()))
            self.assertEqual(set(page), set(plain))
            for key, value in plain.items():
                if not key[0].startswith(MOVING):
                    self.assertEqual(page[key], value, key)
            connection.request("HEAD", "/metrics", headers={"Accept-Encoding": "gzip"})
            head = connection.getresponse()
            self.assertEqual(head.read(), b"")
            self.assertEqual(head.headers["content-encoding"], "gzip")
            # What moves between the two scrapes is some digits.
            self.assertAlmostEqual(int(head.headers["content-length"]), len(packed), delta=400)

    def test_many_at_once_are_answered(self):
        """V16: half of them packed, half not, half in each language; each gets the whole page."""
        server = self.serve()
        wanted = [
            {"Accept-Encoding": coding, "Accept": accept}
            for coding in ("gzip", "identity") for accept in ("text/plain", OPEN_METRICS)] * 15
        with ThreadPoolExecutor(len(wanted)) as pool:
            answers = list(pool.map(lambda fields: raw_get(server, "/metrics", fields), wanted))
        for fields, answer in zip(wanted, answers):
            self.assertEqual(answer.status, 200)
            self.assertEqual(
                answer.headers.get("content-encoding", "identity"), fields["Accept-Encoding"])
            body = answer.body
            page = gzip.decompress(body) if fields["Accept-Encoding"] == "gzip" else body
            self.assertIn(b"\nrollcall_watching 1\n", page)
            self.assertEqual(page.endswith(b"# EOF\n"), fields["Accept"] == OPEN_METRICS)
        samples = self.samples(parse_text(server.get("/metrics").text))
        served = frozenset({("route", "metrics"), ("code", "200")})
        self.assertEqual(samples["rollcall_http_requests_total", served], len(wanted))

    def test_what_else_is_compressed(self):
        """V16: the page's files, kept for ever by their address; no answer that tells of people."""
        server = self.serve()
        server.write("/v1/batches", [
            {"responder_id": f"p{number}", "region": "north"} for number in range(50)])
        page = server.get("/").text
        asset = re.search(r'(?:src|href)="\.?/?([^"]+\.js)"', page)[1]
        plain = server.get("/" + asset)
        self.assertEqual(plain.status, 200)
        for _ in range(2):
            packed = raw_get(server, "/" + asset, {"Accept-Encoding": "gzip, br"})
            self.assertEqual(packed.headers["content-encoding"], "gzip")
            self.assertEqual(gzip.decompress(packed.body), plain.body)
            for answer in (plain, packed):
                self.assertEqual(answer.headers["vary"], "Accept-Encoding")
                self.assertIn("immutable", answer.headers["cache-control"])
        for path in ("/", "/v1/responders", "/v1/status", "/openapi.json", "/-/healthy", "/none"):
            answer = raw_get(server, path, {"Accept-Encoding": "gzip"})
            self.assertNotIn("content-encoding", answer.headers, path)


class ExemplarTests(MetricsTestCase):
    def test_exemplars_name_turns_and_nobody(self):
        """V17: in OpenMetrics alone, by its strict parser, over the delay and the lateness."""
        server = self.serve("liveness: {on_duty: {expected: 1s, degraded_after: 1s, offline_after: 2s}}\n")
        for sequence, delay in enumerate((200, 1500, 45_000)):
            server.write("/v1/batches", {
                "responder_id": "anna-7", "duty_state": "ON_DUTY",
                "updates": [{"sequence": sequence, "captured_at": now_ms() - delay}]})
        eventually(
            lambda: 'status="OFFLINE"} 1' in server.get("/metrics").text, 20, "anna is OFFLINE")
        text = server.get("/metrics").text
        self.assertNotIn(" # {", text)
        self.promtool(text.encode())
        page = server.get("/metrics", {"Accept": OPEN_METRICS}).text
        found = {}
        for family in parse_open_metrics(page):
            for sample in family.samples:
                if sample.exemplar:
                    self.assertEqual(list(sample.exemplar.labels), ["turn"])
                    self.assertLess(abs(float(sample.exemplar.timestamp) - time.time()), 60)
                    self.assertLessEqual(sample.exemplar.value, float(sample.labels["le"]))
                    found.setdefault(family.name, []).append(
                        (sample.labels["le"], int(sample.exemplar.labels["turn"])))
        self.assertEqual(
            set(found), {"location_update_delay_seconds", "rollcall_detection_lateness_seconds"})
        delays = found["location_update_delay_seconds"]
        self.assertEqual([bound for bound, _ in delays], ["0.5", "2.0", "60.0"])
        turns = [turn for _, turn in delays]
        self.assertEqual(turns, sorted(set(turns)))
        self.assertNotIn("anna", page)
        # The turn is in the export, behind what it took in.
        server.stop()
        export = subprocess.run(
            [BINARY, "export", "--storage.path", server.store],
            check=True, capture_output=True, timeout=60).stdout.decode().splitlines()
        lines = [json.loads(line) for line in export]
        batches = []
        for line in lines:
            if line["kind"] == "batch":
                batches.append(line)
            if line["kind"] == "turn":
                if line["body"]["number"] in turns:
                    self.assertEqual(len(batches), 1, line)
                batches = []


def raw_get(server, path, fields):
    """The answer to a GET with no fields but Host and those given that are not None."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    try:
        connection.putrequest("GET", path, skip_accept_encoding=True)
        for name, value in fields.items():
            if value is not None:
                connection.putheader(name, value)
        connection.endheaders()
        response = connection.getresponse()
        return Answer(response.status, response.getheaders(), response.read())
    finally:
        connection.close()


if __name__ == "__main__":
    unittest.main()
