"""The files that settings name, in the Pod or the unit that `rollcall manifest` prints: what is printed is laid out
as Kubernetes or systemd would, and the binary is started in it.

Source: V8, V18; Decisions, "Running".
"""

import os
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest

import yaml

from manifest_places import TOKEN, Place, PlacesTestCase
from rollcall_process import BINARY, eventually
from test_prometheus import Prometheus
from test_web_config import ALICE, PASSWORD, hashed

BEARER = {"Authorization": f"Bearer {TOKEN}"}
SETTINGS = """
web:
  config_file: tls/web.yml
  tokens: [{name: a, scopes: [ingest, read, admin], token_file: sub/in.token}]
storage: {size: 10GiB}
"""
CLUSTER = "cluster: {token_file: sub/in.token, log: {etcd: {endpoints: ['http://127.0.0.1:1']}}}\n"
POSTGRES = """
cluster:
  token_file: sub/in.token
  log:
    postgres:
      url: postgresql://rollcall@127.0.0.1:1/rollcall?sslmode=verify-full&sslrootcert=/run/db/ca%20db.pem&sslkey=db.key
      password_file: db.password
"""


@unittest.skipUnless(os.geteuid() == 0, "a root of its own needs root")
class FilesTests(PlacesTestCase):
    # MARK: one alone

    def test_a_pod_starts_with_tls_and_each_file_where_it_is_named(self):
        """Files below a folder and those of the web configuration; the volume follows the store."""
        for documents, text in self.forms(*self.mine(SETTINGS)):
            spec, server = self.pod(documents, text)
            server.start()
            self.assertEqual(server.get("/v1/status").status, 401)
            self.assertEqual(server.get("/v1/status", BEARER).status, 200)
            self.assertEqual(server.get("/v1/status", ALICE).status, 200)
            probes = server.second()
            self.addCleanup(probes.close)
            container = (spec.get("initContainers") or spec["containers"])[0]
            for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
                request = container[probe]["httpGet"]
                self.assertEqual((request["port"], request.get("scheme")), ("metrics", None))
                self.assertEqual(probes.request("GET", request["path"]).status, 200)
            # Nobody is led to where no HTTP is.
            for word in ("http://127", "http://rollcall", "http://watch", "without TLS"):
                self.assertNotIn(word, text)
            if "initContainers" in spec:
                self.assertEqual(
                    spec["containers"][0]["env"],
                    [{"name": "ROLLCALL_URL", "value": "https://127.0.0.1:10112"}])
            claim, = documents["StatefulSet"]["spec"]["volumeClaimTemplates"]
            self.assertEqual(claim["spec"]["resources"]["requests"], {"storage": "27Gi"})
            self.assertEqual(server.stop(), 0)
        self.assertIn("Rollcall is at https://watch.main.svc:10112", text)

    def test_users_are_enough(self):
        web = f"basic_auth_users: {{alice: {hashed(PASSWORD)}}}\n".encode()
        self.machine["users.yml"] = web
        with open(os.path.join(self.folder, "users.yml"), "xb") as file:
            file.write(web)
        for documents, text in self.forms(*self.mine("web: {config_file: users.yml}\n")):
            _, server = self.pod(documents, text)
            server.context = None
            server.start()
            self.assertEqual(server.get("/v1/status").status, 401)
            self.assertEqual(server.get("/v1/status", ALICE).status, 200)
            self.assertIn("http://", text)
            self.assertEqual(server.stop(), 0)

    def test_files_in_run_secrets_leave_no_place_for_the_accounts_token(self):
        text = "web: {tokens: [{name: a, scopes: [read], token_file: /run/%s/in.token}]}\n"
        self.machine["/run/keys/in.token"] = TOKEN.encode()
        for folder, mounts in (("secrets", False), ("keys", None)):
            printed = self.manifest("kubernetes", *self.mine(text % folder))
            spec, server = self.pod(self.validated(self.documents(printed)), printed)
            self.assertIs(spec.get("automountServiceAccountToken"), mounts)
            server.context = None
            server.start()
            self.assertEqual(server.get("/v1/status", BEARER).status, 200)
            self.assertEqual(server.stop(), 0)

    def test_what_has_no_place_in_a_pod_is_refused(self):
        token = "web: {{tokens: [{{name: a, scopes: [read], token_file: {}}}]}}\n"
        for settings, words in (
                (token.format("/var/lib/rollcall/a.token"), "would take the place of /var/lib/rollcall:"),
                (token.format("/var/lib/a.token"), "would take the place of /var/lib/rollcall:"),
                (token.format("../up.token"), "../up.token: in a Pod a volume at /etc would take"),
                (token.format("/token-at-root"), "a volume at / would take the place of"),
                (token.format("/usr/bin/pd.key"), "would take the place of /usr/bin:"),
                (token.format("/etc/ssl/certs/mine.key"), "would take the place of /etc/ssl/certs:"),
                (token.format("rollcall.yml"), "would take the place of /etc/rollcall/rollcall.yml"),
                (SETTINGS + CLUSTER, "cluster.log: one of several members"),
                (SETTINGS.replace("tls/", "none/"), "web.config_file: it says what is spoken"),
                (SETTINGS.replace("sub/in", "/a"), "a volume at / would take the place of")):
            arguments = self.mine(settings)
            for form in (("kubernetes",), ("kubernetes", "--standalone"),
                         ("helm", os.path.join(self.directory, "refused"))):
                with self.subTest(words=words, form=form):
                    outcome = self.run_binary("manifest", *form, *arguments)
                    self.assertEqual((outcome.returncode, outcome.stdout), (64, ""))
                    self.assertIn(words, outcome.stderr)
        outcome = self.run_binary(
            "manifest", "kubernetes", "--members", "2",
            *self.mine(SETTINGS + CLUSTER.replace("sub/in", "../up")))
        self.assertEqual(outcome.returncode, 64)
        self.assertIn("a volume at /etc would take", outcome.stderr)

    # MARK: several members

    def members(self, text):
        printed = self.manifest("kubernetes", "--members", "2", *self.mine(text))
        documents = {
            (one["kind"], one["metadata"]["name"]): one
            for one in self.documents(printed)}
        self.validated(documents.values())
        return documents, printed, {
            kind: documents[kind, "rollcall"] for kind in ("StatefulSet", "ConfigMap")}

    def test_a_member_starts_with_its_files(self):
        for text in (SETTINGS + CLUSTER, SETTINGS + POSTGRES):
            documents, printed, own = self.members(text)
            _, server = self.pod(own, printed)
            server.start()
            probes = server.second()
            self.addCleanup(probes.close)
            self.assertEqual(probes.request("GET", "/-/healthy").status, 200)
            self.assertEqual(server.variables["ROLLCALL_CLUSTER_ADDRESS"], (
                "https://rollcall-0.rollcall-members:10112"))
            self.assertEqual("in PostgreSQL" in printed, text.endswith(POSTGRES))
            self.assertNotEqual("in etcd" in printed, text.endswith(POSTGRES))
            if text.endswith(POSTGRES):
                for path in ("/run/db/ca db.pem", "/etc/rollcall/db.key", "/etc/rollcall/db.password"):
                    self.assertTrue(os.path.exists(server.root + path), path)
            claim, = own["StatefulSet"]["spec"]["volumeClaimTemplates"]
            self.assertEqual(claim["spec"]["resources"]["requests"], {"storage": "27Gi"})
            server.kill()

    def test_tls_goes_through_the_proxy(self):
        documents, _, _ = self.members(SETTINGS + CLUSTER)
        config = documents["ConfigMap", "rollcall-leader"]["data"]["haproxy.cfg"]
        container, = documents["Deployment", "rollcall-leader"]["spec"]["template"]["spec"]["containers"]
        ports = {port["name"]: port["containerPort"] for port in container["ports"]}
        for probe in ("readinessProbe", "livenessProbe"):
            self.assertIn(f"bind :{ports[container[probe]['httpGet']['port']]}\n", config)
        self.assertEqual(config.count("mode tcp\n"), 2)
        if shutil.which("haproxy") is None:
            return
        outcome = subprocess.run(
            ["haproxy", "-c", "-f", self.settings(config, "printed.cfg")], capture_output=True,
            text=True, timeout=30, env=os.environ | {"DOMAIN": "main.svc.cluster.local"})
        self.assertEqual(outcome.returncode, 0, outcome.stderr)

    def test_a_secret_that_is_missing_is_named(self):
        for text, key, file in (
                (SETTINGS + POSTGRES.replace("db.password", "/none"), "cluster.log.postgres.password_file",
                 "/none"),
                (SETTINGS + CLUSTER.replace("sub/in", "/no"), "cluster.token_file", "/no.token"),
                (SETTINGS + CLUSTER.replace("endpoints", "user: a, password_file: /none, endpoints"),
                 "cluster.log.etcd.password_file", "/none")):
            outcome = self.run_binary(
                "serve", "--storage.path", "a.db", "--web.listen-address", "127.0.0.1:0",
                *self.mine(text.replace("  config_file: tls/web.yml\n", "").replace(
                    "token_file: sub", f"token_file: {self.folder}/sub")))
            self.assertNotEqual(outcome.returncode, 0)
            self.assertIn(f"{key}: {file}: No such file or directory", outcome.stderr)

    # MARK: Prometheus

    def test_an_operators_prometheus_has_the_job_and_the_pod_that_the_rules_ask_for(self):
        monitors = [
            self.documents(self.manifest("kubernetes", *form, "--pod-monitor"))[-1]
            for form in ((), ("--standalone",), ("--members", "3"))]
        charts = self.chart(podMonitor={"enabled": True, "labels": {}})
        rules = []
        for monitor in (*monitors, charts["PodMonitor"]):
            endpoints = monitor["spec"].get("podMetricsEndpoints") or self.endpoints
            rules.append(endpoints[0]["relabelings"])
        self.assertEqual([one for one in rules if one != rules[0]], [])
        server = self.serve()
        # As the operator writes them.
        relabeled = [
            {re.sub("[A-Z]", lambda match: "_" + match.group().lower(), key): value
             for key, value in rule.items()} for rule in rules[0]]
        job = {
            "job_name": "podMonitor/main/rollcall/0", "scrape_interval": "1s", "scrape_timeout": "1s",
            "static_configs": [{
                "targets": [f"127.0.0.1:{server.port}"],
                "labels": {"job": "main/rollcall", "__meta_kubernetes_namespace": "main",
                           "__meta_kubernetes_pod_name": "rollcall-0"}}],
            "relabel_configs": relabeled}
        self.scraped([job], 'up{job="rollcall",instance="main/rollcall-0"} == 1')

    def scraped(self, jobs, query):
        prometheus = Prometheus(
            tempfile.mkdtemp(dir=self.directory), config_text=yaml.safe_dump({"scrape_configs": jobs}))
        self.addCleanup(prometheus.stop)
        eventually(lambda: prometheus.get("/-/ready"), 30, "Prometheus is ready")
        eventually(lambda: prometheus.query(query), 20, query)
        prometheus.stop()

    def test_prometheus_scrapes_by_what_is_printed(self):
        """TLS, users and tokens, each where it is and only there."""
        users = f"basic_auth_users: {{alice: {hashed(PASSWORD)}}}\n"
        tls = "tls_server_config: {cert_file: server.pem, key_file: server.key}\n"
        files = {
            "rollcall.token": self.settings(TOKEN, "token"),
            "rollcall.password": self.settings(PASSWORD, "password"),
            "rollcall-ca.pem": os.path.join(self.directory, "ca.pem")}
        asked = "  tokens: [{name: a, scopes: [read], token_file: sub/in.token}]\n"
        for number, (web, tokens, keys) in enumerate((
                (users, "", {"basic_auth"}), (tls + users, "", {"scheme", "tls_config", "basic_auth"}),
                (tls + users, asked, {"scheme", "tls_config", "authorization"}),
                (users, asked, {"authorization"}))):
            os.remove(os.path.join(self.folder, "tls/web.yml"))
            with open(os.path.join(self.folder, "tls/web.yml"), "xb") as file:
                file.write(web.encode())
            text = "web:\n  config_file: tls/web.yml\n" + tokens
            if "tls_config" in keys:
                for name in ("server.pem", "server.key"):
                    os.chmod(os.path.join(self.folder, "tls", name), 0o600)
            with self.subTest(keys):
                arguments = self.mine(text)
                server = self.rollcall(name=f"scraped{number}", more=arguments).start()
                self.mine(text + f"  listen_address: 127.0.0.1:{server.port}\n")
                printed = self.manifest("prometheus", *arguments)
                for name, path in files.items():
                    printed = printed.replace("/etc/prometheus/" + name, path)
                job, = self.documents(printed)[0]["scrape_configs"]
                self.assertEqual(
                    keys, set(job) & {"scheme", "tls_config", "basic_auth", "authorization"})
                job |= {"scrape_interval": "1s", "scrape_timeout": "1s"}
                self.scraped([job], 'up{job="rollcall"} == 1')
                self.assertEqual(server.stop(), 0)

    # MARK: systemd

    def test_a_unit_has_the_credentials_that_its_settings_name(self):
        """What is named there is loaded, the rest is said."""
        credentials = "/run/credentials/rollcall.service"
        for name in ("web.yml", "server.pem", "server.key"):
            shutil.copy(os.path.join(self.folder, "tls", name), self.folder)
        text = SETTINGS.replace("tls/web", credentials + "/web").replace("sub/in", credentials + "/in")
        text += f"alive_ping: {{url_file: keys/ping 100%}}\n"
        shutil.copy(os.path.join(self.folder, "sub/in.token"), self.folder)
        unit = self.manifest("systemd", *self.mine(text))
        loaded = dict(
            line.split(":", 1) for line in re.findall("^LoadCredential=(.*)$", unit, re.M))
        self.assertEqual(loaded, {
            name: f"/etc/rollcall/{name}" for name in ("web.yml", "server.pem", "server.key", "in.token")})
        self.assertIn("#LoadCredential=ping-100-:/etc/rollcall/keys/ping 100%%\n", unit)
        self.assertIn("#LoadCredential=ca.pem:/run/keys/ca.pem\n", unit)
        command = re.search("^ExecStart=/usr/local/bin/rollcall (.*)$", unit, re.M).group(1)
        server = Place(
            tempfile.mkdtemp(dir=self.directory),
            [*shlex.split(command.replace("${STATE_DIRECTORY}", "/var/lib/rollcall")),
             "--web.listen-address=127.0.0.1:10112"])
        self.addCleanup(server.close)
        server.put("/etc/rollcall/rollcall.yml", text.encode())
        server.put("/etc/rollcall/keys/ping 100%", b"http://127.0.0.1:9/")
        server.put("/run/keys/ca.pem", self.bytes("ca.pem"))
        for name, source in loaded.items():
            with open(os.path.join(self.folder, os.path.basename(source)), "rb") as file:
                server.put(f"{credentials}/{name}", file.read())
        server.context = self.authority.client()
        server.start()
        self.assertEqual(server.get("/v1/status", BEARER).status, 200)
        self.assertEqual(server.stop(), 0)
        # Several members likewise, with the files that only they name.
        unit = self.manifest("systemd", "--members", "2", *self.mine(
            CLUSTER.replace("sub", credentials)))
        self.assertIn("\nLoadCredential=in.token:/etc/rollcall/in.token\n", unit)
        if shutil.which("systemd-analyze"):
            path = self.settings(unit.replace("/usr/local/bin/rollcall", BINARY), "rollcall.service")
            outcome = subprocess.run(
                ["systemd-analyze", "--no-pager", "verify", "--man=no", path], capture_output=True,
                text=True, timeout=60)
            self.assertEqual((outcome.returncode, outcome.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
