/** What a picture is looked at with, whatever plays it: the window, the details, the search, the themes and the keys. */

import { teller } from "./caption.js";
import { fill, focusOn, html, keysAt, labelOf, list, max, min, picture, standsAt, upon, words } from "./drawing.js";
import { fullScreen } from "./full.js";
import { keyOf } from "./key.js";
import { keyList, menu } from "./menu.js";
import { playerRoot, sheet } from "./root.js";
import { savings } from "./save.js";
import { button, icon, viewport } from "./window.js";

/** @typedef {"auto"|"light"|"dark"|"projector"|"print"} Theme */
/** @type {Theme[]} */
const THEMES = ["auto", "light", "dark", "projector", "print"];
const TOLD_MS = 8000; // for how long it is told that the picture was copied
const plainly = teller([]); // names as code, whatever box they are of
const HELD_MS = 2000; // for how long the place of a picture that has gone is kept for the next one
const holds = new WeakMap(); // the timers of these, by their cells
const STEPS = ["ArrowRight", "ArrowLeft"], KEYED = ".jp-NotebookPanel, .reveal, .talk"; // and where they do something else
const PANS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
/** The keys that every picture has, after those of what plays it. */
const COMMON_KEYS = [
  ["↑ ↓", "Select a box"], ["Enter", "Show details"], ["/", "Find"],
  ["+ −", "Zoom"], ["0", "Fit"], ["1", "100%"], ["f", "Full screen"],
  ["Shift ← ↑ → ↓", "Pan"], ["k", "Key"], ["t", "Theme"], ["Esc", "Close"], ["?", "Show shortcuts"],
];

const chosenIn = new WeakMap();
/** What was chosen in a notebook since its page was opened: the theme, and how each graph was looked at. */
function choicesIn(el) {
  const place = el.closest(".jp-NotebookPanel") ?? document;
  if (!chosenIn.has(place)) chosenIn.set(place, { pictures: new Map() });
  return chosenIn.get(place);
}
/**
 * How a picture is looked at: as one of the same graph that has gone, whose cell was run again, or as nobody has chosen.
 * @returns {{zoom?: number|"fit", full?: {zoom?: number|"fit"}, theme?: Theme, position?: number, opening?: number}}
 */
function recalled(pictures, story, root) {
  const ids = ["boxes", "arrows"].map((part) => list(story[part]).map(({ id }) => id));
  const steps = list(story.steps).reduce((sum, { stands = 1 }) => sum + stands, 0); // those that are left out too
  const key = JSON.stringify([story.title, steps, ...ids]), same = pictures.get(key) ?? [];
  const chosen = same.find((each) => !each.root.deref()?.isConnected) ?? {};
  chosen.root = new WeakRef(root);
  pictures.set(key, [...same.filter((each) => each !== chosen), chosen]);
  return chosen;
}
/** Keep a cell as high as it is when JupyterLab takes this picture away, for the one that comes if it was run again. */
function keepRoom(root) {
  const cell = root.closest(".jp-Cell"), outputs = root.closest(".jp-OutputArea");
  if (!cell || !outputs) return () => {};
  let high;
  const keep = (height) => {
    cell.style.minHeight = height;
    clearTimeout(holds.get(cell)); // that of the picture before
    holds.set(cell, height && setTimeout(keep, HELD_MS, ""));
  };
  const leave = () => {
    if (root.isConnected) return;
    end();
    if (cell.isConnected && high) keep(high); // else all of it is out of sight
    high = "";
  };
  const size = new ResizeObserver(() => root.isConnected && (high = getComputedStyle(cell).height));
  const watch = new MutationObserver(leave); // it hears of it before anything is painted
  const end = () => {
    size.disconnect();
    watch.disconnect();
  };
  keep("");
  size.observe(root);
  watch.observe(outputs, { childList: true });
  return () => {
    leave();
    end();
  };
}
/** The first player of the page of which half can be seen. */
const firstInSight = () => [...document.querySelectorAll(".wb-player")].find((player) => {
  const { top, bottom, height } = standsAt(player);
  return min(bottom, innerHeight) - max(top, 0) > min(height, innerHeight) / 2;
});
/** One section of the details panel. @param {Detail} detail */
function section({ heading, kind, body }) {
  const parts = [html("div.wb-heading", {}, words(heading))];
  if (kind === "value" && body && typeof body === "object") {
    const sizes = body.shape, tuple = (all) => `(${all.join(", ")}${all.length === 1 ? "," : ""})`;
    const shape = Array.isArray(sizes) ? tuple(sizes) : sizes;
    const facts = [body.name, body.dtype, shape, body.norm == null ? "" : `norm ${body.norm}`].map(words);
    const spans = facts.filter(Boolean).map((fact) => html("span", {}, fact));
    parts.push(html("div.wb-facts", {}, ...spans));
    parts.push(html("pre", { tabindex: 0 }, words(body.text)));
  } else if (kind === "link" && words(body?.href).split(":")[0] === "https") {
    parts.push(html("p", {}, html("a", { href: body.href, target: "_blank", rel: "noopener" }, words(body.text))));
  } else if (kind === "code") parts.push(html("pre", { tabindex: 0 }, html("code", {}, words(body))));
  else parts.push(html("p", {}, ...plainly(body)));
  return html("div.wb-section", { role: "group", "aria-label": words(heading) }, ...parts);
}

