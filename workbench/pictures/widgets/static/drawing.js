/**
 * How the boxes and arrows of a storyboard look, and the picture that they make.
 *
 * @typedef {{heading: string, kind: "code"|"text"|"link"|"value", body: any}} Detail
 * @typedef {{id: string, kind: string, holder: string|null, x: number, y: number, w: number, h: number,
 *            title: string, lines: string[], state: string, alt: string, details: Detail[]}} Box
 * @typedef {{id: string, kind: string, source: string, target: string, d: string, lx: number, ly: number,
 *            lw: number, lh: number, left?: true, label: string, state: string, alt: string}} Arrow
 * @typedef {{caption: string, phase: string, cursor: {file: string, line: number, text: string}|null,
 *            focus: string|null, boxes: Record<string, object>, arrows: Record<string, object>}} Step
 * @typedef {{format: string, version: number, title: string, width: number, height: number,
 *            boxes: Box[], arrows: Arrow[], steps: Step[],
 *            words: {kinds: Record<string, string>, states: Record<string, string>}}} Storyboard
 * @typedef {{boxes: Map<string, Box>, arrows: Map<string, Arrow>}} Items
 */

const TRAVEL_MS = 450;
export const CHARACTER = 7.25; // px: the layout's own width of a column of text, whatever the font
const WITHIN = " › "; // between a module's name and its class
const TITLE = (CHARACTER * 14) / 12; // px: and of a title
const TENSORS = ["leaf", "constant", "input", "output"]; // whose boxes are rounder
const RIGHTWARD = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]+/g, MARK = /[\u2068\u2069]/;
const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60\u{1f300}-\u{1faff}]/u;

/** The sign of a state, around the middle of its disc. */
const SIGNS = {
  pending: "M0-5a5 5 0 0 0 0 10z", ready: "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z", running: "M-3-5 5.5 0-3 5z",
  differs: "M-4.5-2h9M-4.5 2h9M-2.5 5.5 2.5-5.5", error: "M-3.5-3.5 3.5 3.5M-3.5 3.5 3.5-3.5",
};
/** How round the corners of a box are that is no tensor. */
const ROUND = { function: 9, op: 9, plain: 9, saved: 4, tangent: 0, region: 6, level: 4, group: 9, plot: 6 };
/** The boxes of a chart: how round, whether their title stands in the middle, and where else; from line to line. */
export const CHART = {
  cell: [0, 1], bar: [1, 1], ghost: [1, 1], event: [4, 1], text: [0], heading: [0], line: [2], frame: [6, 0, 4, 16], story: [6, 0, 12, 22, 20],
  name: [0, 0, 4, 16], tick: [0, 1],
};
/** The kinds of arrows that bring nothing into a box. */
export const LOOSE = ["beside", "same"];
const REMARKABLE = ["odd", "bad"]; // the tones of gradients that are zero, tiny or huge, or not finite
const LARGE = 2000; // px around a corner: the dots of the outline of a region so large would take the time of a step to paint
const HEADS = [[8, 5.5], [6, 4.5], [8, 5.5], [10, 8.5], [12, 11.5]]; // an arrow's head by its weight

