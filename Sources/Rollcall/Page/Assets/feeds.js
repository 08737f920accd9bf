// What feeds Rollcall, and Rollcall itself.

import { called, nudgesOf } from "./cells.js";
import { h, part } from "./dom.js";
import { nobodyReached } from "./frame.js";
import { nothing } from "./marks.js";
import { section } from "./rows.js";
import { between, historyPath, seen } from "./band.js";
import { ago, amount, instant, name, plain, span, spoken, time } from "./words.js";

export const feeds = {
  path: "feeds",
  name: "Health",

  heading: () => "Feeds and Rollcall",

  async load({ askIfThere, every, memory, now, status }) {
    await every(`history ${status.watching}`, 60, async () => {
      memory.history = await askIfThere(historyPath(status, now()));
    });
    await every("inputs", 10, async () => {
      memory.inputs = await askIfThere("v1/inputs");
    });
  },

  render(context) {
    return [
      sight, sources, inputs, members, itself, receivers, subscriptions, machines,
    ].map((one) => part(() => one(context)));
  },
};

function sight({ status: watch, memory, now, isSure, isLost, isFleetAway, unlit }) {
  const windows = [...(memory.history?.blind ?? [])].reverse();
  const hours = memory.history ? span(seen(memory.history, watch)) : "";
  return section("sight", "Sight", null,
    h("p", null, isFleetAway ? "The fleet cell does not answer: what stands here of it is from when it last did."
      : !watch.watching ? ["Not watching since ", time(watch.not_watching_since, now()), "."]
        : isSure ? "Rollcall is watching." : isLost ? "Rollcall was watching when the server last answered."
          : `Rollcall is watching, but of ${called(unlit)} nothing is known.`),
    h("p", null, watch.last_batch_at
      ? ["The last batch came ", ago(watch.last_batch_at, now()), "."] : "No batch has come yet."),
    memory.history
      ? windows.length
        ? [h("p", { key: "words" }, `Not watching within the last ${hours}:`),
          h("ul", { class: "windows", key: "windows" }, windows.map((window) => h(
            "li", { key: window.since + window.reason }, between(window, now()))))]
        : h("p", null, `It watched throughout the last ${hours}.`)
      : null);
}

function sources({ status: watch, now }) {
  return section("sources", "Sources", "backends that send signs of life",
    watch.sources.length
      ? h("ul", { class: "sources" }, watch.sources.map((one) => h("li", { key: one.source },
        h("span", { class: `flag is-${one.up ? "good" : "bad"}` }, one.up ? "up" : "down"),
        name(one.source), h("span", { class: "aside" }, "last beat ", ago(one.last_beat_at, now()),
          `, promised every ${span(one.every_seconds * 1000)}`))))
      : nothing("None is declared. With heartbeats Rollcall can tell a dead feed from silent "
        + "people; without, it can only suspect it."),
    watch.clocks?.length
      ? h("ul", { class: "sources", key: "clocks" }, watch.clocks.map((one) => h(
        "li", { key: `${one.state} ${one.source}` }, h("span", { class: "flag is-bad" }, "clock"),
        h("span", null, `${plain(one.text)}.`))))
      : null);
}

function inputs({ memory, now }) {
  const all = memory.inputs?.inputs ?? [];
  if (!all.length) return null;
  return section("inputs", "Inputs", "what phones send by themselves",
    h("ul", { class: "sources" }, all.map((one) => {
      const { accepted, duplicate, rejected } = one.items;
      const problem = one.last_problem;
      return h("li", { key: one.name }, name(one.name), h("span", { class: "aside" },
        one.requests ? ["last heard ", ago(one.last_request_at, now()),
          `; ${amount(accepted)} taken, ${amount(duplicate)} known already, ${amount(rejected)} refused`] : "nothing came yet",
        problem ? ["; last problem ", ago(problem.at, now()), ": ",
          plain([problem.pointer, problem.detail].filter(Boolean).join(": "))] : null));
    })));
}

const roles = {
  leading: () => "leads", standing: () => "stands to lead", joining: () => "joins",
  following: (leader) => leader ? ["follows ", name(leader)] : "follows nobody",
};
// Members write down each second what they hold; one that did not for so long is away.
const noteFor = 30_000;

