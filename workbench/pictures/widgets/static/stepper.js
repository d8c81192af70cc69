
/**
 * The stepper: a picture that follows a backward in the kernel, and what drives it. It shows {picture, status}, kept up
 * to date by messages with what is new.
 */

import { assign, entries, fill, focusOn, html, keysAt, list, picture, svg, upon, words } from "./drawing.js";
import { teller } from "./caption.js";
import { viewer, labelsOf, withHeld } from "./viewer.js";
import { renderGrowing } from "./growing.js";
import { folded } from "./fold.js";
import { AGAIN, BUSY, change, living, lostWith, refreshed, renewed, wire } from "./kernel.js";
import { inhabit } from "./places.js";
import { arriving, holding, prediction, shapeOf } from "./predicting.js";
import { playerRoot } from "./root.js";
import { button, icon } from "./window.js";

/** What a box can be marked with, in a word, and the sign of that: one with a bar in it, an eye, an equals sign struck out. */
const MARKS = {
  breakpoint: "M-4-9H4L9-4V4L4 9H-4L-9 4V-4ZM-5-1.5V1.5H5V-1.5Z", watched: "M-11 0Q0-13 11 0Q0 13-11 0ZM0-4a4 4 0 0 0 0 8a4 4 0 0 0 0-8Z",
  differs: "M-8-3H8M-8 3H8M-4 9L4-9",
};
const ACTS = [
  ["→ or s", "Step"], ["←", "Back"], ["r", "Run"], ["u", "Run until …"], ["o", "Run over a scope"],
  ["b", "Toggle breakpoint"], ["w", "Toggle watch"], ["e", "Edit the waiting gradient"],
  ["x", "Go to watches and breakpoints"], ["p", "Toggle predict mode"], ["n", "Next branch"],
  ["d", "Jump to first difference"],
];

const badge = (mark, place = {}) =>
  svg("g.wb-badge", place, svg("circle", { r: 12 }), svg(`path.wb-${mark}`, { d: MARKS[mark] }));

/**
 * Buttons, fields and sentences: `ask` sends a request, `chosen` is the id of the box it is about, `see` brings one into
 * sight.
 */