export const { assign, entries, fromEntries } = Object, { abs, hypot, max, min } = Math;
export const build = (element, attributes, ...children) => {
  for (const [key, value] of entries(attributes)) element.setAttribute(key, value);
  for (const child of children) element.append(child instanceof Node ? child : String(child)); // never markup
  return element;
};
/** Elements: `name` may end with a class, as in "p.wb-sentence". */
const maker = (space) => (name, attributes = {}, ...children) => {
  const [tag, style] = name.split("."), element = document.createElementNS(space, tag);
  return build(element, style ? { class: style, ...attributes } : attributes, ...children);
};
export const html = maker("http://www.w3.org/1999/xhtml"), svg = maker("http://www.w3.org/2000/svg");
/** Have an element hold these, texts or elements, and nothing else. */
export const fill = (element, ...held) => element.replaceChildren(...held.map((each) => each ?? ""));
/** Be told of what happens to an element. */
export const upon = (element, ...how) => element.addEventListener(...how);
/** Where an element stands in the window of the browser. */
export const standsAt = (element) => element.getBoundingClientRect();
/** The element that has the keys. */
export const keysAt = ({ activeElement } = document) => (activeElement?.shadowRoot ? keysAt(activeElement.shadowRoot) : activeElement);
/** Give an element the keys, where it stands. */
export const focusOn = (element) => element.focus({ preventScroll: true });
export const list = (value) => (Array.isArray(value) ? value : []);
/** A value as text, in which what is written from the right does not turn round what stands beside it. */
export const words = (value) => String(value ?? "").replace(RIGHTWARD, "\u2068$&\u2069");
export const columns = (text) => [...text].reduce((sum, each) => sum + (WIDE.test(each) ? 2 : MARK.test(each) ? 0 : 1), 0);
export const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** The points by which a path is given. */
export function pointsOf(d) {
  const numbers = (words(d).match(/-?\d*\.?\d+(e-?\d+)?/gi) ?? []).map(Number), points = [];
  for (let i = 0; i + 1 < numbers.length; i += 2) points.push([numbers[i], numbers[i + 1]]);
  return points;
}
/** The same path with its points elsewhere. */
export const placed = (d, f, g) => words(d).replace(/(-?[\d.]+),(-?[\d.]+)/g, (_, x, y) => `${f(+x)},${g(+y)}`);
/** Left, top, right and bottom of an item in the picture, of which the browser need not lay anything out. */
export function extent(item) {
  if (!("d" in item)) return [item.x, item.y, item.x + item.w, item.y + item.h];
  const { lx, ly, lw, lh } = item, points = pointsOf(item.d);
  if (item.label) points.push([lx - lw / 2, ly - lh / 2], [lx + lw / 2, ly + lh / 2]);
  const of = (pick, axis) => pick(...points.map((point) => point[axis]));
  return [of(min, 0), of(min, 1), of(max, 0), of(max, 1)];
}

/** A path so much further right and down. */
export const shifted = (d, x, y) => placed(d, (u) => x + u, (v) => y + v);

/** The two ends of a path, each with the direction in which the path leaves the picture there. */
function ends(d) {
  const points = pointsOf(d);
  const end = (row) => {
    const [x, y] = row[0] ?? [0, 0], [u, v] = row.find((p) => p[0] !== x || p[1] !== y) ?? [x, y - 1];
    const length = hypot(x - u, y - v);
    return { x, y, dx: (x - u) / length, dy: (y - v) / length };
  };
  return { upper: end(points), lower: end([...points].reverse()) };
}

/** The label of an arrow: its rows, and where they stand. */
export function labelOf({ label, lx, ly, lw, left }) {
  const rows = words(label).split("\n"), w = max(...rows.map(columns)) * CHARACTER + 12;
  return { rows, x: left ? lx + lw / 2 - w : lx - lw / 2, y: ly - rows.length * 8 - 2, w, h: rows.length * 16 + 4 };
}

/** The point of a Bézier curve at a part of it, and the direction there. */
function atPart(piece, t) {
  const s = 1 - t, places = [s ** 3, 3 * s * s * t, 3 * s * t * t, t ** 3], ways = [-s * s, s * s - 2 * s * t, 2 * s * t - t * t, t * t];
  return [places, ways].flatMap((parts) => [0, 1].map((axis) => parts.reduce((sum, part, i) => sum + part * piece[i][axis], 0)));
}
/** A gap in an arrow where its label stands, between two strokes across it. @param {Arrow} arrow */
function cutMark({ d, lx, ly }) {
  const points = pointsOf(d), found = [];
  for (let at = 0; at + 3 < points.length; at += 3)
    for (let n = 1; n < 8; n++) found.push(atPart(points.slice(at, at + 4), n / 8));
  const far = ([x, y]) => hypot(x - lx, y - ly), [x, y, u, v] = found.reduce((best, each) => (far(each) < far(best) ? each : best), found[0] ?? [0, 0, 0, 1]);
  const length = hypot(u, v) || 1, place = (along, across) => `${x + (along * u - across * v) / length} ${y + (along * v + across * u) / length}`;
  const line = (from, to) => `M${place(...from)}L${place(...to)}`;
  return [svg("path.wb-gap", { d: line([-3, 0], [3, 0]) }), svg("path.wb-cut", { d: line([-3, -6], [-3, 6]) + line([3, -6], [3, 6]) })];
}

