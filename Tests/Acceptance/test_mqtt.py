"""Inputs that subscribe at a broker: the real mosquitto, killed and started anew, like Rollcall itself.

Source: M4, M6, M8; F10, B2.
"""

import json
import os
import subprocess
import threading
import time
import unittest

from cluster_process import ClusterTestCase, Etcd, Members
from mosquitto_process import Mosquitto, Publisher
from rollcall_process import RollcallTestCase, eventually, now_ms

# A client of one's own, whose updates are numbered: so that what is lost or taken twice is seen.
OURS = """
inputs:
  - name: ours
    enrol: true
    id: [{{topic: 2}}]
    captured_at: {{pointer: /t, unit: ms}}
    sequence: /n
    mqtt: {{url: "{url}", topic: phones/+}}
"""
OWNTRACKS = """
inputs:
  - {{name: owntracks, preset: owntracks, mqtt: {{url: "{url}"}}}}
"""
PEOPLE = 10
SECRET = "s3cret-of-the-broker"


class MQTTTestCase(RollcallTestCase):
    def broker(self, **options):
        return Mosquitto(self, **options)

    def subscribed(self, server, name="ours", seconds=20):
        """Waits until the input has its subscription, and the broker says that nothing is left."""
        return eventually(
            lambda: server.scrape()("rollcall_input_mqtt_connected", input=name) == 1, seconds,
            f"{name} is subscribed: {server.log()[-1500:]}")

    def outcomes(self, server, name="ours"):
        page = server.scrape()
        return {
            dict(labels)["outcome"]: int(value)
            for labels, value in page.all("rollcall_input_mqtt_messages_total").items()
            if dict(labels)["input"] == name}

    def mqtt(self, server):
        return server.get("/v1/inputs").json()["inputs"][0]["mqtt"]


class Phones(threading.Thread):
    """People whose phones publish, one number after the other, and what the broker has taken."""

    def __init__(self, broker, pause=0.001):
        super().__init__(daemon=True)
        self.broker = broker
        self.pause = pause
        self.taken = [0] * PEOPLE
        self.failure = None
        self.ends = threading.Event()

    def run(self):
        try:
            client = Publisher(self.broker, f"phones-{time.monotonic_ns()}")
            while not self.ends.is_set():
                for person in range(PEOPLE):
                    client.publish(
                        f"phones/p{person}",
                        json.dumps({"n": self.taken[person], "t": now_ms(), "lat": 1.5}))
                    self.taken[person] += 1
                time.sleep(self.pause)
            client.close()
        except Exception as error:
            self.failure = error

    def end(self):
        self.ends.set()
        self.join(30)
        assert not self.is_alive(), "the phones hang"


class LedgerTests(MQTTTestCase):
    """What the broker has taken is taken once, whoever is killed meanwhile (M6)."""

    def assertWhole(self, server, taken):
        """All that the broker took is here, once; and nothing else."""
        total = sum(taken)
        eventually(
            lambda: server.scrape()("rollcall_updates_total", outcome="accepted") >= total, 60,
            f"all {total} are here; {self.mqtt(server)}")
        page = server.scrape()
        self.assertEqual(page("rollcall_updates_total", outcome="accepted"), total)
        self.assertEqual(page("rollcall_refold_differences_total"), 0)
        for person, count in enumerate(taken):
            verdict = server.write("/v1/batches", {
                "responder_id": f"p{person}",
                "updates": [{"sequence": number} for number in range(count)]})
            self.assertEqual(
                verdict["updates"], {"accepted": 0, "duplicate": count, "late": 0}, f"p{person}")

    def test_rollcall_is_killed_with_messages_in_flight(self):
        broker = self.broker()
        server = self.serve(OURS.format(url=broker.url))
        self.subscribed(server)
        phones = Phones(broker)
        phones.start()
        for _ in range(5):
            time.sleep(0.7)
            server.kill()
            time.sleep(0.2)
            server.start()
        self.subscribed(server)
        time.sleep(0.5)
        phones.end()
        self.assertIsNone(phones.failure)
        self.assertGreater(sum(phones.taken), 500)
        self.assertWhole(server, phones.taken)
        # The broker has nothing left that is not acknowledged.
        eventually(lambda: self.mqtt(server)["waiting"] == 0, 20, "nothing waits")

    def test_mosquitto_is_killed_and_what_it_had_saved_is_not_lost(self):
        broker = self.broker()
        server = self.serve(OURS.format(url=broker.url))
        self.subscribed(server)
        # So that the session is on its disk.
        broker.save()
        server.kill()
        phones = Phones(broker, pause=0)
        phones.start()
        time.sleep(1.0)
        phones.end()
        self.assertIsNone(phones.failure)
        broker.save()
        broker.kill()
        broker.start()
        server.start()
        self.assertWhole(server, phones.taken)

    def test_mosquitto_is_killed_while_rollcall_runs_and_both_go_on(self):
        broker = self.broker()
        server = self.serve(OURS.format(url=broker.url))
        self.subscribed(server)
        first = Publisher(broker)
        first.publish("phones/p0", json.dumps({"n": 0, "t": now_ms()}))
        eventually(lambda: self.outcomes(server)["committed"] == 1, 20, "it is committed")
        broker.save()
        broker.kill()
        eventually(lambda: not self.mqtt(server)["connected"], 20, "Rollcall has noticed")
        self.assertTrue(self.mqtt(server)["trouble"])
        broker.start()
        self.subscribed(server)
        Publisher(broker, "second").publish("phones/p0", json.dumps({"n": 1, "t": now_ms()}))
        self.assertWhole(server, [2])
        self.assertEqual(server.scrape()("rollcall_input_mqtt_connections_total", input="ours"), 2)

    def test_a_stop_in_order_acknowledges_what_is_committed(self):
        broker = self.broker()
        server = self.serve(OURS.format(url=broker.url))
        self.subscribed(server)
        phones = Phones(broker)
        phones.start()
        time.sleep(1.0)
        self.assertEqual(server.stop(), 0)
        phones.end()
        server.start()
        self.assertWhole(server, phones.taken)


