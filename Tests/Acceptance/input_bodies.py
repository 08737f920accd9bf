"""What known clients send, made for one person at one time and place. Sources: those of
`RollcallCore/Input/InputPreset.swift`."""

import json
from datetime import datetime, timezone


def iso(at_ms, form="%Y-%m-%dT%H:%M:%S"):
    """A time in UTC without its zone and its milliseconds."""
    return datetime.fromtimestamp(at_ms / 1000, timezone.utc).strftime(form)


class Sent:
    """One request as a client makes it, and the answer that it waits for."""

    def __init__(self, method, path, body, answer, headers=None):
        self.method, self.path, self.body, self.answer = method, path, body, answer
        self.headers = headers or {}
        if isinstance(body, dict):
            self.headers.setdefault("Content-Type", "application/json")
            self.body = json.dumps(body)


def owntracks(who, at, lat, lng):
    return Sent("POST", "", {
        "_type": "location", "SSID": f"{lat}", "acc": 4, "alt": lat, "batt": 87, "bs": 1,
        "conn": "w", "lat": lat, "lon": lng, "tid": "JJ", "topic": f"owntracks/{who}/phone",
        "tst": at // 1000, "inregions": [f"{lat},{lng}"], "vel": 0}, b"[]")


def overland(who, at, lat, lng):
    feature = {
        "type": "Feature", "geometry": {"type": "Point", "coordinates": [lng, lat]},
        "properties": {
            "timestamp": iso(at) + "-0000", "altitude": lat, "speed": lng, "motion": ["driving"],
            "battery_state": "charging", "battery_level": 0.8, "device_id": who, "wifi": f"{lat}"}}
    return Sent(
        "POST", "", {"locations": [feature, feature], "trip": {"start_location": feature}},
        b'{"result":"ok"}')


def transistorsoft(who, at, lat, lng):
    record = {
        "event": "motionchange", "is_moving": False, "uuid": f"{at}", "timestamp": iso(at) + ".5Z",
        "coords": {"latitude": lat, "longitude": lng, "altitude": lat, "heading": lng},
        "activity": {"type": "still", "confidence": 100}, "extras": {"lat": lat},
        "battery": {"is_charging": False, "level": 0.79},
        "geofence": {"identifier": f"{lat},{lng}", "action": "ENTER"}}
    return Sent("POST", "", {"location": [record], "device_id": who}, b"{}")


def traccar_client(who, at, lat, lng):
    return Sent("POST", "", {
        "location": {
            "timestamp": iso(at) + ".862Z", "coords": {
                "latitude": lat, "longitude": lng, "accuracy": 5, "speed": lat, "heading": -1,
                "altitude": lng},
            "is_moving": False, "battery": {"level": 1, "is_charging": False}, "extras": {},
            "_": f"&id={who}&lat={lat}&lon={lng}&"}, "device_id": who}, b"")


def osmand(who, at, lat, lng):
    return Sent(
        "POST", "", f"id={who}&timestamp={at // 1000}&lat={lat}&lon={lng}&batt=87&speed={lat}", b"",
        {"Content-Type": "application/x-www-form-urlencoded"})


def osmand_query(who, at, lat, lng):
    return Sent(
        "GET", f"?id={who}&timestamp={at // 1000}&location={lat},{lng}&batt=87.0", None, b"")


def traccar_forward(who, at, lat, lng):
    return Sent("POST", "", {
        "position": {
            "id": 7, "attributes": {"batteryLevel": 64.0}, "deviceId": 3, "protocol": "osmand",
            "serverTime": iso(at) + ".000+00:00", "deviceTime": iso(at) + ".000+00:00",
            "fixTime": iso(at) + ".000+00:00", "outdated": False, "valid": True, "latitude": lat,
            "longitude": lng, "altitude": lat, "speed": lng, "address": f"{lat} {lng}"},
        "device": {"id": 3, "name": f"{lat},{lng}", "uniqueId": who, "status": "online"}}, b"")


def expo(who, at, lat, lng):
    return Sent("POST", "", {
        "device_id": who, "data": {"locations": [
            {"coords": {"latitude": lat, "longitude": lng, "altitude": lat}, "timestamp": at}]},
        "error": None, "executionInfo": {"taskName": f"{lat}", "appState": "background"}}, b"{}")


def home_assistant(who, at, lat, lng):
    return Sent("POST", f"/{who}", {
        "type": "update_location", "data": {
            "gps": [lat, lng], "gps_accuracy": 12, "battery": 45, "altitude": lat,
            "location_name": f"{lat},{lng}"}}, b"{}")


# The preset of each client, and the client.
CLIENTS = (
    ("owntracks", owntracks), ("overland", overland), ("transistorsoft", transistorsoft),
    ("traccar_client", traccar_client), ("traccar_client", osmand),
    ("traccar_forward", traccar_forward), ("expo", expo), ("home_assistant", home_assistant),
)
PRESETS = tuple(dict.fromkeys(preset for preset, _ in CLIENTS))
