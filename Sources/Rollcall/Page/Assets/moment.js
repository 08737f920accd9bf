// The fleet as it was at one minute: how each region stood, who was silent and why, what fired and who
// had taken it. It says throughout that it is the past.

import { called, isFleetCellAlone, isOfMany, numbersOnly } from "./cells.js";
import { h, part } from "./dom.js";
import { nothing } from "./marks.js";
import { gapKey, person, region, section } from "./rows.js";
import { both, local, momentPath, stripPath } from "./strip.js";
import { amount, count, instant, name, pathWith, plain, span, spoken } from "./words.js";

const minute = 60_000;
const gapsAsked = 500;
const gapsShown = 50;
const halfStretch = 3 * 3_600_000;
const settleWithin = 200;
let settling = null;

export const momentView = {
  path: "at",
  name: "Then",

  heading: (context) => {
    const at = chosen(context);
    return `The fleet as it was at ${both(at)}${day(at, context.now())}`;
  },

  async load(context) {
    const { ask, every, memory } = context;
    const at = chosen(context);
    const only = context.route.query.get("region");
    await every(`moment ${at} ${only}`, 60, async () => {
      const then = await ask(pathWith("v1/regions/history", {
        since: new Date(at).toISOString(), until: new Date(at + minute).toISOString(), step: "1m",
        limit: 1000,
      }));
      // The very instant at which people were counted, so that both say the same.
      const counted = instant(then.sampled_at) ?? at;
      memory.gaps = await ask(pathWith("v1/gaps", {
        at: new Date(counted).toISOString(), region: only, limit: gapsAsked,
      }));
      memory.then = then;
      memory.counted = counted;
      memory.thenAt = at;
    });
  },

  render(context) {
    const { memory } = context;
    return [
      h("div", { class: "past", role: "region", "aria-label": "This is the past" },
        part(() => told(context)), part(() => slider(context))),
      memory.thenAt === undefined ? null : h("div", { class: "columns" },
        h("div", { class: "wide" }, part(() => silentPart(context))),
        h("div", { class: "narrow" }, part(() => alertsPart(context)),
          part(() => regionsPart(context)))),
    ];
  },
};

// The minute that is looked at: where the slider stands, else what the address says.
function chosen({ memory, route, now }) {
  if (memory.slid?.route === route) return memory.slid.at;
  const asked = minuteOf(route.query.get("t")) ?? now() - 5 * minute;
  return floor(Math.max(minute, Math.min(asked, now())));
}

// The instant that a text names; null for none, and for a day that its month does not have.
function minuteOf(text) {
  const at = instant(text);
  if (at === null || !text.endsWith("Z")) return at;
  return new Date(at).toISOString().startsWith(text.slice(0, 10)) ? at : null;
}

// Why another minute is shown than the address says; null where it is that one.
function instead(context) {
  const { memory, route, now } = context;
  const text = route.query.get("t");
  if (text === null || memory.slid?.route === route) return null;
  const asked = minuteOf(text);
  const shown = both(chosen(context)) + day(chosen(context), now());
  if (asked === null) return `That minute is not there: “${plain(text)}” is no time. Shown is ${shown}.`;
  return asked > now() + minute
    ? `That minute is not there: ${both(asked)}${day(asked, now())} is still to come. Shown is ${shown}.`
    : null;
}

function floor(at) {
  return Math.floor(at / minute) * minute;
}

function day(at, now) {
  const isOtherYear = new Date(at).getFullYear() !== new Date(now).getFullYear();
  const words = new Date(at).toLocaleDateString("en-GB", {
    day: "numeric", month: "short", ...(isOtherYear ? { year: "numeric" } : {}),
  });
  return new Date(at).toDateString() === new Date(now).toDateString() ? "" : `, ${words}`;
}

function told(context) {
  const { now, link, memory } = context;
  const at = chosen(context);
  const isRead = memory.thenAt === at;
  const other = instead(context);
  return [other ? h("p", { class: "other", role: "alert", key: "other" }, h("strong", null, other)) : null,
    h("p", { class: "banner-words", key: "words" }, h("strong", null, "This is the past. "),
    `It shows ${both(at)}${day(at, now())}, ${span(now() - at)} ago. `,
    isRead ? null : "Asking… ",
    h("a", { href: link("") }, "Back to now"))];
}

// MARK: The slider

