/**
 * The player: draws a storyboard once and steps through it in the browser, with no kernel and no network.
 *
 * @typedef {{heading: string, kind: "code"|"text"|"value", body: any}} Detail
 * @typedef {{id: string, kind: string, holder: string|null, x: number, y: number, w: number, h: number,
 *            title: string, lines: string[], state: string, alt: string, details: Detail[]}} Box
 * @typedef {{id: string, kind: string, source: string, target: string, d: string, lx: number, ly: number,
 *            lw: number, lh: number, label: string, state: string, alt: string}} Arrow
 * @typedef {{caption: string, phase: string, cursor: {file: string, line: number, text: string}|null,
 *            focus: string|null, boxes: Record<string, object>, arrows: Record<string, object>}} Step
 * @typedef {{format: string, version: number, title: string, width: number, height: number,
 *            boxes: Box[], arrows: Arrow[], steps: Step[]}} Storyboard
 * @typedef {"auto"|"light"|"dark"|"projector"|"print"} Theme
 * @typedef {{position?: number, moved?: (position: number) => void, theme?: Theme}} Options
 */

const FORMAT = "workbench-storyboard", VERSION = 1;
const PLAY_MS = 900, TRAVEL_MS = 450;
const CHANGEABLE = ["title", "lines", "state", "shade", "alt", "details", "label", "weight", "tone"];
const CHARACTER = 7.25; // px: the layout's own width of a column of text, whatever the font
const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60\u{1f300}-\u{1faff}]/u;
const PADDING = 12; // px around the picture, as in player.css
const LARGEST = 2; // times its own size: what fits is made no larger
const MARGIN = 48; // px kept free around the box a step is about, when the picture scrolls to it
const MANY = 1.5; // a picture as many times as large as the window onto it has an overview
const DRAGGED = 4; // px that a pointer moves before it drags: less is a click
/** @type {Theme[]} */
const THEMES = ["auto", "light", "dark", "projector", "print"];
const UNMAPPED = ["region", "level", "frame", "text", "heading", "tick", "line"]; // what an overview leaves out

const ICONS = {
  first: "M4 3v10M12 3 7 8l5 5", back: "M10 3 5 8l5 5", step: "m6 3 5 5-5 5", last: "M12 3v10M4 3l5 5-5 5",
  play: "M5 3v10l8-5z", pause: "M5 3v10M11 3v10", out: "M3 8h10", in: "M3 8h10M8 3v10",
  close: "m4 4 8 8m0-8-8 8", find: "M11 7a4 4 0 1 1-8 0a4 4 0 1 1 8 0zm-1 3 4 4",
  forward: "M8 2v11m-4-4 4 4 4-4", backward: "M8 14V3M4 7l4-4 4 4",
};
/** The sign of a state, around the middle of its disc. */
const SIGNS = {
  pending: "M0-5a5 5 0 0 0 0 10z", ready: "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z", running: "M-3-5 5.5 0-3 5z",
  done: "M-4 .5-1 3.5 4-3", differs: "M-4.5-2h9M-4.5 2h9M-2.5 5.5 2.5-5.5", error: "M-3.5-3.5 3.5 3.5M-3.5 3.5 3.5-3.5",
};
/** Kinds and states in words, as in the other faces. */
const KINDS = {
  function: "custom Function", op: "operation", leaf: "leaf", constant: "constant", output: "output",
  saved: "saved tensor", plain: "operation without a node", input: "input", tangent: "tangent", level: "level",
  region: "part of the graph", group: "group",
};
/** How round the corners of a box are that is no tensor. */
const ROUND = { function: 9, op: 9, plain: 9, saved: 4, tangent: 0, region: 6, level: 4, group: 9 };
const STATES = {
  pending: "has part of its gradient", ready: "ready to run", running: "running now", done: "done",
  freed: "freed", differs: "differs", error: "failed here",
};
/** The boxes of a chart: how round, and whether their title stands in the middle. */
const CHART = {
  cell: [0, true], bar: [1, true], ghost: [1, true], event: [4, true], text: [0], heading: [0], line: [2], frame: [6],
  tick: [0, true],
};
const HEADS = [[8, 5.5], [6, 4.5], [8, 5.5], [10, 8.5], [12, 11.5]]; // an arrow's head by its weight
const STALE = "out of date"; // a saved tensor does not fail: its node does
const PANS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const KEYS = [
  ["→", "step"], ["←", "back"], ["Home", "first step"], ["End", "last step"], ["Space", "play or pause"],
  ["Enter", "details of the focused box"], ["/", "find, then Enter for the next"],
  ["+ −", "zoom, as Ctrl and the wheel do"], ["0", "fit"], ["Shift ← ↑ → ↓", "move the picture, as dragging does"],
  ["t", "theme"], ["Esc", "close"], ["?", "this list"],
];

const build = (element, attributes, children) => {
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  for (const child of children) element.append(child instanceof Node ? child : String(child)); // never markup
  return element;
};
const html = (name, attributes = {}, ...children) =>
  build(document.createElement(name), attributes, children);
