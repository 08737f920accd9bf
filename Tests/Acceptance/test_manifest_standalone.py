"""Rollcall in Kubernetes in a Pod of its own, who reaches it, how Prometheus finds it, and as a chart of Helm.

Helm is not asked: the few words of its templates that the chart uses are rendered here, and others fail.
"""

import json
import os
import re
import tempfile
import unittest

import kubernetes_validate
import yaml

from rollcall_process import BINARY, Client, Rollcall
from test_manifest import KUBERNETES_VERSIONS, ManifestTestCase

TOKENS = """
# Ours: "quoted", {braced}
web: {tokens: [{name: a, scopes: [ingest, read, admin], token_file: a.token}]}
receivers: [{name: hook, webhook: {url_file: /run/keys/hook}}]
"""
# Fields of a PodMonitor. Source: monitoring.coreos.com_podmonitors.yaml of prometheus-operator.
ENDPOINT = {"port", "interval", "scrapeTimeout", "honorLabels", "relabelings"}


class Renderer:
    """What Go's templates and Helm make of `{{ … }}`, as far as the chart goes."""

    WORD = re.compile(r"\{\{(-?) (.*?) \}\}")

    def __init__(self, values, name):
        self.world = {"Values": values, "Release": {"Name": name, "Namespace": "main"}}

    def value(self, path):
        found = self.world
        for part in path.removeprefix(".").split("."):
            found = found[part]
        return found

    def text(self, words):
        """The text of a pipeline."""
        first, *rest = words.split(" | ")
        path = first.removeprefix("toYaml ")
        text = self.value(path)
        if first.startswith("toYaml "):
            text = yaml.safe_dump(text, default_flow_style=False).rstrip("\n")
        if not isinstance(text, str):
            raise AssertionError(f"{words} is no text")
        for step in rest:
            indent = " " * int(re.fullmatch(r"indent (\d+)", step).group(1))
            text = "\n".join(indent + line for line in text.split("\n"))
        return text

    def render(self, template):
        output, shown, place = "", [True], 0
        for match in self.WORD.finditer(template):
            if all(shown):
                before = template[place:match.start()]
                output += before.rstrip() if match.group(1) else before
            place, words = match.end(), match.group(2)
            if words.startswith("if "):
                condition = words.removeprefix("if ").removeprefix("not ")
                shown.append(bool(self.value(condition)) != words.startswith("if not "))
            elif words == "end":
                shown.pop()
            elif all(shown):
                output += self.text(words)
        if shown != [True]:
            raise AssertionError("an if without its end")
        return output + template[place:]


class KubernetesTestCase(ManifestTestCase):
    """Asks for manifests of Kubernetes, and charts."""

    def validated(self, documents):
        for document in documents:
            if document["kind"] == "PodMonitor":
                self.check_monitor(document)
                continue
            for version in KUBERNETES_VERSIONS:
                kubernetes_validate.validate(document, version, strict=True)
        return {document["kind"]: document for document in documents}

    def check_monitor(self, document):
        self.assertEqual(document["apiVersion"], "monitoring.coreos.com/v1")
        self.endpoints = document["spec"].pop("podMetricsEndpoints")
        endpoint, = self.endpoints
        self.assertEqual(set(endpoint), ENDPOINT)
        self.assertIs(endpoint["honorLabels"], True)
        self.assertEqual(set(document["spec"]), {"selector"})

    def standalone(self, *arguments):
        return self.validated(
            self.documents(self.manifest("kubernetes", "--standalone", *arguments)))

    def chart(self, *arguments, **changes):
        """The chart's documents, rendered for its values with some of them changed."""
        folder = os.path.join(tempfile.mkdtemp(dir=self.directory), "chart")
        names = self.manifest("helm", folder, *arguments).split()
        self.values = os.path.join(folder, "values.yaml")
        files = {}
        for name in names:
            with open(name, encoding="utf-8") as file:
                files[os.path.relpath(name, folder)] = file.read()
        chart, = self.documents(files["Chart.yaml"])
        self.assertEqual((chart["apiVersion"], chart["name"]), ("v2", "rollcall"))
        values, = self.documents(files["values.yaml"])
        for path, value in changes.items():
            values[path] = {**values[path], **value} if isinstance(value, dict) else value
        renderer = Renderer(values, "watch")
        self.notes = renderer.render(files["templates/NOTES.txt"])
        # Helm renders each file by itself.
        documents = []
        for name in sorted(files):
            if name.endswith(".yaml") and name.startswith("templates/"):
                documents += [
                    one for one in self.documents(renderer.render(files[name])) if one is not None]
        return self.validated(documents)


