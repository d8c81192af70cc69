/**
 * The player: draws a storyboard once and steps through it in the browser, with no kernel and no network.
 *
 * @typedef {{position?: number, moved?: (position: number) => void, theme?: Theme, dressed?: HTMLElement, leave?: () => void,
 *            enter?: (box: Box, position: number, sought?: string) => boolean, inside?: (box: Box) => string,
 *            sought?: string, at?: [number, string], within?: object, opened?: string[], chosen?: object, tabs?: () => object,
 *            views?: [string, (() => Storyboard|Promise<Storyboard>)|null][]}} Options
 */

import { LOOSE, assign, entries, fill, focusOn, fromEntries, html, keysAt, list, max, min, upon, words } from "./drawing.js";
import { briefly, hasRoom } from "./brief.js";
import { teller } from "./caption.js";
import { viewer, findable, labelsOf, withHeld } from "./viewer.js";
import { folded, openedFor } from "./fold.js";
import { keeper } from "./kept.js";
import { prediction } from "./predicting.js";
import { playerRoot } from "./root.js";
import { parts } from "./rounds.js";
import { rowsFolded } from "./rows.js";
import { stacked } from "./stacked.js";
import { tabList } from "./tabs.js";
import { NARROW, button, icon, roomIn } from "./window.js";

const FORMAT = "workbench-storyboard", VERSION = 1;
const PLAY_MS = 900;
const SHORT = 50; // characters of a sentence that needs no scrolling, however narrow the player is
const CHANGEABLE = ["title", "lines", "state", "shade", "alt", "details", "label", "weight", "tone", "goto", "plot"];
const KEYS = [
  ["→", "Next step, or start over"], ["←", "Previous step"], ["Home", "First step"], ["End", "Last step"], ["Space", "Play/pause"],
  ["p", "Toggle predict mode"],
];
const PART_KEYS = [["PgUp PgDn", "Training step"]], INSIDE_KEYS = [["Esc", "Back to table"]];
const OPENS = "Click a cell, or press Enter on it, to see the graph of that step.";

/** The storyboard's items as they are at a moment, and `go`, which is exact in both directions. */
function timeline(storyboard) {
  const copies = (things) => new Map(list(things).map((thing) => [thing.id, { ...thing }]));
  const items = { boxes: copies(storyboard.boxes), arrows: copies(storyboard.arrows) };
  const steps = list(storyboard.steps);
  const pick = (source, names) => fromEntries(names.map((name) => [name, source[name]]));
  const changes = (step, part) => entries(step[part] ?? {}).filter(([id]) => items[part].has(id))
    .map(([id, change]) => [items[part].get(id), pick(change, CHANGEABLE.filter((name) => name in change))]);
  const apply = (moves, dirty) => moves.forEach(([item, change]) => dirty.add(assign(item, change)));
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
  const opening = storyboard.start ?? (backward < 0 ? steps.length - 1 : max(0, backward - 1));
  // Where it starts over from its end: at what it is about, which of a film is all of it.
  const again = steps.some(({ chapter }) => chapter) || backward === steps.length - 1 ? 0 : max(0, backward);
  return { ...items, steps, go, opening, again };
}

