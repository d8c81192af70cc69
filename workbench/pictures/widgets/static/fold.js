/**
 * Opening and closing groups with no kernel: Python lays out every group once, with all groups in it closed; here a
 * level is stretched where one is open. What is seen, and which steps are one, follows `Folding` in scene/folding.py.
 *
 * @typedef {[string|null, string|null, string, string|null, number[], ...number[]]} Wire start, end, value, arrow, how far
 *   each point is from the one before, and of a label its x, y, width, height and whether it stands at the left; null is a
 *   port of the frame
 * @typedef {{w: number, h: number, boxes: Record<string, [number, number]>, wires: Wire[],
 *            in: Record<string, number>, out: Record<string, number>}} Level
 */

import folding from "../../scene/static/folding.json";
import { LOOSE, assign, entries, fromEntries, list, max, min } from "./drawing.js";
import { READABLE } from "./window.js";

const PASSING = 99; // px that what leads past a box leads down at least
const AROUND_ALL = 18, ABOVE_ALL = 36; // px around the picture, as in geometry.py, and for the levels above it, as in layout.py

/** The groups of a storyboard that can be opened, and those that are open at first. */
export function groupsOf(story) {
  const kinds = new Map(list(story.boxes).map(({ id, kind }) => [id, kind]));
  return { all: Object.keys(story.levels ?? {}).filter((id) => kinds.get(id) === "group"), opened: list(story.opened) };
}

/** A map that leaves all in order and makes room: so much in each stretch, given by its ends and the room for each px. */
function stretched(stretches) {
  const cuts = [...new Set(stretches.flatMap(([from, to]) => [from, to]))].sort((a, b) => a - b), parts = [];
  let sum = 0;
  for (let i = 0; i + 1 < cuts.length; i++) {
    const middle = (cuts[i] + cuts[i + 1]) / 2;
    const more = max(0, ...stretches.filter(([from, to]) => from < middle && middle < to).map((each) => each[2]));
    parts.push([cuts[i], cuts[i + 1], more, sum]);
    sum += more * (cuts[i + 1] - cuts[i]);
  }
  return (at) => {
    const part = parts.findLast(([from]) => at > from);
    return part ? at + part[3] + part[2] * (min(at, part[1]) - part[0]) : at;
  };
}

const nameOf = (start, end, value, arrow) => [start, end, value, arrow].map((each) => each ?? "").join("\n");

/** The points of a piece. @param {number[]} steps */
function along(steps) {
  let [x, y] = [0, 0];
  return steps.flatMap((step, i) => (i % 2 ? [[(x += steps[i - 1]), (y += step)]] : []));
}

/** The same way with each of its pieces halved so many times: they bend where what they pass is stretched. */
function finely(points, times) {
  const found = [points[0]];
  for (let i = 0; i + 3 < points.length; i += 3) {
    const left = [], right = [];
    for (let row = points.slice(i, i + 4); row[0]; row = row.slice(1).map(([x, y], n) => [(x + row[n][0]) / 2, (y + row[n][1]) / 2])) {
      left.push(row[0]);
      right.unshift(row.at(-1));
    }
    found.push(...left.slice(1), ...right.slice(1));
  }
  return times > 1 ? finely(found, times - 1) : found;
}

