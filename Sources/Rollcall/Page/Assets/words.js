// Times, names and words as people read them. Times are those of who reads; UTC, as logs, alerts and the
// terminal have it, stands behind each.

import { h } from "./dom.js";

// MARK: Times

/** Milliseconds since 1970 of an RFC 3339 time; null for none. */
export function instant(text) {
  const at = text ? Date.parse(text) : NaN;
  return Number.isNaN(at) ? null : at;
}

/** "4 s", "3 min", "2 h 5 min", "3 d 4 h". */
export function span(milliseconds) {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 5 && seconds % 60 > 0) return `${minutes} min ${seconds % 60} s`;
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return minutes % 60 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
  const days = Math.floor(hours / 24);
  return hours % 24 ? `${days} d ${hours % 24} h` : `${days} d`;
}

/** As `span`, for what may be shorter than a second. */
export function length(milliseconds) {
  return milliseconds < 1000 ? "less than a second" : span(milliseconds);
}

// Clocks that differ by less are right enough.
const ahead = 60_000;
const months = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

const two = (number) => String(number).padStart(2, "0");

/** "03:12", with the day if it is not today's; with seconds if asked. In local time. */
export function clock(at, now, withSeconds = false) {
  const date = new Date(at);
  const time = [date.getHours(), date.getMinutes(), ...(withSeconds ? [date.getSeconds()] : [])]
    .map(two).join(":");
  if (date.toDateString() === new Date(now).toDateString()) return time;
  return `${date.getDate()} ${months[date.getMonth()]} ${time}`;
}

/** "21:27 UTC", for the same instant. */
export function universal(at, withSeconds = false) {
  return `${new Date(at).toISOString().slice(11, withSeconds ? 19 : 16)} UTC`;
}

/** Whether local time is another one than UTC. */
export function isElsewhere(at) {
  return new Date(at).getTimezoneOffset() !== 0;
}

/** "03:12 (21:27 UTC)": where one time stands alone. */
export function both(at, now, withSeconds = false) {
  const local = clock(at, now, withSeconds);
  return isElsewhere(at) ? `${local} (${universal(at, withSeconds)})` : `${local} UTC`;
}

function whole(at) {
  return `${new Date(at).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

/** "25 min ago", with the whole time behind it. What a clock that is a little ahead has stamped is of just now. */
export function ago(text, now) {
  const at = instant(text);
  return at !== null && at > now && at - now < ahead
    ? h("time", { datetime: text, title: whole(at) }, "just now") : fromNow(text, now);
}

/** "25 min ago", "in 5 min": of what may be still to come. */
export function fromNow(text, now) {
  const at = instant(text);
  if (at === null) return "never";
  const words = at > now ? `in ${span(at - now)}` : `${span(now - at)} ago`;
  return h("time", { datetime: text, title: whole(at) }, words);
}

/** "03:12", with the whole time behind it. */
export function time(text, now, withSeconds = false) {
  const at = instant(text);
  if (at === null) return "never";
  return h("time", { datetime: text, title: whole(at) }, clock(at, now, withSeconds));
}

/** "since 03:12, for 25 min". */
export function since(text, now) {
  const at = instant(text);
  if (at === null) return "since ever";
  return ["since ", time(text, now), `, for ${span(now - at)}`];
}

// MARK: Names

// Marks of direction and what cannot be seen would let a name look like another one.
const unseen = new RegExp("[\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u180e\\u200b-\\u200f"
  + "\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb]", "g");

/** A text of somebody else's, without what would hide or turn letters. */
export function plain(text) {
  return String(text).replace(
    unseen, (mark) => `⟨U+${mark.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);
}

/** A name of somebody else's, kept apart from the text around it. */
export function name(text) {
  return h("bdi", { class: "name" }, plain(text));
}

/** The path of a person's page. */
export function personPath(id) {
  return `people/${encodeURIComponent(id)}`;
}

/** A path with those parameters that say something. */
export function pathWith(path, parameters) {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(parameters)) {
    if (value !== null && value !== undefined && value !== "") query.set(key, value);
  }
  const text = query.toString();
  return text ? `${path}?${text}` : path;
}

/** "500", "1,000": as the server's sentences have it. */
export function amount(number) { return number.toLocaleString("en"); }

/** "1 person", "2 people". */
export function count(number, one, many) {
  return `${amount(number)} ${number === 1 ? one : many}`;
}

// MARK: Words of the house

/** `app_suspended` as it is read. */
export function spoken(word) {
  return plain(word ?? "unknown").replaceAll("_", " ");
}

// The server writes its own words in here, those of the terminal: see StatusPageAsset.
const house = {};

/** The causes that may be suspected. */
export const causes = Object.keys(house.reasons ?? {});

// Causes and verdicts as the server's sentences have them: after a number, or a colon.
const identifiers = new RegExp(`([\\d:] )(${[...causes, ...Object.keys(house.proofs ?? {})]
  .filter((one) => one.includes("_")).join("|")})\\b`, "g");

/** A sentence of the server's about people who are silent, with its causes as they are read. */
export function readable(text) {
  return plain(text ?? "").replace(identifiers, (_, before, word) => before + spoken(word));
}