/** The panel that says everything about one box. @param {() => void} close @param {Detail[]} told by their numbers */
function detailsPanel(close, told, { kinds, states }) {
  const title = html("div.wb-panel-title"), what = html("div.wb-panel-kind");
  const sections = html("div"), shut = button("close", "Close details", close);
  const element = html("div.wb-details", { role: "group", "aria-label": "Details", tabindex: -1 },
    html("div.wb-panel-head", {}, html("div", {}, title, what), shut), sections);
  element.hidden = true;
  let shown = null;
  /** @param {Box} box */
  const show = (box) => {
    fill(title, words(box.title));
    const state = states[box.kind === "saved" && box.state === "error" ? "stale" : box.state];
    fill(what, [kinds[box.kind], state].filter(Boolean).join(" · "));
    element.hidden = false;
    if (shown === box.details) return; // the same facts: what the reader scrolled to stays in sight
    shown = box.details;
    const held = sections.contains(keysAt());
    fill(sections, ...list(shown).map((detail) => section(told[detail] ?? detail)));
    if (held) element.focus();
  };
  return { element, show };
}

/** What a box is found by, in small letters. @param {Box} box @param {Record<string, string>} kinds in words */
export const findable = (box, kinds) => [box.title, kinds[box.kind], ...list(box.lines), box.alt].join(" ").toLowerCase();

/**
 * The search for boxes by name or operation, among those that are there: marks them and goes from one to the next, and
 * into a group that has what is sought inside.
 */
