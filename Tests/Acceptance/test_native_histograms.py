"""The page of metrics in protobuf with native histograms: read by Google's library and compared with the page in
text, and scraped by Debian's Prometheus (2.42) with and without the feature.

Source: V22.
"""

import gzip
import os
import re
import time
import unittest
import urllib.parse
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

from prometheus_client.parser import text_string_to_metric_families as parse_text

from loopback_collector import numbered
from metric_messages import ACCEPT, COUNTER, GAUGE, HISTOGRAM, TYPE, labels, native, read, samples
from rollcall_process import OPEN_METRICS, RollcallTestCase, eventually, now_ms
from test_metrics_formats import ODD_REGIONS, OPEN_TYPE, TEXT_TYPE, raw_get
from test_prometheus import BUCKETS_MS, Prometheus, Wire
from test_store import FullDiskTestCase

DELAY, LATENESS = "location_update_delay_seconds", "rollcall_detection_lateness_seconds"
ON = "metrics: {native_histograms: true}\n"
SOON_OFFLINE = "liveness: {on_duty: {expected: 1s, degraded_after: 1s, offline_after: 2s}}\n"
# As Prometheus 2.42 sends them, without and with --enable-feature=native-histograms; seen below.
TEXT_OF_242 = (
    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
    "text/plain;version=0.0.4;q=0.5,*/*;q=0.1")
NATIVE_OF_242 = (
    f"{ACCEPT},application/openmetrics-text;version=1.0.0;q=0.8,"
    "application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1")
# What falls and rises between two looks at it.
RESTLESS = re.compile(
    r"process_(?!cpu|start)|rollcall_location_age_seconds|rollcall_(checkpoint|snapshot)_age|"
    r"rollcall_store_used|rollcall_http_connections$")
# Around bounds of both kinds, in milliseconds.
DELAYS = [
    0, 0, 1, 2, 3, 124, 125, 126, 250, 499, 500, 501, 999, 1000, 1001, 1090, 1091, 1999, 2000, 2001, 2001,
    4000, 59_999, 60_000, 60_001, 64_000, 3_600_000, 14_400_000, 14_400_001, 86_400_000]


def bucket(delay):
    """The smallest `i` with delay <= 2^(i/8) s, by fractions alone."""
    value = Fraction(delay, 1000) ** 8
    index = 0
    while value > 2 ** index:
        index += 1
    while value <= Fraction(1, 2 ** (1 - index)) if index <= 0 else value <= 2 ** (index - 1):
        index -= 1
    return index


def expected(delays):
    """What `native` must find."""
    found = {}
    for delay in delays:
        if delay > 0:
            found[bucket(delay)] = found.get(bucket(delay), 0) + 1
    return found, delays.count(0)


class NativeTestCase(RollcallTestCase):
    def report(self, server, delays, name="p"):
        """One person for each delay, who reports with exactly that."""
        # What is later than the server's now counts as now (F13), and the two of us read clocks by ourselves.
        at = now_ms() - 500
        server.write("/v1/batches", [
            {"responder_id": f"{name}{number}", "region": ODD_REGIONS[number % len(ODD_REGIONS)],
             "duty_state": "ON_DUTY", "received_at": at,
             "updates": [{"sequence": at, "captured_at": at - delay}]}
            for number, delay in enumerate(delays)])

    def families(self, server):
        def fresh():
            """A page as of now: a copy that is answered by a machine that is busy tells its age (J8)."""
            began = time.monotonic()
            answer = server.get("/metrics", {"Accept": ACCEPT})
            self.assertEqual((answer.status, answer.headers["content-type"]), (200, TYPE))
            families = read(answer.body)
            metric, = families["rollcall_snapshot_age_seconds"].metric
            return families if metric.gauge.value <= time.monotonic() - began else None

        return eventually(fresh, 10, "a page of now")

    def histogram(self, server, name):
        metric, = self.families(server)[name].metric
        return metric.histogram

    def counted(self, server, count):
        """The delays once there are so many: a page that takes long is an older copy (J8)."""
        def found():
            histogram = self.histogram(server, DELAY)
            return histogram if histogram.sample_count == count else None
        return eventually(found, 10, f"{count} delays")

    def text(self, server):
        """A page in text, with `le` as a number."""
        return {
            (name, numbered(pairs)): value
            for (name, pairs), value in server.scrape().samples.items()}