/** One level with what is open in it, from its own upper left corner. @param {string} frame "": the whole picture */
function measured(story, boxes, frame, opened) {
  /** @type {Level} */
  const level = story.levels[frame], inner = {}, anchors = {}, across = [], down = [];
  const size = (id) => {
    const box = boxes.get(id), own = story.levels[id];
    return box.kind === "region" && own ? [own.w, own.h] : box.size ?? [box.w, box.h];
  };
  for (const [id, [x, y]] of entries(level.boxes)) {
    if (!opened.has(id)) continue;
    const own = (inner[id] = measured(story, boxes, id, opened)), [w, h] = size(id);
    // A way through both sizes stays straight: the first that leaves, else one that enters.
    const leaves = level.wires.find(([start]) => start === id), enters = level.wires.find(([, end]) => end === id);
    const closed = leaves ? leaves[4][0] - x : enters ? along(enters[4]).at(-1)[0] - x : w / 2;
    const wide = leaves ? own.out[leaves[2]] : enters ? own.in[enters[2]] : own.w / 2;
    anchors[id] = [closed, wide];
    across.push([x, x + closed, max(0, wide - closed) / max(1, closed)]);
    across.push([x + closed, x + w, max(0, own.w - wide - (w - closed)) / max(1, w - closed)]);
    down.push([y, y + h, max(0, own.h - h) / h]);
  }
  const f = stretched(across), g = stretched(down), places = {}, moved = {};
  for (const [id, [x, y]] of entries(level.boxes)) {
    const [w, h] = size(id), holder = boxes.get(id).holder ?? boxes.get(id).beside;
    if (inner[id]) places[id] = { x: f(x + anchors[id][0]) - anchors[id][1], y: g(y), w: inner[id].w, h: inner[id].h };
    else if (!(holder in level.boxes)) places[id] = { x: f(x + w / 2) - w / 2, y: g(y + h) - h, w, h };
    if (places[id]) moved[id] = [places[id].x - x, places[id].y - y];
  }
  for (const [id, [x, y]] of entries(level.boxes)) {
    const [w, h] = size(id), by = moved[boxes.get(id).holder ?? boxes.get(id).beside];
    places[id] ??= { x: x + by[0], y: y + by[1], w, h };
  }
  const ports = (spots) => fromEntries(entries(spots).map(([value, x]) => [value, f(x)]));
  const result = { w: f(level.w), h: g(level.h), in: ports(level.in), out: ports(level.out), places, inner, wires: new Map() };
  for (const [start, end, value, arrow, steps, x, y, w, h, left] of level.wires) {
    // What passes a box follows the room that all get; in few pieces where it moves to a port of what is open.
    const whole = along(steps), passes = across.length && whole.at(-1)[1] - whole[0][1] > PASSING;
    const points = passes ? finely(whole, inner[start] || inner[end] ? 1 : 3) : whole;
    const way = points.map(([x, y]) => [f(x), g(y)]), last = way.length - 1;
    const at = (id, spots, edge, point) => {
      const place = places[id];
      if (id === null) return [result[spots][value], edge ? result.h : 0];
      if (inner[id]) return [place.x + inner[id][edge ? "out" : "in"][value], place.y + (edge ? place.h : 0)];
      return [point[0] + moved[id][0], place.y + (edge ? place.h + 3 : -3)];
    };
    const begin = start === null ? [result.in[value], 0] : at(start, "out", true, points[0]);
    const stop = end === null ? [result.out[value], result.h] : at(end, "in", false, points[last]);
    const room = last > 3 ? 0 : min(24, max(0, stop[1] - begin[1]) / 3);
    way[1] = [way[1][0] + begin[0] - way[0][0], max(way[1][1] + begin[1] - way[0][1], begin[1] + room)];
    way[last - 1] = [way[last - 1][0] + stop[0] - way[last][0], min(way[last - 1][1] + stop[1] - way[last][1], stop[1] - room)];
    [way[0], way[last]] = [begin, stop];
    // Where it begins beside its arrow, or ends.
    const label = w ? { x: left ? f(x + w) - w / 2 : f(x) + w / 2, y: g(y + h / 2), w, h, left } : null;
    result.wires.set(nameOf(start, end, value, arrow), { way, label });
  }
  return result;
}

