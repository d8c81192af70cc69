/**
 * Predicting: what the next step brings stays hidden until the reader types a guess at it, or asks for it.
 *
 * @typedef {{of: string, title: string, truth?: number[]|null, shape?: string, others?: number[][], in?: string}} Question
 *   about a box: what `of` it, of which the `shape` is known and the `truth`, or nothing yet; `others` is what a step
 *   brings elsewhere
 */

import { entries, fill, html, hypot, list, words } from "./drawing.js";
import { button } from "./window.js";

const RIGHT = 0.005; // a guess as close is right: nobody types more than 3 digits
const NUMBER = "Type a number such as 0.5, or [1, 2].", SHAPE = "Type a shape such as (2, 3), or numbers such as [1, 2].";

/** The numbers of a text that says nothing else, as `0.5`, `1/3` or `[1, -2e-3]`; null for all other texts. */
function numbersOf(text) {
  const parts = words(text).split(/[\s,[\]()]+/).filter(Boolean).map((part) => {
    const [over, under = 1, more] = part.split("/");
    return more || !over ? NaN : over / under;
  });
  return parts.length && parts.every(Number.isFinite) ? parts : null;
}
/** The gradient on an arrow, if its label says all of it. */
const gradientOf = ({ brief, label }) => numbersOf(words(brief ?? label).split("\n")[0].replace(/\s*(‖|norm ).*$/, ""));
/** The shape of what a box holds, which is that of a gradient that arrives there; "" of a number. */
export const shapeOf = (box) => /(?<!\w)\(\d+,(?: ?\d+,?)*\)/.exec([...list(box?.lines), words(box?.alt).split("; ").slice(1)].join(" "))?.[0] ?? "";
const sorted = (numbers) => [...numbers].sort((a, b) => a - b);
const far = (mine, truth, sign = 1) => hypot(...mine.map((each, i) => each - sign * truth[i]));
const close = (mine, truth, sign) => mine.length === truth.length && far(mine, truth, sign) <= RIGHT * hypot(...truth);

/** How close a guess came. @param {string} text @param {Question} question */
export function closeness(text, { truth, shape, others = [] }) {
  const mine = numbersOf(text) ?? [], sizes = numbersOf(shape) ?? [];
  if (shape && !text.startsWith("[")) {
    if (words(mine) === words(sizes)) return "right";
    return words(sorted(mine)) === words(sorted(sizes)) ? "right size, wrong place" : `wrong: its shape is ${shape}`;
  }
  if (!truth) return shape ? `more numbers than are shown here; its shape is ${shape}` : "nothing arrived there";
  if (mine.length !== truth.length) return `wrong shape: expected ${truth.length === 1 ? "a number" : `${truth.length} numbers`}`;
  if (close(mine, truth)) return "right";
  if (!hypot(...truth)) return "wrong: the answer is zero";
  if (close(mine, truth, -1)) return "wrong sign";
  if (close(sorted(mine), sorted(truth)) || others.some((other) => close(mine, other))) return "right size, wrong place";
  if (truth.length === 1 && mine[0] * truth[0] < 0) return "wrong sign and size";
  const times = far(mine, truth) / hypot(...truth);
  return times < 10 ? `off by ${Math.round(100 * times)}%` : `off by a factor of ${+times.toPrecision(2)}`;
}

/**
 * The question about gradients that flow along some arrows of a step: what arrives at one box, if there is one a single
 * number. Of arrows that bring nothing yet, the answer is open. @param {Arrow[]} flowing @param {Items["boxes"]} boxes
 */
export function arriving(flowing, boxes) {
  const all = new Map();
  for (const arrow of flowing) all.set(arrow.source, [...(all.get(arrow.source) ?? []), gradientOf(arrow)]);
  const places = [...all].map(([id, came]) => {
    const same = came.every((each) => each && each.length === came[0]?.length);
    const truth = same ? came[0].map((_, i) => came.reduce((sum, each) => sum + each[i], 0)) : null;
    return { id, of: "what arrives at", title: words(boxes.get(id)?.title), shape: shapeOf(boxes.get(id)), truth };
  });
  const asked = places.find(({ shape }) => !shape) ?? places[0];
  return asked && { ...asked, others: places.filter((each) => each !== asked && each.truth).map(({ truth }) => truth) };
}

/** The question about a leaf's grad, or about the value of a box that comes. */
export function holding(box, change = box) {
  const last = words(list(change?.lines ?? (box?.state === "future" && box.lines)).at(-1));
  const grad = last.startsWith("grad "), truth = box && numbersOf(last.replace(/^grad /, "").replace(/\s*(‖|norm ).*$/, ""));
  return truth && { of: grad ? "" : "the value of", title: words(box.title) + (grad ? ".grad" : ""), truth, shape: "" };
}

/** The question about a step. @param {Step|undefined} step @param {Items} items */
function ahead(step, { boxes, arrows }) {
  const flowing = entries(step?.arrows ?? {}).filter(([id, { state }]) => arrows.has(id) && state === "flowing");
  const found = arriving(flowing.map(([id, change]) => ({ ...arrows.get(id), brief: null, ...change })), boxes);
  if (found?.truth || found?.shape) return found;
  return holding(boxes.get(step?.focus), step?.boxes?.[step.focus] ?? {}) || { of: "what comes next", title: "" };
}

/** The question before each step: `reveal` takes that step. @param {() => void} reveal */
export function prediction(reveal) {
  const field = html("input", { type: "text", name: "guess" });
  const what = html("span"), said = html("p.wb-said", { role: "status" });
  const row = html("div.wb-row", { role: "group", "aria-label": "Prediction" }, html("label", {}, what, field),
    button("check", "Check", check, "Check"), button("reveal", "Reveal", () => asked && reveal(), "Reveal"));
  const element = html("div.wb-predict", {}, said, row);
  let asked = null, guess = null, verdict = "";
  function check() {
    const text = field.value.trim();
    if (!text || !asked) return field.focus();
    if (asked.title && !numbersOf(text)) return fill(said, asked.shape ? SHAPE : NUMBER);
    guess = { ...asked, text };
    if (asked.truth !== undefined || !asked.title) judge(asked);
    reveal();
  }
  /** Say at the next question how close the guess was. @param {Question|undefined} found its answer */
  function judge(found) {
    if (!guess) return;
    const { of, title, text } = guess, about = [of, title].filter(Boolean).join(" ");
    verdict = title ? `Your prediction of ${about}: ${closeness(text, { ...guess, ...found })}.` : `You predicted: ${words(text)}`;
    guess = null;
  }
  /** Ask before this step, the next one; nothing where there is none. */
  function put(question) {
    asked = question ?? null;
    row.hidden = !asked;
    const { of, title, shape } = asked ?? {}, code = html("code", {}, title);
    fill(what, ...(!asked ? [] : of.startsWith("what") ? [`What${of.slice(4)}`, title ? " " : "", title ? code : "", "?"] : ["What is ", of, of && " ", code, "?"]), shape ? " Its shape, or its numbers:" : "");
    field.value = "";
    field.placeholder = shape ? "(2, 3) or [1, 2]" : asked?.truth?.[1] === undefined ? "0.5" : "[1, 2]";
    fill(said, verdict);
    verdict = "";
  }
  return {
    element, put, check, judge, focus: () => field.focus(),
    ask: (step, items) => put(step && ahead(step, items)),
    asked: () => asked,
  };
}