const svg = (name, attributes = {}, ...children) =>
  build(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
/** Have a notebook leave the keys alone: Notebook 7 takes some before the event comes down to where they are pressed. */
const keepKeys = (root) =>
  root.addEventListener("focusin", ({ target }) => target.setAttribute("data-lm-suppress-shortcuts", "true"));
const list = (value) => (Array.isArray(value) ? value : []);
const words = (value) => String(value ?? "");
const icon = (name) => {
  const size = { viewBox: "0 0 16 16", width: 16, height: 16 };
  return svg("svg", { ...size, "aria-hidden": true }, svg("path", { d: ICONS[name] }));
};
const columns = (text) => [...text].reduce((sum, character) => sum + (WIDE.test(character) ? 2 : 1), 0);
const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** The storyboard's items as they are at a moment, and `go`, which is exact in both directions. */
function timeline(storyboard) {
  const copies = (things) => new Map(list(things).map((thing) => [thing.id, { ...thing }]));
  const items = { boxes: copies(storyboard.boxes), arrows: copies(storyboard.arrows) };
  const steps = list(storyboard.steps);
  const pick = (source, names) => Object.fromEntries(names.map((name) => [name, source[name]]));
  const changes = (step, part) => Object.entries(step[part] ?? {}).filter(([id]) => items[part].has(id))
    .map(([id, change]) => [items[part].get(id), pick(change, CHANGEABLE.filter((name) => name in change))]);
  const apply = (moves, dirty) => moves.forEach(([item, change]) => dirty.add(Object.assign(item, change)));
  const forth = steps.map((step) => [...changes(step, "boxes"), ...changes(step, "arrows")]);
  const back = forth.map((moves) => {
    const undo = moves.map(([item, change]) => [item, pick(item, Object.keys(change))]);
    apply(moves, new Set());
    return undo;
  });
  let at = steps.length; // how many steps are applied
  const go = (position) => {
    const dirty = new Set();
    while (at <= position && at < steps.length) apply(forth[at++], dirty);
    while (at > position + 1) apply(back[--at], dirty);
    return dirty;
  };
  go(-1);
  const backward = steps.findIndex((step) => step.phase === "backward");
  return { ...items, steps, go, opening: backward < 0 ? steps.length - 1 : Math.max(0, backward - 1) };
}

/** The two ends of a path, each with the direction in which the path leaves the picture there. */
function ends(d) {
  const numbers = (words(d).match(/-?\d*\.?\d+(e-?\d+)?/gi) ?? []).map(Number), points = [];
  for (let i = 0; i + 1 < numbers.length; i += 2) points.push([numbers[i], numbers[i + 1]]);
  const end = (row) => {
    const [x, y] = row[0] ?? [0, 0], [u, v] = row.find((p) => p[0] !== x || p[1] !== y) ?? [x, y - 1];
    const length = Math.hypot(x - u, y - v);
    return { x, y, dx: (x - u) / length, dy: (y - v) / length };
  };
  return { upper: end(points), lower: end([...points].reverse()) };
}

/** The parts of an arrow, as picture.css names them. @param {Arrow} arrow */
function arrowParts(arrow) {
  const { upper, lower } = ends(arrow.d), { x, y, dx, dy } = arrow.state === "idle" ? lower : upper;
  const at = (along, across) => `${x + along * dx - across * dy} ${y + along * dy + across * dx}`;
  const [long, half] = HEADS[arrow.weight] ?? HEADS[0];
  const parts = [
    svg("path", { class: "wb-line", d: words(arrow.d) }),
    svg("path", { class: "wb-head", d: `M${at(3, 0)}L${at(-long, half)}L${at(-long, -half)}Z` }),
  ];
  if (arrow.kind === "beside") parts.pop();
  if (!arrow.label) return parts;
  const rows = words(arrow.label).split("\n");
  const left = arrow.lx - arrow.lw / 2, top = arrow.ly - rows.length * 8;
  const width = Math.max(...rows.map(columns)) * CHARACTER + 12, height = rows.length * 16 + 4;
  if (arrow.state === "flowing")
    parts.push(svg("rect", { class: "wb-pill", x: left, y: top - 2, width, height, rx: 5 }));
  const place = (i) => ({ x: left + 6, y: top + 12 + 16 * i, "text-anchor": "start" });
  rows.forEach((row, i) => parts.push(svg("text", { class: "wb-label", ...place(i) }, row)));
  return parts;
}

/** The parts of a box, as picture.css names them. @param {Box} box @param {Box|undefined} holder */
function boxParts(box, holder) {
  const { x, y, w, h, kind, state } = box, saved = kind === "saved", lines = list(box.lines).map(words);
  const round = kind in CHART ? CHART[kind][0] : ROUND[kind] ?? Math.min(h / 2, 24);
  const frame = (name, by) => {
    const place = { x: x - by, y: y - by, width: w + 2 * by, height: h + 2 * by };
    return svg("rect", { class: name, ...place, rx: Math.max(0, round + by) });
  };
  const parts = [frame("wb-ring", 5)];
  if (holder) {
    const from = holder.x + holder.w, bend = (from + x) / 2, start = holder.y + holder.h / 2, end = y + h / 2;
    const d = `M${from} ${start}C${bend} ${start} ${bend} ${end} ${x} ${end}`;
    parts.push(svg("path", { class: "wb-tie", d }));
  }
  if (["running", "differs", "error"].includes(state)) parts.push(frame("wb-glow", 5));
  const behind = { x: x + 5, y: y + 5, width: w, height: h, rx: round };
  if (kind === "group") parts.push(svg("rect", { class: "wb-back", ...behind }));
  parts.push(frame("wb-frame", 0));
  if (kind === "output") parts.push(frame("wb-inner", -4));
  if (kind in CHART) {
    const [, middle] = CHART[kind], base = middle ? y + h / 2 + 4 : y + (kind === "frame" ? 16 : 13);
    const at = middle ? { x: x + w / 2, "text-anchor": "middle" } : { x: x + 4, "text-anchor": "start" };
    const text = (name, row, i) => parts.push(svg("text", { class: name, ...at, y: base + 16 * i }, words(row)));
    if (box.title) text("wb-title", box.title, 0);
    if (!middle) lines.forEach((line, i) => text("wb-text", line, i + 1));
    return parts;
  }
  if (kind === "region" || kind === "level")
    return [...parts, svg("text", { class: "wb-title", x: x + 12, y: y + 16, "text-anchor": "start" }, box.title)];
  const high = saved ? 16 : 18, top = y + (h - high - 16 * lines.length) / 2; // high: the room of the title
  const place = saved ? { x: x + 8, "text-anchor": "start" } : { x: x + w / 2, "text-anchor": "middle" };
  const base = top + (saved ? 12 : 13.5);
  parts.push(svg("text", { class: "wb-title", ...place, y: base }, words(box.title)));
  lines.forEach((line, i) =>
    parts.push(svg("text", { class: "wb-text", ...place, y: top + high + 12 + 16 * i }, line)));
  if (state === "freed") {
    [words(box.title), ...lines].forEach((line, i) => {
      const d = `M${x + 6} ${base + 16 * i - 4}L${x + 10 + columns(line) * CHARACTER} ${base + 16 * i - 4}`;
      parts.push(svg("path", { class: "wb-strike", d }));
    });
    parts.push(svg("text", { class: "wb-word", x: x + w - 8, y: base, "text-anchor": "end" }, "freed"));
  }
  if (state in SIGNS)
    parts.push(svg("g", { class: "wb-mark", transform: `translate(${x} ${y + h / 2})` },
      svg("circle", { class: "wb-disc", r: 9 }), svg("path", { class: "wb-sign", d: SIGNS[state] })));
  return parts;
}

/** The picture: `draw` shows an item as it is now, `travel` sends a dot along an arrow. */
function picture(storyboard, { boxes, arrows }) {
  const width = Number(storyboard.width) || 1, height = Number(storyboard.height) || 1;
  const groups = new Map(), dots = svg("g", { class: "wb-dots", "aria-hidden": "true" });
  for (const box of boxes.values())
    groups.set(box, svg("g", { role: "button", tabindex: 0, "aria-expanded": "false" }));
  for (const arrow of arrows.values()) groups.set(arrow, svg("g", { role: "img" }));
  for (const [item, group] of groups) group.dataset.id = item.id;
  const frame = { class: "wb-picture", viewBox: `0 0 ${width} ${height}` };
  const root = svg("svg", frame, ...groups.values(), dots);
  const draw = (item) => {
    const group = groups.get(item), role = "d" in item ? "arrow" : "box";
    const shade = item.kind in CHART ? ` wb-shade-${item.shade ?? 0}`
      : item.weight ? ` wb-weight-${item.weight} wb-tone-${item.tone}` : "";
    group.setAttribute("class", `wb-${role} wb-kind-${item.kind} wb-state-${item.state}${shade}`);
    group.dataset.state = item.state;
    group.setAttribute("aria-label", words(item.alt || item.title || item.label || item.id));
    group.replaceChildren(...(role === "arrow" ? arrowParts(item) : boxParts(item, boxes.get(item.holder))));
  };
  let next = 0;
  const still = () => {
    cancelAnimationFrame(next);
    dots.replaceChildren();
  };
  const travel = (moving) => {
    still();
    if (calm() || !moving.length) return;
    const runs = moving.map((arrow) => {
      const path = groups.get(arrow).querySelector(".wb-line");
      const dot = svg("circle", { class: `wb-dot wb-dot-${arrow.state}`, r: arrow.weight ? 3 + 1.5 * arrow.weight : 6 });
      return { path, dot, length: path.getTotalLength(), up: arrow.state === "flowing" };
    });
    dots.append(...runs.map(({ dot }) => dot));
    const begin = performance.now(), move = (now) => {
      const part = Math.min(1, Math.max(0, (now - begin) / TRAVEL_MS)), eased = part * part * (3 - 2 * part);
      for (const { path, dot, length, up } of runs) {
        const point = path.getPointAtLength(length * (up ? 1 - eased : eased));
        dot.setAttribute("transform", `translate(${point.x} ${point.y})`);
      }
      if (part < 1) next = requestAnimationFrame(move);
      else still();
    };
    move(begin);
  };
  return { root, width, height, groups, draw, travel, still };
}

/** One section of the details panel. @param {Detail} detail */
function section({ heading, kind, body }) {
  const parts = [html("div", { class: "wb-heading" }, words(heading))];
  if (kind === "value" && body && typeof body === "object") {
    const sizes = body.shape, tuple = (all) => `(${all.join(", ")}${all.length === 1 ? "," : ""})`;
    const shape = Array.isArray(sizes) ? tuple(sizes) : sizes;
    const facts = [body.name, body.dtype, shape, body.norm == null ? "" : `norm ${body.norm}`].map(words);
    const spans = facts.filter(Boolean).map((fact) => html("span", {}, fact));
    parts.push(html("div", { class: "wb-facts" }, ...spans));
    parts.push(html("pre", { tabindex: 0 }, words(body.text)));
  } else if (kind === "code") parts.push(html("pre", { tabindex: 0 }, html("code", {}, words(body))));
  else parts.push(html("p", {}, words(body)));
  return html("div", { class: "wb-section", role: "group", "aria-label": words(heading) }, ...parts);
}

function button(action, label, act, ...children) {
  const names = { "data-action": action, "aria-label": label, title: label };
  const face = children.length ? children : [icon(action)];
  const made = html("button", { type: "button", class: "wb-button", ...names }, ...face);
  made.addEventListener("click", act);
  return made;
}

/** The panel that says everything about one box. @param {() => void} close @param {Detail[]} told by their numbers */
function detailsPanel(close, told) {
  const title = html("div", { class: "wb-panel-title" }), what = html("div", { class: "wb-panel-kind" });
  const sections = html("div"), shut = button("close", "Close details", close);
  const element = html("div", { class: "wb-details", role: "group", "aria-label": "Details", tabindex: -1 },
    html("div", { class: "wb-panel-head" }, html("div", {}, title, what), shut), sections);
  element.hidden = true;
  let shown = null;
  /** @param {Box} box */
  const show = (box) => {
    title.textContent = words(box.title);
    const state = box.kind === "saved" && box.state === "error" ? STALE : STATES[box.state];
    what.textContent = [KINDS[box.kind] ?? words(box.kind), state].filter(Boolean).join(" · ");
    element.hidden = false;
    if (shown === box.details) return; // the same facts: what the reader scrolled to stays in sight
    shown = box.details;
    const held = sections.contains(document.activeElement);
    sections.replaceChildren(...list(shown).map((detail) => section(told[detail] ?? detail)));
    if (held) element.focus();
  };
  return { element, show };
}

/** A large picture at a glance: every box in its state, and the part that the window shows; `look` moves there. */
function overview(drawn, look) {
  const marks = new Map(), port = svg("rect", { class: "wb-port" });
  for (const box of drawn.groups.keys())
    if (!("d" in box) && !UNMAPPED.includes(box.kind))
      marks.set(box, svg("rect", { x: box.x, y: box.y, width: box.w, height: box.h }));
  const frame = { viewBox: `0 0 ${drawn.width} ${drawn.height}`, preserveAspectRatio: "none" };
  const element = svg("svg", { class: "wb-map", "aria-hidden": "true", ...frame }, ...marks.values(), port);
  element.style.aspectRatio = String(Math.min(4, Math.max(0.5, drawn.width / drawn.height)));
  const point = (event) => {
    const { left, top, width, height } = element.getBoundingClientRect();
    if (event.buttons) look((event.clientX - left) / width, (event.clientY - top) / height);
  };
  element.addEventListener("pointerdown", point);
  element.addEventListener("pointermove", point);
  return {
    element,
    draw: (item) => marks.get(item)?.setAttribute("class", `wb-at-${item.state}`),
    show: (x, y, width, height) => build(port, { x, y, width, height }, []),
  };
}

/** The window onto the picture: zooms, fits, is dragged, and scrolls to what a step is about. */
function viewport(drawn, title) {
  const names = { class: "wb-view", role: "group", "aria-label": title };
  const element = html("div", { ...names, tabindex: 0 }, drawn.root);
  const map = overview(drawn, (across, down) => {
    const left = across * element.scrollWidth - element.clientWidth / 2;
    element.scrollTo({ left, top: down * element.scrollHeight - element.clientHeight / 2, behavior: "instant" });
  });
  let scale = 0, size = 1, zoomed = false, kept = [], grip = null, dragged = false;
  const scroll = (left, top) => element.scrollBy({ left, top, behavior: "instant" });
  const reveal = (groups = kept, smooth = false) => {
    if (!groups.length) return;
    // A smooth scroll still under way would end where the step before wanted it.
    element.scrollTo({ left: element.scrollLeft, top: element.scrollTop, behavior: "instant" });
    const port = element.getBoundingClientRect(), rects = groups.map((group) => group.getBoundingClientRect());
    const shift = (low, high) => {
      const from = port[low] + MARGIN, to = port[high] - MARGIN;
      const all = [Math.min(...rects.map((rect) => rect[low])), Math.max(...rects.map((rect) => rect[high]))];
      const [begin, end] = all[1] - all[0] <= to - from ? all : [rects[0][low], rects[0][high]];
      return begin < from ? begin - from : end > to ? Math.min(end - to, begin - from) : 0;
    };
    const left = shift("left", "right"), top = shift("top", "bottom");
    if (left || top) element.scrollBy({ left, top, behavior: smooth && !calm() ? "smooth" : "auto" });
  };
  const survey = () => {
    if (!scale) return; // scrolled before it was first settled
    const port = element.getBoundingClientRect(), all = drawn.root.getBoundingClientRect();
    const { clientWidth: wide, clientHeight: high } = element, room = getComputedStyle(element).maxHeight;
    const large = all.width > MANY * wide || all.height > MANY * Math.max(high, parseFloat(room) || 0);
    map.element.toggleAttribute("hidden", !large);
    const inside = (from, room, most) => [Math.max(0, from), Math.min(most, from + room)].map((at) => at / scale);
    const [left, right] = inside(port.left - all.left, wide, all.width);
    const [top, bottom] = inside(port.top - all.top, high, all.height);
    if (large) map.show(left, top, right - left, bottom - top);
  };
  const resize = (wanted) => {
    scale = Math.min(4, Math.max(0.1, wanted));
    drawn.root.setAttribute("width", String(drawn.width * scale));
    drawn.root.setAttribute("height", String(drawn.height * scale));
    survey();
  };
  /** Zoom so that what is at a point of the window, or in its middle, stays there. */
  const zoom = (factor, at) => {
    const port = element.getBoundingClientRect(), before = drawn.root.getBoundingClientRect(), old = scale;
    const [x, y] = at ?? [port.left + port.width / 2, port.top + port.height / 2];
    zoomed = true;
    resize(scale * factor);
    const now = drawn.root.getBoundingClientRect(), grown = scale / old;
    scroll(now.left + (x - before.left) * grown - x, now.top + (y - before.top) * grown - y);
  };
  // At its own size, which the theme says, its smallest text can be read: what is larger than the window scrolls.
  const settle = () => {
    const own = parseFloat(getComputedStyle(element).getPropertyValue("--wb-scale")) || 1;
    if (own !== size || !scale) resize(zoomed ? (scale * own) / size : own);
    else survey();
    size = own;
    reveal();
  };
  const fit = () => {
    const across = (element.clientWidth - 2 * PADDING) / drawn.width;
    const down = (parseFloat(getComputedStyle(element).maxHeight) - 2 * PADDING) / drawn.height;
    resize(Math.max(size, Math.min(across, down || across, LARGEST * size)));
    reveal();
  };
  drawn.root.addEventListener("pointerdown", ({ button, pointerType, clientX, clientY }) => {
    dragged = false;
    if (button === 0 && pointerType === "mouse") grip = [clientX, clientY]; // a finger scrolls by itself
  });
  element.addEventListener("pointermove", ({ clientX, clientY, buttons, pointerId }) => {
    if (!grip || !buttons) return;
    const [x, y] = grip;
    if (!dragged && Math.hypot(clientX - x, clientY - y) < DRAGGED) return;
    if (!dragged) element.setPointerCapture(pointerId);
    dragged = true;
    grip = [clientX, clientY];
    scroll(x - clientX, y - clientY);
  });
  element.addEventListener("pointerup", () => (grip = null));
  element.addEventListener("click", (event) => dragged && event.stopPropagation(), true);
  element.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault(); // or the whole page would zoom
    zoom(Math.exp(-event.deltaY / 400), [event.clientX, event.clientY]);
  }, { passive: false });
  element.addEventListener("scroll", survey, { passive: true });
  const observer = new ResizeObserver(settle);
  observer.observe(element);
  return {
    element, map, settle, zoom, fit,
    pan: (across, down) => scroll(80 * across, 80 * down),
    see: (group) => reveal([group], true),
    /** Keep these groups in sight; where they do not fit together, the first. */
    keep(groups) { reveal(kept = groups, true); },
    destroy: () => observer.disconnect(),
  };
}

