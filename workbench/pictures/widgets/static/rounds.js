/** The second slider: a story in parts, as the steps of a training, and the same moment in another of them. */

import { curve } from "./curves.js";
import { fill, html, keysAt, max, min, upon, words } from "./drawing.js";
import { button } from "./window.js";

const PHASES = ["forward", "backward", "update"];

/**
 * `visit` goes to a step; `null` for a story that has no parts. Numbers of the parts are drawn beside the slider.
 * @param {Step[]} steps @param {(step: number) => void} visit
 */
export function parts(steps, visit, curves) {
  const begins = [...steps.keys()].filter((at) => steps[at].chapter), last = begins.length - 1;
  if (last < 1) return null;
  let now = 0;
  const of = (position) => max(0, begins.findLastIndex((at) => at <= position));
  const all = (part, phase) => [...steps.keys()].slice(begins[part], begins[part + 1]).filter((at) => steps[at].phase === phase);
  /** To another part, as far in the same phase. */
  const move = (to) => {
    const wanted = min(last, max(0, to)), { phase } = steps[now], there = all(wanted, phase);
    visit(there[min(there.length - 1, all(of(now), phase).indexOf(now))] ?? begins[wanted]);
  };
  const slider = html("input", { type: "range", min: 0, max: last, step: 1, class: "wb-slider", "aria-label": "Training step" });
  upon(slider, "input", () => move(+slider.value));
  const title = html("span.wb-part"), phases = PHASES.map((phase) =>
    button(`phase-${phase}`, `To the ${phase} of this step`, () => visit(all(of(now), phase)[0]), phase));
  const losses = curve(curves, begins.map((at) => steps[at].chapter), (to) => to === of(now) || move(to));
  return {
    element: html("div", { class: "wb-bar wb-parts" }, html("div.wb-place", {}, slider, title), losses?.element ?? "", html("div.wb-phases", {}, ...phases)),
    by: (count) => move(of(now) + count),
    held: () => keysAt() === slider,
    show(position) {
      const part = of((now = position)), { phase } = steps[position], told = words(steps[begins[part]].chapter);
      slider.value = part;
      slider.ariaValueText = `${told}, ${words(phase)}`;
      losses?.show(part);
      fill(title, told);
      phases.forEach((each, n) => {
        each.ariaCurrent = PHASES[n] === phase;
        each.ariaDisabled = !all(part, PHASES[n]).length;
      });
    },
  };
}
