"""Debian's Prometheus scrapes the binary through a scripted fleet; PromQL answers what the script
says it must, computed before the first batch is sent.

Source: issue of the main job, acceptance; Contract/Liveness, V2.
"""

import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
import unittest
import urllib.parse

from rollcall_process import STATUSES, RollcallTestCase, eventually, now_ms, sleep_until

CONFIG = """
liveness:
  on_duty: {expected: 2s, degraded_after: 3s, offline_after: 6s}
  on_mission: {expected: 1s, degraded_after: 2s, offline_after: 1h}
coverage: {regions: [east]}
"""
BUCKETS_MS = [
    500, 1000, 2000, 5000, 10_000, 15_000, 30_000, 60_000, 90_000, 180_000, 300_000, 600_000,
    1_800_000, 3_600_000, 14_400_000]
# The script's length in seconds: who stops at second 2 is OFFLINE at 8, and has time to return.
STEPS = 13


class Fleet:
    """Who reports at which second with which delays, and what must come of it.

    A step's second is when the batch is sent; every wait between steps is far from a threshold.
    """

    def __init__(self):
        self.delays = []
        self.transitions = {(a, b): 0 for a in STATUSES for b in STATUSES if a != b}
        self.by_status = dict.fromkeys(STATUSES, 0)
        # Known in advance: where people without a region are, and what must be covered.
        self.by_region = {
            (region, status): 0 for region in ("default", "east") for status in STATUSES}
        self.duplicates = 0
        self.accepted = 0
        self.not_expected = 0
        # Those lost and those who came back later; steady5, whom the server named, long before.
        self.offline_at_worst = 3 + 2
        # By step: route, item, how often the very same is sent; its times are milliseconds ago.
        self.steps = [[] for _ in range(STEPS)]
        self._write()
        self.delays.sort()

    def _report(self, step, name, region, delay, duty="ON_DUTY", times=1):
        item = {
            "responder_id": name, "region": region, "duty_state": duty, "received_at": 5,
            "updates": [{"sequence": 100 + step, "captured_at": 5 + delay}]}
        self.steps[step].append(("/v1/batches", item, times))
        self.accepted += 1
        self.duplicates += times - 1
        self.delays.append(delay)

    def _ends(self, region, path):
        for before, after in zip(path, path[1:]):
            self.transitions[before, after] += 1
        self.by_status[path[-1]] += 1
        for status in STATUSES:
            self.by_region.setdefault((region, status), 0)
        self.by_region[region, path[-1]] += 1

    def _write(self):
        for number in range(6):
            # Steady; what they tell last is repeated by a stuck forwarder.
            for step in range(STEPS):
                self._report(
                    step, f"steady{number}", "north", 130 * step + 777 * number,
                    times=2 if step == 4 else 1)
            self._ends("north", ["UNKNOWN", "ONLINE"])
        for number in range(3):
            for step in range(2):
                self._report(step, f"lost{number}", "south", 4000 + number)
            self._ends("south", ["UNKNOWN", "ONLINE", "DEGRADED", "OFFLINE"])
        for number in range(2):
            self._report(0, f"back{number}", "south", 90_000)
            # Returns after OFFLINE with a backlog and stays.
            for step in range(10, STEPS):
                self._report(step, f"back{number}", "south", 500_000 * (STEPS - step))
            self._ends("south", ["UNKNOWN", "ONLINE", "DEGRADED", "OFFLINE", "ONLINE"])
        for number in range(4):
            self._report(1, f"mission{number}", "west \"7\"", 0, duty="ON_MISSION")
            self._ends("west \"7\"", ["UNKNOWN", "ONLINE", "DEGRADED"])
        for number in range(2):
            self.steps[1].append(("/v1/responders", {
                "responder_id": f"new{number}", "duty_state": "ON_MISSION", "region": "east"}, 1))
            self._ends("east", ["UNKNOWN"])
        for number in range(3):
            self._report(0, f"home{number}", "north", 30_000)
            self.transitions["UNKNOWN", "ONLINE"] += 1
            self.not_expected += 1
            self.steps[1].append(("/v1/responders", {
                "responder_id": f"home{number}", "duty_state": "OFF_DUTY"}, 1))
        # The server names one OFFLINE whom we heard, and is believed until the next contact.
        self.steps[3].append(("/v1/transitions", {
            "responder_id": "steady5", "from": "ONLINE", "to": "OFFLINE"}, 1))
        self.transitions["ONLINE", "OFFLINE"] += 1
        self.transitions["OFFLINE", "ONLINE"] += 1

    def buckets(self):
        """Cumulated counts by `le`, which has a point in every version of Prometheus."""
        counts = {}
        for bound in BUCKETS_MS:
            counts[f"{bound / 1000}"] = sum(d <= bound for d in self.delays)
        counts["+Inf"] = len(self.delays)
        return counts

    def sum_ms(self):
        return sum(self.delays)