function stepperControls(first, ask, chosen, see, tell, guess) {
  const it = () => ({ id: chosen() }), named = (action, label, message, ...face) => button(action, label, () => ask({ do: action, ...message() }), ...face);
  const field = (name, label, attributes = {}) =>
    html("input", { type: "text", spellcheck: "false", autocomplete: "off", name, "aria-label": label, ...attributes });
  const choice = (name, label) => html("select", { name, "aria-label": label });
  const offer = (select, pairs) => fill(select, ...pairs.map(([value, text]) => html("option", { value }, text)));
  const places = html("datalist", { id: `wb-${Math.random()}` });
  const until = field("until", "Operation, scope or condition to run until", { list: places.id, placeholder: "e.g. mul" });
  const branches = choice("switch", "Branch"), nr = choice("nr", "Output");
  const value = field("edit", "New gradient", { placeholder: "0.5 or [1, 2]" });
  const wide = (text) => html("span.wb-wide", {}, text); // where there is room
  const buttons = {
    back: named("back", "Back (←)", () => ({}), icon("back"), wide("Back")),
    step: button("step", "Step (→)", () => (guess.asked() ? guess.check() : ask({ do: "step" })), "Step", icon("step")),
    run: named("run", "Run (r)", () => ({}), wide("Run"), icon("last")),
    until: button("until", "Run until (u)", () => (until.value ? ask({ do: "until", text: until.value }) : until.focus()), "Run until"),
    breakpoint: named("breakpoint", "Breakpoint (b)", it, "Breakpoint"),
    watch: named("watch", "Watch (w)", it, "Watch"),
    edit: named("edit", "Change the gradient (e)", () => ({ ...it(), nr: nr.value, text: value.value }), "Change"),
  };
  const group = (...parts) => html("span.wb-group", {}, ...parts), line = (name) => html("p", { class: name });
  const row = (name, ...parts) => html("div.wb-row", { role: "group", "aria-label": name }, ...parts);
  const node = html("span.wb-node"), has = html("span.wb-has"), waits = group(has, nr, value, buttons.edit);
  const sentence = html("p.wb-sentence", { "aria-live": "polite" }), standing = html("span.wb-standing");
  const said = html("p.wb-said", { role: "status" }), warnings = line("wb-warnings"), printed = line("wb-printed");
  const differs = html("p.wb-first", { role: "status" }), notes = html("div.wb-notes", { role: "status" }, warnings, printed);
  const about = row("Selected node", node, buttons.breakpoint, buttons.watch, waits);
  const bar = html("div.wb-bar", {}, group(buttons.back, buttons.step, buttons.run), group(until, places, buttons.until));
  offer(places, first.operations.map((name) => [name, ""]));
  upon(branches, "change", () => ask({ do: "switch", text: branches.value }));
  const desk = html("div.wb-desk", { role: "group", "aria-label": "Watches, breakpoints and branches" });
  const held = () => [...desk.querySelectorAll("button, select")];
  const seen = ([id, name]) => button("see", `Show ${name}`, () => see(id), name);
  const sign = (mark) => svg("svg", { viewBox: "-12 -12 24 24", "aria-hidden": true }, badge(mark));
  const entry = (mark, label, message, ...told) =>
    html("p", {}, button("off", label, () => ask(message), icon("close")), sign(mark), html("span", {}, ...told));
  /** What is watched, each breakpoint, and the branches side by side; the focus stays where it was, or near. */
  const lay = ({ watched, stops, branches: [, another], differs: { rows, beside } }) => {
    const at = held().indexOf(keysAt()), cells = (...all) => html("tr", {}, ...all);
    const watches = watched.map((row) => entry("watched", `Stop watching ${row[1]}`, { do: "watch", id: row[0] }, seen(row), row[2]));
    const breaks = stops.map((text) => entry("breakpoint", `Remove breakpoint: ${text}`, { do: "off", text }, `Stops ${text}`));
    const head = cells(html("th", {}, "Gradient of"), html("th", {}, branches), html("th", {}, beside));
    const lines = rows.map((row, i) => cells(html("th", {}, seen(row), i ? "" : "first"), ...row.slice(2).map((text) => html("td", {}, text))));
    fill(desk, ...watches, ...(another ? [html("table", {}, head, ...lines)] : []), ...breaks);
    desk.hidden = !desk.firstChild;
    if (at >= 0) (held().slice(0, at + 1).at(-1) ?? desk.closest("[tabindex]")).focus();
  };
  let laid = "";
  const show = (now, box, gone, predicts) => {
    const off = (parts, yes) => parts.forEach((part) => (buttons[part].ariaDisabled = Boolean(yes)));
    const press = (part, yes) => (buttons[part].ariaPressed = yes);
    fill(sentence, ...(gone ? [gone] : tell(now.sentence)));
    fill(standing, [`${now.ran} of ${now.count} nodes run`, now.called && `next: ${now.called}`,
      now.branches[1] && `on ${now.branches[now.branch][0]}`].filter(Boolean).join(" · "));
    fill(said, now.said);
    said.dataset.failed = now.failed;
    fill(warnings, now.warnings.join("\n"));
    fill(printed, now.printed && `Printed: ${now.printed}`);
    fill(differs, now.differs.told);
    const lies = JSON.stringify([now.watched, now.stops, now.branches, now.branch, now.differs]);
    if (lies !== laid) {
      offer(branches, now.branches.map(([name, length], i) => [i, `${name}: ${length}`]));
      branches.value = now.branch;
      lay(now);
    }
    laid = lies;
    guess.element.hidden = !predicts;
    about.hidden = predicts || !box;
    press("breakpoint", now.marks.breakpoint.includes(box?.id));
    press("watch", now.marks.watched.includes(box?.id));
    off(["back"], gone || !now.position);
    off(["step"], gone || !now.next);
    off(["run", "until"], gone || !now.next || predicts);
    off(["breakpoint", "watch", "edit"], gone);
    held().forEach((each) => (each.ariaDisabled = Boolean(gone)));
    const there = now.waiting.filter(([id]) => id === box?.id), nrs = there.map(([, i]) => [i, `output ${i}`]), at = nr.value;
    waits.hidden = !nrs.length;
    fill(has, (has.title = there.map(([, , told]) => told).join("; ")));
    offer(nr, nrs);
    nr.value = nrs.some(([i]) => String(i) === at) ? at : nrs[0]?.[0];
    nr.hidden = !nrs[1];
    const title = box ? `${words(box.title)}:` : "";
    if (node.textContent !== title) value.value = "";
    fill(node, (node.title = title));
  };
  const told = html("div.wb-caption", { role: "group", "aria-label": "Status", tabindex: 0 }, said, differs, html("div", {}, standing, sentence), notes);
  return { bar, below: [html("div.wb-tell", {}, told, desk), html("div.wb-asks", {}, guess.element, about)], buttons, held, until, value, standing, show };
}