/** The parts of an arrow, as picture.css names them. @param {Arrow} arrow */
function arrowParts(arrow) {
  const { upper, lower } = ends(arrow.d), { x, y, dx, dy } = arrow.state === "idle" ? lower : upper;
  const at = (along, across) => `${x + along * dx - across * dy} ${y + along * dy + across * dx}`;
  const [long, half] = HEADS[arrow.weight] ?? HEADS[0];
  const parts = [
    svg("path.wb-line", { d: words(arrow.d) }),
    svg("path.wb-head", { d: `M${at(3, 0)}L${at(-long, half)}L${at(-long, -half)}Z` }),
  ];
  if (LOOSE.includes(arrow.kind)) parts.pop();
  if (arrow.kind === "cut") parts.push(...cutMark(arrow));
  if (!arrow.label) return parts;
  const { rows, x: left, y: top, w: width, h: height } = labelOf(arrow);
  if (arrow.state === "flowing")
    parts.push(svg("rect.wb-pill", { x: left, y: top, width, height, rx: 5 }));
  const place = (i) => ({ x: left + 6, y: top + 14 + 16 * i, "text-anchor": "start" });
  rows.forEach((row, i) => parts.push(svg("text.wb-label", { ...place(i) }, row)));
  return parts;
}

/** A title that begins at a place; the class of a module, and the count of a loop's rounds, stand apart. */
function titled(title, x, y, character) {
  const [, text, rounds = ""] = /^(.*?)(?:: ([\d,]+ iterations))?$/.exec(words(title)), at = text.lastIndexOf(WITHIN);
  const name = at < 0 ? text : text.slice(0, at), kind = at < 0 ? "" : text.slice(at + WITHIN.length), start = { y, "text-anchor": "start" };
  const parts = [svg("text.wb-title", { ...start, x }, name)];
  let from = x + columns(name) * character + 8;
  if (kind) {
    parts.push(svg("text.wb-class", { ...start, x: from }, kind));
    from += columns(kind) * CHARACTER + 8;
  }
  if (!rounds) return parts;
  const width = columns(rounds) * CHARACTER + 8;
  return [...parts, svg("rect.wb-chip", { x: from, y: y - 12, width, height: 16, rx: 8 }),
    svg("text.wb-rounds", { x: from + width / 2, y: y - 0.5, "text-anchor": "middle" }, rounds)];
}
/** How wide a box's title is with its first line behind it; 0 where that stands below. */
const rowWidth = (title, line) => {
  const whole = columns(title) + columns(line ?? "");
  return line !== undefined && whole <= 80 ? 12 + CHARACTER * (whole + columns(title) / 6) : 0;
};
/** The parts of a box, as picture.css names them. @param {Box} box @param {Box|undefined} holder */
function boxParts(box, holder) {
  const { x, y, w, h, kind, state } = box, saved = kind === "saved", told = list(box.lines).map(words), name = words(box.title);
  const first = saved || kind in CHART || box.plot ? 0 : rowWidth(name, told[0]);
  const behind = first || (saved && told.length === 1 && columns(name) + columns(told[0]) <= 28);
  const lines = behind ? told.slice(1) : told;
  const round = kind in CHART ? CHART[kind][0] : ROUND[kind] ?? min(h / 2, 24);
  const frame = (name, by) => {
    const place = { x: x - by, y: y - by, width: w + 2 * by, height: h + 2 * by };
    return svg("rect", { class: name, ...place, rx: max(0, round + by) });
  };
  const parts = kind === "line" ? [] : [frame("wb-ring", 5)]; // lines of code stand close together
  if (holder) {
    const from = holder.x + holder.w, bend = (from + x) / 2, start = holder.y + holder.h / 2, end = y + h / 2;
    const d = `M${from} ${start}C${bend} ${start} ${bend} ${end} ${x} ${end}`;
    parts.push(svg("path.wb-tie", { d }));
  }
  if (kind !== "line" && ["running", "differs", "error"].includes(state)) parts.push(frame("wb-glow", 5));
  if (kind === "group") parts.push(svg("rect.wb-back", { x: x + 5, y: y + 5, width: w, height: h, rx: round }));
  parts.push(frame("wb-frame", 0));
  if (box.skips && kind === "group") parts.push(svg("path.wb-skip", { d: `M${x + w} ${y + 2}c30 -4 30 ${h} 7 ${h - 4}` }),
    svg("path.wb-tip", { d: `M${x + w} ${y + h - 2}l10 -3 -2 9z` }));
  if (box.family && kind !== "region") parts.push(svg("rect", { class: `wb-strip-${box.family}`, x: x + 5, y: y + 5, width: 4, height: h - 10, rx: 2 }));
  if (box.fold) {
    const [across, down] = kind === "name" ? [3, 11] : [w - 16, 12];
    parts.push(svg("path.wb-fold", { d: `M${x + across} ${y + down}h8${box.fold === "open" ? "m-4 -4v8" : ""}` }));
  }
  if (kind in CHART) {
    const [, middle, left = 4, top = 13, step = 16] = CHART[kind], base = y + (middle ? h / 2 + 4 : top);
    const at = { x: x + (middle ? w / 2 : box.fold ? left + 12 : left), "text-anchor": middle ? "middle" : "start" };
    const text = (name, row, i) => parts.push(svg("text", { class: name, ...at, y: base + step * i }, words(row)));
    if (box.title) text("wb-title", box.title, 0);
    if (!middle) lines.forEach((line, i) => text("wb-text", line, i + 1));
    return parts;
  }
  if (box.plot) {
    const { at, numbers } = box.plot;
    const text = (name, left, base, row, anchor) =>
      parts.push(svg("text", { class: name, x: x + left, y: y + base, "text-anchor": anchor }, words(row)));
    for (const part of ["axes", "curve", "tangent"])
      if (box.plot[part]) parts.push(svg(`path.wb-${part}`, { d: shifted(box.plot[part], x, y) }));
    if (at) parts.push(svg("circle.wb-point", { cx: x + at[0], cy: y + at[1], r: 5 }));
    for (const number of list(numbers)) text("wb-number", ...list(number));
    text("wb-title", w / 2, 23.5, box.title, "middle");
    lines.forEach((line, i) => text("wb-text", w / 2, 40 + 16 * i, line, "middle"));
    return parts;
  }
  if (kind === "region" || kind === "level") {
    return [...parts, ...titled(box.title, x + 12, y + 16, CHARACTER)];
  }
  const high = saved ? 16 : 18, top = y + (h - high - 16 * lines.length) / 2; // high: the room of the title
  if (saved) {
    const place = { x: x + 8, "text-anchor": "start" }, base = top + 12;
    parts.push(svg("text.wb-title", { ...place, y: base }, name));
    if (behind && state !== "freed")
      parts.push(svg("text.wb-text", { ...place, y: base, x: place.x + (columns(name) + 2) * CHARACTER }, told[0]));
    lines.forEach((line, i) => parts.push(svg("text.wb-text", { ...place, y: base + 16 + 16 * i }, line)));
    if (state === "freed") parts.push(svg("text.wb-word", { x: x + w - 8, y: base, "text-anchor": "end" }, "freed"));
  } else {
    // The title begins at the left, and its shape ends at the right; a title alone stands in the middle.
    const pad = TENSORS.includes(kind) ? 18 : 14, wide = columns(name) * TITLE, from = first || lines.length ? x + pad : x + (w - wide) / 2;
    parts.push(...titled(name, from, top + 13.5, TITLE));
    if (first && told[0]) parts.push(svg("text.wb-text", { x: x + w - pad - (kind === "group" ? 10 : 0), y: top + 13.5, "text-anchor": "end" }, told[0]));
    lines.forEach((line, i) => parts.push(svg("text.wb-text", { x: x + pad, y: top + high + 12 + 16 * i, "text-anchor": "start" }, line)));
  }
  if (state in SIGNS)
    parts.push(svg("g.wb-mark", { transform: `translate(${x} ${y + h / 2})` },
      svg("circle.wb-disc", { r: 9 }), svg("path.wb-sign", { d: SIGNS[state] })));
  return parts;
}

