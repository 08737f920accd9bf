// A fleet of many cells, as far as the page knows of it: what part of it answers here, which cells say nothing,
// and of how many people nothing is known for that. Of a watch without cells there is none of it.

import { ask, askIfThere, Failure } from "./server.js";
import { amount, plain } from "./words.js";

const { cell, fleetCell } = document.documentElement.dataset;

// A list of all cells' answers names those that are left out: so has a gateway's.
let isGateway = false;
let standing = [];
let standingAt = -Infinity;
// Of many cells it is long: unless somebody is missing it is asked for so often.
const calmFor = 60_000;

// What lists call the one cell that has no people.
const ofFleet = "fleet cell";

// MARK: What answers here

/** The cell whose page this is; null where it is not one cell's. */
export const ownCell = cell ?? null;

/** Whether all cells answer here. */
export function isOfMany() {
  return isGateway;
}

/** Whether the fleet cell answers here by itself, which knows nobody. */
export function isFleetCellAlone() {
  return fleetCell !== undefined && !isGateway;
}

/** Whether the status is the fleet cell's, here or behind a gateway: it counts people and knows none. */
export function isStatusOfFleet() {
  return fleetCell !== undefined || isGateway;
}

/** How nudges stand, if this answers for them: the fleet cell nudges nobody, and each cell has settings of its own. */
export function nudgesOf(status) {
  return isStatusOfFleet() ? null : status?.nudges ?? null;
}

/** What is said where people would stand on a page that knows none. */
export const numbersOnly = "This is the fleet cell: it knows numbers and no people. People are at the cells, or "
  + "through a gateway.";

/** What asks, and notes in `away`, by what was asked, which cells did not answer. */
export function asker({ away }, signal) {
  const noting = (path) => (answer) => {
    if (Array.isArray(answer?.unavailable)) isGateway = true;
    away.set(path.split("?")[0], answer?.unavailable ?? []);
    return answer;
  };
  return {
    ask: (path) => ask(path, signal).then(noting(path)),
    askIfThere: (path) => askIfThere(path, signal).then(noting(path)),
  };
}

/**
 * Asks how the cells stand; now and then while all is well by the alerts that came just now. While nobody knows,
 * what was known stays.
 */
export async function loadStanding({ ask }, { alerts, unavailable = [] }) {
  if (!isStatusOfFleet() || unavailable.includes(ofFleet)) return;
  const isCalm = unlit(unavailable).length === 0 && !alerts.some((one) => one.alertname === "CellDark");
  if (isCalm && performance.now() - standingAt < calmFor) return;
  standingAt = performance.now();
  try {
    const told = (await ask("v1/cells")).standing;
    if (Array.isArray(told)) standing = told;
  } catch (error) {
    if (!(error instanceof Failure) || error.kind === "dropped") throw error;
  }
}

/** Whether a failure is the fleet cell's alone: the cells may answer. */
export function isOfFleetCell(failure) {
  return isGateway && failure.cell === ofFleet;
}

// MARK: What is missing

/** The cells of a list of those who do not answer, without the one that has no people. */
export function ofPeople(names) {
  return names.filter((name) => name !== ofFleet);
}

/** The cells that the fleet cell hears nothing of; not those that say themselves that they see nobody. */
function dark() {
  return standing.filter((one) => one.dark).map((one) => one.cell);
}

/** The cells of whose people nothing is known: those that do not answer, say nothing, or do not watch. */
export function unlit(away) {
  const known = standing.filter((one) => one.dark || one.blind).map((one) => one.cell);
  return [...new Set([...away, ...known])].sort();
}

/** How many people are waited for in these cells; null if that is not known. */
export function peopleOf(names) {
  const found = standing.filter((one) => names.includes(one.cell));
  return found.length < names.length ? null : found.reduce((sum, one) => sum + one.active, 0);
}

/** "cell c3", "cells c3 and c6", "cells c1, c3 and c6". */
export function called(names) {
  return `${names.length === 1 ? "cell" : "cells"} ${joined(names)}`;
}

/** "cell c3's", "cells c3's and c6's". */
export function whose(names) {
  return `${names.length === 1 ? "cell" : "cells"} ${joined(names.map((one) => `${one}'s`))}`;
}

function joined(names) {
  const shown = names.map(plain);
  return shown.length === 1 ? shown[0] : `${shown.slice(0, -1).join(", ")} and ${shown.at(-1)}`;
}

function capitalised(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

// MARK: The sentence

/**
 * What is read first, in the server's words, and what it cannot say: of which cell it is, and who does not
 * answer the page while the server still waits for them.
 */
export function sentenceOf({ status, away, unlit: missing, isFleetAway }) {
  const told = status?.sentence;
  if (!told) return null;
  if (isFleetAway) {
    return {
      level: "unknown", headline: "The fleet cell does not answer.",
      rest: "Nobody decides about many, and no totals are known.", detail: "",
    };
  }
  if (ownCell !== null) return { ...told, headline: headlineOfCell(told.headline) };
  const found = { ...told };
  const silent = dark();
  if (silent.length > 1 && /^Nothing is heard of cell .*\.$/.test(told.headline)) {
    found.headline = `Nothing is heard of ${called(silent)}.`;
  }
  // Who is dark is in the server's sentence; who only begins to be is not yet.
  const late = isUnknownTold(told) ? away.filter((one) => !silent.includes(one)) : missing;
  if (late.length === 0) return found;
  const words = unknown(late);
  if (found.level !== "good") return { ...found, detail: `${found.detail} ${words}`.trim() };
  const number = peopleOf(late);
  const all = /^All ([\d,]+) can be reached\.$/.exec(told.headline);
  return {
    ...found, level: "unknown", headline: words,
    rest: !all ? told.headline : number === null ? "All others can be reached."
      : `All ${amount(Number(all[1].replaceAll(",", "")) - number)} others can be reached.`,
  };
}

// Whether the server itself says of how many nothing is known.
function isUnknownTold({ headline, rest }) {
  return /nothing is known|Nothing is heard/.test(`${headline} ${rest}`);
}

/** Whether the server counts nobody of the cells that do not answer as one who can be reached. */
export function areUnlitApart({ status, away }) {
  const silent = dark();
  return silent.length > 0 && isUnknownTold(status.sentence) && away.every((one) => silent.includes(one));
}

/** "Cell c3 does not answer: of its 12 people nothing is known." */
function unknown(names) {
  const number = peopleOf(names);
  const isOne = names.length === 1;
  return `${capitalised(called(names))} ${isOne ? "does" : "do"} not answer: of ${isOne ? "its" : "their"} ${
    number === null ? "people" : number === 1 ? "one" : `${amount(number)} people`} nothing is known.`;
}

function headlineOfCell(text) {
  const name = `cell ${plain(ownCell)}`;
  const all = text.replace(/^(All [\d,]+) can be reached\./, `$1 of ${name} can be reached.`);
  return all === text ? `${capitalised(name)}: ${text}` : all;
}