class Prometheus:
    """Debian's Prometheus with a directory, a port and a process of its own."""

    def __init__(self, directory, target_port=None, config_text=None, features=()):
        self.directory = os.path.join(directory, "prometheus")
        os.mkdir(self.directory)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        config = os.path.join(self.directory, "prometheus.yml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(config_text or f"""
global: {{scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}}
scrape_configs:
  - job_name: rollcall
    static_configs: [{{targets: ["127.0.0.1:{target_port}"]}}]
""")
        subprocess.run(["promtool", "check", "config", config], check=True, capture_output=True)
        self._log = open(os.path.join(self.directory, "log"), "wb")
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={config}", f"--web.listen-address=127.0.0.1:{self.port}",
             f"--storage.tsdb.path={self.directory}/data", "--log.level=warn",
             *(f"--enable-feature={feature}" for feature in features)],
            stdin=subprocess.DEVNULL, stdout=self._log, stderr=subprocess.STDOUT)

    def stop(self):
        """Ends the process that was started here, by its id."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(10)
        self._log.close()

    def get(self, target):
        """The data of an answer of Prometheus' API; nil while it does not answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("GET", target)
            response = connection.getresponse()
            body = response.read()
            if target.startswith("/-/"):
                return response.status == 200
            document = json.loads(body)
            if document["status"] != "success":
                raise AssertionError(f"{target}: {document}")
            return document["data"]
        except OSError:
            return None
        finally:
            connection.close()

    def query(self, promql, at=None):
        """The instant vector of an expression: values by labels, without name, job, instance."""
        arguments = {"query": promql}
        if at is not None:
            arguments["time"] = f"{at:.3f}"
        data = self.get("/api/v1/query?" + urllib.parse.urlencode(arguments))
        assert data is not None and data["resultType"] == "vector", data
        return {
            frozenset(
                (name, value) for name, value in series["metric"].items()
                if name not in ("__name__", "job", "instance")): float(series["value"][1])
            for series in data["result"]}


class PrometheusTests(RollcallTestCase):
    def test_promql_answers_what_the_script_says(self):
        if shutil.which("prometheus") is None:
            self.fail("no prometheus: apt-get install prometheus")
        fleet = Fleet()
        server = self.serve(CONFIG)
        prometheus = Prometheus(self.directory, server.port)
        self.addCleanup(prometheus.stop)
        eventually(lambda: prometheus.get("/-/ready"), 30, "Prometheus is ready")
        eventually(
            lambda: prometheus.query("up") and prometheus.query("up")[frozenset()] == 1, 20,
            "the first scrape")
        self.play(server, fleet)
        at = self.settled(server, prometheus)
        query = lambda promql: prometheus.query(promql, at)

        self.assertEqual(
            query("responders_by_status"),
            {labels(status=status): count for status, count in fleet.by_status.items()})
        self.assertEqual(
            query("sum by (region, status) (rollcall_responders)"),
            {labels(region=r, status=s): count for (r, s), count in fleet.by_region.items()})
        self.assertEqual(
            query("status_transitions_total"),
            {labels(**{"from": a, "to": b}): n for (a, b), n in fleet.transitions.items()})
        self.assertEqual(
            query("location_update_delay_seconds_bucket"),
            {labels(le=le): count for le, count in fleet.buckets().items()})
        self.assertEqual(
            query("location_update_delay_seconds_count"), {labels(): len(fleet.delays)})
        self.assertEqual(
            query("location_update_delay_seconds_sum * 1000"), {labels(): fleet.sum_ms()})
        self.assertEqual(
            query("sum by (le) (rollcall_location_update_delay_seconds_bucket)"),
            query("location_update_delay_seconds_bucket"))
        self.assertEqual(
            query("sum by (duty_state) (rollcall_location_update_delay_seconds_count) > 0"),
            {labels(duty_state="ON_DUTY"): len(fleet.delays) - 4, labels(duty_state="ON_MISSION"): 4})
        self.assertEqual(
            query("rollcall_updates_total"),
            {labels(outcome="accepted"): fleet.accepted,
             labels(outcome="duplicate"): fleet.duplicates, labels(outcome="late"): 0})
        self.assertEqual(
            query("rollcall_server_transitions_total > 0"),
            {labels(**{"from": "ONLINE", "to": "OFFLINE"}): 1})
        self.assertEqual(
            query("rollcall_responders_not_expected > 0"),
            {labels(reason="off_duty"): fleet.not_expected})
        self.assertEqual(query("rollcall_watching"), {labels(): 1})
        self.assertEqual(query("sum(rollcall_blind_seconds_total)"), {labels(): 0})
        # What alerts ask: the missing as a part of the fleet, where nobody can be reached, and
        # how many were missing at the worst time.
        self.assertEqual(
            query("sum(responders_by_status{status='OFFLINE'}) / sum(responders_by_status)"),
            {labels(): fleet.by_status["OFFLINE"] / sum(fleet.by_status.values())})
        self.assertEqual(
            query("sum by (region) (rollcall_responders) > 0 unless "
                  "sum by (region) (rollcall_responders{status='ONLINE'}) > 0"),
            {labels(region="east"): 2, labels(region='west "7"'): 4})
        self.assertEqual(
            query("max_over_time(responders_by_status{status='OFFLINE'}[1m])"),
            {labels(status="OFFLINE"): fleet.offline_at_worst})
        self.check_scrapes(prometheus)

    def test_prometheus_asks_for_gzip_and_keeps_exemplars(self):
        """V16, V17: what goes over the wire, seen between the two; and what Prometheus makes of it."""
        server = self.serve(CONFIG)
        wire = Wire(server.port)
        self.addCleanup(wire.close)
        prometheus = Prometheus(self.directory, wire.port, features=("exemplar-storage",))
        self.addCleanup(prometheus.stop)
        eventually(lambda: prometheus.get("/-/ready"), 30, "Prometheus is ready")
        began = time.time()
        for sequence, delay in enumerate((200, 45_000)):
            server.write("/v1/batches", {
                "responder_id": "anna-7", "region": "north", "duty_state": "ON_DUTY",
                "updates": [{"sequence": sequence, "captured_at": now_ms() - delay}]})

        def kept(family):
            arguments = urllib.parse.urlencode({
                "query": family, "start": f"{began - 60:.3f}", "end": f"{time.time() + 60:.3f}"})
            found = prometheus.get("/api/v1/query_exemplars?" + arguments) or []
            return {series["seriesLabels"]["le"]: series["exemplars"] for series in found}

        # Anna falls silent meanwhile, which is told by a lateness.
        lateness = eventually(
            lambda: kept("rollcall_detection_lateness_seconds_bucket"), 30, "a lateness")
        eventually(lambda: len(wire.heads()[1]) >= 4, 30, "four scrapes")
        asked, answered = wire.heads()
        delays = kept("location_update_delay_seconds_bucket")
        self.assertEqual(set(delays), {"0.5", "60.0"})
        for exemplars in [*delays.values(), *lateness.values()]:
            for exemplar in exemplars:
                self.assertEqual(list(exemplar["labels"]), ["turn"])
                self.assertGreaterEqual(int(exemplar["labels"]["turn"]), 1)
        self.assertGreaterEqual(float(delays["60.0"][0]["value"]), 45)
        # The same one is told at each scrape, and kept once.
        self.assertEqual([len(exemplars) for exemplars in delays.values()], [1, 1])
        self.assertEqual(
            prometheus.query('rollcall_responders{region="north"}')[
                labels(region="north", status="ONLINE")], 0)
        for head in asked:
            self.assertRegex(head, r"(?i)\naccept-encoding: gzip\r\n")
        for head in answered:
            self.assertRegex(head, r"(?i)\ncontent-encoding: gzip\r\n")
        self.check_health(prometheus)

    def play(self, server, fleet):
        """Sends the script, second by second."""
        began = now_ms() + 200
        for second, step in enumerate(fleet.steps):
            sleep_until(began + 1000 * second)
            # The server falls behind nobody: a step takes milliseconds.
            self.assertLess(now_ms() - began - 1000 * second, 900, "this machine stands still")
            for route, item, times in step:
                if route == "/v1/transitions":
                    # It must be later than the contact before it (L7), not in the same millisecond.
                    time.sleep(0.01)
                item = timed(item)
                for _ in range(times):
                    server.write(route, item)

    def settled(self, server, prometheus):
        """An evaluation time whose samples were scraped after the script's end.

        Steady phones go on reporting without locations: contact, and nothing that is counted.
        """
        names = [f"steady{n}" for n in range(6)] + [f"back{n}" for n in range(2)]
        end = time.time()
        for _ in range(40):
            server.write("/v1/batches", [{"responder_id": name} for name in names])
            now = time.time()
            scraped = prometheus.query("timestamp(responders_by_status{status='ONLINE'})", now)
            if scraped and max(scraped.values()) > end + 0.2:
                return now
            time.sleep(0.5)
        self.fail("no scrape after the end of the script")

    def check_health(self, prometheus):
        """No scrape failed."""
        targets = prometheus.get("/api/v1/targets")["activeTargets"]
        self.assertEqual([(t["health"], t["lastError"]) for t in targets], [("up", "")])
        self.assertEqual(prometheus.query("min_over_time(up[1m])"), {frozenset(): 1})

    def check_scrapes(self, prometheus):
        """No scrape failed, and the types arrived as OpenMetrics tells them."""
        self.check_health(prometheus)
        metadata = prometheus.get("/api/v1/metadata")
        types = {name: entries[0]["type"] for name, entries in metadata.items()}
        expected = {
            "responders_by_status": "gauge", "location_update_delay_seconds": "histogram",
            "status_transitions": "counter", "rollcall_location_age_seconds": "gaugehistogram",
            "rollcall_build": "info"}
        self.assertEqual({name: types.get(name) for name in expected}, expected)
        self.assertEqual(metadata["location_update_delay_seconds"][0]["unit"], "seconds")
        self.assertEqual(prometheus.query("rate(status_transitions_total[1m]) < 0"), {})
        with open(os.path.join(prometheus.directory, "log"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "")


class Wire:
    """A port of its own in front of another one: hands bytes on, and keeps the heads that passed."""

    def __init__(self, target_port):
        self._target = target_port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._lock = threading.Lock()
        self._sides = ([], [])
        self._sockets = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client = self._listener.accept()[0]
                server = socket.create_connection(("127.0.0.1", self._target), 10)
            except OSError:
                return
            server.settimeout(None)
            for side, source, sink in ((0, client, server), (1, server, client)):
                passed = bytearray()
                with self._lock:
                    self._sides[side].append(passed)
                    self._sockets.append(source)
                threading.Thread(
                    target=self._hand_on, args=(source, sink, passed), daemon=True).start()

    def _hand_on(self, source, sink, passed):
        try:
            while chunk := source.recv(65_536):
                with self._lock:
                    passed += chunk
                sink.sendall(chunk)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def heads(self):
        """The heads of requests, and those of answers, as they were sent."""
        with self._lock:
            return tuple(
                [head.decode() for passed in side
                 for head in re.findall(rb"(?:GET |HTTP/1\.1 )[^\0]*?\r\n\r\n", bytes(passed))]
                for side in self._sides)

    def close(self):
        """Ends all connections, and takes no more."""
        self._listener.close()
        with self._lock:
            for connected in self._sockets:
                connected.close()


def labels(**pairs):
    return frozenset(pairs.items())


def timed(item):
    """An item whose times are milliseconds ago, with times."""
    item = json.loads(json.dumps(item))
    now = now_ms()
    if "received_at" in item:
        item["received_at"] = now - item["received_at"]
    for update in item.get("updates", []):
        update["captured_at"] = now - update["captured_at"]
    return item


if __name__ == "__main__":
    unittest.main()
