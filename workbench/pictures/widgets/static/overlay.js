/** Numbers of the user's own, which color boxes: their key, and a table of them below the picture that can be sorted. */

import { html, list, upon, words } from "./drawing.js";

const COLUMNS = ["Name", "Number"], BY = [([title]) => words(title).toLowerCase(), ([, , number]) => number];
const WAYS = ["ascending", "descending"];

/** What sorts rows by a column; a number that isn't finite comes first, as what to look at. */
function inOrder(rows, column, way) {
  const of = BY[column], odd = (value) => column === 1 && typeof value !== "number";
  const before = (a, b) => (odd(a) || odd(b) ? odd(b) - odd(a) : (a < b ? -1 : a > b ? 1 : 0) * (way === WAYS[0] ? 1 : -1));
  return [...rows].sort((a, b) => before(of(a), of(b)));
}
/** The box of a row, or the closed group around it; `regions` has what each box lies in. */
function boxIn(place, id, regions) {
  for (let at = id; at != null; at = regions.get(at)) {
    const found = [...place.querySelectorAll(".wb-box")].find((group) => group.dataset.id === String(at) && group.dataset.state !== "future");
    if (found) return found;
  }
  return null;
}
function swatches({ tints, ends }) {
  const colors = list(tints).map((tint) => html("span.wb-overlay-color", { style: `--wb-overlay: var(--wb-overlay-${Math.trunc(+tint) || 0})` }));
  return colors.length ? html("span.wb-overlay-scale", {}, words(ends?.[0]), html("span.wb-overlay-colors", { "aria-hidden": true }, ...colors), words(ends?.[1])) : "";
}

/** The key and the table of a story's overlay, beside the picture in `place`; they look as the players of the `version`. */
export function overlayOf(story, place, version) {
  const { rows, said, tints, ends } = story.overlay, known = list(rows).filter(Array.isArray);
  const regions = new Map(list(story.boxes).map(({ id, region }) => [String(id), region]));
  const body = html("tbody");
  let at = 1, way = WAYS[1];
  const heads = COLUMNS.map((name, column) => {
    const button = html("button.wb-button", { type: "button" }, name);
    upon(button, "click", () => {
      way = at === column ? WAYS[1 - WAYS.indexOf(way)] : WAYS[column];
      at = column;
      fill();
    });
    return html("th", { scope: "col" }, button);
  });
  const rowOf = ([title, id, , text, tint]) => {
    const button = html("button.wb-button", { type: "button", title: "Show this box" }, words(title));
    upon(button, "click", () => {
      const box = boxIn(place, id, regions);
      if (!box) return;
      for (const other of place.querySelectorAll("[data-found]")) other.removeAttribute("data-found");
      box.dataset.found = "at";
      box.scrollIntoView({ block: "nearest", inline: "nearest" });
      box.focus({ preventScroll: true });
    });
    const color = Number.isInteger(tint) ? { style: `--wb-overlay: var(--wb-overlay-${tint})` } : { "data-odd": "" };
    return html("tr", {}, html("th", { scope: "row" }, html("span.wb-overlay-color", { "aria-hidden": true, ...color }), button), html("td", {}, words(text)));
  };
  function fill() {
    heads.forEach((head, column) => (column === at ? head.setAttribute("aria-sort", way) : head.removeAttribute("aria-sort")));
    body.replaceChildren(...inOrder(known, at, way).map(rowOf));
  }
  fill();
  return html("div", { class: `wb-player ${version} wb-overlay`, role: "group", "aria-label": "Overlay" },
    html("p", {}, words(said), " ", swatches({ tints, ends })),
    html("div.wb-overlay-rows", { tabindex: 0, role: "region", "aria-label": "Numbers of the overlay" },
      html("table", {}, html("caption", {}, "Numbers of the overlay"), html("thead", {}, html("tr", {}, ...heads)), body)));
}