/** The search for boxes by name or operation, among those that are there: marks them and goes from one to the next. */
function finder(story, drawn, see, leave) {
  const label = "Find by name or operation";
  const field = html("input", { type: "search", "aria-label": label, placeholder: "name or operation" });
  const said = html("span", { class: "wb-hits", role: "status" });
  const element = html("div", { class: "wb-find", role: "search" }, field, said,
    button("next", "Next match", () => turn(1), icon("step")), button("leave", "End the search", close, icon("close")));
  let hits = [], at = 0;
  const fits = (box) => [box.title, KINDS[box.kind], ...list(box.lines)].join(" ").toLowerCase();
  const mark = () => {
    drawn.root.querySelectorAll("[data-found]").forEach((group) => group.removeAttribute("data-found"));
    hits.forEach((box, n) => (drawn.groups.get(box).dataset.found = n === at ? "at" : "too"));
    const none = field.value.trim() ? "nothing found here" : "";
    said.textContent = hits.length ? `${at + 1} of ${hits.length}: ${words(hits[at].title || hits[at].alt)}` : none;
  };
  const search = () => {
    const wanted = field.value.trim().toLowerCase(), before = hits[at];
    hits = [...story.boxes.values()].filter((box) => wanted && box.state !== "future" && fits(box).includes(wanted));
    at = Math.max(0, hits.indexOf(before));
    mark();
  };
  const turn = (by) => {
    at = hits.length && (at + by + hits.length) % hits.length;
    mark();
    if (hits.length) see(drawn.groups.get(hits[at]));
  };
  function close() {
    const found = drawn.groups.get(hits[at]);
    element.hidden = true;
    hits = [];
    mark();
    leave(found);
  }
  const open = () => {
    element.hidden = false;
    field.focus();
    field.select();
    search();
  };
  element.hidden = true;
  field.addEventListener("input", () => {
    search();
    turn(0);
  });
  field.addEventListener("keydown", ({ key, shiftKey }) => {
    if (key === "Enter") turn(shiftKey ? -1 : 1);
    if (key === "Escape") close();
  });
  return { element, open, again: () => element.hidden || search() };
}

