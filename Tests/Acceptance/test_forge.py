"""What a forge reads: workflows, forms for issues, a container to develop in.

No forge is asked. Their schemas come with check-jsonschema; what a workflow runs is looked up in the tree.
Source: Contributing.
"""

import glob
import json
import os
import re
import subprocess
import sys
import unittest

import yaml

from rollcall_process import plain_environment

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
FORGE = os.path.join(ROOT, ".github")


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


class ForgeTests(unittest.TestCase):
    def check(self, schema, *paths):
        self.assertTrue(paths, schema)
        outcome = subprocess.run(
            [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, *paths],
            capture_output=True, text=True, timeout=60, env=plain_environment())
        self.assertEqual(outcome.returncode, 0, outcome.stdout + outcome.stderr)

    def workflows(self):
        for path in glob.glob(os.path.join(FORGE, "workflows", "*.yml")):
            yield os.path.basename(path), yaml.safe_load(read(path))

    def test_files_are_what_the_forge_expects(self):
        self.check("vendor.github-workflows", *glob.glob(os.path.join(FORGE, "workflows", "*")))
        forms = os.path.join(FORGE, "ISSUE_TEMPLATE")
        self.check("vendor.github-issue-config", os.path.join(forms, "config.yml"))
        self.check(
            "vendor.github-issue-forms",
            *(path for path in glob.glob(os.path.join(forms, "*")) if "config" not in path))

    def test_what_they_run_is_there(self):
        wanted = {".ci/run", ".packages/deb", ".packages/image", ".packages/twice"}
        ran = set()
        for _, workflow in self.workflows():
            for job in workflow["jobs"].values():
                for step in job["steps"]:
                    ran |= set(re.findall(r"\.(?:ci|packages)/[a-z]+\b(?!/)", step.get("run", "")))
        self.assertEqual(ran, wanted)
        container = json.loads(read(".devcontainer/devcontainer.json"))
        for path in [*wanted, container["postCreateCommand"]]:
            self.assertTrue(os.access(os.path.join(ROOT, path), os.X_OK), path)

    def test_a_job_may_do_no_more_than_it_says(self):
        for name, workflow in self.workflows():
            self.assertEqual(workflow["permissions"], {"contents": "read"}, name)
            for job in workflow["jobs"].values():
                for step in job["steps"]:
                    # A title of a branch or an issue is never put into a shell.
                    self.assertNotRegex(step.get("run", ""), r"\$\{\{", name)

    def test_all_of_them_build_with_one_swift(self):
        images = {job["container"]["image"] for _, workflow in self.workflows()
                  for job in workflow["jobs"].values() if "container" in job}
        images.add(json.loads(read(".devcontainer/devcontainer.json"))["image"])
        # On the other one the package is installed, as where nobody builds.
        self.assertEqual(len(images - {"debian:bookworm"}), 1, images)

    def test_versions_of_packages_are_exact(self):
        named = re.findall(r"\.package\(url: .*\)", read("Package.swift"))
        self.assertTrue(named)
        for line in named:
            self.assertRegex(line, r'exact: "\d+\.\d+\.\d+"')


if __name__ == "__main__":
    unittest.main()
