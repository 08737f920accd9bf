// Alerts: what fires, what is about to, who mutes what, and the history that answers "why was I
// (not) told?".

import { silenceActions } from "./act.js";
import { called, ofPeople } from "./cells.js";
import { h } from "./dom.js";
import { nothing, severity } from "./marks.js";
import {
  alert, causes, count, more, mute, person, runbook, section, worstFirst,
} from "./rows.js";
import {
  amount, fromNow, instant, length, name, namesOf, pathWith, plain, readableWith, since, span, spoken, subject,
  time,
} from "./words.js";

const historyShown = 20;

export const alertsView = {
  path: "alerts",
  name: "Alerts",

  heading: ({ route, memory }) => {
    if (!route.query.has("incident") || nameMeant(route.query) !== null) return "Alerts";
    const one = memory.one ?? null;
    return one ? [plain(one.alertname), " ", name(subject(one.labels))] : "Incident";
  },

  title: ({ route, memory }) => (
    !route.query.has("incident") || nameMeant(route.query) !== null ? "Alerts"
    : memory.one ? `${plain(memory.one.alertname)} ${plain(subject(memory.one.labels))}`
      : "Incident"),

  async load(context) {
    const { ask, memory, route } = context;
    const alertname = nameMeant(route.query);
    if (memory.alertname !== alertname) memory.older = undefined;
    memory.alertname = alertname;
    const wanted = alertname === null ? incident(route.query.get("incident")) : null;
    if (wanted !== null) {
      const found = wanted.number > 0
        ? await ask(`v1/alerts/history?before=${wanted.number + 1}&limit=1`) : null;
      memory.one = found?.incidents.find((one) => isMeant(one, wanted)) ?? null;
      memory.isOutOfSight = found?.truncated === true;
      memory.incident = wanted;
      memory.history = null;
      return;
    }
    const only = { alertname, limit: historyShown };
    memory.history = await ask(pathWith("v1/alerts/history", only));
    memory.older ??= { incidents: [], next: undefined };
    if (memory.wantsOlder) {
      memory.wantsOlder = false;
      const before = memory.older.next ?? memory.history.next;
      const page = await ask(pathWith("v1/alerts/history", { ...only, before }));
      memory.older.incidents.push(...page.incidents);
      memory.older.next = page.next;
    }
  },

  render(context) {
    const { memory, alerts, silences, now, link, isSure } = context;
    if (memory.history === null) return single(context);
    const meant = alerts.alerts.filter(
      (one) => memory.alertname === null || one.alertname === memory.alertname);
    const fires = meant.filter((one) => one.state === "firing");
    const pending = meant.filter((one) => one.state !== "firing");
    const lacks = lacking(alerts);
    const list = (all) => h(
      "ul", { class: "alerts" }, worstFirst(all).map(
        (one) => alert(one, { now: now(), link, silences })));
    return [
      memory.alertname === null ? null : h("p", { key: "only", class: "aside" },
        `Only ${plain(memory.alertname)}. `, h("a", { href: link("alerts") }, "All alerts")),
      section("firing", fires.length ? `${amount(fires.length)} firing`
        : lacks ? "Nothing is known to fire" : isSure ? "Nothing fires" : "Nothing fired",
        alerts.truncated ? "some are left out: there are too many" : null,
        lacks ? h("p", { class: "warned", key: "lacks" }, `What fires in ${lacks} is not known.`) : null,
        fires.length ? list(fires) : lacks ? null : nothing(isSure
          ? "No alert fires now." : "No alert fired, of what was known last."),
        alerts.watchdog
          ? h("p", { class: "aside" },
            "The Watchdog fires, as it should: its receivers would notice its end.") : null),
      pending.length
        ? section("pending", `${amount(pending.length)} pending`, null, list(pending))
        : null,
      silencesPart(context),
      history(context),
    ];
  },
};

// Who did not say what fires there; null of a list that lacks nobody.
function lacking({ unavailable = [] }) {
  const cells = ofPeople(unavailable);
  return [unavailable.length > cells.length ? "the fleet cell" : null, cells.length ? called(cells) : null]
    .filter(Boolean).join(" and in ") || null;
}

