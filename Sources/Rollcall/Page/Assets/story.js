// A person's events as sentences, newest first; contacts that say the same stand in one.

import { h } from "./dom.js";
import { lasted } from "./rows.js";
import { momentPath } from "./strip.js";
import {
  blindReason, clock, facts, holdReason, instant, length, plain, proof, readable, reason, span,
  spoken, time,
} from "./words.js";

const origins = {
  contact: "the phone was heard",
  deadline: "no contact within the threshold",
  server: "the backend said so",
  duty: "duty or sharing changed",
  policy: "the settings changed",
};

const followed = {
  located: () => "a location came",
  contact: (within) => `contact came ${within}, but no newer location`,
  silent: (within) => `nothing came ${within}`,
  unseen: (within) => `nothing was seen ${within}, but Rollcall was not watching for a part of it`,
};
const followedFor = 30 * 60_000;

// How long it was waited for: half an hour, or less if the next nudge came before.
function waited(sentAt, at) {
  return sentAt === null || at - sentAt > followedFor - 1000 ? "within half an hour"
    : `in the ${span(at - sentAt)} until the next nudge`;
}

/** The sentences of events that are oldest first, newest first; what is held for one reason is one of them. */
export function story(events, gaps) {
  const parts = [];
  let run = null;
  let known = null;
  let suspected = null;
  let sentAt = null;
  let before = null;
  let held = null;
  for (const event of events) {
    if (event.kind === "contact") {
      const says = JSON.stringify(event.facts ?? {}, (key, value) => (
        key === "battery_level" || key === "queue_depth" ? undefined : value));
      if (run?.says === says) {
        run.last = event;
        run.count += 1;
        continue;
      }
      // What was said before need not be said again.
      const isKnown = says === known;
      known = says;
      run = { says, isKnown, first: event, last: event, count: 1, at: event.at };
      parts.push(run);
      continue;
    }
    if (event.kind === "nudge" && event.decision === "hold") {
      const why = holdReason(event.reason, { before, isDry: before?.decision === "dry_run" });
      if (held?.why === why) {
        held.last = event;
        held.count += 1;
        continue;
      }
      held = { why, first: event, last: event, count: 1, at: event.at, kind: "nudge" };
      parts.push(held);
      continue;
    }
    run = held = null;
    const words = sentence(event, gaps, suspected, sentAt);
    if (event.kind === "gap") suspected = event.suspected;
    if (event.kind === "nudge" && event.decision === "send") sentAt = instant(event.at);
    if (event.kind === "nudge" && event.decision && event.decision !== "hold") before = event;
    if (words) parts.push({ at: event.at, words, kind: event.kind, event });
  }
  return parts.reverse();
}

/** One of the parts as a line; of what changed the time leads to the fleet as it was then. */
export function line(part, place, now, link) {
  const isRun = part.count !== undefined;
  const isHeld = part.why !== undefined;
  const at = isRun ? part.last.at : part.at;
  return h("li", { key: `${part.at} ${place}`, class: isRun && !isHeld ? "contacts" : `is-${part.kind}` },
    h("span", { class: "stamp" }, ["status", "gap"].includes(part.kind)
      ? h("a", { href: link(momentPath(instant(at))) }, time(at, now, true)) : time(at, now, true)),
    h("span", null, isHeld ? holds(part, now) : isRun ? contacts(part, now) : part.words));
}

function holds({ why, first, last, count }, now) {
  return count === 1 ? `Not nudged: ${why}; ${age(last)}.`
    : `Not nudged, ${count} times since ${clock(instant(first.at), now, true)}: ${why}.`;
}

// How old the location was that a nudge would have renewed.
function age(event) {
  return `the location was ${span((event.stale_seconds ?? 0) * 1000)} old`;
}

function contacts(run, now) {
  const known = run.isKnown ? "" : facts(run.last.facts);
  const words = known ? `: ${known}` : "";
  if (run.count === 1) return `Contact${words}.`;
  const first = instant(run.first.at);
  const every = (instant(run.last.at) - first) / (run.count - 1);
  return `${run.count} contacts since ${clock(first, now, true)}, `
    + `${every < 1000 ? "several a second" : `about every ${span(every)}`}${words}.`;
}

function sentence(event, gaps, suspected, sentAt) {
  switch (event.kind) {
    case "status": {
      const shown = (word) => (word === "NOT_EXPECTED" ? "not expected" : word);
      const why = origins[event.origin] ?? spoken(event.origin);
      return `${shown(event.from)} → ${shown(event.to)}: ${why}.`;
    }
    case "gap": return gap(event, gaps, suspected);
    case "blind":
      return event.state === "begin"
        ? `Not watching since ${clock(instant(event.since), instant(event.at), true)}: `
          + `${blindReason(event.reason)}.`
        : "Watching again.";
    case "told": return told(event);
    case "server":
      return `The backend's own status: ${spoken(event.from)} → ${spoken(event.to)}.`;
    case "nudge": return nudge(event, sentAt);
    case "wake": return "Woken silently: somebody looked.";
    default: return spoken(event.kind);
  }
}

function gap(event, gaps, suspected) {
  const cause = spoken(event.suspected);
  switch (event.state) {
    case "open":
      return `Out of contact; suspected: ${cause} (${reason(event.suspected, event.evidence)}).`;
    case "judged": return event.suspected === suspected ? `Still suspected: ${cause}.`
      : `Now suspected: ${cause} (${reason(event.suspected, event.evidence)}).`;
    case "closed": {
      const watched = event.evidence?.length_ms ?? 0;
      return `Back; the gap lasted ${watched < 1000 ? length(watched)
        : lasted(watched, event.evidence?.opened_at, event.at)}.`;
    }
    case "verdict": {
      const opened = event.evidence?.opened_at;
      const known = gaps.find((one) => one.opened_at === opened && one.verdict);
      return readable(known?.text
        ?? `It was: ${spoken(event.verdict)} (suspected: ${cause}). ${proof(event.verdict)}`);
    }
    default: return `Gap: ${spoken(event.state)}.`;
  }
}

function told(event) {
  const parts = [];
  for (const key of ["duty_state", "region", "sharing", "platform"]) {
    if (event[key]) parts.push(`${spoken(key)} ${plain(event[key])}`);
  }
  if (event.circles) parts.push(`circles ${event.circles.map(plain).join(", ") || "none"}`);
  if (event.paused_until) parts.push(`paused until ${event.paused_until.slice(0, 16)} UTC`);
  return parts.length ? `The backend told: ${parts.join("; ")}.` : null;
}

function nudge(event, sentAt) {
  if (event.followed) {
    const words = followed[event.followed]?.(waited(sentAt, instant(event.at)));
    return `After the nudge: ${words ?? spoken(event.followed)}.`;
  }
  const old = age(event);
  const isDry = event.decision === "dry_run" ? " in a dry run: nothing was sent" : "";
  return `Nudged${isDry}; ${old}.`;
}