const cutLeast = 8;
// A word with letters that are read from the right: nothing but a name can have these.
const turned = "[^\\s,;:.]*[\\u0590-\\u08ff\\ufb1d-\\ufdff\\ufe70-\\ufefc][^\\s,;:.]*";

// A name as it stands in a text, where a long one is cut.
function cut(name, text) {
  for (let length = name.length - 1; length >= cutLeast && !text.includes(name); length -= 1) {
    const start = `${name.slice(0, length)}…`;
    if (text.includes(start)) return start;
  }
  return name;
}

/** `readable`, with each of the names that stand in it kept apart from the text around it. */
export function readableWith(names, text) {
  const told = readable(text);
  const found = [...new Set(names.filter(Boolean).map((one) => cut(plain(one), told)))]
    .sort((a, b) => b.length - a.length).map((one) => one.replace(/[\^$\\.*+?()[\]{}|/]/g, "\\$&"));
  const whole = new RegExp(`(?<![\\p{L}\\p{N}])(${[...found, turned].join("|")})(?![\\p{L}\\p{N}])`, "u");
  return told.split(whole).map((part, place) => (place % 2 === 1 ? h("bdi", null, part) : part));
}

/** The names in an alert's words: what it is about, and whom. */
export function namesOf(one) {
  const { region, source, circle, responder_id: id } = one.labels ?? {};
  return [region, source, circle, id, ...(one.members ?? [])];
}

/** Why a cause is suspected. */
export function reason(cause, evidence) {
  if (evidence?.by_rule) return `${house.learned} (by the rules: ${spoken(evidence.by_rule)})`;
  if (cause === "no_network" && evidence?.network_type === "none") return house.noNetwork;
  const group = cause === "mass_gap" ? house.massGap[evidence?.group?.of] : null;
  return group ?? house.reasons[cause] ?? "for a reason that this page does not know";
}

/** What a verdict rests on, as a sentence. */
export function proof(verdict) {
  const words = house.proofs[verdict] ?? "this page does not know what that proves.";
  return words.charAt(0).toUpperCase() + words.slice(1);
}

// Which phones the odds are of.
const alike = { manufacturer: " on like phones", platform: " on this platform", suspicion: "" };

/** When people usually return from such a gap, and what it usually turns out to be. */
export function outlook(gap) {
  const { usual_return: usual, odds } = gap;
  const parts = [];
  if (usual) {
    const whose = usual.of === "responder" ? "their own" : "like phones'";
    parts.push(`Half of ${whose} ${usual.gaps} such gaps were over after `
      + `${length(usual.median_seconds * 1000)}.`);
  }
  if (odds) {
    const shares = Object.entries(odds.verdicts).map(
      ([verdict, number], order) => `${number} ${order === 0 ? "were " : ""}${spoken(verdict)}`);
    parts.push(`Of ${odds.gaps} such gaps${alike[odds.of] ?? ""} ${shares.join(", ")}.`);
  }
  return parts.join(" ");
}

/** Why the watch is blind. */
export function blindReason(word) {
  return house.blindness[word] ?? spoken(word);
}

const hour = 3_600_000;

/**
 * Why somebody was not nudged `at` an instant, as exactly as is known: `until` when they are not, `frozenUntil`
 * when nobody is, `before` the nudge that came before, whether all was a dry run, and whether nobody watched.
 */
export function holdReason(word, { at, until, frozenUntil, before, isDry, isUnwatched } = {}) {
  if (word === "throttled") {
    if (frozenUntil && instant(until) >= instant(frozenUntil)) {
      return "nudges are frozen, because the clock stepped or the store is an older one";
    }
    if (before?.asked) return "somebody had asked them not long before";
    // Who was asked by somebody is left alone for an hour at most.
    if (before || !frozenUntil && instant(until) - instant(at) > hour) {
      return isDry ? "they would have been nudged not long before, in a dry run"
        : "they were nudged not long before";
    }
    if (!frozenUntil) return "they were nudged, or asked by somebody, not long before";
  }
  if (word === "blind" && isUnwatched) return "Rollcall was not watching";
  return house.holds[word] ?? spoken(word);
}

/** The id, region or circle of a label, or `fleet` where an alert is about all. */
export function subject(labels) {
  return labels?.region ?? labels?.source ?? (labels?.cell ? `cell ${labels.cell}` : "fleet");
}

/** What a phone had said of itself, most telling first. */
export function facts(evidence) {
  if (!evidence) return "";
  const parts = [];
  if (evidence.permission_status) parts.push(`permission ${spoken(evidence.permission_status)}`);
  if (evidence.location_services !== undefined) {
    parts.push(`location services ${evidence.location_services ? "on" : "off"}`);
  }
  if (evidence.app_state) parts.push(`app in the ${spoken(evidence.app_state)}`);
  if (evidence.network_type) {
    const isNone = evidence.network_type === "none";
    parts.push(isNone ? "no network" : `network ${spoken(evidence.network_type)}`);
  }
  if (evidence.power_mode === "low_power") parts.push("saving power");
  const depth = evidence.queue_depths?.join(" ") ?? evidence.queue_depth;
  if (depth !== undefined) parts.push(`queue depth ${depth}`);
  if (evidence.battery_level !== undefined) {
    parts.push(`battery ${Math.round(evidence.battery_level * 100)} %`);
  }
  return parts.join(", ");
}