/** The controls and the caption: `show` says where the player is. */
function controls(last, act) {
  const buttons = {
    first: button("first", "First step", () => act.visit(0)),
    back: button("back", "Back", () => act.move(-1)),
    play: button("play", "Play", act.play),
    step: button("step", "Step", () => act.move(1), "Step", icon("step")),
    last: button("last", "Last step", () => act.visit(last)),
  };
  const range = { type: "range", min: 0, max: last, step: 1 };
  const slider = html("input", { ...range, class: "wb-slider", "aria-label": "Position" });
  slider.addEventListener("input", () => act.visit(Number(slider.value)));
  const place = html("span", { class: "wb-position" }), phase = html("span", { class: "wb-phase" });
  const keys = html("dl", { class: "wb-keys" },
    ...KEYS.flatMap(([key, meaning]) => [html("dt", {}, html("kbd", {}, key)), html("dd", {}, meaning)]));
  const sentence = html("p", { class: "wb-sentence", "aria-live": "polite" });
  const where = html("span", { class: "wb-where" }), code = html("code", { class: "wb-code" });
  const cursor = html("div", { class: "wb-cursor" }, where, code);
  const caption = html("div", { class: "wb-caption" }, sentence, cursor);
  const bar = html("div", { class: "wb-bar" },
    html("div", { class: "wb-transport" }, ...Object.values(buttons)),
    html("div", { class: "wb-place" }, slider, place, phase),
    html("div", { class: "wb-zoom" },
      button("find", "Find", act.find),
      button("out", "Zoom out", () => act.zoom(0.8)), button("fit", "Fit", act.fit, "Fit"),
      button("in", "Zoom in", () => act.zoom(1.25)), button("theme", "Theme", act.theme, "Theme"),
      button("keys", "Keys", act.keys, "?")));
  for (const part of [...bar.children].slice(0, 2)) part.hidden = last === 0; // one moment: nothing to step
  keys.hidden = true;
  /** @param {number} position @param {Step|undefined} step */
  const show = (position, step) => {
    const name = words(step?.phase);
    slider.value = String(position);
    slider.setAttribute("aria-valuetext", `${position + 1} of ${last + 1}, ${name}`);
    place.textContent = `${position + 1} / ${last + 1}`;
    phase.dataset.phase = name;
    phase.replaceChildren(...(name === "forward" || name === "backward" ? [icon(name)] : []), name);
    sentence.textContent = words(step?.caption);
    where.textContent = step?.cursor ? `${words(step.cursor.file)}:${words(step.cursor.line)}` : "";
    code.textContent = words(step?.cursor?.text).trim();
    // aria-disabled and not disabled: a disabled button loses the focus, and with it the keys
    const dim = (button, off) => button.setAttribute("aria-disabled", String(off));
    [buttons.first, buttons.back].forEach((button) => dim(button, position === 0));
    [buttons.step, buttons.last].forEach((button) => dim(button, position === last));
  };
  const playing = (yes) => {
    const label = yes ? "Pause" : "Play";
    buttons.play.setAttribute("aria-label", label);
    buttons.play.title = label;
    buttons.play.replaceChildren(icon(label.toLowerCase()));
  };
  const themed = (name) => {
    const theme = bar.querySelector('[data-action="theme"]'), label = `Theme: ${name}`;
    build(theme, { "aria-label": label, title: label }, []).textContent = name;
  };
  return { elements: [bar, keys, caption], keys, show, playing, themed };
}