// The strip's stretch, or as long around an instant before it.
function stretch(context) {
  const at = minuteOf(context.route.query.get("t")) ?? context.now();
  const since = instant(new URL(stripPath(context), "http://local/").searchParams.get("since"));
  return at >= since ? [floor(since), floor(context.now())]
    : [floor(at - halfStretch), floor(at + halfStretch)];
}

function slider(context) {
  const { link, memory, redraw, refresh, route } = context;
  const at = chosen(context);
  const [from, until] = stretch(context);
  const only = route.query.get("region");
  const slide = (event) => {
    memory.slid = { route, at: floor(Number(event.target.value)) };
    // Who reloads or shares the address comes to the same minute.
    history.replaceState(history.state, "", link(momentPath(memory.slid.at, only)));
    redraw();
    clearTimeout(settling);
    settling = setTimeout(refresh, settleWithin);
  };
  const by = (minutes, words) => h("a", {
    key: minutes, href: link(momentPath(Math.min(at + minutes * minute, until), only)),
  }, words);
  return h("div", { class: "moment" }, by(-10, "10 min earlier"), by(-1, "1 min earlier"),
    h("label", null, h("span", null, local(from)),
      h("input", {
        type: "range", min: from, max: until, step: minute, value: String(at),
        "aria-label": "The minute that is shown", "aria-valuetext": both(at), oninput: slide,
      }), h("span", null, local(until))),
    by(1, "1 min later"), by(10, "10 min later"));
}

// MARK: Who was silent

function silentPart(context) {
  const { memory, route, link } = context;
  if (isFleetCellAlone()) return section("then-silent", "Nobody stands here", null, nothing(numbersOnly));
  const only = route.query.get("region");
  const { gaps, next } = memory.gaps;
  const lacks = memory.gaps.unavailable?.length ? h("p", { class: "warned", key: "lacks" },
    `Who was silent then in ${called(memory.gaps.unavailable)} is not known.`) : null;
  const shown = gaps.slice(0, memory.shown ?? gapsShown);
  const where = only ? [" in ", name(only)] : null;
  return section("then-silent",
    gaps.length ? [`${amount(gaps.length)}${next ? " or more" : ""} silent then`, where]
      : [isSeen(memory.then) && !lacks ? "Nobody was silent then" : "Not known who was silent then", where],
    only ? h("a", { href: link(momentPath(memory.thenAt)) }, "All regions") : null, lacks,
    isSeen(memory.then) ? null : h("p", { class: "warned" }, unseen(context)),
    gaps.length
      ? h("ul", { class: "gaps" }, shown.map((gap) => row(gap, memory.counted, link)))
      : nothing(isSeen(memory.then) ? isAnybodyExpected(memory.then)
        ? lacks ? "Of the others nobody was." : "Everybody who was expected was heard within their threshold, or was only late."
        : "Nobody was expected then." : "Nobody was counted then, and nobody is known to have been silent."),
    shown.length < gaps.length ? h("p", { class: "more" }, h("button", {
      type: "button", onclick: () => { memory.shown = gapsAsked; context.redraw(); },
    }, `Show ${count(gaps.length - shown.length, "more", "more")}`)) : null);
}

function isSeen(then) {
  return then.samples.some((number) => number > 0);
}

function isAnybodyExpected(then) {
  return then.regions.some((one) => Object.values(one.responders).some((list) => list?.[0] > 0));
}

function unseen({ memory: { then, thenAt }, status: watch, now }) {
  if (then.blind.length) {
    return "Rollcall was not watching then: who was silent is what was known before and learned later.";
  }
  const oldest = instant(watch.store?.oldest_at);
  return oldest !== null && thenAt + minute <= oldest
    ? `Nobody was counted in this minute. What is kept begins at ${both(oldest)}${day(oldest, now())}.`
    : "Nobody was counted in this minute.";
}

function row(gap, at, link) {
  const offline = instant(gap.offline_at);
  const back = instant(gap.closed_at);
  const after = back === null ? "still silent" : `back at ${local(back)}, ${span(back - at)} later`;
  return h("li", { key: gapKey(gap), class: "gap", "data-responder": gap.responder_id },
    h("div", { class: "who" }, person(gap.responder_id, link),
      h("span", { class: "aside" }, "in ", region(gap.region, link, "silent"))),
    h("div", { class: "when" }, h("strong", null, `silent for ${span(at - offline)} then`),
      h("span", { class: "aside" }, `since ${both(offline)}; ${after}`)),
    h("div", { class: "why" }, h("strong", null, `suspected: ${spoken(gap.suspected)}`),
      h("span", { class: "aside" }, gap.verdict
        ? `it turned out to be: ${spoken(gap.verdict)}` : "no verdict yet")));
}

