"""Metrics pushed to an OpenTelemetry collector, read by OpenTelemetry's own definitions (opentelemetry-proto)
and compared with what is scraped.

Source: V21. Debian's Prometheus (2.42) takes no OTLP, so none is asked.
"""

import os
import re
import socket
import ssl
import subprocess
import time

from prometheus_client.openmetrics.parser import (
    text_string_to_metric_families as parse_open_metrics)

from loopback_collector import CUMULATIVE, DELTA, TYPE, Collector, numbered, partial
from rollcall_process import (
    BINARY, OPEN_METRICS, RollcallTestCase, eventually, plain_environment)

CONFIG = """
coverage: {{regions: [harbour, 'a "b" \\c']}}
otlp: {{endpoint: "{url}", interval: 1s, timeout: 900ms{more}}}
"""
UNITS = {"seconds": "s", "bytes": "By", "": ""}
# What falls and rises between two looks at it.
RESTLESS = re.compile(
    r"process_(?!cpu|start)|rollcall_location_age_seconds|rollcall_(checkpoint|snapshot)_age|"
    r"rollcall_store_used|rollcall_http_connections$")
SOON = 20


def batch(number, region="harbour"):
    return {
        "responder_id": f"r-{number}", "duty_state": "ON_DUTY", "region": region,
        "platform": "ios", "updates": [{"sequence": number, "captured_at": "2026-11-21T15:14:20Z"}]}


class OTLPTestCase(RollcallTestCase):
    def setUp(self):
        super().setUp()
        self.collector = Collector(self)

    def config(self, more="", url=None):
        return CONFIG.format(url=url or self.collector.url, more=more and f", {more}")

    def samples(self, server):
        """A scrape, with `le` as a number."""
        return {
            (name, numbered(labels)): value
            for (name, labels), value in server.scrape().samples.items()}

    def families(self, server):
        answer = server.get("/metrics", {"Accept": OPEN_METRICS})
        return {family.name: family for family in parse_open_metrics(answer.text)}

    def outcomes(self, server):
        return {
            dict(labels)["outcome"]: value
            for labels, value in server.scrape().all("rollcall_otlp_exports_total").items()}


