// The page's loop: which view is shown, when the server is asked, what is said when it is silent.

import { patch } from "./dom.js";
import { frame, titleOf } from "./frame.js";
import { alertsView } from "./alerts.js";
import { feeds } from "./feeds.js";
import { fleet } from "./fleet.js";
import { nudgesView } from "./nudges.js";
import { people } from "./people.js";
import { personView } from "./person.js";
import { announce } from "./said.js";
import { ask, askIfThere, root } from "./server.js";
import { silentView } from "./silent.js";
import { instant } from "./words.js";

const views = [fleet, silentView, alertsView, nudgesView, feeds, people];
const spacing = 5000;
const spacingMax = 60_000;
// A server that takes long to answer is asked less often: it works at most a fifth of the time.
const share = 5;
const patienceOfView = 250;

/** All that is shown; the one place where it changes. */
const state = {
  route: null, memory: {}, status: null, alerts: null, silences: [],
  // The server's clock and ours when its last answer came.
  asOf: 0, heardAt: 0, heardTicks: 0,
  failure: null, viewFailure: null, failures: 0, nextAt: 0, isLoaded: false, isSlow: false,
};
let drawn = [];
let timer = null;
let asking = null;
let isFirst = true;

// MARK: Time

// The larger of two clocks: one of them stands still while a laptop sleeps, the other may be set.
function age() {
  return Math.max(0, performance.now() - state.heardTicks, Date.now() - state.heardAt);
}

/** The server's now, as far as we know it. */
function now() {
  return state.asOf + age();
}

function heard(asOf) {
  state.asOf = instant(asOf) ?? Date.now();
  state.heardAt = Date.now();
  state.heardTicks = performance.now();
}

// MARK: Routes

function link(path) {
  return new URL(path, root).pathname + new URL(path, root).search;
}

function parse(url) {
  const path = url.pathname.slice(root.pathname.length);
  const route = { path, query: url.searchParams, id: null, href: url.href };
  if (path.startsWith("people/") && path.length > "people/".length) {
    try {
      route.id = decodeURIComponent(path.slice("people/".length));
      return { ...route, view: personView };
    } catch {
      return { ...route, view: people };
    }
  }
  return { ...route, view: views.find((view) => view.path === path) ?? fleet };
}

function go(path) {
  navigate(new URL(path, root), true);
}

function navigate(url, isNew) {
  if (isNew) {
    history.replaceState({ scroll: window.scrollY }, "");
    history.pushState({ scroll: 0 }, "", url);
  }
  const before = state.route;
  state.route = parse(url);
  const isSameView = before?.view === state.route.view && before?.id === state.route.id;
  // A filter of the same view keeps what is shown until the answer comes.
  state.memory = isSameView ? { ...state.memory, shown: undefined, older: undefined,
    events: undefined, newest: undefined, lastRun: undefined, wanted: undefined } : {};
  state.isLoaded = isSameView && state.isLoaded;
  state.isSlow = false;
  state.viewFailure = null;
  const arrival = isNew
    ? { scroll: 0, isFocused: !isSameView } : { scroll: history.state?.scroll ?? 0 };
  setTimeout(() => { state.isSlow = true; draw(); }, patienceOfView);
  poll(arrival);
}

// MARK: Asking

async function poll(arrival = null) {
  clearTimeout(timer);
  asking?.abort();
  const mine = new AbortController();
  asking = mine;
  const began = performance.now();
  try {
    await load(mine.signal);
    state.failures = 0;
    state.failure = null;
  } catch (error) {
    if (mine.signal.aborted) return;
    state.failure = { kind: error.kind ?? "broken", message: error.message };
    state.failures += 1;
    if (!error.kind) console.error(error);
  }
  if (mine.signal.aborted) return;
  asking = null;
  plan(performance.now() - began);
  announce(state);
  draw();
  if (arrival) arrive(arrival);
}

