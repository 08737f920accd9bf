// The one field of filters: `region:harbour cause:low_power` as people type it, and as the API takes
// it. Free words search ids.

import { h } from "./dom.js";
import { causes, plain } from "./words.js";

// What one may filter by, as the API calls it; the short names that are understood too; the values
// where these are few.
const keys = [
  { key: "status", values: ["ONLINE", "DEGRADED", "UNKNOWN", "OFFLINE", "NOT_EXPECTED"] },
  { key: "reachable", values: ["yes", "no", "unknown"] },
  { key: "region" },
  { key: "cause", also: ["suspected"], values: causes },
  { key: "model" },
  { key: "manufacturer", also: ["make", "maker"] },
  { key: "platform", values: ["ios", "android", "other", "unknown"] },
  { key: "app_version", also: ["app", "version"] },
  { key: "os_version", also: ["os", "system"] },
  { key: "battery", values: ["0-5", "5-20", "20-50", "50-100", "unknown"] },
  { key: "network_type", also: ["network"], values: ["wifi", "cellular", "none", "other", "unknown"] },
  { key: "permission_status", also: ["permission"], values: ["granted", "denied", "other", "unknown"] },
  { key: "location_services", also: ["services"], values: ["true", "false", "unknown"] },
  { key: "power_mode", also: ["power"], values: ["normal", "low_power", "other", "unknown"] },
  {
    key: "app_state",
    values: ["foreground", "background", "suspended", "terminated", "other", "unknown"],
  },
  { key: "duty_state", also: ["duty"], values: ["ON_DUTY", "ON_MISSION", "OFF_DUTY"] },
  { key: "sharing", values: ["active", "paused"] },
  { key: "circle" },
  { key: "not_expected", values: ["retired", "forgotten", "no_duty", "off_duty", "paused"] },
  { key: "silent_since" },
  { key: "silent_until" },
];

function known(word) {
  const small = word.toLowerCase();
  return keys.find(({ key, also }) => key === small || also?.includes(small));
}

function isName({ key, values }) {
  return !values && !key.startsWith("silent_");
}

/** A path with filters and more, also those that are empty; not those that are null. */
export function pathOf(path, parameters) {
  const given = Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined);
  const text = new URLSearchParams(given).toString();
  return text ? `${path}?${text}` : path;
}

/** The filters of an address, as the API takes them. */
export function filtersOf(query) {
  const found = {};
  for (const one of keys) {
    // Without a name means those of whom it is not known.
    if (query.get(one.key) || isName(one) && query.has(one.key)) found[one.key] = query.get(one.key);
  }
  if (query.get("q")) found.q = query.get("q");
  return found;
}

