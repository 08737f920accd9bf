"""The backends of the page "Forward from your backend" do what it says, against the real binary.

Source: P1, I12.
"""

import os
import re
import shutil
import subprocess
import sys
import unittest

from cluster_process import free_ports
from documents import ROOT, page
from rollcall_process import Client, RollcallTestCase, eventually, now_ms, plain_environment

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Of Express what the example uses, as its documents have it (expressjs.com/en/4x/api.html).
EXPRESS = """
const http = require("node:http");
const routes = new Map();
function express() {
  const serve = (request, response) => {
    const pieces = [];
    request.on("data", (piece) => pieces.push(piece));
    request.on("end", () => {
      request.body = pieces.length ? JSON.parse(Buffer.concat(pieces)) : undefined;
      request.get = (name) => request.headers[name.toLowerCase()];
      response.sendStatus = (status) => { response.statusCode = status; response.end(); };
      const route = routes.get(request.url);
      if (route) route(request, response); else response.sendStatus(404);
    });
  };
  return {
    use() {}, post(path, route) { routes.set(path, route); },
    listen(port) { return http.createServer(serve).listen(port, "127.0.0.1"); },
  };
}
express.json = () => "reads JSON";
module.exports = express;
"""
# Of Vapor what the example uses (docs.vapor.codes), and what the page calls the reader's own.
VAPOR = """
@_exported import Foundation
public struct Logger: Sendable { public func warning(_ text: String) {} }
public enum Environment { public static func get(_ name: String) -> String? { nil } }
public protocol LifecycleHandler: Sendable { func shutdownAsync(_ app: Application) async }
public enum HTTPStatus: Sendable { case noContent }
public struct User: Sendable { public let name: String }
public struct Location: Decodable, Sendable {
    public let sequence: Int64
    public let capturedAt: Date
}
public struct PhoneBatch: Decodable, Sendable { public let locations: [Location] }
public final class Request: Sendable {
    public struct Authentication: Sendable {
        public func require(_ type: User.Type) throws -> User { User(name: "") }
    }
    public struct ContentContainer: Sendable {
        public func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
            try JSONDecoder().decode(type, from: Data())
        }
    }
    public var auth: Authentication { Authentication() }
    public var content: ContentContainer { ContentContainer() }
}
public final class Application: Sendable {
    public struct Lifecycle: Sendable { public func use(_ handler: any LifecycleHandler) {} }
    public var logger: Logger { Logger() }
    public var lifecycle: Lifecycle { Lifecycle() }
    public func post(
        _ path: String, use closure: @escaping @Sendable (Request) async throws -> HTTPStatus
    ) {}
}
"""


def blocks(language):
    """The blocks of a language on the page, with the names that their first lines give them."""
    return {re.match(r"(?://|#) ([\w./-]+)", body).group(1).rstrip(":,"): body
            for kind, body in BLOCK.findall(page("Integrate")) if kind == language}


class BackendTests(RollcallTestCase):
    def write(self, name, text):
        path = os.path.join(self.directory, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def backend(self, *command, **variables):
        """Starts a backend in the test's directory."""
        log = open(os.path.join(self.directory, "backend.log"), "wb")
        self.addCleanup(log.close)
        process = subprocess.Popen(
            command, cwd=self.directory, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            env={**plain_environment(), **variables, "PYTHONDONTWRITEBYTECODE": "1"})
        self.addCleanup(lambda: process.poll() is None and process.kill())
        return process

    def said(self):
        with open(os.path.join(self.directory, "backend.log"), encoding="utf-8") as file:
            return file.read()

    def posts(self, port, count, user):
        """Posts as `count` batches of a phone, each of which must get 204."""
        def up():
            try:
                client = Client(port)
                client.request("POST", "/nothing", {})
                return client
            except OSError:
                return None

        client = eventually(up, 20, "the backend answers")
        for number in range(count):
            answer = client.request(
                "POST", "/locations", {
                    "region": "north",
                    "updates": [{"sequence": number, "captured_at": now_ms(), "lat": 52.5}]},
                {"X-User": user})
            self.assertEqual(answer.status, 204, answer)
        client.close()

    def heard(self, server, user, count):
        taken = lambda: server.scrape()("rollcall_updates_total", outcome="accepted")
        eventually(lambda: taken() == count, 20, "all has come")
        self.assertEqual(server.responder(user)["region"], "north")

    def test_every_block_has_a_test(self):
        # The phone's is test_standing.
        self.assertEqual(set(blocks("python")), {"main.py"})
        self.assertEqual(set(blocks("js")), {"rollcall.mjs", "server.mjs", "phone.mjs"})
        self.assertEqual(set(blocks("swift")), {"Package.swift"})

    def test_fastapi(self):
        server = self.rollcall(address=f"127.0.0.1:{free_ports(1)[0]}").start()
        self.write("main.py", blocks("python")["main.py"])
        shutil.copy(os.path.join(ROOT, "Sources", "Clients", "rollcall.py"), self.directory)
        port = free_ports(1)[0]
        backend = self.backend(
            sys.executable, "-m", "uvicorn", "main:app", "--port", str(port),
            ROLLCALL_URL=f"http://127.0.0.1:{server.port}")
        self.posts(port, 20, "r-17")
        self.heard(server, "r-17", 20)
        # What waits while Rollcall is away is there when it is back, and what is left at the end too.
        server.kill()
        self.posts(port, 20, "r-18")
        server.start()
        self.heard(server, "r-18", 40)
        self.posts(port, 20, "r-19")
        backend.terminate()
        self.assertIn(backend.wait(20), (0, -15))
        self.assertEqual(
            server.scrape()("rollcall_updates_total", outcome="accepted"), 60, self.said())

    def test_express(self):
        node = shutil.which("node")
        if node is None:
            self.skipTest("no Node")
        server = self.rollcall(address=f"127.0.0.1:{free_ports(1)[0]}").start()
        for name, body in blocks("js").items():
            self.write(name, body)
        self.write("node_modules/express/index.js", EXPRESS)
        port = free_ports(1)[0]
        self.backend(
            node, "server.mjs", PORT=str(port), HOSTNAME="backend-1",
            ROLLCALL_URL=f"http://127.0.0.1:{server.port}")
        self.posts(port, 20, "r-17")
        self.heard(server, "r-17", 20)
        server.kill()
        self.posts(port, 20, "r-18")
        server.start()
        self.heard(server, "r-18", 40)
        sources = server.get("/v1/status").json()["sources"]
        self.assertEqual([one["source"] for one in sources], ["backend-1"])

    def test_vapor_can_be_compiled(self):
        swiftc = shutil.which("swiftc")
        if swiftc is None:
            self.skipTest("no Swift")
        sources = os.path.join(ROOT, "Sources", "RollcallClient")
        client = [os.path.join(sources, name) for name in sorted(os.listdir(sources))]
        vapor = self.write("Vapor.swift", VAPOR)
        backend = self.write("Backend.swift", blocks("swift")["Package.swift"])

        def compiled(*arguments):
            done = subprocess.run(
                [swiftc, "-swift-version", "6", "-parse-as-library", "-I", self.directory,
                 *arguments], cwd=self.directory, capture_output=True, text=True, timeout=300)
            self.assertEqual(done.returncode, 0, done.stderr)

        for name, files in (("RollcallClient", client), ("Vapor", [vapor])):
            compiled("-emit-module", "-module-name", name, *files)
        compiled("-typecheck", "-warnings-as-errors", "-module-name", "Backend", backend)


if __name__ == "__main__":
    unittest.main()
