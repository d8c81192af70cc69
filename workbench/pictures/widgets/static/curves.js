/** The losses of a training's steps, those that are not told too: a small drawing, on which a click goes to a step. */

import { abs, build, entries, fill, html, list, max, min, standsAt, svg, upon, words } from "./drawing.js";

const WIDE = 180, HIGH = 26, EDGE = 4; // px: of the drawing, and what it keeps free at each side
const CROSS = "m-2.5-2.5 5 5m0-5-5 5";

/**
 * `visit` goes to one of the parts whose titles are told; `null` without numbers.
 * @param {{names: string[], numbers: (number|string|null)[][], told: Record<string, number>}|undefined} curves
 * @param {string[]} titles of the parts @param {(part: number) => void} visit
 */
export function curve(curves, titles, visit) {
  const rows = list(curves?.numbers).map(list), names = list(curves?.names).map(words), count = max(0, ...rows.map(({ length }) => length));
  const finite = rows.flat().filter(Number.isFinite), least = min(...finite), most = max(...finite), last = count - 1;
  const places = new Map(entries(curves?.told ?? {})), spots = titles.map((title) => places.get(title));
  if (last < 1 || !spots.some(Number.isFinite)) return null;
  const across = (at) => EDGE + (at / last) * (WIDE - 2 * EDGE);
  const down = (value) => (most > least ? EDGE + ((most - value) / (most - least)) * (HIGH - 2 * EDGE) : HIGH / 2);
  /** A line through the numbers, in pieces where one is not finite: there a cross is. */
  const drawn = (row) => {
    const line = row.map((value, at) => Number.isFinite(value)
      ? `${Number.isFinite(row[at - 1]) ? "L" : "M"}${across(at).toFixed(1)} ${down(value).toFixed(1)}h0` : "").join("");
    const bad = row.map((value, at) => (typeof value === "string" ? `M${across(at).toFixed(1)} ${EDGE}${CROSS}` : "")).join("");
    return [svg("path.wb-curve-line", { d: line }), svg("path.wb-curve-bad", { d: bad })];
  };
  // Where not all steps are told, marks at the lower edge say which are.
  const some = new Set(spots.filter(Number.isFinite)), marks = some.size < count ? [...some] : [];
  const ticks = svg("path.wb-curve-told", { d: marks.map((at) => `M${across(at).toFixed(1)} ${HIGH}v-3`).join("") });
  const here = svg("path.wb-curve-at"), dots = rows.map(() => svg("path.wb-curve-dot"));
  const sheet = svg("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, preserveAspectRatio: "none", "aria-hidden": true }, ticks, here, ...rows.flatMap(drawn), ...dots);
  const chart = html("div.wb-curve", { role: "img" }, sheet), said = html("span.wb-curve-said", { "aria-hidden": true });
  const told = (at) => names.map((name, n) => `${name} ${words(rows[n][at] ?? "none")}`).join(", ");
  const placeOf = ({ clientX }) => {
    const { left, width } = standsAt(chart), at = ((clientX - left) / width) * WIDE;
    return max(0, min(last, Math.round(((at - EDGE) / (WIDE - 2 * EDGE)) * last)));
  };
  const follow = (event) => {
    const at = placeOf(event), far = (spot) => (Number.isFinite(spot) ? abs(spot - at) : Infinity);
    chart.title = `${told(at)} in step ${at + 1} of ${count}`;
    if (event.buttons & 1) visit(spots.reduce((best, spot, part) => (far(spot) < far(spots[best]) ? part : best), 0));
  };
  upon(chart, "pointerdown", (event) => {
    chart.setPointerCapture(event.pointerId);
    follow(event);
  });
  upon(chart, "pointermove", follow);
  return {
    element: html("div.wb-curves", {}, chart, said),
    show(part) {
      const at = spots[part], known = Number.isFinite(at);
      chart.ariaLabel = `Of ${count} steps: ${told(0)} first, ${told(last)} last${known ? `; ${told(at)} now, in step ${at + 1}` : ""}`;
      fill(said, known ? told(at) : "");
      build(here, { d: known ? `M${across(at)} 0V${HIGH}` : "" });
      dots.forEach((dot, n) => {
        const value = known ? rows[n][at] : null;
        build(dot, { d: Number.isFinite(value) ? `M${across(at)} ${down(value)}h0` : "" });
      });
    },
  };
}
