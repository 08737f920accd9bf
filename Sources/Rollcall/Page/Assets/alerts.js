// Alerts: what fires, what is about to, who mutes what, and the history that answers "why was I
// (not) told?".

import { h } from "./dom.js";
import { nothing, severity } from "./marks.js";
import { alert, causes, count, more, mute, person, section, worstFirst } from "./rows.js";
import {
  ago, instant, length, name, pathWith, plain, since, span, spoken, subject, time,
} from "./words.js";

const historyShown = 20;

export const alertsView = {
  path: "alerts",
  name: "Alerts",

  heading: ({ route }) => (
    route.query.has("incident") ? `Incident ${Number(route.query.get("incident"))}` : "Alerts"),

  async load(context) {
    const { ask, every, memory, route } = context;
    const incident = Number(route.query.get("incident") ?? 0);
    if (incident > 0) {
      const found = await ask(`v1/alerts/history?before=${incident + 1}&limit=1`);
      memory.one = found.incidents.find((one) => one.incident === incident) ?? null;
      memory.history = null;
      return;
    }
    await every("silences", 10, async () => { memory.silences = await ask("v1/silences"); });
    memory.history = await ask(`v1/alerts/history?limit=${historyShown}`);
    memory.older ??= { incidents: [], next: undefined };
    if (memory.wantsOlder) {
      memory.wantsOlder = false;
      const before = memory.older.next ?? memory.history.next;
      const page = await ask(pathWith("v1/alerts/history", { limit: historyShown, before }));
      memory.older.incidents.push(...page.incidents);
      memory.older.next = page.next;
    }
  },

  render(context) {
    const { memory, alerts, now, link, isSure } = context;
    if (memory.history === null) return single(context);
    const fires = alerts.alerts.filter((one) => one.state === "firing");
    const pending = alerts.alerts.filter((one) => one.state !== "firing");
    const list = (all) => h(
      "ul", { class: "alerts" }, worstFirst(all).map((one) => alert(one, { now: now(), link })));
    return [
      section("firing", fires.length ? `${fires.length} firing`
        : isSure ? "Nothing fires" : "Nothing fired",
        alerts.truncated ? "some are left out: there are too many" : null,
        fires.length ? list(fires) : nothing(isSure
          ? "No alert fires now." : "No alert fired when we last saw."),
        alerts.watchdog
          ? h("p", { class: "aside" }, 
            "The Watchdog fires, as it should: its receivers would notice its end.") : null),
      pending.length
        ? section("pending", `${pending.length.toLocaleString("en")} pending`, null, list(pending))
        : null,
      silences(context),
      history(context),
    ];
  },
};

function single({ memory, now, link }) {
  return section("history", "What happened", h("a", { href: link("alerts") }, "All alerts"),
    memory.one
      ? h("div", { class: "incident" }, h("div", { class: "headline" },
        headline(memory.one, now())), story(memory.one, now(), link))
      : nothing("There is no such incident in the store any more."));
}

function silences({ memory, now }) {
  const list = (memory.silences?.silences ?? []).filter((one) => one.state === "active");
  if (list.length === 0) return null;
  return section("silences", count(list.length, "silence", "silences"), null,
    h("ul", { class: "silences" }, list.map((one) => h("li", { key: one.id },
      h("strong", null, `Silence ${one.id}: `),
      matchers(one), h("span", { class: "aside" }, " by ", name(one.author), ": ",
        plain(one.comment), "; ends ", ago(one.ends_at, now()))))));
}

function matchers(one) {
  return (one.matchers ?? []).map((matcher, place) => [place ? ", " : "", name(matcher)]);
}

function history({ memory, now, link, refresh }) {
  const known = new Set();
  const all = [...memory.history.incidents, ...memory.older.incidents]
    .filter((one) => !known.has(one.incident) && known.add(one.incident));
  const next = memory.older.next === undefined ? memory.history.next : memory.older.next;
  return section("history", "History", "what fired, newest first",
    all.length
      ? h("div", { class: "incidents" }, all.map((one) => h(
        "details", { key: one.incident, class: "incident", id: `incident-${one.incident}` },
        h("summary", null, headline(one, now())), story(one, now(), link))))
      : nothing("No alert has fired yet."),
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
    h("span", { class: "summary" }, plain(one.annotations?.summary ?? "")),
    h("span", { class: "aside" }, time(one.starts_at, now),
      end === null ? `, for ${span(now - instant(one.starts_at))} so far`
        : `, for ${span(end - instant(one.starts_at))}`),
  ];
}

function story(one, now, link) {
  return [
    one.annotations?.description
      ? h("p", { key: "words" }, plain(one.annotations.description)) : null,
    h("dl", { class: "facts", key: "facts" },
      fact("State", [one.state, " ", since(one.starts_at, now),
        one.ended_at ? [", until ", time(one.ended_at, now)] : null]),
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
    : isRate ? `, threshold ${one.threshold * 100} %` : `, threshold ${one.threshold}`;
  const held = one.for_ms ? `, held for ${length(one.for_ms)} before it fired` : "";
  return `${one.count} of ${one.total}${isRate ? `, that is ${value}` : ""}${limit}${held}`;
}

// States, who was told, who was not, and every attempt, in the order of their times.
function steps(one, now) {
  const found = (one.changes ?? []).map((change) => ({
    at: change.at, words: `${change.state}${change.value === null ? "" : ` at ${change.value}`}`,
  }));
  for (const muted of one.muted ?? []) {
    found.push({ at: muted.at, words: [name(muted.receiver), " not told: ", mute(muted)] });
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
