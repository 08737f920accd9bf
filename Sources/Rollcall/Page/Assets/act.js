// What one does from the page: take an incident, silence, ask somebody, find who can go instead. Each
// action says at once that it is under way, then what came of it, and is done once however often it is
// pressed or sent.

import { isOfMany, nudgesOf } from "./cells.js";
import { copy, lineOf } from "./chat.js";
import { choice, field, openDialog } from "./dialog.js";
import { h } from "./dom.js";
import { insteadOf, insteadOfRegion } from "./instead.js";
import { failed, once, outcome, report, run } from "./outcome.js";
import { may, needing, remedy, shownPage, whoIs } from "./session.js";
import { count, holdReason, instant, name, namesOf, plain, readableWith, spoken, subject } from "./words.js";

const nameKept = "rollcall-name";
const labels = ["region", "source", "suspected", "cell"];

/** "18:30 (12:45 UTC)": by the clock of this device, and by everybody's. */
function byBothClocks(text) {
  const at = new Date(text);
  const day = at.toDateString() === new Date().toDateString() ? {} : { day: "numeric", month: "short" };
  const own = at.toLocaleString("en-GB", { hour: "2-digit", minute: "2-digit", ...day });
  const utc = `${at.toISOString().slice(11, 16)} UTC`;
  return at.getTimezoneOffset() === 0 ? utc : `${own} (${utc})`;
}

// MARK: Buttons

// `slot` is what it stays when its words change, so that the focus stays on it.
function button(words, onclick, { key, slot, isMain, isMissing, describes } = {}) {
  return h("button", {
    type: "button", key: slot ?? words, class: isMain ? "main" : null, onclick,
    "data-key": key ?? null, "aria-keyshortcuts": key ?? null,
    "aria-label": describes ? `${words}: ${describes}` : null,
    title: isMissing ? "To act, sign in with a token that has the scope act" : null,
  }, words, isMissing ? lock() : null, key ? h("kbd", { "aria-hidden": "true" }, key) : null);
}

function lock() {
  return h("svg", { class: "shape", viewBox: "0 0 12 12", "aria-hidden": "true" },
    h("path", { d: "M2 5.5h8V11H2zM3.8 5.5V3.6a2.2 2.2 0 0 1 4.4 0v1.9", class: "hollow" }));
}

/** The buttons of an alert, and what came of the last one. */
export function alertActions(one, now) {
  const about = `alert ${one.incident ?? JSON.stringify(one.labels)} ${one.cell ?? ""}`;
  const describes = `${plain(one.alertname)} ${plain(subject(one.labels))}`;
  const isMissing = whoIs() !== null && !may("act");
  const isFiring = one.state === "firing" && one.incident !== null && one.incident !== undefined;
  const options = (more) => ({ describes, isMissing, ...more });
  const address = one.annotations?.runbook_url ?? "";
  return [
    h("div", { class: "acts", key: "acts", role: "group", "aria-label": `Actions: ${describes}` },
      isFiring && one.taken
        ? button("Give back", () => needing("act", "To give it back", () => giveBack(one, about)),
          options()) : null,
      isFiring
        ? button(one.taken ? "Take over" : "Take it",
          () => needing("act", "To take it", () => take(one, about)),
          options({ key: "a", slot: "take", isMain: !one.taken })) : null,
      button("Silence", () => needing("act", "To silence it", () => silence(one, about)),
        options({ key: "s" })),
      one.labels?.region !== undefined
        ? button("Who can go instead", () => insteadOfRegion(one.labels.region, asking), { describes })
        : null,
      /^https?:\/\//.test(address)
        ? h("a", { key: "runbook", class: "button", href: address, rel: "noreferrer" }, "Runbook")
        : null,
      button("Copy for chat", () => copied(about, lineOf(one, now)), { key: "c", describes })),
    outcome(about),
  ];
}

