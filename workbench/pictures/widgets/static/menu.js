/** What is seldom needed: a menu behind a button, and the list of keys. Both lie above all else that is on the page. */

import { assign, html, upon } from "./drawing.js";
import { beside, button, icon } from "./window.js";

const TURNS = { ArrowDown: 1, ArrowUp: -1, Home: 0, End: -1 };

/**
 * A menu and the button that opens it.
 * @typedef {{action: string, label: string, act: () => void, key?: string, group?: string, stays?: true,
 *            on?: () => boolean, off?: () => boolean}} Choice one of a `group`, or a switch, says whether it is `on`
 * @param {Choice[]} choices
 */
export function menu(choices) {
  const element = html("div.wb-menu", { role: "menu", "aria-label": "More", popover: "auto" });
  const opener = button("menu", "More", () => {}, icon("menu"));
  const items = choices.map(({ action, label, act, key = "", group, on, stays }) => {
    const role = on ? (group ? "menuitemradio" : "menuitemcheckbox") : "menuitem";
    const names = { type: "button", role, tabindex: -1, "data-action": action };
    const made = html("button.wb-item", names, html("span", {}, label), html("kbd", { "aria-hidden": true }, key));
    upon(made, "click", () => {
      if (made.ariaDisabled === "true") return;
      if (!stays) element.hidePopover(); // the focus goes back to where it was, and what is done may take it
      act();
      update();
    });
    const last = element.lastElementChild;
    const place = !group ? element : last?.ariaLabel === group ? last
      : element.appendChild(html("div", { role: "group", "aria-label": group }, html("span", { "aria-hidden": true }, group)));
    place.append(made);
    return made;
  });
  const update = () => choices.forEach(({ on, off }, i) => {
    if (on) items[i].ariaChecked = on();
    if (off) items[i].ariaDisabled = off();
  });
  opener.popoverTargetElement = element;
  opener.ariaHasPopup = "menu";
  opener.ariaExpanded = false;
  upon(element, "beforetoggle", ({ newState }) => {
    opener.ariaExpanded = newState === "open";
    items[0].autofocus = newState === "open"; // it takes the focus as the menu opens, so that no key is lost
    update();
    assign(element.style, beside(opener));
  });
  upon(element, "keydown", (event) => {
    const { key, target } = event, at = items.indexOf(target);
    if (key === "Escape") event.stopPropagation(); // it closes this, and nothing else
    if (!(key in TURNS)) return;
    event.preventDefault();
    event.stopPropagation();
    items.at(key.startsWith("Arrow") ? (at + TURNS[key]) % items.length : TURNS[key]).focus();
  });
  return { opener, element, update };
}

/** The list of keys, which stays while they are tried. @param {[string, string][]} keys */
export function keyList(keys) {
  const rows = keys.flatMap(([key, meaning]) => [html("dt", {}, html("kbd", {}, key)), html("dd", {}, meaning)]);
  const element = html("div.wb-keys", { role: "group", "aria-label": "Keys", tabindex: 0, popover: "manual" }, html("dl", {}, ...rows));
  return { element, toggle: () => element.togglePopover(), shown: () => element.matches(":popover-open") };
}
