// Who can go instead of somebody, or to a region where nobody can be reached.

import { isOfMany } from "./cells.js";
import { openDialog, sentence } from "./dialog.js";
import { h } from "./dom.js";
import { nothing } from "./marks.js";
import { ask } from "./server.js";
import { shownPage } from "./session.js";
import { ago, name, pathWith, personPath, spoken } from "./words.js";

const listed = 20;

/** The list of who can be reached in somebody's stead; `asking` draws the button of each. */
export function insteadOf(id, title, asking) {
  list(title, asking, () => near(id));
}

/** The list of who can go to a region: who is near somebody silent there is near it. */
export function insteadOfRegion(region, asking) {
  list(["Who can go to ", name(region)], asking, async () => {
    const silent = await ask(pathWith("v1/responders", { status: "OFFLINE", region, limit: 1 }));
    const first = silent.responders[0]?.responder_id;
    return first === undefined
      ? ask(pathWith("v1/responders", { reachable: "yes", limit: listed })) : near(first);
  });
}

// Through a gateway the cell of who is silent answers, of its own people.
async function near(id) {
  return { ...await ask(pathWith("v1/responders", { instead_of: id, limit: listed })), isNear: true };
}

function list(title, asking, load) {
  let found = null;
  let isNear = false;
  let failure = null;
  const shown = openDialog({
    title,
    body: (redraw, close) => {
      if (failure) return h("p", { class: "failed", role: "alert" }, sentence(failure));
      if (found === null) return h("p", { class: "nothing", role: "status" }, "Asking…");
      if (found.length === 0) return nothing(isOfMany() && isNear
        ? "Nobody of the same cell can be reached; of the other cells nobody is compared." : "Nobody can be reached.");
      return [
        isOfMany() && isNear ? h("p", { class: "aside", key: "cell" }, "Only people of the same cell stand here: of the "
          + "other cells nobody is compared.") : null,
        h("p", { class: "aside", key: "order" }, "The same region or circle first, then who is on duty, "
          + "then whose location is the newest."),
        asking.note() ? h("p", { class: "aside", key: "note" }, asking.note()) : null,
        h("ol", { class: "instead", key: "list" }, found.map((one) => h("li", { key: one.responder_id },
          h("div", { class: "who" }, h("a", {
            href: shownPage()?.link(personPath(one.responder_id)), class: "person", onclick: close,
          }, name(one.responder_id)),
          h("span", null, one.region ? ["in ", name(one.region)] : null),
          h("span", null, spoken(one.duty_state ?? "").toLowerCase()),
          h("span", { class: "aside" }, "location ",
            ago(one.last_location_at, shownPage()?.now() ?? Date.now()))),
          asking.one(one.responder_id)))),
      ];
    },
  });
  load().then((answer) => {
    found = answer.responders;
    isNear = answer.isNear === true;
  }, (error) => { failure = error; })
    .finally(() => {
      shown.redraw();
      shown.focus(".instead a");
    });
}
