"""An OpenTelemetry collector on loopback: it takes metrics by OTLP over HTTP, as protobuf, and reads them
by OpenTelemetry's own definitions.

A test judges what is answered; a collector's port is gone with its test.
"""

import gzip
import ssl
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest, ExportMetricsServiceResponse)

from rollcall_process import eventually

BODY_BYTES_MAX = 20 << 20
TYPE = "application/x-protobuf"
CUMULATIVE, DELTA = 2, 1


def partial(rejected, words):
    """The answer to a request of which some points were not taken."""
    answer = ExportMetricsServiceResponse()
    answer.partial_success.rejected_data_points = rejected
    answer.partial_success.error_message = words
    return answer.SerializeToString()


def texts(attributes):
    """Attributes by their keys; all of ours are texts."""
    pairs = {}
    for pair in attributes:
        assert pair.value.WhichOneof("value") == "string_value", pair
        assert pair.key not in pairs, pair
        pairs[pair.key] = pair.value.string_value
    return pairs


class Push:
    """One request that a collector got."""

    def __init__(self, path, headers, body):
        self.at = time.time()
        self.path = path
        self.headers = headers
        self.bytes = body
        if headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        self.request = ExportMetricsServiceRequest()
        assert self.request.ParseFromString(body) == len(body)
        # The definitions know all of it, and would write it in as many bytes.
        copy = ExportMetricsServiceRequest()
        copy.CopyFrom(self.request)
        copy.DiscardUnknownFields()
        assert copy.ByteSize() == self.request.ByteSize() == len(body)
        self.taken = False

    @property
    def resource(self):
        return texts(self.request.resource_metrics[0].resource.attributes)

    @property
    def metrics(self):
        """The metrics by their names."""
        assert len(self.request.resource_metrics) == 1
        scope, = self.request.resource_metrics[0].scope_metrics
        assert scope.scope.name == "rollcall" and scope.scope.version
        found = {metric.name: metric for metric in scope.metrics}
        assert len(found) == len(scope.metrics)
        return found

    def points(self, name):
        """The points of a metric by their labels; none if it was not sent."""
        metric = self.metrics.get(name)
        if metric is None:
            return {}
        data = getattr(metric, metric.WhichOneof("data"))
        found = {frozenset(texts(p.attributes).items()): p for p in data.data_points}
        assert len(found) == len(data.data_points) > 0
        return found

    def value(self, name, **labels):
        """The value of exactly this series."""
        return self.points(name)[frozenset(labels.items())].as_double

    def samples(self):
        """All values under the names that a scrape has for them, `le` as a number."""
        found = {}
        for name, metric in self.metrics.items():
            kind = metric.WhichOneof("data")
            for labels, point in self.points(name).items():
                if kind == "histogram":
                    total = 0
                    bounds = [*point.explicit_bounds, float("inf")]
                    assert len(bounds) == len(point.bucket_counts) and bounds == sorted(bounds)
                    for bound, count in zip(bounds, point.bucket_counts):
                        total += count
                        found[f"{name}_bucket", labels | {("le", bound)}] = total
                    assert total == point.count and point.HasField("sum")
                    found[f"{name}_count", labels] = point.count
                    found[f"{name}_sum", labels] = point.sum
                else:
                    assert point.WhichOneof("value") == "as_double"
                    is_total = kind == "sum" and metric.sum.is_monotonic
                    found[f"{name}_total" if is_total else name, numbered(labels)] = (
                        point.as_double)
        return found


def numbered(labels):
    """Labels with `le` as a number."""
    return frozenset((n, float(v) if n == "le" else v) for n, v in labels)


class Collector:
    """A server on loopback that keeps what is pushed to it and answers what `judge` says."""

    def __init__(self, case, context=None, port=0):
        self.pushes = []
        self._lock = threading.Lock()
        collector = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                length = int(self.headers["Content-Length"])
                assert length <= BODY_BYTES_MAX
                push = Push(
                    self.path, {n.lower(): v for n, v in self.headers.items()},
                    self.rfile.read(length))
                status, fields, body = collector.judge(push)
                push.taken = status == 200
                with collector._lock:
                    collector.pushes.append(push)
                self.send_response(status)
                self.send_header("Content-Type", TYPE)
                self.send_header("Content-Length", str(len(body)))
                for name, value in fields.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request, client_address):
                # Whoever pushes is stopped now and then.
                if not isinstance(sys.exception(), (ConnectionError, ssl.SSLError)):
                    super().handle_error(request, client_address)

        self._server = Server(("127.0.0.1", port), Handler)
        if context is not None:
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.port = self._server.server_address[1]
        self.url = f"http{'s' if context else ''}://127.0.0.1:{self.port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        case.addCleanup(self.close)

    def judge(self, _push):
        """The status, the fields and the body that answer a push."""
        return 200, {}, b""

    def taken(self):
        """The pushes that were acknowledged."""
        with self._lock:
            return [push for push in self.pushes if push.taken]

    def next(self, count=1, seconds=20):
        """Waits for so many more pushes that are taken; the last."""
        before = len(self.taken())
        return eventually(
            lambda: self.taken()[before + count - 1:], seconds, "metrics are pushed")[0]

    def close(self):
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None
