/** The views of a picture as tabs: a view is made when it is chosen, and stays as it was left. */

import { html, upon } from "./drawing.js";

const WAYS = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity };
let count = 0;

/** The tabs of these names, of which one is open: `choose` is told of another. */
export function tabList(names, at, choose) {
  const element = html("div.wb-tabs", { role: "tablist", "aria-label": "Views" }), panel = `wb-view-${(count += 1)}`;
  for (const name of names) {
    const chosen = name === at, face = name[0].toUpperCase() + name.slice(1);
    const tab = html("button.wb-button", { type: "button", role: "tab", "data-action": `view-${name}`, "aria-selected": chosen,
      "aria-controls": panel, tabindex: chosen ? 0 : -1 }, face);
    upon(tab, "click", () => chosen || choose(name));
    element.append(tab);
  }
  upon(element, "keydown", (event) => {
    if (!(event.key in WAYS)) return;
    event.preventDefault();
    event.stopPropagation();
    const to = names.indexOf(at) + WAYS[event.key], last = names.length - 1;
    const next = names[Math.abs(WAYS[event.key]) > 1 ? (to < 0 ? 0 : last) : (to + names.length) % names.length];
    if (next !== at) choose(next);
  });
  return { element, panel };
}
