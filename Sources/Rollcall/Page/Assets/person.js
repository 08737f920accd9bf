// One person: how they are, their last hours as a picture with the story beside it, and nudges.

import { idActions, personActions } from "./act.js";
import { isFleetCellAlone, numbersOnly } from "./cells.js";
import { h } from "./dom.js";
import { nothing, status } from "./marks.js";
import { next, nextChanges } from "./nudges.js";
import { confirmation } from "./people.js";
import { picture } from "./picture.js";
import { Failure } from "./server.js";
import { follows, more, region, section, why } from "./rows.js";
import { line, story } from "./story.js";
import { ago, facts, instant, name, pathWith, plain, since, spoken, time } from "./words.js";

const ranges = [["15m", "15 min", 15], ["1h", "1 h", 60], ["", "6 h", 360], ["24h", "24 h", 1440],
  ["3d", "3 d", 4320]];
const pageSize = 1000;
const pagesMax = 4;
const overlap = 60_000;
const linesShown = 40;

export const personView = {
  path: "people/",
  name: "Person",

  heading: ({ route }) => name(route.id),

  title: ({ route, memory }) => (
    `${plain(route.id)}${memory.person && !memory.away ? ` ${spoken(memory.person.status)}` : ""}`),

  async load(context) {
    const { memory } = context;
    // Whom another cell has, this one will not know a moment later either.
    if (memory.away?.isElsewhere) return;
    try {
      await read(context);
      memory.away = null;
    } catch (error) {
      if (!(error instanceof Failure) || error.cell === null) throw error;
      memory.away = { cell: error.cell, isElsewhere: error.kind === "elsewhere" };
    }
  },

  changesAt: ({ memory }) => nextChanges([memory.nudge]),

  render(context) {
    const { memory } = context;
    if (memory.away) return [missing(context), memory.person ? whole(context) : null];
    if (memory.person === null) {
      return section("nobody", "Nobody has this id", null,
        nothing("Ids are compared letter by letter. ",
          "Somebody who was erased is not known any more."));
    }
    return whole(context);
  },
};

function whole(context) {
  return [now(context), drawn(context), h("div", { class: "columns" },
    h("div", { class: "wide" }, told(context)),
    h("div", { class: "narrow" }, nudges(context), known(context)))];
}

// Where somebody is of whom nothing can be told here, or nothing now.
function missing({ memory: { away, person }, route }) {
  const where = `What is known of ${plain(route.id)} is in cell ${plain(away.cell)}`;
  return section("elsewhere", away.isElsewhere ? "Not here" : "Not known now", null,
    h("p", { class: "warned" }, away.isElsewhere ? [`${where}. `, isFleetCellAlone() ? numbersOnly
      : "Ask that cell, or a gateway."]
      : [`${where}, which does not answer. `, person ? "What stands here is older."
        : "Reach them another way until it does."]),
    person ? null : idActions(route.id));
}

async function read(context) {
  const { askIfThere, memory, route } = context;
  const path = `v1/responders/${encodeURIComponent(route.id)}`;
  memory.person = await askIfThere(path);
  if (memory.person === null) return;
  memory.nudge = await askIfThere(`${path}/nudge`);
  memory.gaps = await askIfThere(
    pathWith("v1/gaps", { responder: route.id, limit: 20 })) ?? { gaps: [] };
  await follow(context, `${path}/timeline`);
}

function minutes(route) {
  return ranges.find(([value]) => value === (route.query.get("last") ?? ""))?.[2] ?? 360;
}

// The first question brings the whole span, the next ones only what is new.
async function follow(context, path) {
  const { ask, memory, route } = context;
  const from = context.now() - minutes(route) * 60_000;
  memory.events ??= new Map();
  let after = null;
  let isWhole = false;
  const begin = memory.newest ? memory.newest - overlap : from;
  const found = [];
  for (let page = 0; page < pagesMax && !isWhole; page += 1) {
    // Contacts are many: those that do not fit the first page are left out.
    const part = await ask(pathWith(path, {
      since: new Date(begin).toISOString(), limit: pageSize, after,
      contacts: page === 0 ? null : "false",
    }));
    found.push(...part.events);
    after = part.next;
    isWhole = after === null;
    if (page === 0 && !memory.newest) {
      const oldest = part.events[part.events.length - 1];
      memory.knownFrom = isWhole || !oldest ? from : instant(oldest.at);
    }
  }
  for (const event of found.reverse()) memory.events.set(JSON.stringify(event), event);
  const all = [...memory.events].filter(([, event]) => instant(event.at) >= from - overlap);
  // What stands at one instant keeps the server's order, but what was heard stands first.
  all.sort(([, a], [, b]) => instant(a.at) - instant(b.at)
    || (ranks[a.kind] ?? 9) - (ranks[b.kind] ?? 9));
  memory.events = new Map(all);
  memory.list = all.map(([, event]) => event);
  const last = memory.list[memory.list.length - 1];
  if (last) memory.newest = instant(last.at);
}

