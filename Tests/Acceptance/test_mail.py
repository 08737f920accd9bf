"""People are told by e-mail: a thread for each incident, through a mail server that speaks TLS and wants
a login, and through others that refuse, hang, or are not who they should be.

Source: A8, A9, D1, D8, D11; RFC 5321, RFC 5322, RFC 2045, RFC 2047, RFC 3834.
"""

import os
import shutil
import subprocess
import time
import unittest
from email.utils import parsedate_to_datetime

from hostile_receiver import Certificates
from loopback_mail import MailScript, MailServer
from rollcall_process import BINARY, eventually, now_ms, plain_environment
from test_receivers import CONFIG, REGION, ReceiversTestCase

SOON = 15
# An attempt has 20 s, and a server that takes a mail and says nothing to QUIT as long again.
PATIENCE = 60
DUTY, LEAD, GONE = "duty@example.org", "lead@example.org", "gone@example.org"


class MailTestCase(ReceiversTestCase):
    def setUp(self):
        super().setUp()
        self.certificates = Certificates(self.directory)

    def receiver(self, server, more="", to=DUTY):
        """Settings of a receiver that trusts our authority."""
        return (f'{{name: mail, email: {{url: "{server.url}", from: rollcall@example.org, to: [{to}], '
                f'ca_file: {self.certificates.authority}{more}}}}}')

    @property
    def login(self):
        path = os.path.join(self.directory, "password")
        with open(path, "w", encoding="ascii") as file:
            file.write(MailServer.PASSWORD + "\n")
        os.chmod(path, 0o600)
        return f", username: {MailServer.USER}, password_file: password"

    def encrypted(self, **options):
        return MailServer(self, self.certificates.context("good"), **options)

    def attempts(self):
        """Status and error of each attempt to tell of the first incident that fires."""
        incidents = self.server.get("/v1/alerts/history").json()["incidents"]
        return [
            (attempt["status"], attempt["error"]) for incident in incidents
            for notice in incident["notices"] if notice["kind"] == "fired"
            for attempt in notice["targets"][0]["attempts"] if attempt["took_ms"] is not None]

    def first_attempt(self, seconds=PATIENCE):
        return eventually(lambda: next(iter(self.attempts()), None), seconds, "an attempt")


