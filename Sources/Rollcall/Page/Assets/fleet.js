// The fleet at a glance: who cannot be reached and why, what fires, how it was in the last hours.

import { h, part } from "./dom.js";
import { band, historyPath } from "./band.js";
import { nobodyReached } from "./frame.js";
import { bar, nothing, shape, statuses } from "./marks.js";
import {
  alert, count, isForNobody, isTaken, noGap, notTaking, region, returned, section, silenceOf, silent,
  suspected, worstFirst,
} from "./rows.js";
import { root } from "./server.js";
import { loadStrip, strip } from "./strip.js";
import { ago, name, plain, span } from "./words.js";

const gapsShown = 8;
const firingShown = 4;
const gapsAsked = 200;
const regionsShown = 12;
const backShown = 6;
const backWithin = 6 * 3_600_000;

export const fleet = {
  path: "",
  name: "Now",

  heading: ({ status }) => status?.sentence?.headline ?? "Now",
  lead,

  async load(context) {
    const { ask, askIfThere, every, memory } = context;
    memory.open = await ask(`v1/gaps?state=open&limit=${gapsAsked}`);
    memory.regions = await askIfThere("v1/regions?limit=1000");
    await every("back", 10, async () => {
      const since = new Date(context.now() - backWithin).toISOString();
      memory.back = await ask(`v1/gaps?state=closed&since=${since}&limit=${backShown}`);
    });
    await loadStrip(context);
    // A window that began or ended a moment ago is drawn at once.
    await every(`history ${context.status.watching}`, 60, async () => {
      memory.history = await askIfThere(historyPath(context.status, context.now()));
    });
  },

  render(context) {
    const { memory } = context;
    return [
      context.status.last_batch_at ? null : untouched(),
      part(() => (memory.strip ? strip(memory.strip, context) : null)),
      part(() => firing(context)),
      h("div", { class: "columns" },
        h("div", { class: "wide" }, part(() => silentPart(context)),
          part(() => (memory.history
            ? section("hours", "Last hours", null, band(memory.history, context.status)) : null)),
          part(() => backPart(context))),
        h("div", { class: "narrow" }, part(() => regionsPart(context)),
          part(() => pendingPart(context)), part(() => healthPart(context)))),
    ];
  },
};

// What must be known first, in the server's words: who cannot be reached, since when, why, who can.
function lead(context) {
  const { status: watch } = context;
  const sentence = watch?.sentence;
  if (!sentence) return h("h1", { tabindex: -1 }, "Now");
  return h("div", { class: `lead is-${sentence.level}`, key: "lead" },
    h("div", { class: "said" },
      h("h1", { tabindex: -1 },
        h("span", { class: "worst" }, plain(sentence.headline)), " ",
        sentence.rest ? h("span", { class: "rest" }, plain(sentence.rest)) : null),
      sentence.detail ? h("p", { class: "detail" }, plain(sentence.detail)) : null),
    numbers(context));
}

// What a fresh installation shows: a line that can be pasted, and what comes of it.
function untouched() {
  const line = `curl -H 'Content-Type: application/json' -d '[{"responder_id": "me", "region": "here"}]' ${
    new URL("v1/batches", root)}`;
  return section("untouched", "Nothing has come yet", null,
    h("p", null, "Have your backend forward what phones send to ", h("code", null,
      "POST /v1/batches"), ". To see somebody appear here now:"),
    h("pre", { class: "line-to-paste", tabindex: 0 }, line),
    h("p", { class: "aside" }, "Where tokens are set, with ", h("code", null,
      "-H 'Authorization: Bearer TOKEN'"), " of one that has the scope ingest."));
}

function firing({ alerts, silences, now, link }) {
  const fires = alerts.alerts.filter((one) => one.state === "firing");
  if (fires.length === 0) return null;
  const shown = worstFirst(fires).slice(0, firingShown);
  const rest = fires.length - shown.length;
  return section("firing", count(fires.length, "alert fires", "alerts fire"),
    h("a", { href: link("alerts") }, "All alerts"),
    h("ul", { class: "alerts" },
      shown.map((one) => alert(one, { now: now(), link, silences, isBrief: true }))),
    rest > 0
      ? h("p", { class: "more" }, h("a", { href: link("alerts") },
        count(rest, "more alert", "more alerts"))) : null);
}

