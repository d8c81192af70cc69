/**
 * The player: draws a storyboard once and steps through it in the browser, with no kernel and no network.
 *
 * @typedef {{position?: number, moved?: (position: number) => void, theme?: Theme, dressed?: HTMLElement, leave?: () => void,
 *            enter?: (box: Box, position: number, sought?: string) => boolean, inside?: (box: Box) => string,
 *            sought?: string}} Options
 */

import { LOOSE, html, list, words } from "./drawing.js";
import { easel, findable } from "./easel.js";
import { prediction } from "./predicting.js";
import { button, icon } from "./window.js";

const FORMAT = "workbench-storyboard", VERSION = 1;
const PLAY_MS = 900;
const SHORT = 150; // characters of a sentence that needs no scrolling, however narrow the player is
const CHANGEABLE = ["title", "lines", "state", "shade", "alt", "details", "label", "weight", "tone", "goto", "plot"];
const KEYS = [
  ["→", "step"], ["←", "back"], ["Home", "first step"], ["End", "last step"], ["Space", "play or pause"],
  ["p", "predict, or not"],
];

/** The storyboard's items as they are at a moment, and `go`, which is exact in both directions. */
function timeline(storyboard) {
  const copies = (things) => new Map(list(things).map((thing) => [thing.id, { ...thing }]));
  const items = { boxes: copies(storyboard.boxes), arrows: copies(storyboard.arrows) };
  const steps = list(storyboard.steps);
  const pick = (source, names) => Object.fromEntries(names.map((name) => [name, source[name]]));
  const changes = (step, part) => Object.entries(step[part] ?? {}).filter(([id]) => items[part].has(id))
    .map(([id, change]) => [items[part].get(id), pick(change, CHANGEABLE.filter((name) => name in change))]);
  const apply = (moves, dirty) => moves.forEach(([item, change]) => dirty.add(Object.assign(item, change)));
  const forth = steps.map((step) => [...changes(step, "boxes"), ...changes(step, "arrows")]);
  const back = forth.map((moves) => {
    const undo = moves.map(([item, change]) => [item, pick(item, Object.keys(change))]);
    apply(moves, new Set());
    return undo;
  });
  let at = steps.length; // how many steps are applied
  const go = (position) => {
    const dirty = new Set();
    while (at <= position && at < steps.length) apply(forth[at++], dirty);
    while (at > position + 1) apply(back[--at], dirty);
    return dirty;
  };
  go(-1);
  const backward = steps.findIndex((step) => step.phase === "backward");
  const opening = storyboard.start ?? (backward < 0 ? steps.length - 1 : Math.max(0, backward - 1));
  return { ...items, steps, go, opening };
}

/** The controls and the caption: `show` says where the player is, by the steps' numbers. */
function controls(numbers, act) {
  const last = Math.max(0, numbers.length - 1), of = (position) => numbers[position] ?? 1;
  const buttons = {
    first: button("first", "First step", () => act.visit(0)),
    back: button("back", "Back", () => act.move(-1)),
    play: button("play", "Play", act.play),
    step: button("step", "Step", () => act.move(1), "Step", icon("step")),
    last: button("last", "Last step", () => act.visit(last)),
  };
  const range = { type: "range", min: 0, max: last, step: 1 };
  const slider = html("input", { ...range, class: "wb-slider", "aria-label": "Position" });
  slider.addEventListener("input", () => act.visit(Number(slider.value)));
  const place = html("span.wb-position"), phase = html("span.wb-phase");
  const sentence = html("p.wb-sentence", { "aria-live": "polite" });
  const where = html("span.wb-where"), code = html("code.wb-code");
  const cursor = html("div.wb-cursor", {}, where, code);
  const when = html("div.wb-when", {}, phase, cursor);
  const caption = html("div.wb-caption", {}, sentence, when);
  const bar = html("div.wb-bar", {}, html("div.wb-transport", {}, ...Object.values(buttons)), html("div.wb-place", {}, slider, place));
  for (const part of bar.children) part.hidden = last === 0; // one moment: nothing to step
  /** @param {number} position @param {Step|undefined} step */
  const show = (position, step) => {
    const name = words(step?.phase);
    slider.value = String(position);
    slider.setAttribute("aria-valuetext", `${of(position)} of ${of(last)}, ${name}`);
    place.textContent = `${of(position)} / ${of(last)}`;
    phase.dataset.phase = name;
    phase.replaceChildren(...(name === "forward" || name === "backward" ? [icon(name)] : []), name);
    phase.hidden = !name;
    sentence.textContent = words(step?.caption);
    if (sentence.hasAttribute("tabindex")) sentence.scrollTop = 0;
    // Whoever scrolls it by keys has to come there; a short one is not measured, which would lay the page out twice.
    const measured = sentence.textContent.length > SHORT, long = measured && sentence.scrollHeight > sentence.clientHeight + 1;
    when.hidden = measured && sentence.offsetHeight > 2.5 * parseFloat(getComputedStyle(sentence).minHeight); // for its room
    if (long) sentence.setAttribute("tabindex", "0");
    else sentence.removeAttribute("tabindex");
    where.textContent = step?.cursor ? `${words(step.cursor.file)}:${words(step.cursor.line)}` : "";
    code.textContent = words(step?.cursor?.text).trim();
    // aria-disabled and not disabled: a disabled button loses the focus, and with it the keys
    const dim = (button, off) => button.setAttribute("aria-disabled", String(off));
    [buttons.first, buttons.back].forEach((button) => dim(button, position === 0));
    [buttons.step, buttons.last].forEach((button) => dim(button, position === last));
  };
  const playing = (yes) => {
    const label = yes ? "Pause" : "Play";
    buttons.play.setAttribute("aria-label", label);
    buttons.play.title = label;
    buttons.play.replaceChildren(icon(label.toLowerCase()));
  };
  return { bar, caption, show, playing };
}

