"""What `rollcall manifest` prints, given to those who read such files.

Source: issue of the main job, "tested against … `promtool check config` and a YAML parser".
"""

import os
import re
import socket
import subprocess
import unittest

import kubernetes_validate
import yaml

from rollcall_process import BINARY, Client, Rollcall, RollcallTestCase, eventually
from rollcall_process import plain_environment
from test_prometheus import Prometheus

# The first with native sidecars, and the newest one that the validator knows.
KUBERNETES_VERSIONS = ("1.29", "1.37")
FLAG = re.compile(r"--[a-z]+[a-z.-]*")


class StrictLoader(yaml.SafeLoader):
    """YAML in which no key is named twice, which PyYAML lets pass."""

    def construct_mapping(self, node, deep=False):
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        if len(keys) != len(set(keys)):
            raise yaml.constructor.ConstructorError(None, None, f"twice: {keys}", node.start_mark)
        return super().construct_mapping(node, deep)


class ManifestTestCase(RollcallTestCase):
    """Asks for manifests, and reads them."""

    def run_binary(self, *arguments):
        return subprocess.run(
            [BINARY, *arguments], capture_output=True, text=True, timeout=30,
            env=plain_environment(), cwd=self.directory)

    def manifest(self, *arguments):
        """What is printed; it must be without complaint."""
        outcome = self.run_binary("manifest", *arguments)
        self.assertEqual((outcome.returncode, outcome.stderr), (0, ""))
        return outcome.stdout

    def documents(self, text):
        return list(yaml.load_all(text, StrictLoader))

    def settings(self, text, name="settings.yml"):
        path = os.path.join(self.directory, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path


class ManifestTests(ManifestTestCase):
    def check_config(self, text):
        path = os.path.join(self.directory, "prometheus.yml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        outcome = subprocess.run(
            ["promtool", "check", "config", path], capture_output=True, text=True, timeout=30)
        self.assertEqual(outcome.returncode, 0, outcome.stdout + outcome.stderr)
        return self.documents(text)[0]["scrape_configs"]

    def sidecar(self, *arguments):
        """The sidecar's container, and the ConfigMap's settings."""
        config_map, _, workload, _ = self.documents(self.manifest("kubernetes", *arguments))
        pod = workload["spec"]["template"]["spec"]
        return pod["initContainers"][0], config_map["data"]["rollcall.yml"]

    # MARK: the command

    def test_what_it_is_not_asked_for(self):
        for arguments, words in (
                (("docker",), "nginx, envoy, helm, completions or man expected (docker)"),
                (("systemd", "--tests"), "--tests: only rules have it"),
                (("alertmanager", "--all"), "--all: only rules have it"),
                (("prometheus", "--job", "x"), "--job: only rules have it"),
                (("man", "x", "--page-url", "https://example.org"), "man: goes without other options"),
                (("rules", "--job", 'a"b'), "--job: letters, digits and _ . : / - expected"),
                (("rules", "--runbook-url", "books"), "--runbook-url: must be like https://"),
                (("rules", "--page-url", "https://kim:secret@example.org"), "--page-url: must be like https://"),
                (("rules", "--members", "2"), "--members: rules is the same for one and for several"),
                (("systemd", "x"), "systemd: one word expected (x)"),
                ((), "kind"),
                (("systemd", "--config.file", "missing.yml"), "missing.yml: cannot be read"),
                (("kubernetes", "--config.file", self.settings("liveness: {on_dty: {}}\n")),
                 'line 1: liveness.on_dty: unknown setting, did you mean "on_duty"?')):
            with self.subTest(arguments):
                outcome = self.run_binary("manifest", *arguments)
                self.assertEqual((outcome.returncode, outcome.stdout), (64, ""))
                self.assertIn(words, outcome.stderr)

    def test_every_flag_is_one_that_serve_takes(self):
        known = set(FLAG.findall(self.run_binary("serve", "--help").stdout))
        for arguments in ((), ("--config.file", self.settings(""))):
            unit = self.manifest("systemd", *arguments)
            command = next(line for line in unit.splitlines() if line.startswith("ExecStart="))
            used = set(FLAG.findall(command))
            container, _ = self.sidecar(*arguments)
            used |= set(FLAG.findall(" ".join(container["args"])))
            self.assertEqual(
                used - known, set(), "a manifest starts rollcall with flags that it does not take")
            self.assertIn("--storage.path", used)

    # MARK: Prometheus

    def test_promtool_takes_the_scrape_configuration(self):
        text = self.manifest("prometheus")
        jobs = self.check_config(text)
        self.assertEqual(jobs, [{
            "job_name": "rollcall", "scrape_interval": "15s", "scrape_timeout": "5s",
            "honor_labels": True, "static_configs": [{"targets": ["127.0.0.1:10112"]}]}])
        # What is commented out is right too.
        token = self.settings("secret")
        lines = [
            re.sub(r"^(    )# (authorization:|  type: |  credentials_file: )", r"\1\2", line)
            for line in text.replace("/etc/prometheus/rollcall.token", token).splitlines()]
        jobs = self.check_config("\n".join(lines) + "\n")
        self.assertEqual(
            jobs[0]["authorization"], {"type": "Bearer", "credentials_file": token})
        address = self.settings('web: {listen_address: "[::]:9000"}\n')
        jobs = self.check_config(self.manifest("prometheus", "--config.file", address))
        self.assertEqual(jobs[0]["static_configs"], [{"targets": ["[::1]:9000"]}])

    def test_labels_of_the_target_do_not_rename_rollcalls(self):
        server = self.serve()
        server.write("/v1/batches", {"responder_id": "r-1", "region": "north"})
        settings = self.settings(f"web: {{listen_address: 127.0.0.1:{server.port}}}\n")
        config = self.documents(self.manifest("prometheus", "--config.file", settings))[0]
        job = config["scrape_configs"][0]
        job["static_configs"][0]["labels"] = {"region": "eu-central-1"}
        job |= {"scrape_interval": "1s", "scrape_timeout": "1s"}
        prometheus = Prometheus(self.directory, config_text=yaml.safe_dump(config))
        self.addCleanup(prometheus.stop)
        eventually(lambda: prometheus.get("/-/ready"), 30, "Prometheus is ready")
        found = eventually(
            lambda: prometheus.query('rollcall_responders{status="ONLINE"} > 0'), 20, "a scrape")
        self.assertEqual(found, {frozenset({("region", "north"), ("status", "ONLINE")}): 1})
        self.assertEqual(len(prometheus.query('up{job="rollcall"} == 1')), 1)

    # MARK: Kubernetes

    def test_kubernetes_takes_the_manifest(self):
        documents = self.documents(self.manifest("kubernetes"))
        self.assertEqual(
            [document["kind"] for document in documents], ["ConfigMap", "Service", "StatefulSet", "NetworkPolicy"])
        for version in KUBERNETES_VERSIONS:
            for document in documents:
                kubernetes_validate.validate(document, version, strict=True)
        config_map, service, workload, _ = documents
        pod = workload["spec"]["template"]
        self.assertEqual(service["spec"]["selector"], pod["metadata"]["labels"])
        self.assertEqual(workload["spec"]["selector"]["matchLabels"], pod["metadata"]["labels"])
        self.assertEqual(workload["spec"]["serviceName"], service["metadata"]["name"])
        self.assertEqual(workload["spec"]["replicas"], 1)
        # SIGTERM needs up to 10 s, after the backend has ended.
        self.assertGreaterEqual(pod["spec"]["terminationGracePeriodSeconds"], 20)
        self.mounted(workload)
        sources = pod["spec"]["volumes"][0]["projected"]["sources"]
        self.assertEqual(sources[0]["configMap"]["name"], config_map["metadata"]["name"])
        self.assertEqual(
            sources[1]["secret"], {"name": "rollcall-secrets", "optional": True})

    def mounted(self, workload):
        """Every volume is mounted, and nothing else."""
        pod = workload["spec"]["template"]["spec"]
        volumes = {volume["name"] for volume in pod["volumes"]} | {
            claim["metadata"]["name"] for claim in workload["spec"]["volumeClaimTemplates"]}
        mounts = pod["initContainers"][0]["volumeMounts"]
        self.assertEqual({mount["name"] for mount in mounts}, volumes)
        self.assertEqual(len({mount["mountPath"] for mount in mounts}), len(mounts))

    def test_every_file_that_the_settings_name_is_in_the_pod(self):
        settings = self.settings("""
            web:
              tokens:
                - {name: a, scopes: [ingest], token_file: a.token}
                - {name: b, scopes: [read], token_file: /run/keys/a.token}
            receivers:
              - {name: hook, webhook: {url_file: keys/hook url, ca_file: keys/ca.pem}}
            alive_ping: {url_file: "/run/keys/ping: {x}"}
            """)
        text = self.manifest("kubernetes", "--config.file", settings)
        documents = self.documents(text)
        for version in KUBERNETES_VERSIONS:
            for document in documents:
                kubernetes_validate.validate(document, version, strict=True)
        self.mounted(documents[2])
        pod = documents[2]["spec"]["template"]["spec"]
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        places = set()
        for mount in pod["initContainers"][0]["volumeMounts"]:
            volume = volumes.get(mount["name"], {})
            secret = volume.get("secret") or next(
                (source["secret"] for source in volume.get("projected", {}).get("sources", [])
                 if "secret" in source), {"items": []})
            for item in secret["items"]:
                self.assertRegex(item["key"], r"\A[-._a-zA-Z0-9]+\Z")
                self.assertIn(f"--from-file={item['key']}=", text)
                places.add(os.path.join(mount["mountPath"], item["path"]))
        self.assertEqual(places, {
            "/etc/rollcall/a.token", "/etc/rollcall/keys/hook url", "/etc/rollcall/keys/ca.pem",
            "/run/keys/a.token", "/run/keys/ping: {x}"})

    def test_the_sidecar_is_native_and_hardened(self):
        container, _ = self.sidecar()
        self.assertEqual(container["restartPolicy"], "Always")
        security = container["securityContext"]
        self.assertEqual(security["capabilities"], {"drop": ["ALL"]})
        self.assertEqual(security["seccompProfile"], {"type": "RuntimeDefault"})
        self.assertTrue(security["runAsNonRoot"])
        self.assertTrue(security["readOnlyRootFilesystem"])
        self.assertFalse(security["allowPrivilegeEscalation"])
        self.assertEqual(container["ports"], [{"name": "metrics", "containerPort": 10113}])
        self.assertIn("--web.listen-address=127.0.0.1:10112", container["args"])
        self.assertIn("--web.metrics-listen-address=0.0.0.0:10113", container["args"])

    def test_the_sidecar_starts_and_its_probes_answer(self):
        container, settings = self.sidecar()
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        places = {
            "/etc/rollcall/rollcall.yml": self.settings(settings),
            "/var/lib/rollcall/rollcall.db": os.path.join(self.directory, "rollcall.db"),
            "127.0.0.1:10112": "127.0.0.1:0", "0.0.0.0:10113": f"0.0.0.0:{port}"}

        class Sidecar(Rollcall):
            def arguments(self):
                line = [BINARY]
                for argument in container["args"]:
                    flag, equals, value = argument.partition("=")
                    line.append(flag + equals + places.get(value, value))
                return line

        server = Sidecar(self.directory)
        self.addCleanup(server.close)
        server.start()
        client = Client(port)
        self.addCleanup(client.close)
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            request = container[probe]["httpGet"]
            self.assertEqual(request["port"], "metrics")
            self.assertEqual(client.request("GET", request["path"]).status, 200)
        self.assertEqual(client.request("GET", "/metrics").status, 200)
        self.assertEqual(server.stop(), 0)

    def test_the_config_map_holds_the_settings_as_they_are(self):
        for text in (
                "", "# nothing\n", "  coverage:\n    regions: [north, 'söder']\n\n",
                "feed: {min_active: 5}\n...\n",
                'storage: {path: "a: b #c"}\n'):
            with self.subTest(text):
                _, stored = self.sidecar("--config.file", self.settings(text))
                head, _, rest = stored.partition("\n")
                self.assertTrue(head.startswith("# "))
                self.assertEqual(rest.strip("\n"), text.strip("\n"))


if __name__ == "__main__":
    unittest.main()
