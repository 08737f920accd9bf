"""Debian's Alertmanager with a directory, a port and a process of its own."""

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess

from rollcall_process import eventually

# The package calls the program by this name; upstream's name is the second.
NAMES = ("prometheus-alertmanager", "alertmanager")


class Alertmanager:
    """One Alertmanager, which may be asked for what it holds."""

    def __init__(self, case, config_text):
        program = next((name for name in NAMES if shutil.which(name)), None)
        if program is None:
            case.fail("no Alertmanager: apt-get install prometheus-alertmanager")
        self.directory = os.path.join(case.directory, "alertmanager")
        os.mkdir(self.directory)
        config = os.path.join(self.directory, "alertmanager.yml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(config_text)
        subprocess.run(["amtool", "check-config", config], check=True, capture_output=True)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self._log = open(os.path.join(self.directory, "log"), "wb")
        # Without a cluster it opens no other port.
        self.process = subprocess.Popen(
            [program, f"--config.file={config}", f"--web.listen-address=127.0.0.1:{self.port}",
             f"--storage.path={self.directory}/data", "--cluster.listen-address=",
             "--log.level=warn"],
            stdin=subprocess.DEVNULL, stdout=self._log, stderr=subprocess.STDOUT)
        case.addCleanup(self.stop)
        eventually(lambda: self.get("/-/ready") is not None, 30, "Alertmanager is ready")

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

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

    def log(self):
        with open(os.path.join(self.directory, "log"), encoding="utf-8") as file:
            return file.read()

    def get(self, target):
        """The JSON or text of an answer of 200; None else."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("GET", target)
            response = connection.getresponse()
            body = response.read()
            if response.status != 200:
                return None
            return body if target.startswith("/-/") else json.loads(body)
        except OSError:
            return None
        finally:
            connection.close()

    def alerts(self):
        """What it holds as firing, each as one object of its API."""
        return self.get("/api/v2/alerts") or []
