"""What `rollcall manifest --members` prints: several members as one watch, given to those who read it.

Source: Contract/Cluster, S15; the page "Several machines".
"""

import os
import re
import shutil
import subprocess
import unittest

import kubernetes_validate

from cluster_process import Etcd, batch, free_ports
from rollcall_process import BINARY, Client, Rollcall, eventually
from test_manifest import KUBERNETES_VERSIONS, ManifestTestCase

# What several members need, in the fewest words.
CLUSTER = """
web: {tokens: [{name: a, scopes: [read, admin], token_file: a.token}]}
cluster: {token_file: a.token, log: {etcd: {endpoints: ["http://127.0.0.1:1"]}}}
"""


class MembersManifestTests(ManifestTestCase):
    """`--members`: several members as one watch."""

    def documents_of(self, members, *arguments):
        """The documents, by kind and name."""
        found = {}
        for document in self.documents(
                self.manifest("kubernetes", "--members", str(members), *arguments)):
            for version in KUBERNETES_VERSIONS:
                kubernetes_validate.validate(document, version, strict=True)
            found[document["kind"], document["metadata"]["name"]] = document
        return found

    def test_what_is_refused(self):
        for arguments, words in (
                (("kubernetes", "--members", "1"), "--members: 2 or 3 expected (1)"),
                (("systemd", "--members", "4"), "--members: 2 or 3 expected (4)"),
                (("prometheus", "--members", "3"), "prometheus is the same for one and for several"),
                (("etcd", "--config.file", "x"), "etcd reads no settings of Rollcall's"),
                (("kubernetes", "--members", "3", "--config.file", self.settings("")),
                 "cluster.log.postgres.url: several members need a log"),
                (("systemd", "--members", "3", "--config.file", self.settings(
                    CLUSTER.replace("token_file: a.token, log", "log"), "dumb.yml")),
                 "cluster.token_file: members reach")):
            with self.subTest(arguments):
                outcome = self.run_binary("manifest", *arguments)
                self.assertEqual((outcome.returncode, outcome.stdout), (64, ""))
                self.assertIn(words, outcome.stderr)

    def test_kubernetes_takes_it(self):
        for members in (2, 3):
            found = self.documents_of(members)
            self.assertEqual(sorted(found), [
                ("ConfigMap", "rollcall"), ("ConfigMap", "rollcall-leader"),
                ("Deployment", "rollcall-leader"),
                ("NetworkPolicy", "rollcall"), ("NetworkPolicy", "rollcall-leader"),
                ("PodDisruptionBudget", "rollcall"), ("PodDisruptionBudget", "rollcall-leader"),
                ("Service", "rollcall"), ("Service", "rollcall-leader"),
                ("Service", "rollcall-members"), ("StatefulSet", "rollcall")])
            for name in ("rollcall", "rollcall-leader"):
                workload = found.get(("StatefulSet", name)) or found["Deployment", name]
                labels = workload["spec"]["template"]["metadata"]["labels"]
                pod = workload["spec"]["template"]["spec"]
                rule = pod["affinity"]["podAntiAffinity"]
                rule = rule["requiredDuringSchedulingIgnoredDuringExecution"][0]
                self.assertEqual(rule["topologyKey"], "kubernetes.io/hostname")
                for selector in (
                        workload["spec"]["selector"], rule["labelSelector"],
                        found["PodDisruptionBudget", name]["spec"]["selector"]):
                    self.assertEqual(selector, {"matchLabels": labels})
                self.assertEqual(found["Service", name]["spec"]["selector"], labels)
                self.assertEqual(found["PodDisruptionBudget", name]["spec"]["maxUnavailable"], 1)
                security = pod["containers"][0]["securityContext"]
                self.assertTrue(security["runAsNonRoot"] and security["readOnlyRootFilesystem"])
            workload = found["StatefulSet", "rollcall"]["spec"]
            self.assertEqual(workload["replicas"], members)
            self.assertEqual(workload["podManagementPolicy"], "Parallel")
            headless = found["Service", workload["serviceName"]]["spec"]
            self.assertEqual(headless["clusterIP"], "None")
            self.assertTrue(headless["publishNotReadyAddresses"])
            claim, = workload["volumeClaimTemplates"]
            self.assertEqual(claim["spec"]["accessModes"], ["ReadWriteOnce"])
            servers = re.findall(
                r'server (\S+) "(\S+?)\.rollcall-members\.\$\{DOMAIN\}:10112"',
                found["ConfigMap", "rollcall-leader"]["data"]["haproxy.cfg"])
            self.assertEqual(servers, [(f"rollcall-{n}",) * 2 for n in range(members)])

    def test_every_file_that_the_settings_name_is_in_the_pod(self):
        mine = self.settings(CLUSTER.replace(
            "endpoints:", "key_file: /run/keys/etcd.key, cert_file: /run/keys/etcd.pem, endpoints:"))
        for arguments, places in (
                ((), {f"/etc/rollcall/{name}" for name in (
                    "backend.token", "members.token", "etcd-ca.pem", "etcd.pem", "etcd.key")}),
                (("--config.file", mine),
                 {"/etc/rollcall/a.token", "/run/keys/etcd.key", "/run/keys/etcd.pem"})):
            pod = self.documents_of(3, *arguments)["StatefulSet", "rollcall"]["spec"]["template"]
            volumes = {volume["name"]: volume for volume in pod["spec"]["volumes"]}
            found = set()
            for mount in pod["spec"]["containers"][0]["volumeMounts"]:
                volume = volumes.get(mount["name"], {})
                sources = volume.get("projected", {}).get("sources", [volume])
                for source in sources:
                    for item in source.get("secret", {}).get("items", []):
                        found.add(os.path.join(mount["mountPath"], item["path"]))
            self.assertEqual(found, places)
            # Names that begin with nothing begin there.
            self.assertEqual(pod["spec"]["containers"][0]["workingDir"], "/etc/rollcall")

    def tokens(self):
        for name in ("backend", "members"):
            with open(os.path.join(self.directory, f"{name}.token"), "w") as file:
                os.fchmod(file.fileno(), 0o600)
                file.write(f"{name}-{'x' * 32}\n")

    def check(self, text):
        """What `rollcall check` says to settings that a manifest writes."""
        self.tokens()
        text = text.replace("/run/credentials/rollcall.service", self.directory)
        outcome = self.run_binary("check", self.settings(text, "written.yml"))
        self.assertEqual(outcome.returncode, 0, outcome.stderr)
        return outcome.stdout

    def test_the_settings_that_it_writes_are_good(self):
        written = self.documents_of(3)["ConfigMap", "rollcall"]["data"]["rollcall.yml"]
        self.assertIn("https://etcd-2.etcd:2379, under /rollcall/main", self.check(written))
        for members in ("2", "3"):
            unit = self.manifest("systemd", "--members", members)
            lines = unit.split("the same at all, such as\n")[1].split("\n#\n")[0]
            written = "\n".join(line.removeprefix("#   ") for line in lines.splitlines())
            self.assertIn("https://m3:2379, under /rollcall/main", self.check(written))

    def test_members_of_its_settings_are_one_watch_and_the_proxy_finds_the_leader(self):
        etcd = Etcd(self, members=1)
        found = self.documents_of(2)
        self.tokens()
        container = found["StatefulSet", "rollcall"]["spec"]["template"]["spec"]["containers"][0]
        written = found["ConfigMap", "rollcall"]["data"]["rollcall.yml"]
        written = re.sub(r"endpoints: \[.*\]", f'endpoints: ["{etcd.clients[0]}"]', written)
        written = re.sub(r" *(ca|cert|key)_file: .*\n", "", written)
        written = written.replace("/etc/rollcall/", self.directory + "/")
        settings = self.settings(written)
        ports = free_ports(5)
        members = [
            self.member(container, settings, f"rollcall-{n}", ports[2 * n], ports[2 * n + 1])
            for n in range(2)]
        for member in members:
            member.start()
        leads = [
            Client(port) for port in (ports[1], ports[3])]
        for client in leads:
            self.addCleanup(client.close)

        def leaders():
            return [client.request("GET", "/-/leader").status for client in leads]

        eventually(lambda: sorted(leaders()) == [200, 503], 20, "one leads")
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            path = container[probe]["httpGet"]["path"]
            eventually(
                lambda: all(c.request("GET", path).status == 200 for c in leads), 20, path)
        self.check_proxy(
            found["ConfigMap", "rollcall-leader"]["data"]["haproxy.cfg"], ports, members, leaders)

    def member(self, container, settings, name, port, probes):
        """A member as its Pod would start it, at other places."""
        places = {
            "/etc/rollcall/rollcall.yml": settings,
            "/var/lib/rollcall/rollcall.db": os.path.join(self.directory, f"{name}.db"),
            "0.0.0.0:10112": f"127.0.0.1:{port}", "0.0.0.0:10113": f"127.0.0.1:{probes}"}
        variables = {}
        for variable in container["env"]:
            value = variable.get("value", name)
            value = value.replace("$(ROLLCALL_CLUSTER_MEMBER)", name)
            variables[variable["name"]] = value.replace(
                f"{name}.rollcall-members:10112", f"127.0.0.1:{port}")

        class Member(Rollcall):
            def arguments(self):
                line = [BINARY]
                for argument in container["args"]:
                    flag, equals, value = argument.partition("=")
                    line.append(flag + equals + places.get(value, value))
                return line

        member = Member(self.directory, name=name, variables=variables)
        self.addCleanup(member.close)
        return member

    def check_proxy(self, config, ports, members, leaders):
        """What comes to the proxy arrives at the leader, also at the next one."""
        if shutil.which("haproxy") is None:
            return
        outcome = subprocess.run(
            ["haproxy", "-c", "-f", self.settings(config, "printed.cfg")], capture_output=True,
            text=True, timeout=30, env=os.environ | {"DOMAIN": "main.svc.cluster.local"})
        self.assertEqual(outcome.returncode, 0, outcome.stderr)
        number = 0
        for line in re.findall(r"\bserver rollcall-.*", config):
            place = f"127.0.0.1:{ports[2 * number]} check port {ports[2 * number + 1]}"
            config = config.replace(line, f"server m{number} {place}")
            number += 1
        config = config.replace("bind :10112", f"bind 127.0.0.1:{ports[4]}")
        path = self.settings(config.replace("check port 10113 ", ""), "haproxy.cfg")
        proxy = subprocess.Popen(["haproxy", "-f", path], stdin=subprocess.DEVNULL)
        self.addCleanup(proxy.wait, 10)
        self.addCleanup(proxy.kill)
        headers = {"Authorization": f"Bearer backend-{'x' * 32}"}

        def is_taken():
            client = Client(ports[4])
            try:
                return client.request("POST", "/v1/batches", [batch("r-1")], headers).status == 200
            except OSError:
                return False
            finally:
                client.close()

        eventually(is_taken, 20, "the leader takes a batch from the proxy")
        # For a moment nobody may lead.
        led = eventually(lambda: (found := leaders()).count(200) == 1 and found, 20, "one leads")
        members[led.index(200)].kill()
        eventually(is_taken, 20, "the next leader takes a batch from the proxy")

    def test_units_name_the_machine(self):
        for members in ("2", "3"):
            unit = self.manifest("systemd", "--members", members).splitlines()
            self.assertIn("Environment=ROLLCALL_CLUSTER_MEMBER=%H", unit)
            self.assertIn("LoadCredential=members.token:/etc/rollcall/members.token", unit)
            mine = self.manifest(
                "systemd", "--members", members, "--config.file", self.settings(CLUSTER))
            self.assertNotIn("\nLoadCredential", mine)
            self.assertIn("--config.file /etc/rollcall/rollcall.yml\n", mine)
        self.assertIn("m3 is the witness", self.manifest("etcd", "--members", "2"))
        self.assertEqual(self.manifest("etcd"), self.manifest("etcd", "--members", "3"))

    def test_etcd_starts_by_its_unit(self):
        """The variables of the unit are etcd's: one whose name is wrong would change nothing."""
        unit = self.manifest("etcd")
        variables = dict(
            pair.split("=", 1) for line in re.findall("^Environment=(.*)$", unit, re.M)
            for pair in line.split())
        known = subprocess.run(
            ["etcd", "--help"], capture_output=True, text=True, timeout=30)
        for name in variables:
            flag = "--" + name.removeprefix("ETCD_").lower().replace("_", "-")
            self.assertIn(flag + " ", known.stdout + known.stderr, name)


if __name__ == "__main__":
    unittest.main()
