// Regions by time: a row for each region, a cell for each step, told apart by fill and pattern. One tab
// stop leads in, arrows lead around, Enter opens the minute.

import { h } from "./dom.js";
import { nothing } from "./marks.js";
import { between } from "./band.js";
import { amount, both as bothOf, clock, instant, name, pathWith, plain, span } from "./words.js";

// A little less, so that the server's now, which is later, still gives steps of five minutes.
const hoursAsked = 6 * 3_600_000 - 60_000;
const hoursLeast = 3_600_000;
const minute = 60_000;
const regionsMore = 200;
const spellsShown = 6;
// Columns that the window has room for.
const widths = [[1000, 73], [640, 37], [0, 19]];
// The kinds of cells with what the legend says of them.
const kinds = {
  dark: "nobody can be reached", unstaffed: "unstaffed", many: "half or more silent or late",
  some: "a quarter or more", few: "a tenth or more", well: "well", empty: "nobody expected", blind: "not watching",
  none: "not counted",
};
// Where a column holds several steps, what we did not see does not look well.
const gravity = ["dark", "unstaffed", "many", "some", "few", "blind", "well", "empty", "none"];
const drawn = new WeakMap();
// The cell that a tab leads to, by its region and place; null for the newest of the first row.
let stop = null;

// MARK: Asking

/** What is asked for: the last hours, or since there is anything if that is shorter. */
export function stripPath({ status: watch, now, memory }) {
  const oldest = instant(watch?.store?.oldest_at) ?? 0;
  const since = Math.max(now() - hoursAsked, Math.min(oldest, now() - hoursLeast));
  return pathWith("v1/regions/history", {
    since: new Date(since).toISOString(), limit: memory?.areAllInStrip ? regionsMore : null,
  });
}

/** Asks for it into `memory.strip`, twice a minute; at once when a window begins or ends, and often while cells are away. */
export async function loadStrip(context) {
  const { askIfThere, every, memory, status: watch, unlit = [] } = context;
  // A cell that does not answer is known to be silent some seconds later.
  const seconds = unlit.length ? 5 : 30;
  await every(`strip ${watch.watching} ${Boolean(memory.areAllInStrip)} ${unlit}`, seconds, async () => {
    memory.strip = await askIfThere(stripPath(context));
    // Of how many of each region nothing is known, since their cells say nothing.
    const now = unlit.length && memory.strip ? await askIfThere("v1/regions") : null;
    const told = new Map((now?.regions ?? []).map((one) => [one.region, one]));
    // An older server does not tell.
    if (![...told.values()].some((one) => one.unknown > 0)) return;
    for (const one of memory.strip.regions.filter((region) => region.now)) {
      one.now.unknown = told.get(one.region)?.unknown ?? 0;
      one.now.knownOnline = told.get(one.region)?.known_online;
    }
  });
}

// MARK: Times

/** "21:12" by this browser's clock. */
export function local(at) {
  return clock(at, at);
}

/** "21:12 (19:12 UTC)"; where both are the same, "19:12 UTC". */
export function both(at) {
  return bothOf(at, at);
}

// MARK: Cells

/** What an answer of `/v1/regions/history` comes to: for each region its cells, at most `columns`. */
export function rowsOf(history, columns) {
  const step = history.step_seconds * 1000;
  const first = instant(history.first_step_at);
  const steps = history.samples.length;
  const each = Math.ceil(steps / columns);
  const windows = (history.blind ?? []).map((one) => [
    instant(one.since), instant(one.until) ?? Infinity]);
  // By the clock, so that a column holds the same steps as time goes on.
  const begins = [];
  for (let from = 0; from < steps;) {
    const to = Math.min(steps, from + each - (Math.round(first / step) + from) % each);
    begins.push([from, to]);
    from = to;
  }
  return history.regions.map((region) => ({
    region,
    cells: begins.map(([from, to]) => {
      let worst = null;
      for (let place = from; place < to; place += 1) {
        const one = cell(history, region, place, first + place * step, step, windows);
        if (worst === null || gravity.indexOf(one.kind) < gravity.indexOf(worst.kind)
          || (one.kind === worst.kind && one.silent > worst.silent)) worst = one;
      }
      const begin = first + from * step;
      const end = first + to * step;
      return { ...worst, begin, end, ...marks(region, begin, end) };
    }),
  }));
}

