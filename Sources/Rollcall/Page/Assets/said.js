// What a screen reader is told without being asked: only what changes what somebody does.

let before = null;

/** Compares with the last time and says what is new. */
export function announce(state) {
  const after = {
    isLost: state.failure !== null,
    isWatching: state.status?.watching ?? true,
    unreached: state.status?.nobody_reached ?? null,
    firing: new Map((state.alerts?.alerts ?? []).filter((one) => one.state === "firing")
      .map((one) => [one.incident, one.annotations?.summary ?? one.alertname])),
  };
  const words = before === null ? [] : differences(before, after);
  before = after;
  if (words.length === 0) return;
  document.getElementById("said").textContent = words.slice(0, 4).join(". ");
}

function differences(a, b) {
  const words = [];
  if (b.isLost !== a.isLost) {
    words.push(b.isLost ? "The server does not answer this page" : "The server answers again");
  }
  if (b.isWatching !== a.isWatching) {
    words.push(b.isWatching ? "Watching again" : "Not watching: statuses are the last known ones");
  }
  if ((b.unreached === null) !== (a.unreached === null)) {
    words.unshift(b.unreached ? "Nobody has been reached by a critical alert"
      : "Somebody has been reached");
  }
  for (const [incident, summary] of b.firing) {
    if (!a.firing.has(incident)) words.push(`Alert fires: ${summary}`);
  }
  for (const [incident, summary] of a.firing) {
    if (!b.firing.has(incident)) words.push(`Over: ${summary}`);
  }
  return words;
}
