// What stands around every view: the name, the sight, the way to the others, and what must be said
// before anything else.

import { called, sentenceOf } from "./cells.js";
import { h, part } from "./dom.js";
import { openSignIn, who } from "./session.js";
import {
  amount, blindReason, both, clock, count, instant, isElsewhere, pathWith, plain, since, span, time,
  universal,
} from "./words.js";

const silentPath = "people?status=OFFLINE&sort=-silent_for";

/** The whole page below its body. */
export function frame(state, context) {
  return [
    part(() => header(state, context)),
    h("main", { id: "main", key: "main" },
      part(() => banners(state, context)),
      state.route.view.lead
        ? part(() => state.route.view.lead(context))
        : h("h1", { tabindex: -1, key: "title" }, part(() => state.route.view.heading(context))),
      part(() => view(state, context))),
    part(() => footer(state, context)),
  ];
}

function view(state, context) {
  if (state.isLoaded) {
    return [
      state.viewFailure
        ? h("p", { class: "warned", key: "failure" },
          `This part could not be read again: ${plain(state.viewFailure)}. `,
          "It is older than the rest.")
        : null,
      h("div", { class: "view", key: state.route.view.name }, state.route.view.render(context)),
    ];
  }
  if (state.viewFailure) {
    return h("p", { class: "warned" }, `This part cannot be read: ${plain(state.viewFailure)}.`);
  }
  return state.isSlow && state.failure === null ? h("p", { class: "nothing" }, "Asking…") : null;
}

// MARK: Header

function header(state, context) {
  const { link, go, route } = context;
  const find = (event) => {
    event.preventDefault();
    const field = event.target.elements.q;
    const q = field.value.trim();
    if (q === "") return;
    field.value = "";
    field.blur();
    go(pathWith("people", { q }));
  };
  const tabs = [
    ["", "Now", null], ["people", "People", null],
    // What the fleet cell counted last is not of now.
    [silentPath, "Silent", state.isFleetAway ? null : state.status?.responders.OFFLINE],
    ["alerts", "Alerts", Math.max(firing(state).length, state.isFleetAway ? 0 : state.status?.alerts?.firing ?? 0)],
    ["nudges", "Nudges", null],
    ["feeds", "Health", (state.status?.sources ?? []).filter((one) => !one.up).length
      + (state.status?.clocks?.length ?? 0)],
  ];
  return h("header", { class: "top", key: "top" },
    h("p", { class: "brand" }, h("a", { href: link("") }, "Rollcall"), sight(state, context),
      state.status ? h("span", { class: "aside now" }, clocks(state.asOf)) : null),
    h("nav", { "aria-label": "Views" }, h("ul", null, tabs.map(([path, words, number]) => h(
      "li", { key: path }, h("a", {
        href: link(path), "aria-current": isAt(route, path) ? "page" : null,
      }, words, number
        ? [" ", h("span", { class: "badge" }, amount(number))] : null))))),
    h("form", { role: "search", class: "find", onsubmit: find },
      h("label", null, h("span", { class: "unseen" }, "Find people, by a part of the id"),
        h("input", {
          name: "q", type: "search", autocomplete: "off", spellcheck: "false", maxlength: 256,
          placeholder: "Find", enterkeyhint: "search", "aria-keyshortcuts": "/",
        })),
      h("kbd", { class: "hint", "aria-hidden": "true" }, "/"),
      h("button", { type: "submit" }, "Find")),
    who(context, isLogin(state.failure)));
}

// Who is silent, the longest first, is a list of people; all others are lists of their own.
function isAt(route, path) {
  const isSilent = route.path === "people" && route.query.get("status") === "OFFLINE";
  return path === silentPath ? isSilent : route.path === path && !isSilent;
}

// The reader's time and the one of logs and pagers.
function clocks(at) {
  const local = clock(at, at, true);
  return isElsewhere(at) ? `${local} your time · ${universal(at)}` : `${local} UTC`;
}

function sight(state, { age, unlit }) {
  if (isLogin(state.failure)) return h("span", { class: "sight is-lost" }, "Signed out");
  if (state.failure) {
    return h("span", { class: "sight is-lost" }, state.status
      ? `No contact for ${span(age)}` : "No contact");
  }
  if (state.isFleetAway) return h("span", { class: "sight is-lost" }, "No fleet cell");
  if (state.status.nobody_reached) return h("span", { class: "sight is-lost" }, "Nobody reached");
  if (state.status.watching && unlit.length > 0) {
    return h("span", { class: "sight is-blind" }, `Watching, without ${called(unlit)}`);
  }
  // That all is well can be said once somebody was heard.
  if (state.status.watching && !state.status.last_batch_at) {
    return h("span", { class: "sight is-none" }, "Nothing heard yet");
  }
  return state.status.watching
    ? h("span", { class: "sight is-watching" }, "Watching")
    : h("span", { class: "sight is-blind" }, "Not watching");
}

function isLogin(failure) {
  return failure?.kind === "token" || failure?.kind === "scope";
}

function firing(state) {
  return (state.alerts?.alerts ?? []).filter((one) => one.state === "firing");
}

// MARK: What must be said first