class PageTests(OTLPTestCase):
    """What is pushed is what is scraped."""

    def check_page(self, push, before, after):
        """Every sample is there, and between what was scraped before and after it."""
        self.assert_samples(
            push.samples(), before, after, lambda key: RESTLESS.match(key[0]))

    def check_types(self, push, families):
        """Types, units and descriptions are those of the page."""
        wanted = {}
        for name, family in families.items():
            if not family.samples:
                continue
            text = (UNITS[family.unit], family.documentation)
            if family.type == "info":
                wanted[f"{name}_info"] = ("sum", *text)
            elif family.type == "gaugehistogram":
                wanted[f"{name}_bucket"] = wanted[f"{name}_gcount"] = ("gauge", "", text[1])
                wanted[f"{name}_gsum"] = ("gauge", *text)
            else:
                kind = {"counter": "sum"}.get(family.type, family.type)
                wanted[name] = (kind, *text)
        told = {
            name: (metric.WhichOneof("data"), metric.unit, metric.description)
            for name, metric in push.metrics.items()}
        self.assertEqual(told, wanted)
        for name, metric in push.metrics.items():
            kind, = metric.metadata
            self.assertEqual(kind.key, "prometheus.type")
            if metric.WhichOneof("data") == "sum":
                self.assertEqual(metric.sum.is_monotonic, kind.value.string_value == "counter")
                self.assertEqual(kind.value.string_value == "info", name == "rollcall_build_info")

    def test_every_family_and_sample_is_pushed_as_it_is_scraped(self):
        for number, more in enumerate(("", "compression: none")):
            with self.subTest(more):
                server = self.serve(self.config(more), name=f"one{number}")
                for n in range(20):
                    server.write("/v1/batches", batch(n + 1, f"region {n % 7}"))
                for code in ("/v1/responders/nobody", "/nothing", "/v1/gaps"):
                    server.get(code)
                self.collector.next(2)
                before = self.samples(server)
                push = self.collector.next(2)
                after = self.samples(server)
                self.check_page(push, before, after)
                self.check_types(push, self.families(server))
                self.assertEqual(push.path, "/v1/metrics")
                self.assertEqual(push.headers["content-type"], TYPE)
                self.assertEqual(push.headers.get("content-encoding"), None if more else "gzip")
                self.assertEqual(server.stop(), 0)

    def test_a_batch_shows_in_counters_buckets_and_exemplars(self):
        server = self.serve(self.config())
        first = self.collector.next()
        server.write("/v1/batches", batch(1))
        push = self.collector.next(2)
        self.assertEqual(push.value("rollcall_batches"), 1)
        self.assertEqual(push.value("rollcall_responders", region="harbour", status="ONLINE"), 1)
        self.assertEqual(
            push.value("rollcall_responders", region='a "b" \\c', status="ONLINE"), 0)
        point, = push.points("location_update_delay_seconds").values()
        self.assertEqual((point.count, point.bucket_counts[-1]), (1, 1))
        exemplar, = point.exemplars
        self.assertEqual(exemplar.as_double, point.sum)
        self.assertEqual([pair.key for pair in exemplar.filtered_attributes], ["turn"])
        self.assertLess(abs(exemplar.time_unix_nano / 1e9 - push.at), 60)
        # Since when: an unknown start is a first point without duration.
        before, = first.points("rollcall_batches").values()
        after, = push.points("rollcall_batches").values()
        self.assertEqual(before.start_time_unix_nano, before.time_unix_nano)
        self.assertEqual(after.start_time_unix_nano, before.time_unix_nano)
        self.assertLess(abs(after.time_unix_nano / 1e9 - push.at), 5)
        gauge, = push.points("rollcall_watching").values()
        self.assertEqual(gauge.start_time_unix_nano, 0)
        # Nobody is in it.
        self.assertNotIn("r-1", str(push.request))

    def test_the_server_says_which_one_it_is(self):
        more = "resource: {deployment.environment: live, service.name: watch}"
        server = self.serve(self.config(more))
        push = self.collector.next()
        (build,), = [server.scrape().all("rollcall_build_info")]
        self.assertEqual(push.resource, {
            "deployment.environment": "live", "service.name": "watch",
            "service.version": dict(build)["version"],
            "service.instance.id": f"{socket.gethostname()}:{server.port}"})
        other = self.serve(self.config(), name="other")
        ids = set()
        eventually(
            lambda: len(ids.update(
                p.resource["service.instance.id"] for p in self.collector.taken()) or ids) == 2,
            SOON, "two instances")
        self.assertIn(f"{socket.gethostname()}:{other.port}", ids)


