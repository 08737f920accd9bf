"""The rules of Grafana's dashboard-linter, under their names there, and some of our own.

The linter itself is a Go program that cannot be installed by version. Each rule is a function that
yields what is wrong with a dashboard; `RULES` holds them by name.

Source: github.com/grafana/dashboard-linter, its folders `docs/rules` and `lint`.
"""

import glob
import itertools
import json
import os
import re

import promql_parser

DASHBOARDS = os.path.join(
    os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "Dashboards")

# Of Grafana's categories of units those that make sense here.
UNITS = {
    "none", "string", "short", "percent", "percentunit", "locale", "bytes", "decbytes", "Bps",
    "ms", "s", "m", "h", "d", "dtdurations", "dtdhms", "dateTimeAsIso", "dateTimeFromNow",
    "cps", "ops", "reqps", "cpm", "opm", "bool", "bool_yes_no", "bool_on_off"}
# What Grafana puts in for its own variables. Lengths that nobody writes tell which one it was.
SPANS = {"__rate_interval": "7919s", "__range": "7907s", "__range_s": "7907", "__interval": "7901s"}
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
# Panels about now: a value that stays after its series ended would be a lie.
NOW = ("stat", "table")
BY_REGION = {
    "rollcall_responders", "rollcall_responders_flapping", "rollcall_responders_missed",
    "rollcall_dark_seconds_total"}
RULES = {}


def rule(name):
    def keep(function):
        RULES[name] = function
        return function
    return keep


# MARK: reading a dashboard


def dashboards(folder=DASHBOARDS):
    """Every dashboard by its file's name."""
    found = {}
    for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
        with open(path, encoding="utf-8") as file:
            found[os.path.basename(path)] = json.load(file)
    return found

def panels(dashboard):
    """All panels but rows."""
    return [panel for panel in dashboard["panels"] if panel["type"] != "row"]


def targets(dashboard):
    for panel in panels(dashboard):
        for target in panel.get("targets", []):
            yield panel, target


def variables(dashboard, kind=None):
    listed = dashboard["templating"]["list"]
    return [entry for entry in listed if kind in (None, entry["type"])]


def expanded(text, spans=SPANS, **values):
    """An expression as Prometheus gets it: `$name` and `${name}` replaced where they are known."""
    known = {**spans, **values}
    return re.sub(
        r"\$(?:\{(\w+)\}|(\w+))", lambda m: known.get(m[1] or m[2], m[0]), text)


def nodes(expression):
    """Every node of an expression with its ancestors, the nearest last; none if it cannot be
    parsed, which is a rule of its own."""
    found, path = [], []

    def enter(node):
        found.append((node, list(path)))
        path.append(node)

    try:
        tree = promql_parser.parse(expanded(expression))
    except ValueError:
        return []
    promql_parser.walk(tree, enter, lambda _: path.pop() and None)
    return found


def selectors(expression):
    return [node for node, _ in nodes(expression)
            if isinstance(node, promql_parser.VectorSelector)]


def names(expression):
    """The metrics that an expression reads."""
    return {selector.name for selector in selectors(expression)}


def has(selector, label, value):
    return any(
        m.name == label and m.value == value and m.op == promql_parser.MatchOp.Re
        for m in selector.matchers.matchers)


def inner(query):
    """The function and the expression of a variable's query; the label is no expression."""
    found = re.fullmatch(
        r"(label_values|label_names|metrics|query_result)\((.+?)(?:, \w+)?\)", query)
    return found.groups() if found else (None, "")


def expressions(dashboard):
    """(where, expression) of all that asks for samples; of variables without `label_values`."""
    for panel, target in targets(dashboard):
        yield f"{panel['title']}, {target['refId']}", target["expr"]
    for mark in dashboard["annotations"]["list"]:
        yield f"annotation {mark['name']}", mark["expr"]
    for variable in variables(dashboard, "query"):
        yield f"variable {variable['name']}", inner(variable["query"])[1]


# MARK: the linter's rules


@rule("template-datasource-rule")
def template_datasource(dashboard):
    found = variables(dashboard, "datasource")
    if [(v["name"], v["label"], v["query"]) for v in found] != [
            ("datasource", "Data source", "prometheus")]:
        yield f"not one variable datasource, labelled Data source: {found}"