/** The buttons of a person, and what came of the last one. */
export function personActions(person, nudge) {
  const id = person.responder_id;
  const about = aboutPerson(id);
  const note = person.not_expected ? "Who is not expected is not asked." : askedNobody(nudge);
  return [
    h("div", { class: "acts", key: "acts", role: "group", "aria-label": "Actions" },
      askButton("Ask now", id, { key: "n", isMain: note === null && isToBeAsked(person) }),
      button("Who can go instead", () => insteadOf(id, `Instead of ${plain(id)}`, asking)),
      ownButtons(id)),
    note ? h("p", { class: "aside", key: "note" }, note) : null,
    outcome(about),
  ];
}

// What needs nothing but an id.
function ownButtons(id) {
  const own = whoIs()?.person_url ?? null;
  return [button("Copy id", () => copied(aboutPerson(id), id), { key: "c" }),
    own !== null && /^https?:\/\//.test(own)
      ? h("a", {
        key: "own", class: "button", href: own.replaceAll("{id}", encodeURIComponent(id)),
        rel: "noreferrer", target: "_blank",
      }, "Open in your system", h("span", { "aria-hidden": "true" }, " ↗"),
      h("span", { class: "unseen" }, " (in a new window)")) : null];
}

/** The buttons of somebody of whom nothing is known but the id. */
export function idActions(id) {
  return [h("div", { class: "acts", key: "acts", role: "group", "aria-label": "Actions" }, ownButtons(id)),
    outcome(aboutPerson(id))];
}

/** The button that ends a silence, and what came of it. */
export function silenceActions(one) {
  const about = `silence ${one.id}${cellOf(one)}`;
  const isMissing = whoIs() !== null && !may("act");
  return [button("End it", () => needing("act", "To end a silence", () => run(
    about, "Ending it…", async () => {
      await once(about, "DELETE", `v1/silences/${one.id}${cellOf(one)}`);
      shownPage()?.refresh();
      return `Silence ${one.id} is over.`;
    })), { describes: `silence ${one.id}`, isMissing }), outcome(about)];
}

/** Presses the button of a key on the card around an element; false if there is none. */
export function pressOn(element, key) {
  const found = element?.closest?.("[data-card]")?.querySelector(`button[data-key="${CSS.escape(key)}"]`);
  found?.click();
  return Boolean(found);
}

function copied(about, text) {
  run(about, "Copying…", async () => {
    const way = await copy(text);
    return way === "copied" ? `Copied: ${plain(text)}` : `It is ${way}.`;
  });
}

// An alert in the words that stand on its card, without the numbers behind them.
function titleOf(one) {
  return (one.annotations?.summary ?? `${one.alertname} ${subject(one.labels)}`).split(/[,:] /)[0];
}

// MARK: Taking

function ownName() {
  try {
    const kept = localStorage.getItem(nameKept);
    if (kept) return kept;
  } catch {
    // A browser may keep nothing for a page.
  }
  return whoIs()?.token ?? "";
}

function keepName(text) {
  try {
    localStorage.setItem(nameKept, text);
  } catch {
    // Then it is asked for again.
  }
}

function nameField() {
  return field("Your name", h("input", {
    name: "by", required: true, maxlength: 128, autocomplete: "name", value: ownName(),
  }));
}

const spans = [["30m", "30 min"], ["1h", "1 h"], ["2h", "2 h"], ["4h", "4 h"], ["8h", "8 h"],
  ["12h", "12 h"]];

function take(one, about) {
  openDialog({
    title: ["Take it: ", plain(titleOf(one))],
    label: "Take it",
    doing: "Taking it…",
    also: remedy,
    late: failed(about),
    body: () => [
      h("p", { key: "what", class: "aside" }, "Nobody is told again, and nothing escalates, until that "
        + "ends or you give it back."),
      one.taken ? h("p", { key: "taken", class: "warned" }, name(one.taken.by),
        " sees to it: you take it over.") : null,
      field("For", choice("duration", spans, "1h")),
      nameField(),
      field("Note", h("input", { name: "note", maxlength: 1024, autocomplete: "off" }),
        "What you do about it, for the others."),
    ],
    submit: async ({ duration, by, note }) => {
      keepName(by.trim());
      const answer = await once(`take ${about}`, "POST", takePath(one),
        { by: by.trim(), note: note.trim() || null, duration });
      const { taken } = answer;
      report(about, "done", taken
        ? `${plain(taken.by)} sees to it until ${byBothClocks(taken.until)}.`
        : "It was taken, and given back meanwhile.");
      shownPage()?.refresh();
    },
  });
}

