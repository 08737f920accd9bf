// Everybody, or whom a filter chooses, in any order; and what is different about those.

import { Failure } from "./server.js";
import { isFleetCellAlone, isStatusOfFleet, numbersOnly, whose } from "./cells.js";
import { h, part } from "./dom.js";
import { differences, loadDifferences } from "./differ.js";
import { filterField, filtersOf, pathOf } from "./filters.js";
import { nothing, status, statuses } from "./marks.js";
import { count, more, person, region, section } from "./rows.js";
import { ago, amount, name, plain, span, spoken } from "./words.js";

const step = 100;
const wantedMax = 5000;
// More people than this are looked at again only every so many seconds.
const many = 20_000;
const rereadEvery = 20;

// A column by the key of its order, its heading, and the order that a first press gives.
const columns = [
  ["id", "Person", "id", who],
  ["status", "Status", "-status", standing],
  ["silent_for", "Silent for", "-silent_for", silence],
  ["last_seen", "Last seen", "-last_seen", (one, { now }) => ago(one.last_contact_at, now())],
  ["cause", "Suspected", "cause", (one) => (one.suspected ? spoken(one.suspected) : null)],
  ["region", "Region", "region", (one, { link }) => (one.region ? region(one.region, link) : null)],
  ["battery", "Battery", "battery", (one) => (one.battery_level === undefined ? null
    : `${Math.round(one.battery_level * 100)} %`)],
  ["model", "Phone", "model", phone],
  ["app_version", "App", "app_version", (one) => (one.app_version ? name(one.app_version) : null)],
  ["network_type", "Network", "network_type", (one) => (one.telemetry?.network_type
    ? spoken(one.telemetry.network_type) : null)],
];

// Orders as the heading says them.
const orders = {
  id: ["by id", "by id, from the end"], status: ["the best status first", "the worst status first"],
  silent_for: ["silent for the shortest first", "silent for the longest first"],
  last_seen: ["longest not seen first", "seen last first"], battery: ["emptiest first", "fullest first"],
};

export const people = {
  path: "people",
  name: "People",

  heading: ({ route }) => (route.query.get("status") === "OFFLINE" ? "Silent" : "People"),

  async load(context) {
    const { every, memory, route } = context;
    const filters = filtersOf(route.query);
    memory.wanted ??= step;
    const list = async () => {
      try {
        Object.assign(memory, await page(context, filters), { fault: null });
      } catch (error) {
        // What was asked for makes no sense to the server, which says why.
        if (!(error instanceof Failure) || error.kind !== "question") throw error;
        Object.assign(memory, { found: [], total: 0, next: null, fault: error.message });
      }
    };
    await every(`people ${memory.wanted}`, memory.total > many ? rereadEvery : 0, list);
    await loadDifferences(context, memory.fault ? {} : filters);
  },

  render(context) {
    const { memory, route, refresh, isSure, away } = context;
    if (isFleetCellAlone()) return section("people", "Nobody stands here", null, nothing(numbersOnly));
    const filters = filtersOf(route.query);
    const shown = memory.found.length;
    const beside = differences(context, filters);
    const list = section("people", memory.fault ? "The filter is not understood"
      : count(memory.total, "person", "people") + (away.length ? `, without ${whose(away)}` : ""), words(context),
      filterField(context, names(memory)), part(() => choices(context, filters)),
      memory.fault ? h("p", { class: "warned", role: "alert" }, plain(memory.fault))
        : shown ? table(context)
          : nothing(isSure ? "Nobody fits." : "Nobody fits, of what was known last."),
      more(shown, memory.next === null ? shown : memory.total,
        () => { memory.wanted = Math.min(wantedMax, memory.wanted + step); refresh(); }));
    return beside
      ? h("div", { class: "columns listed" }, h("div", { class: "wide" }, list),
        h("div", { class: "narrow" }, beside))
      : list;
  },
};

// As many pages as are wanted.
async function page({ ask, memory, route }, filters) {
  const sort = order(route.query);
  const found = [];
  let answer = { next: null };
  do {
    const limit = Math.min(1000, memory.wanted - found.length);
    answer = await ask(pathOf("v1/responders", { ...filters, sort, limit, after: answer.next }));
    found.push(...answer.responders);
  } while (answer.next !== null && found.length < memory.wanted && answer.responders.length);
  return { found, total: answer.total, next: answer.next, asOf: Date.parse(answer.as_of) };
}

// The order that is asked for. Unless somebody wants it otherwise the worst stand first; of those who
// are silent, who is for the longest; of ids that were searched for, those that begin alike, which is
// the server's own order: null.
function order(query) {
  const isOfSilent = ["status", "cause", "silent_since", "silent_until"].some((key) => query.get(key));
  return query.get("sort") ?? (query.get("q") ? null : isOfSilent ? "-silent_for" : "-status");
}