class ThreadTests(MailTestCase):
    def test_an_incident_is_a_thread_of_right_mails_over_a_kill(self):
        mails = self.encrypted(wants_login=True)
        fleet = self.begin(self.receiver(mails, self.login, to=f"{DUTY}, {LEAD}"))
        self.wait_until_kept()
        self.server.kill()
        self.server.start()
        time.sleep(2)
        fleet.restore(*fleet.of(REGION))
        eventually(lambda: len(mails.mails) == 2, SOON, "its end")
        for mail in mails.mails:
            self.assertEqual(mail.faults(), [], mail.content)
            self.assertTrue(mail.was_encrypted)
            self.assertEqual(mail.user, MailServer.USER)
            self.assertEqual((mail.sender, mail.recipients), ("rollcall@example.org", [DUTY, LEAD]))
            self.assertEqual(mail.message["From"], "Rollcall <rollcall@example.org>")
            self.assertEqual(mail.message["To"], f"{DUTY}, {LEAD}")
            self.assertEqual(mail.message["Auto-Submitted"], "auto-generated")
            at = parsedate_to_datetime(mail.message["Date"]).timestamp() * 1000
            self.assertLess(abs(at - now_ms()), 60_000)
        fired, ended = (mail.message for mail in mails.mails)
        self.assertTrue(
            fired["Subject"].startswith(f"FIRING: Nobody can be reached in {REGION}, 2 of 2"), fired["Subject"])
        self.assertTrue(ended["Subject"].startswith(f"RESOLVED: {REGION}: "), ended["Subject"])
        self.assertEqual((fired["Importance"], ended["Importance"]), ("high", None))
        text = mails.mails[0].text
        self.assertRegex(text, r"\nRollcall: https://rollcall\.example\.org/alerts\?incident=\d+\n")
        self.assertIn("\nRunbook: https://wiki.example.org/nobody\n", text)
        self.assertIn("\ncount: 2\n", text)
        # One thread: both refer to one id, and have ids of their own.
        self.assertNotEqual(fired["Message-ID"], ended["Message-ID"])
        self.assertRegex(fired["References"], r"^<rollcall-[0-9a-f]{16}-\d+@example\.org>$")
        self.assertEqual({one[name] for one in (fired, ended) for name in ("In-Reply-To", "References")},
                         {fired["References"]})

    def test_what_is_tried_again_has_the_id_that_it_had(self):
        mails = self.encrypted()
        mails.text_replies = ["451 4.3.0 come back"]
        self.begin(self.receiver(mails))
        eventually(lambda: mails.mails, SOON, "a mail")
        self.assertEqual(len(mails.seen), 2)
        first, second = mails.seen
        self.assertEqual(first.message["Message-ID"], second.message["Message-ID"])
        status, error = self.first_attempt()
        self.assertEqual(status, 451)
        self.assertRegex(error, r"^smtp://127\.0\.0\.1:\d+: answered 451: 4\.3\.0 come back$")

    def test_names_from_outside_stay_where_they_belong(self):
        mails = self.encrypted()
        names = ["Bcc: evil@example.org", "=?utf-8?q?x?=", "." * 40, "é" * 60, "a b " * 30, "\u202e x",
                 "From here", "x-evil: 1", "\U0001F9D1\u200D\U0001F692" * 5]
        self.begin(self.receiver(mails), names, each=1)
        told = "\n".join
        # A mark that would turn what stands around it is shown as one that cannot be.
        seen = [name.replace("\u202e", "\ufffd")[:20] for name in names]
        eventually(
            lambda: all(
                any(name in mail.text or name in mail.message["Subject"] for mail in mails.mails)
                for name in seen), PATIENCE, "mails about all")
        for mail in mails.mails:
            self.assertEqual(mail.faults(), [], told(map(str, mail.message.items())))
            self.assertEqual(mail.recipients, [DUTY])

    def test_a_storm_is_one_mail(self):
        mails = self.encrypted()
        self.begin(self.receiver(mails), [f"r-{n:02}" for n in range(60)], each=1)
        eventually(lambda: mails.mails, SOON, "a mail")
        time.sleep(3)
        self.assertEqual([mail.faults() for mail in mails.mails], [[]])
        message = mails.mails[0].message
        self.assertIn("60 regions", message["Subject"])
        self.assertRegex(message["References"], r"-NoOnlineResponders-\d+@example\.org>$")

    def test_tls_from_the_beginning_and_a_drill(self):
        mails = self.encrypted(is_secure=True, wants_login=True)
        self.server = self.serve(CONFIG.format(receiver=self.receiver(mails, self.login)))
        self.assertEqual(self.drill("mail")["status"], 250)
        eventually(lambda: len(mails.mails) == 2, SOON, "the drill and its end")
        self.assertTrue(mails.mails[0].message["Subject"].startswith("FIRING: DRILL: "))
        self.assertEqual([mail.faults() for mail in mails.mails], [[], []])


