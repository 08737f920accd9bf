"""A terminal with a program on it: what is sent to it becomes lines, keys and signals go to the program.

It knows the few sequences that Rollcall may send, and refuses any other.
"""

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import threading
import unicodedata

from rollcall_process import eventually, plain_environment

ENTER = "\x1b[?1049h\x1b[2J\x1b[H"
LEAVE = "\x1b[0m\x1b[?1049l"
_SEQUENCE = re.compile(r"\x1b\[(\??[\d;]*)([A-Za-z])")
_PLAIN = re.compile(r"[^\x00-\x1f\x7f-\x9f]+")


def width(character):
    """Columns of a character."""
    if unicodedata.combining(character) or character == "\ufe0f":
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def modes_of(terminal):
    """The modes of a terminal, its characters as numbers whether it reads lines or not."""
    modes = termios.tcgetattr(terminal)
    return [*modes[:6], [ord(one) if isinstance(one, bytes) else one for one in modes[6]]]


class Screen:
    """What stands on a screen after some text was sent to it."""

    def __init__(self, columns, rows):
        self.columns = columns
        self.rows = rows
        self.lines = [""] * rows
        self.is_other = False
        self.line = 0
        self.is_begin = True
        # Lines that did not fit, and what no program of ours may send.
        self.faults = []

    def take(self, text):
        """Shows what `text` says; returns what is not whole yet."""
        at = 0
        while at < len(text):
            plain = _PLAIN.match(text, at)
            sequence = _SEQUENCE.match(text, at)
            if plain:
                self.begin()
                self.lines[self.line] += plain.group()
                if sum(map(width, self.lines[self.line])) > self.columns:
                    self.faults.append(self.lines[self.line])
                at = plain.end()
            elif sequence:
                self.obey(*sequence.groups())
                at = sequence.end()
            elif text[at] == "\x1b" and re.fullmatch(r"\x1b(\[\??[\d;]*)?", text[at:]):
                return text[at:]
            else:
                self.faults.append(text[at:at + 20])
                at += 1
        return ""

    def begin(self):
        """Writes over the line from its beginning, if the cursor stands there."""
        if self.is_begin:
            self.lines[self.line] = ""
        self.is_begin = False

    def obey(self, numbers, name):
        """Obeys one sequence."""
        if (numbers, name) in (("?1049", "h"), ("?1049", "l")):
            self.is_other = name == "h"
        elif name == "J" and numbers == "2":
            self.lines = [""] * self.rows
        elif name == "J" and numbers == "":
            self.lines[self.line:] = [""] * (self.rows - self.line)
        elif name == "H":
            line = int(numbers.split(";")[0] or 1)
            column = int((numbers.split(";") + ["1"])[1] or 1)
            if line > self.rows or column > self.columns:
                self.faults.append(numbers)
            self.line = min(line, self.rows) - 1
            self.is_begin = column == 1
        elif name == "K" and numbers == "":
            self.begin()
        elif name == "m":
            pass
        else:
            self.faults.append(numbers + name)

    @property
    def text(self):
        """All lines."""
        return "\n".join(line.rstrip() for line in self.lines)


class Terminal:
    """A program on a terminal of its own, whose session it leads."""

    def __init__(self, test, command, columns=80, rows=24, variables=None):
        self._ours, self.theirs = pty.openpty()
        self.resize(columns, rows)
        self.modes = modes_of(self.theirs)
        self.sent = ""
        self._lock = threading.Lock()
        theirs = self.theirs

        def take_terminal():
            fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
            preexec_fn=take_terminal,
            env={**plain_environment(), "TERM": "xterm-256color", **(variables or {})})
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        test.addCleanup(self.close)

    def _read(self):
        rest = b""
        while True:
            try:
                chunk = os.read(self._ours, 65536)
            except OSError:
                return
            if not chunk:
                return
            rest += chunk
            text = rest.decode("utf-8", "ignore")
            rest = rest[len(text.encode()):]
            with self._lock:
                self.sent += text
                self._rest = self.screen.take(self._rest + text)

    def resize(self, columns, rows):
        """Gives it another size, of which the kernel tells the program."""
        # What comes from now on may still be meant for the size before: whoever asks wipes it then.
        self.columns, self.rows = columns, rows
        self.wipe()
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def wipe(self):
        """Forgets what stands on it, and what was wrong with that."""
        self.screen, self._rest = Screen(self.columns, self.rows), ""

    @property
    def text(self):
        """What stands on it."""
        with self._lock:
            return self.screen.text

    def press(self, keys):
        """Presses keys."""
        os.write(self._ours, keys.encode())

    def shows(self, pattern, seconds=20):
        """Waits until it shows this; what it shows then."""
        try:
            eventually(lambda: re.search(pattern, self.text), seconds, pattern)
        except AssertionError:
            raise AssertionError(f"not shown: {pattern!r}\n{self.text}") from None
        return self.text

    def ended(self, seconds=10):
        """Waits for the end; the exit status."""
        return self.process.wait(seconds)

    def hang_up(self):
        """Takes the terminal away."""
        os.close(self.theirs)
        os.close(self._ours)
        self._ours = self.theirs = -1

    def close(self):
        """Ends the program however it is; for clean-up."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(10)
        for end in (self.theirs, self._ours):
            if end >= 0:
                os.close(end)