/**
 * Play one picture inside `el`; `enter` may take a box that the reader opens, `leave` goes back to where it stands.
 * @param {HTMLElement} el @param {Storyboard} storyboard @param {Options} [options]
 */
function stage(el, storyboard, options = {}) {
  if (storyboard?.format !== FORMAT || storyboard.version !== VERSION) {
    const { format = "no format", version = "" } = storyboard ?? {};
    const found = `${format} ${version}`.trim().slice(0, 80);
    el.replaceChildren(html("p", { class: "wb-player wb-problem" },
      `This player reads ${FORMAT} ${VERSION} and was given ${found}; make the picture again here.`));
    return { root: el, go() {}, at() {}, destroy: () => el.replaceChildren() };
  }
  const story = timeline(storyboard), { boxes, steps } = story, last = Math.max(0, steps.length - 1);
  let number = 0; // of a step among all, of which some may be left out
  const numbers = steps.map((step) => (number += step.stands ?? 1));
  const { bar, caption, show, playing } = controls(numbers, { visit, move, play });
  const guess = prediction(story, () => {
    root.focus({ preventScroll: true });
    arrive(seen + 1);
  });
  const bound = {
    ArrowRight: () => move(1), ArrowLeft: () => move(-1), Home: () => visit(0), End: () => visit(last), " ": play,
  };
  let predicts = storyboard.predict === true;
  const predicting = { action: "predict", label: "Predict", key: "p", on: () => predicts, act: () => predict(!predicts) };
  const legend = html("p.wb-legend", {}, words(storyboard.legend)); // how to read the picture
  const mute = () => (chosen.mute = legend.hidden = !legend.hidden);
  const { root, drawn, view, redraw, point, chosen, menu, destroy } = easel(el, storyboard, story, {
    label: `Player: ${words(storyboard.title) || "Picture"}`, bar, below: [guess.element, caption, legend], keys: KEYS,
    bound: { ...bound, p: () => last && predict(!predicts) }, choices: [last && predicting, storyboard.legend && { action: "legend", label: "Legend", act: mute, on: () => !legend.hidden }].filter(Boolean),
    typed({ key, target }) {
      if (target.name !== "guess") return;
      if (key === "Enter") guess.check();
      if (key === "Escape") root.focus({ preventScroll: true });
    },
    details: storyboard.details, theme: options.theme, dressed: options.dressed, leave: options.leave,
    enter: (box, sought) => (box.goto != null ? (visit(box.goto), true) : options.enter?.(box, position, sought)),
    inside: options.inside, sought: options.sought,
  });
  let position = -1, timer = 0, current = null, seen = 0; // the last step that was seen: the next one is to be predicted

  function go(target) {
    const wanted = Math.min(last, Math.max(0, Math.round(Number(target)) || 0)), before = position;
    if (wanted === before) return;
    const step = steps[wanted], dirty = story.go(wanted);
    position = chosen.position = wanted;
    seen = Math.max(seen, wanted);
    redraw(dirty);
    root.dataset.position = String(wanted);
    show(wanted, step);
    current?.removeAttribute("data-current");
    current = drawn.groups.get(boxes.get(step?.focus));
    current?.setAttribute("data-current", "");
    point(boxes.get(step?.focus));
    const state = step?.phase === "backward" ? "flowing" : "idle";
    const moved = [...dirty].filter((item) => "d" in item && item.state === state && !LOOSE.includes(item.kind));
    drawn.travel(before >= 0 && wanted === before + 1 ? moved : []);
    // Last: if this has to scroll, all that is new is laid out, once.
    const labels = moved.filter(({ label }) => label).map(({ lx, ly, lw, lh }) => ({ x: lx - lw / 2, y: ly - lh / 2, w: lw, h: lh }));
    const reached = moved.map(({ source }) => boxes.get(source)).filter(Boolean);
    view.keep(current ? [boxes.get(step.focus), ...labels, ...reached, ...moved] : []);
    if (before >= 0) options.moved?.(wanted);
  }
  function pause() {
    clearInterval(timer);
    timer = 0;
    root.dataset.playing = "false";
    playing(false);
  }
  function arrive(target) {
    pause();
    go(target);
    if (predicts) guess.ask(steps[seen + 1]);
  }
  function visit(target) {
    if (!predicts || target <= seen) return arrive(target);
    if (position === seen) return guess.check(); // or what was typed would be lost
    arrive(seen);
    guess.focus();
  }
  function move(by) {
    visit(position + by);
  }
  function predict(yes) {
    predicts = yes;
    guess.element.hidden = !yes;
    seen = position;
    if (yes) guess.ask(steps[seen + 1]);
    menu.update();
  }
  function play() {
    if (timer) return pause();
    if (predicts) return move(1);
    const advance = () => {
      go(position + 1);
      if (position === last) pause();
    };
    root.dataset.playing = "true";
    playing(true);
    timer = setInterval(advance, PLAY_MS);
    if (position === last) go(0);
    else advance();
  }

  pause();
  const before = chosen.opening === story.opening ? chosen.position : undefined; // in the picture that this one replaces
  chosen.opening = story.opening;
  go(options.position ?? before ?? story.opening);
  predict(predicts);
  legend.hidden = chosen.mute || !storyboard.legend;
  return {
    root,
    at: () => position,
    go: arrive,
    destroy() {
      pause();
      destroy();
    },
  };
}