class StandaloneTests(KubernetesTestCase):
    # MARK: a Pod of its own

    def test_what_is_refused(self):
        for arguments, words in (
                (("kubernetes", "--standalone", "--members", "3"), "have Pods of their own anyway"),
                (("systemd", "--standalone"), "they are for kubernetes (systemd)"),
                (("prometheus", "--pod-monitor"), "they are for kubernetes (prometheus)"),
                (("helm",), "helm: a folder for the chart expected"),
                (("helm", "x", "--members", "2"), "helm: goes without"),
                (("helm", "/dev/null/x"), "/dev/null/x: cannot be written"),
                (("helm", "x", "--config.file", self.settings("")), "web.tokens: in a Pod"),
                (("kubernetes", "--standalone", "--config.file", self.settings("")),
                 "web.tokens: in a Pod")):
            with self.subTest(arguments):
                outcome = self.run_binary("manifest", *arguments)
                self.assertEqual((outcome.returncode, outcome.stdout), (64, ""))
                self.assertIn(words, outcome.stderr)

    def test_kubernetes_takes_it(self):
        for arguments in ((), ("--config.file", self.settings(TOKENS)), ("--pod-monitor",)):
            found = self.standalone(*arguments)
            pod = found["StatefulSet"]["spec"]["template"]
            self.assertEqual(found["Service"]["spec"]["selector"], pod["metadata"]["labels"])
            self.assertEqual(found["StatefulSet"]["spec"]["replicas"], 1)
            self.assertEqual(
                "prometheus.io/scrape" in pod["metadata"].get("annotations", {}),
                "PodMonitor" not in found)
            container, = pod["spec"]["containers"]
            ports = {port["name"]: port["containerPort"] for port in container["ports"]}
            self.assertEqual(ports, {"http": 10112, "metrics": 10113})
            volumes = {volume["name"] for volume in pod["spec"]["volumes"]} | {"rollcall-store"}
            self.assertEqual({mount["name"] for mount in container["volumeMounts"]}, volumes)

    def test_it_starts_with_the_settings_that_are_written(self):
        self.started(self.standalone())

    def started(self, found):
        """Starts what the container starts, at other places."""
        container = found["StatefulSet"]["spec"]["template"]["spec"]["containers"][0]
        for name in ("backend", "people"):
            path = os.path.join(self.directory, f"{name}.token")
            with open(path, "w", encoding="ascii") as file:
                os.fchmod(file.fileno(), 0o600)
                file.write(f"{name}-{'x' * 32}\n")
        places = {
            "/etc/rollcall/rollcall.yml": self.settings(
                found["ConfigMap"]["data"]["rollcall.yml"], "written.yml"),
            "/var/lib/rollcall/rollcall.db": os.path.join(self.directory, "rollcall.db"),
            "0.0.0.0:10112": "0.0.0.0:0", "0.0.0.0:10113": "127.0.0.1:0"}

        class Alone(Rollcall):
            def arguments(self):
                line = [BINARY]
                for argument in container["args"]:
                    flag, equals, value = argument.partition("=")
                    line.append(flag + equals + places.get(value, value))
                return line

        server = Alone(self.directory)
        self.addCleanup(server.close)
        server.start()
        client = Client(server.port)
        self.addCleanup(client.close)
        self.assertEqual(client.request("GET", "/v1/status").status, 401)
        token = {"Authorization": "Bearer backend-" + "x" * 32}
        self.assertEqual(client.request("GET", "/v1/status", headers=token).status, 200)
        self.assertEqual(server.stop(), 0)

    # MARK: who reaches it

    def test_a_policy_selects_the_pod_and_its_two_ports(self):
        found = self.standalone()
        policy = found["NetworkPolicy"]["spec"]
        labels = found["StatefulSet"]["spec"]["template"]["metadata"]["labels"]
        self.assertEqual(policy["podSelector"], {"matchLabels": labels})
        self.assertEqual([rule["ports"] for rule in policy["ingress"]], [[{"port": 10112}], [{"port": 10113}]])
        self.assertTrue(all(rule["from"] for rule in policy["ingress"]))

    def test_a_sidecars_policy_closes_its_metrics_and_no_port_of_the_backend(self):
        documents = self.documents(self.manifest("kubernetes"))
        policy = documents[-1]
        self.assertEqual(policy["kind"], "NetworkPolicy")
        everybody, scrapers = policy["spec"]["ingress"]
        self.assertNotIn("from", everybody)
        opened = set()
        for ports in everybody["ports"]:
            if ports.get("protocol", "TCP") == "TCP":
                opened |= set(range(ports["port"], ports["endPort"] + 1))
        self.assertEqual(set(range(1, 65536)) - opened, {10113})
        self.assertEqual(scrapers["ports"], [{"port": 10113}])

    def test_members_and_their_proxy_reach_each_other(self):
        documents = self.documents(self.manifest("kubernetes", "--members", "3"))
        policies = {
            one["metadata"]["name"]: one["spec"] for one in documents if one["kind"] == "NetworkPolicy"}
        self.assertEqual(set(policies), {"rollcall", "rollcall-leader"})
        writes, metrics = policies["rollcall"]["ingress"]
        for app in ("rollcall", "rollcall-leader"):
            self.assertIn({"podSelector": {"matchLabels": {"app": app}}}, writes["from"])
        self.assertIn(
            {"podSelector": {"matchLabels": {"app": "rollcall-leader"}}}, metrics["from"])

    # MARK: Helm

    def test_the_chart_is_the_manifest(self):
        alone, chart = self.standalone(), self.chart()
        alone, chart = (
            json.dumps(one, sort_keys=True) for one in (alone, chart))
        # What is named by the release is named `rollcall` there; all keys of the Secret are mounted.
        chart = json.loads(chart.replace('"watch"', '"rollcall"'))
        alone = json.loads(alone)
        for documents in (alone, chart):
            pod = documents["StatefulSet"]["spec"]["template"]["spec"]
            secret = pod["volumes"][0]["projected"]["sources"][1]["secret"]
            self.assertEqual(secret.pop("name"), "rollcall-secrets")
            secret.clear()
            pod["containers"][0].pop("image")
            text = documents["ConfigMap"]["data"].pop("rollcall.yml")
            documents["ConfigMap"]["data"]["settings"] = yaml.safe_load(text)
        self.assertEqual(chart, alone)

    def test_values_are_used(self):
        chart = self.chart(
            "--config.file", self.settings(TOKENS),
            podMonitor={"enabled": True, "labels": {"team": "night"}},
            networkPolicy={"enabled": False}, storage="20Gi", image="here/rollcall:1",
            secretName="mine", resources={"limits": {"memory": "1Gi"}})
        self.assertNotIn("NetworkPolicy", chart)
        self.assertEqual(chart["PodMonitor"]["metadata"]["labels"], {"team": "night"})
        workload = chart["StatefulSet"]["spec"]
        pod = workload["template"]["spec"]
        self.assertNotIn("annotations", workload["template"]["metadata"])
        self.assertEqual(
            workload["volumeClaimTemplates"][0]["spec"]["resources"]["requests"], {"storage": "20Gi"})
        self.assertEqual(pod["containers"][0]["image"], "here/rollcall:1")
        self.assertEqual(pod["containers"][0]["resources"]["limits"], {"memory": "1Gi"})
        self.assertEqual(yaml.safe_load(chart["ConfigMap"]["data"]["rollcall.yml"]), yaml.safe_load(TOKENS))
        # A file elsewhere has a volume of its own, of the same Secret.
        other = pod["volumes"][1]["secret"]
        self.assertEqual((other["secretName"], other["items"]), ("mine", [{"key": "hook", "path": "hook"}]))

    def test_an_edited_chart_is_not_overwritten(self):
        folder = os.path.join(self.directory, "chart")
        names = self.manifest("helm", folder).split()
        # The same again is nothing else.
        self.assertEqual(self.manifest("helm", folder).split(), names)
        values = os.path.join(folder, "values.yaml")
        with open(values, "a", encoding="utf-8") as file:
            file.write("# mine\n")
        notes = os.path.join(folder, "templates/NOTES.txt")
        os.remove(notes)
        outcome = self.run_binary("manifest", "helm", folder, "--config.file", self.settings(TOKENS))
        self.assertEqual((outcome.returncode, outcome.stdout), (64, ""))
        self.assertIn(f"{values}: is there already with other content (and 1 more), and", outcome.stderr)
        self.assertIn("name another folder", outcome.stderr)
        with open(values, encoding="utf-8") as file:
            self.assertTrue(file.read().endswith("# mine\n"))
        self.assertFalse(os.path.exists(notes), "a part of the chart was written")

    def test_who_is_not_named_is_not_let_in(self):
        # `from: []` of Kubernetes is everybody.
        chart = self.chart(networkPolicy={"clients": [], "scrapers": []})
        self.assertFalse(chart["NetworkPolicy"]["spec"]["ingress"])
        chart = self.chart(networkPolicy={"clients": []})
        rule, = chart["NetworkPolicy"]["spec"]["ingress"]
        self.assertEqual(rule["ports"], [{"port": 10113}])

    def test_it_starts_with_the_chart(self):
        self.started(self.chart())


if __name__ == "__main__":
    unittest.main()
