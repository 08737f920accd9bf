"""What `rollcall manifest` prints, laid out as Kubernetes or systemd would, and the binary started in it."""

import os
import re
import shlex
import shutil
import tempfile

from rollcall_process import BINARY, Rollcall
from test_manifest_standalone import KubernetesTestCase
from test_web_config import PASSWORD, Authority, hashed

TOKEN = "backend-" + "x" * 32
WEB = f"""
tls_server_config:
  cert_file: server.pem
  key_file: server.key
  client_ca_file: /run/keys/ca.pem
  client_auth_type: VerifyClientCertIfGiven
basic_auth_users: {{alice: {hashed(PASSWORD)}}}
"""


class Place(Rollcall):
    """A server in a root of its own, in which the machine's programs are seen and nothing of its /etc, /run and /var."""

    # What it listens at, at free ports.
    ADDRESSES = {
        "127.0.0.1:10112": "127.0.0.1:0", "0.0.0.0:10112": "127.0.0.1:0", "0.0.0.0:10113": "127.0.0.1:0"}

    def __init__(self, directory, line, variables=None, folder="/"):
        super().__init__(directory, variables=variables)
        self.line, self.folder = line, folder
        self.root = os.path.join(directory, "root")
        shutil.rmtree(self.root, ignore_errors=True)
        for folder in ("etc", "run", "var/lib/rollcall"):
            os.makedirs(os.path.join(self.root, folder))
        shutil.copy("/etc/ld.so.cache", os.path.join(self.root, "etc"))

    def put(self, path, content):
        """A file in its root, which must not be there."""
        path = self.root + path
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "xb") as file:
            os.fchmod(file.fileno(), 0o440)
            file.write(content)

    def arguments(self):
        binds = []
        for name in sorted(os.listdir("/")):
            if name in ("etc", "run", "var") or os.path.exists(os.path.join(self.root, name)):
                continue
            if os.path.islink("/" + name):
                os.symlink(os.readlink("/" + name), os.path.join(self.root, name))
            elif os.path.isdir("/" + name):
                os.mkdir(os.path.join(self.root, name))
                binds.append(f'mount --rbind /{name} "$0/{name}"')
        enter = " && ".join([*binds, f'exec chroot "$0" env -C {self.folder} "$@"'])
        line = []
        for argument in self.line:
            flag, equals, value = argument.partition("=")
            line.append(flag + equals + self.ADDRESSES.get(value, value))
        return ["unshare", "--mount", "sh", "-ec", enter, self.root, BINARY, *line]


class PlacesTestCase(KubernetesTestCase):
    """Has the files that settings name, and lays out what is printed for them."""

    def setUp(self):
        super().setUp()
        self.folder = os.path.join(self.directory, "mine")
        authority = self.authority = Authority(self.directory)
        authority.sign("server", "DNS:localhost,IP:127.0.0.1,DNS:rollcall")
        self.machine = {
            "tls/web.yml": WEB.encode(), "tls/server.pem": self.bytes("server.pem"),
            "tls/server.key": self.bytes("server.key"), "/run/keys/ca.pem": self.bytes("ca.pem"),
            "sub/in.token": TOKEN.encode(), "db.password": b"secret", "db.key": b"key",
            "/run/db/ca db.pem": self.bytes("ca.pem"), "/run/secrets/in.token": TOKEN.encode()}
        for name, content in self.machine.items():
            if not name.startswith("/"):
                os.makedirs(os.path.dirname(os.path.join(self.folder, name)), exist_ok=True)
                with open(os.path.join(self.folder, name), "xb") as file:
                    file.write(content)

    def bytes(self, name):
        with open(os.path.join(self.directory, name), "rb") as file:
            return file.read()

    def mine(self, text):
        """Settings in a folder with all the files that they name, but for those elsewhere."""
        path = os.path.join(self.folder, "rollcall.yml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return "--config.file", path

    def pod(self, documents, text):
        """The Pod of a manifest, laid out, with the Secret that the command in `text` makes."""
        command, = re.findall("kubectl create secret generic .*", text)
        secret = {}
        for argument in shlex.split(command)[5:]:
            key, name = argument.removeprefix("--from-file=").split("=", 1)
            self.assertNotIn(key, secret)
            secret[key] = self.machine[name]
        workload = documents["StatefulSet"]
        spec = workload["spec"]["template"]["spec"]
        container = (spec.get("initContainers") or spec["containers"])[0]
        mounts = [mount["mountPath"] for mount in container["volumeMounts"]]
        self.assertEqual(len(mounts), len(set(mounts)))
        names = {
            variable["name"]: variable.get("value", "rollcall-0").replace(
                "$(ROLLCALL_CLUSTER_MEMBER)", "rollcall-0")
            for variable in container.get("env", [])}
        server = Place(tempfile.mkdtemp(dir=self.directory), container["args"], names,
            container.get("workingDir", "/"))
        server.context = self.authority.client()
        self.addCleanup(server.close)
        volumes = {volume["name"]: volume for volume in spec["volumes"]}
        for mount in container["volumeMounts"]:
            # Nothing can be mounted below a volume that is read.
            self.assertFalse(any(
                other != mount["mountPath"] and mount["mountPath"].startswith(other + "/")
                for other in mounts))
            volume = volumes.get(mount["name"], {})
            for source in volume.get("projected", {}).get("sources", [volume]):
                for key, value in documents["ConfigMap"]["data"].items():
                    if "configMap" in source:
                        server.put(f"{mount['mountPath']}/{key}", value.encode())
                if "secret" in source:
                    items = source["secret"].get("items") or [{"key": key, "path": key} for key in secret]
                    for item in items:
                        server.put(f"{mount['mountPath']}/{item['path']}", secret[item["key"]])
        return spec, server

    def forms(self, *arguments):
        """The ways of one alone: their documents, and what is said."""
        for form in ((), ("--standalone",)):
            text = self.manifest("kubernetes", *form, *arguments)
            yield self.validated(self.documents(text)), text
        documents = self.chart(*arguments)
        with open(self.values, encoding="utf-8") as file:
            yield documents, file.read() + self.notes
