// What is different about those who are chosen: what they have more often than all others.

import { Failure } from "./server.js";
import { pathOf } from "./filters.js";
import { h } from "./dom.js";
import { nothing } from "./marks.js";
import { count, section } from "./rows.js";
import { amount, name, spoken } from "./words.js";

// So often it is asked for; in seconds.
const rereadEvery = 20;
const firstShown = 3;

// Facts as people read them.
const facts = {
  platform: "platform", manufacturer: "maker", model: "model", os_version: "system version",
  app_version: "app version", permission_status: "permission", location_services: "location services",
  power_mode: "power mode", app_state: "app state", network_type: "network", battery: "battery",
  duty_state: "duty", region: "region",
};
// Facts whose values are names, which are shown as they are.
const names = ["manufacturer", "model", "os_version", "app_version", "region"];

function value(one) {
  if (names.includes(one.fact)) return name(one.value);
  if (one.fact === "battery") return `${one.value.replace("-", "–")} %`;
  if (one.fact === "location_services") return one.value === "true" ? "on" : "off";
  return spoken(one.value);
}

/** Asks what is different; without an answer the last one stays, and the list is not held up. */
export async function loadDifferences({ ask, every, memory }, filters) {
  const asked = pathOf("v1/differences", filters);
  if (Object.keys(filters).length === 0) {
    memory.differences = null;
    return;
  }
  await every(asked, rereadEvery, async () => {
    try {
      memory.differences = { ...await ask(asked), asked };
    } catch (error) {
      if (!(error instanceof Failure) || !["busy", "question", "missing"].includes(error.kind)) {
        throw error;
      }
    }
  });
}

/** The panel; nothing where everybody is shown, or nobody. */
export function differences({ memory, route, link, redraw }, filters) {
  const found = memory.differences;
  if (!found || found.asked !== pathOf("v1/differences", filters) || found.chosen === 0) return null;
  const query = Object.fromEntries(route.query);
  const words = found.rest === 0 ? "There is nobody else who is expected."
    : found.chosen < 3 ? "They are too few to say."
      : "Nothing that is known of them is more common than among all others.";
  return section("differ", "What is different about them",
    `${count(found.chosen, "person", "people")} against ${amount(found.rest)} others`,
    found.differences.length
      ? h("ul", { class: `differ${memory.allDifferences ? " whole" : ""}` },
        found.differences.map((one, place) => line(one, place, query, link)))
      : nothing(words),
    found.differences.length > firstShown && !memory.allDifferences
      // Where the panel stands above the list it is short; beside it there is room.
      ? h("p", { class: "more only-narrow" }, h("button", {
        type: "button", onclick: () => { memory.allDifferences = true; redraw(); },
      }, `Show ${found.differences.length - firstShown} more`)) : null);
}

function line(one, place, query, link) {
  const [share, rest] = [one.in / one.of, one.rest_of ? one.rest / one.rest_of : 0];
  return h("li", { key: `${one.fact} ${one.value}`, class: place < firstShown ? null : "later" },
    h("a", { href: link(pathOf("people", { ...query, [one.fact]: one.value })) },
      h("span", { class: "fact" }, facts[one.fact] ?? spoken(one.fact)), " ",
      h("strong", null, value(one))),
    bars(share, rest),
    h("span", { class: "aside" }, `${amount(one.in)} of ${amount(one.of)
    } (${percent(share)}); of all others ${amount(one.rest)} of ${
      amount(one.rest_of)} (${percent(rest)})`));
}

function percent(share) {
  const number = 100 * share;
  return number > 0 && number < 1 ? "under 1\u00a0%" : `${Math.round(number)}\u00a0%`;
}

// The chosen above, all others below; the text beside says it.
function bars(share, rest) {
  const width = (part) => `${(100 * part).toFixed(1)}%`;
  return h("svg", { class: "shares", "aria-hidden": "true" },
    h("rect", { class: "chosen", x: 0, y: 0, width: width(share), height: 6 }),
    h("rect", { class: "others", x: 0, y: 8, width: width(rest), height: 4 }));
}
