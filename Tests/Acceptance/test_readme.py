"""What the README and its pages say is what the binary does.

Source: style, "README: … its commands are run by CI"; "every option is in the README", which leads to
the pages of `Rollcall.docc`.
"""

import os
import re
import subprocess
import unittest

from documents import CATALOGUE, ROOT, page, pages, text
from rollcall_process import BINARY, RollcallTestCase, plain_environment

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
SUFFIXES = re.compile(r"_(bucket|count|sum|gcount|gsum)$")


class ReadmeTests(RollcallTestCase):
    def block(self, document, mention):
        """The first code block that holds `mention`, and the one after it."""
        blocks = [body for _, body in BLOCK.findall(document)]
        for place, body in enumerate(blocks):
            if mention in body:
                return body, blocks[place + 1]
        self.fail(f"no block with {mention!r}")

    def run_binary(self, *arguments, text=""):
        outcome = subprocess.run(
            [BINARY, *arguments], input=text, capture_output=True, text=True, timeout=30,
            env=plain_environment(), cwd=self.directory)
        self.assertEqual((outcome.returncode, outcome.stderr), (0, ""))
        return outcome.stdout

    def test_the_replay_example_prints_what_it_shows(self):
        given, shown = self.block(page("Explore"), "night.ndjson <<")
        events = re.search(r"<<'E'\n(.*?)^E$", given, re.MULTILINE | re.DOTALL).group(1)
        printed = self.run_binary("replay", "-", text=events)
        shown = [line for line in shown.splitlines() if line.startswith("{")]
        self.assertEqual(printed.splitlines()[-len(shown):], shown)

    def test_the_first_batch_gets_the_answer_that_is_shown(self):
        given, shown = self.block(
            text("README.md"), '"sequence": 4711, "captured_at": "\'$(date')
        command = given.replace("http://127.0.0.1:10112", f"http://127.0.0.1:{self.serve().port}")
        outcome = subprocess.run(
            ["bash", "-c", command], capture_output=True, text=True, timeout=30)
        self.assertEqual(outcome.stdout.strip(), shown.splitlines()[0])

    def test_every_option_is_there(self):
        reference = page("Reference")
        for command in ("serve", "demo", "check", "backup", "export", "replay", "tune", "simulate",
                        "manifest", "status", "gaps", "explain", "nudges", "drill", "silence add",
                        "silence list", "silence end"):
            options = set(re.findall(r"--[a-z.-]+", self.run_binary(*command.split(), "--help")))
            self.assertGreater(len(options), 2)
            for option in options:
                self.assertIn(option, reference)

    def test_the_packages_that_it_names_are_packed(self):
        named = re.findall(r"^\| `([a-z0-9-]+)` \|", page("Operate"), re.MULTILINE)[:4]
        self.assertEqual(named[-1], "ca-certificates")
        recipe = text(".packages/image")
        for package in named:
            # Of the two libcurls the image has the other one.
            self.assertIn({"libcurl4": "libcurl3-gnutls"}.get(package, package), recipe)
        for package in named[2:]:
            self.assertIn(package, text(".packages/debian/control"))

    def test_every_metric_is_there(self):
        metrics = page("Metrics")
        server = self.serve()
        server.write("/v1/heartbeat", {"every_seconds": 60})
        names = {SUFFIXES.sub("", name) for name, _ in server.scrape().samples}
        for name in names:
            if name.startswith("process_"):
                self.assertIn(f"`{name.removeprefix('process_')}`", metrics)
            else:
                self.assertIn(f"`{name}`", metrics)

    def test_every_route_is_there(self):
        server = self.serve()
        named = "\n".join([text("README.md"), *pages().values()])
        for method, route in re.findall(r"`(GET|POST|PUT|DELETE) (/[^`?]*)`", named):
            target = route.replace("{id}", "nobody").replace("{number}", "0")
            with self.subTest(f"{method} {target}"):
                answer = server.request(method, target, body=b"" if method in ("POST", "PUT") else None)
                self.assertNotEqual(answer.status, 405)
                if "{" not in route:
                    self.assertNotIn(b"there is no such path", answer.body)


def anchors(document):
    """What a forge lets one jump to: a document's headings, in small letters and without marks."""
    prose = re.sub(r"^```.*?^```$", "", document, flags=re.MULTILINE | re.DOTALL)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
            for heading in re.findall(r"^#+ (.*)$", prose, re.MULTILINE)}


class PageTests(unittest.TestCase):
    """The README is short, and whatever it does not say is found from it."""

    def links(self):
        """Each link of the README and its pages to something of the repository, and its document."""
        documents = {"README.md": text("README.md")} | {
            os.path.relpath(os.path.join(CATALOGUE, f"{name}.md"), ROOT): body
            for name, body in pages().items()}
        return [(path, link) for path, body in documents.items() for link in LINK.findall(body)
                if not re.match(r"[a-z]+:", link)]

    def test_the_readme_is_short(self):
        self.assertLessEqual(len(text("README.md").splitlines()), 300)

    def test_links_lead_somewhere(self):
        for document, link in self.links():
            with self.subTest(f"{document}: {link}"):
                path, _, heading = link.partition("#")
                target = os.path.normpath(
                    os.path.join(os.path.dirname(document), path) if path else document)
                self.assertTrue(os.path.exists(os.path.join(ROOT, target)), target)
                if heading:
                    self.assertIn(heading, anchors(text(target)))

    def test_every_page_is_found_from_the_readme_and_the_first_page(self):
        first = os.path.relpath(os.path.join(CATALOGUE, "Rollcall.md"), ROOT)
        for document in ("README.md", first):
            found = {os.path.basename(link.partition("#")[0])
                     for where, link in self.links() if where == document}
            self.assertLessEqual({f"{name}.md" for name in pages()} - {"Rollcall.md"}, found)


if __name__ == "__main__":
    unittest.main()