/** The controls and the caption: `show` says where the player is, by the steps' numbers; `again` is what starts over, `tell` makes parts of a sentence. */
function controls(numbers, act, again, tell) {
  const last = max(0, numbers.length - 1), of = (position) => numbers[position] ?? 1;
  const buttons = {
    first: button("first", "First step", () => act.visit(0)),
    back: button("back", "Back", () => act.move(-1)),
    play: button("play", "Play", act.play),
    step: button("step", "Step", () => act.move(1), "Step", icon("step")),
    last: button("last", "Last step", () => act.visit(last)),
  };
  const range = { type: "range", min: 0, max: last, step: 1 };
  const slider = html("input", { ...range, class: "wb-slider", "aria-label": "Position" });
  upon(slider, "input", () => act.visit(+slider.value));
  const place = html("span.wb-position"), phase = html("span.wb-phase");
  const sentence = html("p.wb-sentence", { "aria-live": "polite" });
  const where = html("span.wb-where"), code = html("code.wb-code");
  const cursor = html("div.wb-cursor", {}, where, code);
  const over = html("span.wb-over-said"), when = html("div.wb-when", {}, phase, cursor);
  const caption = html("div.wb-caption", {}, sentence, when, over);
  const bar = html("div.wb-bar", {}, html("div.wb-transport", {}, ...Object.values(buttons)), html("div.wb-place", {}, slider, place));
  for (const part of bar.children) part.hidden = last === 0; // one moment: nothing to step
  /** @param {number} position @param {Step|undefined} step */
  const show = (position, step) => {
    const name = words(step?.phase);
    slider.value = position;
    slider.ariaValueText = `${of(position)} of ${of(last)}, ${name}`;
    fill(place, `${of(position)} / ${of(last)}`);
    phase.dataset.phase = name;
    fill(phase, ...(name === "forward" || name === "backward" ? [icon(name)] : []), name);
    phase.hidden = !name;
    fill(sentence, ...tell(step?.caption));
    if (sentence.hasAttribute("tabindex")) sentence.scrollTop = 0;
    // Whoever scrolls it by keys has to come there; a short one is not measured, which would lay the page out twice.
    const long = sentence.textContent.length > SHORT && sentence.scrollHeight > sentence.clientHeight + 1;
    if (long) sentence.setAttribute("tabindex", "0");
    else sentence.removeAttribute("tabindex");
    sentence.title = long ? sentence.textContent : ""; // all of it, where only a part is in sight
    fill(where, step?.cursor ? `${words(step.cursor.file)}, line ${words(step.cursor.line)}` : "");
    fill(code, words(step?.cursor?.text).trim());
    buttons.first.ariaDisabled = buttons.back.ariaDisabled = position === 0;
    buttons.last.ariaDisabled = position === last;
    const ends = last && position === last ? `Step: start ${again}over` : "";
    buttons.step.ariaLabel = buttons.step.title = ends || "Step";
    fill(buttons.step, "Step", icon(ends ? "again" : "step"));
    fill(over, ends);
  };
  const playing = (yes) => {
    const label = (buttons.play.ariaLabel = buttons.play.title = yes ? "Pause" : "Play");
    fill(buttons.play, icon(label.toLowerCase()));
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
    fill(el, playerRoot("p", "wb-problem", {},
      `This player reads ${FORMAT} ${VERSION} and was given ${found}; make the picture again here.`));
    return { root: el, go() {}, position: () => 0, zoom() {}, selected() {}, select() {}, look() {}, seek() {}, destroy: () => fill(el) };
  }
  const story = timeline(storyboard), { boxes, steps } = story, last = max(0, steps.length - 1);
  let number = 0; // of a step among all, of which some may be left out
  const numbers = steps.map((step) => (number += step.stands ?? 1));
  const { bar, caption, show, playing } = controls(numbers, { visit, move, play }, story.again ? "backward " : "", teller(storyboard.boxes));
  const film = parts(steps, visit, storyboard.curves);
  const guess = prediction(() => {
    const typing = keysAt()?.name === "guess";
    arrive(seen + 1);
    if (!typing || !guess.asked()) focusOn(root); // else the next guess is typed where the last one was
  });
  const along = (by) => (film?.held() ? film.by(by) : move(by));
  const bound = {
    ArrowRight: () => along(1), ArrowLeft: () => along(-1), Home: () => along(-Infinity), End: () => along(Infinity), " ": play,
    ...(film && { PageUp: () => film.by(-1), PageDown: () => film.by(1) }),
  };
  let predicts;
  const predicting = { action: "predict", label: "Predict", key: "p", on: () => predicts, act: () => predict((chosen.predicts = !predicts)) };
  const tabs = options.tabs?.();
  if (tabs) bar.prepend(tabs.element);
  if (options.leave) bar.prepend(button("table", "Back to table", options.leave, "← Table"));
  const { root, drawn, view, redraw, point, chosen, menu, placeOf, hold, look, selected, select, destroy } = viewer(el, storyboard, story, {
    label: `Player: ${words(storyboard.title) || "Picture"}`, bar, under: film?.element, below: [guess.element, caption], keys: [...KEYS, ...(film ? PART_KEYS : []), ...(options.leave ? INSIDE_KEYS : [])],
    bound: { ...bound, p: () => last && predicting.act() }, choices: [last && predicting].filter(Boolean),
    legend: [storyboard.legend, options.hint].filter(Boolean).join(" "),
    typed({ key, target }) {
      if (target.name !== "guess") return;
      if (key === "Enter") guess.check();
      if (key === "Escape") focusOn(root);
    },
    details: storyboard.details, theme: options.theme, chosen: options.chosen, dressed: options.dressed, leave: options.leave,
    enter(box, sought) {
      if (box.goto != null) visit(box.goto);
      return options.enter?.(box, position, sought) || box.goto != null;
    },
    inside: options.inside, panel: tabs?.panel, sought: options.sought, resized: options.resized, whole: options.whole, noted: options.noted,
  });
  let position = -1, timer = 0, current = null, seen = 0; // the last step that was seen: the next one is to be predicted

  function go(target) {
    const wanted = min(last, max(0, Math.round(target) || 0)), before = position, held = boxes.get(keysAt()?.dataset?.id);
    if (wanted === before) return;
    const step = steps[wanted], dirty = story.go(wanted);
    position = chosen.position = wanted;
    seen = max(seen, wanted);
    redraw(dirty);
    root.dataset.position = wanted;
    show(wanted, step);
    film?.show(wanted);
    current?.removeAttribute("data-current");
    current = drawn.groups.get(boxes.get(step?.focus));
    current?.setAttribute("data-current", "");
    point(boxes.get(step?.focus));
    const state = step?.phase === "backward" ? "flowing" : "idle";
    const moved = [...dirty].filter((item) => "d" in item && item.state === state && !LOOSE.includes(item.kind));
    drawn.travel(before >= 0 && wanted === before + 1 ? moved : []);
    // Last: if this has to scroll, all that is new is laid out, once.
    // Beside the node of an error stands what happened there: its beginning at least, or as much as there is room for.
    const tales = [...boxes.values()].filter(({ kind }) => kind === "story")
      .flatMap((tale) => [40, tale.h, 320].map((h) => ({ ...tale, h })));
    const spoken = [boxes.get(step?.focus), ...tales, ...withHeld(boxes, step?.focus), ...labelsOf(moved), ...moved.map(({ source }) => boxes.get(source)), ...moved];
    // Where it opens at no box in particular, the outputs are in sight: what runs next begins there.
    const begins = before < 0 ? [...boxes.values()].filter(({ kind, state }) => kind === "output" && state !== "future").slice(-1) : [];
    view.keep(current ? spoken.filter(Boolean) : begins);
    if (before >= 0) {
      options.moved?.(wanted);
      options.noted?.();
    }
    // In a row of cells that stand for the steps the keys go along.
    const beside = held?.kind === "cell" && held.goto === before && [...boxes.values()].find(({ kind, goto, y }) => kind === "cell" && goto === wanted && y === held.y);
    if (beside) focusOn(drawn.groups.get(beside));
  }
  /** Have a box in sight, marked, and give it the keys. */
  function seek(id, marks = true) {
    const box = boxes.get(id);
    if (!box) return;
    const group = drawn.groups.get(box);
    drawn.root.querySelectorAll("[data-found]").forEach((each) => each.removeAttribute("data-found"));
    if (marks) group.dataset.found = "at"; // also in the steps before and after
    view.keep([box]);
    focusOn(group);
  }
  function pause() {
    clearInterval(timer);
    timer = 0;
    root.dataset.playing = false;
    playing(false);
  }
  function arrive(target) {
    pause();
    go(target);
    if (predicts) guess.ask(steps[seen + 1], story);
  }
  function visit(target) {
    if (!predicts || min(last, target) <= seen) return arrive(target);
    if (position === seen) return guess.check(); // or what was typed would be lost
    arrive(seen);
    guess.focus();
  }
  /** A step on, or back; from the last one, where most pictures open, to where what they are about begins. */
  function move(by) {
    const over = by === 1 && position === last;
    if (over) seen = story.again; // so all of it can be predicted
    visit(over ? story.again : position + by);
  }
  function predict(yes) {
    predicts = yes;
    if (guess.element.contains(keysAt())) focusOn(root); // it is about to go
    guess.element.hidden = !yes;
    seen = position;
    guess.ask(yes && steps[seen + 1], story);
    menu.update();
  }
  function play() {
    if (timer || !last) return pause();
    if (predicts) return move(1);
    const advance = () => {
      go(position + 1);
      if (position === last) pause();
    };
    root.dataset.playing = true;
    playing(true);
    timer = setInterval(advance, PLAY_MS);
    if (position === last) go(story.again);
    else advance();
  }

  pause();
  const before = chosen.opening === story.opening ? chosen.position : undefined; // in the picture that this one replaces
  chosen.opening = story.opening;
  go(options.position ?? before ?? story.opening);
  predict(chosen.predicts ?? storyboard.predict === true);
  return {
    root,
    placeOf, hold, look, seek, selected, select,
    /** Say more of the step that is shown. */
    say: (more) => view.element.closest(".wb-player").querySelector(".wb-sentence").append(` ${more}`),
    go: arrive,
    position: () => position,
    zoom: () => chosen.zoom,
    destroy() {
      pause();
      destroy();
    },
  };
}

