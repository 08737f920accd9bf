"""The image that `.packages/image` builds, entered as `rollcall manifest kubernetes` has it: its settings
and its files, nothing that may be written but the store, and a page that is sent from it over TLS.

    ROLLCALL_IMAGE=1    run it by runc, too; else the image is built twice and looked at

Source: V8; Operate, "An image".
"""

import hashlib
import json
import os
import shutil
import subprocess
import unittest

import yaml
from spdx_tools.spdx.parser.parse_anything import parse_file
from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document

from hostile_receiver import Certificates
from loopback_receivers import Hook
from rollcall_process import BINARY, Rollcall, RollcallTestCase, is_shipped, packed, plain_environment

WANTED = os.environ.get("ROLLCALL_IMAGE")
USER = 65532
MEGABYTE = 1_000_000


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


@unittest.skipUnless(is_shipped(), "the program under test is not built with -static-stdlib")
class ImageTests(RollcallTestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.image = packed("image")

    def unpacked(self):
        """A bundle of a runtime: `config.json` and `rootfs`."""
        layout = os.path.join(self.directory, "layout")
        os.mkdir(layout)
        # Not tarfile: in Debian 12 it knows no filter yet, and later it wants one.
        subprocess.run(
            ["tar", "--extract", "--file", self.image, "--directory", layout], check=True,
            timeout=60)
        with open(os.path.join(layout, "index.json"), encoding="utf-8") as file:
            tag, = [entry["annotations"]["org.opencontainers.image.ref.name"]
                    for entry in json.load(file)["manifests"]]
        bundle = os.path.join(self.directory, "bundle")
        subprocess.run(
            ["umoci", "unpack", "--image", f"{layout}:{tag}", bundle], check=True, timeout=120,
            env=plain_environment())
        self.addCleanup(shutil.rmtree, bundle, ignore_errors=True)
        return bundle

    def manifest(self, settings):
        path = os.path.join(self.directory, "rollcall.yml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(settings)
        return subprocess.run(
            [BINARY, "manifest", "kubernetes", "--config.file", path], check=True,
            capture_output=True, text=True, timeout=30, env=plain_environment()).stdout

    def test_it_is_small_and_holds_no_shell(self):
        self.assertLess(os.path.getsize(self.image), 40 * MEGABYTE)
        bundle = self.unpacked()
        root = os.path.join(bundle, "rootfs")
        size = sum(
            os.lstat(os.path.join(folder, name)).st_size
            for folder, _, names in os.walk(root) for name in names)
        self.assertLess(size, 110 * MEGABYTE)
        self.assertEqual(os.listdir(os.path.join(root, "usr/bin")), ["rollcall"])
        with open(os.path.join(bundle, "config.json"), encoding="utf-8") as file:
            process = json.load(file)["process"]
        self.assertEqual((process["user"]["uid"], process["user"]["gid"]), (USER, USER))
        self.assertEqual(process["args"][:2], ["rollcall", "serve"])
        # Docker's older kind of store reads this instead of the index.
        layout = os.path.join(self.directory, "layout")
        with open(os.path.join(layout, "manifest.json"), encoding="utf-8") as file:
            entry, = json.load(file)
        for path in [entry["Config"], *entry["Layers"]]:
            self.assertEqual(digest(os.path.join(layout, path)), os.path.basename(path))
        store = os.stat(os.path.join(root, "var/lib/rollcall"))
        self.assertEqual((store.st_uid, store.st_mode & 0o777), (USER, 0o700))

    def test_its_sbom_names_what_is_in_it(self):
        path = self.image.removesuffix(".oci.tar") + ".spdx.json"
        document = parse_file(path)
        self.assertEqual(validate_full_spdx_document(document), [])
        root = os.path.join(self.unpacked(), "rootfs")
        inside = os.path.join(root, "usr/share/doc/rollcall/rollcall.spdx.json")
        self.assertEqual(digest(path), digest(inside))
        named = {package.name: package for package in document.packages}
        program, = named["rollcall"].checksums
        self.assertEqual(program.value, digest(os.path.join(root, "usr/bin/rollcall")))
        for name in ("swift", "swift-log", "swift-argument-parser", "Yams"):
            self.assertRegex(named[name].version, r"^\d+\.\d+")
        debian = os.listdir(os.path.join(root, "var/lib/dpkg/status.d"))
        self.assertLessEqual(set(debian), set(named))
        self.assertIn("libcurl3-gnutls", debian)
        # Each has its licence with it.
        for name in debian:
            self.assertTrue(os.path.exists(os.path.join(root, "usr/share/doc", name)), name)

    def test_a_page_is_sent_from_it(self):
        hook = Hook(self)
        certificates = Certificates(self.directory)
        hook.speak(certificates.context("good"))
        text = self.manifest(f"""
            web: {{tokens: [{{name: a, scopes: [read, admin], token_file: a.token}}]}}
            receivers:
              - {{name: hook, webhook: {{url: "https://127.0.0.1:{hook.port}/", ca_file: keys/ca.pem}}}}
            """)
        config_map, _, workload, _ = yaml.safe_load_all(text)
        pod = workload["spec"]["template"]["spec"]
        root = os.path.join(self.unpacked(), "rootfs")
        # What the volume of the settings holds in the Pod.
        with open(certificates.authority, encoding="ascii") as file:
            files = {"a.token": "a" * 16, "keys/ca.pem": file.read()}
        projected = pod["volumes"][0]["projected"]["sources"]
        self.assertEqual(
            {item["path"] for item in projected[1]["secret"]["items"]}, set(files))
        os.mkdir(os.path.join(root, "proc"))
        files["rollcall.yml"] = config_map["data"]["rollcall.yml"]
        for name, content in files.items():
            path = os.path.join(root, "etc/rollcall", name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(content)
        container = pod["initContainers"][0]
        self.assertEqual(container["securityContext"]["runAsUser"], USER)

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
        with open(os.path.join(root, "etc/ssl/certs/ca-certificates.crt"), encoding="ascii") as file:
            self.assertGreater(file.read().count("BEGIN CERTIFICATE"), 100)
        self.assertEqual(server.stop(), 0)

    def test_two_builds_are_the_same_bytes(self):
        before = digest(self.image)
        self.assertEqual(digest(packed("image")), before)

    @unittest.skipUnless(WANTED, "ROLLCALL_IMAGE is not set")
    def test_runc_runs_it(self):
        bundle = self.unpacked()
        path = os.path.join(bundle, "config.json")
        with open(path, encoding="utf-8") as file:
            config = json.load(file)
        config["process"]["terminal"] = False
        config["process"]["args"].append("--web.listen-address=127.0.0.1:0")
        config["root"]["readonly"] = True
        config["mounts"].append({
            "destination": "/var/lib/rollcall", "type": "tmpfs", "source": "tmpfs",
            "options": [f"uid={USER}", f"gid={USER}", "mode=0700"]})
        # Its own network is of no use here: nobody could ask it.
        config["linux"]["namespaces"] = [
            one for one in config["linux"]["namespaces"] if one["type"] != "network"]
        with open(path, "w", encoding="utf-8") as file:
            json.dump(config, file)
        name = f"rollcall-{os.getpid()}"

        class Container(Rollcall):
            def arguments(self):
                return ["runc", "run", "--bundle", bundle, name]

        server = Container(self.directory)
        self.addCleanup(server.close)
        server.start()
        self.assertEqual(server.get("/v1/status").status, 200)
        self.assertEqual(server.stop(), 0)


if __name__ == "__main__":
    unittest.main()