function cell(history, region, place, at, step, windows) {
  const number = (list) => list?.[place] ?? 0;
  const people = region.responders;
  const online = number(people.ONLINE);
  const active = online + number(people.DEGRADED) + number(people.UNKNOWN)
    + number(people.OFFLINE);
  const found = {
    at: at + number(region.minute) * minute, online, active, silent: active - online,
  };
  if (history.samples[place] === 0) {
    const isBlind = windows.some(([since, until]) => since < at + step && until > at);
    return { ...found, kind: isBlind ? "blind" : "none" };
  }
  // What was one of too many regions then is not known by itself.
  if (isUnknown(region, place)) return { ...found, kind: "none" };
  if (active === 0) return { ...found, kind: number(region.unstaffed) ? "unstaffed" : "empty" };
  if (online === 0) return { ...found, kind: "dark" };
  const share = found.silent / active;
  return { ...found, kind: share >= 0.5 ? "many" : share >= 0.25 ? "some" : share >= 0.1 ? "few" : "well" };
}

function isUnknown(region, place) {
  const lists = [...Object.values(region.responders), region.not_expected, region.unstaffed];
  const told = lists.filter(Boolean);
  return told.length > 0 && told.every((list) => list[place] === null);
}

function marks(region, begin, end) {
  const within = (text) => instant(text) >= begin && instant(text) < end;
  const fired = region.alerts.filter((one) => within(one.starts_at));
  const paged = region.alerts.filter((one) => one.paged_at && within(one.paged_at));
  return { fired, paged };
}

function words(one, watch) {
  const what = {
    dark: `nobody of ${amount(one.active)} can be reached`, unstaffed: "unstaffed: nobody is on duty",
    empty: "nobody expected", blind: "not watching", none: "not counted",
  }[one.kind] ?? `${amount(one.online)} of ${amount(one.active)} ONLINE`;
  const alerts = [
    ...one.fired.map((alert) => `${plain(alert.alertname)} fired, incident ${alert.incident}`),
    ...one.paged.map((alert) => `told of incident ${alert.incident}`),
  ];
  return [`${watch}, ${local(one.begin)} to ${local(one.end)}: ${what}`, ...alerts].join("; ");
}

// MARK: Drawing

/** The strip of an answer of `/v1/regions/history`. */
export function strip(history, context) {
  const columns = widths.find(([width]) => window.innerWidth >= width)[1];
  const { areAllInStrip } = context.memory;
  const before = drawn.get(history);
  const isSame = before?.columns === columns && before.areAllInStrip === areAllInStrip
    && before.isSure === context.isSure;
  if (isSame) return before.node;
  keepFocus();
  const node = draw(history, context, columns);
  drawn.set(history, { columns, areAllInStrip, isSure: context.isSure, node });
  return node;
}

// Cells that become others take the focus along: it goes to the one that holds the same time.
function keepFocus() {
  const cell = document.activeElement?.closest?.(".strip .cell");
  if (!cell) return;
  const region = cell.closest("[data-strip]").dataset.strip;
  const begin = Number(cell.dataset.place);
  // Once it is drawn.
  queueMicrotask(() => {
    if (cell.isConnected) return settle(cell);
    const row = document.querySelector(`[data-strip="${CSS.escape(region)}"]`);
    const cells = [...row?.querySelectorAll(".cell") ?? []];
    const same = cells.findLast((one) => Number(one.dataset.place) <= begin) ?? cells[0];
    if (!same) return undefined;
    settle(same);
    return same.focus({ preventScroll: true });
  });
}

function draw(history, context, columns) {
  const rows = rowsOf(history, columns);
  if (rows.length === 0) {
    return nothing("There is nothing to draw yet: regions are counted once a minute.");
  }
  const isThere = rows.some(({ region, cells }) => stop?.region === region.region
    && (stop.begin === null || cells.some((one) => one.begin === stop.begin)));
  if (!isThere) stop = { region: rows[0].region.region, begin: rows[0].cells.at(-1).begin };
  const cells = rows[0].cells;
  return h("figure", { class: "strip" },
    h("p", { class: "unseen", id: "strip-help" },
      "Regions in rows, time in columns, the newest last. Arrow keys move; Enter shows the fleet as "
      + "it was then."),
    h("div", {
      role: "grid", "aria-label": "Regions over time", "aria-describedby": "strip-help",
      "aria-rowcount": rows.length, "aria-colcount": cells.length + 1,
      class: `grid columns-${cells.length > 40 ? "many" : cells.length > 20 ? "some" : "few"}`,
      onkeydown: (event) => move(event, context), onclick: (event) => open(event, context),
    }, rows.map((row) => drawRow(row, context))),
    h("div", { class: "strip-axis", "aria-hidden": "true" }, ...axis(cells)),
    legend(history, rows, Math.max(...cells.map((one) => one.end - one.begin))),
    h("div", { class: "strip-below" },
      h("details", null, h("summary", null, "The same in words"),
        h("ul", null, rows.map(({ region, cells: all }) => h("li", { key: region.region },
          name(region.region), `: ${standing(region, all, context.isSure)}. `, spells(all)))),
        (history.blind ?? []).slice(-spellsShown).map((window) => h("p", {
          key: `${window.since}${window.reason}`,
        }, `Not watching ${between(window, instant(history.until))} (UTC).`))),
      h("a", { href: context.link("at") }, "Look at an earlier time"),
      history.next && !context.memory.areAllInStrip ? h("button", {
        type: "button",
        onclick: () => { context.memory.areAllInStrip = true; context.refresh(); },
      }, "Show more regions") : null));
}