function finder(boxes, drawn, kinds, { see, leave, enter, inside = () => "" }) {
  const label = "Find by name or operation";
  const field = html("input", { type: "search", "aria-label": label, placeholder: "name or operation" });
  const said = html("span.wb-hits", { role: "status" });
  const element = html("div.wb-find", { role: "search" }, field, said,
    button("next", "Next match", () => turn(1), icon("step")), button("leave", "Close search", close, icon("close")));
  let hits = [], at = 0;
  const wanted = () => field.value.trim().toLowerCase();
  const holds = (box) => inside(box).includes(wanted());
  /** Names come first: the name itself, what begins with it, what has it in it; then what is found by anything else. */
  const far = ({ title }) => {
    const name = String(title ?? "").toLowerCase();
    return name === wanted() ? 0 : name.startsWith(wanted()) ? 1 : name.includes(wanted()) ? 2 : 3;
  };
  const mark = () => {
    drawn.root.querySelectorAll("[data-found]").forEach((group) => group.removeAttribute("data-found"));
    hits.forEach((box, n) => (drawn.groups.get(box).dataset.found = n === at ? "at" : "too"));
    const box = hits[at], more = box && holds(box) ? ", inside this group (Enter to open)" : "";
    fill(said, box ? `${at + 1} of ${hits.length}: ${words(box.title || box.alt)}${more}`
      : wanted() && "No matches");
  };
  const search = () => {
    const before = hits[at], there = [...boxes.values()].filter((box) => wanted() && box.state !== "future");
    hits = there.filter((box) => findable(box, kinds).includes(wanted()) || inside(box).includes(wanted()))
      .sort((a, b) => far(a) - far(b));
    at = max(0, hits.indexOf(before));
    mark();
  };
  const turn = (by) => {
    at = hits.length && (at + by + hits.length) % hits.length;
    mark();
    if (hits.length) see(hits[at]);
  };
  function close() {
    const found = drawn.groups.get(hits[at]);
    element.hidden = true;
    hits = [];
    mark();
    leave(found);
  }
  const open = (sought = field.value) => {
    element.hidden = false;
    field.value = sought;
    field.focus();
    field.select();
    search();
  };
  element.hidden = true;
  upon(field, "input", () => {
    hits = []; // the best of what is sought now
    search();
    turn(0);
  });
  upon(field, "keydown", ({ key, shiftKey }) => {
    if (key === "Enter" && !shiftKey && hits[at] && holds(hits[at])) enter(hits[at], field.value);
    else if (key === "Enter") turn(shiftKey ? -1 : 1);
    if (key === "Escape") close();
  });
  return { element, open, again: () => element.hidden || search() };
}

/** Where the labels of these arrows stand: no mark is beside one, so that less is kept free there than beside a box. */
export const labelsOf = (arrows) => arrows.filter(({ label }) => label)
  .map(labelOf).map((label) => ({ ...label, x: label.x + 12, w: label.w - 24 }));

/** A box, and what is saved there. */
export const withHeld = (boxes, id) => [...boxes.values()].filter((box) => box.id === id || box.holder === id);

/** The boxes that stand within one, in words. */
function contents(box, boxes) {
  const within = ({ x, y, w, h }) => x >= box.x && y >= box.y && x + w <= box.x + box.w && y + h <= box.y + box.h;
  const inside = [...boxes.values()].filter((each) => each !== box && !each.holder && each.state !== "future" && within(each));
  return inside.length ? [{ heading: "Inside", kind: "text", body: inside.map(({ title }) => title).join(", ") }] : [];
}

/**
 * What plays a picture: its bar, what stands `under` that and below the picture, its keys and what they do, and its own choices in the menu.
 * `enter` may take a box that the reader opens (`sought` there), `inside` tells what can be found in it, `leave` goes
 * back to where it stands, `typed` hears what is pressed in a field, `adorn` adds to a picture's drawing of a box,
 * `panel` is the id of what tabs show, `legend` a sentence of the key, `whole` the story that a saved page plays, `dressed`
 * wears the theme: the whole page, if it is not given. `chosen` is how the picture is looked at, `noted` hears that it is
 * looked at in another way: at another box, if so told.
 * @typedef {{label: string, name?: string, bar: HTMLElement, under?: HTMLElement, below?: HTMLElement[], keys?: [string, string][],
 *            bound?: Record<string, () => void>, theme?: Theme, dressed?: HTMLElement, details?: Detail[], sought?: string, panel?: string, legend?: string, whole?: Storyboard,
 *            choices?: Choice[], chosen?: object, noted?: (anew?: boolean) => void,
 *            enter?: (box: Box, sought?: string) => boolean, inside?: (box: Box) => string,
 *            leave?: () => void, typed?: (event: KeyboardEvent) => void,
 *            adorn?: (box: Box, group: SVGGElement) => void}} Habits
 */