class PageTests(NativeTestCase):
    def check_page(self, server, counted_before=()):
        """Every sample of the text is there, and none else, with its value. Families of `counted_before` have
        counts from before the process began in the text alone."""
        before = self.text(server)
        families = self.families(server)
        after = self.text(server)
        self.assert_samples(
            samples(families), before, after,
            lambda key: RESTLESS.match(key[0]) or key[0].startswith(tuple(counted_before)))
        self.check_types(server, families)
        return families

    def check_types(self, server, families):
        """Names, types and descriptions are those of text 0.0.4."""
        kinds = {"counter": COUNTER, "gauge": GAUGE, "histogram": HISTOGRAM}
        wanted = {}
        for family in parse_text(server.get("/metrics").text):
            if not family.samples:
                continue
            # The reader takes the end away from counters.
            name = family.name + ("_total" if family.type == "counter" else "")
            wanted[name] = (kinds[family.type], family.documentation)
        # Its buckets are a gauge here, since they go down too.
        kind, text = wanted.pop("rollcall_location_age_seconds")
        self.assertEqual(kind, HISTOGRAM)
        wanted["rollcall_location_age_seconds_bucket"] = (GAUGE, text)
        self.assertEqual({name: (f.type, f.help) for name, f in families.items()}, wanted)
        with_schema = [
            name for name, f in families.items()
            for metric in f.metric if metric.histogram.HasField("schema")]
        self.assertEqual(with_schema, [DELAY, LATENESS])

    def test_every_family_and_sample_is_the_texts(self):
        server = self.serve(ON + "coverage: {regions: [harbour, 'a \"b\" \\c']}\n")
        self.check_page(server)
        self.report(server, DELAYS)
        for target in ("/v1/responders/nobody", "/nothing", "/v1/gaps"):
            server.get(target)
        server.write("/v1/heartbeat", {"every_seconds": 60, "source": 'pod "1"\\'})
        families = self.check_page(server)
        regions = {labels(metric).get("region") for metric in families["rollcall_responders"].metric}
        self.assertTrue(set(ODD_REGIONS) <= regions)

    def test_each_delay_is_in_its_bucket(self):
        server = self.serve(ON)
        histogram = self.histogram(server, DELAY)
        self.assertEqual((native(histogram), histogram.sample_count), (({}, 0), 0))
        self.report(server, DELAYS)
        histogram = self.counted(server, len(DELAYS))
        self.assertEqual(native(histogram), expected(DELAYS))
        self.assertEqual(histogram.sample_sum, sum(DELAYS) / 1000)
        self.assertEqual(
            [one.cumulative_count for one in histogram.bucket],
            [sum(delay <= bound for delay in DELAYS) for bound in BUCKETS_MS] + [len(DELAYS)])
        # Another report, another bucket, and nothing else.
        self.report(server, [1000], name="q")
        self.assertEqual(
            native(self.counted(server, len(DELAYS) + 1)), expected(DELAYS + [1000]))

    def test_exemplars_are_those_of_the_page(self):
        """V17: beside the classic buckets, the newest of each."""
        server = self.serve(ON + SOON_OFFLINE)
        self.report(server, [200, 45_000, 7])
        eventually(
            lambda: 'status="OFFLINE"} 3' in server.get("/metrics").text, 20, "they are OFFLINE")
        for name in (DELAY, LATENESS):
            found = {}
            for one in self.histogram(server, name).bucket:
                if one.HasField("exemplar"):
                    exemplar = one.exemplar
                    self.assertEqual(list(labels(exemplar)), ["turn"])
                    self.assertLessEqual(exemplar.value, one.upper_bound)
                    self.assertLess(abs(exemplar.timestamp.ToNanoseconds() / 1e9 - time.time()), 60)
                    found[one.upper_bound] = exemplar.value, labels(exemplar)["turn"]
            page = server.get("/metrics", {"Accept": OPEN_METRICS}).text
            told = re.findall(
                name + r'_bucket{le="([^"]+)"} \d+ # {turn="(\d+)"} (\S+) ', page)
            self.assertTrue(told)
            self.assertEqual(found, {float(le): (float(v), turn) for le, turn, v in told})

    def test_a_restart_begins_anew_and_an_erasure_takes_nothing_away(self):
        server = self.serve(ON)
        self.report(server, DELAYS)
        before = self.counted(server, len(DELAYS))
        self.assertEqual(server.request("DELETE", "/v1/responders/p3").status, 202)
        # A counter that falls would be a restart to whoever reads it.
        self.assertEqual(self.histogram(server, DELAY), before)
        for end in (server.stop, server.kill):
            end()
            server.start()
            text = server.scrape()
            count = text(f"{DELAY}_count")
            self.assertGreaterEqual(count, len(DELAYS))
            histogram = self.histogram(server, DELAY)
            self.assertEqual((native(histogram), histogram.sample_sum), (({}, 0), 0))
            self.assertEqual([one.cumulative_count for one in histogram.bucket], [0] * 16)
            self.report(server, [3000, 0], name=f"{end.__name__}-")
            histogram = self.counted(server, 2)
            self.assertEqual(native(histogram), expected([3000, 0]))
            self.assertEqual(histogram.sample_sum, 3)
            eventually(
                lambda: server.scrape()(f"{DELAY}_count") == count + 2, 10, "the text counts them too")
            self.check_page(server, counted_before=[DELAY])


