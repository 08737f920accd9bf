// How it stands now: who cannot be reached and why, what fires, who must act and who can go instead.

import { areUnlitApart, isFleetCellAlone, nudgesOf, numbersOnly, peopleOf, sentenceOf } from "./cells.js";
import { h, part } from "./dom.js";
import { nobodyReached } from "./frame.js";
import { nothing, shape } from "./marks.js";
import {
  alert, count, isForNobody, isTaken, noGap, notTaking, person, region, returned, section, silenceOf,
  suspected, worstFirst,
} from "./rows.js";
import { root } from "./server.js";
import { loadStrip, strip } from "./strip.js";
import {
  ago, amount, causes, clock, name, namesOf, pathWith, plain, readableWith, reason, span, spoken,
} from "./words.js";

const peopleShown = 8;
const firingShown = 4;
const regionsShown = 6;
const backShown = 6;
const backWithin = 6 * 3_600_000;
const together = "mass_gap";
const longest = { status: "OFFLINE", sort: "-silent_for" };

export const fleet = {
  path: "",
  name: "Now",

  heading: (context) => sentenceOf(context)?.headline ?? "Now",
  lead,

  async load(context) {
    const { ask, every, memory, status: watch, isFleetAway } = context;
    const suspects = watch.gaps?.suspected ?? {};
    const isMass = !isFleetAway && suspects[together] > 1;
    // Those who fell silent together are one entry, whoever else is has a reason of their own.
    memory.silent = watch.responders.OFFLINE === 0 && !isFleetAway ? { responders: [], total: 0 }
      : await ask(pathWith("v1/responders", {
        ...longest, limit: peopleShown,
        cause: isMass ? causes.filter((one) => one !== together).join(",") : null,
      }));
    memory.mass = isMass ? await ask(`v1/gaps?state=open&cause=${together}&by=region`) : null;
    if (!isFleetAway) await loadStrip(context);
    await every("back", 60, async () => {
      const since = new Date(context.now() - backWithin).toISOString();
      memory.back = await ask(`v1/gaps?state=closed&since=${since}&limit=${backShown}`);
    });
  },

  render(context) {
    const { memory } = context;
    return [
      isFleetCellAlone() ? peopleless() : context.status.last_batch_at ? null : untouched(),
      part(() => (memory.strip && !context.isFleetAway ? strip(memory.strip, context) : null)),
      h("div", { class: "columns" },
        h("div", { class: "wide" }, part(() => firing(context)), part(() => massPart(context)),
          part(() => silentPart(context))),
        h("div", { class: "narrow" }, part(() => pendingPart(context)),
          part(() => (context.isFleetAway ? null : healthPart(context))), part(() => backPart(context)))),
    ];
  },
};

// What must be known first, in the server's words: who cannot be reached, since when, why, who can.
function lead(context) {
  const { status: watch, isLost, isFleetAway } = context;
  const sentence = sentenceOf(context);
  if (!sentence) return h("h1", { tabindex: -1 }, "Now");
  if (isLost) return leadOfThen(context);
  // What it may name is what something fires for.
  const names = (context.alerts?.alerts ?? []).flatMap(namesOf);
  return h("div", {
    class: `lead is-${sentence.level}${watch.last_batch_at ? "" : " untouched"}`, key: "lead",
  },
    h("div", { class: "said" },
      h("h1", { tabindex: -1 },
        h("span", { class: "worst" }, readableWith(names, sentence.headline)), " ",
        sentence.rest ? h("span", { class: "rest" }, readableWith(names, sentence.rest)) : null),
      sentence.detail ? h("p", { class: "detail" }, readableWith(names, sentence.detail)) : null),
    isFleetAway ? null : numbers(context));
}

// Without contact: since when, and how it stood then. Nothing of it is told as of now.
function leadOfThen(context) {
  const { status: watch, age, asOf } = context;
  const { yes, of } = watch.reachable;
  return h("div", { class: "lead is-unknown", key: "lead" },
    h("div", { class: "said" },
      h("h1", { tabindex: -1 },
        h("span", { class: "worst" }, `No contact with Rollcall for ${span(age)}.`), " ",
        h("span", { class: "rest" }, watch.watching
          ? `At ${clock(asOf, asOf)}, ${amount(yes)} of ${amount(of)} could be reached.`
          : `At ${clock(asOf, asOf)} it was not watching.`))),
    numbers(context));
}

// What the fleet cell itself shows of people.
function peopleless() {
  return section("peopleless", "Nobody stands here", null, h("p", null, numbersOnly));
}