function banners(state, context) {
  const found = [
    lost(state, context), fleetAway(state, context), unreached(state, context), blind(state, context), away(context),
  ].filter(Boolean);
  return found.length
    ? h("div", { class: "banners", role: "region", "aria-label": "Notices", key: "banners" }, found)
    : null;
}

/** That nobody who matters knows, in words; null if somebody does. */
export function nobodyReached(status) {
  const told = status?.nobody_reached;
  if (!told) return null;
  const alerts = count(told.alerts, "critical alert", "critical alerts");
  return told.reason === "no_receiver"
    ? `no receiver is set for ${alerts}` : `no receiver has taken ${alerts}`;
}

function unreached(state, { link, now }) {
  const words = nobodyReached(state.status);
  if (words === null || state.isFleetAway) return null;
  const told = state.status.nobody_reached;
  return h("div", { class: "banner is-unreached", key: "unreached", role: "alert" },
    h("p", null, h("strong", null, "Nobody has been reached: "), `${words}, firing `,
      since(told.since, now()), ". ", told.reason === "no_receiver"
        ? "Set one that is to be told of critical alerts." : "Call whoever is on duty yourself."),
    h("a", { href: link("alerts") }, "Alerts"));
}

function lost(state, { retry }) {
  const { failure } = state;
  if (failure === null) return null;
  const heardAt = state.status ? both(state.asOf, state.asOf, true) : null;
  const wait = Math.max(0, state.nextAt - performance.now());
  const words = failure.kind === "token"
    ? "The server does not accept this browser's token any more. Sign in with one that is valid."
    : failure.kind === "scope"
      ? "This token does not have the scope read, which the page needs. Sign in with another: close "
        + "the browser's windows first, or use a private one."
      : failure.kind === "broken"
        ? "The page could not make sense of an answer. Reload it."
        : `${sentence(failure.message)}.${wait > 999 ? ` Next try in ${span(wait)}.` : ""}`;
  return h("div", { class: "banner is-lost", key: "lost" },
    h("p", null, h("strong", null, isLogin(failure) ? "Signed out" : "No contact with the server",
      heardAt ? ` since ${heardAt}.` : "."), " ",
    heardAt ? "What stands here is from then. " : "", words),
    h("button", {
      type: "button", onclick: isLogin(failure) ? () => openSignIn() : retry,
    }, isLogin(failure) ? "Sign in" : "Try now"));
}

function fleetAway(state, { retry }) {
  if (!state.isFleetAway) return null;
  const wait = Math.max(0, state.nextAt - performance.now());
  return h("div", { class: "banner is-lost", key: "fleet-away" },
    h("p", null, h("strong", null, "The fleet cell does not answer: "),
      "nobody decides about many, and no totals are known. What the cells know of their people stands here as it "
      + `is now.${wait > 999 ? ` Next try in ${span(wait)}.` : ""}`),
    h("button", { type: "button", onclick: retry }, "Try now"));
}

function sentence(text) {
  return plain(text.charAt(0).toUpperCase() + text.slice(1));
}

function blind(state, { now }) {
  const watch = state.status;
  if (!watch || watch.watching || state.isFleetAway) return null;
  const reasons = (watch.blind ?? []).map((one) => blindReason(one.reason));
  const at = instant(watch.not_watching_since);
  return h("div", { class: "banner is-blind", key: "blind" },
    h("p", null, h("strong", null, "Not watching since ",
      time(watch.not_watching_since, now())),
    at === null ? "" : ` (for ${span(now() - at)})`,
    reasons.length ? `: ${reasons.join("; ")}` : "",
    ". Statuses are the last known ones. Until it watches again, reach people another way."));
}

function away({ away: cells }) {
  if (cells.length === 0) return null;
  const isOne = cells.length === 1;
  const words = sentence(`${called(cells)} ${isOne ? "does" : "do"} not answer. ${isOne ? "Its" : "Their"}`);
  return h("div", { class: "banner is-blind", key: "away" },
    h("p", null, h("strong", null, `${words} people are missing in lists`),
      `, and counted as they were last. Reach them another way until ${isOne ? "it is" : "they are"} back.`));
}

// MARK: Footer

function footer(state, { age }) {
  const parts = [];
  if (state.status) {
    const at = `${both(state.asOf, state.asOf, true)}, ${span(age)} ago.`;
    parts.push(state.isFleetAway ? `The fleet cell answered last at ${at}` : `As of ${at}`);
    parts.push(isElsewhere(state.asOf)
      ? "Times are those of your zone; UTC stands behind each." : "All times are UTC.");
    parts.push(`Rollcall ${plain(state.status.version)}.`);
    parts.push("Keys: ?");
  }
  return h("footer", { key: "foot", class: age > 30_000 ? "old" : "" }, parts.join(" "));
}

// MARK: Title

/** What a tab shows: the worst first, in the server's words. */
export function titleOf(state, context) {
  const first = isLogin(state.failure) ? "Signed out" : state.failure ? "No contact"
    : state.status?.nobody_reached && !state.isFleetAway ? "Nobody reached" : null;
  const { view } = state.route;
  const second = view.title?.(context) ?? (view.path === "" ? null : view.name);
  // Of a server that does not answer nothing is told as of now.
  const sentence = state.failure ? "" : plain(sentenceOf(context)?.headline ?? "");
  return [first, second, sentence, "Rollcall"]
    .filter(Boolean).join(" · ");
}