async function load(signal) {
  const { route, memory } = state;
  const whole = {
    ask: (path) => ask(path, signal), askIfThere: (path) => askIfThere(path, signal),
  };
  const [status, alerts] = await Promise.all([whole.ask("v1/status"), whole.ask("v1/alerts")]);
  const silences = status.alerts?.silences ? await whole.askIfThere("v1/silences") : null;
  state.status = status;
  state.silences = (silences?.silences ?? []).filter((one) => one.state === "active");
  // It fires for as long as alerting works, so it is no alert to somebody who looks.
  state.alerts = {
    ...alerts, alerts: alerts.alerts.filter((one) => one.alertname !== "Watchdog"),
    watchdog: alerts.alerts.find((one) => one.alertname === "Watchdog"),
  };
  heard(status.as_of);
  try {
    await route.view.load({ ...context(), ...whole, every: every(memory) });
    if (signal.aborted) return;
    state.viewFailure = null;
    state.isLoaded = true;
  } catch (error) {
    // The watch was heard; a part that was not is said to be older.
    if (["busy", "question", "missing"].includes(error.kind)) {
      state.viewFailure = error.message;
    } else {
      throw error;
    }
  }
}

// Runs what changes slowly only every so many seconds.
function every(memory) {
  return async (key, seconds, work) => {
    memory.lastRun ??= {};
    const last = memory.lastRun[key];
    if (last !== undefined && performance.now() - last < seconds * 1000) return;
    await work();
    memory.lastRun[key] = performance.now();
  };
}

function plan(took) {
  clearTimeout(timer);
  if (document.hidden) return;
  // Each further question would have the browser ask for a password again.
  if (state.failure?.kind === "token" || state.failure?.kind === "scope") return;
  const wait = state.failures
    ? Math.min(spacingMax, spacing * 2 ** (state.failures - 1)) * (0.9 + Math.random() * 0.2)
    : Math.min(spacingMax, Math.max(spacing, took * share));
  state.nextAt = performance.now() + wait;
  timer = setTimeout(poll, wait);
}

// MARK: Drawing

function context() {
  return {
    route: state.route, memory: state.memory, status: state.status, alerts: state.alerts,
    silences: state.silences,
    now, link, go, redraw: draw, refresh: () => poll(),
    // Whether "nobody" and "nothing" can be said of now.
    isSure: state.failure === null && state.status?.watching === true,
  };
}

function draw() {
  if (state.status === null && state.failure === null) return;
  const { classList } = document.documentElement;
  classList.toggle("lost", state.failure !== null);
  classList.toggle("blind", state.status !== null && !state.status.watching);
  const after = frame(state, { ...context(), age: age(), retry: () => poll() });
  const page = document.getElementById("page");
  if (isFirst) page.replaceChildren();
  isFirst = false;
  patch(page, drawn, after);
  drawn = after;
  document.title = titleOf(state, context());
}

function arrive({ scroll, isFocused }) {
  if (isFocused) document.querySelector("h1")?.focus({ preventScroll: true });
  window.scrollTo(0, scroll);
}

// MARK: Beginning

document.addEventListener("click", (event) => {
  const anchor = event.target.closest?.("a[href]");
  if (!anchor || event.defaultPrevented || event.button !== 0) return;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const url = new URL(anchor.href);
  if (url.origin !== root.origin || anchor.dataset.plain !== undefined || anchor.target) return;
  if (url.hash || !url.pathname.startsWith(root.pathname)) return;
  event.preventDefault();
  navigate(url, true);
});

window.addEventListener("popstate", () => navigate(new URL(location.href), false));
window.addEventListener("online", () => poll());
document.addEventListener("visibilitychange", () => {
  if (document.hidden) {
    clearTimeout(timer);
  } else if (asking === null) {
    poll();
  }
});
history.scrollRestoration = "manual";
setInterval(() => { if (!document.hidden) draw(); }, 1000);
navigate(new URL(location.href), false);