// What a fresh installation shows: a line that can be pasted, and what comes of it.
function untouched() {
  const line = `curl -H 'Content-Type: application/json' -d '[{"responder_id": "me", "region": "here"}]' ${
    new URL("v1/batches", root)}`;
  return section("untouched", "How it begins", null,
    h("p", null, "Have your backend forward what phones send to ", h("code", null,
      "POST /v1/batches"), ". To see somebody appear here now:"),
    h("pre", { class: "line-to-paste", tabindex: 0 }, line),
    h("p", { class: "aside" }, "Where tokens are set, with ", h("code", null,
      "-H 'Authorization: Bearer TOKEN'"), " of one that has the scope ingest."));
}

function firing({ alerts, silences, now, link, status: watch, isFleetAway }) {
  const fires = alerts.alerts.filter((one) => one.state === "firing");
  if (fires.length === 0) return null;
  const shown = worstFirst(fires).slice(0, firingShown);
  // Of thousands the worst are told; how many there are, the watch counts.
  const all = Math.max(fires.length, isFleetAway ? 0 : watch.alerts?.firing ?? 0);
  const rest = all - shown.length;
  return section("firing", count(all, "alert fires", "alerts fire"),
    h("a", { href: link("alerts") }, "All alerts"),
    h("ul", { class: "alerts" },
      shown.map((one) => alert(one, { now: now(), link, silences, isBrief: true }))),
    rest > 0
      ? h("p", { class: "more" }, h("a", { href: link("alerts") },
        count(rest, "more alert", "more alerts"))) : null);
}

// Each with its word, the ones that need somebody with their shape too.
function numbers(context) {
  const { status: watch, link, isSure, isLost, unlit } = context;
  const people = watch.responders;
  const reach = watch.reachable;
  const seen = isSure ? null : "unconfirmed";
  const entry = (key, number, words, path, about) => h("li", {
    key, class: `number is-${key}${number ? "" : " none"}`,
  }, h(path === null ? "div" : "a", { href: path === null ? null : link(path) },
    h("strong", { "data-count": key }, typeof number === "number"
      ? amount(number) : number), " ",
    h("span", { class: `word ${seen ?? ""}` }, about ? shape(about) : null, words)));
  return h("ul", { class: "numbers" },
    entry("reachable", watch.watching ? reach.yes : "?", watch.watching
      ? `${reach.at_most ? "at most " : ""}${
        isSure || !isLost && areUnlitApart(context) ? "can" : "could"} be reached` : "who can be reached",
    "people?reachable=yes", "ONLINE"),
    entry("OFFLINE", people.OFFLINE, isSure ? "silent" : "were silent",
      pathWith("people", longest), "OFFLINE"),
    unlit.length ? entry("unlit", peopleOf(unlit) ?? "?", "not known", null, "UNKNOWN") : null,
    entry("DEGRADED", people.DEGRADED, isSure ? "late" : "were late", "people?status=DEGRADED", "DEGRADED"),
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
      h("span", { key, "data-count": key }, amount(number)), ` ${words}`])) : null;
}

// Those who fell silent within a minute: one entry, however many they are.
function massPart({ memory, link }) {
  const rows = memory.mass?.rows ?? [];
  const all = rows.reduce((sum, row) => sum + row.open, 0);
  if (all === 0) return null;
  const worst = [...rows].sort((a, b) => b.open - a.open);
  const shown = worst.slice(0, regionsShown);
  const members = (query) => link(pathWith("people", { ...longest, cause: together, ...query }));
  const rest = worst.length - shown.length;
  return section("mass", `${count(all, "person", "people")} fell silent together`,
    h("a", { href: members({}) }, "Who they are"),
    h("p", null, "Within a minute: most likely the network there, not the people."),
    h("ul", { class: "choices" }, shown.map((row) => h("li", { key: row.region },
      h("a", { href: members({ region: row.region }) },
        `${amount(row.open)} in `, name(row.region)))),
    rest > 0 ? h("li", { key: "rest" }, `and ${count(rest, "more region", "more regions")}`) : null));
}