// Each with its word, the ones that need somebody with their shape too.
function numbers({ status: watch, link }) {
  const people = watch.responders;
  const reach = watch.reachable;
  const seen = watch.watching ? null : "unconfirmed";
  const entry = (key, number, words, path, about) => h("li", {
    key, class: `number is-${key}${number ? "" : " none"}`,
  }, h(path === null ? "div" : "a", { href: path === null ? null : link(path) },
    h("strong", { "data-count": key }, typeof number === "number"
      ? number.toLocaleString("en") : number), " ",
    h("span", { class: `word ${seen ?? ""}` }, about ? shape(about) : null, words)));
  return h("ul", { class: "numbers" },
    entry("reachable", watch.watching ? reach.yes : "?", watch.watching
      ? `${reach.at_most ? "at most " : ""}can be reached` : "who can be reached",
    "people?reachable=yes", "ONLINE"),
    entry("OFFLINE", people.OFFLINE, watch.watching ? "silent" : "were silent", "silent",
      "OFFLINE"),
    entry("DEGRADED", people.DEGRADED, "late", "people?status=DEGRADED", "DEGRADED"),
    others(watch));
}

// Who is neither well nor silent; without any, nothing.
function others(watch) {
  const entries = [
    ["UNKNOWN", watch.responders.UNKNOWN, "not heard yet"],
    ["not_expected", watch.not_expected.all, "not expected"],
  ].filter(([, number]) => number > 0);
  return entries.length ? h("li", { key: "others", class: "others" }, entries.map(
    ([key, number, words], place) => [place ? " · " : null,
      h("span", { key, "data-count": key }, number.toLocaleString("en")), ` ${words}`])) : null;
}

// The number and the causes are the engine's, of one instant; the list is only read beside them.
function silentPart(context) {
  const { memory, link, status: watch, isSure } = context;
  const { open } = memory;
  // Of somebody who is ONLINE and was not heard since nobody watched, nothing is known.
  const isDoubted = watch.reachable.at_most
    || watch.reachable.yes < watch.responders.ONLINE;
  const all = watch.responders.OFFLINE;
  // Newest first is what the server gives; with all of them at hand the longest come first.
  const shown = all === 0 ? []
    : (open.next ? open.gaps : [...open.gaps].reverse()).slice(0, gapsShown);
  const rest = all - shown.length;
  const late = watch.responders.DEGRADED;
  return section("silent", all ? `${all.toLocaleString("en")} silent`
    : !isSure ? "Nobody was silent"
      : isDoubted ? "Nobody is known to be silent" : "Nobody is silent",
    all ? h("a", { href: link("silent") }, "All who are silent") : null,
    suspected(watch),
    shown.length
      ? h("ul", { class: "gaps" },
        shown.map((gap) => silent(gap, { now: context.now(), link, isBrief: true })))
      : nothing(all ? noGap
        : !isSure ? "That is what was known last; who is silent now cannot be seen."
          : isDoubted
            ? "Not everybody was heard since we were not watching: some may be silent."
            : watch.responders.active
              ? "Everybody who is expected was heard within their threshold, or is only late."
              : "Nobody is expected now."),
    rest > 0 && shown.length > 0
      ? h("p", { class: "more" }, h("a", { href: link("silent") },
        `${rest.toLocaleString("en")} more`),
      h("span", { class: "aside" }, open.next ? "newest first here" : "longest first"))
      : null,
    late > 0
      ? h("p", { class: "aside" },
        h("a", { href: link("people?status=DEGRADED") }, count(late, "person is", "people are")),
        " late (DEGRADED) and may become silent.")
      : null);
}

function backPart({ memory, now, link }) {
  if (!memory.back?.gaps.length) return null;
  return section("back", "Back again", h("a", { href: link("silent?state=closed") }, "More"),
    h("ul", { class: "gaps" },
      memory.back.gaps.map((gap) => returned(gap, { now: now(), link, isBrief: true }))));
}

function regionsPart({ memory, link, redraw, status: watch }) {
  const list = memory.regions?.regions;
  if (!list || list.length === 0) return null;
  const worst = [...list].sort((a, b) => rank(b) - rank(a));
  const shown = memory.allRegions ? worst : worst.slice(0, regionsShown);
  const hidden = worst.length - shown.length;
  return section("regions", "Regions", memory.regions.next ? "the first 1000" : null,
    h("ul", { class: `regions${watch.reachable.yes < watch.responders.ONLINE ? " doubted" : ""}` },
      shown.map((one) => regionRow(one, link))),
    hidden > 0
      ? h("p", { class: "more" }, h("button", {
        type: "button", onclick: () => { memory.allRegions = true; redraw(); },
      }, `Show ${count(hidden, "more region", "more regions")}`)) : null);
}

