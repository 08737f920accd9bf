"""Runs the acceptance suites, three at a time, and ends with the line `N passed, N failed`.

    ROLLCALL_BINARY=.build/release/rollcall python3 Tests/Acceptance/run.py [test_http …]

Most of them wait most of the time. Each runs in a process of its own and its lines come out when it
ends; a single one tells its lines as it goes. ROLLCALL_SUITES=1 runs one at a time.
"""

import os
import queue
import re
import subprocess
import sys
import time
import unittest
from concurrent.futures import ThreadPoolExecutor, as_completed

HERE = os.path.dirname(os.path.abspath(__file__))
# The ports that servers of the tests get.
FIRST_PORT, LAST_PORT = 10240, 32768
# The longest first, so that none is left alone at the end.
SUITES = (
    "test_cluster_chaos", "test_gateway_chaos", "test_split", "test_members", "test_page_cells", "test_page_live", "test_page_pictures", "test_page", "test_page_people", "test_page_states", "test_page_past", "test_nudges", "test_backup", "test_process_faults",
    "test_outgoing", "test_sentence", "test_events", "test_subscriptions", "test_idempotency", "test_members_writes", "test_package",
    "test_slow_clients", "test_malformed", "test_churn", "test_liveness", "test_demo",
    "test_simulate", "test_storm", "test_alerts_prometheus", "test_offline", "test_systemd", "test_dashboard_panels",
    "test_pages", "test_fallbacks", "test_sessions", "test_acting", "test_takes", "test_asks", "test_receivers", "test_mail", "test_export", "test_settings", "test_clocks", "test_durability", "test_packing", "test_store",
    "test_soak", "test_prometheus", "test_alertmanager", "test_failing_disk", "test_openapi",
    "test_cadence", "test_cluster_orders", "test_cells", "test_fleet_cell", "test_fleet_cell_calls", "test_company", "test_gateway", "test_gateway_strangers", "test_clients", "test_client_python", "test_client_swift", "test_client_cells", "test_integrate", "test_mirror",
    "test_privacy", "test_gaps", "test_regions", "test_status", "test_lists", "test_watch", "test_manifest", "test_manual",
    "test_manifest_files", "test_manifest_members", "test_manifest_standalone", "test_metrics_formats", "test_native_histograms",
    "test_alert_rules", "test_rules_from_settings", "test_http", "test_inputs", "test_phones", "test_standing", "test_people", "test_responders", "test_limits", "test_doors", "test_dashboards",
    "test_tune", "test_mqtt", "test_otlp", "test_readme", "test_history_size", "test_forge", "test_image", "test_web_config", "test_report", "test_upgrade",
)
COUNTS = re.compile(rb"(\d+) s, (\d+) skipped\n(\d+) passed, (\d+) failed\n\Z")


class Protocol(unittest.TestResult):
    """One line a test with its time; what went wrong follows at once."""

    def __init__(self):
        super().__init__()
        self.passed = 0
        self._began = 0.0

    def startTest(self, test):
        super().startTest(test)
        self._began = time.monotonic()

    def _say(self, word, test, more=""):
        seconds = time.monotonic() - self._began
        print(f"{word:4} {seconds:6.1f} s  {test.id()}{more}", flush=True)

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed += 1
        self._say("ok", test)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self._say("FAIL", test, "\n" + self.failures[-1][1])

    def addError(self, test, error):
        super().addError(test, error)
        self._say("FAIL", test, "\n" + self.errors[-1][1])

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._say("skip", test, f": {reason}")

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error is not None:
            kept = self.failures if issubclass(error[0], test.failureException) else self.errors
            self._say("FAIL", subtest, "\n" + kept[-1][1])


def run_here(names):
    """Runs suites in this process and tells each test as it ends; the exit status."""
    suite = unittest.defaultTestLoader.loadTestsFromNames(names)
    result = Protocol()
    began = time.monotonic()
    suite.run(result)
    failed = len({
        getattr(test, "test_case", test).id() for test, _ in result.failures + result.errors})
    return tell(time.monotonic() - began, len(result.skipped), result.passed, failed)


def run_beside(names, count):
    """Runs each suite in a process of its own, `count` at a time; the exit status."""
    # A server that is down for a while keeps its port: none of those that run beside it gets that.
    step = (LAST_PORT - FIRST_PORT) // count
    ports = queue.SimpleQueue()
    for first in range(FIRST_PORT, LAST_PORT - step + 1, step):
        ports.put(f"{first}-{first + step}")

    def run(name):
        own = ports.get()
        try:
            return name, subprocess.run(
                [sys.executable, os.path.abspath(__file__), name], stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                env={**os.environ, "ROLLCALL_PORTS": own}).stdout
        finally:
            ports.put(own)

    began = time.monotonic()
    sums = [0, 0, 0]
    with ThreadPoolExecutor(count) as pool:
        for future in as_completed([pool.submit(run, name) for name in names]):
            name, output = future.result()
            counts = COUNTS.search(output)
            sys.stdout.buffer.write(output[:counts.start()] if counts else output)
            # A suite that does not tell its end has failed as a whole.
            told = [int(text) for text in counts.groups()[1:]] if counts else [0, 0, 1]
            if counts is None:
                print(f"FAIL           {name} did not come to its end")
            sums = [sum(pair) for pair in zip(sums, told)]
            sys.stdout.flush()
    return tell(time.monotonic() - began, *sums)


def tell(seconds, skipped, passed, failed):
    """The last two lines; the exit status that goes with them."""
    print(f"{seconds:.0f} s, {skipped} skipped", flush=True)
    print(f"{passed} passed, {failed} failed", flush=True)
    return 1 if failed or passed == 0 else 0


def main(names):
    binary = os.environ.get("ROLLCALL_BINARY", "")
    if not os.access(binary, os.X_OK):
        print(f"ROLLCALL_BINARY must name the binary ({binary})", file=sys.stderr)
        return 2
    os.environ["ROLLCALL_BINARY"] = os.path.abspath(binary)
    sys.path.insert(0, HERE)
    suites = names or SUITES
    count = int(os.environ.get("ROLLCALL_SUITES", "3"))
    return run_here(suites) if len(suites) == 1 else run_beside(suites, count)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
