// The nudge ledger: who was asked to open their app, who was not and why, what followed, and when
// the next one is possible.

import { isFleetCellAlone, numbersOnly } from "./cells.js";
import { h } from "./dom.js";
import { nothing } from "./marks.js";
import { more, person, section } from "./rows.js";
import { ago, count, fromNow, holdReason, instant, pathWith, plain, span, spoken, time } from "./words.js";

const step = 50;
const unfoldedMax = 5;
// So many who are held for one reason are one entry.
const groupMin = 3;
const namesShown = 3;

const choices = [["", "all"], ["send", "sent"], ["hold", "held"], ["dry_run", "dry runs"]];
const decisions = { send: "sent", hold: "held", dry_run: "dry run" };
const modes = {
  live: "Nudges are live: they are sent.",
  dry_run: "Dry run: what would be sent is decided and written, and nothing is sent.",
  disabled: "Nudges are disabled: nothing is decided.",
};

export const nudgesView = {
  path: "nudges",
  name: "Nudges",

  heading: () => "Nudges",

  async load({ ask, askIfThere, memory, route }) {
    memory.shown ??= step;
    memory.unfolded ??= new Map();
    memory.ledger = await ask(pathWith("v1/nudges", {
      decision: route.query.get("decision"), limit: Math.min(memory.shown, 1000),
    }));
    for (const id of [...memory.unfolded.keys()].slice(-unfoldedMax)) {
      const path = `v1/responders/${encodeURIComponent(id)}/nudge`;
      memory.unfolded.set(id, await askIfThere(path) ?? "gone");
    }
  },

  changesAt: ({ memory }) => nextChanges([...memory.unfolded?.values() ?? []]),

  render(context) {
    const { memory, refresh } = context;
    if (isFleetCellAlone()) return section("ledger", "Nobody stands here", null, nothing(numbersOnly));
    const { ledger } = memory;
    const showMore = () => { memory.shown += step; refresh(); };
    return [
      standing(context),
      section("ledger", "Ledger", "newest first", filter(context),
        ledger.nudges.length
          ? h("ul", { class: "ledger" }, grouped(context).map((one) => (
            one.entries ? group(one, context) : entry(one, context))))
          : nothing("Nothing was decided yet: nobody's location was old enough."),
        ledger.next !== null && memory.shown < 1000
          ? more(ledger.nudges.length, null, showMore, "older") : null),
    ];
  },
};

function standing({ memory, now }) {
  const { mode, sink, frozen_until: frozen } = memory.ledger;
  return section("standing", "As they stand", null,
    h("p", null, modes[mode] ?? spoken(mode),
      mode === "live" ? ` The sink is ${spoken(sink)}.` : ""),
    frozen ? h("p", { class: "warned" }, "Frozen until ", time(frozen, now()),
      ": the clock stepped, or the store is an older one.") : null,
    memory.ledger.watching ? null
      : h("p", { class: "warned" }, "Nobody is nudged while Rollcall is not watching."));
}

function filter({ route, link }) {
  const chosen = route.query.get("decision") ?? "";
  return h("ul", { class: "choices", "aria-label": "Which entries" },
    choices.map(([value, words]) => h("li", { key: value }, h("a", {
      href: link(pathWith("nudges", { decision: value })),
      "aria-current": value === chosen ? "true" : null,
    }, words))));
}

// Those who are held for one reason stand together, until somebody is nudged in between.
function grouped(context) {
  const found = [];
  let open = new Map();
  for (const one of context.memory.ledger.nudges) {
    if (one.decision !== "hold") {
      open = new Map();
      found.push(one);
      continue;
    }
    const words = held(one, context);
    const known = open.get(words);
    if (known) {
      known.entries.push(one);
    } else {
      open.set(words, { words, entries: [one] });
      found.push(open.get(words));
    }
  }
  return found.flatMap((one) => (one.entries?.length < groupMin ? one.entries : [one]));
}