function members({ status: { cluster }, now }) {
  if (!cluster) return null;
  const { leader, loss, lag } = cluster;
  const end = cluster.position + lag;
  const listed = cluster.members.map((one) => {
    const isHere = one.member === cluster.member;
    const isAway = !isHere && !(now() - instant(one.noted_at) <= noteFor);
    const behind = Math.max(0, end - one.position);
    return h("li", { key: one.member },
      flag(!isAway, isAway ? "away" : one.member === leader ? "leads" : "follows"),
      name(one.member), isHere ? " (this one)" : null, h("span", { class: "aside" },
        `holds entry ${one.position} of ${end}`, behind ? `, ${behind} behind` : "",
        one.noted_at ? [", said so ", ago(one.noted_at, now())] : ", said nothing yet",
        cluster.closed && !one.listed ? ", no member" : ""));
  });
  return section("members", "Members", "machines that keep this watch together",
    loss ? h("p", { key: "loss" }, h("strong", { class: "flag is-bad" }, "Nobody leads"), `: ${plain(loss)}.`)
      : leader ? null : h("p", { key: "none" }, h("strong", { class: "flag is-bad" }, "Nobody leads"),
        " at present."),
    h("p", { key: "this" }, "This member, ", name(cluster.member), ", ",
      (roles[cluster.role] ?? (() => "has lost the log"))(leader), `; reign ${cluster.reign}`,
      lag ? `; ${lag} entries to go.` : ".",
      cluster.confirmed ? null : " It does not hold all of the log, or does not reach it."),
    h("ul", { class: "sources" }, listed));
}

function itself({ status: watch, now }) {
  const { store, settings } = watch;
  const nudges = nudgesOf(watch);
  const size = store?.size_bytes;
  const lines = [
    ["Version", watch.version],
    watch.started_at ? ["Running", ["since ", time(watch.started_at, now()),
      `, for ${span(now() - instant(watch.started_at))}`]] : null,
    store ? ["Store", [flag(store.state === "ok", store.state),
      size === undefined ? null : `${(size / 1_048_576).toFixed(1)} MiB`]] : null,
    store?.oldest_at ? ["History", ["back to ", time(store.oldest_at, now())]] : null,
    store?.checkpoint_at ? ["Checkpoint", ago(store.checkpoint_at, now())] : null,
    settings ? ["Settings", [flag(settings.last_reload_ok, settings.last_reload_ok
      ? "taken" : "the last reload was refused: those from before hold"),
    "read ", ago(settings.loaded_at, now())]] : null,
    nudges ? ["Nudges", [spoken(nudges.mode), `, sink ${spoken(nudges.sink)}`,
      nudges.pending ? `, ${amount(nudges.pending)} on their way` : null]] : null,
  ].filter(Boolean);
  return section("itself", "Rollcall itself", null,
    h("dl", { class: "facts" }, lines.map(([term, words]) => [
      h("dt", { key: term }, term), h("dd", { key: `of ${term}` }, words)])));
}

function flag(isGood, words) {
  return h("span", { class: `flag is-${isGood ? "good" : "bad"}` }, words);
}

function receivers({ status: watch }) {
  if (!watch.receivers) return null;
  const words = nobodyReached(watch);
  return section("receivers", "Receivers", "who is told of alerts",
    words === null ? null : h("p", null, h("strong", { class: "flag is-bad" },
      "Nobody has been reached"), `: ${words}.`),
    watch.receivers.length
      ? h("ul", { class: "sources" }, watch.receivers.map((one) => h("li", { key: one.name },
        name(one.name), h("span", { class: "aside" }, spoken(one.kind),
          one.pending ? `; ${amount(one.pending)} messages wait` : "; nothing waits"))))
      : nothing("None: alerts go to the log only."));
}

function subscriptions({ status: watch }) {
  if (!watch.subscriptions) return null;
  return section("subscriptions", "Subscriptions", "who is sent events",
    h("ul", { class: "sources" }, watch.subscriptions.map((one) => h("li", { key: one.name },
      name(one.name), h("span", { class: "aside" }, ...subscriber(one))))));
}

function subscriber(one) {
  const lag = one.lag_seconds >= 1 ? `${span(one.lag_seconds * 1000)} behind` : "nothing waits";
  if (one.state === "stopped") {
    return [flag(false, "Refuses"), `, nothing is sent before a reload: ${one.error}`];
  }
  if (one.state === "trying") return [flag(false, "Away"), `, ${lag}: ${one.error}`];
  if (one.state === "following") return ["the leading member sends"];
  if (one.state === "starting") return ["starting"];
  return [one.skipped ? `${lag}; ${amount(one.skipped)} were too old and skipped` : lag];
}

function machines({ link }) {
  const links = [["metrics", "Metrics"], ["v1/status", "Status as JSON"],
    ["openapi.json", "The API"], ["-/healthy", "Health"], ["-/ready", "Readiness"]];
  return section("machines", "For machines", null,
    h("ul", { class: "choices" }, links.map(([path, words]) => h(
      "li", { key: path }, h("a", { href: link(path), "data-plain": true }, words)))));
}
