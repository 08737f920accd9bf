// What several views show alike: somebody silent, an alert, a way to more.

import { alertActions } from "./act.js";
import { h } from "./dom.js";
import { severity } from "./marks.js";
import {
  ago, amount, clock, count, instant, name, namesOf, outlook, personPath, plain, readable, readableWith, since,
  span, spoken, subject, time,
} from "./words.js";

/** A link to a person. */
export function person(id, link) {
  return h("a", { href: link(personPath(id)), class: "person" }, name(id));
}

/** A link to who is in a region. */
export function region(text, link, path = "people") {
  return h("a", { href: link(`${path}?region=${encodeURIComponent(text)}`) }, name(text));
}

/** "last seen 25 min ago", or that nothing ever came. */
export function lastSeen(gap, now) {
  const at = gap.evidence?.last_contact_at;
  return at ? ["last seen ", ago(at, now)] : ["never seen; expected ", ago(gap.opened_at, now)];
}

// The server's words without what stands beside them in bold.
function because(text) {
  const rest = text.replace(/^Suspected: [\w ]+( \(before: [\w ]+\))?, because /, "");
  return rest.charAt(0).toUpperCase() + rest.slice(1);
}

/** Why somebody is thought to be silent, in words; in short without what else the phone said. */
export function why(gap, isBrief) {
  const whole = because(readable(gap.text));
  return isBrief ? whole.replace(/ (Last known:|The phone had said nothing) .*$/s, "") : whole;
}

/** What tells gaps apart, also those of a fleet of many cells: each cell counts its own. */
export function gapKey(gap) {
  return `${gap.responder_id} ${gap.gap}`;
}

/** Somebody who is silent: who, since when, why. */
export function silent(gap, { now, link, isBrief }) {
  return h("li", { key: gapKey(gap), class: "gap", "data-responder": gap.responder_id },
    h("div", { class: "who" }, person(gap.responder_id, link),
      h("span", { class: "aside" }, "in ", region(gap.region, link, "silent"),
        gap.platform && gap.platform !== "unknown" ? `, ${spoken(gap.platform)}` : null)),
    h("div", { class: "when" }, h("strong", null, lastSeen(gap, now)),
      h("span", { class: "aside" }, "silent since ", time(gap.offline_at, now),
        gap.blind_seconds > 0 ? `; of that ${span(gap.blind_seconds * 1000)} not watched` : null)),
    h("div", { class: "why" }, h("strong", null, `suspected: ${spoken(gap.suspected)}`),
      h("span", { class: "aside" }, why(gap, isBrief)), follows(gap)));
}

/** What usually follows a gap that is open; nothing where too little is known. */
export function follows(gap) {
  const words = outlook(gap);
  return words ? h("span", { class: "aside outlook" }, words) : null;
}

// What a verdict rests on, in the server's words.
function outcome(gap, isBrief) {
  const whole = readable(gap.text).replace(
    /^It was: [\w ]+ \(suspected: ([\w ]+)\)\. (.)/, (_, cause, first) =>
      `Suspected: ${cause}. ${first.toUpperCase()}`);
  return isBrief ? `${whole.split(". ").slice(0, 2).join(". ").replace(/\.$/, "")}.` : whole;
}

/** How long something lasted that we watched; by the clock too, if that is not the same. */
export function lasted(watched, opened, closed) {
  const wall = instant(closed) - instant(opened);
  const isSame = instant(opened) === null || instant(closed) === null
    || Math.abs(wall - watched) <= 1000;
  return isSame ? span(watched) : `${span(watched)} that was watched (${span(wall)} by the clock)`;
}

/** Somebody who is back, and what it turned out to be. */
export function returned(gap, { now, link, isBrief }) {
  const isGone = gap.verdict === "duty_ended";
  const length = lasted(gap.length_seconds * 1000, gap.opened_at, gap.closed_at);
  const verdict = gap.verdict === null
    ? ["verdict by ", clock(instant(gap.closed_at) + 120_000, now, true)]
    : `verdict: ${spoken(gap.verdict)}`;
  const words = gap.verdict === null
    ? `suspected: ${spoken(gap.suspected)}`
    : outcome(gap, isBrief);
  return h("li", { key: gapKey(gap), class: "gap", "data-responder": gap.responder_id },
    h("div", { class: "who" }, person(gap.responder_id, link),
      h("span", { class: "aside" }, "in ", region(gap.region, link, "silent"))),
    h("div", { class: "when" },
      h("strong", null, isGone ? "left " : "back ", ago(gap.closed_at, now)),
      h("span", { class: "aside" }, `after ${length} out of contact`)),
    h("div", { class: "why" }, h("strong", null, verdict),
      h("span", { class: "aside" }, words)));
}