/** The filters as somebody would type them. */
export function printed(filters) {
  const parts = keys.filter(({ key }) => key in filters)
    .map(({ key }) => `${key}:${quoted(filters[key])}`);
  if (filters.q) parts.push(/[:"\\]/.test(filters.q) ? quoted(filters.q, true) : filters.q);
  return parts.join(" ");
}

function quoted(value, always = false) {
  return always || value === "" || /[\s"\\]/.test(value)
    ? `"${value.replace(/["\\]/g, "\\$&")}"` : value;
}

// The text in words, at blanks that no quotes hold; `colon` is where a key ends.
function* tokens(text) {
  let token = null;
  let isQuoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const letter = text[at];
    if (!isQuoted && /\s/.test(letter)) {
      if (token) yield token;
      token = null;
      continue;
    }
    token ??= { start: at, words: "", colon: null };
    if (letter === '"') {
      isQuoted = !isQuoted;
    } else if (letter === "\\" && isQuoted && at + 1 < text.length) {
      at += 1;
      token.words += text[at];
    } else {
      if (letter === ":" && !isQuoted && token.colon === null) token.colon = token.words.length;
      token.words += letter;
    }
  }
  if (token) yield token;
}

/** What somebody typed as filters; `fault` says what of it makes no sense. */
export function read(text) {
  const filters = {};
  const free = [];
  for (const { words, colon } of tokens(text)) {
    if (colon === null) {
      free.push(words);
      continue;
    }
    const key = words.slice(0, colon);
    const found = known(key);
    if (!found) return { filters: {}, fault: unknown(key) };
    const value = found.values
      ? words.slice(colon + 1).split(",").map((one) => spelled(found, one)).join(",")
      : words.slice(colon + 1);
    // Said twice is either.
    filters[found.key] = found.key in filters ? `${filters[found.key]},${value}` : value;
  }
  if (free.length) filters.q = free.join(" ");
  return { filters, fault: null };
}

// A word of few, in the letters that it has.
function spelled({ values }, text) {
  return values.find((one) => one.toLowerCase() === text.toLowerCase()) ?? text;
}

function unknown(key) {
  const near = keys.map((one) => one.key)
    .sort((a, b) => distance(a, key) - distance(b, key))[0];
  const hint = distance(near, key) <= 3 ? ` Did you mean ${near}?`
    : ` There are ${keys.map((one) => one.key).join(", ")}.`;
  return `There is no filter “${plain(key)}”.${hint} To search for an id with a colon in it, quote it.`;
}

// The letters that differ: Levenshtein's.
function distance(a, b) {
  let row = [...b].map((_, place) => place + 1);
  row.unshift(0);
  for (let i = 0; i < a.length; i += 1) {
    const next = [i + 1];
    for (let j = 0; j < b.length; j += 1) {
      next.push(Math.min(next[j] + 1, row[j + 1] + 1, row[j] + (a[i] === b[j] ? 0 : 1)));
    }
    row = next;
  }
  return row[b.length];
}

// MARK: The field

const suggestionsMax = 12;

/** The field with its suggestions; `names` are values that are known by their keys. */
export function filterField({ memory, route, go, redraw }, names) {
  const filters = filtersOf(route.query);
  const box = memory.box ??= { items: [], at: -1, fault: null };
  const rest = { sort: route.query.get("sort") };
  const close = () => { box.items = []; box.at = -1; };
  const submit = (event) => {
    event.preventDefault();
    const { filters: wanted, fault: wrong } = read(event.target.elements.filter.value);
    box.fault = wrong;
    box.faultAt = route.href;
    close();
    if (wrong) return redraw();
    go(pathOf("people", { ...rest, ...wanted }));
  };
  const suggest = (input) => {
    box.items = suggestions(input.value.slice(0, input.selectionStart), names);
    box.at = -1;
    redraw();
  };
  const take = (item, input) => {
    const end = input.selectionStart;
    const after = input.value.slice(end);
    input.value = input.value.slice(0, item.start) + item.text + after;
    const place = item.start + item.text.length;
    input.setSelectionRange(place, place);
    input.focus();
    suggest(input);
  };
  const key = (event) => {
    const { items } = box;
    if (event.key === "Escape" && items.length) {
      event.preventDefault();
      event.stopPropagation();
      close();
    } else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && items.length) {
      event.preventDefault();
      const step = event.key === "ArrowDown" ? 1 : -1;
      box.at = (box.at + step + items.length + (box.at < 0 && step < 0 ? 1 : 0)) % items.length;
    } else if (event.key === "Enter" && box.at >= 0) {
      event.preventDefault();
      return take(items[box.at], event.target);
    } else {
      return undefined;
    }
    return redraw();
  };
  const isOpen = box.items.length > 0;
  // What was wrong with it is forgotten with the address.
  const fault = box.faultAt === route.href ? box.fault : null;
  return h("form", { class: "typed", role: "search", "aria-label": "Filter people", onsubmit: submit },
    h("label", null, h("span", null, "Filter"),
      h("input", {
        name: "filter", type: "search", value: printed(filters), autocomplete: "off",
        spellcheck: "false", enterkeyhint: "search", placeholder: "region:harbour cause:low_power r-17",
        role: "combobox", "aria-expanded": isOpen ? "true" : "false", "aria-controls": "suggested",
        "aria-autocomplete": "list",
        "aria-activedescendant": box.at >= 0 ? `suggested-${box.at}` : null,
        "aria-describedby": fault ? "typed-fault" : null,
        "aria-invalid": fault ? "true" : null,
        oninput: (event) => { box.fault = null; suggest(event.target); }, onkeydown: key,
        onblur: () => { if (box.items.length) { close(); redraw(); } },
      })),
    h("button", { type: "submit" }, "Filter"),
    Object.keys(filters).length ? h("button", {
      type: "button", class: "plain-button", onclick: () => go(pathOf("people", rest)),
    }, "Show everybody") : null,
    h("ul", {
      id: "suggested", role: "listbox", "aria-label": "Suggestions", class: isOpen ? "open" : "",
    }, box.items.map((item, place) => h("li", {
      key: item.text, id: `suggested-${place}`, role: "option",
      "aria-selected": place === box.at ? "true" : "false",
      // Before the field loses the focus.
      onmousedown: (event) => {
        event.preventDefault();
        take(item, event.target.closest("form").elements.filter);
      },
    }, plain(item.text.trim())))),
    fault ? h("p", { id: "typed-fault", class: "warned", role: "alert" }, fault) : null);
}

// What the last word of a text may become.
function suggestions(text, names) {
  const last = [...tokens(text)].at(-1);
  if (!last || /\s$/.test(text) && !isOpenQuote(text)) return [];
  const small = last.words.toLowerCase();
  if (last.colon === null) {
    return keys.filter(({ key, also }) => key.startsWith(small)
      || also?.some((one) => one.startsWith(small)))
      .slice(0, suggestionsMax).map(({ key }) => ({ start: last.start, text: `${key}:` }));
  }
  const found = known(last.words.slice(0, last.colon));
  if (!found) return [];
  const value = last.words.slice(last.colon + 1);
  const before = value.includes(",") ? value.slice(0, value.lastIndexOf(",") + 1) : "";
  const part = value.slice(before.length).toLowerCase();
  return (found.values ?? [...(names[found.key] ?? [])].sort())
    .filter((one) => one.toLowerCase().startsWith(part) && one.toLowerCase() !== part)
    .slice(0, suggestionsMax)
    .map((one) => ({ start: last.start, text: `${found.key}:${quoted(before + one)} ` }));
}

function isOpenQuote(text) {
  return (text.replace(/\\./g, "").match(/"/g) ?? []).length % 2 === 1;
}