class OldNewsTests(MQTTTestCase):
    """What was kept makes nobody ONLINE who is not (M8)."""

    SHORT = """
liveness:
  on_duty: {expected: 2s, degraded_after: 6s, offline_after: 8s}
"""
    UNTIMED = """
inputs:
  - name: ours
    enrol: true
    id: [{{topic: 2}}]
    mqtt: {{url: "{url}", topic: phones/+}}
"""

    def status(self, server, person):
        return server.responder(person)["status"]

    def test_a_message_without_a_time_is_contact_only_if_it_is_of_now(self):
        broker = self.broker()
        server = self.serve(self.UNTIMED.format(url=broker.url) + self.SHORT)
        self.subscribed(server)
        phone = Publisher(broker)
        phone.publish("phones/a", "{}")
        eventually(lambda: self.outcomes(server)["committed"] == 1, 20, "it is contact")
        self.assertEqual(self.status(server, "a"), "ONLINE")
        eventually(lambda: self.status(server, "a") == "OFFLINE", 20, "a is OFFLINE")
        server.stop()
        for _ in range(50):
            phone.publish("phones/a", "{}")
        server.start()
        self.subscribed(server)
        eventually(lambda: self.outcomes(server)["skipped"] == 50, 10, "the old ones are here")
        self.assertEqual(self.outcomes(server)["committed"], 0)
        self.assertEqual(self.status(server, "a"), "OFFLINE")
        # Once the broker has nothing left of the time away, a message is of now again.
        time.sleep(2.5)
        phone.publish("phones/a", "{}")
        eventually(lambda: self.outcomes(server)["committed"] == 1, 20, "the new one is contact")
        self.assertEqual(self.status(server, "a"), "ONLINE")

    def test_a_retained_message_is_no_contact(self):
        broker = self.broker()
        Publisher(broker).publish("phones/a", "{}", retain=True)
        server = self.serve(self.UNTIMED.format(url=broker.url))
        self.subscribed(server)
        eventually(lambda: self.outcomes(server)["skipped"] == 1, 20, "it is here")
        self.assertEqual(server.get("/v1/responders/a").status, 404)

    def test_a_location_was_heard_when_it_was_sent(self):
        broker = self.broker()
        server = self.serve(OWNTRACKS.format(url=broker.url) + self.SHORT)
        self.subscribed(server, "owntracks")
        phone = Publisher(broker)

        def location(seconds_ago, **more):
            return json.dumps({
                "_type": "location", "tst": now_ms() // 1000 - seconds_ago, "lat": 52.5,
                "lon": 13.4, "batt": 50, "conn": "m", **more})

        phone.publish("owntracks/anna/phone", location(0), retain=True)
        eventually(
            lambda: server.get("/v1/responders/anna").status == 200
            and self.status(server, "anna") == "ONLINE", 20, "anna is ONLINE")
        # What is older than the limit is contact of then.
        phone.publish("owntracks/bert/phone", location(3600))
        phone.publish("owntracks/carl/phone", location(3600, created_at=now_ms() // 1000))
        eventually(
            lambda: server.get("/v1/responders/carl").status == 200
            and self.status(server, "carl") == "ONLINE", 20, "carl sent it now")
        eventually(lambda: self.status(server, "anna") == "OFFLINE", 20, "anna is OFFLINE")
        # Subscribed anew, the broker sends what anna's phone had it hold.
        server.stop()
        server.start()
        self.subscribed(server, "owntracks")
        eventually(
            lambda: sum(self.outcomes(server, "owntracks").values()) >= 1, 20, "it is here again")
        time.sleep(0.5)
        self.assertNotEqual(self.status(server, "anna"), "ONLINE")
        self.assertNotIn("52.5", server.log() + server.get("/v1/responders/anna").text)

    def test_a_last_will_is_no_contact(self):
        broker = self.broker()
        server = self.serve(OWNTRACKS.format(url=broker.url) + self.SHORT)
        self.subscribed(server, "owntracks")
        will = ("owntracks/anna/phone", json.dumps({"_type": "lwt", "tst": now_ms() // 1000}), False)
        phone = Publisher(broker, will=will)
        phone.publish(
            "owntracks/anna/phone",
            json.dumps({"_type": "location", "tst": now_ms() // 1000, "lat": 1, "lon": 2}))
        eventually(lambda: self.outcomes(server, "owntracks")["committed"] == 1, 20, "it is here")
        heard = server.responder("anna")["last_contact_at"]
        time.sleep(1.2)
        phone.vanish()
        eventually(
            lambda: sum(self.outcomes(server, "owntracks").values()) == 2, 10, "the will is here")
        self.assertEqual(server.responder("anna")["last_contact_at"], heard)


class PoisonTests(MQTTTestCase):
    """What can never be taken is acknowledged, counted and shown (M4)."""

    def test_poison_holds_nothing_up(self):
        broker = self.broker()
        server = self.serve(OURS.format(url=broker.url))
        self.subscribed(server)
        phone = Publisher(broker)
        poison = ["{", "\xff", "[" * 100, "x" * 300_000, json.dumps({"n": -1, "t": "never"})]
        for payload in poison:
            phone.publish("phones/a", payload)
        phone.publish("phones/a", "")
        phone.publish("phones/a", json.dumps({"n": 1, "t": now_ms()}))
        eventually(
            lambda: server.scrape()("rollcall_updates_total", outcome="accepted") == 1, 10,
            "what comes behind is taken")
        outcomes = self.outcomes(server)
        self.assertEqual(sum(outcomes.values()), len(poison) + 2, outcomes)
        self.assertGreaterEqual(outcomes["refused"], 4)
        self.assertEqual(outcomes["returned"], 0)
        shown = server.get("/v1/inputs").json()["inputs"][0]
        self.assertIsNotNone(shown["last_problem"])
        self.assertNotIn("xxx", json.dumps(shown))
        # All of it is acknowledged: nothing comes again.
        server.stop()
        server.start()
        self.subscribed(server)
        time.sleep(1.5)
        self.assertEqual(sum(self.outcomes(server).values()), 0)


class AccessTests(MQTTTestCase):
    """What is wrong is said plainly, and no secret with it (M6)."""

    def trouble(self, server, word):
        eventually(
            lambda: word in (self.mqtt(server)["trouble"] or ""), 15,
            f"{word!r} in {self.mqtt(server)}")
        self.assertIn(word, server.log())
        self.assertNotIn(SECRET, server.log())

    def settings(self, url, **more):
        lines = "".join(f", {key}: \"{value}\"" for key, value in more.items())
        return OURS.format(url=url).replace("topic: phones/+", f"topic: phones/+{lines}")

    def password(self, name, text):
        path = os.path.join(self.directory, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text + "\n")
        os.chmod(path, 0o600)
        return path

    def test_a_wrong_password_is_told_and_a_right_one_after_a_reload_is_taken(self):
        users = os.path.join(self.directory, "users")
        subprocess.run(
            ["mosquitto_passwd", "-b", "-c", users, "rollcall", SECRET], check=True,
            capture_output=True)
        broker = self.broker(more=f"password_file {users}\n")
        wrong = self.password("wrong", SECRET + "-not")
        right = self.password("right", SECRET)
        server = self.serve(self.settings(broker.url, user="rollcall", password_file=wrong))
        self.trouble(server, "not authorised")
        server.configure(self.settings(broker.url, user="rollcall", password_file=right))
        self.assertEqual(server.post("/-/reload", b"").status, 200)
        self.subscribed(server)
        self.assertNotIn(SECRET, server.log())

    def certificate(self, name, host):
        key, path = (os.path.join(self.directory, f"{name}.{end}") for end in ("key", "pem"))
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
             f"/CN={name}", "-addext", f"subjectAltName={host}", "-keyout", key, "-out", path],
            check=True, capture_output=True)
        return path, key

    def test_only_the_right_certificate_for_the_host_is_trusted(self):
        ours = self.certificate("ours", "DNS:localhost")
        other = self.certificate("other", "DNS:localhost")
        broker = self.broker(tls=ours)
        at = f"mqtts://localhost:{broker.secure_port}"
        server = self.serve(self.settings(at, ca_file=other[0]))
        self.trouble(server, "certificate is not trusted")
        server.stop()
        # The right authority, and a host that the certificate does not name.
        server.configure(self.settings(at.replace("localhost", "127.0.0.1"), ca_file=ours[0]))
        server.start()
        self.trouble(server, "certificate is not trusted")
        server.stop()
        server.configure(self.settings(at, ca_file=ours[0]))
        server.start()
        self.subscribed(server)
        Publisher(broker).publish("phones/a", json.dumps({"n": 1, "t": now_ms()}))
        eventually(lambda: self.outcomes(server)["committed"] == 1, 20, "it comes over TLS")

    def test_a_port_without_tls_a_closed_one_and_no_broker_are_told(self):
        broker = self.broker()
        server = self.serve(self.settings(f"mqtts://127.0.0.1:{broker.port}"))
        self.trouble(server, "")
        eventually(lambda: self.mqtt(server)["trouble"], 15, "there is no TLS")
        server.stop()
        server.configure(OURS.format(url="mqtt://127.0.0.1:1"))
        server.start()
        self.trouble(server, "Connection refused")
        server.stop()
        server.configure(OURS.format(url="mqtt://no-such-host.invalid"))
        server.start()
        self.trouble(server, "cannot be resolved")

    def test_the_check_of_settings_knows_them(self):
        for wrong, word in [
            ("http://a", "mqtt://host:1883"), ("mqtt://user:never-shown@host", "must not hold a user"),
        ]:
            server = self.rollcall(OURS.format(url=wrong), name="checked")
            done = subprocess.run(
                [os.environ["ROLLCALL_BINARY"], "check", server.config_path],
                capture_output=True, text=True, timeout=30, check=False)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(word, done.stdout + done.stderr)
            self.assertNotIn("never-shown", done.stdout + done.stderr)


class BeatTests(MQTTTestCase):
    """The broker's being there is a heartbeat of the input (B2)."""

    def sources(self, server):
        return [one["source"] for one in server.get("/v1/status").json()["sources"]]

    def test_a_subscription_arms_a_switch_and_its_end_disarms_it(self):
        broker = self.broker()
        server = self.serve(OURS.format(url=broker.url))
        self.subscribed(server)
        eventually(lambda: "mqtt:ours" in server.get("/v1/status").text, 20, "it beats")
        server.configure("inputs: []\n")
        self.assertEqual(server.post("/-/reload", b"").status, 200)
        eventually(lambda: "mqtt:ours" not in server.get("/v1/status").text, 20, "it is disarmed")


class BusyTests(MQTTTestCase):
    def test_another_client_with_the_same_id_is_guessed(self):
        broker = self.broker()
        server = self.serve(OURS.format(url=broker.url))
        self.subscribed(server)
        deadline = time.monotonic() + 60
        while "another client" not in server.log() and time.monotonic() < deadline:
            Publisher(broker, "rollcall-ours", clean=False).vanish()
            time.sleep(0.3)
        self.assertIn("another client", server.log())


class MembersTests(ClusterTestCase):
    """Of several machines the leader subscribes, and whoever leads next goes on (M6, S7)."""

    def test_only_the_leader_subscribes_and_the_next_one_goes_on(self):
        broker = Mosquitto(self)
        members = Members(self, Etcd(self), settings=OURS.format(url=broker.url))
        members.start()
        members.settled()

        def subscribed():
            return [
                name for name in members.names if members[name].process is not None
                and members[name].scrape()("rollcall_input_mqtt_connected", input="ours") == 1]

        leader = members.leader()
        eventually(lambda: subscribed() == [leader], 10, "the leader alone is subscribed")
        phones = Phones(broker, pause=0.01)
        phones.start()
        time.sleep(1)
        members[leader].kill()
        after = members.leader()
        self.assertNotEqual(after, leader)
        eventually(lambda: subscribed() == [after], 15, "the next leader is subscribed")
        time.sleep(1)
        phones.end()
        self.assertIsNone(phones.failure)
        eventually(
            lambda: members[after].scrape()("rollcall_updates_total", outcome="accepted")
            == sum(phones.taken), 20, "all that the broker took is here, once")


if __name__ == "__main__":
    unittest.main()
