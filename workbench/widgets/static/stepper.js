
/**
 * The stepper: a picture that follows a backward in the kernel, and what drives it. It shows {picture, status}, kept up
 * to date by messages with what is new.
 */

import { html, list, svg, words } from "./drawing.js";
import { easel } from "./easel.js";
import { renderGrowing } from "./growing.js";
import { BUSY, change, living, renewed, wire } from "./kernel.js";
import { inhabit } from "./places.js";
import { button, icon } from "./window.js";

const STOP_SIGN = "M-4-9H4L9-4V4L4 9H-4L-9 4V-4ZM-5-1.5V1.5H5V-1.5Z"; // the bar is a hole in it
const ACTS = [
  ["→ or s", "step"], ["←", "back"], ["r", "run"], ["u", "run until …"], ["o", "over a scope"],
  ["b", "breakpoint at the chosen node"], ["e", "change the gradient that waits there"], ["p", "predict, or not"],
  ["n", "next branch"],
];

/** Buttons, fields and sentences: `ask` sends a request, `chosen` is the id of the box it is about. */
function stepperControls(first, ask, chosen) {
  const named = (action, label, message, ...face) => button(action, label, () => ask({ do: action, ...message() }), ...face);
  const field = (name, label, attributes = {}) =>
    html("input", { type: "text", spellcheck: "false", autocomplete: "off", name, "aria-label": label, ...attributes });
  const choice = (name, label) => html("select", { name, "aria-label": label });
  const fill = (select, pairs) => select.replaceChildren(...pairs.map(([value, text]) => html("option", { value }, text)));
  const places = html("datalist", { id: `wb-${crypto.getRandomValues(new Uint32Array(1))[0]}` });
  const until = field("until", "Operation, scope or condition to run until", { list: places.id, placeholder: "e.g. mul" });
  const scopes = choice("over", "Scope"), branches = choice("switch", "Branch"), nr = choice("nr", "Output");
  const value = field("edit", "New gradient", { placeholder: "0.5 or [1, 2]" });
  const guesses = () => [...questions.querySelectorAll("input")].map((input) => input.value);
  const wide = (text) => html("span.wb-wide", {}, text); // where there is room
  const buttons = {
    back: named("back", "Back (←)", () => ({}), icon("back"), wide("Back")),
    step: named("step", "Step (→)", () => ({ guesses: guesses() }), "Step", icon("step")),
    run: named("run", "Run (r)", () => ({}), wide("Run"), icon("last")),
    until: named("until", "Run until (u)", () => ({ text: until.value }), "Run until"),
    over: named("over", "Over scope (o)", () => ({ text: scopes.value }), "Over"),
    breakpoint: named("breakpoint", "Breakpoint (b)", () => ({ id: chosen() }), "Breakpoint"),
    edit: named("edit", "Change the gradient (e)", () => ({ id: chosen(), nr: nr.value, text: value.value }), "Change"),
  };
  const group = (...parts) => html("span.wb-group", {}, ...parts), line = (name) => html("p", { class: name });
  const row = (name, ...parts) => html("div.wb-row", { role: "group", "aria-label": name }, ...parts);
  const node = html("span.wb-node"), waits = group(nr, value, buttons.edit), scope = group(scopes, buttons.over);
  const sentence = html("p.wb-sentence", { "aria-live": "polite" }), standing = line("wb-standing");
  const said = html("p.wb-said", { role: "status" }), warnings = line("wb-warnings"), printed = line("wb-printed"), differs = line("wb-differs");
  const notes = html("div.wb-notes", { role: "status" }, differs, warnings, printed);
  const questions = row("Prediction"), about = row("Chosen node", node, buttons.breakpoint, waits, scope, branches);
  const bar = html("div.wb-bar", {}, group(buttons.back, buttons.step, buttons.run), group(until, places, buttons.until));
  fill(scopes, first.scopes.map((name) => [name, name]));
  fill(places, first.operations.map((name) => [name, ""]));
  scope.hidden = !first.scopes.length;
  branches.addEventListener("change", () => ask({ do: "switch", text: branches.value }));
  let asked = "";
  const show = (now, box, gone) => {
    const off = (parts, yes) => parts.forEach((part) => buttons[part].setAttribute("aria-disabled", String(Boolean(yes))));
    const press = (part, yes) => buttons[part].setAttribute("aria-pressed", String(yes));
    sentence.textContent = gone ?? now.sentence;
    standing.textContent = [`${now.ran} of ${now.count} nodes run`, now.called && `next: ${now.called}`,
      now.branches[1] && `on ${now.branches[now.branch][0]}`, now.bounds[0] && `stops at: ${now.bounds.join("; ")}`,
    ].filter(Boolean).join(" · ");
    standing.title = standing.textContent;
    said.textContent = now.said;
    said.dataset.failed = now.failed;
    warnings.textContent = now.warnings.join("\n");
    printed.textContent = now.printed && `Printed: ${now.printed}`;
    differs.textContent = list(now.differs).join("\n");
    if (told.scrollHeight > told.clientHeight + 1) told.setAttribute("tabindex", "0"); // or no key would scroll it
    else told.removeAttribute("tabindex");
    fill(branches, now.branches.map(([name, length], i) => [i, `${name}: ${length}`]));
    branches.value = now.branch;
    branches.hidden = !now.branches[1];
    const asks = JSON.stringify([now.questions, now.position]); // the same ones keep what was typed
    if (asks !== asked) questions.replaceChildren("Predict:", ...now.questions.map((of) =>
      html("label", {}, of, field("step", of, { placeholder: "0.5 or [1, 2]" }))), now.questions.length ? "" : "nothing");
    asked = asks;
    questions.hidden = !now.predicts;
    press("breakpoint", now.breakpoints.includes(box?.id));
    off(["back"], gone || !now.position);
    off(["step"], gone || !now.next);
    off(["run", "until", "over"], gone || !now.next || now.predicts);
    off(["breakpoint", "edit"], gone);
    const nrs = now.waiting.filter(([id]) => id === box?.id).map(([, i]) => [i, `output ${i}`]), at = nr.value;
    buttons.breakpoint.hidden = !box;
    waits.hidden = !nrs.length;
    fill(nr, nrs);
    nr.value = nrs.some(([i]) => String(i) === at) ? at : nrs[0]?.[0];
    nr.hidden = !nrs[1];
    const title = box ? `${words(box.title)}:` : "";
    if (node.textContent !== title) value.value = "";
    node.textContent = node.title = title;
  };
  const told = html("div.wb-told", { role: "group", "aria-label": "What happens" }, said, sentence, notes);
  const caption = html("div.wb-caption", {}, told, standing);
  return { bar, below: [caption, questions, about], buttons, until, value, standing, questions, show };
}

