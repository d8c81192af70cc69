/** A picture that follows what runs in the kernel: a graph that grows, or a function whose inputs sliders move. */

import { fill, focusOn, html, keysAt, list, upon } from "./drawing.js";
import { teller } from "./caption.js";
import { viewer } from "./viewer.js";
import { BUSY, change, living, wire } from "./kernel.js";
import { stacked } from "./stacked.js";

/** A number as short as it can be said with four digits. */
const short = (value) => String(+(+value).toPrecision(4)).replace(/^-?\d+$/, "$&.0");

/** A slider for each input: `move` is told where one goes. */
function sliders(inputs, move) {
  return inputs.map(({ name, low, high, step }) => {
    const slider = html("input", { type: "range", class: "wb-slider", name, min: low, max: high, step, "aria-label": name });
    const told = html("output.wb-position"), set = (value) => {
      slider.value = value;
      fill(told, short(value));
      slider.ariaValueText = short(value);
    };
    upon(slider, "input", () => {
      set(slider.value);
      move(name, +slider.value);
    });
    return { name, set, element: html("div.wb-place", {}, html("span.wb-input", { "aria-hidden": true }, name), slider, told) };
  });
}

export function renderGrowing({ model, el }) {
  const first = model.get("shown"), inputs = list(first.status.inputs), explores = inputs.length > 0;
  const sentence = html("p.wb-sentence", { "aria-live": "polite" }), said = html("p.wb-said", { role: "status" });
  const below = explores ? [html("div.wb-caption", {}, said, sentence)] : [];
  const kernel = wire(model, "picture", {
    hear, busy: () => fill(said, BUSY), cut: () => fill(said, kernel.gone),
  });
  const chosen = {}; // how the reader looks at it, while it grows
  let story, items, stage, asked, wanted; // what the kernel works at, and what it is to do next
  const rows = sliders(inputs, (name, value) => {
    wanted = { ...wanted, [name]: value };
    go();
  });

  function go() {
    if (asked || !wanted) return;
    [asked, wanted] = [wanted];
    kernel.ask({ move: asked });
  }
  /** Keep the plot in sight, or what is newest. */
  function see(some) {
    const there = [...some].filter((item) => !("d" in item) && item.state !== "future" && (item.plot || !explores));
    stage.view.keep(there.slice(-1));
  }
  function put(given) {
    const held = keysAt(), bar = html("div.wb-bar", {}, ...rows.map((row) => row.element));
    stage?.destroy();
    const seen = stacked(story = given, el.clientWidth);
    items = living(seen);
    stage = viewer(el, seen, items, { label: story.title, name: explores ? "wb-explore" : "", bar, below, chosen });
    if (bar.contains(held)) focusOn(held);
    see(items.boxes.values());
  }
  function hear({ picture: news }) {
    const now = model.get("shown"); // initialize() heard it first
    const known = ["boxes", "arrows"].every((part) => Object.keys(news[part]).every((id) => items[part].has(id)));
    if (known && story.width === news.width && story.height === news.height) {
      const changed = change(items, news);
      stage.redraw(changed);
      if (!explores) see(changed);
    } else put(now.picture);
    asked = null;
    show(now.status);
    go();
  }
  function show(status) {
    fill(sentence, ...teller([...items.boxes.values()])(status.sentence));
    fill(said, status.said);
    if (!wanted && !status.said) rows.forEach((row) => row.set(status.values[row.name])); // else it stays at the reader's hand
    stage.root.dataset.answered = status.answered;
  }
  put(first.picture);
  show(first.status);
  return () => {
    kernel.destroy();
    stage.destroy();
  };
}