/**
 * The picture: `draw` shows an item as it is now, `travel` sends a dot along an arrow.
 * @param {Storyboard} storyboard @param {Items} items
 */
export function picture(storyboard, { boxes, arrows }) {
  const width = +storyboard.width || 1, height = +storyboard.height || 1;
  const groups = new Map(), titles = new Map();
  for (const box of boxes.values())
    groups.set(box, svg("g", { role: "button", tabindex: -1, "aria-expanded": false }));
  for (const arrow of arrows.values()) groups.set(arrow, svg("g", { role: "img" }));
  for (const [item, group] of groups) {
    group.dataset.id = item.id;
    if (item.kind === "region") titles.set(item, svg("g", { "aria-hidden": true }));
  }
  const viewBox = `0 0 ${width} ${height}`;
  const depth = ({ kind, d }) => (kind === "region" ? 0 : LOOSE.includes(kind) ? 1 : d === undefined ? 2 : 3);
  const ordered = [...groups.keys()].sort((a, b) => depth(a) - depth(b)).map((item) => groups.get(item));
  const root = svg("svg.wb-picture", { viewBox }, ...ordered, ...titles.values());
  // What moves lies above: or the browser would paint everything again with each frame.
  const dots = svg("svg.wb-dots", { viewBox, "aria-hidden": true });
  const draw = (item) => {
    const group = groups.get(item), role = "d" in item ? "arrow" : "box";
    const shade = "shade" in item ? ` wb-shade-${item.shade}`
      : item.weight ? ` wb-weight-${item.weight} wb-tone-${item.tone}` : REMARKABLE.includes(item.tone) ? ` wb-tone-${item.tone}`
      : item.w + item.h > LARGE ? " wb-large" : "";
    group.setAttribute("class", `wb-${role} wb-kind-${item.kind} wb-state-${item.state}${shade}`);
    group.dataset.state = item.state;
    if (item.fold && item.kind === "name") group.ariaExpanded = item.fold === "close";
    group.ariaLabel = words(item.alt || item.title || item.label || item.id);
    const parts = role === "arrow" ? arrowParts(item) : boxParts(item, boxes.get(item.holder)), title = titles.get(item);
    title?.setAttribute("class", group.getAttribute("class").replace("wb-box", "wb-over"));
    const over = title ? parts.filter((part) => !/wb-(ring|frame|fold)/.test(part.getAttribute("class"))) : []; // it lies above arrows
    if (title) fill(title, ...over);
    fill(group, ...parts.filter((part) => !over.includes(part)));
  };
  let next = 0;
  const still = () => {
    cancelAnimationFrame(next);
    fill(dots);
  };
  const travel = (moving) => {
    still();
    if (calm() || !moving.length) return;
    // The step itself comes first: in a frame of its own.
    next = requestAnimationFrame(() => (next = requestAnimationFrame(() => depart(moving))));
  };
  const depart = (moving) => {
    const runs = moving.map((arrow) => {
      const path = groups.get(arrow).querySelector(".wb-line");
      const dot = svg("circle", { class: `wb-dot wb-dot-${arrow.state}`, r: arrow.weight ? 3 + 1.5 * arrow.weight : 6 });
      return { path, dot, length: path.getTotalLength(), up: arrow.state === "flowing" };
    });
    dots.append(...runs.map(({ dot }) => dot));
    const begin = performance.now(), move = (now) => {
      const part = min(1, max(0, (now - begin) / TRAVEL_MS)), eased = part * part * (3 - 2 * part);
      for (const { path, dot, length, up } of runs) {
        const point = path.getPointAtLength(length * (up ? 1 - eased : eased));
        dot.setAttribute("transform", `translate(${point.x} ${point.y})`);
      }
      if (part < 1) next = requestAnimationFrame(move);
      else still();
    };
    move(begin);
  };
  return { root, dots, width, height, groups, draw, travel, still };
}
