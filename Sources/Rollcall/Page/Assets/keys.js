// The page by keyboard: to search, to walk over what stands on it, to act on what one stands on.

import { pressOn } from "./act.js";
import { openDialog } from "./dialog.js";
import { h } from "./dom.js";

const walked = "main [data-card], main [data-stop]";
const kept = "rollcall.keys";

// What each key does, for whoever asks.
const keys = [
  ["/", "search for a person"], ["j", "the next entry"], ["k", "the entry before"],
  ["Enter", "open the entry"], ["a", "take the alert"], ["s", "silence the alert"],
  ["c", "copy the entry for a chat"], ["n", "nudge the person"], ["g", "to the beginning"],
  ["?", "this list"], ["Esc", "leave a field or a list"],
];

// A letter that somebody dictates, or a tremor, must be able to do nothing (WCAG 2.1.4).
function isOn() {
  try {
    return localStorage.getItem(kept) !== "off";
  } catch {
    return true;
  }
}

function keep(isOn) {
  try {
    localStorage.setItem(kept, isOn ? "on" : "off");
  } catch {
    // Of a browser that keeps nothing it is asked again.
  }
}

function isTyping(target) {
  return target.closest?.("input, textarea, select, dialog, [contenteditable]") !== null;
}

function walk(step) {
  const stops = [...document.querySelectorAll(walked)].filter((one) => one.offsetParent !== null);
  if (stops.length === 0) return;
  const place = stops.indexOf(document.activeElement?.closest(walked));
  const next = place < 0 ? (step > 0 ? 0 : stops.length - 1) : place + step;
  const stop = stops[Math.min(Math.max(next, 0), stops.length - 1)];
  stop.focus();
  stop.scrollIntoView({ block: "nearest" });
}

/** Listens from now on; `go` goes to a path of the page. */
export function listen(go) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const { target, key } = event;
    if (key === "Escape" && target.matches?.("input[type=search]")) return target.blur();
    if (isTyping(target) || !isOn()) return;
    const stop = target.closest?.(walked);
    if (key === "/") document.querySelector(".find input")?.focus();
    else if (key === "j") walk(1);
    else if (key === "k") walk(-1);
    else if (key === "?") help();
    else if (key === "g") go("");
    else if (key === "Enter" && target === stop) stop.querySelector("a[href]")?.click();
    else if (!(stop && pressOn(stop, key))) return;
    event.preventDefault();
  });
}

// The list of keys.
function help() {
  openDialog({
    title: "Keys",
    body: () => [
      h("dl", { class: "facts" }, keys.map(([key, words]) => [
        h("dt", { key }, h("kbd", null, key)), h("dd", { key: `of ${key}` }, words)])),
      h("label", { class: "check" }, h("input", {
        type: "checkbox", checked: isOn(), onchange: (event) => keep(event.target.checked),
      }), " Single keys do something"),
    ],
  });
}