// Of a fleet of many cells numbers are each cell's own; those of the fleet cell, and of one watch, have none.
function cellOf(one) {
  return one.cell ? `?cell=${encodeURIComponent(one.cell)}` : "";
}

function takePath(one) {
  return `v1/incidents/${encodeURIComponent(one.key ?? String(one.incident))}/take${cellOf(one)}`;
}

function giveBack(one, about) {
  run(about, "Giving it back…", async () => {
    // Of a storm that tells of it, it is the storm that was taken.
    const incident = one.taken?.incident ?? one.incident;
    await once(`give ${about}`, "DELETE", `v1/incidents/${incident}/take${cellOf(one)}`);
    shownPage()?.refresh();
    return "Nobody sees to it: what is due is told now.";
  });
}

// MARK: Silencing

const lengths = [["1h", "1 h"], ["2h", "2 h"], ["8h", "8 h"], ["until", "until …"]];

/** What a silence may be about: words and matchers, the narrowest first. */
function scopesOf(one) {
  const label = labels.find((known) => one.labels?.[known] !== undefined);
  const all = { alertname: one.alertname };
  const everywhere = { id: "name", words: `${plain(one.alertname)}, wherever`, matchers: all };
  if (label === undefined) return [everywhere];
  const value = one.labels[label];
  return [
    { id: "this", words: `${plain(one.alertname)} of ${label === "cell" ? "cell " : ""}${plain(value)}`,
      matchers: { ...all, [label]: value } },
    ...(label === "region"
      ? [{ id: "region", words: `all alerts of ${plain(value)}`, matchers: { region: value } }] : []),
    everywhere,
  ];
}

function fits(alert, matchers) {
  return Object.entries(matchers).every(([label, value]) => (
    label === "alertname" ? alert.alertname === value : alert.labels?.[label] === value));
}

function silence(one, about) {
  const scopes = scopesOf(one);
  let scope = scopes[0];
  let length = "2h";
  const usualEnd = localTime(Date.now() + 3_600_000);
  openDialog({
    title: ["Silence: ", plain(titleOf(one))],
    label: "Silence",
    doing: "Silencing…",
    also: remedy,
    late: failed(about),
    body: (redraw) => [
      field("What", choice("scope", scopes.map(({ id, words }) => [id, words]), scope.id, (event) => {
        scope = scopes.find(({ id }) => id === event.target.value);
        redraw();
      })),
      mutes(scope, one),
      isOfMany() ? h("p", { class: "aside", key: "holder" }, one.cell ? `Cell ${plain(one.cell)} holds it: it mutes `
        + "what that cell tells, and nothing of the others." : "The fleet cell holds it, and has every cell hold it.")
        : null,
      field("For", choice("length", lengths, length, (event) => {
        length = event.target.value;
        redraw();
      })),
      length === "until" ? field("Until", h("input", {
        name: "end", type: "datetime-local", required: true, value: usualEnd,
      }), "By the clock of this device.") : null,
      nameField(),
      field("Why", h("input", {
        name: "comment", required: true, maxlength: 1024, autocomplete: "off",
      })),
    ],
    submit: async (fields) => {
      const author = fields.by.trim();
      keepName(author);
      const end = fields.length === "until"
        ? { ends_at: new Date(fields.end).toISOString() } : { duration: fields.length };
      const answer = await once(`silence ${about}`, "POST", `v1/silences${cellOf(one)}`, {
        matchers: scope.matchers, author, comment: fields.comment.trim(), ...end,
      });
      const found = answer.silence;
      report(about, "done", [`Silence ${found.id} holds until ${byBothClocks(found.ends_at)}.`,
        ...(answer.warnings ?? []).map(plain)].join(" "));
      shownPage()?.refresh();
    },
  });
}