def template(dashboard, name):
    found = [v for v in variables(dashboard, "query") if v["name"] == name]
    if len(found) != 1:
        yield f"no variable {name}"
        return
    variable = found[0]
    for key, value in (
            ("label", name.title()), ("multi", True), ("allValue", ".+"),
            ("datasource", DATASOURCE)):
        if variable.get(key) != value:
            yield f"variable {name}: {key} is {variable.get(key)!r}, not {value!r}"


@rule("template-job-rule")
def template_job(dashboard):
    yield from template(dashboard, "job")


@rule("template-instance-rule")
def template_instance(dashboard):
    yield from template(dashboard, "instance")


@rule("template-label-promql-rule")
def template_label_promql(dashboard):
    for variable in variables(dashboard, "query"):
        function, expression = inner(variable["query"])
        if function is None or not nodes(expression):
            yield f"variable {variable['name']}: {variable['query']}"


@rule("template-on-time-change-reload-rule")
def template_reload(dashboard):
    for variable in variables(dashboard, "query"):
        if variable.get("refresh") != 2:
            yield f"variable {variable['name']} is not read again when the time changes"


@rule("panel-datasource-rule")
def panel_datasource(dashboard):
    for panel in panels(dashboard):
        if panel.get("datasource") != DATASOURCE:
            yield f"{panel.get('title')}: {panel.get('datasource')}"


@rule("panel-title-description-rule")
def panel_title_description(dashboard):
    for panel in panels(dashboard):
        if not panel.get("title") or not panel.get("description"):
            yield f"panel {panel['id']}"


@rule("panel-units-rule")
def panel_units(dashboard):
    for panel in panels(dashboard):
        config = panel["fieldConfig"]
        used = [config["defaults"].get("unit")] + [
            p["value"] for o in config["overrides"] for p in o["properties"] if p["id"] == "unit"]
        for unit in used:
            if unit not in UNITS:
                yield f"{panel['title']}: unit {unit}"


@rule("panel-no-targets-rule")
def panel_no_targets(dashboard):
    for panel in panels(dashboard):
        if not panel.get("targets"):
            yield panel["title"]


@rule("target-promql-rule")
def target_promql(dashboard):
    for panel, target in targets(dashboard):
        if not nodes(target["expr"]):
            yield f"{panel['title']}: {target['expr']}"


@rule("target-rate-interval-rule")
def target_rate_interval(dashboard):
    for panel, target in targets(dashboard):
        for node, path in nodes(target["expr"]):
            if isinstance(node, promql_parser.MatrixSelector) and path and isinstance(
                    path[-1], promql_parser.Call) and path[-1].func.name in ("rate", "irate"):
                if node.range.total_seconds() != 7919:
                    yield f"{panel['title']}: {target['expr']}"


def matchers(dashboard, label):
    for panel, target in targets(dashboard):
        for selector in selectors(target["expr"]):
            if not has(selector, label, f"${label}"):
                yield f"{panel['title']}: {selector.name} without {label}=~\"${label}\""


@rule("target-job-rule")
def target_job(dashboard):
    yield from matchers(dashboard, "job")


@rule("target-instance-rule")
def target_instance(dashboard):
    yield from matchers(dashboard, "instance")


@rule("target-counter-agg-rule")
def target_counter_agg(dashboard):
    for panel, target in targets(dashboard):
        for node, path in nodes(target["expr"]):
            if isinstance(node, promql_parser.VectorSelector) and node.name.endswith("_total"):
                call = path[-2] if len(path) > 1 else None
                if not isinstance(call, promql_parser.Call) or call.func.name not in (
                        "rate", "irate", "increase"):
                    yield f"{panel['title']}: {node.name} as it is"


@rule("uneditable-dashboard-rule")
def uneditable(dashboard):
    if dashboard.get("editable") is not False:
        yield "it can be edited, and would be overwritten"


# MARK: our own


@rule("house-layout")
def layout(dashboard):
    """Nothing overlaps or leaves the grid of 24, no row of the screen has a hole."""
    taken = {}
    for panel in dashboard["panels"]:
        at = panel["gridPos"]
        for cell in itertools.product(
                range(at["x"], at["x"] + at["w"]), range(at["y"], at["y"] + at["h"])):
            if cell in taken:
                yield f"{panel['title']} lies on {taken[cell]}"
                break
            taken[cell] = panel["title"]
    if any(not 0 <= x < 24 for x, _ in taken):
        yield "beyond the grid"
    height = max(y for _, y in taken) + 1
    if len(taken) != 24 * height:
        yield f"{24 * height - len(taken)} cells are empty"
    ids = [panel["id"] for panel in dashboard["panels"]]
    if len(set(ids)) != len(ids):
        yield "two panels have one id"


