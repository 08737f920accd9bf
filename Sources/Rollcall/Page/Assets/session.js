// Who is signed in, and what that opens. A browser signs in with a token, once, and keeps a cookie that
// no script can read; what it does with it is told apart from what other pages make it do.

import { field, openDialog, sentence } from "./dialog.js";
import { h } from "./dom.js";
import { Failure, refused, root } from "./server.js";
import { count, instant, name, plain } from "./words.js";

const patience = 10_000;
// The server prolongs a session that is asked about.
const askedEvery = 10 * 60_000;
const askedAgainAfter = 5000;
const path = "v1/session";

let known = null;
let context = null;
let askedAt = -Infinity;
let isNeeding = false;

// MARK: Asking

/** Sends what may change something, under a name by which it is done once. Throws `Failure`. */
export async function send(method, where, body = undefined, key = null) {
  const headers = { Accept: "application/json" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (key !== null) headers["Idempotency-Key"] = key;
  let answer;
  let text;
  try {
    answer = await fetch(new URL(where, root), {
      method, headers, body: body === undefined ? undefined : JSON.stringify(body),
      cache: "no-store", redirect: "error", signal: AbortSignal.timeout(patience),
    });
    text = await answer.text();
  } catch (error) {
    throw new Failure("lost", error.name === "TimeoutError"
      ? `no answer within ${patience / 1000} s` : "the server does not answer");
  }
  let found = null;
  try {
    found = JSON.parse(text);
  } catch {
    // A proxy in front answers what it likes.
  }
  if (answer.ok && found !== null && typeof found === "object") return found;
  if (answer.ok) throw new Failure("lost", "what answers is not Rollcall");
  const kinds = { 401: "token", 403: "scope", 503: "lost" };
  throw refused(kinds[answer.status] ?? "refused", answer.status, found);
}

/** Asks who one is. What is not answered is left as it is known. */
export async function askWho() {
  askedAt = performance.now();
  try {
    learn(await send("GET", path));
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
  }
  return known;
}

function learn(answer) {
  if (!Array.isArray(answer.scopes)) return;
  known = answer;
  context?.redraw();
}

/** What is known of who one is; null before it is. */
export function whoIs() {
  return known;
}

/** What the page shows now, for what acts on it; null before it shows anything. */
export function shownPage() {
  return context;
}

/** Whether one may do what needs a scope, as far as is known. */
export function may(scope) {
  return known?.scopes.includes(scope) === true;
}

/** Signs in by a token. Throws `Failure`. */
export async function signIn(token) {
  learn(await send("POST", path, { token }));
  return known;
}

// MARK: In the header

/** Who is signed in, with the way in or out; nothing where nobody needs to be. */
export function who(page, isRefused) {
  context = page;
  if (isRefused && performance.now() - askedAt > askedAgainAfter) askWho();
  if (known === null || known.proof === "open") return null;
  const isIn = known.proof === "session";
  return h("div", { class: "who-is", key: "who" },
    known.token === null ? null
      : h("span", { class: "aside", title: until() }, name(known.token),
        may("act") ? null : ", reads only"),
    isIn ? h("button", { type: "button", key: "out", onclick: signOut }, "Sign out")
      : known.proof === "bearer" || known.proof === "user" ? null
        : h("button", { type: "button", key: "in", onclick: () => openSignIn() }, "Sign in"));
}

function until() {
  const end = instant(known.until);
  if (end === null) return null;
  const hours = Math.max(1, Math.floor((end - Date.now()) / 3_600_000));
  return `signed in for ${count(hours, "hour", "hours")} more, unless this page is used`;
}

// MARK: In and out

/**
 * Asks for a token. `reason` says what it is for; `then` goes on once one is signed in; `detail` is for whoever
 * gives tokens out.
 */
export function openSignIn(reason = null, then = null, detail = null) {
  openDialog({
    title: "Sign in",
    label: "Sign in",
    doing: "Signing in…",
    body: () => [
      reason ? h("p", { key: "reason" }, reason) : null,
      detail ? h("p", { key: "detail", class: "aside" }, detail) : null,
      tokenField(),
    ],
    submit: async ({ token }) => {
      await signIn(token.trim());
      context?.refresh();
      if (then === null) return;
      // Only once this dialog is closed is there a place for the next.
      setTimeout(then);
    },
  });
}

/** The field for a token, which a password manager may fill in. */
export function tokenField() {
  return field("Token", h("input", {
    name: "token", type: "password", required: true, autocomplete: "current-password",
    spellcheck: "false", autocapitalize: "off", maxlength: 512,
  }), "The browser keeps a cookie, and not the token.");
}

async function signOut(event) {
  const button = event.target;
  if (button.getAttribute("aria-disabled")) return;
  button.setAttribute("aria-disabled", "true");
  try {
    await send("DELETE", path);
  } catch (error) {
    button.removeAttribute("aria-disabled");
    openDialog({
      title: "Still signed in", body: () => h("p", null, sentence(error)),
    });
    return;
  }
  // What was shown is not for whoever comes next.
  location.reload();
}

/** Goes on with `work` if one may do what needs `scope`; else says what is missing, and asks for it. */
export async function needing(scope, purpose, work) {
  if (isNeeding) return;
  isNeeding = true;
  if (known === null) await askWho();
  isNeeding = false;
  if (known === null || may(scope)) {
    work();
    return;
  }
  const [reason, detail] = known.proof === "none"
    ? [`${purpose}, sign in with your token.`, `It needs the scope ${scope}.`]
    : known.token !== null && known.proof === "password"
      ? [`${purpose}, sign in with your token.`, "A token that is shown as a password only reads."]
      : [`${purpose}, sign in with another token: you may look, and not act.`,
        `It needs the scope ${scope}, which the token ${plain(known.token)} lacks.`];
  openSignIn(reason, () => {
    if (may(scope)) work();
    else needing(scope, purpose, work);
  }, detail);
}

/** What a refusal in the middle of something leads to: who one is may have changed. */
export function remedy(failure, forget) {
  if (failure.kind !== "token" && failure.kind !== "scope") return null;
  if (performance.now() - askedAt > 1000) askWho();
  return h("p", null, h("button", {
    type: "button", onclick: () => openSignIn("What you were about to do waits.", forget),
  }, "Sign in"));
}

// MARK: Beginning

askWho();
// It may end, or be another's, while nobody looks.
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) askWho();
});
setInterval(() => {
  if (!document.hidden && performance.now() - askedAt > askedEvery) askWho();
}, 60_000);
