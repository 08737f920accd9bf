// Questions to the server, and what went wrong with them.

/** Where the server begins, also behind a proxy that put it below a path. */
export const root = new URL("../../", import.meta.url);

const patience = 10_000;

/** An answer that did not come, or was none. */
export class Failure extends Error {
  constructor(kind, message, status = 0) {
    super(message);
    this.kind = kind;
    this.status = status;
  }
}

// What an answer holds at least: a proxy in front answers 200 with what it likes.
const lists = {
  "v1/gaps": "gaps", "v1/regions": "regions", "v1/responders": "responders",
  "v1/alerts": "alerts", "v1/alerts/history": "incidents", "v1/silences": "silences",
  "v1/nudges": "nudges", "v1/inputs": "inputs",
};

function isOurs(path, answer) {
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
      const found = await answer.json();
      if (!isOurs(path, found)) throw new Failure("lost", "what answers is not Rollcall");
      return found;
    }
  } catch (error) {
    if (error instanceof Failure) throw error;
    if (signal?.aborted) throw new Failure("dropped", "not asked any more");
    if (limit.aborted) throw new Failure("lost", `no answer within ${patience / 1000} s`);
    if (answer !== undefined) throw new Failure("lost", "the answer broke off");
    throw new Failure("lost", "the server cannot be reached");
  }
  throw await refusal(answer);
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
  let detail = "";
  try {
    detail = String((await answer.json()).detail ?? "");
  } catch {
    // A proxy in front answers what it likes.
  }
  const kinds = { 401: "token", 403: "scope", 404: "missing", 400: "question" };
  const kind = kinds[answer.status] ?? "busy";
  return new Failure(kind, detail || `the server answers ${answer.status}`, answer.status);
}
