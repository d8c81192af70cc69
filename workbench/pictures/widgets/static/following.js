/** A player in the notebook that Python follows, and that follows Python. */

import { alone } from "./kernel.js";
import { inhabit } from "./places.js";
import { mount } from "./player.js";

/** anywidget's entries: a player at the model's position, each following the other. */
export const initialize = ({ model }) => inhabit(model, render);
export function render({ model, el }) {
  const host = model.widget_manager ?? {};
  let at = model.get("position");
  const send = (name, value) => {
    model.set(name, value);
    if (!alone(host)) model.save_changes();
  };
  const moved = (position) => send("position", (at = position));
  const told = (box) => model.get("_selected") != box && send("_selected", box ?? null);
  const player = mount(el, model.get("storyboard"), { position: at, moved, told });
  // The model tells of the player's own moves too: to visit where it is would stop it playing.
  const follow = () => model.get("position") !== at && player.go(model.get("position"));
  model.on("change:position", follow);
  return () => {
    model.off("change:position", follow);
    player.destroy();
  };
}