/** Alerts, the gravest first; what fires before what may; of the most people; the oldest. */
export function worstFirst(alerts) {
  const rank = (one) => (({ critical: 0, warning: 1, info: 2 })[one.severity] ?? 3) * 2
    + (one.state === "firing" ? 0 : 1);
  const begin = (one) => one.starts_at ?? one.active_at ?? "";
  return [...alerts].sort((a, b) => rank(a) - rank(b) || (b.count ?? 0) - (a.count ?? 0)
    || begin(a).localeCompare(begin(b)));
}

// Where a message to a receiver stands. Told is only who took it.
const ways = {
  taken: (one, now) => ["told ", receiver(one), " ", ago(one.taken_at, now)],
  waiting: (one, now) => [receiver(one), " is not told yet: it was decided ",
    ago(one.decided_at, now), " and waits", next(one, now)],
  trying: (one, now) => [receiver(one), " has not taken it: ",
    count(one.attempts ?? 0, "attempt", "attempts"), error(one), next(one, now)],
  refused: (one, now) => [receiver(one), " refuses it", error(one), next(one, now)],
  expired: (one) => [receiver(one), " never took it; given up after ",
    count(one.attempts ?? 0, "attempt", "attempts"), error(one)],
  dropped: (one) => [receiver(one), " was not told: it was given up before it was sent"],
};

function receiver(one) {
  return [name(one.receiver), one.target ? ` (address ${one.target + 1})` : null,
    one.storm ? ` (by storm ${one.storm})` : null,
    one.fallback_of ? [" (fallback for ", name(one.fallback_of), ")"] : null];
}

function error(one) {
  return one.last_error ? `, the last error: ${plain(one.last_error)}` : null;
}

function next(one, now) {
  const at = instant(one.next_attempt_at);
  if (at === null) return null;
  return at > now ? `; the next try is in ${span(at - now)}` : "; the next try is due";
}

// Alerts that are told from memory only say who took them.
function receivers(alert) {
  return alert.receivers
    ?? (alert.told ?? []).map((one) => ({ ...one, state: "taken", taken_at: one.at }));
}

/** Who was told of an alert, who could not be, and who is not to be, as sentences. */
export function telling(alert, now, silences = []) {
  if (alert.state !== "firing") return null;
  const told = receivers(alert).map((one) => h("li", {
    key: `told ${one.receiver} ${one.target ?? 0}`, class: `way is-${one.state}`,
  }, (ways[one.state] ?? ((it) => [receiver(it), `: ${spoken(it.state)}`]))(one, now)));
  const muted = (alert.muted ?? []).map((one) => h(
    "li", { key: `muted ${one.receiver}`, class: "muted" },
    name(one.receiver), " is not told: ", mute(one), whose(one, alert, silences, now)));
  if (isForNobody(alert)) {
    return h("ul", { class: "telling" }, taken(alert, now),
      h("li", { class: "way is-none" }, "no receiver is set for it: nobody is told"));
  }
  const later = (alert.escalations ?? []).map((one) => h(
    "li", { key: `later ${one.receiver}`, class: "muted" },
    name(one.receiver), " is told at ", time(one.at, now), " unless somebody takes it"));
  return h("ul", { class: "telling" }, taken(alert, now), told, later, muted);
}

// Who sees to an alert, in their own words if they left some.
function taken(alert, now) {
  const one = alert.taken;
  if (!one) return h("li", { key: "taken", class: "way is-untaken" }, "nobody sees to it yet");
  return h("li", { key: "taken", class: "way is-taken" },
    name(one.by), " sees to it until ", time(one.until, now),
    one.note ? `: ${plain(one.note)}` : null);
}

// Who silenced it, until when, and why.
function whose(one, alert, silences, now) {
  const found = silences.find((silence) => silence.id === one.silence && isOfSame(silence, alert));
  return found ? [" by ", name(found.author), " until ", time(found.ends_at, now), ": ",
    plain(found.comment)] : null;
}

/** Why a receiver is not told. */
export function mute(one) {
  if (one.reason === "silence") return `silenced (silence ${one.silence})`;
  if (one.reason === "inhibited") {
    const by = one.by ?? {};
    return ["inhibited by ", plain(by.alertname ?? "another"), " of ", name(subject(by))];
  }
  if (one.reason === "storm") return `told together with others, by storm ${one.storm}`;
  return one.reason === "blind" ? "Rollcall is not watching" : spoken(one.reason);
}

/** Where it stands what to do, if the settings say. */
export function runbook(one) {
  const address = one.annotations?.runbook_url ?? "";
  return /^https?:\/\//.test(address)
    ? h("p", { key: "runbook" }, h("a", { href: address, rel: "noreferrer" }, "runbook")) : null;
}

// Of a fleet of many cells each silences its own.
function isOfSame(silence, alert) {
  return (silence.cell ?? null) === (alert.cell ?? null);
}

