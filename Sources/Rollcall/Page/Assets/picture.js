// A person's last hours as a picture: a lane each for statuses, gaps, contacts and nudges, hatching
// where nobody watched. What was not asked for stays empty.

import { h } from "./dom.js";
import { hatching } from "./marks.js";
import { momentPath } from "./strip.js";
import { clock, count, instant, span, spoken } from "./words.js";

/**
 * The lanes of a person. `events` are oldest first; `knownFrom` is where they begin, `keptFrom` where all that is
 * kept does. Each of their places leads to the fleet as it was at that minute, and so do the times below them.
 */
export function picture(person, events, { from, until, knownFrom, keptFrom, go, link }) {
  const place = (at) => Math.min(100, Math.max(0, ((at - from) / (until - from)) * 100));
  const world = { person, events, from, until, knownFrom, place };
  const windows = blindWindows(events, until);
  const lanes = [
    lane("Status", statusSegments(world), windows, world),
    lane("Gaps", gapBars(world), windows, world),
    lane("Contacts", contactTicks(world), windows, world),
    lane("Nudges", nudgeMarks(world), windows, world),
  ];
  const open = (event) => {
    const box = event.target.closest(".lane:not(.axis) > svg")?.getBoundingClientRect();
    if (!box) return;
    go(momentPath(from + ((event.clientX - box.left) / box.width) * (until - from)));
  };
  const begin = Math.max(from, keptFrom);
  const times = ticks(from, until).filter((at) => at >= begin);
  return h("figure", { class: "picture", role: "group", "aria-label": "Timeline", onclick: open },
    lanes, axis(world),
    h("ul", { class: "choices", "aria-label": "The fleet as it was" },
      h("li", { key: "words", class: "aside" }, "The fleet as it was at"),
      (times.length ? times : [begin]).map((at) => h("li", { key: at },
        h("a", { href: link(momentPath(at)) }, clock(at, until))))),
    h("figcaption", null,
      `The last ${span(until - from)}. Hatched: not watching.`,
      knownFrom > from + 1000 ? " Contacts before the first tick are not drawn." : null));
}

function lane(label, parts, windows, { place }) {
  const id = `hatch-${label}`;
  return h("div", { class: `lane lane-${label.toLowerCase()}`, key: label },
    h("span", { class: "label" }, label),
    h("svg", { role: "img", "aria-label": `${label}: ${parts.said}` },
      hatching(id), parts.drawn,
      windows.map((window) => h("rect", {
        key: `blind ${window.since}`, x: `${place(window.since).toFixed(3)}%`, y: 0,
        width: `${Math.max(0.25, place(window.until) - place(window.since)).toFixed(3)}%`,
        height: "100%", fill: `url(#${id})`,
      }, h("title", null, `not watching, from ${clock(window.since, window.until, true)}`)))));
}

function blindWindows(events, until) {
  const open = new Map();
  const found = [];
  for (const event of events) {
    if (event.kind !== "blind") continue;
    const since = instant(event.since) ?? instant(event.at);
    if (event.state === "begin") {
      open.set(event.reason, since);
    } else {
      open.delete(event.reason);
      found.push({ since, until: instant(event.at) });
    }
  }
  for (const since of open.values()) found.push({ since, until });
  return found;
}

// MARK: Lanes

/** The statuses a person had, as spans. */
export function spans(person, events, from, until) {
  const changes = events.filter((event) => event.kind === "status");
  const found = [];
  let begin = from;
  for (const change of changes) {
    const at = instant(change.at);
    if (at > begin) found.push({ status: change.from, begin, end: at });
    begin = Math.max(begin, at);
  }
  const current = changes.length ? changes[changes.length - 1].to : person.status;
  if (changes.length === 0) begin = Math.max(from, instant(person.since) ?? from);
  if (until > begin) found.push({ status: current, begin, end: until });
  return found;
}

function statusSegments({ person, events, from, until, place }) {
  const found = spans(person, events, from, until);
  const drawn = found.map((one) => {
    const x = place(one.begin);
    const width = place(one.end) - x;
    const label = one.status === "NOT_EXPECTED" ? "not expected" : one.status;
    return h("g", { key: `${one.begin}` },
      h("title", null,
        `${label}, ${span(one.end - one.begin)} from ${clock(one.begin, until, true)}`),
      h("rect", {
        x: `${x.toFixed(3)}%`, y: heights[one.status] ?? "30%",
        width: `${Math.max(width, 0.2).toFixed(3)}%`, height: "100%",
        class: `fill is-${one.status}`,
      }),
      fits(label, width) ? h("text", {
        x: `${(x + 0.8).toFixed(3)}%`, y: "72%", class: `on is-${one.status}`,
      }, label) : null);
  });
  const said = found.slice(-6)
    .map((one) => `${one.status} for ${span(one.end - one.begin)}`).join(", then ");
  return { drawn, said: said || "nothing known" };
}

