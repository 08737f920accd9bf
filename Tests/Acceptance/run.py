"""Runs the acceptance suite and ends with the line `N passed, N failed`.

    ROLLCALL_BINARY=.build/release/rollcall python3 Tests/Acceptance/run.py [test_http …]
"""

import os
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
SUITES = (
    "test_http", "test_openapi", "test_limits", "test_doors", "test_metrics_formats",
    "test_liveness", "test_people", "test_gaps", "test_status", "test_store", "test_export",
    "test_failing_disk", "test_durability", "test_systemd", "test_manifest", "test_prometheus",
    "test_alert_rules", "test_alerts_prometheus", "test_alertmanager", "test_pages", "test_nudges",
    "test_demo", "test_simulate", "test_settings", "test_tune", "test_dashboards",
    "test_dashboard_panels", "test_page", "test_readme",
    "test_history_size",
)


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
            self._say("FAIL", subtest, "\n" + (self.failures + self.errors)[-1][1])


def main(names):
    binary = os.environ.get("ROLLCALL_BINARY", "")
    if not os.access(binary, os.X_OK):
        print(f"ROLLCALL_BINARY must name the binary ({binary})", file=sys.stderr)
        return 2
    os.environ["ROLLCALL_BINARY"] = os.path.abspath(binary)
    sys.path.insert(0, HERE)
    suite = unittest.defaultTestLoader.loadTestsFromNames(names or SUITES)
    result = Protocol()
    began = time.monotonic()
    suite.run(result)
    failed = len({
        getattr(test, "test_case", test).id() for test, _ in result.failures + result.errors})
    print(f"{time.monotonic() - began:.0f} s, {len(result.skipped)} skipped", flush=True)
    print(f"{result.passed} passed, {failed} failed", flush=True)
    return 1 if failed or result.passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