/**
 * Play one picture inside `el`; `enter` may take a box that the reader opens, `leave` goes back to where it stands.
 * @param {HTMLElement} el @param {Storyboard} storyboard @param {Options} [options]
 */
function stage(el, storyboard, options = {}) {
  if (storyboard?.format !== FORMAT || storyboard.version !== VERSION) {
    const { format = "no format", version = "" } = storyboard ?? {};
    const found = `${format} ${version}`.trim().slice(0, 80);
    el.replaceChildren(html("p", { class: "wb-player wb-problem" },
      `This player reads ${FORMAT} ${VERSION} and was given ${found}; make the picture again here.`));
    return { root: el, go() {}, at() {}, destroy: () => el.replaceChildren() };
  }
  const story = timeline(storyboard), { boxes, steps } = story, last = Math.max(0, steps.length - 1);
  const title = words(storyboard.title) || "Picture";
  const drawn = picture(storyboard, story), view = viewport(drawn, title), { zoom, fit } = view;
  const panel = detailsPanel(close, list(storyboard.details));
  const find = finder(story, drawn, view.see, (group) => (group ?? root).focus({ preventScroll: true }));
  const bar = controls(last, { visit, move, play, keys, zoom, fit, find: find.open, theme: () => wear(1) });
  const names = { class: "wb-player", role: "group", "aria-label": `Player: ${title}` };
  const body = html("div", { class: "wb-body" }, view.element, view.map.element, panel.element);
  const root = html("div", { ...names, tabindex: -1 }, ...bar.elements, find.element, body);
  let position = -1, timer = 0, selected = null, current = null;

  function go(target) {
    const wanted = Math.min(last, Math.max(0, Math.round(Number(target)) || 0)), before = position;
    if (wanted === before) return;
    const step = steps[wanted], focused = boxOf(document.activeElement), dirty = story.go(wanted);
    position = wanted;
    dirty.forEach(draw);
    root.dataset.position = String(wanted);
    bar.show(wanted, step);
    if (focused?.state === "future") root.focus({ preventScroll: true }); // a hidden box would lose the keys
    if (selected?.state === "future") close();
    else if (dirty.has(selected)) panel.show(selected);
    current?.removeAttribute("data-current");
    current = drawn.groups.get(boxes.get(step?.focus));
    current?.setAttribute("data-current", "");
    find.again();
    const state = step?.phase === "backward" ? "flowing" : "idle";
    const moved = [...dirty].filter((item) => "d" in item && item.state === state);
    const reached = moved.flatMap((arrow) => [boxes.get(arrow.source), arrow]);
    view.keep(current ? [current, ...reached.map((item) => drawn.groups.get(item)).filter(Boolean)] : []);
    if (before < 0) return;
    drawn.travel(wanted === before + 1 ? moved : []);
    options.moved?.(wanted);
  }
  function pause() {
    clearInterval(timer);
    timer = 0;
    root.dataset.playing = "false";
    bar.playing(false);
  }
  function visit(target) {
    pause();
    go(target);
  }
  function move(by) {
    visit(position + by);
  }
  function play() {
    if (timer) return pause();
    const advance = () => {
      go(position + 1);
      if (position === last) pause();
    };
    root.dataset.playing = "true";
    bar.playing(true);
    timer = setInterval(advance, PLAY_MS);
    if (position === last) go(0);
    else advance();
  }
  function draw(item) {
    drawn.draw(item);
    view.map.draw(item);
  }
  function wear(by) {
    const at = Math.max(0, THEMES.indexOf(el.dataset.wbTheme ?? options.theme));
    el.dataset.wbTheme = THEMES[(at + by) % THEMES.length];
    bar.themed(el.dataset.wbTheme);
    view.settle();
  }
  function keys() {
    bar.keys.hidden = !bar.keys.hidden;
  }
  function open(box) {
    if (options.enter?.(box, position)) return;
    close();
    selected = box;
    drawn.groups.get(box).setAttribute("aria-expanded", "true");
    panel.show(box);
    // Below the picture it may be out of sight, and then a click would seem to do nothing.
    if (panel.element.offsetTop > view.element.offsetTop) panel.element.scrollIntoView({ block: "nearest" });
  }
  function close() {
    if (!selected) return;
    const group = drawn.groups.get(selected);
    group.setAttribute("aria-expanded", "false");
    if (panel.element.contains(document.activeElement)) group.focus();
    panel.element.hidden = true;
    selected = null;
  }
  function boxOf(target) {
    const group = target?.closest?.(".wb-box");
    return group && drawn.root.contains(group) ? boxes.get(group.dataset.id) : undefined;
  }
  const bound = {
    ArrowRight: () => move(1), ArrowLeft: () => move(-1), Home: () => visit(0), End: () => visit(last),
    " ": play, "?": keys, Escape: () => (!bar.keys.hidden ? keys() : selected ? close() : options.leave?.()),
    "/": find.open, t: () => wear(1), "+": () => zoom(1.25), "=": () => zoom(1.25), "-": () => zoom(0.8), 0: fit,
  };
  drawn.root.addEventListener("click", (event) => {
    const box = boxOf(event.target);
    if (box) open(box);
  });
  keepKeys(root);
  root.addEventListener("keydown", (event) => {
    const { key, target } = event, box = boxOf(target);
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    event.stopPropagation(); // or JupyterLab takes the key: `b` would insert a cell
    if (target.closest("input:not([type=range]), textarea, select")) return; // who types there means letters
    if (target.closest(key === " " ? "button" : key.startsWith("Arrow") ? "pre" : "none")) return;
    if (event.shiftKey && key in PANS) {
      event.preventDefault();
      return view.pan(...PANS[key]);
    }
    if (key === "Enter" && box) {
      open(box);
      if (selected) panel.element.focus();
    } else if (Object.hasOwn(bound, key)) {
      event.preventDefault();
      bound[key]();
    }
  });

  el.replaceChildren(root);
  for (const item of drawn.groups.keys()) draw(item);
  pause();
  wear(0);
  go(options.position ?? story.opening);
  return {
    root,
    at: () => position,
    go: visit,
    destroy() {
      pause();
      drawn.still();
      view.destroy();
      el.replaceChildren();
    },
  };
}

