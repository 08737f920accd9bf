"""What a dashboard has that Grafana's own types do not: fields they lack, values of another kind.

The Foundation SDK is made from Grafana's schema, but its readers take any value for any field, and
hand on as they are links, transformations and what overrides change. Here each value is held
against its field's type, down to the last one.

Source: pypi.org/project/grafana-foundation-sdk, its `models` and `cog`.
"""

import enum
import json
import types
import typing

from grafana_foundation_sdk.cog import plugins, runtime
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import dashboard as models

plugins.register_default_plugins()

# Read by Prometheus' own support of annotations; the model has what all data sources share.
ANNOTATION_KEYS = {"step", "titleFormat", "textFormat", "tagKeys", "useValueForTime"}
# Transformations are `object` to the schema: those that are used, with their options.
TRANSFORMATIONS = {
    "sortBy": {"fields": dict, "sort": list}, "merge": {},
    "organize": {"excludeByName": dict, "indexByName": dict, "renameByName": dict},
    "groupingToMatrix": {
        "rowField": str, "columnField": str, "valueField": str, "emptyValue": str}}


def as_json(model):
    return json.loads(json.dumps(model, cls=JSONEncoder))


def is_model(kind):
    return isinstance(kind, type) and hasattr(kind, "from_json")


def faults(value, hint, path):
    """What is wrong with a value of a field, as sentences that begin with its path."""
    origin = typing.get_origin(hint)
    if hint in (object, typing.Any):
        # A plugin's own options: they have come to types that say more.
        if is_model(type(value)):
            yield from faults_of(value, path)
    elif origin is typing.Literal:
        if value not in typing.get_args(hint):
            yield f"{path} is none of its words: {value!r}"
    elif origin in (typing.Union, types.UnionType):
        yield from faults_of_union(value, typing.get_args(hint), path)
    elif origin is list:
        if not isinstance(value, list):
            yield f"{path} is no list: {value!r}"
        else:
            for number, item in enumerate(value):
                yield from faults(item, typing.get_args(hint)[0], f"{path}[{number}]")
    elif origin is dict:
        if not isinstance(value, dict):
            yield f"{path} is no object: {value!r}"
        else:
            for key, item in value.items():
                yield from faults(item, typing.get_args(hint)[1], f"{path}.{key}")
    elif isinstance(hint, type) and issubclass(hint, enum.Enum):
        if value not in [member.value for member in hint] or isinstance(value, bool):
            yield f"{path} is none of its words: {value!r}"
    elif is_model(hint) or hasattr(hint, "to_json"):
        yield from faults_of_raw(value, hint, path)
    elif isinstance(hint, type) and not is_plain(value, hint):
        # What is left are text, numbers and bool, and the base of all queries.
        if is_model(type(value)) and isinstance(value, hint):
            yield from faults_of(value, path)
        else:
            yield f"{path} is no {hint.__name__}: {value!r}"


def is_plain(value, hint):
    """A whole number is a number; true is none."""
    if isinstance(value, bool) or hint is bool:
        return isinstance(value, bool) and hint is bool
    return isinstance(value, (int, float) if hint is float else hint) and not is_model(type(value))


def faults_of_union(value, members, path):
    if value is None and type(None) in members:
        return
    tried = [list(faults(value, member, path)) for member in members if member is not type(None)]
    yield from min(tried, key=len)


def faults_of_raw(value, hint, path):
    """The same of what its reader handed on as it was."""
    if not isinstance(value, dict):
        if not isinstance(value, hint):
            yield f"{path} is no {hint.__name__}: {value!r}"
        else:
            yield from faults_of(value, path)
        return
    model = hint.from_json(value)
    yield from (f"{path}{key} is not known to Grafana" for key in lost(value, as_json(model)))
    yield from faults_of(model, path)


def faults_of(model, path):
    for name, hint in typing.get_type_hints(type(model)).items():
        yield from faults(getattr(model, name), hint, f"{path}.{name}")


def faults_of_panel(panel, path):
    """Of what the model leaves open: kinds of panels, overrides and transformations."""
    plugin = runtime.panelcfg_config(panel["type"])
    if plugin is None:
        yield f"{path}.type: no panel is a {panel['type']}"
        return
    for override in panel["fieldConfig"]["overrides"]:
        for change in override["properties"]:
            where, key = f"{path} override {change['id']}", change["id"]
            # An override may change what a default may say.
            if key.startswith("custom."):
                reader, key = plugin.field_config_from_json_hook, key.removeprefix("custom.")
            else:
                reader = models.FieldConfig.from_json
            model = reader({key: change["value"]})
            for field in lost({key: change["value"]}, as_json(model)):
                yield f"{where}{field} is not known to Grafana"
            yield from faults_of(model, where)
    for change in panel.get("transformations", []):
        known = TRANSFORMATIONS.get(change["id"])
        if known is None or set(change["options"]) != set(known) or any(
                not isinstance(change["options"][key], kind) for key, kind in known.items()):
            yield f"{path} transformation {change['id']}: {change['options']}"


def lost(ours, theirs, path=""):
    """What is in `ours` and not, or otherwise, in `theirs`."""
    if isinstance(ours, dict):
        for key, value in ours.items():
            there = isinstance(theirs, dict) and key in theirs
            yield from lost(value, theirs[key], f"{path}.{key}") if there else [f"{path}.{key}"]
    elif isinstance(ours, list):
        if not isinstance(theirs, list) or len(ours) != len(theirs):
            yield path
        else:
            for number, (mine, its) in enumerate(zip(ours, theirs)):
                yield from lost(mine, its, f"{path}[{number}]")
    elif ours != theirs:
        yield f"{path}: {ours!r}, {theirs!r}"


def wrong_in_grafana(dashboard):
    """All that Grafana's types do not know or take otherwise."""
    try:
        model = models.Dashboard.from_json(dashboard)
    except (AttributeError, KeyError, TypeError) as error:
        return [f"it cannot be read: {error!r}"]
    found = [
        f"{path} is not known to Grafana" for path in lost(dashboard, as_json(model))
        if path.rpartition(".")[2] not in ANNOTATION_KEYS or ".annotations.list[" not in path]
    found += faults_of(model, "")
    for number, panel in enumerate(dashboard["panels"]):
        if panel["type"] != "row":
            found += faults_of_panel(panel, f".panels[{number}]")
    return found
