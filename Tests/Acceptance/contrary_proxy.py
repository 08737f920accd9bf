"""What stands between a client and Rollcall, on loopback, and is contrary: it loses answers, holds them
back, or answers itself. It keeps what it was asked."""

import http.client
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Asked:
    """One request that came, with what became of it."""

    def __init__(self, path, headers, body):
        self.at = time.monotonic()
        self.path = path
        self.headers = headers
        self.body = body
        self.status = None

    @property
    def lines(self):
        return self.body.count(b"\n") + 1


def answers(status, body=b"{}", **fields):
    """Answers itself, and passes nothing on."""
    def act(handler, _):
        handler.reply(status, body, {name.replace("_", "-"): text for name, text in fields.items()})
        return status
    return act


def loses(handler, asked):
    """Passes it on, and hangs up without the answer."""
    handler.ask(asked)
    handler.close_connection = True
    return None


def holds(seconds):
    """Passes it on, and the answer comes so much later."""
    def act(handler, asked):
        status, fields, body = handler.ask(asked)
        time.sleep(seconds)
        handler.reply(status, body, fields)
        return status
    return act


def passes(handler, asked):
    """Passes it on, and the answer back; 502 if Rollcall does not answer."""
    try:
        status, fields, body = handler.ask(asked)
    except (OSError, http.client.HTTPException):
        status, fields, body = 502, {}, b"no Rollcall"
    handler.reply(status, body, fields)
    return status


class ContraryProxy:
    """A proxy in front of the port `port()`, until its test ends. `judge(asked, number)` says for
    each request how it is treated: one of the functions above."""

    def __init__(self, case, port, judge=lambda asked, number: passes):
        self.asked = []
        self.judge = judge
        lock = threading.Lock()
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                length = int(self.headers.get("Content-Length", 0))
                asked = Asked(self.path, dict(self.headers.items()), self.rfile.read(length))
                with lock:
                    proxy.asked.append(asked)
                    number = len(proxy.writes()) - 1
                try:
                    asked.status = proxy.judge(asked, number)(self, asked)
                except (OSError, http.client.HTTPException):
                    self.close_connection = True

            def ask(self, asked):
                connection = http.client.HTTPConnection("127.0.0.1", port(), timeout=20)
                connection.request("POST", asked.path, asked.body, {
                    name: text for name, text in asked.headers.items()
                    if name.lower() not in ("host", "content-length", "connection")})
                answer = connection.getresponse()
                body = answer.read()
                connection.close()
                return answer.status, {
                    name: text for name, text in answer.getheaders()
                    if name.lower() in ("content-type", "retry-after")}, body

            def reply(self, status, body, fields):
                self.send_response(status)
                for name, text in fields.items():
                    self.send_header(name, str(text))
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False

            def handle_error(self, *_):
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        case.addCleanup(self.server.server_close)
        case.addCleanup(self.server.shutdown)

    def writes(self, path="/v1/"):
        """What came but heartbeats, in order."""
        return [one for one in list(self.asked)
                if one.path.startswith(path) and "/heartbeat" not in one.path]
