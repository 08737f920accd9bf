// The page's loop: which view is shown, when its lists are asked for again, what is said when the server
// is silent.

import { patch } from "./dom.js";
import { frame, titleOf } from "./frame.js";
import { alertsView } from "./alerts.js";
import { asker, isOfFleetCell, isOfMany, loadStanding, ofPeople, unlit } from "./cells.js";
import { feeds } from "./feeds.js";
import { fleet } from "./fleet.js";
import { listen } from "./keys.js";
import { live } from "./live.js";
import { momentView } from "./moment.js";
import { nudgesView } from "./nudges.js";
import { people } from "./people.js";
import { personView } from "./person.js";
import { announce } from "./said.js";
import { cost, Failure, root } from "./server.js";
import { silentView } from "./silent.js";
import { instant } from "./words.js";

const views = [fleet, silentView, momentView, alertsView, nudgesView, feeds, people];
const patienceOfView = 250;
// Lists are asked for again once something changed, and as often as they are cheap: in bytes a
// second, while somebody uses the page and while it only stands there.
const rateUsed = 20_000;
const rateIdle = 20;
const spacing = 2000;
const spacingMax = 300_000;
const retryAfter = 5000;
const usedFor = 60_000;
// A server that takes long to answer is asked less often: it works at most a fifth of the time.
const share = 5;
// What depends on the clock alone is read again so often while somebody looks.
const freshFor = 60_000;
// What is due at an instant was decided and can be read so many milliseconds later.
const decidedWithin = 1000;
// No stream tells what becomes of the alerts of many cells, and who does not answer: that is asked so often.
const cellsEvery = 10_000;

/** All that is shown; the one place where it changes. */
const state = {
  route: null, memory: {}, status: null, alerts: null, silences: [],
  // The server's clock and ours when its last answer came.
  asOf: 0, heardAt: 0, heardTicks: 0,
  failure: null, viewFailure: null, nextAt: 0, isLoaded: false, isSlow: false,
  // Of a fleet of many cells: who did not answer, by what was asked; and whether the one that decides about
  // many does not, while the others may.
  away: new Map(), isFleetAway: false,
};
// What is older than what the server told since: lists of the view, and the alerts.
const stale = { view: true, alerts: true };
let readyAt = 0;
let urgentAt = 0;
let readAt = 0;
// Who opens a page looks at it for a while.
let usedAt = performance.now() - usedFor * 0.75;
let drawn = [];
let timer = null;
let asking = null;
let isLooking = false;
let isFirst = true;
let link = null;

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

function address(path) {
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
  stale.view = true;
  read(arrival, true);
}

// MARK: Asking

// How the watch stands is told by the stream; here it is seen what of it makes lists old.
function hear(status) {
  const before = state.status;
  state.status = status;
  heard(status.as_of);
  if (state.isFleetAway || state.failure !== null && !state.failure.isOfLists) {
    // Meanwhile anything may have happened.
    state.failure = null;
    state.isFleetAway = false;
    stale.view = stale.alerts = true;
  }
  const isOther = (name) => JSON.stringify(before?.[name]) !== JSON.stringify(status[name]);
  if (["alerts", "nobody_reached"].some(isOther)) stale.alerts = true;
  if (["responders", "not_expected", "gaps", "nudges", "watching", "reachable"].some(isOther)) {
    stale.view = true;
  }
  // The worst is another one: that is worth what it costs.
  if (["level", "incident"].some((name) => before?.sentence?.[name] !== status.sentence?.[name])) {
    readyAt = Math.min(readyAt, urgentAt);
  }
  announce(state, stale.alerts);
  draw();
  plan();
}

function decided(kind, event) {
  // What became of a push is somebody's own affair.
  if (kind === "delivery" && event?.responder_id !== undefined) return;
  stale.view = stale.alerts = true;
  readyAt = Math.min(readyAt, urgentAt);
  plan();
}

function lose(failure, wait, isOfLists = false) {
  const wasFleetAway = state.isFleetAway;
  state.isFleetAway = isOfFleetCell(failure) && !isOfLists;
  state.failure = state.isFleetAway ? null
    : { kind: failure.kind ?? "broken", message: failure.message, isOfLists };
  if (!failure.kind) console.error(failure);
  state.nextAt = wait === null ? 0 : performance.now() + wait;
  if (state.isFleetAway && !wasFleetAway) {
    // What the cells say of their people is shown as it is.
    stale.view = stale.alerts = true;
    readyAt = Math.min(readyAt, urgentAt);
    plan();
  }
  announce(state);
  draw();
}

function refresh() {
  // Who signed in is let in again.
  if (state.failure !== null || state.isFleetAway) link?.again();
  read(null, true);
}

function retry() {
  if (state.failure?.isOfLists) read(null, true); else link.again();
}

function plan() {
  clearTimeout(timer);
  if (document.hidden || asking !== null) return;
  if (state.failure !== null && !state.failure.isOfLists) return;
  const isOld = stale.view || stale.alerts;
  const at = Math.min(isOld ? readyAt : Math.max(readyAt, readAt + freshFor),
    Math.max(urgentAt, outdatedAt()));
  timer = setTimeout(() => read(), Math.max(0, at - performance.now()));
}

/** The tick at which something of the view becomes another by the clock, though nothing is told of it. */
function outdatedAt() {
  const next = Math.min(...state.route.view.changesAt?.(context()) ?? []);
  return performance.now() + next - now() + decidedWithin;
}