/**
 * The picture of another branch beside that of the stepper's own: as large, and scrolled as far. A click on one of its
 * boxes is one on that box in the other. Its values are in the details and the table too, so nobody has to hear it.
 */
function twin({ element: own }, drawn, press) {
  const element = html("div", { class: "wb-view wb-twin", "aria-hidden": true });
  let there = null, other = null, items, marked = [], sent;
  const place = ({ scrollLeft, scrollTop }) => [scrollLeft, scrollTop];
  const follow = () => {
    element.scrollTo(...place(own));
    sent = words(place(element));
  };
  const sized = () => {
    for (const name of ["width", "height"]) other?.root.setAttribute(name, drawn.root.getAttribute(name));
    follow();
  };
  const size = new ResizeObserver(sized);
  size.observe(drawn.root);
  upon(own, "scroll", follow);
  upon(element, "scroll", () => {
    if (words(place(element)) !== sent) own.scrollTo(...place(element));
  });
  upon(element, "click", ({ target }) => press(target.closest(".wb-box")?.dataset.id));
  return {
    /** Show a branch, of which `told` makes the story, with what differs marked. */
    show(beside, told, here, differ) {
      if (!beside.name) return element.remove();
      if (!element.isConnected) own.after(element);
      assign(own.parentNode.dataset, { here: `${here}, here`, beside: beside.name });
      if (beside !== there) {
        const story = told(beside);
        items = living(story);
        other = picture(story, items);
        other.groups.forEach((_, item) => other.draw(item));
        fill(element, html("div.wb-sheet", {}, other.root));
        marked = [];
      }
      there = beside;
      marked.forEach((id) => other.draw(items.boxes.get(id)));
      for (const id of marked = differ) {
        const { x, y, w } = items.boxes.get(id);
        other.groups.get(items.boxes.get(id)).append(badge("differs", { transform: `translate(${x + w - 4} ${y - 8})` }));
      }
      sized();
    },
    destroy: () => size.disconnect(),
  };
}

/** A view of the stepper; where its backward adds to the graph it is made anew. */
function renderStepper(view) {
  let leave = stepperView(view, again);
  function again() {
    const { el } = view, { activeElement: held } = document, { action } = held?.dataset ?? {}, { name } = held ?? {}, group = held?.closest?.(".wb-box")?.dataset.id;
    const inside = el.contains(held);
    leave();
    leave = stepperView(view, again);
    const place = action ? `[data-action="${action}"]` : name ? `[name="${name}"]` : group ? `.wb-box[data-id="${group}"]` : "none";
    if (inside) focusOn(el.querySelector(place) ?? el.firstElementChild);
  }
  return () => leave();
}

