// Builds the page and patches it in place, so that focus, selection, scrolling and what somebody
// unfolded survive each update. Text becomes text nodes and nothing else: nothing that anybody sent
// can become markup.

const svgSpace = "http://www.w3.org/2000/svg";

/** A node to be: `h("p", {class: "note"}, "text", null, [more])`. `key` tells siblings apart. */
export function h(name, attributes, ...children) {
  const { key, ...rest } = attributes ?? {};
  return { name, key, attributes: rest, children: listed(children), node: null };
}

/** What `draw` makes; if it cannot, that alone is said: no part stops another, nor the clock. */
export function part(draw) {
  try {
    return draw();
  } catch (error) {
    console.error(error);
    return h("p", { class: "warned" }, "This part cannot be drawn.");
  }
}

function listed(children) {
  const list = [];
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false || child === "") continue;
    if (typeof child === "object") {
      list.push(child);
    } else {
      list.push({ text: String(child), node: null });
    }
  }
  return list;
}

/** Makes `parent`'s children what `after` says; `before` is what the last call was given. */
export function patch(parent, before, after) {
  const focused = document.activeElement;
  patchChildren(parent, listed(before), listed(after), false);
  // Who is moved to another place loses the focus.
  if (focused !== document.activeElement && parent.contains(focused)) focused.focus({ preventScroll: true });
}

function create(wanted, isSVG) {
  if (wanted.text !== undefined) {
    wanted.node = document.createTextNode(wanted.text);
    return;
  }
  const inSVG = isSVG || wanted.name === "svg";
  wanted.node = inSVG
    ? document.createElementNS(svgSpace, wanted.name)
    : document.createElement(wanted.name);
  patchAttributes(wanted.node, {}, wanted.attributes);
  patchChildren(wanted.node, [], wanted.children, inSVG);
}

function patchChildren(parent, before, after, isSVG) {
  const known = new Map();
  for (const [identity, child] of identified(before)) known.set(identity, child);
  const reused = new Set();
  for (const [identity, child] of identified(after)) {
    const old = known.get(identity);
    if (old?.node === undefined || old.node === null) continue;
    reused.add(old);
    if (old === child) continue;
    child.node = old.node;
    if (child.text !== undefined) {
      if (child.text !== old.text) child.node.nodeValue = child.text;
    } else {
      patchAttributes(child.node, old.attributes, child.attributes);
      patchChildren(child.node, old.children, child.children, isSVG || child.name === "svg");
    }
  }
  for (const child of before) {
    if (!reused.has(child)) child.node?.remove();
  }
  let place = parent.firstChild;
  for (const child of after) {
    if (child.node === null) create(child, isSVG);
    if (child.node === place) {
      place = place.nextSibling;
    } else {
      parent.insertBefore(child.node, place);
    }
  }
}

// Siblings of one kind without a key, or with one that another has, are told apart by their order: no two are
// ever taken for one.
function* identified(children) {
  const counts = new Map();
  for (const child of children) {
    const kind = child.text === undefined ? child.name : "#";
    const kin = child.key === undefined ? kind : `${kind} ${child.key}`;
    const count = counts.get(kin) ?? 0;
    counts.set(kin, count + 1);
    yield [child.key === undefined || count > 0 ? `${kin}#${count}` : kin, child];
  }
}

// Only what differs from the last time is touched: a `details` that somebody opened stays open.
function patchAttributes(node, before, after) {
  for (const name of Object.keys(before)) {
    if (!(name in after)) setAttribute(node, name, null);
  }
  for (const [name, value] of Object.entries(after)) {
    if (before[name] !== value) setAttribute(node, name, value);
  }
}

function setAttribute(node, name, value) {
  if (name.startsWith("on")) {
    node[name] = value ?? null;
  } else if (value === null || value === undefined || value === false) {
    node.removeAttribute(name);
  } else if (name === "value") {
    node.value = value;
  } else {
    node.setAttribute(name, value === true ? "" : String(value));
  }
}
