// What is copied from the page: an alert as one line for a chat, an id.

import { openDialog } from "./dialog.js";
import { h } from "./dom.js";
import { root } from "./server.js";
import { instant, plain, readable, span, spoken, subject } from "./words.js";

/** An alert as one line of text. */
export function lineOf(alert, now) {
  const begin = instant(alert.starts_at ?? alert.active_at);
  const since = begin === null ? null
    : `since ${new Date(begin).toISOString().slice(11, 16)} UTC (${span(now - begin)})`;
  const away = (alert.receivers ?? []).filter((one) => one.state !== "taken")
    .map((one) => plain(one.receiver));
  const { taken } = alert;
  const parts = [
    `${spoken(alert.severity).toUpperCase()} ${plain(alert.alertname)} ${plain(subject(alert.labels))}`,
    readable(alert.annotations?.summary), alert.state === "firing" ? null : spoken(alert.state), since,
    away.length ? `not reached: ${away.join(", ")}` : null,
    taken ? `${plain(taken.by)} sees to it until ${taken.until.slice(11, 16)} UTC`
      : alert.state === "firing" ? "nobody has taken it" : null,
    alert.incident ? new URL(`alerts?incident=${alert.incident}`, root).href : null,
  ];
  return parts.filter(Boolean).join(" · ").replace(/\s+/g, " ");
}

/** Copies a text; where the browser does not let a page do that, shows it to be copied. */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return "copied";
  } catch {
    // Only pages that came by TLS, or from this machine, have a clipboard.
  }
  openDialog({
    title: "Copy this",
    body: () => h("textarea", {
      readonly: true, rows: 4, value: text, "aria-label": "The text to be copied",
      onfocus: (event) => event.target.select(),
    }),
  });
  return "shown, to be copied by hand";
}
