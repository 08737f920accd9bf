// Questions to the server, and what went wrong with them.

/** Where the server begins, also behind a proxy that put it below a path. */
export const root = new URL("../../", import.meta.url);

const patience = 10_000;

/** Bytes of all answers so far, about: what lists cost decides how often they are asked for. */
export const cost = { bytes: 0 };

/** An answer that did not come, or was none. */
export class Failure extends Error {
  constructor(kind, message, status = 0, cell = null) {
    super(message);
    this.kind = kind;
    this.status = status;
    // Of a fleet of many cells: the one that does not answer, or that has who was asked about.
    this.cell = cell;
  }
}

// What an answer holds at least: a proxy in front answers 200 with what it likes.
const lists = {
  "v1/gaps": "gaps", "v1/regions": "regions", "v1/regions/history": "regions", "v1/responders": "responders",
  "v1/alerts": "alerts", "v1/alerts/history": "incidents", "v1/silences": "silences",
  "v1/nudges": "nudges", "v1/inputs": "inputs",
  "v1/differences": "differences",
};

/** Whether an answer to a question is shaped as Rollcall's are. */
export function isOurs(path, answer) {
  if (answer === null || typeof answer !== "object") return false;
  const [bare, query] = path.split("?");
  if (new URLSearchParams(query).has("by")) return Array.isArray(answer.rows);
  if (bare in lists) return Array.isArray(answer[lists[bare]]);
  return bare !== "v1/status" || (typeof answer.watching === "boolean"
    && Number.isInteger(answer.responders?.active) && Number.isInteger(answer.not_expected?.all)
    && Array.isArray(answer.sources) && !Number.isNaN(Date.parse(answer.as_of)));
}

/** Asks for JSON. `signal` gives the question up. Throws `Failure`. */
export async function ask(path, signal) {
  const limit = AbortSignal.timeout(patience);
  const both = AbortSignal.any(signal ? [signal, limit] : [limit]);
  let answer;
  try {
    answer = await fetch(new URL(path, root), {
      headers: { Accept: "application/json" }, cache: "no-store", redirect: "error", signal: both,
    });
    if (answer.ok) {
      const text = await answer.text();
      cost.bytes += text.length + 300;
      const found = parsed(text);
      if (!isOurs(path, found)) throw new Failure("lost", "what answers is not Rollcall");
      return found;
    }
  } catch (error) {
    if (error instanceof Failure) throw error;
    if (signal?.aborted) throw new Failure("dropped", "not asked any more");
    if (limit.aborted) throw new Failure("lost", `no answer within ${patience / 1000} s`);
    if (answer !== undefined) throw new Failure("lost", "the answer broke off");
    throw new Failure("lost", "the server does not answer");
  }
  throw await refusal(answer);
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    throw new Failure("lost", "what answers is not Rollcall");
  }
}

/**
 * Follows a stream of events until it ends; `take` is called with each event's kind and data. Throws
 * `Failure`: of the kind `silent` after `silence` milliseconds without a byte, `dropped` if `signal`
 * gave it up, else as `ask`; also when it ends.
 */
export async function follow(path, signal, silence, take) {
  const limit = new AbortController();
  let timer = setTimeout(() => limit.abort(), silence);
  try {
    const answer = await fetch(new URL(path, root), {
      headers: { Accept: "text/event-stream" }, cache: "no-store", redirect: "error",
      signal: AbortSignal.any([signal, limit.signal]),
    });
    if (!answer.ok) throw await refusal(answer);
    if (!answer.headers.get("Content-Type")?.startsWith("text/event-stream")) {
      throw new Failure("lost", "what answers is not Rollcall");
    }
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) throw new Failure("lost", "the server ended the connection");
      clearTimeout(timer);
      timer = setTimeout(() => limit.abort(), silence);
      cost.bytes += value.length;
      const blocks = (rest + value).split("\n\n");
      rest = blocks.pop();
      for (const block of blocks) taken(block, take);
    }
  } catch (error) {
    if (error instanceof Failure) throw error;
    if (signal.aborted) throw new Failure("dropped", "not asked any more");
    if (limit.signal.aborted) {
      throw new Failure("silent", `no sign of the server for ${silence / 1000} s`);
    }
    throw new Failure("lost", "the server does not answer");
  } finally {
    clearTimeout(timer);
    limit.abort();
  }
}

function taken(block, take) {
  let kind = "";
  let data = "";
  for (const line of block.split("\n")) {
    if (line.startsWith("event: ")) kind = line.slice(7);
    if (line.startsWith("data: ")) data += line.slice(6);
  }
  if (kind !== "" && data !== "") take(kind, parsed(data));
}

/** As `ask`, but null where the server knows no such thing. */
export async function askIfThere(path, signal) {
  try {
    return await ask(path, signal);
  } catch (error) {
    if (error instanceof Failure && error.status === 404) return null;
    throw error;
  }
}

async function refusal(answer) {
  let body = null;
  try {
    body = await answer.json();
  } catch {
    // A proxy in front answers what it likes.
  }
  const kinds = { 401: "token", 403: "scope", 404: "missing", 400: "question", 421: "elsewhere" };
  return refused(kinds[answer.status] ?? "busy", answer.status, body);
}

/** A refusal by its problem document. */
export function refused(kind, status, body) {
  const detail = String(body?.detail ?? "");
  // Which address of a cell cannot be connected to, and how, is for whoever runs it.
  const away = /^(?:cell (\S+)|the (fleet cell)) does not answer(?=: )/.exec(detail);
  if (away) return new Failure(kind, away[0], status, away[1] ?? away[2]);
  const owner = status === 421 && typeof body?.cell === "string" ? body.cell : null;
  return new Failure(kind, detail || `the server answers ${status}`, status, owner);
}
