/**
 * A picture for a lecture hall: of an operation only what it is and its shape or number, and all so close together that
 * it can be drawn large. Each axis is packed by itself, in its order: nothing comes to lie upon what it did not lie upon.
 */

import { CHARACTER, CHART, LOOSE, abs, columns, entries, list, max, min, placed, pointsOf, rowWidth, words } from "./drawing.js";

const SPACE = [10, 6]; // px that stay at least between any two edges that follow each other, across and down
const LEAD = 18; // px that an arrow leads down at least, if there are so many
const SEEN = 7; // boxes that are in sight at least
const BRIEF = ["op", "function", "group", "constant"]; // what tells less

const LEFT_OUT = /^\S+Backward\S* *|,? no gradient|(^|  )from .*| ?\[.*| *· .*|^\d+ operation.*/g; // its details say it

/** What a box tells of its lines. */
function brief({ lines, kind }) {
  const some = kind === "constant" ? list(lines) : list(lines).slice(0, 1);
  return some.map((line) => words(line).replace(LEFT_OUT, "")).filter(Boolean);
}
/** How wide and high a box has to be for that. */
function sizeOf(box) {
  const { title, fold, w } = box, told = brief(box), row = rowWidth(title, told[0]), first = row > w ? 0 : row;
  const wide = max(first || CHARACTER * columns(title) * 1.2, ...told.map((line) => CHARACTER * columns(line)));
  return [wide + (fold ? 48 : 24), 26 + 16 * (told.length - (first > 0))];
}

/** Where each place of an axis comes to lie, for stretches `[from, to, length]` that have to be so long at least. */
function packed(stretches, space) {
  const cuts = [...new Set(stretches.flatMap(([from, to]) => [from, to]))].sort((a, b) => a - b);
  /** As near to the first of them as can be. */
  const pack = (order, begin, end) => {
    const places = new Map(), stops = new Map(cuts.map((cut) => [cut, []]));
    for (const each of stretches) stops.get(each[end]).push(each);
    order.forEach((cut, i) => {
      const near = i ? places.get(order[i - 1]) + min(space, abs(cut - order[i - 1])) : 0;
      places.set(cut, max(near, ...stops.get(cut).map((each) => (places.get(each[begin]) ?? 0) + each[2])));
    });
    return places;
  };
  const early = pack(cuts, 0, 1), late = pack(cuts.toReversed(), 1, 0), whole = early.get(cuts.at(-1));
  const at = (cut) => (early.get(cut) + whole - late.get(cut)) / 2; // what room is left is shared evenly
  return (place) => {
    const i = min(cuts.length - 2, max(0, cuts.findLastIndex((cut) => cut < place))), from = cuts[i], to = cuts[i + 1];
    return at(from) + ((place - from) / (to - from)) * (at(to) - at(from));
  };
}

/** The storyboard as it is read from far away; a chart stays as it is. */
export function compact(story) {
  if (list(story.boxes).some(({ kind, plot }) => plot || (kind in CHART && kind !== "story"))) return story;
  const across = [[0, story.width, 0]], down = [[0, story.height, 0]], sizes = new Map();
  const boxes = list(story.boxes).map((box) => (BRIEF.includes(box.kind) ? { ...box, brief } : box));
  const isFrame = ({ kind }) => ["region", "level"].includes(kind), named = new Map(boxes.map((box) => [box.id, box]));
  /** What a box needs, for all that it tells at some step. */
  const measure = (box) => {
    const told = box.brief || isFrame(box) ? sizeOf(box) : [box.w, box.h], before = sizes.get(box.id) ?? told;
    sizes.set(box.id, told.map((each, i) => max(each, before[i])));
  };
  boxes.forEach(measure);
  for (const step of list(story.steps))
    for (const [id, { lines }] of entries(step.boxes ?? {})) if (lines) measure({ ...named.get(id), lines });
  for (const box of boxes) {
    const { id, x, y, w, h } = box, [wide, high] = sizes.get(id);
    across.push([x, x + w, wide]);
    down.push([y, y + (isFrame(box) ? high : h), high]);
  }
  for (const { kind, source, target, lx, ly, lw, lh, d } of list(story.arrows)) {
    if (LOOSE.includes(kind)) continue;
    const points = pointsOf(d), [[, from], [, to]] = [points[0], points.at(-1)];
    down.push([from, to, min(LEAD, to - from)]);
    for (const [id, [at]] of [[source, points[0]], [target, points.at(-1)]]) {
      const { x, w } = named.get(id), [wide] = sizes.get(id), part = (wide * (at - x)) / w; // it enters a box where it did
      across.push([x, at, part], [at, x + w, wide - part]);
    }
    if (points[7]) across.push(...points.map(([x]) => [x, x, 0])); // it passes others
    if (lw) {
      across.push([lx - lw / 2, lx + lw / 2, lw]);
      down.push([ly - lh / 2, ly + lh / 2, lh]);
    }
  }
  const f = packed(across, SPACE[0]), g = packed(down, SPACE[1]);
  const put = (x, y, w, h) => [f(x), g(y), f(x + w) - f(x), g(y + h) - g(y)];
  const there = boxes.map((box) => {
    const [x, y, w, h] = put(box.x, box.y, box.w, box.h);
    return { ...box, x, y, w, h };
  });
  const ends = there.map(({ y, h }) => [y, y + h]).sort(([a], [b]) => a - b);
  const tall = ends.map(([y], i) => (ends.slice(i, i + 9 * SEEN).map((end) => end[1]).sort((a, b) => a - b)[SEEN - 1] ?? y) - y);
  return { ...story, width: f(story.width), height: g(story.height), tall: max(...tall) + SPACE[1], boxes: there,
    arrows: list(story.arrows).map((arrow) => {
      const { lx, ly, lw, lh, d } = arrow, [x, y, w, h] = put(lx - lw / 2, ly - lh / 2, lw, lh);
      return { ...arrow, d: placed(d, f, g), lx: x + w / 2, ly: y + h / 2, lw: w, lh: h };
    }) };
}