class FullDiskTests(FullDiskTestCase, NativeTestCase):
    def test_a_store_that_fails_takes_nothing_away(self):
        server = self.serve(ON)
        self.report(server, DELAYS)
        self.fill_up(server)
        page = server.scrape()
        self.assertEqual(page("rollcall_blind", reason="store"), 1)
        # What is told then is what was stored, which has no such counts.
        self.assertEqual(native(self.histogram(server, DELAY)), expected(DELAYS))
        self.grow(server)
        self.assertEqual(native(self.histogram(server, DELAY)), expected(DELAYS))


class NegotiationTests(NativeTestCase):
    TABLE = [
        (ACCEPT, TYPE, TEXT_TYPE),
        (NATIVE_OF_242, TYPE, OPEN_TYPE),
        (TEXT_OF_242, OPEN_TYPE, OPEN_TYPE),
        (ACCEPT.replace(";", " ; ").upper().replace("IO.PROMETHEUS.CLIENT.METRICFAMILY",
         "io.prometheus.client.MetricFamily").replace("DELIMITED", '"delimited"'), TYPE, TEXT_TYPE),
        (f"{ACCEPT};q=0.6,application/openmetrics-text;version=1.0.0;q=0.5", TYPE, OPEN_TYPE),
        (f"{ACCEPT};q=0.5,application/openmetrics-text;version=1.0.0", OPEN_TYPE, OPEN_TYPE),
        (f"{ACCEPT};q=0", TEXT_TYPE, TEXT_TYPE),
        (ACCEPT.replace("delimited", "text"), TEXT_TYPE, TEXT_TYPE),
        ("application/vnd.google.protobuf", TEXT_TYPE, TEXT_TYPE),
        ("application/*", TEXT_TYPE, TEXT_TYPE), ("*/*", TEXT_TYPE, TEXT_TYPE),
        (None, TEXT_TYPE, TEXT_TYPE), (";;proto=,encoding", TEXT_TYPE, TEXT_TYPE),
    ]

    def check_table(self, server, place):
        for row in self.TABLE:
            for coding in ("identity", "gzip"):
                with self.subTest(row[0], coding=coding):
                    answer = raw_get(
                        server, "/metrics", {"Accept": row[0], "Accept-Encoding": coding})
                    self.assertEqual(answer.status, 200)
                    self.assertEqual(answer.headers["content-type"], row[place])
                    self.assertEqual(answer.headers["vary"], "Accept, Accept-Encoding")
                    self.assertEqual(answer.headers.get("content-encoding", "identity"), coding)
                    body = gzip.decompress(answer.body) if coding == "gzip" else answer.body
                    if row[place] == TYPE:
                        self.assertIn(DELAY, read(body))
                    else:
                        self.assertEqual(body.endswith(b"# EOF\n"), row[place] == OPEN_TYPE)

    def test_who_asks_gets_it_where_the_settings_say_so(self):
        server = self.serve("metrics: {}\n")
        self.check_table(server, 2)
        server.configure(ON)
        self.assertEqual(
            server.request("POST", "/-/reload").json()["changed"],
            [{"setting": "metrics.native_histograms", "from": "false", "to": "true"}])
        self.check_table(server, 1)
        # What was counted before the reload is there: it is counted anyhow.
        server.configure("{}\n")
        self.report(server, DELAYS)
        self.assertEqual(server.request("POST", "/-/reload").status, 200)
        self.check_table(server, 2)
        server.configure(ON)
        self.assertEqual(server.request("POST", "/-/reload").status, 200)
        self.assertEqual(native(self.histogram(server, DELAY)), expected(DELAYS))

    def test_head(self):
        server = self.serve(ON)
        size = len(server.get("/metrics", {"Accept": ACCEPT}).body)
        head = server.request("HEAD", "/metrics", headers={"Accept": ACCEPT})
        self.assertEqual((head.status, head.body), (200, b""))
        self.assertEqual(head.headers["content-type"], TYPE)
        # What moves between the two scrapes is some digits.
        self.assertAlmostEqual(int(head.headers["content-length"]), size, delta=400)

    def test_many_at_once_in_every_language(self):
        server = self.serve(ON)
        self.report(server, DELAYS)
        wanted = [
            {"Accept-Encoding": coding, "Accept": accept}
            for coding in ("gzip", "identity")
            for accept in ("text/plain", OPEN_METRICS, NATIVE_OF_242)] * 10
        with ThreadPoolExecutor(len(wanted)) as pool:
            answers = list(pool.map(lambda fields: raw_get(server, "/metrics", fields), wanted))
        for fields, answer in zip(wanted, answers):
            is_packed = answer.headers.get("content-encoding") == "gzip"
            self.assertEqual(is_packed, fields["Accept-Encoding"] == "gzip")
            body = gzip.decompress(answer.body) if is_packed else answer.body
            if fields["Accept"] == NATIVE_OF_242:
                self.assertEqual(answer.headers["content-type"], TYPE)
                metric, = read(body)[DELAY].metric
                self.assertEqual(native(metric.histogram), expected(DELAYS))
            else:
                self.assertEqual(
                    body.endswith(b"# EOF\n"), fields["Accept"] == OPEN_METRICS)


