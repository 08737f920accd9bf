"""The image that `rollcall manifest kubernetes` describes: a fresh Debian with its packages and
nothing else, its settings and its files, and a page that is sent from it over TLS.

    ROLLCALL_IMAGE=1    make such a root with mmdebstrap, from Debian's mirror; else it is skipped

Source: V8; the comment in the manifest is what is followed here.
"""

import os
import re
import shutil
import subprocess
import unittest

import yaml

from hostile_receiver import Certificates
from loopback_receivers import Hook
from rollcall_process import BINARY, Rollcall, RollcallTestCase, plain_environment

WANTED = os.environ.get("ROLLCALL_IMAGE")
SOURCES = "/etc/apt/sources.list.d/debian.sources"
# The image that the manifest names is Debian's of this name.
SUITE = {"debian:12-slim": "bookworm"}
RECIPE = re.compile(r"on (debian:\S+) with the packages ((?:\S+ )+)ca-certificates:")
USER = "10112"


class ImageTests(RollcallTestCase):
    def manifest(self, settings):
        path = os.path.join(self.directory, "rollcall.yml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(settings)
        outcome = subprocess.run(
            [BINARY, "manifest", "kubernetes", "--config.file", path], check=True,
            capture_output=True, text=True, timeout=30, env=plain_environment())
        return outcome.stdout

    def recipe(self, text):
        """The image and the packages, as the comment names them."""
        words = " ".join(line.strip().lstrip("# ") for line in text.splitlines())
        found = RECIPE.search(words)
        self.assertIsNotNone(found, "the manifest names no packages")
        return SUITE[found.group(1)], [*found.group(2).split(), "ca-certificates"]

    def make(self, suite, packages):
        """A root with the packages of the recipe and what they need."""
        root = os.path.join(self.directory, "root")
        sources = [SOURCES] if os.path.exists(SOURCES) else []
        subprocess.run(
            ["mmdebstrap", "--quiet", "--variant=minbase", f"--include={','.join(packages)}",
             suite, root, *sources], check=True, timeout=600, env=plain_environment())
        self.addCleanup(shutil.rmtree, root, ignore_errors=True)
        return root

    def install(self, root):
        """The program; one that is not as it is shipped needs Swift's libraries, too."""
        target = os.path.join(root, "usr/local/bin/rollcall")
        shutil.copy(BINARY, target)
        needed = subprocess.run(
            ["ldd", BINARY], check=True, capture_output=True, text=True, timeout=30).stdout
        for library in re.findall(r"=> (/\S*/swift/\S+)", needed):
            os.makedirs(root + os.path.dirname(library), exist_ok=True)
            shutil.copy(library, root + library)

    @unittest.skipUnless(WANTED, "ROLLCALL_IMAGE is not set")
    def test_a_page_is_sent_from_the_image_of_the_manifest(self):
        hook = Hook(self)
        certificates = Certificates(self.directory)
        hook.speak(certificates.context("good"))
        text = self.manifest(f"""
            web: {{tokens: [{{name: a, scopes: [read, admin], token_file: a.token}}]}}
            receivers:
              - {{name: hook, webhook: {{url: "https://127.0.0.1:{hook.port}/", ca_file: keys/ca.pem}}}}
            """)
        config_map, _, workload = yaml.safe_load_all(text)
        pod = workload["spec"]["template"]["spec"]
        root = self.make(*self.recipe(text))
        self.install(root)
        # What the volume of the settings holds in the Pod.
        with open(certificates.authority, encoding="ascii") as file:
            files = {"a.token": "a" * 16, "keys/ca.pem": file.read()}
        projected = pod["volumes"][0]["projected"]["sources"]
        self.assertEqual(
            {item["path"] for item in projected[1]["secret"]["items"]}, set(files))
        files["rollcall.yml"] = config_map["data"]["rollcall.yml"]
        for name, content in files.items():
            path = os.path.join(root, "etc/rollcall", name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(content)
        store = os.path.join(root, "var/lib/rollcall")
        os.makedirs(store)
        os.chown(store, int(USER), int(USER))
        container = pod["initContainers"][0]
        self.assertEqual(str(container["securityContext"]["runAsUser"]), USER)

        class Sidecar(Rollcall):
            def arguments(self):
                places = {"127.0.0.1:10112": "127.0.0.1:0", "0.0.0.0:10113": "127.0.0.1:0"}
                # Every container has /proc; Swift finds its arguments there.
                enter = (
                    f'mount -t proc proc "$0/proc" && exec chroot --userspec={USER}:{USER} "$0" "$@"')
                line = ["unshare", "--mount", "sh", "-c", enter, root, *container["command"]]
                for argument in container["args"]:
                    flag, equals, value = argument.partition("=")
                    line.append(flag + equals + places.get(value, value))
                return line

        server = Sidecar(self.directory)
        self.addCleanup(server.close)
        server.start()
        token = {"Authorization": "Bearer " + "a" * 16}
        self.assertEqual(server.get("/v1/status", token).status, 200)
        drill = server.post("/v1/drill", {"receiver": "hook"}, token)
        self.assertEqual(drill.status, 200, drill)
        page = hook.first(lambda told: True, 30, "a page over TLS")
        self.assertEqual(page.json()["alerts"][0]["labels"]["alertname"], "RollcallDrill")
        # Debian's own authorities are there, for everybody else's receivers.
        self.assertGreater(
            os.path.getsize(os.path.join(root, "etc/ssl/certs/ca-certificates.crt")), 100_000)
        self.assertEqual(server.stop(), 0)


if __name__ == "__main__":
    unittest.main()