function mutes(scope, one) {
  // What a cell holds is about its own alerts; what the fleet cell holds is about all.
  const meant = (shownPage()?.alerts?.alerts ?? []).filter((alert) => alert.state === "firing"
    && fits(alert, scope.matchers) && (!one.cell || alert.cell === one.cell));
  return h("div", { key: "mutes", class: "mutes", "aria-live": "polite" },
    h("p", null, meant.length
      ? `Now it mutes ${count(meant.length, "alert that fires", "alerts that fire")}:`
      : "Nothing that it would mute fires now."),
    h("ul", null, meant.slice(0, 5).map((alert) => h("li", {
      key: `${alert.cell ?? ""} ${JSON.stringify(alert.labels)}`,
    },
      readableWith(namesOf(alert), alert.annotations?.summary ?? alert.alertname)))),
    meant.length > 5 ? h("p", null, `and ${meant.length - 5} more.`) : null,
    h("p", { class: "aside" }, "Notifications are muted; the alerts fire and end as ever."));
}

function localTime(at) {
  const moved = new Date(at - new Date(at).getTimezoneOffset() * 60_000);
  return moved.toISOString().slice(0, 16);
}

// MARK: Asking

const hour = 3_600_000;
const decided = { send: "Asked", dry_run: "Dry run", hold: "Not asked" };

function aboutPerson(id) {
  return `person ${id}`;
}

// Whom it helps to ask: who is waited for, and was not heard as expected, while we can see that.
function isToBeAsked(person) {
  return ["OFFLINE", "DEGRADED", "UNKNOWN"].includes(person.status) && shownPage()?.isSure === true;
}

/** Why nobody at all is asked, in words; null where people are. Of somebody it is their own cell that says so. */
function askedNobody(answer = null) {
  const mode = nudgesOf(shownPage()?.status)?.mode ?? answer?.mode;
  return mode === "dry_run" ? "Dry run: nobody is asked; it only says what would be decided."
    : mode === "disabled" ? "Nudges are disabled: nobody is asked." : null;
}

function askButton(words, id, options) {
  return button(words, () => needing("act", "To ask somebody", () => askNow(id, aboutPerson(id))),
    { isMissing: whoIs() !== null && !may("act"), ...options });
}

/** What a list of people has beside each: the button that asks them, and what came of it. */
const asking = {
  note: () => askedNobody(),
  one: (id) => [h("div", { class: "acts", key: "acts" }, askButton("Ask", id, { describes: plain(id) })),
    h("div", { role: "status", key: "came" }, outcome(aboutPerson(id)))],
};

// Which of the limits it is that holds somebody back; null where it is none of them.
function throttle({ reason, until }) {
  if (reason !== "throttled") return null;
  const frozen = nudgesOf(shownPage()?.status)?.frozen_until;
  if (frozen && instant(until) >= instant(frozen)) return holdReason(reason, { until, frozenUntil: frozen });
  return instant(until) - shownPage().now() > hour
    ? "they were asked six times within a day" : "they were asked less than an hour ago";
}

function askNow(id, about) {
  run(about, "Asking…", async () => {
    const by = whoIs()?.token ?? ownName();
    const answer = await once(`ask ${about}`, "POST", "v1/nudges",
      { responder_id: id, by: by || "an operator" });
    shownPage()?.refresh();
    if (answer.answer !== undefined) {
      return answer.answer === "asked" ? "Asked." : { held: "Not now: nobody says why." };
    }
    const until = answer.until ? ` (not before ${byBothClocks(answer.until)})` : "";
    const why = throttle(answer) ?? answer.text ?? spoken(answer.reason ?? "");
    const word = decided[answer.decision] ?? spoken(answer.decision);
    const words = why.toLowerCase().startsWith(word.toLowerCase())
      ? `${why.charAt(0).toUpperCase()}${why.slice(1)}${until}.` : `${word}: ${why}${until}.`;
    return answer.decision === "send" ? words : { held: words };
  });
}
