/** The key of a picture: the shapes, colors, dashes and marks that occur in it, each drawn as it is drawn there. */

import { CHART, assign, entries, fill, focusOn, html, keysAt, list, picture, upon, words } from "./drawing.js";
import { beside, button } from "./window.js";

const HOVER_MS = 250; // for how long it stays when the pointer has left it
const SIZE = { width: 66, height: 34 }, BOX = { x: 12, y: 7, w: 44, h: 20, title: "", lines: [] };
const ARROW = { d: "M33,5C33,13 33,21 33,29", lx: 33, ly: 17, lw: 0, lh: 0, label: "" };
/** What a reader may see, in the order in which it is told: a box's kind, its state, or an arrow's looks, and what they mean. */
const MEANINGS = [
  [{ kind: "leaf" }, "leaf: its gradient goes to .grad"],
  [{ kind: "input" }, "input"],
  [{ kind: "constant" }, "input without gradient"],
  [{ kind: "op" }, "operation"],
  [{ kind: "function" }, "custom Function"],
  [{ kind: "plain" }, "operation that isn't tracked"],
  [{ kind: "group" }, "closed group: click to open it"],
  ...["convolution", "norm", "activation", "attention", "loss"].map((family) => [{ family }, family]),
  [{ skips: 1 }, "closed group with a skip"],
  [{ kind: "region", fold: "close" }, "open group: click its title to close it"],
  [{ kind: "level" }, "level of a transform"],
  [{ kind: "output" }, "output: backward starts here"],
  [{ kind: "saved" }, "tensor saved for backward"],
  [{ kind: "saved", state: "freed" }, "saved tensor, freed"],
  [{ kind: "tangent" }, "tangent, in forward mode"],
  [{ kind: "returned" }, "returned value"],
  [{ mark: "running" }, "runs now"],
  [{ mark: "ready" }, "runs next"],
  [{ mark: "pending" }, "waits for more gradients"],
  [{ mark: "done" }, "has run"],
  [{ mark: "error" }, "failed here"],
  [{ mark: "differs" }, "differs between the two runs"],
  [{ way: "edge", state: "idle" }, "a value flows down"],
  [{ way: "constant" }, "a value without gradient"],
  [{ way: "edge", state: "flowing" }, "gradient sent in this step"],
  [{ way: "edge", state: "done" }, "gradient that has flowed back"],
  [{ way: "cut" }, "the gradient path is cut"],
  [{ way: "tangent" }, "a tangent flows down"],
  [{ way: "beside" }, "belongs to the box beside it"],
  [{ way: "same" }, "the same memory"],
  [{ tone: "plus" }, "gradient of positive numbers; wider is larger"],
  [{ tone: "minus" }, "gradient of negative numbers"],
  [{ tone: "mixed" }, "gradient of both signs, or unknown"],
  [{ tone: "faint" }, "gradient that is no part of any .grad"],
  [{ tone: "odd", label: "norm 0" }, "gradient that is zero, tiny or huge"],
  [{ tone: "bad" }, "gradient that isn't finite"],
];

/** All looks that the items have at some step. */
function looksOf({ steps }, { boxes, arrows }) {
  const changed = (part, known) => list(steps).flatMap((step) => entries(step[part] ?? {}).filter(([id]) => known.has(id))
    .map(([id, change]) => ({ ...known.get(id), ...change })));
  return [...boxes.values(), ...changed("boxes", boxes), ...arrows.values(), ...changed("arrows", arrows)].filter(
    ({ kind, state }) => state !== "future" && !(kind in CHART));
}
/** Whether a look is what an entry is about. */
function isOf({ kind, state, mark, way, tone, fold, family, skips }, look) {
  if (family) return look.family === family && look.kind !== "region";
  if (skips) return look.skips > 0 && look.kind === "group";
  if (mark) return look.d === undefined && look.kind !== "saved" && look.state === mark;
  if (tone) return look.tone === tone;
  if (way) return look.d !== undefined && look.kind === way && !look.tone && (!state || look.state === state);
  return look.d === undefined && look.kind === kind && (state ? look.state === state : look.state !== "freed") && (!fold || look.fold);
}
/** A box or an arrow that looks so, drawn by itself; nothing of it is to be read or pressed. */
function sample({ kind = "op", state, mark, way, tone, label, fold, family, skips }) {
  const drawnAs = way || tone ? { ...ARROW, id: "key", kind: way ?? "edge", state: tone ? "done" : state ?? "idle",
    ...(tone && { tone, weight: label ? 0 : 3 }), ...(label && { label, lw: 54, lh: 20 }) }
    : { ...BOX, id: "key", kind: skips ? "group" : kind, family, skips, fold: kind === "group" ? "open" : fold, state: mark ?? state ?? "idle" };
  const some = new Map([["key", drawnAs]]), none = new Map();
  const board = picture(SIZE, way || tone ? { boxes: none, arrows: some } : { boxes: some, arrows: none }), group = board.groups.get(drawnAs);
  board.draw(drawnAs);
  group.dataset.lit = ""; // lines to the same memory are seen only so
  for (const name of ["role", "tabindex", "data-id", "aria-label", "aria-expanded"]) group.removeAttribute(name);
  for (const [name, value] of entries({ ...SIZE, "aria-hidden": true })) board.root.setAttribute(name, value);
  return mark && !group.querySelector(".wb-mark") ? null : board.root; // what looks like all others needs no word
}

/**
 * The button that opens the key, and the key: on hover for as long as the pointer is there, on a click until the next.
 * It is drawn when it opens. `said` is the sentence that explains the picture.
 */
export function keyOf(story, items, said) {
  const element = html("div.wb-key", { role: "group", "aria-label": "Key", tabindex: 0, popover: "manual" });
  const opener = button("key", "Key: what the shapes, colors and marks mean", () => pin(!pinned), "Key"), shown = () => element.matches(":popover-open");
  let pinned = false, timer = 0;
  const show = (yes) => {
    clearInterval(timer);
    if (yes) timer = setInterval(look, HOVER_MS);
    if (yes === shown()) return;
    if (element.contains(keysAt())) focusOn(opener);
    const looks = yes ? looksOf(story, items) : [], rows = MEANINGS.filter(([meant]) => looks.some((look) => isOf(meant, look)))
      .map(([meant, told]) => [sample(meant), told]).filter(([drawn]) => drawn);
    fill(element, ...(yes && said ? [html("p", {}, words(said))] : []),
      html("ul", {}, ...rows.map(([drawn, told]) => html("li", {}, drawn, html("span", {}, told)))));
    element.togglePopover(yes);
    opener.ariaExpanded = yes;
    if (yes) assign(element.style, beside(opener, element.offsetWidth));
  };
  const pin = (yes) => show((pinned = yes)), look = () => pinned || [opener, element].some((part) => part.matches(":hover")) || show(false);
  upon(opener, "pointerenter", ({ pointerType }) => pointerType === "mouse" && show(true));
  opener.ariaExpanded = false;
  opener.hidden = !said && [...items.boxes.values()].every(({ kind }) => kind in CHART); // a chart says itself what its cells are
  return { opener, element, shown, toggle: () => pin(!shown()), hide: () => pin(false) };
}