class RecipientTests(MailTestCase):
    def test_one_recipient_of_three_is_refused_and_the_others_are_told_once(self):
        mails = self.encrypted()
        mails.recipient_replies = {GONE: f"550 5.1.1 <{GONE}> unknown"}
        self.begin(self.receiver(mails, to=f"{DUTY}, {GONE}, {LEAD}"))
        eventually(lambda: len(mails.mails) == 2, SOON, "two have it")
        self.assertEqual([mail.recipients for mail in mails.mails], [[DUTY], [LEAD]])
        status, error = self.first_attempt()
        self.assertEqual(status, 550)
        self.assertRegex(
            error, r"^recipient 2 of 3: smtp://127\.0\.0\.1:\d+: answered 550: 5\.1\.1 <<secret>> unknown$")
        # Nobody says that everybody knows (D1).
        alert = next(a for a in self.server.get("/v1/alerts").json()["alerts"] if a["state"] == "firing")
        self.assertEqual((alert["told"], alert["receivers"][0]["state"]), ([], "refused"))
        # Who was repaired is told alone.
        mails.recipient_replies = {}
        settings = self.receiver(mails, to=f"{DUTY}, {GONE}, {LEAD}")
        other = shutil.copy(self.certificates.authority, f"{self.directory}/other-authority.pem")
        self.server.configure(CONFIG.format(
            receiver=settings.replace(self.certificates.authority, other)))
        self.assertEqual(self.server.post("/-/reload", b"").status, 200)
        eventually(lambda: len(mails.mails) == 3, SOON, "the third has it")
        self.assertEqual(mails.mails[2].recipients, [GONE])
        self.assertEqual(len({mail.message["Message-ID"] for mail in mails.mails}), 1)
        eventually(
            lambda: [a["told"] for a in self.server.get("/v1/alerts").json()["alerts"]
                     if a["told"]], SOON, "now everybody is told")

    def test_a_login_that_is_refused_is_told_without_it(self):
        mails = self.encrypted(wants_login=True)
        more = self.login.replace("user,", "us3r-canary,")
        self.begin(self.receiver(mails, more, to=f"{DUTY}, {LEAD}"))
        status, error = self.first_attempt()
        self.assertEqual(status, 535)
        self.assertIn("answered 535: ", error)
        seen = self.server.log() + error + repr(self.server.get("/v1/alerts/history").body)
        seen += repr(self.server.get("/v1/status").body) + repr(self.server.get("/metrics").body)
        for command in (["check", self.server.config_path], ["config", self.server.config_path]):
            done = subprocess.run(
                [BINARY, *command], capture_output=True, text=True, timeout=30, env=plain_environment(),
                stdin=subprocess.DEVNULL)
            seen += done.stdout + done.stderr
        for secret in (MailServer.PASSWORD, "us3r-canary", DUTY, LEAD):
            self.assertNotIn(secret, seen)
        self.assertEqual(mails.mails, [])

    def test_the_sender_is_refused(self):
        mails = self.encrypted()
        mails.sender_reply = "553 5.7.1 not yours"
        self.begin(self.receiver(mails))
        status, error = self.first_attempt()
        self.assertEqual((status, error.partition(": answered ")[2]), (553, "553: 5.7.1 not yours"))


class HostileServerTests(MailTestCase):
    def words(self, server, seconds=PATIENCE):
        """What the operator reads of the first attempt, without the place."""
        self.begin(self.receiver(server, self.login))
        status, error = self.first_attempt(seconds)
        if error is None:
            return status, None
        place, _, words = error.partition(f"{server.url}: ")
        self.assertEqual(place, "")
        self.assertNotIn(MailServer.PASSWORD, self.server.log())
        return status, words

    def test_who_cannot_be_trusted_learns_nothing(self):
        mails = MailServer(self, self.certificates.context("other"), wants_login=True)
        status, words = self.words(mails)
        self.assertIsNone(status)
        self.assertRegex(words, "^TLS: ")
        self.assertEqual(mails.seen, [])

    def test_without_tls_nothing_is_sent(self):
        server = MailScript(self, lambda talk: (talk.begin("AUTH PLAIN LOGIN"), talk.wait()))
        status, words = self.words(server)
        self.assertIsNone(status)
        self.assertRegex(words, "^it does not offer STARTTLS, and nothing is sent without; its last reply: 250")
        self.assertEqual({line[:4] for line in server.lines} - {b"QUIT"}, {b"EHLO"})

    def test_starttls_that_is_refused_is_none(self):
        def script(talk):
            talk.begin("STARTTLS", "AUTH PLAIN")
            talk.hear()
            talk.say("454 4.7.0 TLS not available")
            talk.wait()
        server = MailScript(self, script)
        _, words = self.words(server)
        self.assertIn("its last reply: 454 4.7.0 TLS not available", words)
        self.assertEqual({line[:4] for line in server.lines} - {b"QUIT", b"EHLO"}, {b"STAR"})

    def test_on_this_machine_tls_may_be_done_without(self):
        mails = MailServer(self, wants_login=True)
        self.begin(self.receiver(mails, self.login + ", starttls: false"))
        eventually(lambda: mails.mails, SOON, "a mail")
        self.assertEqual(mails.mails[0].user, MailServer.USER)

    def plain(self, script):
        """The words about a server that needs no TLS."""
        server = MailScript(self, script)
        receiver = self.receiver(server, ", starttls: false")
        self.begin(receiver)
        status, error = self.first_attempt()
        return status, error and error.partition(f"{server.url}: ")[2]

    def test_a_server_that_hangs_is_left(self):
        status, words = self.plain(lambda talk: (talk.begin(), talk.hear(), talk.wait()))
        self.assertIsNone(status)
        self.assertEqual(words, "no whole answer within 20 s; its last reply: 250 mail.test")

    def test_a_server_that_says_nothing_is_left(self):
        self.assertEqual(self.plain(lambda talk: talk.wait()), (None, "no whole answer within 20 s"))

    def test_a_server_that_closes_in_the_middle_of_the_text_is_asked_again(self):
        def script(talk):
            talk.begin()
            for reply in ("250 OK", "250 OK", "354 go on"):
                talk.hear()
                talk.say(reply)
            talk.hear()
        status, words = self.plain(script)
        self.assertIsNone(status)
        self.assertEqual(
            words, "the connection was closed before the answer was whole; its last reply: 354 go on")

    def test_a_server_that_hangs_after_it_took_the_mail_has_it(self):
        def script(talk):
            talk.begin()
            for reply in ("250 OK", "250 OK", "354 go on"):
                talk.hear()
                talk.say(reply)
            talk.hear_text()
            talk.say("250 taken")
            talk.wait()
        self.assertEqual(self.plain(script), (250, None))

    def test_an_odd_word_to_quit_changes_nothing(self):
        def script(talk):
            talk.begin()
            for reply in ("250 OK", "250 OK", "354 go on"):
                talk.hear()
                talk.say(reply)
            talk.hear_text()
            talk.say("250 taken")
            talk.hear()
            talk.say("554 what?")
        self.assertEqual(self.plain(script), (250, None))

    def test_a_greeting_that_refuses(self):
        status, words = self.plain(
            lambda talk: (talk.say("554-5.7.1 no service"), talk.say("554 5.7.1 for you"), talk.wait()))
        self.assertEqual((status, words), (554, "answered 554: 5.7.1 no service 5.7.1 for you"))

    def test_replies_without_end_are_not_read(self):
        def script(talk):
            talk.say("220 mail.test")
            talk.hear()
            while True:
                talk.say("250-" + "x" * 900)
        status, words = self.plain(script)
        self.assertIsNone(status)
        # libcurl has a limit of its own, which may come first.
        self.assertRegex(words, "^the (answer is larger than 64 KiB|connection was closed)")

    def test_what_speaks_something_else(self):
        status, words = self.plain(lambda talk: talk.say("HTTP/1.1 400 Bad Request\r\n"))
        self.assertIsNone(status)
        self.assertTrue(words)