/** The silence in force that mutes an alert for the longest; undefined without one. */
export function silenceOf(one, silences) {
  const key = ["region", "source", "suspected", "cell"].find((label) => one.labels?.[label] !== undefined);
  const title = key ? `${one.alertname}{${key}="${one.labels[key]}"}` : one.alertname;
  // The first to end stands first.
  return silences.filter((silence) => isOfSame(silence, one) && silence.muting?.includes(title)).at(-1);
}

/** Whether somebody has taken what was told of an alert. */
export function isTaken(alert) {
  return receivers(alert).some((one) => one.state === "taken");
}

/** Whether no receiver is set for an alert that is not muted either. */
export function isForNobody(alert) {
  return receivers(alert).length === 0 && (alert.muted ?? []).length === 0
    && (alert.escalations ?? []).length === 0;
}

/** The receivers that were tried and have not taken an alert. */
export function notTaking(alert) {
  return receivers(alert).filter((one) => ["refused", "expired", "dropped"].includes(one.state)
    || (one.state === "trying" && one.attempts > 0)).map((one) => one.receiver);
}

/** How many an alert is about, of how many, and what it may be at most. */
export function numbersOf(one) {
  if (one.total === undefined || one.total === null) return null;
  const of = `${amount(one.count)} of ${amount(one.total)}`;
  return one.alertname === "HighOfflineRate" ? `${of}, that is ${(one.value * 100).toFixed(1)} %` : of;
}

/** An alert that is pending or fires. */
export function alert(one, { now, link, isBrief, silences = [] }) {
  const notes = one.annotations ?? {};
  const isFiring = one.state === "firing";
  const begin = isFiring ? one.starts_at : one.active_at;
  const isMuted = isFiring && receivers(one).length === 0 && (one.muted ?? []).length > 0;
  const silence = isFiring ? silenceOf(one, silences) : undefined;
  return h("li", {
    key: `${one.cell ?? ""} ${JSON.stringify(one.labels)}`, class: `alert is-${one.state} severity-${one.severity}`,
    "data-card": one.incident ?? "pending", tabindex: -1,
  },
  h("div", { class: "what" }, severity(one.severity),
    h("span", { class: "state" }, silence
      ? [one.state, ", silenced until ", time(silence.ends_at, now)]
      : isMuted ? `${one.state}, muted` : one.state),
    isBrief ? null : [h("span", { class: "alertname" }, plain(one.alertname)), " ",
      name(subject(one.labels))],
    h("span", { class: "summary" },
      one.incident
        ? h("a", { href: link(`alerts?incident=${one.cell ? one.key : one.incident}`) },
          readableWith(namesOf(one), notes.summary))
        : readableWith(namesOf(one), notes.summary ?? one.alertname),
      " ", h("span", { class: "aside" }, since(begin, now))),
    h("span", { class: "aside which" }, one.cell ? `cell ${plain(one.cell)} · ` : null,
      one.incident ? `incident ${one.incident} · ` : null, numbersOf(one))),
  !isBrief && notes.description ? h("p", { class: "aside" }, readableWith(namesOf(one), notes.description)) : null,
  telling(one, now, silences),
  alertActions(one, now));
}

/** A button that shows more of a list. */
export function more(shown, all, onclick, what = "more") {
  if (all !== null && shown >= all) return null;
  const of = all === null ? "" : ` of ${amount(all)}`;
  return h("p", { class: "more" },
    h("button", { type: "button", onclick }, `Show ${what}`),
    h("span", { class: "aside" }, `${amount(shown)}${of} shown`));
}

/** A heading with a part of the page under it. */
export function section(id, heading, beside, ...children) {
  return h("section", { key: id, class: `part part-${id}`, "aria-labelledby": `part-${id}` },
    h("header", null, h("h2", { id: `part-${id}` }, heading),
      beside ? h("div", { class: "beside" }, beside) : null),
    children);
}

/** "6 silent: 4 low power, 2 no network" of causes and their counts. */
export function causes(counts) {
  return [...counts].sort((a, b) => b[1] - a[1])
    .map(([cause, number]) => `${amount(number)} ${spoken(cause)}`).join(", ");
}

/** What stands in the place of gaps where people are OFFLINE without one. */
export const noGap = "No gap is open for them: their status comes from the backend, or from new "
  + "settings.";

/** What is suspected of all who are silent, as of the instant that counted them. */
export function suspected({ gaps, responders }) {
  if (!gaps || gaps.open === 0 || responders.OFFLINE === 0) return null;
  // A gap stays open when somebody was heard too late to be ONLINE, and settings open none.
  const of = gaps.open === responders.OFFLINE ? ""
    : ` of the ${count(gaps.open, "gap that is", "gaps that are")} open`;
  return h("p", { class: "causes" }, `Suspected${of}: ${causes(Object.entries(gaps.suspected))}.`);
}

export { count };