function drawRow({ region, cells }, { link, isSure }) {
  const label = plain(region.region);
  const isStop = (begin) => stop.region === region.region && stop.begin === begin;
  const now = cells.at(-1);
  const isBad = region.now ? isDark(region) : now.kind === "dark" || now.kind === "unstaffed";
  return h("div", {
    role: "row", key: region.region,
    class: `strip-row${isBad ? " bad" : ""}${region.now?.unknown ? " unsure" : ""}`,
    "data-strip": region.region,
  },
  h("span", { role: "rowheader", class: "strip-name" },
    h("a", {
      href: link(`people?region=${encodeURIComponent(region.region)}`), title: label,
      tabindex: isStop(null) ? 0 : -1, "data-place": "name",
    }, name(region.region))),
  h("span", { class: "strip-cells", role: "presentation" },
    cells.map((one) => {
      const text = words(one, label);
      return h("span", {
        role: "gridcell", key: one.begin, class: `cell is-${one.kind}`, title: text,
        "aria-label": text, tabindex: isStop(one.begin) ? 0 : -1, "data-place": one.begin,
        "data-at": one.at,
      }, one.paged.length || one.fired.length
        ? h("i", { class: one.paged.length ? "paged" : "fired" }) : null);
    })),
  h("span", { class: "strip-end", role: "gridcell" }, standing(region, cells, isSure)));
}

function isDark({ now, must_be_staffed: mustBe }) {
  const { OFFLINE: offline, DEGRADED: late } = now.responders;
  return heard(now) === 0 && (offline + late > 0 || (now.active === 0 && mustBe));
}

// How many are ONLINE at least: of those of whom nothing is known any may be among those who were.
function heard({ responders, unknown = 0, knownOnline }) {
  return knownOnline ?? Math.max(0, responders.ONLINE - unknown);
}

// "98 of 98 silent", "unstaffed since 02:45", "78 of 81 ONLINE", "4 of 4 ONLINE as last known". Who is ONLINE and
// was not heard since we did not watch cannot be said to be reachable.
function standing(region, cells, isSure = true) {
  const { now } = region;
  if (now === null) return "nobody any more";
  if (now.active === 0 && region.must_be_staffed) {
    const since = cells.findLastIndex((one) => one.kind !== "unstaffed"
      && one.kind !== "blind" && one.kind !== "none") + 1;
    return since < cells.length && since > 0
      ? `unstaffed since ${local(cells[since].at)}` : "unstaffed";
  }
  if (now.active === 0) return "nobody expected";
  const { ONLINE: online, OFFLINE: offline, DEGRADED: late, UNKNOWN: unknown } = now.responders;
  const all = amount(now.active);
  if (now.unknown) {
    // Those of whom nothing is known were ONLINE as last known, the rest of them silent.
    const silent = Math.max(0, offline - Math.max(0, now.unknown - (online - heard(now))));
    return [[heard(now), "ONLINE"], [silent, "silent"], [late, "late"], [unknown, "not heard yet"],
      [now.unknown, "not known"]].filter(([number], place) => place === 0 || number > 0)
      .map(([number, word]) => `${amount(number)} ${word}`).join(", ");
  }
  // Of those whose cells say nothing the others of a fleet need no doubt.
  const known = isSure || now.unknown === 0 ? "" : " as last known";
  if (online > 0) return `${amount(online)} of ${all} ONLINE${known}`;
  const parts = [[offline, "silent"], [late, "late"], [unknown, "not heard yet"]]
    .filter(([number]) => number > 0)
    .map(([number, word]) => `${amount(number)} ${word}`);
  return parts.length === 1 ? `${parts[0].replace(" ", ` of ${all} `)}${known}`
    : `none of ${all} ONLINE${known}: ${parts.join(", ")}`;
}

