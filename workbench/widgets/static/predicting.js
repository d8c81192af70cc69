/** Predicting: what the next step brings stays hidden until the reader types a guess at it, or asks for it. */

import { entries, fill, html, hypot, list, words } from "./drawing.js";
import { button } from "./window.js";

const RIGHT = 0.005; // as close as the stepper asks for: nobody types more than 3 digits

/** The numbers of a text that says nothing else, as `0.5`, `1/3` or `[1, -2e-3]`; null for all other texts. */
function numbersOf(text) {
  const parts = words(text).split(/[\s,[\]()]+/).filter(Boolean).map((part) => {
    const [over, under = 1, more] = part.split("/");
    return more || !over ? NaN : over / under;
  });
  return parts.length && parts.every(Number.isFinite) ? parts : null;
}

/** How close a guess came, in the words of the stepper. @param {number[]} mine @param {number[]} truth */
function closeness(mine, truth) {
  if (mine.length !== truth.length) return `wrong shape: expected ${truth.length} numbers`;
  const far = (sign) => hypot(...mine.map((each, i) => each - sign * truth[i])), scale = hypot(...truth);
  if (far(1) <= RIGHT * scale) return "right";
  if (!scale) return "wrong: the answer is zero";
  if (far(-1) <= RIGHT * scale) return "wrong sign";
  if (truth.length === 1 && mine[0] * truth[0] < 0) return "wrong sign and size";
  const times = far(1) / scale;
  return times < 10 ? `off by ${Math.round(100 * times)}%` : `off by a factor of ${+times.toPrecision(2)}`;
}

/** What a step brings, each result in words, and in numbers where it has some. @param {Step|undefined} step @param {Items} items */
function news(step, { boxes, arrows }) {
  const box = boxes.get(step?.focus), change = step?.boxes?.[step.focus] ?? {}, title = (id) => words(boxes.get(id)?.title);
  const sent = entries(step?.arrows ?? {}).map(([id, { label, state }]) => {
    const arrow = arrows.get(id), truth = numbersOf(words(label).replace(/\s*norm [\s\S]*$/, ""));
    return truth && arrow && state === "flowing" && { from: arrow.target, what: `what ${title(arrow.target)} sends to ${title(arrow.source)}`, truth };
  }).filter(Boolean);
  if (sent.length) return sent.filter(({ from }) => from === sent[0].from);
  const lines = change.lines ?? (box?.state === "future" && box.lines) ?? [], last = list(lines).at(-1) ?? "";
  const truth = box && numbersOf(words(last).replace(/^grad /, ""));
  if (!truth) return [{ what: "what comes next" }];
  return [{ what: last.startsWith("grad ") ? `${title(box.id)}.grad` : `the value of ${title(box.id)}`, truth }];
}

/** The questions about the next step, one after the other: `reveal` takes that step. */
export function prediction(items, reveal) {
  const field = html("input", { type: "text", name: "guess", placeholder: "0.5 or [1, 2]" });
  const what = html("span"), said = html("p.wb-said", { role: "status" });
  const row = html("div.wb-row", { role: "group", "aria-label": "Prediction" }, html("label", {}, what, field),
    button("check", "Check", check, "Check"), button("reveal", "Reveal", () => asked.length && reveal(), "Reveal"));
  const element = html("div.wb-predict", {}, said, row);
  let asked = [], answers = [];
  function check() {
    const text = field.value.trim();
    if (!text) return field.focus();
    const { what, truth } = asked[answers.length], mine = numbersOf(text);
    if (truth && !mine) return fill(said, "Type a number such as 0.5, or [1, 2].");
    const told = [...answers, truth ? `Your prediction of ${what}: ${closeness(mine, truth)}.` : `You predicted: ${words(text)}`];
    if (told.length < asked.length) put(told);
    else reveal();
    fill(said, told.join(" "));
  }
  /** Put the question behind these answers. */
  function put(told) {
    answers = told;
    const place = asked.length > 1 ? ` (${told.length + 1} of ${asked.length})` : "";
    fill(what, asked.length ? `Predict ${asked[told.length].what}${place}:` : "");
    field.value = "";
  }
  /** Ask about this step, the next one; nothing where there is none. */
  const ask = (step) => {
    asked = step ? news(step, items) : [];
    row.hidden = !step;
    put([]);
    fill(said);
  };
  return { element, ask, check, focus: () => field.focus() };
}