function words({ route }) {
  const sort = order(route.query);
  if (sort === null) return "those whose id begins with it first";
  const key = sort.replace(/^-/, "");
  const heading = columns.find(([one]) => one === key)?.[1] ?? spoken(key);
  return (orders[key] ?? [`by ${heading.toLowerCase()}`, `by ${heading.toLowerCase()}, from the end`])[
    sort.startsWith("-") ? 1 : 0];
}

// MARK: The table

// On a narrow screen the rows are cards, and would be no table any more without their roles.
function table(context) {
  const { memory } = context;
  return h("div", { class: "scrolls", role: "region", "aria-label": "People", tabindex: 0 },
    h("table", { class: "people", role: "table" },
      h("thead", { role: "rowgroup" }, h("tr", { role: "row" },
        columns.map((column) => head(column, context)))),
      h("tbody", { role: "rowgroup" }, memory.found.map((one) => h("tr", {
        key: one.responder_id, role: "row", "data-responder": one.responder_id,
      }, columns.map(([key, words, , cell]) => {
        const content = cell(one, context);
        return h(key === "id" ? "th" : "td", {
          key, class: `cell-${key}${content === null ? " none" : ""}`, "data-label": words,
          role: key === "id" ? "rowheader" : "cell", scope: key === "id" ? "row" : null,
        }, content === null ? "–" : content);
      }))))));
}

function head([key, words, first], { route, go }) {
  const sort = order(route.query);
  const isOurs = sort?.replace(/^-/, "") === key;
  const turned = sort?.startsWith("-") ? key : `-${key}`;
  const press = () => go(pathOf("people", {
    ...Object.fromEntries(route.query), sort: isOurs ? turned : first,
  }));
  return h("th", {
    key, role: "columnheader", scope: "col",
    "aria-sort": isOurs ? (sort.startsWith("-") ? "descending" : "ascending") : null,
  }, h("button", { type: "button", onclick: press }, words,
    h("svg", {
      class: `arrow${isOurs ? "" : " off"}`, viewBox: "0 0 10 10", "aria-hidden": "true",
    }, isOurs ? h("path", { d: sort.startsWith("-") ? "M1 3h8L5 9z" : "M1 7h8L5 1z" }) : null)));
}

function who(one, { link }) {
  return person(one.responder_id, link);
}

function standing(one) {
  const why = one.not_expected ? spoken(one.not_expected) : confirmation(one);
  return [status(one.status, one.confirmed), h("span", { class: "aside" }, why)];
}

// Watched time, which goes on as long as we watch.
// Watched time: while nobody watches, or answers, it stands still, and an age beside it would not.
function silence(one, { memory, now, isSure }) {
  if (one.silent_seconds === undefined || !isSure) return null;
  return span(one.silent_seconds * 1000 + Math.max(0, now() - memory.asOf));
}

function phone(one) {
  const told = [one.manufacturer, one.model].filter(Boolean);
  if (told.length) return name(told.join(" "));
  return one.platform === "unknown" ? null : spoken(one.platform);
}

/** What a status is worth now, in words. */
export function confirmation(one) {
  if (one.status === "NOT_EXPECTED") return "";
  const words = one.confirmed ? [] : ["not confirmed"];
  const reach = { yes: "can be reached", no: "cannot be reached", unknown: "reachable: unknown" };
  words.push(reach[one.reachable] ?? spoken(one.reachable));
  return words.join(", ");
}

// MARK: Filters

// Statuses at one press, with how many there are of all.
function choices({ route, link, status: watch, isFleetAway }, filters) {
  const query = Object.fromEntries(route.query);
  // Of all people the numbers are known; of those whom other filters choose they are not. The fleet cell hears
  // of those who are waited for alone.
  const isAll = Object.keys(filters).every((key) => key === "status") && !isFleetAway;
  const of = (word) => (!isAll || word === "NOT_EXPECTED" && isStatusOfFleet() ? null
    : word === "NOT_EXPECTED" ? watch.not_expected.all : watch.responders[word]);
  const choice = (word, words, number) => h("li", { key: word }, h("a", {
    href: link(pathOf("people", { ...query, status: word || null })),
    "aria-current": (filters.status ?? "") === word ? "true" : null,
  }, words, number === null ? null : [" ", h("span", { class: "aside" }, amount(number))]));
  return h("ul", { class: "choices", "aria-label": "Status" }, choice("", "everybody", null),
    [...statuses, "NOT_EXPECTED"].map(
      (word) => choice(word, word === "NOT_EXPECTED" ? "not expected" : word, of(word))));
}

// Values that were seen, to suggest.
function names(memory) {
  const seen = memory.names ??= {
    region: new Set(), model: new Set(), manufacturer: new Set(), app_version: new Set(),
    os_version: new Set(), circle: new Set(),
  };
  for (const one of memory.found) {
    for (const key of Object.keys(seen)) if (one[key]) seen[key].add(one[key]);
    for (const circle of one.circles) seen.circle.add(circle);
  }
  return seen;
}