/**
 * Build the player inside `el`. A group opens and closes where it stands: the picture is laid out anew around it, at the
 * same moment. Positions are numbers of steps of the whole story, of which several are one where a group is closed.
 * A box may lead into another picture that the story has `inside`, and from there back; `at` is where one opens: the
 * `when` of a step, and a box.
 * `opened`, `chosen` and the `box` with its details are how it was looked at when it was left; `noted` hears how it is now.
 * @param {HTMLElement} el @param {Storyboard} storyboard @param {Options} [options]
 */
function mountView(el, storyboard, options = {}) {
  const fold = storyboard?.levels ? folded : storyboard?.rows ? rowsFolded : null, insides = new Map(), within = options.within ?? storyboard?.within;
  const room = roomIn(el), small = briefly(storyboard), narrow = !hasRoom(storyboard, ...room), [moment, wanted] = options.at ?? [];
  const first = room[0] < NARROW ? list(list(storyboard?.order)[0]) : []; // only a small window closes these
  const usual = storyboard?.levels ? [...new Set([...first, ...openedFor(narrow ? small : storyboard, ...room)])] : list(storyboard?.opened);
  const all = new Map(list(storyboard?.boxes).map((box) => [box.id, box])), folds = fold !== null;
  const opened = new Set(options.opened?.filter((id) => all.has(id)) ?? usual);
  /** Open all that a box lies in. */
  const reveal = (id) => {
    for (let { region } = all.get(id) ?? {}; region != null; { region } = all.get(region))
      if (["group", "name"].includes(all.get(region).kind)) opened.add(region);
  };
  [wanted, options.box].map(reveal);
  let player = null, inner = null, board = storyboard, large = false, shows = false, { chosen } = options;
  const seenAt = (position) => (folds ? board.steps.findIndex(({ until }) => until >= position) : position);
  const whole = (position) => (folds ? board.steps[position]?.until ?? 0 : position);
  const state = () => ({ step: whole(player.position()) + 1, box: player.selected(), zoom: player.zoom(),
    open: opened.size === usual.length && usual.every((id) => opened.has(id)) ? undefined : [...opened] });
  const noted = (anew) => shows && !inner && options.noted?.(state(), anew);
  const show = (position, sought) => {
    shows = false;
    player?.destroy();
    const told = large || narrow ? small : storyboard;
    board = stacked(fold ? fold(told, opened) : told, el.clientWidth);
    player = stage(el, board, { ...options, position: position === undefined ? undefined : max(0, seenAt(position)),
      enter, inside, resized, sought, chosen, whole: within ? { ...storyboard, within } : storyboard, hint: within?.story && OPENS, moved: (at) => options.moved?.(whole(at)), noted });
    shows = true;
  };
  /** All that can be found in a closed group. */
  function inside({ id, fold }) {
    if (fold !== "open") return "";
    const holds = (box) => box != null && (box.region === id || holds(all.get(box.region)));
    const read = () => [...all.values()].filter(holds).map((box) => findable(box, storyboard.words?.kinds ?? {})).join(" ");
    return insides.get(id) ?? insides.set(id, read()).get(id);
  }
  /** To the row of a chart that a text is about, which opens what it lies in, or from the row to the text. */
  function refer(id, position) {
    const before = opened.size, place = whole(position);
    reveal(id);
    if (opened.size > before) {
      chosen = player.look();
      show(place);
    }
    player.seek(id);
    return true;
  }
  /** To the graph of a step, at the box that a cell tells of; a step that is not there is said to be missing. */
  function lead(box, position) {
    if (storyboard.rows && box.refers) return refer(box.refers, position);
    const [when, id] = within?.leads[box.id] ?? [], has = ({ when: own, stands }) => own === when && !stands;
    if (id === undefined || !list(within.story?.steps).some(has)) {
      if (within && box.kind === "cell" && box.goto != null) player.say(within.missing);
      return false;
    }
    const place = whole(position);
    chosen = player.look();
    player.destroy();
    inner = mountView(el, within.story, { theme: options.theme, dressed: options.dressed, at: [when, id], leave: () => leave(place, box.id) });
    return true;
  }
  function leave(place, id) {
    inner.destroy();
    inner = null;
    show(place);
    if (id) player.seek(id, false);
  }
  function enter(box, position, sought) {
    if (!box.fold) return lead(box, position);
    if (box.fold === "close") opened.delete(box.id);
    else opened.add(box.id);
    const place = player.placeOf(box.id);
    chosen = player.look();
    show(whole(position), sought);
    player.hold(box.id, place);
    noted();
    return true;
  }
  /** In the theme of a lecture hall, and in the others. */
  function resized(yes) {
    if (yes === large) return;
    const held = el.contains(keysAt());
    large = yes;
    const place = whole(+player.root.dataset.position);
    chosen = player.look();
    show(place);
    if (held) focusOn(player.root);
  }
  const opens = list(storyboard?.steps).findIndex(({ when }) => moment !== undefined && when === moment);
  show(opens < 0 ? options.position : opens);
  if (wanted) player.seek(wanted);
  if (options.box) player.select(options.box);
  return {
    state,
    go(position) {
      if (inner) leave(position);
      player.go(max(0, seenAt(position)));
    },
    /** How it is looked at, for when it is opened again. */
    left: () => ({ position: whole(player.position()), opened: [...opened], chosen: inner ? chosen : player.look(), box: player.selected() }),
    destroy: () => (inner ?? player).destroy(),
  };
}

