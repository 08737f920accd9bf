"""An app's backend that knows nothing of Rollcall, and nginx in front of it that mirrors, on loopback."""

import json
import os
import re
import shutil
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from rollcall_process import Client, eventually

TOKEN = "app-token-of-r-17"


class App:
    """A backend that takes locations from who has the app's own token. It keeps what it got."""

    def __init__(self, case):
        self.got = []
        app = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                # What nginx asks whether somebody may come in, and the app's own reading.
                self.answer(204 if self.is_known() else 401, b"")

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                app.got.append((self.path, dict(self.headers.items()), body))
                known = self.is_known()
                self.answer(201 if known else 401, json.dumps(
                    {"stored": len(body)} if known else {"error": "who?"}).encode())

            def is_known(self):
                return self.headers.get("Authorization") == f"Bearer {TOKEN}"

            def answer(self, status, body):
                self.send_response(status)
                if status != 204:
                    self.send_header("Content-Length", str(len(body)))
                    self.send_header("X-App", "mine")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False
            request_queue_size = 128

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        case.addCleanup(self.server.server_close)
        case.addCleanup(self.server.shutdown)


class Nginx:
    """nginx with one file of ours, as Debian's `conf.d` includes it."""

    def __init__(self, case, directory, port, text):
        self.port = port
        self.directory = os.path.join(directory, "nginx")
        os.makedirs(self.directory, exist_ok=True)
        program = shutil.which("nginx") or "/usr/sbin/nginx"
        site = os.path.join(self.directory, "site.conf")
        with open(site, "w", encoding="utf-8") as file:
            file.write(text)
        main = os.path.join(self.directory, "nginx.conf")
        temporary = "".join(
            f"  {name}_temp_path {self.directory}/{name};\n"
            for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        with open(main, "w", encoding="utf-8") as file:
            file.write(
                f"daemon off;\npid {self.directory}/pid;\nworker_processes 1;\n"
                f"error_log {self.directory}/error.log info;\n"
                "events { worker_connections 512; }\n"
                f"http {{\n  access_log {self.directory}/access.log;\n{temporary}"
                f"  include {site};\n}}\n")
        tried = subprocess.run(
            [program, "-t", "-c", main], capture_output=True, text=True, timeout=30)
        case.assertEqual(tried.returncode, 0, tried.stderr)
        # Whatever it finds doubtful would be read by nobody else.
        case.assertNotIn("[warn]", tried.stderr)
        self.process = subprocess.Popen(
            [program, "-c", main], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        case.addCleanup(self.stop)
        eventually(self.answers, 10, "nginx answers")

    def answers(self):
        try:
            client = Client(self.port, timeout=5)
            client.request("GET", "/nothing")
            client.close()
            return True
        except OSError:
            return False

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(10)

    def log(self):
        with open(os.path.join(self.directory, "error.log"), encoding="utf-8") as file:
            return file.read()
