/** A chart whose rows lie in each other: what a closed row holds is not seen, and the rows below move up. */

import { entries, fromEntries, list } from "./drawing.js";

const SIGN = 12; // px that a row's name keeps free at its left for the sign that opens it

/** The storyboard as it is seen with these rows open; its boxes that open or close have `fold`. */
export function rowsFolded(story, opened) {
  const all = new Map(list(story.boxes).map((box) => [box.id, box])), holders = new Set(list(story.boxes).map(({ region }) => region));
  const shut = (id) => id != null && (!opened.has(id) || shut(all.get(id).region));
  const hidden = ({ region, instead }) => shut(region) || (opened.has(instead) && holders.has(instead));
  const names = list(story.boxes).filter(({ kind }) => kind === "name").sort((a, b) => a.y - b.y);
  const cuts = names.flatMap((box, i) => (hidden(box) ? [[box.y, names[i + 1]?.y ?? box.y + box.h + 2]] : []));
  const up = (y) => y - cuts.reduce((sum, [from, to]) => sum + Math.max(0, Math.min(y, to) - from), 0);
  const boxes = list(story.boxes).filter((box) => !hidden(box)).map((box) => {
    const y = up(box.y), placed = { ...box, y, h: box.kind === "frame" ? up(box.y + box.h) - y : box.h }; // a frame is around several
    if (!holders.has(box.id)) return placed;
    return { ...placed, x: box.x - SIGN, w: box.w + SIGN, fold: opened.has(box.id) ? "close" : "open" };
  });
  const there = new Set(boxes.map(({ id }) => id));
  const steps = list(story.steps).map((step, until) => (
    { ...step, until, boxes: fromEntries(entries(step.boxes ?? {}).filter(([id]) => there.has(id))) }));
  return { ...story, boxes, steps, height: up(story.height) };
}