const ranks = {
  contact: 0, told: 0, server: 0, blind: 1, status: 2, gap: 3, nudge: 4, wake: 5,
};

function now(context) {
  const { memory } = context;
  const one = memory.person;
  const open = memory.gaps.gaps.find((gap) => gap.state === "open" && gap.offline_at);
  return section("person", "Now", null,
    h("div", { "data-card": one.responder_id, tabindex: -1 },
      h("div", { class: "standing" },
        h("p", { class: "large" }, status(one.status, one.confirmed)),
        h("p", { class: "large" }, one.last_contact_at
          ? ["last seen ", ago(one.last_contact_at, context.now())] : "never seen"),
        one.promised_until ? h("p", null, "promised to report by ",
          time(one.promised_until, context.now())) : null,
        h("p", null, [confirmation(one), one.not_expected
          ? `not expected: ${spoken(one.not_expected)}` : null].filter(Boolean).join(", ")),
        h("p", { class: "aside" }, `${standing(one)} `, since(one.since, context.now()),
          "; last location ", ago(one.last_location_at, context.now()))),
      open ? h("p", null, h("strong", null, `Suspected: ${spoken(open.suspected)}. `),
        why(open, false), " ", follows(open)) : null,
      personActions(one, memory.nudge)));
}

// A status as it is said elsewhere on the page.
function standing({ status }) {
  return { OFFLINE: "silent", DEGRADED: "late", UNKNOWN: "not heard yet", NOT_EXPECTED: "not expected" }[status]
    ?? spoken(status);
}

function drawn({ memory, route, link, go, status: watch, now: clockNow }) {
  const until = clockNow();
  const whole = until - minutes(route) * 60_000;
  // Who is known for some minutes only has no hours to be drawn.
  const first = memory.list[0];
  const isNew = memory.knownFrom <= whole + 60_000
    && memory.list.find((event) => event.kind === "status")?.from === "NOT_EXPECTED";
  const from = isNew ? Math.max(whole, instant(first.at) - 5000) : whole;
  const path = `people/${encodeURIComponent(route.id)}`;
  const chosen = route.query.get("last") ?? "";
  return section("timeline", "Timeline",
    h("ul", { class: "choices", "aria-label": "How far back" },
      ranges.map(([value, words]) => h("li", { key: words }, h("a", {
        href: link(pathWith(path, { last: value })),
        "aria-current": value === chosen ? "true" : null,
      }, words)))),
    picture(memory.person, memory.list, {
      from, until, knownFrom: memory.knownFrom, keptFrom: instant(watch.store?.oldest_at) ?? from, go, link,
    }));
}

function told({ memory, now: clockNow, link, redraw }) {
  memory.lines ??= linesShown;
  const parts = story(memory.list, memory.gaps.gaps);
  return section("story", "Story", "newest first",
    parts.length
      ? h("ol", { class: "steps" }, parts.slice(0, memory.lines)
        .map((part, place) => line(part, parts.length - place, clockNow(), link)))
      : nothing("Nothing happened in this time."),
    more(Math.min(parts.length, memory.lines), parts.length,
      () => { memory.lines += linesShown; redraw(); }));
}

function nudges({ memory, now: clockNow, isLost }) {
  const answer = memory.nudge;
  return section("nudge", "Would they be nudged now?", null,
    h("p", null, isLost ? "That is not known while the server does not answer this page."
      : next(answer, clockNow())),
    answer?.last_nudged_at
      ? h("p", { class: "aside" }, answer.mode === "dry_run" ? "Last would have been nudged "
        : "Last nudged ", ago(answer.last_nudged_at, clockNow()), ".")
      : null);
}

function known({ memory, now: clockNow, link }) {
  const one = memory.person;
  const lines = [
    ["Region", one.region ? region(one.region, link) : null],
    ["Duty", one.duty_state ? spoken(one.duty_state) : null],
    ["Sharing", one.paused_until
      ? [spoken(one.sharing), " until ", time(one.paused_until, clockNow())] : spoken(one.sharing)],
    ["Circles", one.circles?.length
      ? one.circles.map((circle, place) => [place ? ", " : "", name(circle)]) : "none"],
    ["Platform", [spoken(one.platform), one.os_version ? ` ${plain(one.os_version)}` : "",
      one.app_version ? `, app ${plain(one.app_version)}` : ""]],
    ["Make", one.manufacturer || one.model
      ? [plain(one.manufacturer ?? ""), " ", plain(one.model ?? "")] : null],
    ["Phone", facts({ ...one.telemetry, battery_level: one.battery_level }) || null],
  ].filter(([, words]) => words !== null);
  return section("known", "What it told last", null,
    h("dl", { class: "facts" }, lines.map(([term, words]) => [
      h("dt", { key: term }, term), h("dd", { key: `of ${term}` }, words)])));
}