function held(one, { memory: { ledger }, status: watch }) {
  const before = ledger.nudges.find((other) => other.responder_id === one.responder_id
    && other.decision !== "hold" && other.at < one.at);
  const blindSince = watch.watching ? null : instant(watch.not_watching_since);
  return holdReason(one.reason, {
    at: one.at, until: one.until, frozenUntil: ledger.frozen_until, before, isDry: one.dry_run,
    isUnwatched: blindSince !== null && blindSince <= instant(one.at),
  });
}

// Of a fleet of many cells each counts its own.
function keyOf(one) {
  return `${one.responder_id} ${one.id}`;
}

function group({ words, entries }, context) {
  const { now, link } = context;
  const people = [...new Set(entries.map((one) => one.responder_id))];
  const rest = people.length - namesShown;
  const [newest, oldest] = [entries[0], entries.at(-1)];
  return h("li", { key: `group ${keyOf(oldest)}`, class: "entry is-hold group" },
    h("div", { class: "who" }, h("strong", null, count(people.length, "person", "people")),
      h("span", { class: "aside" }, people.slice(0, namesShown)
        .map((id, place) => [place ? ", " : "", person(id, link)]), rest > 0 ? ` and ${rest} more` : null)),
    h("div", { class: "what" }, h("strong", { class: "state" }, `held, ${entries.length} times`), " ",
      h("span", null, `${sentence(words)}.`),
      h("span", { class: "aside" }, "between ", time(oldest.at, now()), " and ", time(newest.at, now()))),
    h("details", { class: "each" }, h("summary", null, "Show each"),
      h("ul", null, entries.map((one) => entry(one, context)))));
}

function entry(one, context) {
  const { now, link, memory, refresh } = context;
  const id = one.responder_id;
  const unfold = (event) => {
    if (!event.target.open || memory.unfolded.has(id)) return;
    memory.unfolded.set(id, null);
    refresh();
  };
  return h("li", { key: keyOf(one), class: `entry is-${one.decision}` },
    h("div", { class: "who" }, person(id, link),
      h("span", { class: "aside" }, ago(one.at, now()))),
    h("div", { class: "what" },
      h("strong", { class: "state" }, decisions[one.decision] ?? spoken(one.decision)), " ",
      h("span", null, one.decision === "hold" ? `Not nudged: ${held(one, context)}.`
        : outcome(one.text ?? "")),
      h("span", { class: "aside" }, `location ${span(one.stale_seconds * 1000)} old then`,
        one.until ? ["; not before ", time(one.until, now())] : null)),
    h("details", { ontoggle: unfold }, h("summary", null, "Next possible"),
      h("p", null, next(memory.unfolded.get(id), now()))));
}

const units = { d: "d", h: "h", m: "min", s: "s" };

// The server's words, with spans as they stand elsewhere on the page.
function outcome(text) {
  return sentence(text).replace(/\b(in the )((?:\d+[dhms] ?)+)(?= until )/, (_, before, length) => before
    + length.replace(/(\d+)([dhms])/g, (_, number, unit) => `${number} ${units[unit]}`));
}

/** Whether somebody would be nudged now, and when at the earliest. */
export function next(answer, now) {
  if (answer === undefined || answer === null) return "Asking…";
  if (answer === "gone") return "Nobody has this id any more.";
  // Ages and times of a clock that stands still would be wrong within a second.
  if (answer.watching === false) {
    return "Rollcall is not watching: it does not know where anybody is, and nudges nobody. When the next "
      + "nudge is possible is known once it watches again.";
  }
  return [
    `${sentence(answer.text)}.`,
    answer.earliest_at
      ? h("strong", { class: "line" }, "Next possible: ", instant(answer.earliest_at) > now
        ? [fromNow(answer.earliest_at, now), ", ", time(answer.earliest_at, now)]
        : "at any moment") : null,
  ];
}

/** When each of these answers becomes another one: those whose next nudge was ahead as they were given. */
export function nextChanges(answers) {
  return answers.filter((one) => instant(one?.earliest_at) > instant(one?.as_of))
    .map((one) => instant(one.earliest_at));
}

function sentence(text) {
  return plain(text.charAt(0).toUpperCase() + text.slice(1));
}
