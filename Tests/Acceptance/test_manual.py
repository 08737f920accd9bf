"""Manual pages and completions: what a package ships, read by those who read it.

Source: V6.
"""

import json
import os
import re
import shutil
import subprocess
import unittest

from rollcall_process import BINARY, HERE, RollcallTestCase, plain_environment

SECTIONS = ["NAME", "SYNOPSIS", "EXIT STATUS", "SEE ALSO"]


class ManualTestCase(RollcallTestCase):
    """Asks the binary."""

    def run_binary(self, *arguments, code=0):
        done = subprocess.run(
            [BINARY, *arguments], capture_output=True, text=True, timeout=60,
            env=plain_environment(), cwd=self.directory)
        self.assertEqual(done.returncode, code, done)
        return done.stdout if code == 0 else done.stderr

    def tree(self):
        """The commands, as the argument parser dumps them."""
        return json.loads(self.run_binary("--experimental-dump-help"))["command"]


class ManualTests(ManualTestCase):
    """`rollcall manifest man`."""

    def pages(self):
        """The written pages by their names."""
        told = self.run_binary("manifest", "man", "pages").splitlines()
        folder = os.path.join(self.directory, "pages")
        self.assertEqual(sorted(told), sorted(f"pages/{name}" for name in os.listdir(folder)))
        found = {}
        for name in os.listdir(folder):
            with open(os.path.join(folder, name), encoding="ascii") as file:
                found[name] = file.read()
        return found

    def test_each_command_has_a_page(self):
        pages = self.pages()
        below = [one["commandName"] for one in self.tree()["subcommands"]]
        self.assertEqual(
            set(pages),
            {"rollcall.1"} | {f"rollcall-{name}.1" for name in below if name != "help"})
        for name, text in pages.items():
            heads = re.findall(r'(?m)^\.SH "(.*)"$', text)
            self.assertEqual([head for head in heads if head in SECTIONS], SECTIONS, name)
        for variable in ("ROLLCALL_SERVER", "ROLLCALL_TOKEN_FILE", "NO_COLOR", "COLUMNS"):
            self.assertIn(variable, pages["rollcall-status.1"].replace("\\", ""))
        self.assertNotIn("ROLLCALL_SERVER", pages["rollcall-replay.1"])
        self.assertIn("rollcall silence add", pages["rollcall-silence.1"])
        # The same version writes the same bytes.
        self.assertEqual(self.pages(), pages)

    def test_every_option_is_described(self):
        pages = self.pages()

        def walk(command, page):
            for one in command.get("subcommands", []):
                if one["commandName"] != "help":
                    walk(one, page or f"rollcall-{one['commandName']}.1")
            for argument in command.get("arguments", []) if page else ():
                for name in argument.get("names", []):
                    sign = ("-" if name["kind"] == "short" else "--") + name["name"]
                    self.assertIn(f"\\fB{sign}\\fR".replace("-", "\\-"), pages[page])
        walk(self.tree(), None)

    def test_the_typesetter_has_nothing_to_say(self):
        if shutil.which("groff") is None:
            self.skipTest("no groff")
        self.pages()
        for name in sorted(os.listdir(os.path.join(self.directory, "pages"))):
            done = subprocess.run(
                ["groff", "-man", "-ww", "-z", f"pages/{name}"], capture_output=True, text=True,
                timeout=60, cwd=self.directory)
            self.assertEqual((done.returncode, done.stderr), (0, ""), name)

    def test_the_codes_are_those_of_the_reference(self):
        path = os.path.join(HERE, "../../Sources/Rollcall/Rollcall.docc/Reference.md")
        with open(path, encoding="utf-8") as file:
            table = file.read().split("## Exit codes")[1]
        codes = set(re.findall(r"(?m)^\| (\d+) \|", table))
        page = self.pages()["rollcall.1"].split("EXIT STATUS")[1].split(".SH")[0]
        self.assertEqual(set(re.findall(r"(?m)^\\fB(\d+)\\fR$", page)), codes)

    def test_what_it_cannot_do_is_said(self):
        self.assertIn("man: a folder for the pages expected", self.run_binary("manifest", "man", code=64))
        self.assertIn(
            "/dev/null/x: cannot be written",
            self.run_binary("manifest", "man", "/dev/null/x", code=64))
        self.assertIn(
            "goes without other options",
            self.run_binary("manifest", "man", "x", "--members", "2", code=64))


class CompletionTests(ManualTestCase):
    """`rollcall manifest completions`."""

    def completed(self, *words):
        """What bash offers for the last word."""
        script = os.path.join(self.directory, "completions.bash")
        with open(script, "w", encoding="utf-8") as file:
            file.write(self.run_binary("manifest", "completions", "bash"))
        done = subprocess.run(
            ["bash", "--norc", "-c", """
             source ./completions.bash
             COMP_WORDS=(rollcall "$@"); COMP_CWORD=$#
             COMP_LINE="${COMP_WORDS[*]}"; COMP_POINT=${#COMP_LINE}
             _rollcall rollcall "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
             printf '%s\\n' "${COMPREPLY[@]}"
             """, "bash", *words], capture_output=True, text=True, timeout=30, cwd=self.directory)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return [line for line in done.stdout.split("\n") if line]

    def test_bash_offers_commands_options_words_and_files(self):
        with open(os.path.join(self.directory, "fleet.yml"), "w", encoding="utf-8"):
            pass
        self.assertEqual(self.completed("wat"), ["watch"])
        self.assertEqual(self.completed("gaps", "--cau"), ["--cause"])
        self.assertEqual(self.completed("gaps", "--state", ""), ["open", "closed"])
        self.assertEqual(self.completed("silence", "en"), ["end"])
        self.assertEqual(self.completed("status", "-o", "c"), ["csv"])
        for words in (
                ("check", "fl"), ("serve", "--config.file", "fl"), ("status", "--token-file", "fl"),
                ("backup", "--storage.path", "fl"), ("replay", "fl")):
            self.assertEqual(self.completed(*words), ["fleet.yml"], words)
        # Names of receivers and people are nobody's business but the server's.
        for words in (("drill", ""), ("explain", ""), ("take", "")):
            self.assertEqual(self.completed(*words), [], words)

    def test_each_shell_can_read_its_own(self):
        for shell in ("bash", "zsh", "fish"):
            text = self.run_binary("manifest", "completions", shell)
            self.assertIn("rollcall", text)
            # An option with a dot in it is no name of an array.
            self.assertEqual(re.findall(r"(?m)^ *local -ar [A-Za-z_]*[.-].*$", text), [], shell)
            if shutil.which(shell):
                path = os.path.join(self.directory, shell)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
                done = subprocess.run(
                    [shell, "-n", path], capture_output=True, text=True, timeout=30)
                self.assertEqual((done.returncode, done.stderr), (0, ""), shell)
        self.assertIn(
            "completions: bash, zsh or fish expected (tcsh)",
            self.run_binary("manifest", "completions", "tcsh", code=64))


if __name__ == "__main__":
    unittest.main()
