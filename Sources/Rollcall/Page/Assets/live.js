// The one stream that the page lives on: how the watch stands, and that something was decided. Where
// streams do not get through, the server is asked instead, as often as it may be.

import { ask, Failure, follow, isOurs } from "./server.js";

/** Milliseconds without a sign of the server after which that is said; a sign comes every five seconds. */
const silenceMax = 7000;
const spacing = 5000;
const spacingMax = 60_000;
// Of a large fleet nobody could read what is told of each person: their numbers come with the status.
const kinds = "alert,delivery,action,blind";

/** Applies a merge patch (RFC 7396). */
export function merged(target, change) {
  if (change === null || typeof change !== "object" || Array.isArray(change)) return change;
  const isObject = target !== null && typeof target === "object" && !Array.isArray(target);
  const result = isObject ? { ...target } : {};
  for (const [name, value] of Object.entries(change)) {
    if (value === null) delete result[name]; else result[name] = merged(result[name], value);
  }
  return result;
}

/**
 * Keeps hold of the server until `stop` of what is returned. `heard(status)` is called with how the
 * watch stands, `decided(kind, event)` when one of the few events came that are followed, `lost(failure, wait)` when the server
 * does not answer and is tried again after so many milliseconds; null is for ever.
 */
export function live({ heard, decided, lost }) {
  let control = new AbortController();
  let wake = null;
  let failures = 0;
  // A stream that failed is not tried again at once: meanwhile the server is asked.
  let streamAt = 0;
  let streamFailures = 0;
  let isStopped = false;

  const sleep = (wait) => new Promise((resolve) => {
    const timer = wait === null ? null : setTimeout(resolve, wait);
    wake = () => { clearTimeout(timer); resolve(); };
  });

  async function stream() {
    let status = null;
    await follow(`v1/events?watch=true&kinds=${kinds}`, control.signal, silenceMax,
      (kind, data) => {
        if (kind === "watch" || kind === "watch-change") {
          status = kind === "watch" ? data : merged(status, data);
          if (!isOurs("v1/status", status)) {
            throw new Failure("lost", "what answers is not Rollcall");
          }
          failures = 0;
          streamFailures = 0;
          heard(status);
        } else if (kind !== "begin") {
          decided(kind, data);
        }
      });
  }

  async function once() {
    if (performance.now() >= streamAt) {
      try {
        await stream();
      } catch (error) {
        if (isStopped || error.kind === "dropped") return 0;
        streamFailures += 1;
        streamAt = performance.now() + Math.min(spacingMax, 1000 * 2 ** streamFailures);
        // Whoever hangs would hold the next question up, too.
        if (error.kind === "silent") lost(error, 0);
      }
    }
    const began = performance.now();
    heard(await ask("v1/status", control.signal));
    failures = 0;
    // It works at most a fifth of the time for us.
    return Math.max(spacing, 5 * (performance.now() - began));
  }

  async function run() {
    while (!isStopped) {
      if (document.hidden) {
        await sleep(null);
        continue;
      }
      try {
        await sleep(await once());
      } catch (error) {
        if (isStopped) return;
        if (error.kind === "dropped") continue;
        failures += 1;
        // Each further question would have the browser ask for a password again.
        const isLogin = error.kind === "token" || error.kind === "scope";
        const wait = isLogin ? null : Math.min(spacingMax, spacing * 2 ** (failures - 1))
          * (0.9 + Math.random() * 0.2);
        lost(error, wait);
        await sleep(wait);
      }
    }
  }

  const again = () => {
    control.abort();
    control = new AbortController();
    streamAt = 0;
    wake?.();
  };
  document.addEventListener("visibilitychange", again);
  window.addEventListener("online", again);
  run();
  return {
    again,
    stop() {
      isStopped = true;
      again();
    },
  };
}
