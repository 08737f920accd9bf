// Who is silent and why, whether five or five thousand; and who came back.

import { isFleetCellAlone, numbersOnly } from "./cells.js";
import { h } from "./dom.js";
import { nothing } from "./marks.js";
import { loadPhones, phones } from "./phones.js";
import { causes, more, noGap, returned, section, silent, suspected } from "./rows.js";
import { amount, causes as known, pathWith, plain, span, spoken } from "./words.js";

const pageSize = 1000;
const pagesMax = 6;
const step = 50;
// All of a long list is read again so often; in seconds.
const rereadEvery = 30;

export const silentView = {
  path: "silent",
  name: "Silent",

  heading: ({ route }) => (route.query.get("state") === "closed" ? "Back again" : "Silent now"),

  async load(context) {
    const { ask, every, memory, now, route } = context;
    const isBack = route.query.get("state") === "closed";
    const filter = {
      state: isBack ? "closed" : "open", region: route.query.get("region"),
      cause: route.query.get("cause"),
    };
    memory.shown ??= step;
    // Who came back is asked for as far as it is looked at; of those who are silent all are
    // needed, since the longest come last.
    const limit = isBack ? Math.min(memory.shown, pageSize) : pageSize;
    const isLong = !isBack && memory.gaps?.length > pageSize;
    await every("gaps", isLong ? rereadEvery : 0, async () => {
      const found = [];
      let after = null;
      for (let page = 0; page < (isBack ? 1 : pagesMax); page += 1) {
        const part = await ask(pathWith("v1/gaps", { ...filter, limit, after }));
        found.push(...part.gaps);
        after = part.next;
        if (after === null) break;
      }
      memory.gaps = found;
      memory.isCut = after !== null;
      memory.readAt = now();
    });
    await loadPhones(context);
  },

  render(context) {
    const { memory, route, link, now, redraw, refresh, isSure, isFleetAway, status: watch } = context;
    if (isFleetCellAlone()) return section("gaps", "Nobody stands here", null, nothing(numbersOnly));
    const isBack = route.query.get("state") === "closed";
    const isNewest = isBack || route.query.get("sort") === "newest";
    // Without the fleet cell nobody has counted them all.
    const isFiltered = route.query.get("region") || route.query.get("cause") || isFleetAway;
    // Of all of them the number is the engine's, as on every other view.
    const isNone = !isBack && !isFiltered && watch.responders.OFFLINE === 0;
    const gaps = isNone ? [] : isNewest ? memory.gaps : [...memory.gaps].reverse();
    const row = isBack ? returned : silent;
    const found = `${amount(gaps.length)}${memory.isCut ? " or more" : ""} silent`;
    const heading = isBack ? "Who came back" : isNone ? "Nobody" : isFiltered ? found
      : `${amount(watch.responders.OFFLINE)} silent`;
    const showMore = () => {
      memory.shown += gaps.length > 500 ? 200 : step;
      redraw();
      if (isBack) refresh();
    };
    return [section("gaps", heading,
      gaps.length > pageSize ? `read ${span(now() - memory.readAt)} ago` : null, filters(context),
      isBack ? null : !isFiltered ? suspected(watch)
        : gaps.length > 1 ? h("p", { class: "causes" }, `Suspected: ${tally(gaps)}.`) : null,
      gaps.length
        ? h("ul", { class: "gaps" }, gaps.slice(0, memory.shown)
          .map((gap) => row(gap, { now: now(), link, isBrief: false })))
        : nothing(isBack ? "Nobody who fits came back." : !isFiltered && !isNone ? noGap : isSure
          ? "Nobody who fits is silent." : "Nobody who fits was silent, of what was known last."),
      more(Math.min(gaps.length, memory.shown), memory.isCut ? null : gaps.length, showMore),
      memory.isCut && !isBack
        ? h("p", { class: "aside" }, `Only the ${amount(gaps.length)} who fell silent `
          + "last are looked at; a region or a cause narrows it down.") : null),
    phones(context)];
  },
};

function tally(gaps) {
  const counts = new Map();
  for (const gap of gaps) counts.set(gap.suspected, (counts.get(gap.suspected) ?? 0) + 1);
  return causes(counts);
}

function filters({ route, memory, go }) {
  const query = Object.fromEntries(route.query);
  const isBack = query.state === "closed";
  memory.regions ??= new Set(query.region ? [query.region] : []);
  for (const gap of memory.gaps) memory.regions.add(gap.region);
  const change = (key) => (event) => go(
    pathWith("silent", { ...query, [key]: event.target.value }));
  const choice = (key, label, options) => h("label", { key }, h("span", null, label),
    h("select", { onchange: change(key), name: key },
      options.map(([value, words]) => h(
        "option", { key: value, value, selected: (query[key] ?? "") === value }, words))));
  const regions = [...memory.regions].sort().slice(0, 300);
  return h("form", { class: "filters", onsubmit: (event) => event.preventDefault() },
    choice("state", "Who", [["", "silent now"], ["closed", "back again"]]),
    choice("region", "Region", [["", "all regions"], ...regions.map((one) => [one, plain(one)])]),
    choice("cause", "Cause", [["", "all causes"], ...known.map((one) => [one, spoken(one)])]),
    isBack ? null
      : choice("sort", "Order", [["", "longest first"], ["newest", "newest first"]]));
}