/** Where each box is that is seen, and the way of each arrow from one of them to another. */
function laidOut(story, boxes, opened, stands, pathOf) {
  const whole = measured(story, boxes, "", opened), places = new Map(), levels = new Map();
  const strip = [...boxes.values()].some(({ kind }) => kind === "level") ? ABOVE_ALL : 0;
  (function put(level, frame, x, y) {
    levels.set(frame, { level, x, y });
    for (const [id, place] of entries(level.places)) {
      places.set(id, { ...place, x: x + place.x, y: y + place.y });
      if (level.inner[id]) put(level.inner[id], id, x + place.x, y + place.y);
    }
  })(whole, "", AROUND_ALL, AROUND_ALL + strip);
  const wayOf = (arrow, source, target) => {
    if (LOOSE.includes(arrow.kind)) return { d: directly(places.get(source), places.get(target)), lx: 0, ly: 0, lw: 0, lh: 0 };
    const upper = [...pathOf(source), source], lower = [...pathOf(target), target], points = [];
    const ending = target === arrow.target ? arrow.id : null;
    let common = 0, label = null;
    while (upper[common] === lower[common]) common++;
    const lead = (frame, start, end, last) => {
      const { level, x, y } = levels.get(frame), wire = level.wires.get(nameOf(start, end, arrow.source, last ? ending : null));
      const way = wire.way.map(([u, v]) => [u + x, v + y]), from = points.at(-1);
      if (from) points.push(from, way[0], way[0], ...way.slice(1));
      else points.push(...way);
      label = wire.label && { ...wire.label, x: wire.label.x + x, y: wire.label.y + y };
    };
    for (let i = upper.length - 1; i > common; i--) lead(upper[i - 1], upper[i], null, false);
    lead(upper[common - 1] ?? "", upper[common], lower[common], common === lower.length - 1);
    for (let i = common + 1; i < lower.length; i++) lead(lower[i - 1], null, lower[i], i === lower.length - 1);
    const [first, ...rest] = points.map((point) => point.map((each) => each.toFixed(1)).join());
    const told = label ? { lx: label.x, ly: label.y, lw: label.w, lh: label.h } : { lx: 0, ly: 0, lw: 0, lh: 0 };
    return { d: `M${first} C${rest.join(" ")}`, ...told, ...(label?.left ? { left: true } : {}) };
  };
  return { places, wayOf, width: whole.w + 2 * AROUND_ALL, height: whole.h + 2 * AROUND_ALL + strip };
}

function directly(one, other) {
  const middle = ({ x, y, w, h }) => [x + w / 2, y + h / 2];
  const [x, y] = middle(one), [u, v] = middle(other), at = (part) => `${x + (u - x) * part},${y + (v - y) * part}`;
  return `M${at(0)} C${at(1 / 3)} ${at(2 / 3)} ${at(1)}`;
}

/** How a group looks that is open: what runs is inside it. */
function asFrame({ lines, ...rest }) {
  return { ...rest, ...(rest.kind ? { lines: [] } : {}), ...(rest.state && rest.state !== "future" ? { state: "idle" } : {}) };
}

/** How a field of several arrows is told by the rules, which Python reads as well. */
const RULES = {
  "first of": (rule, values) => rule.values.find((value) => values.includes(value)),
  largest: (rule, values) => max(...values.map((value) => value ?? 0)),
  same: (rule, values) => (new Set(values).size === 1 ? values[0] : rule.else),
  "same last line": (rule, values, tones) => {
    const ends = new Set(values.map((value) => (value ?? "").split("\n").slice(1).at(-1) ?? "")); // below the number
    return ends.size === 1 && tones.every((tone) => tone === rule.tone) ? [...ends][0] : rule.else;
  },
};

const MOVED = ["flowing", "done"];

/** Those of the arrows that are there, or else all, and those that brought a gradient. */
function thereOf(arrows) {
  const here = arrows.filter(({ state }) => state !== "future"), there = here.length ? here : arrows;
  return [there, there.filter(({ state }) => MOVED.includes(state))];
}

function byRules(arrows) {
  const tones = arrows.map(({ tone }) => tone);
  const told = ([field, rule]) => [field, RULES[rule.rule](rule, arrows.map((each) => each[field]), tones)];
  return { ...fromEntries(entries(folding.arrow).map(told)), norm: null };
}

/** One arrow for several that bring the same value to a group, perhaps all that brought a gradient for it. */
function bundled(arrows, whole, group) {
  const [there, moved] = thereOf(arrows);
  if (moved.length < 2) return moved[0] ?? there[0];
  const told = byRules(moved);
  const sums = [...(whole ? moved.map(({ together }) => together) : []), ...moved.map(({ within }) => within?.[group])];
  const [, ...all] = sums.find((sum) => sum?.[0] === moved.length) ?? []; // else no number: the sum is not known
  if (all.length) [told.label, told.weight, told.tone, told.norm] = all;
  return { ...moved.find(({ state }) => state === told.state), ...told };
}