/** A view of one graph's stepper; `view.differs` is where its branches were last seen to differ first. */
function stepperView(view, again) {
  const { model, el } = view;
  let shown = model.get("shown"), chosen = null, marks = {};
  const folds = Boolean(shown.picture.levels), opened = (view.opened ??= new Set(list(shown.picture.opened)));
  const seen = (picture = shown.picture) => (folds ? folded(picture, opened) : picture), story = seen();
  const items = living(story), { boxes } = items, told = (wanted) => shown.picture.boxes.find(({ id }) => id === wanted);
  /** The box that stands for one: the closed group that it lies in, or itself. */
  const standing = (id) => boxes.get(id) ?? (told(id) && standing(told(id).region));
  const place = () => {
    const box = chosen ?? told(shown.status.next);
    return ["op", "function", "leaf"].includes(box?.kind) ? box : undefined;
  };
  const kernel = wire(model, "stepper", {
    hear, busy: () => fill(controls.standing, BUSY), cut: () => show(),
  });
  const { ask } = kernel, guess = (view.guess ??= prediction(() => view.reveal()));
  const controls = stepperControls(shown.status, ask, () => place()?.id, see, teller(story.boxes), guess), { buttons, bar, below } = controls;
  const step = () => buttons.step.click();
  const off = () => Boolean(kernel.gone), enter = (part) => !part.closest("[hidden]") && part.focus();
  view.reveal = () => ask({ do: "step" });
  const bound = {
    ArrowRight: step, s: step, ArrowLeft: () => buttons.back.click(), r: () => buttons.run.click(),
    u: () => enter(controls.until), o: over, b: () => place() && buttons.breakpoint.click(),
    w: () => place() && buttons.watch.click(), e: () => enter(controls.value), p: predict,
    x: () => controls.held()[0]?.focus(), d: () => see(first()),
    n: () => ask({ do: "switch", text: (shown.status.branch + 1) % shown.status.branches.length }),
  };
  const { root, drawn, view: sight, placeOf, hold, look, chosen: looks, draw, redraw, boxOf, point, menu, destroy } = viewer(el, story, items, {
    label: `Stepper: ${story.title}`, name: "wb-stepper", bar, below, keys: ACTS, bound, adorn, enter: fold, chosen: view.chosen,
    choices: [{ action: "predict", label: "Predict", key: "p", act: predict, on: () => view.predicts, off },
      { action: "over", label: "Run over a scope", key: "o", act: over, off }],
    typed(event) {
      const { key, target } = event;
      if (!target.name || (key !== "Escape" && key !== "Enter")) return;
      event.preventDefault();
      if (key === "Escape") root.focus();
      else if (target.name === "guess") guess.check();
      else buttons[target.name]?.click();
    },
  });
  const side = twin(sight, drawn, (id) => drawn.groups.get(boxes.get(id))?.dispatchEvent(new MouseEvent("click", { bubbles: true })));
  /** The picture as it is on the branch beside. */
  const onBranch = (beside) => {
    const now = (part) => shown.picture[part].map((each) => ({ ...each, ...beside[part][each.id] }));
    return seen({ ...shown.picture, boxes: now("boxes"), arrows: now("arrows") });
  };
  const choose = ({ target }) => {
    if (!boxOf(target)) return;
    chosen = boxOf(target);
    show();
  };
  upon(drawn.root, "click", choose);
  upon(drawn.root, "focusin", choose);

  function adorn(item, group) {
    const found = list(marks[item.id]);
    group.append(...found.map((mark, i) => badge(mark, { transform: `translate(${item.x + item.w - 4 - 24 * i} ${item.y - 8})` })));
    group.ariaLabel = [group.ariaLabel, ...found].join(", ");
  }
  function over() {
    if (view.predicts) guess.focus();
    else ask({ do: "over", text: controls.until.value });
  }
  function first() {
    return shown.status.differs.rows[0]?.[0];
  }
  function see(id) {
    if (standing(id)) sight.see(standing(id));
  }
  /** Open a group, or close it, where it stands. */
  function fold(box) {
    if (!box.fold) return false;
    if (!opened.delete(box.id)) opened.add(box.id);
    view.chosen = look();
    focusOn(drawn.groups.get(box));
    view.held = [box.id, placeOf(box.id)];
    again();
    return true;
  }
  function predict() {
    if (guess.element.contains(keysAt())) focusOn(root); // it is about to go
    view.predicts = !view.predicts;
    wonder();
    show();
  }
  /** Ask what the next node sends, or what the next leaf's grad becomes; or judge what was asked before the last step. */
  function wonder(ran) {
    const all = (part) => list(shown.picture[part]), among = new Map(all("boxes").map((box) => [box.id, box]));
    const about = (id, truth) => {
      const sends = all("arrows").filter(({ target, kind, state }) => target === id && kind === "edge" && (!truth || state !== "idle"));
      const found = among.get(id)?.kind === "leaf" ? { of: "", title: `${words(among.get(id).title)}.grad`, shape: shapeOf(among.get(id)), truth: null, ...(truth && holding(among.get(id))) } : arriving(sends, among);
      return found && { ...found, ...(!truth && { truth: undefined }) };
    };
    if (ran) guess.judge(about(ran, true));
    const typing = guess.element.contains(keysAt());
    guess.put(view.predicts && shown.status.next ? about(shown.status.next) : null);
    if (typing && !guess.asked()) focusOn(root);
  }
  function show() {
    const before = marks;
    marks = {};
    for (const [mark, ids] of entries(shown.status.marks)) for (const id of ids) {
      const at = standing(id)?.id;
      if (at && !marks[at]?.includes(mark)) (marks[at] ??= []).push(mark);
    }
    for (const id of Object.keys({ ...before, ...marks })) if (words(before[id]) !== words(marks[id])) draw(boxes.get(id));
    controls.show(shown.status, place(), kernel.gone, view.predicts);
    const { beside, branches, branch } = shown.status;
    side.show(beside, onBranch, branches[branch][0], Object.keys(marks).filter((id) => marks[id].includes("differs")));
    menu.update();
    root.dataset.answered = shown.status.answered;
  }
  /** Keep in sight what runs, its slopes, and what is next; before these, what two branches are found to differ in first. */
  function follow() {
    const at = (things, state) => [...things.values()].filter((each) => each.state === state);
    const next = standing(shown.status.next), found = first() && `${first()} ${shown.status.branch}`;
    point(next);
    sight.keep([found !== view.differs && standing(first()), ...at(boxes, "running"),
      ...labelsOf(at(items.arrows, "flowing")), ...withHeld(boxes, next?.id)].filter(Boolean));
    view.differs = found;
  }
  function hear(news) {
    const { position: before, branch, next } = shown.status, at = standing(next)?.id;
    const anew = Array.isArray(news.picture.boxes), held = at && anew && [at, placeOf(at)];
    shown = model.get("shown"); // initialize() heard it first
    if (view.predicts && shown.status.position !== before) wonder(shown.status.position === before + 1 && next);
    if (anew) {
      view.chosen = looks;
      view.held = held; // what runs stays where it is on the screen, though all is placed anew around it
      return again();
    }
    const changed = folds ? refreshed(items, seen()) : change(items, news.picture);
    const { position } = shown.status;
    redraw(changed);
    const flowing = [...changed].filter((item) => "d" in item && item.state === "flowing");
    drawn.travel(position === before + 1 ? flowing : []);
    if (position !== before) chosen = boxOf(keysAt()) ?? null;
    show();
    if (position !== before || branch !== shown.status.branch) follow();
  }
  show();
  follow();
  if (boxes.has(view.held?.[0])) {
    hold(...view.held, false);
    view.held = null;
  }
  return () => {
    kernel.destroy();
    side.destroy();
    destroy();
  };
}

/** anywidget's entries: what is shown is kept up to date for views that open later. */
export function initialize({ model }) {
  model.on("msg:custom", (news) => model.set("shown", renewed(model.get("shown"), news)));
  if (model.get("shown").picture) return inhabit(model, render);
}
export function render(view) {
  const { picture, status } = view.model.get("shown");
  if (picture) return status?.scopes ? renderStepper(view) : renderGrowing(view);
  fill(view.el, playerRoot("p", "wb-problem", {}, lostWith("picture") + AGAIN));
}

