// What came of what one does: said at once that it is under way, then what became of it; done once however
// often it is pressed or sent.

import { redrawDialogs, sentence } from "./dialog.js";
import { h } from "./dom.js";
import { openSignIn, send, shownPage } from "./session.js";

const saidFor = 5 * 60_000;

/** By what was acted on: what is under way, or came of it. */
const outcomes = new Map();

/** Says what came of an action on something, or that it is under way. */
export function report(subjectKey, kind, words) {
  outcomes.set(subjectKey, { kind, words, at: performance.now() });
  const said = document.getElementById("said");
  if (said) said.textContent = words;
  shownPage()?.redraw();
  redrawDialogs();
}

/** What came of the last action on something, as long as it matters. */
export function outcome(subjectKey) {
  const one = outcomes.get(subjectKey);
  if (!one) return null;
  if (one.kind !== "busy" && performance.now() - one.at > saidFor) {
    outcomes.delete(subjectKey);
    return null;
  }
  const mark = { busy: "…", done: "✓", held: "–", failed: "✗" }[one.kind];
  return h("p", { class: `outcome is-${one.kind}`, key: "outcome" },
    h("span", { "aria-hidden": "true" }, `${mark} `), one.words);
}

// Whether something was done is not known: it is sent again under the same name.
const pending = new Map();

/** Sends what is meant once, again under the same name if nobody knows whether it was done. */
export async function once(what, method, path, body) {
  const text = JSON.stringify([method, path, body ?? null]);
  const kept = pending.get(what);
  const key = kept?.text === text ? kept.key : freshKey();
  pending.set(what, { text, key });
  try {
    const answer = await send(method, path, body, key);
    pending.delete(what);
    return answer;
  } catch (error) {
    if (error.kind === "lost") {
      error.message += "; whether it was done is not known: try again, it is done once";
    } else {
      pending.delete(what);
    }
    throw error;
  }
}

function freshKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Does something without a dialog, and says what came of it: `work` returns words, or `held` words. */
export async function run(subjectKey, doing, work) {
  if (outcomes.get(subjectKey)?.kind === "busy") return;
  report(subjectKey, "busy", doing);
  try {
    const words = await work();
    report(subjectKey, words.held ? "held" : "done", words.held ?? words);
  } catch (error) {
    if (!error.kind) console.error(error);
    failed(subjectKey)(error);
    if (error.kind === "token" || error.kind === "scope") openSignIn(sentence(error));
  }
}

/** Says that an action failed, and why. */
export function failed(subjectKey) {
  return (error) => report(subjectKey, "failed", sentence(error));
}