/** Put a picture up in `el`. @param {HTMLElement} el @param {Storyboard} story @param {Items} items @param {Habits} habits */
export function viewer(el, story, items, { label, name = "", bar, below = [], keys = [], bound = {}, ...habits }) {
  const root = playerRoot("div", name, { role: "group", "aria-label": label, tabindex: -1 });
  const choices = choicesIn(el), chosen = habits.chosen ?? recalled(choices.pictures, story, root);
  const { boxes, arrows } = items, drawn = picture(story, items), full = fullScreen(el, refit);
  chosen.full = full.is() ? { ...chosen.full } : undefined;
  const own = button("own", "", () => view.own(), ""), view = viewport(drawn, words(story.title) || "Picture", chosen, {
    resized: habits.resized,
    scaled(times) {
      fill(own, `${Math.round(100 * times)}%`);
      own.ariaLabel = own.title = `${own.textContent}: show at 100%`;
    },
    asked: () => habits.noted?.(),
  });
  const { zoom, fit } = view, { dressed = el } = habits, said = { kinds: {}, states: {}, ...story.words };
  const panel = detailsPanel(close, list(habits.details), said);
  const find = finder(boxes, drawn, said.kinds, { ...habits, see: view.see,
    leave: (group) => focusOn(group ?? root) });
  const help = keyList([...keys, ...COMMON_KEYS]), larger = () => zoom(1.25), smaller = () => zoom(0.8);
  const theme = () => dressed.dataset.wbTheme, noted = html("p", { class: "wb-noted", role: "status" });
  const say = (told) => {
    fill(noted, told);
    setTimeout(() => noted.textContent === told && fill(noted), TOLD_MS);
  };
  const more = menu([...list(habits.choices), { action: "find", label: "Find", key: "/", act: () => find.open() },
    { action: "in", label: "Zoom in", key: "+", act: larger, stays: true },
    { action: "out", label: "Zoom out", key: "−", act: smaller, stays: true },
    ...savings({ drawn, title: words(story.title) || "Picture", story: habits.whole, theme, say }),
    ...THEMES.map((each) => ({ action: `theme-${each}`, label: each, group: "Theme", act: () => wear(each), on: () => theme() === each })),
    { action: "keys", label: "Keys", key: "?", act: help.toggle }]);
  const key = keyOf(story, items, habits.legend);
  bar.append(html("div.wb-zoom", {}, key.opener, key.element, own, button("fit", "Fit", fit),
    full.element, more.opener), more.element);
  const body = html("div.wb-body", habits.panel ? { id: habits.panel, role: "tabpanel", "aria-label": "View" } : {}, view.element, view.map.element, view.room, panel.element);
  root.append(bar, ...(habits.under ? [habits.under] : []), find.element, body, html("div.wb-below", {}, noted, ...below), help.element);
  const memory = [...arrows.values()].filter(({ kind }) => kind === "same");
  let selected = null, stop = null, pointed = null, back = null;

  /** Give the picture its size in the whole window of the browser, or the one that it had before. */
  function refit(whole) {
    if (whole) back = view.stand();
    key.hide();
    return () => {
      chosen.full = whole ? {} : undefined;
      view.settle();
      if (!whole) back?.();
      if (help.shown()) [1, 2].forEach(help.toggle); // it lies above this again
    };
  }
  function draw(item) {
    drawn.draw(item);
    view.map.draw(item);
    habits.adorn?.(item, drawn.groups.get(item));
  }
  function wear(theme) {
    if (dressed === el) choices.theme = theme;
    else history.replaceState({ theme }, ""); // for when the page is loaded again
    dressed.dataset.wbTheme = chosen.theme = theme;
    more.update();
    view.dress();
  }
  /** Where the heading of an open group ends: there a click closes it, elsewhere it asks what the group is. */
  const headingEnd = (box) => {
    const { top, height } = placeOf(box.id);
    return top + (26 * height) / box.h;
  };
  function open(box, asks) {
    if (!asks && habits.enter?.(box)) return;
    put();
    selected = box;
    body.setAttribute("data-told", "");
    drawn.groups.get(box).ariaExpanded = true;
    show();
    join();
    view.make([box]); // the panel takes of the picture's room, and never stands where the box was
    // Below the picture it may be out of sight, and then a click would seem to do nothing.
    if (panel.element.offsetTop > view.element.offsetTop) panel.element.scrollIntoView({ block: "nearest" });
    habits.noted?.(true);
  }
  function show() {
    panel.show(list(selected.details).length ? selected : { ...selected, details: contents(selected, boxes) });
  }
  function close() {
    if (!selected) return;
    put();
    habits.noted?.(true);
  }
  /** Put the details away. */
  function put() {
    if (!selected) return;
    const group = drawn.groups.get(selected);
    group.ariaExpanded = false;
    if (panel.element.contains(keysAt())) group.focus();
    panel.element.hidden = true;
    body.removeAttribute("data-told");
    view.settle();
    selected = null;
    join();
  }
  function boxOf(target) {
    const group = target?.closest?.(".wb-box");
    return group && drawn.root.contains(group) ? boxes.get(group.dataset.id) : undefined;
  }
  /** Show the lines to what shares memory with the boxes that the reader looks at. */
  function join() {
    const looked = [selected, pointed, boxOf(keysAt())].filter(Boolean).map(({ id }) => id);
    const touches = (id) => looked.includes(id) || looked.includes(boxes.get(id)?.holder);
    for (const line of memory) drawn.groups.get(line).toggleAttribute("data-lit", touches(line.source) || touches(line.target));
  }
  const there = (box) => box && box.state !== "future";
  /** The box that Tab comes to: the boxes are one stop, and arrow keys lead from one to the next. */
  function settleAt(box) {
    const wanted = there(box) ? box : there(stop) ? stop : [...boxes.values()].find(there);
    if (wanted === stop) return;
    drawn.groups.get(stop)?.setAttribute("tabindex", "-1");
    stop = wanted;
    drawn.groups.get(stop)?.setAttribute("tabindex", "0");
  }
  /** Go to the next box, from the upper left to the lower right. */
  function rove(by) {
    const middle = ({ y, h }) => y + h / 2;
    // To the cells of other steps → and ← lead; a frame around those of this one is nothing to come to.
    const others = ({ kind, state, goto = chosen.position }) => (kind === "cell" && goto !== chosen.position) || (kind === "frame" && state === "running");
    const all = [...boxes.values()].filter((box) => there(box) && !others(box)).sort((a, b) => middle(a) - middle(b) || a.x - b.x), at = boxOf(keysAt());
    const box = at ? all[all.indexOf(at) + by] : stop;
    if (!box) return;
    focusOn(drawn.groups.get(box));
    view.see(box);
  }
  /** Draw what has changed. @param {Set<Box|Arrow>} changed */
  function redraw(changed) {
    const focused = boxOf(keysAt());
    changed.forEach(draw);
    if (focused?.state === "future") focusOn(root); // a hidden box would lose the keys
    if (selected?.state === "future") put();
    else if (changed.has(selected)) show();
    find.again();
  }
  const acts = {
    "?": help.toggle, Escape: () => (help.shown() ? help.toggle() : key.shown() ? key.hide() : selected ? close() : full.is() ? full.leave() : habits.leave?.()),
    "/": () => find.open(), k: key.toggle, t: () => wear(THEMES[(THEMES.indexOf(theme()) + 1) % THEMES.length]),
    "+": larger, "=": larger, "-": smaller, 0: fit, 1: view.own, f: () => full.element.click(), ArrowDown: () => rove(1), ArrowUp: () => rove(-1), ...bound,
  };
  upon(drawn.root, "click", ({ target, clientY }) => {
    const box = boxOf(target);
    if (box) open(box, box.fold === "close" && clientY > headingEnd(box));
  });
  const point = (event) => {
    const box = event.type === "pointerleave" ? null : boxOf(event.target);
    if (box === pointed) return;
    pointed = box;
    join();
  };
  if (memory.length) ["pointerover", "pointerleave"].forEach((name) => upon(drawn.root, name, point));
  upon(root, "focusin", ({ target }) => {
    // Notebook 7 takes some keys before the event comes down to where they are pressed.
    target.setAttribute("data-lm-suppress-shortcuts", true);
    if (boxOf(target)) settleAt(boxOf(target));
    join();
  });
  function press(event) {
    const { key, target } = event, box = boxOf(target), vertical = ["ArrowUp", "ArrowDown", "PageUp", "PageDown"].includes(key);
    const held = root.contains(target);
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    event.stopPropagation(); // or JupyterLab takes the key: `b` would insert a cell
    if (target.closest("input:not([type=range]), textarea, select")) return habits.typed?.(event); // there they are letters
    if (target.closest(key === " " ? "button" : vertical ? ".wb-details, input" : key.startsWith("Arrow") ? "pre" : "none")) return;
    if (vertical && !held) return; // they scroll the page
    if (event.shiftKey && key in PANS) {
      event.preventDefault();
      return view.pan(...PANS[key]);
    }
    if ((key === "Enter" || key === " ") && box) {
      event.preventDefault();
      open(box);
      if (selected) panel.element.focus();
    } else if (Object.hasOwn(acts, key)) {
      event.preventDefault();
      acts[key]();
    }
  }
  /** The keys of a page of its own need no click first, and in a page of text those that step are for the first picture in sight. */
  function pressOutside(event) {
    if (event.target !== document.body || event.defaultPrevented) return;
    if (dressed !== el || (STEPS.includes(event.key) && !root.closest(KEYED) && firstInSight() === root)) press(event);
  }
  upon(root, "keydown", press);
  upon(document, "keydown", pressOutside);

  fill(el, root);
  if (root.getRootNode().host) root.append(sheet.cloneNode(true)); // in a shadow tree, as marimo's
  for (const item of drawn.groups.keys()) draw(item);
  const asked = habits.theme && habits.theme !== "auto" ? habits.theme : undefined;
  dressed.dataset.wbTheme ??= chosen.theme ?? asked ?? (dressed === el ? choices.theme : history.state?.theme) ?? "auto";
  settleAt();
  view.settle();
  const release = keepRoom(root);
  if (habits.sought) find.open(habits.sought);
  const placeOf = (id) => standsAt(drawn.groups.get(boxes.get(id)).querySelector(".wb-frame"));
  return {
    root, drawn, view, draw, redraw, boxOf, chosen, menu: more, placeOf,
    /** Scroll so that a box stands where it stood, and give it the keys. */
    hold(id, { left, top }, keys = !habits.sought) {
      view.keep([]); // what the step is about may lie elsewhere
      const now = placeOf(id);
      view.element.scrollBy(now.left - left, now.top - top);
      if (keys) focusOn(drawn.groups.get(boxes.get(id)));
    },
    /** How the picture is looked at: as large as it is now, unless all of it is to be seen. */
    look() {
      const { full, zoom } = chosen, now = { zoom: (full ?? chosen).zoom === "fit" ? "fit" : view.scale() };
      return { ...chosen, position: undefined, ...(full ? { zoom, full: now } : now) };
    },
    selected: () => selected?.id,
    /** Tell everything about this box. */
    select: (id) => there(boxes.get(id)) && open(boxes.get(id), true),
    /** Tab comes to this box, unless the reader is at another. */
    point: (box) => settleAt(boxOf(keysAt()) ?? box),
    destroy() {
      release();
      full.end();
      document.removeEventListener("keydown", pressOutside);
      drawn.still();
      view.destroy();
      fill(el);
    },
  };
}
