// How the fleet stood in the last hours: a column for each sample, nothing where there is none, and
// hatching where nobody watched.

import { h } from "./dom.js";
import { hatching, nothing, shape, statuses } from "./marks.js";
import { blindReason, clock, count, instant, span } from "./words.js";

// From the ground up: who is silent stands on the line, where heights compare.
const order = ["OFFLINE", "UNKNOWN", "DEGRADED", "ONLINE"];
const drawn = new WeakMap();
const hoursAsked = 12 * 3_600_000;
const hoursLeast = 3_600_000;

/** The band of an answer of `/v1/status/history`. */
export function band(history, watch) {
  if (!drawn.has(history)) drawn.set(history, draw(history, watch));
  return drawn.get(history);
}

/** What is asked for: the last hours, or since there is anything if that is shorter. */
export function historyPath(watch, now) {
  const oldest = instant(watch.store?.oldest_at) ?? 0;
  const since = Math.max(now - hoursAsked, Math.min(oldest, now - hoursLeast));
  return `v1/status/history?since=${new Date(since).toISOString()}`;
}

/** How much of what was asked for lies behind the first that is known: before, nobody watched. */
export function seen(history, watch) {
  const first = instant(watch.store?.oldest_at) ?? instant(watch.started_at) ?? 0;
  return Math.max(0, instant(history.until) - Math.max(instant(history.since), first));
}

function draw(history, watch) {
  const from = instant(history.since);
  const until = instant(history.until);
  const step = history.step_seconds * 1000;
  const samples = history.samples ?? [];
  const place = (at) => ((at - from) / (until - from)) * 100;
  const total = (sample) => order.reduce((sum, word) => sum + (sample[word] ?? 0), 0);
  const most = Math.max(0, ...samples.map(total));
  if (most === 0 && !history.blind?.length) {
    return nothing("There is nothing to draw yet: the fleet is counted once a minute.");
  }
  const columns = samples.map((sample) => {
    const at = instant(sample.at);
    const begin = from + Math.floor((at - from) / step) * step;
    return column(sample, place(begin), (step / (until - from)) * 100, Math.max(1, most), until);
  });
  const windows = (history.blind ?? []).map((window) => blind(window, place, from, until));
  return h("figure", { class: "band" },
    h("svg", { role: "img", "aria-label": said(history, samples, watch) },
      hatching("band-hatch"), columns, windows),
    h("div", { class: "axis", "aria-hidden": "true" },
      h("svg", null, hours(from, until).map((at) => h("text", {
        x: `${place(at).toFixed(2)}%`, y: 12,
        "text-anchor": place(at) < 4 ? "start" : place(at) > 96 ? "end" : "middle",
      }, clock(at, at))))),
    h("figcaption", null,
      statuses.map((word) => h("span", null, shape(word), word)),
      h("span", null, h("svg", { class: "swatch", "aria-hidden": "true" },
        h("rect", { width: "100%", height: "100%", fill: "url(#band-hatch)" })), "not watching"),
      h("span", null, `at most ${count(most, "person", "people")}; empty: no sample`),
      history.truncated ? h("span", null, "cut short") : null),
    blindList(history, until));
}

function column(sample, x, width, most, now) {
  const parts = [];
  let top = 100;
  for (const word of order) {
    const number = sample[word] ?? 0;
    if (number === 0) continue;
    const height = Math.max((number / most) * 100, 2);
    top = Math.max(0, top - height);
    parts.push(h("rect", {
      x: `${x.toFixed(3)}%`, y: `${top.toFixed(2)}%`, width: `${(width + 0.04).toFixed(3)}%`,
      height: `${height.toFixed(2)}%`, class: `fill is-${word}`,
    }));
  }
  const words = order.filter((word) => sample[word] > 0).map((word) => `${sample[word]} ${word}`);
  const text = `${clock(instant(sample.at), now)}: ${words.join(", ") || "nobody active"}`;
  return h("g", { key: sample.at }, h("title", null, text), parts);
}

function blind(window, place, from, until) {
  const begin = Math.max(from, instant(window.since));
  const end = Math.min(until, instant(window.until) ?? until);
  if (end <= begin) return null;
  const width = Math.max(place(end) - place(begin), 0.3);
  return h("g", { key: `blind ${window.since} ${window.reason}` },
    h("title", null, `not watching ${between(window, until)}`),
    h("rect", {
      x: `${place(begin).toFixed(3)}%`, y: 0, width: `${width.toFixed(3)}%`, height: "100%",
      fill: "url(#band-hatch)",
    }));
}

function hours(from, until) {
  const hour = 3_600_000;
  const every = [1, 2, 3, 6, 12, 24].find((n) => (until - from) / (n * hour) <= 5) ?? 48;
  const found = [];
  for (let at = Math.ceil(from / (every * hour)) * every * hour; at <= until; at += every * hour) {
    found.push(at);
  }
  return found;
}

/** "02:00 to 02:14, 14 min: Rollcall was not running". */
export function between(window, now) {
  const since = instant(window.since);
  const until = instant(window.until);
  const end = until === null ? "until now" : `to ${clock(until, now)}`;
  const length = span((until ?? now) - since);
  return `${clock(since, now)} ${end}, ${length}: ${blindReason(window.reason)}`;
}

function blindList(history, now) {
  const windows = history.blind ?? [];
  if (windows.length === 0) return null;
  const shown = windows.slice(-3).reverse();
  const more = windows.length - shown.length;
  return h("ul", { class: "windows" },
    shown.map((window) => h("li", { key: window.since + window.reason },
      `Not watching ${between(window, now)}`)),
    more > 0 ? h("li", { key: "more" }, `and ${count(more, "window", "windows")} before`) : null);
}

function said(history, samples, watch) {
  const until = instant(history.until);
  const worst = samples.reduce((a, b) => ((b.OFFLINE ?? 0) > (a?.OFFLINE ?? 0) ? b : a), null);
  const windows = history.blind?.length ?? 0;
  return [
    `The last ${span(seen(history, watch))}`, count(samples.length, "sample", "samples"),
    worst ? `at most ${worst.OFFLINE} OFFLINE, at ${clock(instant(worst.at), until)}`
      : "nobody was OFFLINE",
    windows ? `${count(windows, "window", "windows")} without watching` : "watched throughout",
  ].join("; ");
}