// MARK: What fired

function alertsPart({ memory, link }) {
  const { then, counted } = memory;
  const all = [
    ...then.alerts.map((one) => [one, null]),
    ...then.regions.flatMap((place) => place.alerts.map((one) => [one, place.region])),
  ].filter(([one]) => instant(one.starts_at) <= counted && (instant(one.ended_at) ?? Infinity) > counted);
  return section("then-alerts", all.length ? count(all.length, "alert fired then", "alerts fired then")
    : isOfMany() ? "Nothing about many fired then" : "Nothing fired then", h("a", { href: link("alerts") }, "Alerts now"),
  all.length ? h("ul", { class: "alerts" }, all.map(([one, where]) => h("li", {
    key: `${where ?? ""} ${one.incident}`, class: `alert is-firing severity-${one.severity}`,
    "data-incident": one.incident,
  },
  h("div", { class: "what" }, h("span", { class: "alertname" }, plain(one.alertname)),
    where ? name(where) : "the fleet", h("span", { class: "aside" }, `incident ${one.incident}`)),
  h("ul", { class: "telling" },
    h("li", { key: "since" }, `firing since ${both(instant(one.starts_at))}, for ${
      span(counted - instant(one.starts_at))} then`),
    h("li", { key: "paged" }, pages(one, counted)), h("li", { key: "taken" }, takes(one, counted)))
  ))) : null);
}

function pages(one, at) {
  const paged = instant(one.paged_at);
  if (paged === null) return "nobody was told of it";
  return paged <= at ? `told at ${local(paged)}` : `nobody was told yet; told at ${local(paged)}`;
}

function takes(one, at) {
  const held = one.takes.find((take) => instant(take.at) <= at && at < instant(take.until));
  if (held) return ["taken by ", name(held.by), ` at ${local(instant(held.at))}`];
  const later = one.takes.find((take) => instant(take.at) > at);
  return later
    ? ["nobody had taken it; ", name(later.by), ` did at ${local(instant(later.at))}`]
    : "nobody had taken it";
}

// MARK: How regions stood

const columns = [["ONLINE", "ONLINE"], ["DEGRADED", "late"], ["UNKNOWN", "not heard yet"],
  ["OFFLINE", "silent"]];

function regionsPart(context) {
  const { memory, route, link } = context;
  const { then } = memory;
  if (!isSeen(then)) return section("then-regions", "Regions then", null, nothing(unseen(context)));
  const only = route.query.get("region");
  const number = (list) => list?.[0] ?? 0;
  const rows = then.regions.map((one) => ({
    one, unstaffed: number(one.unstaffed) > 0, absent: number(one.not_expected),
    counts: columns.map(([word]) => number(one.responders[word])),
  })).filter(({ counts, unstaffed, absent }) => unstaffed || absent || counts.some((n) => n > 0));
  const isBad = ({ counts, unstaffed }) => unstaffed
    || (counts[0] === 0 && counts.some((n) => n > 0));
  if (rows.length === 0) {
    return section("then-regions", "Regions then", `counted at ${both(memory.counted)}`,
      nothing("Nobody was expected in any region then."));
  }
  rows.sort((a, b) => isBad(b) - isBad(a) || b.counts[3] - a.counts[3]);
  return section("then-regions", "Regions then", `counted at ${both(memory.counted)}`,
    h("table", { class: "then" },
      h("thead", null, h("tr", null, h("th", { scope: "col" }, "Region"),
        columns.map(([word, text]) => h("th", { scope: "col", key: word }, text)))),
      h("tbody", null, rows.map((row) => h("tr", {
        key: row.one.region, "data-then": row.one.region,
        class: `${isBad(row) ? "bad" : ""}${row.one.region === only ? " here" : ""}`,
      },
      h("th", { scope: "row" },
        h("a", { href: link(momentPath(memory.thenAt, row.one.region)) }, name(row.one.region)),
        row.unstaffed ? " unstaffed" : null),
      row.counts.map((n, place) => h("td", { key: place }, amount(n))))))));
}