// Where nobody can be reached stands first, then by the share that is silent.
function rank(one) {
  const people = one.responders;
  const isDark = (one.active > 0 || one.must_be_staffed) && people.ONLINE === 0 ? 2 : 0;
  const share = one.active ? (people.OFFLINE + people.DEGRADED / 10) / one.active : 0;
  return isDark + share;
}

function regionRow(one, link) {
  const people = one.responders;
  const isDark = (one.active > 0 || one.must_be_staffed) && people.ONLINE === 0;
  const words = statuses.filter((word) => people[word] > 0).map((word) =>
    h("span", { key: word, class: `mini is-${word}` }, shape(word),
      `${people[word].toLocaleString("en")} ${word}`));
  const notes = [
    isDark ? (one.active ? "nobody ONLINE" : "unstaffed") : null,
    one.flapping ? `${one.flapping} flapping` : null,
    one.not_expected ? `${one.not_expected.toLocaleString("en")} not expected` : null,
  ].filter(Boolean);
  return h("li", { key: one.region, class: isDark ? "dark" : "", "data-region": one.region },
    h("div", { class: "head" }, region(one.region, link),
      h("span", { class: "aside" }, notes.join(", "))),
    bar(people),
    h("div", { class: "minis" }, words.length ? words : "nobody expected"));
}

function pendingPart({ alerts, now, link }) {
  const pending = alerts.alerts.filter((one) => one.state !== "firing");
  if (pending.length === 0) return null;
  return section("pending", `${pending.length.toLocaleString("en")} pending`,
    h("a", { href: link("alerts") }, "Alerts"),
    h("ul", { class: "alerts" },
      worstFirst(pending).slice(0, firingShown)
        .map((one) => alert(one, { now: now(), link, isBrief: true }))));
}

// How it stands with telling: the worst first.
function alerting({ status: watch, alerts, silences }) {
  const unreached = nobodyReached(watch);
  if (unreached) return ["bad", unreached];
  const fires = alerts.alerts.filter((one) => one.state === "firing");
  const failing = [...new Set(fires.flatMap(notTaking))];
  if (failing.length) {
    return ["bad", [listed(failing), failing.length === 1 ? " does" : " do", " not take alerts"]];
  }
  const alone = fires.filter(isForNobody);
  if (alone.length) {
    return [alone.some((one) => one.severity === "critical") ? "bad" : "late",
      `no receiver is set for ${count(alone.length, "alert", "alerts")} that ${
        alone.length === 1 ? "fires" : "fire"}`];
  }
  if (fires.some((one) => !isTaken(one) && silenceOf(one, silences))) {
    return ["late", "silenced; nobody was told"];
  }
  const waiting = watch.receivers.filter((one) => one.pending).map((one) => one.name);
  return waiting.length ? ["late", ["messages wait for ", listed(waiting)]]
    : ["good", "nothing waits"];
}

function listed(names) {
  return names.slice(0, firingShown).map((one, place) => [place ? ", " : "", name(one)])
    .concat(names.length > firingShown ? [` and ${names.length - firingShown} more`] : []);
}

function healthPart(context) {
  const { status: watch, now, link } = context;
  const [kind, telling] = watch.receivers ? alerting(context) : [];
  const down = watch.sources.filter((source) => !source.up).length;
  const lines = [
    ["Last batch", ago(watch.last_batch_at, now())],
    ["Sources", watch.sources.length === 0 ? "none declared"
      : down ? `${down} of ${watch.sources.length} down` : `${watch.sources.length} up`],
    kind ? ["Alerting", h("span", { class: `flag is-${kind}` }, telling)] : null,
    watch.nudges ? ["Nudges", watch.nudges.mode.replaceAll("_", " ")] : null,
    watch.store ? ["Store", watch.store.state] : null,
    watch.started_at ? ["Running for", span(now() - Date.parse(watch.started_at))] : null,
  ].filter(Boolean);
  return section("health", "Feeds and Rollcall", h("a", { href: link("feeds") }, "More"),
    h("dl", { class: "facts" }, lines.map(([term, words]) => [
      h("dt", { key: term }, term), h("dd", { key: `of ${term}` }, words)])));
}
