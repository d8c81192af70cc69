/** A chart in a narrow window: what stands beside each other in a wide one stands below each other. */

import { list, max, min } from "./drawing.js";
import { LEAST } from "./window.js";

const BESIDE = 26; // px of a player beside its picture

/** The story with what it tells of below the list that leads to its steps, if there is no room beside that. */
export function stacked(story, width) {
  const rows = list(story?.boxes).filter(({ goto }) => goto != null), edge = max(...rows.map(({ x, w }) => x + w));
  if (edge < 0 || !width || story.width * LEAST <= width - BESIDE) return story;
  const beside = ({ x }) => x > edge, down = max(...rows.map(({ y, h }) => y + h));
  const left = min(...story.boxes.filter(beside).map(({ x }) => x)) - rows[0].x;
  const boxes = story.boxes.map((box) => (beside(box) ? { ...box, x: box.x - left, y: box.y + down } : box));
  return { ...story, width: story.width - left, height: story.height + down, boxes };
}