/**
 * Build the player inside `el`. A group that has an inside opens: its own picture takes the place of the whole one's,
 * at the same moment, and the way back stands above it.
 * @param {HTMLElement} el @param {Storyboard} storyboard @param {Options} [options]
 * @returns {{go: (position: number) => void, destroy: () => void}}
 */
function mount(el, storyboard, options = {}) {
  const insides = storyboard?.insides ?? {}, trail = [{ name: "graph", board: storyboard }];
  let player = null;
  const when = (step) => Number(step?.when) || 0;
  const show = (position) => {
    const { board } = trail[trail.length - 1], inner = trail.length > 1;
    player?.destroy();
    player = stage(el, board, { position, theme: options.theme, enter,
      leave: inner ? () => leave(trail.length - 2) : undefined, moved: inner ? undefined : options.moved });
    if (!inner) return;
    const crumbs = trail.map(({ name }, i) => i < trail.length - 1
      ? button(`up-${i}`, `Back to ${name}`, () => leave(i), name) : html("span", { "aria-current": "page" }, name));
    const way = html("nav", { class: "wb-trail", "aria-label": "Where this is" });
    const then = () => html("span", { "aria-hidden": "true" }, "›");
    way.append(...crumbs.flatMap((crumb, i) => (i ? [then(), crumb] : [crumb])));
    player.root.prepend(way);
  };
  function enter(box, outer) {
    if (!Object.hasOwn(insides, box.id)) return false;
    const around = list(trail[trail.length - 1].board.steps), board = insides[box.id], steps = list(board.steps);
    // The first of the inner steps that the outer one stands for, else the last before it.
    const first = steps.findIndex((each) => when(each) > when(around[outer - 1])), past = when(around[outer]);
    const last = first < 0 ? steps.length - 1 : Math.max(0, first - 1);
    const inner = first >= 0 && when(steps[first]) <= past ? first : last;
    trail.push({ name: words(box.title), board, outer, inner });
    show(inner);
    player.root.focus({ preventScroll: true });
    return true;
  }
  function leave(depth) {
    let position = player.at();
    while (trail.length > depth + 1) {
      const { board, outer, inner } = trail.pop(), past = when(list(board.steps)[position]);
      const steps = list(trail[trail.length - 1].board.steps), found = steps.findIndex((each) => when(each) >= past);
      position = position === inner ? outer : found < 0 ? steps.length - 1 : found; // where it was, or has come to
    }
    show(position);
    player.root.focus({ preventScroll: true });
    if (!depth) options.moved?.(position);
  }
  show(options.position);
  return {
    go(position) {
      if (trail.length > 1) leave(0);
      player.go(position);
    },
    destroy: () => player.destroy(),
  };
}

/** anywidget's entry: a player at the model's position, each following the other. */
function render({ model, el }) {
  const host = model.widget_manager ?? {};
  // JupyterLab's host knows its kernel; sending to one that is gone would write an error to the console.
  const alone = () =>
    "kernel" in host && (!host.kernel || host.kernel.isDisposed || host.kernel.status === "dead");
  let at = model.get("position");
  const moved = (position) => {
    at = position;
    model.set("position", position);
    if (!alone()) model.save_changes();
  };
  const player = mount(el, model.get("storyboard"), { position: at, moved });
  // The model tells of the player's own moves too: to visit where it is would stop it playing.
  const follow = () => model.get("position") !== at && player.go(model.get("position"));
  model.on("change:position", follow);
  return () => {
    model.off("change:position", follow);
    player.destroy();
  };
}

export { mount, render }; export default { render };
