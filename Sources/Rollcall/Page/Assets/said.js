// What a screen reader is told without being asked: only what changes what somebody does.

import { isTaken, silenceOf } from "./rows.js";
import { readable } from "./words.js";

let before = null;

// What fired in a cell that does not answer now is not over for that.
function unheard(alerts) {
  const lacks = alerts?.unavailable ?? [];
  return [...before?.firing ?? []].filter(([, one]) => lacks.includes(one.cell));
}

/**
 * Compares with the last time and says what is new. Why nobody is waited for any more only the alerts of
 * now tell: with older ones that is said once they are read.
 */
export function announce(state, areAlertsOld = false) {
  const after = {
    isLost: state.failure !== null,
    isFleetAway: state.isFleetAway,
    isWatching: state.status?.watching ?? true,
    unreached: state.status?.nobody_reached ?? null,
    firing: new Map([...unheard(state.alerts), ...(state.alerts?.alerts ?? [])
      .filter((one) => one.state === "firing").map((one) => [keyOf(one), {
        words: readable(one.annotations?.summary ?? one.alertname), cell: one.cell ?? "fleet cell",
      }])]),
    ways: new Map((state.alerts?.alerts ?? []).filter((one) => one.state === "firing")
      .map((one) => [keyOf(one), isTaken(one) ? "taken"
        : one.taken ? "seen to" : silenceOf(one, state.silences) ? "silenced" : one.muted?.length ? "muted" : "open"])),
  };
  if (areAlertsOld && before !== null) {
    Object.assign(after, { unreached: before.unreached, firing: before.firing, ways: before.ways });
  }
  const words = before === null ? [] : differences(before, after);
  before = after;
  if (words.length === 0) return;
  document.getElementById("said").textContent = words.slice(0, 4).join(". ");
}

// Of a fleet of many cells each counts its own.
function keyOf(one) {
  const known = one.incident ?? one.alertname;
  return one.cell ? `${one.cell} ${known}` : known;
}

function differences(a, b) {
  const words = [];
  if (b.isLost !== a.isLost) {
    words.push(b.isLost ? "The server does not answer this page" : "The server answers again");
  }
  if (b.isFleetAway !== a.isFleetAway) {
    words.push(b.isFleetAway ? "The fleet cell does not answer" : "The fleet cell answers again");
  }
  if (b.isWatching !== a.isWatching) {
    words.push(b.isWatching ? "Watching again" : "Not watching: statuses are the last known ones");
  }
  if ((b.unreached === null) !== (a.unreached === null)) {
    words.unshift(b.unreached ? "Nobody has been reached by a critical alert"
      : reached(a.unreached, b.ways));
  }
  for (const [incident, one] of b.firing) {
    if (!a.firing.has(incident)) words.push(`Alert fires: ${one.words}`);
  }
  for (const [incident, one] of a.firing) {
    if (!b.firing.has(incident)) words.push(`Over: ${one.words}`);
  }
  return words;
}

// Why it is not said any more that nobody has been reached.
function reached(unreached, ways) {
  const found = (unreached.incidents ?? []).map((incident) => ways.get(incident) ?? "over");
  if (found.includes("silenced")) return "Silenced; nobody was told";
  if (found.includes("muted")) return "Muted; nobody was told";
  if (found.length === 0 || found.includes("open")) {
    return "Rollcall does not say any more that nobody has been reached";
  }
  if (found.includes("seen to")) return "Somebody sees to it";
  return found.includes("taken") ? "Somebody has been reached"
    : "The critical alert that nobody took is over";
}