// What the message about a storm links to: all alerts of its name; so does the key under which pagers
// know it.
function nameMeant(query) {
  const key = /^rollcall-[0-9a-f]{16}-([A-Za-z]+)-\d{1,15}$/.exec(query.get("incident") ?? "");
  return key?.[1] ?? query.get("alertname");
}

// What messages link to: the number of an incident, or the key under which pagers know it.
function incident(text) {
  if (text === null) return null;
  const parts = /^(?:rollcall-[0-9a-f]{16}-)?(-?\d{1,15}|store|state)(?:-[\w.-]{1,64})?$/.exec(text);
  if (parts === null) return { number: 0 };
  return { number: Number(parts[1]) || 0, ofStore: ofStore[parts[1]], key: /^rollcall-[0-9a-f]{16}-\d+/.exec(text)?.[0] };
}

// A number alone is several incidents' in a fleet of many cells: the key tells whose.
function isMeant(one, { number: wanted, key }) {
  const isOfMany = one.cell !== undefined && key !== undefined;
  return wanted > 0 && one.incident === wanted && (!isOfMany || one.key === key);
}

// Told from memory: the store holds nothing of them.
const ofStore = { store: "RollcallStoreFailing", state: "RollcallStateLost" };

function single(context) {
  const { memory, alerts, silences, now, link } = context;
  const { one, incident: wanted } = memory;
  const all = h("a", { href: link("alerts") }, "All alerts");
  const current = alerts.alerts.find((alert) => (wanted.ofStore
    ? alert.alertname === wanted.ofStore : isMeant(alert, wanted)));
  if (!one && !current) return section("history", "Not found", all, nothing(missing(memory)));
  return [
    current ? section("firing", current.state === "firing" ? "It fires now" : "It is pending", all,
      h("ul", { class: "alerts" }, alert(current, { now: now(), link, silences }))) : null,
    one ? section("history", current ? "What happened" : "It is over", current ? null : all,
      h("div", { class: "incident" }, h("div", { class: "headline" },
        headline(one, now())), current ? null : runbook(one), story(one, now(), link))) : null,
  ];
}

function missing({ incident: wanted, isOutOfSight }) {
  if (wanted.number < 0) {
    return "This was a drill: a test of the way to a receiver. Nothing is wrong.";
  }
  if (wanted.ofStore) {
    return `${wanted.ofStore} does not fire now. It is told from memory: no history of it is kept.`;
  }
  return isOutOfSight
    ? "It lies further back than one question looks: GET /v1/alerts/history goes on from there."
    : "There is no such incident in the store, or not any more.";
}

function silencesPart({ silences: list, now }) {
  if (list.length === 0) return null;
  return section("silences", count(list.length, "silence", "silences"), null,
    h("ul", { class: "silences" }, list.map((one) => h("li", { key: `${one.cell ?? ""} ${one.id}` },
      h("strong", null, `Silence ${one.id}: `),
      matchers(one), h("span", { class: "aside" }, " by ", name(one.author), ": ",
        plain(one.comment), "; ends ", fromNow(one.ends_at, now())), silenceActions(one)))));
}

function matchers(one) {
  return (one.matchers ?? []).map((matcher, place) => [place ? ", " : "", name(matcher)]);
}

// Of a fleet of many cells each counts its own.
function keyOf(one) {
  return one.cell ? `${one.cell}-${one.incident}` : String(one.incident);
}

function history({ memory, now, link, refresh }) {
  const known = new Set();
  const all = [...memory.history.incidents, ...memory.older.incidents]
    .filter((one) => !known.has(keyOf(one)) && known.add(keyOf(one)));
  const next = memory.older.next === undefined ? memory.history.next : memory.older.next;
  return section("history", "History", "what fired, newest first",
    all.length
      ? h("div", { class: "incidents" }, all.map((one) => h(
        "details", { key: keyOf(one), class: "incident", id: `incident-${keyOf(one)}` },
        h("summary", null, headline(one, now())), runbook(one), story(one, now(), link))))
      : nothing(lacking(memory.history) ? "No alert is known to have fired yet." : "No alert has fired yet."),
    lacking(memory.history) ? h("p", { class: "aside", key: "lacks" },
      `What fired in ${lacking(memory.history)} is missing.`) : null,
    next !== null
      ? more(all.length, null, () => { memory.wantsOlder = true; refresh(); }, "older") : null,
    memory.history.truncated ? h("p", { class: "aside" }, "There is more than was looked at.")
      : null);
}

