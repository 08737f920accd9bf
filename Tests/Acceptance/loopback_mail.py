"""Mail servers on loopback: aiosmtpd, which takes mails and judges who sends them, and scripts that
answer anything but what they should.

A server's port is the kernel's, and it is gone with its test.
"""

import asyncio
import email
import email.policy
import logging
import socket
import threading
import time
import warnings

from aiosmtpd.smtp import SMTP, AuthResult
from loopback import Loopback

LINE_BYTES_MAX = 998


class Mail:
    """One mail as it was taken."""

    def __init__(self, envelope, session):
        self.recipients = list(envelope.rcpt_tos)
        self.sender = envelope.mail_from
        self.content = envelope.content
        self.was_encrypted = session.ssl is not None
        self.user = session.auth_data
        self.message = email.message_from_bytes(self.content, policy=email.policy.default)

    @property
    def text(self):
        return self.message.get_content().replace("\r\n", "\n")

    def faults(self):
        """What is wrong with it by the rules of mails; nothing if it is right."""
        found = [str(defect) for part in self.message.walk() for defect in part.defects]
        found += [
            f"{name}: {defect}" for name, value in self.message.items() for defect in value.defects]
        if not self.content.isascii():
            found.append("it is not ASCII")
        lines = self.content.split(b"\r\n")
        if any(b"\n" in line or b"\r" in line for line in lines):
            found.append("a line does not end with CR LF")
        if max(map(len, lines)) > LINE_BYTES_MAX:
            found.append("a line is too long")
        names = [name.lower() for name in self.message.keys()]
        for name in ("date", "from", "to", "subject", "message-id", "in-reply-to", "references",
                     "auto-submitted", "mime-version", "content-type", "content-transfer-encoding"):
            if names.count(name) != 1:
                found.append(f"{name} stands there {names.count(name)} times")
        for name in names:
            if name in ("bcc", "cc", "x-evil"):
                found.append(f"{name} does not belong there")
        return found


class MailServer:
    """A server that takes what nobody says it refuses. With `tls` it offers STARTTLS, or speaks TLS from
    the beginning with `is_secure`; with `user` it wants a login."""

    USER, PASSWORD = "rollcall-user", "p4ssword-canary"

    def __init__(self, case, tls=None, is_secure=False, wants_login=False):
        self.mails = []
        # Replies by recipient, to MAIL and to the text; without one it is taken.
        self.recipient_replies = {}
        self.sender_reply = None
        self.text_replies = []
        self.seen = []
        self.is_secure = is_secure
        server = self

        class Handler:
            async def handle_MAIL(self, _, session, envelope, address, options):
                if server.sender_reply:
                    return server.sender_reply
                envelope.mail_from = address
                return "250 OK"

            async def handle_RCPT(self, _, session, envelope, address, options):
                reply = server.recipient_replies.get(address)
                if reply:
                    return reply
                envelope.rcpt_tos.append(address)
                return "250 OK"

            async def handle_DATA(self, _, session, envelope):
                server.seen.append(Mail(envelope, session))
                if server.text_replies:
                    return server.text_replies.pop(0)
                server.mails.append(server.seen[-1])
                return "250 taken as 17"

        def authenticate(_, session, envelope, mechanism, data):
            if (data.login.decode(), data.password.decode()) == (self.USER, self.PASSWORD):
                return AuthResult(success=True, auth_data=self.USER)
            return AuthResult(
                success=False, handled=False,
                message=f"535 5.7.8 no {data.password.decode()} for {data.login.decode()}")

        # It says of a server that needs no TLS, and of its own names, what is known here.
        warnings.filterwarnings("ignore", module="aiosmtpd")
        logging.getLogger("mail.log").setLevel(logging.ERROR)

        def make():
            return SMTP(
                Handler(), hostname="mail.test", ident="test", loop=self._loop,
                tls_context=None if is_secure else tls, require_starttls=bool(tls) and not is_secure,
                authenticator=authenticate if wants_login else None, auth_required=wants_login,
                auth_require_tls=not is_secure and bool(tls), enable_SMTPUTF8=False)

        self._loop = asyncio.new_event_loop()
        listener = socket.create_server(("127.0.0.1", 0))
        self.port = listener.getsockname()[1]
        serving = self._loop.create_server(make, sock=listener, ssl=tls if is_secure else None)
        self._server = self._loop.run_until_complete(serving)
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        case.addCleanup(self._close)

    def _close(self):
        self._loop.call_soon_threadsafe(self._server.close)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    @property
    def url(self):
        return f"{'smtps' if self.is_secure else 'smtp'}://127.0.0.1:{self.port}"


class MailScript:
    """A server that plays `script(connection)` to each connection, a file of bytes with `say`; `lines`
    are all that it heard."""

    SECONDS_MAX = 60

    def __init__(self, case, script):
        self.lines = []
        self._script = script
        self.port = Loopback(case, self._play).port

    @property
    def url(self):
        return f"smtp://127.0.0.1:{self.port}"

    def _play(self, connection):
        connection.settimeout(self.SECONDS_MAX)
        with connection:
            try:
                self._script(Talk(self, connection))
            except OSError:
                pass


class Talk:
    """One connection of a script."""

    def __init__(self, server, connection):
        self._server = server
        self._connection = connection
        self._file = connection.makefile("rb")

    def say(self, line):
        self._connection.sendall(line.encode() + b"\r\n")

    def hear(self):
        """The next line; raises once the other side is gone."""
        line = self._file.readline(65536)
        if not line:
            raise ConnectionError
        self._server.lines.append(line)
        return line

    def hear_text(self):
        """Everything up to the full stop."""
        while self.hear() != b".\r\n":
            pass

    def begin(self, *offers):
        """Greets, and answers EHLO with what is offered."""
        self.say("220 mail.test ESMTP")
        self.hear()
        offered = ["mail.test", *offers]
        for place, offer in enumerate(offered):
            self.say(f"250{'-' if place < len(offered) - 1 else ' '}{offer}")

    def wait(self):
        """Says nothing until the other side is gone."""
        until = time.monotonic() + MailScript.SECONDS_MAX
        while time.monotonic() < until:
            self.hear()
