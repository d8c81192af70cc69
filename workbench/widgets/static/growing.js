/** A picture that follows what runs in the kernel: a graph that grows, or a function whose inputs sliders move. */

import { html } from "./drawing.js";
import { easel } from "./easel.js";
import { BUSY, change, living, wire } from "./kernel.js";

/** A number as short as it can be said with four digits. */
const short = (value) => String(Number(Number(value).toPrecision(4))).replace(/^-?\d+$/, "$&.0");

/** A slider for each input: `move` is told where one goes. */
function sliders(inputs, move) {
  const rows = inputs.map(({ name, low, high, step }) => {
    const slider = html("input", { type: "range", class: "wb-slider", name, min: low, max: high, step, "aria-label": name });
    const told = html("output.wb-position"), show = (value) => {
      slider.setAttribute("aria-valuetext", short(value));
      told.textContent = short(value);
    };
    slider.addEventListener("input", () => {
      show(slider.value);
      move(name, Number(slider.value));
    });
    const set = (value) => {
      slider.value = String(value);
      show(value);
    };
    return { name, set, element: html("div.wb-place", {}, html("span.wb-input", { "aria-hidden": "true" }, name), slider, told) };
  });
  const set = (values) => rows.forEach((row) => row.set(values[row.name]));
  return { elements: rows.map((row) => row.element), set };
}

export function renderGrowing({ model, el }) {
  const first = model.get("shown"), inputs = first.status?.inputs ?? [];
  const sentence = html("p.wb-sentence", { "aria-live": "polite" }), said = html("p.wb-said", { role: "status" });
  const below = inputs.length ? [html("div.wb-caption", {}, said, sentence)] : [];
  const kernel = wire(model, "picture", {
    hear, busy: () => (said.textContent = BUSY), cut: () => (said.textContent = kernel.gone),
  });
  const chosen = {}; // how the reader looks at it, while it grows
  let items, stage, size, asked = null, wanted = null; // what the kernel works at, and what it is to do next
  const { elements, set } = sliders(inputs, (name, value) => {
    wanted = { ...wanted, [name]: value };
    go();
  });

  function go() {
    if (asked || !wanted) return;
    [asked, wanted] = [wanted, null];
    kernel.ask({ move: asked });
  }
  function put({ picture: story }) {
    const bar = html("div.wb-bar", {}, ...elements), held = elements.some((each) => each.contains(document.activeElement));
    const focused = held && document.activeElement;
    stage?.destroy();
    items = living(story);
    size = [story.width, story.height].join();
    stage = easel(el, story, items, { label: story.title, name: inputs.length ? "wb-explore" : "", bar, below, chosen });
    if (focused) focused.focus({ preventScroll: true });
    const there = [...items.boxes.values()].filter(({ state, plot }) => state !== "future" && (plot || !inputs.length));
    stage.view.keep(there.slice(-1)); // the plot, or what is newest
  }
  function hear({ picture: news, status }) {
    const now = model.get("shown"); // initialize() heard it first
    const known = ["boxes", "arrows"].every((part) => Object.keys(news[part]).every((id) => items[part].has(id)));
    if (known && size === [news.width, news.height].join()) {
      const changed = change(items, news), there = [...changed].filter((item) => !("d" in item) && item.state !== "future");
      stage.redraw(changed);
      if (!inputs.length) stage.view.keep(there.slice(-1));
    } else put(now);
    if (!inputs.length) return;
    asked = null;
    show(now.status);
    go();
  }
  function show(status) {
    sentence.textContent = status.sentence;
    said.textContent = status.said;
    if (!wanted && !status.said) set(status.values); // else the slider stays where the reader has it
    stage.root.dataset.answered = status.answered;
  }
  put(first);
  if (inputs.length) show(first.status);
  return () => {
    kernel.destroy();
    stage.destroy();
  };
}