/** Reads the lists again; all of them if `isAll`, else those that are old, or the view's. */
async function read(arrival = null, isAll = false) {
  clearTimeout(timer);
  asking?.abort();
  const mine = new AbortController();
  asking = mine;
  const began = performance.now();
  const spent = cost.bytes;
  try {
    await load(mine.signal, isAll);
  } catch (error) {
    if (mine.signal.aborted) return;
    asking = null;
    readAt = performance.now();
    readyAt = urgentAt = readAt + retryAfter;
    // If all of the server is gone, the stream says so itself.
    const isLogin = error.kind === "token" || error.kind === "scope";
    if (state.failure === null || state.failure.isOfLists) {
      lose(error, isLogin ? null : retryAfter, true);
    }
    if (!isLogin) plan();
    return;
  }
  if (state.failure?.isOfLists) state.failure = null;
  if (mine.signal.aborted) return;
  asking = null;
  readAt = performance.now();
  const pause = (rate) => Math.min(spacingMax, Math.max(
    spacing, ((cost.bytes - spent) / rate) * 1000, (readAt - began) * share));
  urgentAt = readAt + pause(rateUsed);
  readyAt = readAt - usedAt < usedFor ? urgentAt : readAt + pause(rateIdle);
  announce(state);
  draw();
  if (arrival) arrive(arrival);
  plan();
}

async function load(signal, isAll) {
  const { route, memory } = state;
  if (isAll) state.away = new Map();
  const whole = asker(state, signal);
  if (state.status === null) {
    state.status = await whole.ask("v1/status");
    heard(state.status.as_of);
  }
  if (stale.alerts || isAll || isOfMany()) await loadAlerts(whole);
  stale.view = false;
  try {
    await route.view.load({ ...context(), ...whole, every: every(memory) });
    if (signal.aborted) return;
    state.viewFailure = null;
    state.isLoaded = true;
  } catch (error) {
    // The watch was heard; a part that was not is said to be older.
    stale.view = true;
    if (error.kind === undefined) {
      console.error(error);
      state.viewFailure = "the page could not make sense of an answer";
    } else if (["busy", "question", "missing"].includes(error.kind)) {
      state.viewFailure = error.message;
    } else {
      throw error;
    }
  }
}

async function loadAlerts(whole) {
  stale.alerts = false;
  try {
    const alerts = await whole.ask("v1/alerts");
    // Of a fleet of many cells the status counts the fleet cell's alone.
    const silences = state.status.alerts?.silences || isOfMany()
      ? await whole.askIfThere("v1/silences") : null;
    await loadStanding(whole, alerts);
    state.silences = (silences?.silences ?? []).filter((one) => one.state === "active");
    // It fires for as long as alerting works, so it is no alert to somebody who looks.
    state.alerts = {
      ...alerts, alerts: alerts.alerts.filter((one) => one.alertname !== "Watchdog"),
      watchdog: alerts.alerts.find((one) => one.alertname === "Watchdog"),
    };
  } catch (error) {
    stale.alerts = true;
    throw error;
  }
}

/** Looks what fires in the cells, and who answers; lists that lack others than before are read again. */
async function lookAtCells() {
  if (!isOfMany() || document.hidden || asking !== null || isLooking || state.failure !== null) return;
  isLooking = true;
  const before = away().join();
  try {
    await loadAlerts(asker(state));
  } catch (error) {
    if (!(error instanceof Failure)) console.error(error);
  }
  isLooking = false;
  if (asking !== null) return;
  // Without the fleet cell nobody tells what became another one.
  if (state.isFleetAway || ofPeople(state.away.get("v1/alerts") ?? []).join() !== before) {
    stale.view = true;
    readyAt = Math.min(readyAt, urgentAt);
  }
  announce(state);
  draw();
  plan();
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

// MARK: Drawing

/** The cells that did not answer when they were asked last. */
function away() {
  return ofPeople([...new Set([...state.away.values()].flat())].sort());
}

function context() {
  const gone = away();
  const dark = unlit(gone);
  return {
    route: state.route, memory: state.memory, status: state.status, alerts: state.alerts,
    silences: state.silences,
    now, link: address, go, redraw: draw, refresh,
    // Whether "nobody" and "nothing" can be said of now.
    isSure: state.failure === null && state.status?.watching === true && dark.length === 0
      && !state.isFleetAway,
    // Of a fleet of many cells: who does not answer, of whose people nothing is known, and whether the totals are.
    away: gone, unlit: dark, isFleetAway: state.isFleetAway,
    // Nothing is told of now: what stands here is of `asOf`.
    isLost: state.failure !== null, asOf: state.asOf, age: age(),
  };
}

function draw() {
  if (state.status === null && state.failure === null) return;
  const { classList } = document.documentElement;
  classList.toggle("lost", state.failure !== null);
  classList.toggle("blind", state.status !== null && !state.status.watching);
  classList.toggle("wall", state.route.query.has("wall"));
  const after = frame(state, { ...context(), age: age(), retry });
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
document.addEventListener("visibilitychange", () => {
  if (document.hidden) clearTimeout(timer); else plan();
});
for (const kind of ["pointerdown", "keydown", "wheel"]) {
  document.addEventListener(kind, () => {
    const isNew = performance.now() - usedAt > usedFor;
    usedAt = performance.now();
    // What the page saved while nobody looked is read now.
    if (!isNew) return;
    readyAt = Math.min(readyAt, urgentAt);
    plan();
  }, { passive: true });
}
history.scrollRestoration = "manual";
setInterval(() => { if (!document.hidden) draw(); }, 1000);
setInterval(lookAtCells, cellsEvery);
listen(go);
navigate(new URL(location.href), false);
link = live({ heard: hear, decided, lost: lose });