/** One arrow for several that bring different values. */
function sideBySide(arrows) {
  if (arrows.length === 1) return arrows[0];
  const [there, moved] = thereOf(arrows), labels = new Set(there.map(({ label }) => label));
  if (there[0].kind === "cut") return labels.size === 1 ? there[0] : { ...there[0], label: `${there.length} cuts` };
  if (!moved.length) return { ...there[0], label: "" };
  const told = byRules(moved);
  if (moved.length === 1) told.norm = moved[0].norm;
  const number = moved.length > 1 ? `${moved.length} gradients` : told.norm == null ? "" : `norm ${short(told.norm * (1 - 1e-12))}`;
  told.label = [number, told.label].filter(Boolean).join("\n");
  return { ...moved.find(({ state }) => state === told.state), ...told };
}

/** A number with three digits, as Python writes it. */
function short(number) {
  const [digits, power] = number.toExponential(2).split("e"), by = Math.abs(power);
  return power < -4 || power > 2 ? `${+digits}e${power < 0 ? "-" : "+"}${by < 10 ? "0" : ""}${by}` : `${+number.toPrecision(3)}`;
}

/** How large the picture is with these groups open. */
function sizeWith(story, boxes, opened) {
  if (opened.size === list(story.opened).length) return [story.width, story.height]; // as Python laid it out
  const { all } = groupsOf(story), frames = Object.keys(story.levels).filter((id) => !all.includes(id));
  const { w, h } = measured(story, boxes, "", new Set([...opened, ...frames]));
  return [w + 2 * AROUND_ALL, h + 2 * AROUND_ALL];
}

/** The groups to open in a window of this size: the first of the story's parts, and as many others as are easy to read. */
export function openedFor(story, wide, high) {
  const order = list(story.order), boxes = new Map(list(story.boxes).map((box) => [box.id, box]));
  const of = (n) => new Set(order.slice(0, n).flat());
  if (!order.length || !wide) return new Set(list(story.opened)); // it is on no page yet
  const [w, h] = order.length > 1 ? sizeWith(story, boxes, of(1)) : [0, 0];
  for (let n = order.length; n > 1; n--) {
    const [across, down] = sizeWith(story, boxes, of(n));
    if (across <= max(wide / READABLE, w) && down <= max(high / READABLE, h)) return of(n);
  }
  return of(1);
}

/**
 * The storyboard as it is seen with these groups open. Each of its steps has `until`, the number of the last step that it
 * stands for, and its boxes that open or close have `fold`.
 */