// Whether a text has room in so many hundredths of a lane, about.
function fits(text, width) {
  const isNarrow = window.innerWidth <= 672;
  const lane = Math.min(window.innerWidth, 1472) - (isNarrow ? 45 : 165);
  return (width / 100) * lane > text.length * 7.5 + 8;
}

// Each status begins at a height of its own, so that the lane reads without colours.
const heights = {
  ONLINE: "0%", DEGRADED: "28%", UNKNOWN: "48%", OFFLINE: "62%", NOT_EXPECTED: "92%",
};

function gapBars({ events, until, place, from }) {
  const found = [];
  for (const event of events) {
    if (event.kind !== "gap") continue;
    const opened = instant(event.evidence?.opened_at) ?? (event.state === "open"
      ? instant(event.at) : null);
    let gap = found[found.length - 1];
    if (event.state === "open" || !gap) {
      gap = { begin: opened ?? from, end: null, cause: event.suspected, verdict: null };
      found.push(gap);
    }
    if (event.state === "verdict") {
      // A later gap may have opened before the verdict of this one.
      const mine = found.find((one) => one.begin === opened) ?? gap;
      mine.verdict = event.verdict;
      continue;
    }
    gap.cause = event.suspected;
    if (event.state === "closed") gap.end = instant(event.at);
  }
  const drawn = found.map((gap) => {
    const x = place(gap.begin);
    const width = Math.max(place(gap.end ?? until) - x, 0.4);
    const words = `${spoken(gap.cause)}${gap.verdict ? `, it was: ${spoken(gap.verdict)}` : ""}`;
    return h("g", { key: gap.begin },
      h("title", null, `${words}; ${span((gap.end ?? until) - gap.begin)}`),
      h("rect", {
        x: `${x.toFixed(3)}%`, y: "20%", width: `${width.toFixed(3)}%`, height: "60%", rx: 2,
        class: "gap-bar",
      }),
      fits(words, width)
        ? h("text", { x: `${(x + 0.8).toFixed(3)}%`, y: "67%", class: "on-gap" }, words) : null);
  });
  const said = found.length
    ? found.map((gap) => `${spoken(gap.cause)} from ${clock(gap.begin, until)}`).join(", ")
    : "none";
  return { drawn, said };
}

function contactTicks({ events, place }) {
  const contacts = events.filter((event) => event.kind === "contact");
  const seen = new Set();
  const drawn = [];
  for (const contact of contacts) {
    // A thousand ticks on some hundred pixels are one line as well.
    const x = place(instant(contact.received_at) ?? instant(contact.at)).toFixed(1);
    if (seen.has(x)) continue;
    seen.add(x);
    drawn.push(h("line", {
      key: x, x1: `${x}%`, x2: `${x}%`, y1: "15%", y2: "85%", class: "tick",
    }));
  }
  return { drawn, said: count(contacts.length, "contact", "contacts") };
}

const marks = { send: "nudged", dry_run: "nudged in a dry run", hold: "held" };

function nudgeMarks({ events, place }) {
  const found = events.filter(
    (event) => event.kind === "wake" || (event.kind === "nudge" && event.decision));
  const drawn = found.map((event) => {
    const x = `${place(instant(event.at)).toFixed(3)}%`;
    const words = event.kind === "wake" ? "woken" : marks[event.decision] ?? spoken(event.decision);
    const isSent = event.kind === "nudge" && event.decision !== "hold";
    return h("svg", { key: `${event.at} ${words}`, x, class: "mark", overflow: "visible" },
      h("title", null, words),
      h("path", { d: "M0 3 6 9 0 15-6 9z", class: isSent ? "mark-sent" : "mark-held" }));
  });
  const said = found.length ? count(found.length, "decision", "decisions") : "none";
  return { drawn, said };
}

// Times that stand below the lanes.
function ticks(from, until) {
  const minute = 60_000;
  const length = until - from;
  const most = window.innerWidth <= 480 ? 3 : 5;
  const every = [1, 2, 5, 15, 30, 60, 120, 360, 720, 1440]
    .find((minutes) => length / (minutes * minute) <= most) ?? 2880;
  const found = [];
  const step = every * minute;
  for (let at = Math.ceil(from / step) * step; at <= until; at += step) found.push(at);
  return found;
}

function axis({ from, until, place }) {
  const labels = ticks(from, until).map((at) => {
    const x = place(at);
    return h("text", {
      key: at, x: `${x.toFixed(2)}%`, y: 12,
      "text-anchor": x < 4 ? "start" : x > 96 ? "end" : "middle",
    }, clock(at, until));
  });
  return h("div", { class: "lane axis", "aria-hidden": "true", key: "axis" },
    h("span", { class: "label" }), h("svg", null, labels));
}