class TimeTests(OTLPTestCase):
    """Since when is counted, whatever goes wrong."""

    def check_deltas(self, pushes, name, total):
        """One begins where the other ended, and together they are all of it."""
        points = [point for push in pushes for point in push.points(name).values()]
        for before, after in zip(points, points[1:]):
            self.assertEqual(after.start_time_unix_nano, before.time_unix_nano)
        self.assertEqual(sum(point.as_double for point in points), total)

    def test_deltas_add_up_although_the_collector_fails(self):
        statuses = iter([200, 503, 200, 400, 200, 500, 429])
        self.collector.judge = lambda push: (next(statuses, 200), {}, b"")
        server = self.serve(self.config("temporality: delta"))
        eventually(lambda: self.collector.pushes, SOON, "the first push")
        number = 0
        while len(self.collector.taken()) < 6:
            number += 1
            self.assertLess(number, 1000)
            server.write("/v1/batches", batch(number))
            time.sleep(0.05)
        self.collector.next(2)
        pushes = self.collector.taken()
        self.assertGreaterEqual(len(self.collector.pushes) - len(pushes), 4)
        # What is counted from is sent as no point.
        self.assertEqual(pushes[0].points("rollcall_batches"), {})
        self.assertEqual(pushes[0].value("rollcall_watching"), 1)
        begun = number - server.scrape()("rollcall_batches_total")
        self.assertEqual(begun, 0)
        self.check_deltas(pushes, "rollcall_batches", number)
        for push in pushes:
            for name, metric in push.metrics.items():
                kind = metric.WhichOneof("data")
                if kind != "gauge":
                    wanted = CUMULATIVE if name == "rollcall_build_info" else DELTA
                    self.assertEqual(getattr(metric, kind).aggregation_temporality, wanted)
        points = [p for push in pushes for p in push.points("rollcall_queue_depth").values()]
        self.assertTrue(all(min(p.bucket_counts) >= 0 for p in points))
        counts = [
            p for push in pushes for p in push.points("location_update_delay_seconds").values()]
        self.assertEqual(sum(p.count for p in counts), number)

    def test_a_restart_begins_anew_with_what_was_counted_before(self):
        server = self.serve(self.config())
        server.write("/v1/batches", batch(1))
        first, = self.collector.next(2).points("rollcall_batches").values()
        self.assertEqual(server.stop(), 0)
        server.start()
        server.write("/v1/batches", batch(2))
        again = self.collector.next(2)
        second, = again.points("rollcall_batches").values()
        self.assertEqual((first.as_double, second.as_double), (1, 2))
        self.assertGreater(second.start_time_unix_nano, first.time_unix_nano)
        self.assertTrue(all(
            metric.sum.aggregation_temporality == CUMULATIVE
            for metric in again.metrics.values() if metric.WhichOneof("data") == "sum"))

    def test_a_restart_is_in_no_delta_twice(self):
        server = self.serve(self.config("temporality: delta"))
        self.collector.next()
        server.write("/v1/batches", batch(1))
        self.collector.next(2)
        self.assertEqual(server.stop(), 0)
        server.start()
        self.collector.next()
        server.write("/v1/batches", batch(2))
        self.collector.next(2)
        told = sum(
            p.as_double for push in self.collector.taken()
            for p in push.points("rollcall_batches").values())
        self.assertEqual(told, 2)


class FaultTests(OTLPTestCase):
    """A collector that is away, slow, or says no holds up nobody."""

    def test_a_dead_collector_is_told_once_and_a_stop_does_not_wait(self):
        port = self.collector.port
        self.collector.close()
        server = self.serve(self.config())
        eventually(lambda: self.outcomes(server)["failed"] >= 3, SOON, "three failures")
        server.write("/v1/batches", batch(1))
        self.assertEqual(server.log().count("metrics were not pushed"), 1)
        self.assertIn(f"http://127.0.0.1:{port}: cannot be connected to", server.log())
        self.collector = Collector(self, port=port)
        self.collector.next()
        eventually(lambda: "metrics are pushed again" in server.log(), SOON, "it is told")
        self.assertEqual(server.log().count("metrics are pushed again"), 1)
        scrape = server.scrape()
        self.assertGreaterEqual(self.outcomes(server)["delivered"], 1)
        self.assertLess(
            abs(scrape("rollcall_otlp_last_success_timestamp_seconds") - time.time()), 60)

    def test_a_collector_that_never_answers_holds_up_nobody(self):
        silent = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(silent.close)
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        server = self.serve(
            f"otlp: {{endpoint: '{url}', interval: 61s, timeout: 60s}}")
        connection, _ = silent.accept()
        self.addCleanup(connection.close)
        for number in range(20):
            server.write("/v1/batches", batch(number + 1))
            server.scrape()
        self.assertEqual(server.stop(), 0)

    def test_it_waits_as_long_as_it_is_told_and_then_sends_the_same(self):
        answers = iter([
            (429, {"Retry-After": "1"}, b""), (200, {}, b""), (503, {"Retry-After": "7"}, b"")])
        self.collector.judge = lambda push: next(answers, (200, {}, b""))
        server = self.serve(self.config().replace("1s", "3s"))
        eventually(lambda: len(self.collector.pushes) >= 4, 40, "four pushes")
        first, again, refused, late = self.collector.pushes[:4]
        self.assertEqual(first.request, again.request)
        self.assertGreaterEqual(again.at - first.at, 1)
        # Later than the next page is due: that one comes instead.
        self.assertGreaterEqual(late.at - refused.at, 7)
        self.assertNotEqual(refused.request, late.request)
        self.assertEqual(self.outcomes(server)["failed"], 2)

    def test_what_is_refused_is_not_sent_again(self):
        statuses = iter([400, 413, 401, 500, 301])
        self.collector.judge = lambda push: (
            next(statuses, 200), {"Location": self.collector.url}, b"\x12\x08bad data")
        server = self.serve(self.config())
        self.collector.next()
        pushes = self.collector.pushes
        self.assertEqual(len({push.request.SerializeToString() for push in pushes}), len(pushes))
        for before, after in zip(pushes, pushes[1:]):
            self.assertGreater(after.at - before.at, 0.5)
        outcomes = self.outcomes(server)
        self.assertEqual((outcomes["refused"], outcomes["failed"]), (5, 0))
        for status in (400, 413, 401, 500):
            self.assertEqual(server.log().count(f"answered {status}: bad data"), 1)
        self.assertIn("answered 301: redirects are not followed", server.log())

    def test_points_that_are_rejected_are_counted_and_told(self):
        answers = iter([b"", partial(3, "too\nold"), partial(4, "too\nold"), partial(0, "a hint")])
        self.collector.judge = lambda push: (200, {}, next(answers, b"no protobuf"))
        server = self.serve(self.config())
        self.collector.next(5)
        self.assertEqual(server.scrape()("rollcall_otlp_rejected_points_total"), 7)
        outcomes = self.outcomes(server)
        self.assertEqual((outcomes["partial"], outcomes["failed"], outcomes["refused"]), (2, 0, 0))
        self.assertGreaterEqual(outcomes["delivered"], 2)
        self.assertEqual(len(re.findall('says something about them.*error="too old"', server.log())), 2)
        self.assertIn('error="a hint"', server.log())