function headline(one, now) {
  const end = instant(one.ended_at);
  return [
    severity(one.severity),
    h("span", { class: "state" }, one.state),
    h("span", { class: "alertname" }, plain(one.alertname)), " ", name(subject(one.labels)),
    h("span", { class: "summary" }, readableWith(namesOf(one), one.annotations?.summary)),
    h("span", { class: "aside" }, time(one.starts_at, now),
      end === null ? `, for ${span(now - instant(one.starts_at))} so far`
        : `, for ${span(end - instant(one.starts_at))}`),
  ];
}

function story(one, now, link) {
  return [
    one.annotations?.description
      ? h("p", { key: "words" }, readableWith(namesOf(one), one.annotations.description)) : null,
    h("dl", { class: "facts", key: "facts" },
      fact("State", one.ended_at
        ? [`${one.state} `, time(one.ended_at, now), "; it fired ", time(one.starts_at, now),
          `, for ${span(instant(one.ended_at) - instant(one.starts_at))}`]
        : [one.state, " ", since(one.starts_at, now), " so far"]),
      fact("Number", number(one)),
      one.causes?.length ? fact("Suspected",
        causes(one.causes.map((cause) => [cause.cause, cause.count]))) : null,
      one.members?.length ? fact("Who", one.members.map((id, place) => [
        place ? ", " : "", person(id, link)])) : null),
    h("h3", { key: "how" }, "How it went"),
    h("ol", { class: "steps", key: "steps" }, steps(one, now)),
  ];
}

function fact(term, words) {
  return [h("dt", { key: term }, term), h("dd", { key: `of ${term}` }, words)];
}

function number(one) {
  const isRate = one.alertname === "HighOfflineRate";
  const value = `${(one.value * 100).toFixed(1)} %`;
  const limit = one.threshold === null ? ""
    : isRate ? `, threshold ${Number((one.threshold * 100).toFixed(2))} %` : `, threshold ${one.threshold}`;
  const held = one.for_ms ? `, held for ${length(one.for_ms)} before it fired` : "";
  return `${amount(one.count)} of ${amount(one.total)}${isRate ? `, that is ${value}` : ""}${limit}${held}`;
}

// States, who was told, who was not, and every attempt, in the order of their times.
function steps(one, now) {
  const found = (one.changes ?? []).map((change) => ({
    // The number is that of the last time it was true, which an end is not.
    at: change.at, words: change.value === null || change.state === "resolved" ? change.state
      : `${change.state} at ${change.value}`,
  }));
  for (const muted of one.muted ?? []) {
    const words = muted.reason === "storm" ? [": ", mute(muted)] : [" not told: ", mute(muted)];
    found.push({ at: muted.at, words: [name(muted.receiver), words] });
  }
  for (const notice of one.notices ?? []) {
    found.push({
      at: notice.at, words: ["to tell ", name(notice.receiver), `: ${spoken(notice.kind)}`],
    });
    for (const target of notice.targets) found.push(...attempts(notice, target));
  }
  found.sort((a, b) => (a.at ?? "").localeCompare(b.at ?? ""));
  return found.map((step, place) => h("li", { key: place },
    h("span", { class: "stamp" }, time(step.at, now, true)), h("span", null, step.words)));
}

function attempts(notice, target) {
  const list = target.attempts ?? [];
  return list.map((attempt, place) => {
    const isLast = place === list.length - 1;
    const took = attempt.took_ms === null ? "" : ` after ${attempt.took_ms} ms`;
    const outcome = isLast && target.outcome ? spoken(target.outcome) : null;
    const result = attempt.error ? plain(attempt.error)
      : attempt.status ? `status ${attempt.status}${took}` : outcome ? null : "no answer yet";
    const words = [result, outcome].filter(Boolean).join(", ");
    return { at: attempt.at, words: [name(notice.receiver), `: ${words}`] };
  });
}
