"""Where links of `Dashboards/` lead: to views of Rollcall's page, to runbooks, to one another.

A link names nobody, as no metric does (V2): it leads to a list, and the page says who is on it to
whoever may see that.
"""

import os
import re
import urllib.parse

from dashboard_lint import DASHBOARDS, dashboards, panels, rule, targets, variables

# Views of the page with what their addresses may hold, and what is asked for it.
VIEWS = {
    "": ((), "/v1/status"), "feeds": ((), "/v1/status"),
    "silent": (("state", "region", "cause", "by"), "/v1/gaps"),
    "at": (("t", "region"), "/v1/gaps"),
    "alerts": (("alertname",), "/v1/alerts/history"),
    "nudges": (("decision",), "/v1/nudges"),
    "people": (("status", "region"), "/v1/responders")}
# What Grafana puts in for a label of the series, or a column of the row, that was clicked at.
LABEL = r"\$\{__field\.labels\.(\w+):percentencode\}"
COLUMN = r"\$\{__data\.fields\.(\w+):percentencode\}"
# The instant that was clicked at. As Grafana has it, it is milliseconds, which the page does not read.
TIME = r"\$\{__value\.time:date:iso\}"
HERE = "?${__url_time_range}&${__all_variables}"
# The addresses that an operator sets.
OPERATORS = {
    "page": "http://127.0.0.1:10112", "runbooks": "https://wiki.example.org/rollcall/runbooks"}


def runbooks():
    folder = os.path.join(os.path.dirname(DASHBOARDS), "Alerts", "runbooks")
    return {name.removesuffix(".md") for name in os.listdir(folder)}


def links(dashboard):
    """(panel, link) of what is above a panel, and of what is behind its values."""
    for panel in panels(dashboard):
        for link in panel.get("links", []):
            yield panel, link
        yield from data_links(panel)


def data_links(panel):
    config = panel["fieldConfig"]
    for link in config["defaults"].get("links", []):
        yield panel, link
    for override in config["overrides"]:
        for change in override["properties"]:
            if change["id"] == "links":
                yield from ((panel, link) for link in change["value"])


def view(url, before="${page:raw}/"):
    """The view of the page that a link leads to, with its parameters, or None."""
    found = re.fullmatch(re.escape(before) + r"(\w*)(?:\?(.+))?", url)
    if found is None:
        return None
    pairs = [pair.partition("=") for pair in (found[2] or "").split("&") if pair]
    return found[1], {key: value for key, _, value in pairs}


def is_view(path, query):
    return path in VIEWS and set(query) <= set(VIEWS[path][0])


def wrong(url, dashboard, panel):
    """What is wrong with an address, or nothing."""
    rest = re.sub(LABEL, "label", re.sub(COLUMN, "column", re.sub(TIME, "time", url)))
    found = view(url)
    if found is not None:
        if not is_view(*found):
            return "leads to no view of the page"
        if "$" in rest.removeprefix("${page:raw}"):
            return "has a variable that is not encoded"
    elif runbook := re.fullmatch(r"\$\{runbooks:raw\}/(.+)\.md", url):
        if runbook[1] not in runbooks() and "alertname" not in re.findall(LABEL, runbook[1]):
            return "leads to no runbook"
    elif other := re.fullmatch(r"/d/([\w-]+)" + re.escape(HERE), url):
        if other[1] not in {d["uid"] for d in dashboards().values()} - {dashboard["uid"]}:
            return "leads to no other dashboard"
    else:
        return "leads to no page, runbook or dashboard, or loses the time or the choice"
    if re.search(TIME, url) and panel["type"] not in ("timeseries", "state-timeline"):
        return "asks for an instant, where none is clicked at"
    for label in re.findall(LABEL, url):
        if not all(re.search(rf"by \([^)]*\b{label}\b", t["expr"]) for t in panel["targets"]):
            return f"asks for the label {label}, which not all series have"
    for column in re.findall(COLUMN, url):
        if panel["type"] != "table" or column not in renamed(panel).values():
            return f"asks for the column {column}, which there is not"
    return None


def renamed(panel):
    """What a table calls its columns."""
    return next(change["options"]["renameByName"] for change in panel["transformations"]
                if change["id"] == "organize")


def clicked(panel, url, series, at):
    """The addresses that a link has, one for each series or row of its panel, at an instant."""
    # The corner of a matrix has the names of both.
    columns = {title: name.split("\\")[0] for name, title in renamed(panel).items()} \
        if re.search(COLUMN, url) else {}

    def put(labels):
        quoted = lambda label: urllib.parse.quote(labels[label], safe="")
        return re.sub(COLUMN, lambda m: quoted(columns[m[1]]),
                      re.sub(LABEL, lambda m: quoted(m[1]), re.sub(TIME, at, url)))

    return {put(labels) for labels in series}


@rule("house-links")
def lead_somewhere(dashboard):
    for panel, link in links(dashboard):
        fault = wrong(link["url"], dashboard, panel)
        if fault:
            yield f"{panel['title']}: {link['url']} {fault}"
        if not link.get("title") or link.get("targetBlank") is link["url"].startswith("/d/"):
            yield f"{panel['title']}: {link['url']} has no title, or opens where it should not"
    for panel in panels(dashboard):
        if panel["type"] == "heatmap" and list(data_links(panel)):
            yield f"{panel['title']}: a heatmap has no values to click at"


@rule("house-links-of-all")
def lead_everywhere(dashboard):
    """Above each: to the other dashboards with time and choice, and to Rollcall's page."""
    found = [(l["type"], l["tags"], l["url"], l["includeVars"], l["keepTime"], l["targetBlank"])
             for l in dashboard["links"]]
    if found != [("dashboards", ["rollcall"], "", True, True, False),
                 ("link", [], "${page:raw}/", False, False, True)]:
        yield f"links are {found}"
    constants = {v["name"]: v for v in variables(dashboard, "constant")}
    if set(constants) != set(OPERATORS):
        yield f"constants are {sorted(constants)}"
    for name, value in constants.items():
        one = {"selected": True, "text": value["query"], "value": value["query"]}
        # Nobody's address bar may say where links lead.
        if (value["query"], value["current"], value["options"], value["hide"],
                value["skipUrlSync"]) != (OPERATORS.get(name), one, [one], 2, True):
            yield f"{name} is {value}"


@rule("house-runbooks")
def runbooks_of_alerts(dashboard):
    """Whatever alert a panel speaks of has its runbook above it, and no other one has."""
    known = runbooks()
    for panel in panels(dashboard):
        # A setting of an alert's is none.
        words = re.sub(r"alerts\.[\w.…]+", "", panel["description"])
        said = set(re.findall(r"\w+", words)) & known
        linked = {name for link in panel.get("links", [])
                  for name in re.findall(r"\$\{runbooks:raw\}/(\w+)\.md", link["url"])}
        if said - {"Watchdog"} != linked:
            yield f"{panel['title']}: speaks of {sorted(said)}, links to {sorted(linked)}"


@rule("house-names")
def named_things_exist(dashboard):
    """What a description quotes is the title of a panel, a row or a dashboard."""
    known = {panel["title"] for panel in dashboard["panels"]}
    known |= {other["title"] for other in dashboards().values()}
    for panel in panels(dashboard):
        for name in re.findall(r'"([A-Z][^"]*)"', panel["description"]):
            if name not in known or name == panel["title"]:
                yield f"{panel['title']}: nothing is called {name}"
    for panel, target in targets(dashboard):
        if "$page" in target["expr"] or "$runbooks" in target["expr"]:
            yield f"{panel['title']}: an address in an expression"