class SecretTests(OTLPTestCase):
    """Who may read what is pushed, and who is shown what."""

    def secret(self, name, text):
        path = os.path.join(self.directory, name)
        with open(path, "w", encoding="utf-8", opener=lambda p, f: os.open(p, f, 0o600)) as file:
            file.write(text + "\n")
        return path

    def collector_by_tls(self):
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
             "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "key.pem",
             "-out", "cert.pem"], cwd=self.directory, check=True, capture_output=True, timeout=60)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(
            os.path.join(self.directory, "cert.pem"), os.path.join(self.directory, "key.pem"))
        return Collector(self, context)

    def test_tls_tokens_and_fields_arrive_and_are_shown_to_nobody(self):
        collector = self.collector_by_tls()
        secrets = ["t0ken-canary-1234", "f1eld-canary-5678", "p4th-canary"]
        self.secret("token", secrets[0])
        config = self.config(
            "bearer_token_file: token, ca_file: cert.pem, headers: [{name: X-Scope, value_file: "
            f"{self.secret('field', secrets[1])}}}, {{name: X-Plain, value: \"Basic {secrets[1]}\"}}]",
            f"{collector.url}/{secrets[2]}/")
        collector.judge = lambda push: (
            200, {}, partial(0, push.headers["authorization"]))
        server = self.serve(config)
        push = collector.next()
        self.assertEqual(push.path, f"/{secrets[2]}/v1/metrics")
        self.assertEqual(push.headers["authorization"], f"Bearer {secrets[0]}")
        self.assertEqual(push.headers["x-scope"], secrets[1])
        self.assertEqual(push.headers["x-plain"], f"Basic {secrets[1]}")
        eventually(lambda: "Bearer <secret>" in server.log(), SOON, "what it says is told")
        outputs = [server.log(), server.scrape().text, server.get("/-/report").text]
        for command in (
                ["check", server.config_path], ["report", "--server",
                 f"http://127.0.0.1:{server.port}", "--config.file", server.config_path,
                 "--output", "-"],
                ["manifest", "kubernetes", "--config.file", server.config_path]):
            done = subprocess.run(
                [BINARY, *command], capture_output=True, text=True, timeout=90,
                cwd=self.directory, env=plain_environment())
            self.assertEqual(done.returncode, 0, done.stderr)
            outputs.append(done.stdout + done.stderr)
        # The manifest holds the file of settings as it is, and says so.
        for output in outputs[:-1]:
            for secret in secrets:
                self.assertNotIn(secret, output)
        self.assertIn(f"It pushes its metrics to {collector.url} every 1s, cumulative.", outputs[3])
        # The files of secrets come with the others.
        self.assertIn("--from-file=token=token", outputs[5])
        self.assertIn("--from-file=cert.pem=cert.pem", outputs[5])
        # Without the authority nothing is said to whoever is there.
        server.configure(config.replace("ca_file: cert.pem, ", ""))
        self.assertEqual(server.post("/-/reload", "").status, 200)
        eventually(lambda: "TLS:" in server.log(), SOON, "it is not trusted")
        count = len(collector.pushes)
        failed = self.outcomes(server)["failed"]
        eventually(
            lambda: self.outcomes(server)["failed"] >= failed + 2, SOON, "it is tried again")
        self.assertEqual(len(collector.pushes), count)

    def test_a_reload_sets_changes_and_unsets_it(self):
        server = self.serve(self.config(), name="reloaded")
        self.collector.next(2)
        other = Collector(self)
        server.configure(self.config("temporality: delta", f"{other.url}/v1/metrics"))
        self.assertEqual(server.post("/-/reload", "").status, 200)
        # The first may be here already.
        first, second = eventually(lambda: other.taken()[1:] and other.taken()[:2], SOON, "it is pushed")
        self.assertEqual(first.path, "/v1/metrics")
        self.assertEqual(first.points("rollcall_batches"), {})
        self.assertEqual(second.value("rollcall_batches"), 0)
        server.configure("{}\n")
        changed = server.post("/-/reload", "").json()["changed"]
        self.assertIn("otlp.endpoint", [change["setting"] for change in changed])
        count = self.outcomes(server)
        time.sleep(2.5)
        self.assertEqual(self.outcomes(server), count)
        before = len(self.collector.taken())
        server.configure(self.config())
        self.assertEqual(server.post("/-/reload", "").status, 200)
        again = eventually(lambda: self.collector.taken()[before:], SOON, "it is pushed again")[0]
        point, = again.points("rollcall_batches").values()
        self.assertEqual(point.start_time_unix_nano, point.time_unix_nano)

    def test_settings_that_cannot_work_are_refused(self):
        for more, words in (
                ("timeout: 10s", "otlp.timeout must be shorter than interval (10s >= 1s)"),
                ("temporality: both", "must be one of cumulative, delta"),
                ("headers: [{name: Host, value: x}]", "is set by Rollcall itself"),
                ("headers: [{name: 'a b', value: x}]", "must be the name of a header field"),
                ("headers: [{name: A}]", "or value_file must be given"),
                ("headers: [{name: A, value: x}, {name: a, value: y}]", "another field's already"),
                ("bearer_token: x, headers: [{name: authorization, value: y}]",
                 "must not both be given"),
                ("resource: {'a b': x}", "must hold names of letters")):
            config = self.config(more)
            if more.startswith("timeout"):
                config = config.replace("timeout: 900ms, ", "")
            path = self.secret("wrong.yaml", config)
            done = subprocess.run(
                [BINARY, "check", path], capture_output=True, text=True, timeout=30,
                env=plain_environment())
            self.assertNotEqual(done.returncode, 0, more)
            self.assertIn(words, done.stdout + done.stderr)
        path = self.secret("wrong.yaml", self.config(url=f"{self.collector.url}/?x=1"))
        done = subprocess.run(
            [BINARY, "check", path], capture_output=True, text=True, timeout=30,
            env=plain_environment())
        self.assertIn("must have no query", done.stdout + done.stderr)
        path = self.secret("plain.yaml", self.config(url="http://collector.example:4318"))
        done = subprocess.run(
            [BINARY, "check", path], capture_output=True, text=True, timeout=30,
            env=plain_environment())
        self.assertIn("http://collector.example:4318 speaks no TLS", done.stdout)
