/** A picture whose boxes have one line each: for a window without room for all that they tell, and for a lecture hall. */

import { list } from "./drawing.js";
import { READABLE } from "./window.js";

/** The story with one line in each box, if Python has drawn it so, too. */
export function briefly(story) {
  if (!story?.brief) return story;
  const { brief, ...rest } = story;
  return { ...rest, ...brief, steps: list(story.steps).map((step, i) => ({ ...step, ...brief.steps[i] })) };
}

/** Whether a window of this size has room for all that the boxes tell; true on no page, where nothing is known of it. */
export function hasRoom(story, wide, high) {
  return !story?.brief || !wide || (story.width * READABLE <= wide && story.height * READABLE <= high);
}