class SettingsTests(MailTestCase):
    def test_wrong_settings_are_told_with_their_rule(self):
        right = {"url": "smtp://mail.example.org:587", "from": "a@example.org", "to": "[b@example.org]"}
        for change, rule in (
                ({}, None), ({"url": "smtps://mail.example.org"}, None), ({"to": "b@example.org"}, None),
                ({"url": "https://mail.example.org"}, "must be like smtp://host:port"),
                ({"url": "smtp://mail.example.org/x"}, "must be like smtp://host:port"),
                ({"url": "smtp://us3r:passw0rd@mail.example.org"}, "must be like smtp://host:port"),
                ({"url": None}, "url or url_file must be given"),
                ({"from": None}, "from must be given"), ({"to": None}, "to must be given"),
                ({"to": "[]"}, "a list of 1 to 16"),
                ({"to": "[b@example.org, b@example.org]"}, "the same address twice"),
                ({"to": "['Kim <kim@example.org>']"}, "an address like"),
                ({"to": '["b@example.org\\r\\nBcc: x@example.org"]'}, "an address like"),
                ({"from": '"a@exämple.org"'}, "an address like"),
                ({"from": "a@b@"}, "an address like"),
                ({"starttls": "false"}, "may be false only on this machine"),
                ({"starttls": "false", "url": "smtp://127.0.0.1:25"}, None),
                ({"username": "u"}, "password or password_file must be given")):
            settings = {**right, **change}
            text = ", ".join(f"{name}: {value}" for name, value in settings.items() if value)
            path = os.path.join(self.directory, "c.yaml")
            with self.subTest(text):
                with open(path, "w", encoding="utf-8") as file:
                    file.write(f"receivers: [{{name: mail, email: {{{text}}}}}]\n")
                done = subprocess.run(
                    [BINARY, "check", path], capture_output=True, text=True, timeout=30,
                    env=plain_environment(), stdin=subprocess.DEVNULL)
                self.assertEqual(done.returncode, 0 if rule is None else 64, done)
                self.assertIn(rule or "mail (email at smtp", done.stdout + done.stderr)
                self.assertNotIn("passw0rd", done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
