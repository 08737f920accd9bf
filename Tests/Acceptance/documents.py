"""The README and the pages that it leads to, as the tests read them."""

import os

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CATALOGUE = os.path.join(ROOT, "Sources", "Rollcall", "Rollcall.docc")


def text(path):
    """What stands in a file of the repository."""
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def page(name):
    """What stands in a page of the catalogue."""
    return text(os.path.join(CATALOGUE, f"{name}.md"))


def pages():
    """All pages of the catalogue by their names."""
    return {name.removesuffix(".md"): page(name.removesuffix(".md"))
            for name in sorted(os.listdir(CATALOGUE)) if name.endswith(".md")}
