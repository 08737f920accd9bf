// Statuses and severities as shapes with their words: a colour never says anything alone.

import { h } from "./dom.js";

/** The statuses of people who are active, best first. */
export const statuses = ["ONLINE", "DEGRADED", "UNKNOWN", "OFFLINE"];

const shapes = {
  ONLINE: () => h("circle", { cx: 6, cy: 6, r: 5 }),
  DEGRADED: () => h("path", { d: "M6 .8 11.6 11H.4z" }),
  OFFLINE: () => h("path", { d: "M.8.8h10.4v10.4H.8z" }),
  UNKNOWN: () => h("circle", { cx: 6, cy: 6, r: 4, class: "hollow" }),
  NOT_EXPECTED: () => h("path", { d: "M1 6h10", class: "hollow" }),
};

/** The shape of a status alone, beside a word that says it. */
export function shape(status) {
  const draw = shapes[status] ?? shapes.UNKNOWN;
  return h(
    "svg", { class: `shape is-${status}`, viewBox: "0 0 12 12", "aria-hidden": "true" }, draw());
}

/** A status with its word. One that is not confirmed is drawn hollow. */
export function status(word, isConfirmed = true) {
  const label = word === "NOT_EXPECTED" ? "not expected" : word;
  return h(
    "span", { class: `status is-${word}${isConfirmed ? "" : " unconfirmed"}` },
    shape(word), label);
}

const severityShapes = {
  critical: "M6 0 12 6 6 12 0 6z",
  warning: "M6 .8 11.6 11H.4z",
};

/** A severity with its word. */
export function severity(word) {
  const path = severityShapes[word] ?? "M1 6h10";
  const known = word in severityShapes ? word : "none";
  return h(
    "span", { class: `severity is-${known}` },
    h("svg", { class: "shape", viewBox: "0 0 12 12", "aria-hidden": "true" },
      h("path", { d: path, class: word in severityShapes ? "" : "hollow" })),
    word ?? "none");
}

/** The pattern of what nobody saw; to stand in a drawing whose parts are filled with it. */
export function hatching(id) {
  return h("defs", null, h("pattern", {
    id, width: 7, height: 7, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)",
  }, h("rect", { width: 7, height: 7, class: "hatch-ground" }),
  h("rect", { width: 3, height: 7, class: "hatch-line" })));
}

/** What stands where there is nothing to show. */
export function nothing(...words) {
  return h("p", { class: "nothing" }, words);
}
