/** A player in the notebook that Python follows, and that follows Python. */

import { alone } from "./kernel.js";
import { inhabit } from "./places.js";
import { mount } from "./player.js";

/** anywidget's entries: a player at the model's position, each following the other. */
export const initialize = ({ model }) => inhabit(model, render);
export function render({ model, el }) {
  const host = model.widget_manager ?? {};
  let at = model.get("position");
  const moved = (position) => {
    at = position;
    model.set("position", position);
    if (!alone(host)) model.save_changes();
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
