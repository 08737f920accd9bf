// The page of who is not signed in: a field for a token, and then the page that was asked for.

import { sentence } from "./dialog.js";
import { h, patch } from "./dom.js";
import { askWho, may, signIn, tokenField } from "./session.js";

const mark = "rollcall-entered";
const tooSoon = 10_000;

let drawn = [];
let isBusy = false;
let failure = null;

function draw() {
  const after = [
    h("form", { class: "enter", onsubmit: begin, "aria-busy": isBusy ? "true" : null },
      tokenField(),
      h("div", { class: "acts" }, h("button", {
        type: "submit", class: "main", "aria-disabled": isBusy ? "true" : null,
      }, isBusy ? "Signing in…" : "Sign in"))),
    h("div", { role: "alert", key: "failure" },
      failure ? h("p", { class: "failed" }, sentence(failure)) : null),
  ];
  patch(document.getElementById("enter"), drawn, after);
  drawn = after;
}

async function begin(event) {
  event.preventDefault();
  if (isBusy) return;
  isBusy = true;
  failure = null;
  draw();
  try {
    await signIn(String(new FormData(event.target).get("token")).trim());
    goOn();
    return;
  } catch (error) {
    failure = error;
  }
  isBusy = false;
  draw();
  document.querySelector("#enter input")?.select();
}

function goOn() {
  const url = new URL(location.href);
  url.hash = "";
  if (url.searchParams.get("login") === "basic") url.searchParams.delete("login");
  location.replace(url);
}

// Once in a while at most: what comes of it may be this page again.
function isFresh() {
  try {
    const last = Number(sessionStorage.getItem(mark));
    sessionStorage.setItem(mark, String(Date.now()));
    return Math.abs(Date.now() - last) > tooSoon;
  } catch {
    return false;
  }
}

draw();
document.querySelector("#enter input")?.focus();
// Who follows a link from another site brings no cookie along: it is strict. From here on it comes.
await askWho();
if (may("read") && isFresh()) goOn();
