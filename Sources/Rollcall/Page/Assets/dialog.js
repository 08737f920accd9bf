// A small dialog: what is asked for, what to say with it, and what became of it. The browser keeps the
// focus in it and ends it by Escape; afterwards the focus is where it was.

import { h, patch } from "./dom.js";
import { plain } from "./words.js";

let number = 0;
// What was pressed last: not every browser gives the focus to what is pressed.
let pressed = null;
/** What draws each dialog that is open. */
const opened = new Set();

document.addEventListener("click", (event) => {
  pressed = event.target.closest?.("button, a[href]") ?? null;
}, true);

/** Draws what is open again, since something that it shows has changed. */
export function redrawDialogs() {
  for (const draw of opened) draw();
}

/**
 * Opens a dialog. `body(redraw, close)` draws its fields; `submit(fields)` does it and ends the dialog, or
 * throws what is said in it, with `also(failure, forget)` as a way on, or by `late(failure)` if the dialog
 * was left meanwhile. Without `submit` it only shows something. Of what is returned, `focus(selector)` gives
 * the focus to what came later, unless somebody has moved it meanwhile.
 */
export function openDialog({ title, body, label, doing, submit, also, late }) {
  const opener = document.activeElement === document.body ? pressed : document.activeElement;
  const node = document.createElement("dialog");
  const id = `dialog-${number += 1}`;
  node.setAttribute("aria-labelledby", id);
  node.className = "dialog";
  let drawn = [];
  let isBusy = false;
  let failure = null;

  const close = () => node.close();

  const begin = async (event) => {
    event.preventDefault();
    // A second press while the first is under way is not a second wish.
    if (isBusy) return;
    isBusy = true;
    failure = null;
    draw();
    try {
      await submit(Object.fromEntries(new FormData(event.target)));
      if (node.open) node.close();
    } catch (error) {
      failure = error;
      if (!error.kind) console.error(error);
      if (!node.open) late?.(error);
    }
    isBusy = false;
    if (node.isConnected) draw();
  };

  const forget = () => {
    failure = null;
    draw();
  };

  function draw() {
    const after = [h("form", { onsubmit: begin, "aria-busy": isBusy ? "true" : null },
      h("h2", { id }, title),
      body(draw, close),
      failure ? h("div", { class: "failed", role: "alert", key: "failure" },
        h("p", null, sentence(failure)), also?.(failure, forget)) : null,
      h("p", { class: "unseen", role: "status", key: "busy" }, isBusy ? doing : ""),
      h("div", { class: "acts", key: "ends" },
        submit ? h("button", {
          type: "submit", class: "main", key: "do", "aria-disabled": isBusy ? "true" : null,
        }, isBusy ? doing : label) : null,
        h("button", { type: "button", key: "close", onclick: close }, submit ? "Cancel" : "Close")))];
    patch(node, drawn, after);
    drawn = after;
  }

  node.addEventListener("close", () => {
    node.remove();
    opened.delete(draw);
    if (document.querySelector("dialog[open]")) return;
    // This comes some time after the dialog closed: whoever went on meanwhile is not called back.
    const { activeElement } = document;
    if (activeElement !== document.body && activeElement !== opener) return;
    opener?.focus();
    // Where it was opened from may be gone by now.
    if (opener === null || document.activeElement !== opener) document.querySelector("h1")?.focus();
  });
  opened.add(draw);
  draw();
  document.body.append(node);
  node.showModal();
  // The first field, and not the button that ends it.
  const first = node.querySelector("input:not([type=hidden]), select, textarea, a[href]")
    ?? node.querySelector("button");
  first?.focus();
  const focus = (selector) => {
    if (!node.open || node.contains(document.activeElement) && document.activeElement !== first) return;
    node.querySelector(selector)?.focus();
  };
  return { close, redraw: draw, focus };
}

/** A field with its name. */
export function field(label, control, help = null) {
  return h("label", { class: "field", key: label }, h("span", null, label), control,
    help ? h("span", { class: "aside" }, help) : null);
}

/** A choice of one: pairs of values and words. */
export function choice(name, pairs, chosen, onchange = null) {
  return h("select", { name, onchange }, pairs.map(([value, words]) => h(
    "option", { key: value, value, selected: value === chosen }, words)));
}

/** What went wrong, as a sentence. */
export function sentence(error) {
  const text = plain(error.kind ? error.message : "something in this page went wrong: load it again");
  const words = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(words) ? words : `${words}.`;
}
