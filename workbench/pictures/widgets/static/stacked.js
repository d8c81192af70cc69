/** A picture in a narrow window: what stands beside each other in a wide one stands below each other. */

import { extent, list, max, min, shifted } from "./drawing.js";
import { LEAST } from "./window.js";

const BESIDE = 26; // px of a player beside its picture
const SMALL = 644; // px of a player: 46 em, as in its styles
const AROUND = 18; // px around the picture, as in geometry.py

/** Left, top, right and bottom of boxes and arrows together, with room around them; lines to shared memory bow far out. */
const around = (items) => [min, min, max, max].map((pick, axis) => pick(...items.filter(({ kind }) => kind !== "same")
  .map((item) => extent(item)[axis])) + (axis < 2 ? -AROUND : AROUND));

/**
 * The story with what it tells of below the list that leads to its steps, and with a plot or what is told of an error
 * below its graph, if there is no room beside that.
 */
export function stacked(story, width) {
  const all = list(story?.boxes), ways = list(story?.arrows), room = (width - BESIDE) / LEAST,
    rows = all.filter(({ goto }) => goto != null), edge = around(rows)[2] - AROUND,
    beside = rows[0] ? ({ x }) => x > edge : ({ kind, plot }) => width < SMALL && (plot || kind === "story"),
    aside = all.filter(beside);
  if (!aside[0] || !width || story.width <= room) return story;
  const [left, begin, , end] = around([...all.filter((box) => !beside(box)), ...ways]), [from, high] = around(aside),
    boxes = all.map((box) => ({ ...box, ...(!beside(box) ? { x: box.x - left, y: box.y - begin }
      : { x: rows[0] ? box.x - from : AROUND, y: box.y - high + end - begin - AROUND }) })),
    arrows = ways.map((arrow) => ({ ...arrow, lx: arrow.lx - left, ly: arrow.ly - begin, d: shifted(arrow.d, -left, -begin) })),
    [, , wide, deep] = around([...boxes, ...arrows]);
  if (aside[0].kind === "story" && wide > room) return story; // below a large graph it would be far from what it is about
  return { ...story, width: wide, height: deep, boxes, arrows };
}