/**
 * Build the player inside `el`, with the story's other views as its tabs. A host is told of moves in its own view alone.
 * @param {HTMLElement} el @param {Storyboard} storyboard @param {Options} [options]
 * @returns {{go: (position: number) => void, destroy: () => void}}
 */
export function mount(el, storyboard, options = {}) {
  const told = list(storyboard?.tabs).map(([name, story]) => [name, story && (() => story)]);
  const views = new Map(list(options.views).length ? options.views : told), left = new Map();
  const own = [...views.keys()].find((name) => !views.get(name));
  const keep = keeper(el, storyboard, options, came), noted = (state, anew) => (keep?.write({ view: at, ...state }, anew), options.told?.(at === own ? state.box : null));
  let at = own, player, wanted;
  const show = (name, story, more) => {
    at = name;
    const tabs = views.size > 1 ? () => tabList([...views.keys()], name, choose) : undefined;
    player = mountView(el, story, { ...options, ...more, tabs, noted, ...(name !== own && { moved: undefined, within: undefined }) });
  };
  async function choose(name) {
    wanted = name;
    const story = await (views.get(name)?.() ?? storyboard), held = el.contains(keysAt());
    if (wanted !== name) return; // another was chosen meanwhile
    left.set(at, player.left());
    player.destroy();
    show(name, story, { position: undefined, ...left.get(name) });
    noted(player.state(), true);
    if (held) focusOn(el.querySelector("[role=tab][aria-selected=true]"));
  }
  /** As it was kept. */
  const restored = ({ step, box, open, zoom }) => ({ position: step === undefined ? options.position : Math.round(step) - 1, box, opened: open,
    ...(zoom && { chosen: { zoom } }) });
  async function came(state) {
    const name = (wanted = views.has(state.view) ? state.view : own), story = await (views.get(name)?.() ?? storyboard);
    if (wanted !== name) return;
    player.destroy();
    show(name, story, restored(state));
  }
  const first = keep?.first ?? {}, elsewhere = views.has(first.view) && first.view !== own;
  show(own, storyboard, elsewhere ? {} : restored(first));
  if (elsewhere) came(first);
  return {
    go(position) {
      if (at !== own) {
        left.set(at, player.left());
        player.destroy();
        show(own, storyboard, left.get(own));
      }
      player.go(position);
    },
    destroy() {
      keep?.end();
      player.destroy();
    },
  };
}