@rule("house-no-stale-value")
def no_stale_value(dashboard):
    """What is shown as now was asked for now, and a line has holes where nothing was known."""
    for panel, target in targets(dashboard):
        if target["instant"] is not (panel["type"] in NOW) or target["range"] is target["instant"]:
            yield f"{panel['title']}: instant {target['instant']}"
    for panel in panels(dashboard):
        defaults = panel["fieldConfig"]["defaults"]
        if panel["type"] == "timeseries" and defaults["custom"].get("spanNulls") is not False:
            yield f"{panel['title']}: lines over holes"
        if panel["type"] == "stat" and not defaults.get("noValue"):
            yield f"{panel['title']}: nothing is said when nothing is known"


@rule("house-no-invented-zero")
def no_invented_zero(dashboard):
    """`or vector(0)` would say 0 where nothing is known."""
    for panel, target in targets(dashboard):
        for node, _ in nodes(target["expr"]):
            if isinstance(node, promql_parser.Call) and node.func.name in (
                    "vector", "absent", "absent_over_time"):
                yield f"{panel['title']}: {node.func.name}"


@rule("house-own-targets-only")
def own_targets_only(dashboard):
    """All jobs are `.+`: what others export too must be tied to a metric that only we have."""
    marks = [(mark["name"], mark["expr"]) for mark in dashboard["annotations"]["list"]]
    for title, expression in marks + [(p["title"], t["expr"]) for p, t in targets(dashboard)]:
        used = names(expression)
        if "ALERTS" in used and 'alertname=~"' in expression:
            continue
        if any(not re.match(r"rollcall_|location_update_|status_trans", name) for name in used):
            if not used & {"rollcall_watching", "rollcall_build_info"} or " on (job, instance) " \
                    not in expression:
                yield f"{title}: {sorted(used)}"


@rule("house-region")
def region(dashboard):
    """A panel heeds the region, or says that it does not."""
    is_hidden = any(v["name"] == "region" and v["hide"] == 2 for v in variables(dashboard))
    for panel in [] if is_hidden else panels(dashboard):
        used = [s for target in panel["targets"] for s in selectors(target["expr"])]
        split = [s for s in used if s.name in BY_REGION]
        if any(not has(s, "region", "$region") for s in split):
            yield f"{panel['title']}: a region that is not asked for"
        if not split and {s.name for s in used} - {"rollcall_watching", "up"} \
                and "All regions." not in panel["description"]:
            yield f"{panel['title']}: does not say that it is of all regions"


@rule("house-columns")
def columns(dashboard):
    """What a table calls its columns, and what is said of a column, fit together."""
    for panel in panels(dashboard):
        letters = [target["refId"] for target in panel["targets"]]
        if len(set(letters)) != len(letters):
            yield f"{panel['title']}: two targets have one letter"
        if panel["type"] != "table":
            continue
        changes = {change["id"]: change["options"] for change in panel["transformations"]}
        renamed = changes["organize"]["renameByName"]
        if "merge" in changes and not {f"Value #{letter}" for letter in letters} <= set(renamed):
            yield f"{panel['title']}: columns without a title"
        # The order of the series of one instant is Prometheus' own, another one each time.
        if "sortBy" not in changes:
            yield f"{panel['title']}: rows in any order"
        named = [o["matcher"]["options"] for o in panel["fieldConfig"]["overrides"]]
        for name in named + [column["displayName"] for column in panel["options"]["sortBy"]]:
            if name not in renamed.values():
                yield f"{panel['title']}: no column {name}"


@rule("house-variables")
def known_variables(dashboard):
    """Only variables that there are."""
    known = {variable["name"] for variable in variables(dashboard)} | set(SPANS)
    texts = [target["expr"] for _, target in targets(dashboard)]
    texts += [mark["expr"] for mark in dashboard["annotations"]["list"]]
    texts += [variable["query"] for variable in variables(dashboard)]
    for text in texts:
        for name in re.findall(r"\$\{?(\w+)", text):
            if name not in known:
                yield f"${name}"


def findings(dashboard, only=None):
    """What is wrong, as (rule, text)."""
    return [(name, text) for name, check in RULES.items() if only in (None, name)
            for text in check(dashboard)]
