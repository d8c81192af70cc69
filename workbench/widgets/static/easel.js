/** What a picture is looked at with, whatever plays it: the window, the details, the search, the themes and the keys. */

import { html, list, picture, svg, words } from "./drawing.js";
import { button, icon, viewport } from "./window.js";

/** @typedef {"auto"|"light"|"dark"|"projector"|"print"} Theme */
/** @type {Theme[]} */
const THEMES = ["auto", "light", "dark", "projector", "print"];
const KEPT = "workbench-theme";
const PANS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
/** The keys that every picture has, after those of what plays it. */
const COMMON_KEYS = [
  ["Enter", "details of the focused box"], ["/", "find, then Enter for the next"],
  ["+ −", "zoom, as Ctrl and the wheel do"], ["0", "fit"], ["Shift ← ↑ → ↓", "move the picture, as dragging does"],
  ["t", "theme"], ["Esc", "close"], ["?", "this list"],
];

/** The theme that was chosen last, in whatever picture: this one, if it is given. A page that may store nothing has none. */
function lastTheme(theme) {
  try {
    if (theme) localStorage.setItem(KEPT, theme);
    return localStorage.getItem(KEPT);
  } catch {
    return null;
  }
}

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
  } else if (kind === "code") parts.push(html("pre", { tabindex: 0 }, html("code", {}, words(body))));
  else parts.push(html("p", {}, words(body)));
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
    title.textContent = words(box.title);
    const state = states[box.kind === "saved" && box.state === "error" ? "stale" : box.state];
    what.textContent = [kinds[box.kind], state].filter(Boolean).join(" · ");
    element.hidden = false;
    if (shown === box.details) return; // the same facts: what the reader scrolled to stays in sight
    shown = box.details;
    const held = sections.contains(document.activeElement);
    sections.replaceChildren(...list(shown).map((detail) => section(told[detail] ?? detail)));
    if (held) element.focus();
  };
  return { element, show };
}

/** What a box is found by, in small letters. @param {Box} box @param {Record<string, string>} kinds in words */
export const findable = (box, kinds) => [box.title, kinds[box.kind], ...list(box.lines)].join(" ").toLowerCase();

/**
 * The search for boxes by name or operation, among those that are there: marks them and goes from one to the next, and
 * into a group that has what is sought inside.
 */