/**
 * Build the player inside `el`. A group that has an inside opens: its own picture takes the place of the whole one's,
 * at the same moment, and the way back stands above it.
 * @param {HTMLElement} el @param {Storyboard} storyboard @param {Options} [options]
 * @returns {{go: (position: number) => void, destroy: () => void}}
 */
export function mount(el, storyboard, options = {}) {
  const insides = storyboard?.insides ?? {}, trail = [{ name: "graph", board: storyboard }], found = {};
  let player = null;
  const when = (step) => Number(step?.when) || 0;
  const show = (position, sought) => {
    const { board } = trail[trail.length - 1], inner = trail.length > 1;
    player?.destroy();
    player = stage(el, inner ? { ...board, words: storyboard.words } : board, { ...options, position, enter, inside, sought,
      leave: inner ? () => leave(trail.length - 2) : undefined, moved: inner ? undefined : options.moved });
    if (!inner) return;
    const crumbs = trail.map(({ name }, i) => i < trail.length - 1
      ? button(`up-${i}`, `Back to ${name}`, () => leave(i), name) : html("span", { "aria-current": "page" }, name));
    const way = html("nav.wb-trail", { "aria-label": "Where this is" });
    const then = () => html("span", { "aria-hidden": "true" }, "›");
    way.append(...crumbs.flatMap((crumb, i) => (i ? [then(), crumb] : [crumb])));
    player.root.prepend(way);
  };
  /** All that can be found in what a box opens to: within its frame there, as its neighbours stand there too. */
  function inside(box) {
    if (!Object.hasOwn(insides, box.id) || Object.hasOwn(found, box.id)) return found[box.id] ?? "";
    const boxes = list(insides[box.id].boxes), { x, y, w, h } = boxes.find(({ id }) => id === `${box.id}.frame`) ?? box;
    const own = boxes.filter((each) => each.x > x && each.x < x + w && each.y > y && each.y < y + h);
    return (found[box.id] = own.map((each) => `${findable(each, storyboard.words?.kinds ?? {})} ${inside(each)}`).join(" "));
  }
  function enter(box, outer, sought) {
    if (!Object.hasOwn(insides, box.id)) return false;
    const around = list(trail[trail.length - 1].board.steps), board = insides[box.id], steps = list(board.steps);
    // The first of the inner steps that the outer one stands for, else the last before it.
    const first = steps.findIndex((each) => when(each) > when(around[outer - 1])), past = when(around[outer]);
    const last = first < 0 ? steps.length - 1 : Math.max(0, first - 1);
    const inner = first >= 0 && when(steps[first]) <= past ? first : last;
    trail.push({ name: words(box.title), board, outer, inner });
    show(inner, sought);
    if (!sought) player.root.focus({ preventScroll: true });
    return true;
  }
  function leave(depth) {
    let position = player.at();
    while (trail.length > depth + 1) {
      const { board, outer, inner } = trail.pop(), past = when(list(board.steps)[position]);
      const steps = list(trail[trail.length - 1].board.steps), found = steps.findIndex((each) => when(each) >= past);
      position = position === inner ? outer : found < 0 ? steps.length - 1 : found; // where it was, or has come to
    }
    show(position);
    player.root.focus({ preventScroll: true });
    if (!depth) options.moved?.(position);
  }
  show(options.position);
  return {
    go(position) {
      if (trail.length > 1) leave(0);
      player.go(position);
    },
    destroy: () => player.destroy(),
  };
}