// Stretches in which a region was not well, the newest first.
function spells(cells) {
  const found = [];
  for (const one of cells) {
    const last = found.at(-1);
    if (last?.kind === one.kind) {
      last.end = one.end;
    } else {
      found.push({ kind: one.kind, begin: one.begin, end: one.end });
    }
  }
  const told = found.filter(({ kind }) => kind !== "well" && kind !== "empty").reverse();
  const shown = told.slice(0, spellsShown).map(({ kind, begin, end }) =>
    `${inWords(kind)} ${local(begin)} to ${local(end)}, ${span(end - begin)}`);
  const more = told.length - shown.length;
  return [shown.join("; "), more > 0 ? `; and ${more} more` : "", shown.length ? "." : ""];
}

function inWords(kind) {
  return kind === "some" || kind === "few" ? `${kinds[kind]} silent or late` : kinds[kind];
}

function axis(cells) {
  const every = Math.max(1, Math.round(cells.length / (cells.length > 40 ? 6 : 3)));
  const last = cells.length - 1;
  const isUTC = new Date().getTimezoneOffset() === 0;
  return [h("span", { class: "strip-name" }, isUTC ? "UTC" : "your time"),
    h("span", { class: "strip-cells" }, cells.map((one, place) => h("span", {
      key: one.begin, class: "tick",
    }, place === last ? h("span", { class: "last" }, "now")
      : place % every === 0 && last - place >= every / 2
        ? h("span", null, local(one.begin), isUTC ? null
          : h("small", null, ` ${new Date(one.begin).toISOString().slice(11, 16)} UTC`)) : null))),
    h("span", { class: "strip-end" })];
}

// Where there is little room, what is drawn nowhere is not explained.
function legend(history, rows, step) {
  const all = rows.flatMap((row) => row.cells);
  const of = (is) => (all.some(is) ? null : "elsewhere");
  return h("figcaption", null,
    Object.entries(kinds).map(([kind, text]) => h("span", { key: kind, class: of((one) => one.kind === kind) },
      h("span", { class: `cell is-${kind}`, "aria-hidden": "true" }), text)),
    h("span", { key: "paged", class: of((one) => one.paged.length) }, h("span", { class: "cell", "aria-hidden": "true" },
      h("i", { class: "paged" })), "somebody was told"),
    h("span", { key: "fired", class: of((one) => one.fired.length && !one.paged.length) }, h("span", { class: "cell", "aria-hidden": "true" },
      h("i", { class: "fired" })), "an alert fired"),
    h("span", { key: "step" },
      `each step of ${span(step)} shows its worst minute`),
    history.truncated ? h("span", { key: "cut" }, "cut short") : null);
}

// MARK: Keys

// The one that a tab leads to from now on.
function settle(target) {
  const row = target.closest("[data-strip]");
  for (const one of row.closest(".grid").querySelectorAll('[tabindex="0"]')) one.tabIndex = -1;
  target.tabIndex = 0;
  const begin = target.dataset.place === "name" ? null : Number(target.dataset.place);
  stop = { region: row.dataset.strip, begin };
}

const steps = {
  ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0],
  Home: [0, -Infinity], End: [0, Infinity], PageUp: [-Infinity, 0], PageDown: [Infinity, 0],
};

function move(event, context) {
  const target = event.target.closest("[data-place]");
  if (!target || event.altKey || event.metaKey) return;
  if (event.key === "Enter" || event.key === " ") {
    if (target.dataset.at) open(event, context);
    return;
  }
  const by = steps[event.key];
  if (!by) return;
  event.preventDefault();
  const rows = [...target.closest(".grid").querySelectorAll("[data-strip]")];
  const bounded = (number, most) => Math.max(0, Math.min(most, number));
  const from = rows.indexOf(target.closest("[data-strip]"));
  const place = [...rows[from].querySelectorAll("[data-place]")].indexOf(target);
  const to = rows[bounded(from + by[0], rows.length - 1)];
  const places = to.querySelectorAll("[data-place]");
  const next = places[bounded(place + by[1], places.length - 1)];
  settle(next);
  next.focus();
}

function open(event, { go }) {
  const target = event.target.closest("[data-at]");
  if (!target) return;
  event.preventDefault();
  const region = target.closest("[data-strip]").dataset.strip;
  go(momentPath(Number(target.dataset.at), region));
}

/** The address of the fleet as it was at an instant; `region` is the one looked at, if any. */
export function momentPath(at, region = null) {
  return pathWith("at", { t: new Date(at).toISOString().slice(0, 16) + "Z", region });
}