/** A view of the stepper; where its backward adds to the graph it is made anew. */
function renderStepper(view) {
  let leave = stepperView(view, again);
  function again() {
    const { el } = view, { activeElement: held } = document, action = held?.dataset.action;
    const inside = el.contains(held);
    leave();
    leave = stepperView(view, again);
    if (inside) (el.querySelector(`[data-action="${action}"]`) ?? el.firstElementChild).focus({ preventScroll: true });
  }
  return () => leave();
}

/** A view of one graph's stepper. */
function stepperView({ model, el }, again) {
  let shown = model.get("shown"), chosen = null, stops = [];
  const items = living(shown.picture), { boxes } = items;
  const place = () => {
    const box = chosen ?? boxes.get(shown.status.next);
    return ["op", "function", "leaf"].includes(box?.kind) ? box : undefined;
  };
  const kernel = wire(model, "stepper", {
    hear, busy: () => (controls.standing.textContent = BUSY), cut: () => show(),
  });
  const { ask } = kernel, controls = stepperControls(shown.status, ask, () => place()?.id), { buttons, bar, below } = controls;
  const step = () => {
    const empty = [...controls.questions.querySelectorAll("input")].find((input) => !input.value);
    (empty ? empty.focus() : buttons.step.click());
  };
  const enter = (part) => !part.closest("[hidden]") && part.focus();
  const bound = {
    ArrowRight: step, s: step, ArrowLeft: () => buttons.back.click(), r: () => buttons.run.click(),
    u: () => enter(controls.until), o: () => !buttons.over.closest("[hidden]") && buttons.over.click(),
    b: () => place() && buttons.breakpoint.click(), e: () => enter(controls.value), p: predict,
    n: () => ask({ do: "switch", text: (shown.status.branch + 1) % shown.status.branches.length }),
  };
  const { root, drawn, view, draw, redraw, boxOf, point, menu, destroy } = easel(el, shown.picture, items, {
    label: `Stepper: ${shown.picture.title}`, name: "wb-stepper", bar, below, keys: ACTS, bound, adorn,
    choices: [{ action: "predict", label: "Predict", key: "p", act: predict, on: () => shown.status.predicts, off: () => Boolean(kernel.gone) }],
    typed(event) {
      const { key, target } = event;
      if (!target.name || (key !== "Escape" && key !== "Enter")) return;
      event.preventDefault();
      if (key === "Escape") root.focus();
      else buttons[target.name]?.click();
    },
  });
  const choose = ({ target }) => {
    if (!boxOf(target)) return;
    chosen = boxOf(target);
    show();
  };
  drawn.root.addEventListener("click", choose);
  drawn.root.addEventListener("focusin", choose);

  function adorn(item, group) {
    if (!stops.includes(item.id)) return;
    const at = `translate(${item.x + item.w - 4} ${item.y + 2})`;
    group.append(svg("path.wb-stop", { transform: at, d: STOP_SIGN }));
    group.setAttribute("aria-label", `${group.getAttribute("aria-label")}, breakpoint`);
  }
  function predict() {
    ask({ do: "predict" });
  }
  function show() {
    const before = stops;
    stops = shown.status.breakpoints;
    for (const id of [...before, ...stops]) if (before.includes(id) !== stops.includes(id)) draw(boxes.get(id));
    controls.show(shown.status, place(), kernel.gone);
    menu.update();
    root.dataset.answered = shown.status.answered;
  }
  /** Keep in sight what runs, and what is next. */
  function follow() {
    const running = [...boxes.values()].filter((box) => box.state === "running");
    const next = boxes.get(shown.status.next);
    point(next);
    view.keep([...running, next].filter(Boolean));
  }
  function hear(news) {
    if (Array.isArray(news.picture.boxes)) return again();
    const before = shown.status.position, changed = change(items, news.picture);
    shown = model.get("shown"); // initialize() heard it first
    const { position } = shown.status;
    redraw(changed);
    const flowing = [...changed].filter((item) => "d" in item && item.state === "flowing");
    drawn.travel(position === before + 1 ? flowing : []);
    if (position !== before) chosen = boxOf(document.activeElement) ?? null;
    show();
    if (position !== before) follow();
  }
  show();
  follow();
  return () => {
    kernel.destroy();
    destroy();
  };
}

/** anywidget's entries: what is shown is kept up to date for views that open later. */
function initialize({ model }) {
  model.on("msg:custom", (news) => model.set("shown", renewed(model.get("shown"), news)));
  if (model.get("shown").picture) return inhabit(model, render);
}
function render(view) {
  const { picture, status } = view.model.get("shown");
  if (picture) return status?.scopes ? renderStepper(view) : renderGrowing(view);
  const gone = "The kernel that this picture ran in is gone: run the cell again to have a new one.";
  view.el.replaceChildren(html("p", { class: "wb-player wb-problem" }, gone));
}

export default { initialize, render };
