// Everybody, by status and region.

import { h } from "./dom.js";
import { nothing, status, statuses } from "./marks.js";
import { more, person, region, section } from "./rows.js";
import { ago, pathWith, plain, spoken } from "./words.js";

const step = 100;
const stepsMax = 20;

export const people = {
  path: "people",
  name: "People",

  heading: () => "People",

  async load({ ask, memory, route }) {
    const filter = { status: route.query.get("status"), region: route.query.get("region") };
    memory.wanted ??= step;
    const found = [];
    let after = null;
    for (let turn = 0; turn < stepsMax && found.length < memory.wanted; turn += 1) {
      const limit = Math.min(1000, memory.wanted - found.length);
      const page = await ask(pathWith("v1/responders", { ...filter, limit, after }));
      found.push(...page.responders);
      after = page.next;
      if (after === null) break;
    }
    memory.found = found;
    memory.hasMore = after !== null;
  },

  render(context) {
    const { memory, refresh } = context;
    const number = `${memory.found.length.toLocaleString("en")}${memory.hasMore ? " or more" : ""}`;
    return section("people", memory.found.length === 1 && !memory.hasMore
      ? "1 person" : `${number} people`, "in the order in which they were first heard of",
    filters(context),
    memory.found.length
      ? h("ul", { class: "gaps" }, memory.found.map((one) => row(one, context)))
      : nothing("Nobody fits."),
    more(memory.found.length, memory.hasMore ? null : memory.found.length,
      () => { memory.wanted += step; refresh(); }));
  },
};

function row(one, { now, link }) {
  return h("li", { key: one.responder_id, class: "gap", "data-responder": one.responder_id },
    h("div", { class: "who" }, person(one.responder_id, link),
      h("span", { class: "aside" }, one.region ? ["in ", region(one.region, link)] : null)),
    h("div", { class: "when" }, status(one.status, one.confirmed),
      h("span", { class: "aside" }, confirmation(one))),
    h("div", { class: "why" }, h("strong", null, "last seen ", ago(one.last_contact_at, now())),
      h("span", { class: "aside" }, [
        one.duty_state ? `duty ${spoken(one.duty_state)}` : null,
        one.not_expected ? `not expected: ${spoken(one.not_expected)}` : null,
      ].filter(Boolean).join(", "))));
}

/** What a status is worth now, in words. */
export function confirmation(one) {
  if (one.status === "NOT_EXPECTED") return "";
  const words = one.confirmed ? [] : ["not confirmed"];
  const reach = { yes: "can be reached", no: "cannot be reached", unknown: "reachable: unknown" };
  words.push(reach[one.reachable] ?? spoken(one.reachable));
  return words.join(", ");
}

function filters({ route, memory, go }) {
  const query = Object.fromEntries(route.query);
  memory.regions ??= new Set(query.region ? [query.region] : []);
  for (const one of memory.found) if (one.region) memory.regions.add(one.region);
  const change = (key) => (event) => go(
    pathWith("people", { ...query, [key]: event.target.value }));
  const choice = (key, label, options) => h("label", { key }, h("span", null, label),
    h("select", { onchange: change(key), name: key },
      options.map(([value, words]) => h(
        "option", { key: value, value, selected: (query[key] ?? "") === value }, words))));
  return h("form", { class: "filters", onsubmit: (event) => event.preventDefault() },
    choice("status", "Status", [["", "everybody"], ...statuses.map((word) => [word, word])]),
    choice("region", "Region", [["", "all regions"],
      ...[...memory.regions].sort().slice(0, 300).map((one) => [one, plain(one)])]));
}