// The number and the causes are the engine's, of one instant; the list is only read beside them.
function silentPart(context) {
  const { memory, link, status: watch, isSure, isFleetAway } = context;
  if (isFleetCellAlone()) return null;
  // Of somebody who is ONLINE and was not heard since nobody watched, nothing is known.
  const isDoubted = watch.reachable.at_most
    || watch.reachable.yes < watch.responders.ONLINE;
  const all = isFleetAway ? memory.silent.total : watch.responders.OFFLINE;
  const mass = memory.mass && !isFleetAway ? watch.gaps?.suspected?.[together] ?? 0 : 0;
  const rest = Math.max(0, all - mass);
  const shown = all === 0 ? [] : memory.silent.responders;
  const isUntouched = !watch.last_batch_at && watch.responders.active === 0;
  const heading = isUntouched ? "Nobody is known yet" : rest > 0
    ? mass > 0 ? `${amount(rest)} more ${rest === 1 ? "is" : "are"} silent, each for a reason of their own`
      : `${amount(rest)} silent`
    : mass > 0 ? "Nobody else is silent"
      : isFleetAway ? "Nobody is known to be silent"
      : !isSure ? "Nobody was silent"
        : isDoubted ? "Nobody is known to be silent" : "Nobody is silent";
  return section("silent", heading,
    all ? h("a", { href: link(pathWith("people", longest)) }, "All who are silent, longest first") : null,
    isFleetAway ? null : suspected(watch),
    shown.length
      ? h("ul", { class: "gaps" }, shown.map((one) => silentRow(one, context)))
      : rest > 0 ? nothing(noGap) : mass > 0 ? null
        : nothing(isFleetAway ? "So say the cells that answer."
          : !isSure ? "That is what was known last; who is silent now cannot be seen."
          : watch.responders.UNKNOWN > 0
            ? `${count(watch.responders.UNKNOWN, "person has", "people have")} not been heard yet.`
            : isDoubted
            ? "Not everybody was heard again since Rollcall was not watching: some may be silent."
            : watch.responders.active
              ? "Everybody who is expected was heard within their threshold, or is only late."
              : isUntouched ? "Whoever falls silent stands here, with since when and most likely why."
                : "Nobody is expected now."),
    rest > shown.length && shown.length > 0
      ? h("p", { class: "more" }, h("a", { href: link(pathWith("people", longest)) },
        `${amount(rest - shown.length)} more`)) : null);
}

// Somebody who is silent: who, for how long, why.
function silentRow(one, { link, now }) {
  return h("li", { key: one.responder_id, class: "gap", "data-responder": one.responder_id,
    "data-stop": "", tabindex: -1 },
  h("div", { class: "who" }, person(one.responder_id, link),
    h("span", { class: "aside" }, one.region ? ["in ", region(one.region, link)] : null,
      one.platform && one.platform !== "unknown" ? `, ${spoken(one.platform)}` : null)),
  h("div", { class: "when" },
    h("strong", null, one.last_contact_at ? ["last seen ", ago(one.last_contact_at, now())]
      : "never seen"),
    h("span", { class: "aside" }, one.duty_state ? spoken(one.duty_state).toLowerCase() : null)),
  h("div", { class: "why" }, one.suspected
    ? [h("strong", null, `suspected: ${spoken(one.suspected)}`),
      h("span", { class: "aside" }, `Because ${reason(one.suspected, one.telemetry)}.`)]
    : h("span", { class: "aside" }, noGap)));
}

function backPart({ memory, now, link }) {
  if (!memory.back?.gaps.length) return null;
  return section("back", "Back again", h("a", { href: link("silent?state=closed") }, "More"),
    h("ul", { class: "gaps" },
      memory.back.gaps.map((gap) => returned(gap, { now: now(), link, isBrief: true }))));
}

function pendingPart({ alerts, now, link }) {
  const pending = alerts.alerts.filter((one) => one.state !== "firing");
  if (pending.length === 0) return null;
  return section("pending", `${amount(pending.length)} pending`,
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
  const silenced = fires.filter((one) => !isTaken(one) && silenceOf(one, silences)).length;
  if (silenced > 0) {
    return ["late", silenced === fires.length ? "silenced; nobody was told"
      : `${amount(silenced)} of ${amount(fires.length)} alerts silenced: nobody was told of ${silenced === 1 ? "it" : "them"}`];
  }
  const waiting = watch.receivers.filter((one) => one.pending).map((one) => one.name);
  return waiting.length ? ["late", ["messages wait for ", listed(waiting)]]
    : [watch.last_batch_at ? "good" : "none", "nothing waits"];
}

function listed(names) {
  return names.slice(0, firingShown).map((one, place) => [place ? ", " : "", name(one)])
    .concat(names.length > firingShown ? [` and ${names.length - firingShown} more`] : []);
}

function healthPart(context) {
  const { status: watch, now, link, isLost, asOf } = context;
  const [kind, telling] = watch.receivers ? alerting(context) : [];
  const down = watch.sources.filter((source) => !source.up).length;
  const lines = [
    ["Last batch", ago(watch.last_batch_at, now())],
    ["Sources", watch.sources.length === 0 ? "none declared"
      : down ? `${down} of ${watch.sources.length} down` : `${watch.sources.length} up`],
    kind ? ["Alerting", h("span", { class: `flag is-${kind}` }, telling)] : null,
    nudgesOf(watch) ? ["Nudges", spoken(watch.nudges.mode)] : null,
    watch.store ? ["Store", watch.store.state] : null,
    watch.started_at ? [isLost ? "Ran for" : "Running for", span(
      (isLost ? asOf : now()) - Date.parse(watch.started_at))] : null,
  ].filter(Boolean);
  return section("health", "Feeds and Rollcall", h("a", { href: link("feeds") }, "More"),
    h("dl", { class: "facts" }, lines.map(([term, words]) => [
      h("dt", { key: term }, term), h("dd", { key: `of ${term}` }, words)])));
}