function finder(boxes, drawn, kinds, { see, leave, enter, inside = () => "" }) {
  const label = "Find by name or operation";
  const field = html("input", { type: "search", "aria-label": label, placeholder: "name or operation" });
  const said = html("span.wb-hits", { role: "status" });
  const element = html("div.wb-find", { role: "search" }, field, said,
    button("next", "Next match", () => turn(1), icon("step")), button("leave", "End the search", close, icon("close")));
  let hits = [], at = 0;
  const wanted = () => field.value.trim().toLowerCase();
  const holds = (box) => inside(box).includes(wanted());
  const mark = () => {
    drawn.root.querySelectorAll("[data-found]").forEach((group) => group.removeAttribute("data-found"));
    hits.forEach((box, n) => (drawn.groups.get(box).dataset.found = n === at ? "at" : "too"));
    const box = hits[at], more = box && holds(box) ? ", and inside: Enter opens it" : "";
    said.textContent = box ? `${at + 1} of ${hits.length}: ${words(box.title || box.alt)}${more}`
      : wanted() && "nothing found here";
  };
  const search = () => {
    const before = hits[at], there = [...boxes.values()].filter((box) => wanted() && box.state !== "future");
    hits = there.filter((box) => findable(box, kinds).includes(wanted()) || inside(box).includes(wanted()));
    at = Math.max(0, hits.indexOf(before));
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
  field.addEventListener("input", () => {
    search();
    turn(0);
  });
  field.addEventListener("keydown", ({ key, shiftKey }) => {
    if (key === "Enter" && !shiftKey && hits[at] && holds(hits[at])) enter(hits[at], field.value);
    else if (key === "Enter") turn(shiftKey ? -1 : 1);
    if (key === "Escape") close();
  });
  return { element, open, again: () => element.hidden || search() };
}

/**
 * What plays a picture: its bar, what stands below that, its keys and what they do. `enter` may take a box that the
 * reader opens (`sought` there), `inside` tells what can be found in it, `leave` goes back to where it stands, `typed`
 * hears what is pressed in a field, `adorn` adds to a picture's drawing of a box, `dressed` wears the theme.
 * @typedef {{label: string, name?: string, bar: HTMLElement, below?: HTMLElement[], keys?: [string, string][],
 *            bound?: Record<string, () => void>, theme?: Theme, dressed?: HTMLElement, details?: Detail[], sought?: string,
 *            enter?: (box: Box, sought?: string) => boolean, inside?: (box: Box) => string,
 *            leave?: () => void, typed?: (event: KeyboardEvent) => void,
 *            adorn?: (box: Box, group: SVGGElement) => void}} Habits
 */

/** Put a picture up in `el`. @param {HTMLElement} el @param {Storyboard} story @param {Items} items @param {Habits} habits */
export function easel(el, story, items, { label, name = "", bar, below = [], keys = [], bound = {}, ...habits }) {
  const { boxes } = items, drawn = picture(story, items), view = viewport(drawn, words(story.title) || "Picture");
  const { zoom, fit } = view, { dressed = el } = habits, said = { kinds: {}, states: {}, ...story.words };
  const panel = detailsPanel(close, list(habits.details), said);
  const find = finder(boxes, drawn, said.kinds, { ...habits, see: view.see,
    leave: (group) => (group ?? root).focus({ preventScroll: true }) });
  const dressing = button("theme", "Theme", () => wear(1), "Theme");
  const help = html("dl.wb-keys", {},
    ...[...keys, ...COMMON_KEYS].flatMap(([key, meaning]) => [html("dt", {}, html("kbd", {}, key)), html("dd", {}, meaning)]));
  bar.append(html("div.wb-zoom", {},
    button("find", "Find", () => find.open()), button("out", "Zoom out", () => zoom(0.8)), button("fit", "Fit", fit, "Fit"),
    button("in", "Zoom in", () => zoom(1.25)), dressing, button("keys", "Keys", toggle, "?")));
  const body = html("div.wb-body", {}, view.element, view.map.element, panel.element);
  const root = html("div", { class: `wb-player ${name}`.trim(), role: "group", "aria-label": label, tabindex: -1 },
    bar, help, ...below, find.element, body);
  let selected = null;

  function draw(item) {
    drawn.draw(item);
    view.map.draw(item);
    habits.adorn?.(item, drawn.groups.get(item));
  }
  function toggle() {
    help.hidden = !help.hidden;
  }
  function wear(by) {
    const now = dressed.dataset.wbTheme ?? (habits.theme && habits.theme !== "auto" ? habits.theme : lastTheme());
    const theme = THEMES[(Math.max(0, THEMES.indexOf(now)) + by) % THEMES.length];
    if (by) lastTheme(theme);
    dressed.dataset.wbTheme = dressing.textContent = theme;
    dressing.title = `Theme: ${theme}`;
    dressing.setAttribute("aria-label", dressing.title);
    view.settle();
  }
  function open(box) {
    if (habits.enter?.(box)) return;
    close();
    selected = box;
    drawn.groups.get(box).setAttribute("aria-expanded", "true");
    panel.show(box);
    // Below the picture it may be out of sight, and then a click would seem to do nothing.
    if (panel.element.offsetTop > view.element.offsetTop) panel.element.scrollIntoView({ block: "nearest" });
  }
  function close() {
    if (!selected) return;
    const group = drawn.groups.get(selected);
    group.setAttribute("aria-expanded", "false");
    if (panel.element.contains(document.activeElement)) group.focus();
    panel.element.hidden = true;
    selected = null;
  }
  function boxOf(target) {
    const group = target?.closest?.(".wb-box");
    return group && drawn.root.contains(group) ? boxes.get(group.dataset.id) : undefined;
  }
  /** Draw what has changed. @param {Set<Box|Arrow>} changed */
  function redraw(changed) {
    const focused = boxOf(document.activeElement);
    changed.forEach(draw);
    if (focused?.state === "future") root.focus({ preventScroll: true }); // a hidden box would lose the keys
    if (selected?.state === "future") close();
    else if (changed.has(selected)) panel.show(selected);
    find.again();
  }
  const acts = {
    "?": toggle, Escape: () => (!help.hidden ? toggle() : selected ? close() : habits.leave?.()), "/": () => find.open(),
    t: () => wear(1), "+": () => zoom(1.25), "=": () => zoom(1.25), "-": () => zoom(0.8), 0: fit, ...bound,
  };
  drawn.root.addEventListener("click", (event) => {
    const box = boxOf(event.target);
    if (box) open(box);
  });
  // Notebook 7 takes some keys before the event comes down to where they are pressed.
  root.addEventListener("focusin", ({ target }) => target.setAttribute("data-lm-suppress-shortcuts", "true"));
  root.addEventListener("keydown", (event) => {
    const { key, target } = event, box = boxOf(target);
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    event.stopPropagation(); // or JupyterLab takes the key: `b` would insert a cell
    if (target.closest("input:not([type=range]), textarea, select")) return habits.typed?.(event); // there they are letters
    if (target.closest(key === " " ? "button" : key.startsWith("Arrow") ? "pre" : "none")) return;
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
  });

  help.hidden = true;
  el.replaceChildren(root);
  for (const item of drawn.groups.keys()) draw(item);
  wear(0);
  if (habits.sought) find.open(habits.sought);
  return {
    root, drawn, view, draw, redraw, boxOf,
    destroy() {
      drawn.still();
      view.destroy();
      el.replaceChildren();
    },
  };
}