export function folded(story, opened) {
  const boxes = new Map(list(story.boxes).map((box) => [box.id, box])), { all } = groupsOf(story);
  for (const { kind, source, target } of list(story.arrows))
    if (kind === "beside" && ["tangent", "returned"].includes(boxes.get(target)?.kind)) boxes.get(target).beside = source;
  const paths = new Map(), open = new Set([...opened, ...Object.keys(story.levels).filter((id) => !all.includes(id))]);
  const pathOf = (id) => {
    if (!paths.has(id)) {
      const box = boxes.get(id), home = boxes.get(box.holder ?? box.beside) ?? box;
      paths.set(id, home.region == null ? [] : [...pathOf(home.region), home.region]);
    }
    return paths.get(id);
  };
  // What a box refers to may be in a group that no reader can open.
  const stands = (id) => (boxes.has(id) ? pathOf(id).find((group) => !open.has(group)) : undefined) ?? id;
  const asTold = opened.size === list(story.opened).length && list(story.opened).every((id) => opened.has(id));
  const { places, wayOf, ...size } = asTold ? { places: boxes, wayOf: (arrow) => arrow, width: story.width, height: story.height }
    : laidOut(story, boxes, open, stands, pathOf);
  const seen = (box) => {
    const fold = all.includes(box.id), frame = fold && opened.has(box.id);
    const { x, y, w, h } = box.kind === "level" ? box : places.get(box.id);
    const look = frame ? asFrame({ ...box, kind: "region", x, y, w, h }) : { ...box, x, y, w, h };
    return fold ? { ...look, fold: frame ? "close" : "open" } : look;
  };
  const shown = list(story.boxes).filter((box) => stands(box.id) === box.id).map(seen);
  const members = new Map(), first = new Map(), now = new Map(list(story.arrows).map((arrow) => [arrow.id, { ...arrow }]));
  for (const { id, source, target, kind } of now.values()) {
    const [from, to] = [stands(source), stands(target)];
    if (from === to || (LOOSE.includes(kind) && (from !== source || to !== target))) continue;
    const name = from === source && to === target ? id : nameOf(from, to, kind), one = first.get(name) ?? id;
    first.set(name, one);
    members.set(one, [...(members.get(one) ?? []), id]);
  }
  const leaving = new Map(), ownOf = (source) => boxes.get(source).refers ?? source;
  for (const { id, source, target, kind } of now.values()) {
    leaving.set(ownOf(source), [...(leaving.get(ownOf(source)) ?? []), id]);
    // What a box in a closed group brings that refers to another is part of the arrow from that, if it is in sight.
    const group = stands(target), own = ownOf(source);
    if (own !== source && stands(source) === group && stands(own) === own) members.get(first.get(nameOf(own, group, kind)))?.push(id);
  }
  const of = new Map([...members].flatMap(([one, several]) => several.map((id) => [id, one])));
  const look = (one) => {
    const { target } = now.get(one), group = stands(target), values = new Map();
    for (const id of members.get(one)) {
      const each = now.get(id), own = ownOf(each.source);
      values.set(own, [...(values.get(own) ?? []), group === target ? each : { ...each, label: each.brief ?? each.label }]);
    }
    const told = [...values].map(([own, arrows]) => {
      const mine = arrows.map(({ id }) => id), others = list(leaving.get(own)).filter((id) => !mine.includes(id));
      return bundled(arrows, !others.some((id) => MOVED.includes(now.get(id).state)), group);
    });
    const { label, state, weight, tone, alt } = sideBySide(told), { source } = now.get(one), from = stands(source);
    if (from === source && group === target && told.length === 1) return { label, state, weight, tone, alt };
    const number = label ? `: ${label.replaceAll("\n", ", ")}` : "";
    return { label, state, weight, tone, alt: `${boxes.get(from).title} to ${boxes.get(group).title}${number}` };
  };
  const arrows = [...members.keys()].map((one) => {
    const own = now.get(one), ends = [stands(own.source), stands(own.target)];
    // Of several ways that with the most room for a label.
    const ways = (asTold ? [one] : members.get(one)).map((id) => now.get(id)).filter(({ source, target }) =>
      stands(source) === ends[0] && stands(target) === ends[1]).map((each) => wayOf(each, ...ends));
    const way = ways.reduce((best, each) => (each.lw > best.lw ? each : best));
    return { ...own, ...way, id: one, kind: own.kind, source: ends[0], target: ends[1], ...look(one) };
  });
  const frames = new Set(shown.filter(({ fold }) => fold === "close").map(({ id }) => id)), steps = [];
  let last = null;
  list(story.steps).forEach((step, number) => {
    const place = step.place == null ? null : stands(step.place), group = place !== step.place ? place : null;
    const again = group !== null && group === last && !step.chapter;
    if (!again) steps.push({ ...step, boxes: {}, arrows: {}, first: number });
    const mine = steps.at(-1), changed = new Set();
    last = group;
    for (const [id, change] of entries(step.boxes ?? {})) {
      if (!boxes.has(id) || stands(id) !== id) continue;
      mine.boxes[id] = { ...mine.boxes[id], ...(frames.has(id) ? asFrame(change) : change) };
    }
    for (const [id, change] of entries(step.arrows ?? {})) {
      if (!now.has(id)) continue;
      assign(now.get(id), change);
      if (of.has(id)) changed.add(of.get(id));
    }
    changed.forEach((one) => (mine.arrows[one] = look(one)));
    const told = again && list(story.runs?.[group]).find(([begin, end]) => begin === mine.first && end === number);
    assign(mine, { until: number, phase: step.phase, cursor: step.cursor, when: step.when, caption: told ? told[2] : step.caption,
      focus: step.focus != null && boxes.has(step.focus) ? stands(step.focus) : step.focus });
  });
  const start = story.start == null ? {} : { start: max(0, steps.findIndex(({ until }) => until >= story.start)) };
  const { levels, opened: told, runs, ...rest } = story;
  return { ...rest, ...size, ...start, boxes: shown, arrows, steps };
}
