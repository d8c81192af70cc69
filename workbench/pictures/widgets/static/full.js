/**
 * The whole window of the browser for one picture. Its element goes to the layer above the page, which nothing of a page
 * covers or cuts, and stays where it is in the document: its keys, its theme and the focus stay with it.
 */

import { fill, focusOn, html, keysAt, upon } from "./drawing.js";
import { button, icon } from "./window.js";

const places = new WeakMap(); // what keeps the room of an element in its page meanwhile

/** A button, and what it does: `el` takes the window, or goes back to its place. `change` hears of it, and gives what to do after. */
export function fullScreen(el, change) {
  const element = button("full", "", toggle), is = () => "wbFull" in el.dataset;
  const name = () => {
    element.ariaLabel = element.title = is() ? "Leave full screen" : "Full screen";
    fill(element, icon(is() ? "part" : "full"));
  };
  const swap = (enter) => {
    const held = keysAt(), place = places.get(el) ?? html("div"), after = change(enter);
    places.set(el, place);
    if (enter) {
      place.style.height = `${el.offsetHeight}px`;
      el.before(place);
      el.popover = "manual";
      el.dataset.wbFull = "";
      el.showPopover();
    } else {
      delete el.dataset.wbFull;
      el.popover = null;
      place.remove();
    }
    name();
    after();
    if (el.contains(held)) focusOn(held); // what is not drawn for a moment may lose it
  };
  function toggle() {
    // Of several pictures only one has the window; another version of this library may have drawn the other one.
    if (!is()) document.querySelectorAll('[data-wb-full] [data-action="full"]').forEach((other) => other.click());
    swap(!is());
  }
  const leave = ({ relatedTarget: to }) => is() && to && !el.contains(to) && swap(false);
  upon(el, "focusout", leave); // to what lies below, as Tab after the last button does
  name();
  return { element, is, leave: () => is() && swap(false), end: () => el.removeEventListener("focusout", leave) };
}
