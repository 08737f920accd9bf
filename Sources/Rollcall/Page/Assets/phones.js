// Which phones the system kills: gaps of the last days by what the phone is. Source: P6.

import { Failure } from "./server.js";
import { h } from "./dom.js";
import { causes, count, more, section } from "./rows.js";
import { name, pathWith, span, spoken } from "./words.js";

const days = 7;
// So often a table of all gaps is asked for; in seconds.
const rereadEvery = 60;
const step = 10;
// By what a table may be, as an address says it, people read it, and the API takes it.
const kinds = [
  ["", "maker", "manufacturer"], ["model", "model", "manufacturer,model"],
  ["app", "app", "app_version"], ["system", "system", "os_version"],
];

function kind(route) {
  return kinds.find(([value]) => value === (route.query.get("by") ?? "")) ?? kinds[0];
}

/** Asks for the table; without an answer the last one stays, and the list above it is not held up. */
export async function loadPhones({ ask, every, memory, now, route }) {
  const [, , by] = kind(route);
  const region = route.query.get("region");
  await every(`phones ${by} ${region ?? ""}`, rereadEvery, async () => {
    const since = new Date(now() - days * 86_400_000).toISOString();
    try {
      const table = await ask(pathWith("v1/gaps", { by, region, since }));
      memory.phones = { ...table, by, region };
    } catch (error) {
      if (!(error instanceof Failure) || !["busy", "question", "missing"].includes(error.kind)) {
        throw error;
      }
    }
  });
}

/** The table, most gaps first; nothing while no phone says what it is. */
export function phones({ memory, route, link, redraw }) {
  const [chosen, , by] = kind(route);
  const table = memory.phones;
  if (table?.by !== by || table.region !== route.query.get("region")) return null;
  const isShown = (row) => keys(by).some((key) => row[key] !== null);
  if (chosen === "" && !table.rows.some(isShown)) return null;
  memory.phonesShown ??= step;
  const query = Object.fromEntries(route.query);
  return section("phones", `Which phones, last ${days} days`,
    h("ul", { class: "choices", "aria-label": "By what" }, kinds.map(([value, words]) => h(
      "li", { key: words }, h("a", {
        href: link(pathWith("silent", { ...query, by: value })),
        "aria-current": value === chosen ? "true" : null,
      }, words)))),
    h("ul", { class: "gaps" }, table.rows.slice(0, memory.phonesShown)
      .map((row) => line(row, keys(by)))),
    more(Math.min(table.rows.length, memory.phonesShown), table.rows.length,
      () => { memory.phonesShown += step; redraw(); }),
    table.truncated
      ? h("p", { class: "aside" }, "There are more gaps than were looked at for this table.") : null);
}

function keys(by) {
  return by.split(",");
}

function line(row, names) {
  const told = names.map((key) => row[key]).filter((word) => word !== null);
  const { median, total } = row.seconds ?? {};
  const verdicts = Object.entries(row.verdicts ?? {}).sort((a, b) => b[1] - a[1]);
  const known = verdicts.reduce((sum, [, number]) => sum + number, 0);
  return h("li", { key: JSON.stringify(names.map((key) => row[key])), class: "gap" },
    h("div", { class: "who" },
      h("strong", null, told.length ? told.map((word, place) => [place ? " " : "", name(word)])
        : "not told"),
      h("span", { class: "aside" }, `${count(row.gaps, "gap", "gaps")} of ${
        count(row.people ?? 0, "person", "people")}`)),
    h("div", { class: "when" },
      h("strong", null, total ? `${span(total * 1000)} out of contact` : "none is over"),
      h("span", { class: "aside" }, median ? `half were over after ${span(median * 1000)}` : null)),
    h("div", { class: "why" },
      h("strong", null, known
        ? `${spoken(verdicts[0][0])}: ${Math.round(100 * verdicts[0][1] / known)} %` : "no verdict yet"),
      h("span", { class: "aside" }, causes(verdicts))));
}
