"""What `Dashboards/` look like: a grid that the eye can follow, titles, colours that differ.

Nobody looks at them in a Grafana here. What can be said without: positions, lengths of titles, and
colours as who cannot tell red from green sees them.
"""

import itertools
import re

from dashboard_lint import panels, rule, targets

# A few colours, each of one meaning, those of the page's statuses where both themes allow it.
COLOURS = {
    "well, ONLINE": "#3f9c6d", "soon, DEGRADED, firing": "#c4860f",
    "badly, OFFLINE, no answer": "#cf3b30", "not known, UNKNOWN, nobody": "#7f8c9a",
    "blind": "#8f5fc0"}
# No colour: what stands on the theme's own.
PLAIN = {"text", "transparent"}
# Backgrounds of panels in Grafana's two themes.
GROUNDS = ("#ffffff", "#181b1f")
# Widths that panels side by side may have: all the same, or one twice as wide as the other.
BANDS = {(24,), (12, 12), (16, 8), (8, 16)} | {(24 // n,) * n for n in (3, 4, 6, 8)}
HEIGHTS = {"row": (1, 1), "stat": (4, 4), "state-timeline": (3, 10), "table": (8, 10),
           "timeseries": (7, 9), "heatmap": (8, 10)}
# Letters that a title has room for, by the columns of its panel, beside the (i) and a link on a
# screen of 1440: one that is cut says nothing.
ROOM = 5
TITLE = 40


@rule("house-grid")
def grid(dashboard):
    bands = {}
    for panel in dashboard["panels"]:
        bands.setdefault(panel["gridPos"]["y"], []).append(panel)
        low, high = HEIGHTS[panel["type"]]
        if not low <= panel["gridPos"]["h"] <= high:
            yield f"{panel['title']} is {panel['gridPos']['h']} high"
    for band in bands.values():
        band.sort(key=lambda panel: panel["gridPos"]["x"])
        widths = tuple(panel["gridPos"]["w"] for panel in band)
        if widths not in BANDS or len({panel["gridPos"]["h"] for panel in band}) > 1:
            yield f"beside {band[0]['title']}: widths {widths}, or heights that differ"
    order = [(panel["gridPos"]["y"], panel["gridPos"]["x"]) for panel in dashboard["panels"]]
    # On a phone, and to who hears them, panels come as the file has them.
    if order != sorted(order):
        yield "panels are not in the order in which they are seen"


@rule("house-titles")
def titles(dashboard):
    """Words of an operator, no names of the program's, each once."""
    seen = set()
    for panel in dashboard["panels"]:
        title = panel["title"]
        if not re.fullmatch(r"[A-Z][\w ,%?-]*", title) or "_" in title:
            yield f"{title!r} is no title"
        room = ROOM * panel["gridPos"]["w"] + 1
        if len(title) > min(room, TITLE):
            yield f"{title!r} is longer than its panel has room for"
        if title in seen:
            yield f"{title!r} is there twice"
        seen.add(title)
    for panel in panels(dashboard):
        if not re.search(r"[.:?]( |$)", panel["description"]) or len(panel["description"]) > 420:
            yield f"{panel['title']}: what it means is no sentence, or too long for its (i)"


# How an expression begins or what it reads, and the unit that it then has: of Grafana, or in words
# beside the axis.
UNITS = (
    (r"60 \*", "cpm"), (r"3600 \*", " an hour"), (r"86400 \*", " a day"),
    (r"1000 \* (?:max|min)\(\w+_timestamp_seconds|1000 \* max\(process_start", "dateTimeFromNow"),
    (r"histogram_quantile\(.*_seconds_bucket", "s"),
    (r"(?:max\()?time\(\) - ", "s"), (r"max by \(instance\) \(\w+_bytes\{", "bytes"),
    (r"max by \(instance\) \(\w+_age_seconds\{", "s"),
    (r"sum(?: by \(\w+\))? \(rate\(rollcall_http_requests_total", "reqps"))


@rule("house-units")
def units(dashboard):
    for panel, target in targets(dashboard):
        config = panel["fieldConfig"]["defaults"]
        said = {config.get("unit"), *re.findall(
            r" an? \w+$", config.get("custom", {}).get("axisLabel", ""))}
        wanted = next((unit for pattern, unit in UNITS if re.match(pattern, target["expr"])), None)
        # Columns of a table have units of their own.
        if panel["type"] != "table" and wanted is not None and wanted not in said:
            yield f"{panel['title']}: {sorted(map(str, said))}, not {wanted}"


def colours(part):
    """All colours of a part of a dashboard; those of a heatmap are a scale."""
    if isinstance(part, list):
        part = dict(enumerate(part))
    for key, value in part.items() if isinstance(part, dict) else ():
        if key in ("color", "fixedColor", "iconColor") and isinstance(value, str):
            yield value
        else:
            yield from colours(value)


@rule("house-colours")
def known_colours(dashboard):
    for panel in panels(dashboard):
        for colour in colours(panel["fieldConfig"]):
            if colour not in {*COLOURS.values(), *PLAIN}:
                yield f"{panel['title']}: {colour}"
    for mark in dashboard["annotations"]["list"]:
        if mark["iconColor"] not in COLOURS.values():
            yield f"annotation {mark['name']}: {mark['iconColor']}"
    marks = [mark["iconColor"] for mark in dashboard["annotations"]["list"]]
    if len(set(marks)) != len(marks):
        yield "two annotations have one colour"


# MARK: how colours are seen

# Source: Machado, Oliveira, Fernandes, "A physiologically-based model for simulation of color
# vision deficiency" (2009), severity 1, for linear RGB.
EYES = {
    "all colours": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "no green": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413),
                 (-0.011820, 0.042940, 0.968881)),
    "no red": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216),
               (-0.003882, -0.048116, 1.051998))}


def linear(colour):
    parts = [int(colour[at:at + 2], 16) / 255 for at in (1, 3, 5)]
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def luminance(light):
    return sum(share * part for share, part in zip((0.2126, 0.7152, 0.0722), light))


def contrast(one, other):
    """WCAG 2.2: 3 : 1 is enough for shapes and large figures."""
    low, high = sorted(luminance(linear(colour)) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


def lab(colour, eye):
    """CIE L*a*b* under noon daylight."""
    light = [min(1, max(0, sum(share * part for share, part in zip(row, linear(colour)))))
             for row in EYES[eye]]
    rows = ((0.4124564, 0.3575761, 0.1804375), (0.2126729, 0.7151522, 0.0721750),
            (0.0193339, 0.1191920, 0.9503041))
    x, y, z = (
        share ** (1 / 3) if share > 0.008856 else 7.787 * share + 16 / 116
        for share in (sum(a * b for a, b in zip(row, light)) / white
                      for row, white in zip(rows, (0.95047, 1, 1.08883))))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def differences():
    """How far apart each two colours are to each eye (CIE 1976): below 10 they are one colour."""
    for (one, a), (other, b) in itertools.combinations(COLOURS.items(), 2):
        for eye in EYES:
            far = sum((p - q) ** 2 for p, q in zip(lab(a, eye), lab(b, eye))) ** 0.5
            yield one, other, eye, far