class PrometheusTests(NativeTestCase):
    def scraped(self, config, features, port=None):
        """A server with what it was told, and a Prometheus that scraped it."""
        server = self.serve(config)
        wire = Wire(server.port)
        self.addCleanup(wire.close)
        prometheus = Prometheus(self.directory, wire.port, features=features)
        self.addCleanup(prometheus.stop)
        eventually(lambda: prometheus.get("/-/ready"), 30, "Prometheus is ready")
        # A rate needs a scrape before what it counts.
        eventually(
            lambda: prometheus.query("count_over_time(up[1m])").get(frozenset(), 0) >= 2, 30,
            "two scrapes")
        self.report(server, DELAYS)
        eventually(
            lambda: prometheus.query('rollcall_updates_total{outcome="accepted"}') == {
                frozenset([("outcome", "accepted")]): len(DELAYS)}, 30, "a scrape of all that")
        return server, wire, prometheus

    def check_asked(self, wire, prometheus, accept, kind):
        asked, answered = wire.heads()
        for head in asked:
            self.assertEqual(re.search(r"(?i)\naccept: (.*)\r\n", head)[1], accept)
        for head in answered:
            self.assertIn(f"\r\nContent-Type: {kind}\r\n", head)
            self.assertRegex(head, r"(?i)\ncontent-encoding: gzip\r\n")
        targets = prometheus.get("/api/v1/targets")["activeTargets"]
        self.assertEqual([(t["health"], t["lastError"]) for t in targets], [("up", "")])
        with open(os.path.join(prometheus.directory, "log"), encoding="utf-8") as file:
            # That it is an experiment Prometheus says itself.
            lines = [line for line in file if "xperimental" not in line]
        self.assertEqual(lines, [])

    def check_classic(self, prometheus):
        """Buckets are scraped as ever."""
        self.assertEqual(
            prometheus.query(f"{DELAY}_bucket"),
            {frozenset([("le", f"{bound / 1000}")]): sum(d <= bound for d in DELAYS)
             for bound in BUCKETS_MS} | {frozenset([("le", "+Inf")]): len(DELAYS)})
        self.assertEqual(prometheus.query(f"{DELAY}_count"), {frozenset(): len(DELAYS)})

    def test_native_histograms_are_scraped(self):
        server, wire, prometheus = self.scraped(ON, ("native-histograms", "exemplar-storage"))
        query = prometheus.query
        self.assertEqual(query(f"histogram_count({DELAY})"), {frozenset(): len(DELAYS)})
        self.assertEqual(query(f"histogram_sum({DELAY}) * 1000"), {frozenset(): sum(DELAYS)})
        # Whole buckets: what is at most 0.5, 1, 2, 64 s, and what is 0.
        for bound in (500, 1000, 2000, 64_000):
            share, = query(
                f"histogram_fraction(0, {bound / 1000}, {DELAY})").values()
            self.assertAlmostEqual(share, sum(d <= bound for d in DELAYS) / len(DELAYS), places=9)
        ranked = sorted(DELAYS)
        for quantile in (0.5, 0.9):
            # Of the increase, which is all: a factor of 2^(1/8) around the one that is asked for.
            found, = query(f"histogram_quantile({quantile}, rate({DELAY}[5m]))").values()
            rank = quantile * len(ranked)
            least, most = ranked[int(rank) - 1] / 1000, ranked[min(int(rank), len(ranked) - 1)] / 1000
            self.assertTrue(least / 1.1 <= found <= most * 1.1, (quantile, least, found, most))
        for name in (DELAY, LATENESS):
            for ending in ("bucket", "count", "sum"):
                self.assertEqual(query(f"{name}_{ending}"), {}, "no classic series is left")
        # All others are as they were.
        others = {
            key: value for key, value in self.text(server).items()
            if not key[0].startswith((DELAY, LATENESS))}
        scraped = {
            (series["metric"]["__name__"], numbered(
                (n, v) for n, v in series["metric"].items()
                if n not in ("__name__", "job", "instance")))
            for series in prometheus.get("/api/v1/query?" + urllib.parse.urlencode(
                {"query": '{job="rollcall",__name__!~"up|scrape_.*"}'}))["result"]}
        self.assertEqual(others.keys() - scraped, set())
        self.assertEqual(
            {name for name, _ in scraped - others.keys()} - {"process_open_fds"},
            {DELAY, LATENESS})
        arguments = urllib.parse.urlencode({
            "query": DELAY, "start": time.time() - 300, "end": time.time() + 60})
        series, = prometheus.get("/api/v1/query_exemplars?" + arguments)
        self.assertTrue(series["exemplars"])
        for exemplar in series["exemplars"]:
            self.assertEqual(list(exemplar["labels"]), ["turn"])
        self.check_asked(wire, prometheus, NATIVE_OF_242, TYPE)
        # A restart is a fall, as of every counter.
        server.stop()
        port = server.port
        server.address = f"127.0.0.1:{port}"
        server.start()
        self.report(server, [3000] * 5, name="again")
        eventually(
            lambda: query(f"histogram_count({DELAY})") == {frozenset(): 5}, 30, "it begins anew")
        increase, = query(f"histogram_count(increase({DELAY}[5m]))").values()
        self.assertGreater(increase, len(DELAYS))

    def test_without_the_setting_all_is_as_ever(self):
        _, wire, prometheus = self.scraped(None, ("native-histograms",))
        self.check_classic(prometheus)
        self.check_asked(wire, prometheus, NATIVE_OF_242, OPEN_TYPE)

    def test_without_the_feature_all_is_as_ever(self):
        _, wire, prometheus = self.scraped(ON, ())
        self.check_classic(prometheus)
        self.check_asked(wire, prometheus, TEXT_OF_242, OPEN_TYPE)


if __name__ == "__main__":
    unittest.main()
