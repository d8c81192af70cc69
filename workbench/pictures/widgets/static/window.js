/** The window onto a picture, its overview, and the buttons that the bars are made of. */

import { CHART, abs, assign, build, calm, extent, html, hypot, max, min, standsAt, svg, upon, words } from "./drawing.js";

const LARGEST = 2; // times its own size: what is asked to fit is made no larger
// A picture opens whole if its smallest text is then 10 px high, and in a lecture hall 16 px. A little less will do: who
// laid it out for this window knows the window only nearly.
export const READABLE = 9.8 / 12;
const HALL = 16 / 12;
const TABLE = 9 / 12; // and the rows of a chart, which are read beside each other and of which a part is of use, 9 px high
export const LEAST = 11 / 12; // of its own size: what does not fit opens with its smallest text 11 px high
export const NARROW = 800; // px
const MARGIN = [24, 8]; // px kept free beside what the picture scrolls to, where a box has its mark, and above it
const MANY = 1.5, OVER = 1.1; // a picture as many times as large as the window onto it has an overview: beside it, or over it in a narrow one
const BESIDE = 16; // px around the overview, as in player.css
const HEAVY = 600; // boxes and arrows: a picture of so many is not painted for every frame of a smooth scroll
const DRAGGED = 4; // px that a pointer moves before it drags: less is a click
const UNMAPPED = ["region", "level", "frame", "name", "story", "text", "heading", "tick", "line"]; // what an overview leaves out
const ICONS = {
  first: "M4 3v10M12 3 7 8l5 5", back: "M10 3 5 8l5 5", step: "m6 3 5 5-5 5", last: "M12 3v10M4 3l5 5-5 5",
  again: "M13 8A5 5 0 1 1 11.2 4.2M11.8 1.5v3h-3", play: "M5 3v10l8-5z", pause: "M5 3v10M11 3v10",
  full: "M9.5 3H13v3.5M13 3 9.5 6.5M6.5 13H3V9.5M3 13l3.5-3.5", part: "M13 6.5H9.5V3m0 3.5L13 3M3 9.5h3.5V13m0-3.5L3 13",
  fit: "M2 5V2.5h3m6 0h3V5m0 6v2.5h-3m-6 0H2V11M5.5 6h5v4h-5z",
  close: "m4 4 8 8m0-8-8 8", menu: "M3 4h10M3 8h10M3 12h10",
  forward: "M8 2v11m-4-4 4 4 4-4", backward: "M8 14V3M4 7l4-4 4 4",
};

export const icon = (name) => {
  const size = { viewBox: "0 0 16 16", width: 16, height: 16 };
  return svg("svg", { ...size, "aria-hidden": true }, svg("path", { d: ICONS[name] }));
};

/** A button, which does nothing while it is dimmed; `aria-disabled`, since a disabled one loses the focus and the keys. */
export function button(action, label, act, ...children) {
  const names = { "data-action": action, "aria-label": label, title: label };
  const face = children.length ? children : [icon(action)];
  const made = html("button", { type: "button", class: "wb-button", ...names }, ...face);
  upon(made, "click", () => made.ariaDisabled === "true" || act());
  return made;
}

/** Where what a button opens lies, which is so wide: below it or above, as far as the window goes. */
export function beside(opener, wide = 0) {
  const { top, right, bottom } = standsAt(opener), below = bottom < innerHeight / 2;
  const all = document.documentElement.clientWidth, across = `${max(0, min(all - right, all - wide - 8))}px`, room = (below ? innerHeight - bottom : top) - 12;
  return { inset: below ? `${bottom + 4}px ${across} auto auto` : `auto ${across} ${innerHeight - top + 4}px auto`, maxHeight: `${room}px` };
}

/** A large picture at a glance: every box in its state, and the part that the window shows; `look` moves there. */
function overview(drawn, look) {
  const marks = new Map(), port = svg("rect.wb-port"), viewBox = `0 0 ${drawn.width} ${drawn.height}`;
  for (const box of drawn.groups.keys())
    if (!("d" in box) && !UNMAPPED.includes(box.kind))
      marks.set(box, svg("rect", { x: box.x, y: box.y, width: box.w, height: box.h }));
  const sheet = (...shapes) => svg("svg", { viewBox, preserveAspectRatio: "none" }, ...shapes);
  const element = html("div.wb-map", { "aria-hidden": true }, sheet(...marks.values()), sheet(port));
  element.style.aspectRatio = min(4, max(0.5, drawn.width / drawn.height));
  const point = (event) => {
    const { left, top, width, height } = standsAt(element);
    if (event.buttons) look((event.clientX - left) / width, (event.clientY - top) / height);
  };
  upon(element, "pointerdown", point);
  upon(element, "pointermove", point);
  return {
    element,
    draw: (item) => marks.get(item)?.setAttribute("class", `wb-at-${item.state}`),
    show: (x, y, width, height) => build(port, { x, y, width, height }, []),
  };
}

/** What scrolls the notebook that an element stands in; a page made of a notebook has none, and is as high as it is long. */
const bookOf = (element) => element.closest(".jp-WindowedPanel-outer") ?? element.closest(".jp-NotebookPanel .jp-Notebook");

/** The width and height that a picture in `el` has at most, before it is there; 0 on no page. */
export function roomIn(el) {
  const high = min(bookOf(el)?.clientHeight ?? innerHeight, innerHeight);
  return [max(0, el.clientWidth - 1), 0.75 * max(320, high) - 1]; // --wb-most in player.css
}

/**
 * The window onto the picture: zooms, fits, is dragged, and scrolls to what a step is about. `chosen.zoom` is how many
 * times its own size the reader wants the picture, or "fit"; of itself it opens whole, if it can be read so. While it
 * takes the whole window of the browser, `chosen.full` is what was chosen there. `resized` hears whether the theme wants
 * it large, `scaled` how many times its own size the picture is, and `asked` that the reader wants another size.
 */
export function viewport(drawn, title, chosen, { resized, scaled, asked }) {
  const names = { class: "wb-view", role: "group", "aria-label": title };
  const element = html("div", names, html("div.wb-sheet", {}, drawn.root, drawn.dots));
  const room = html("div.wb-room"); // as high as the window may be, which its own height does not always tell
  const map = overview(drawn, (across, down) => {
    const left = across * element.scrollWidth - element.clientWidth / 2;
    element.scrollTo(left, down * element.scrollHeight - element.clientHeight / 2);
  });
  let book, settled, scale = 0, size = 1, kept = [], grip = null, dragged = false, due = 0;
  // Where the window is: asking the browser in the middle of a step would make it lay the page out once more.
  let port = { left: 0, top: 0, wide: 0, high: 0 }, moving = false;
  const light = drawn.groups.size < HEAVY;
  const rows = [...drawn.groups].filter(([{ kind }]) => kind === "name"); // whose names stay in sight
  const items = [...drawn.groups.keys()], chart = items.every((item) => !("d" in item) && item.kind in CHART);
  const read = chart || items.some(({ kind }) => kind === "story"); // from left to right: it is scrolled down at most
  const scroll = (left, top) => element.scrollBy(left, top);
  /** Scroll until these items are in sight; where they do not fit together, as many as do, the first before all. */
  const reveal = (items = kept, smooth = false, anew = false) => {
    if (!items.length || !scale) return;
    const spans = items.map(extent);
    const aim = (axis, from, room, whole) => {
      let [begin, end] = [spans[0][axis], spans[0][axis + 2]];
      for (const span of spans) {
        const low = min(begin, span[axis]), high = max(end, span[axis + 2]);
        if ((high - low) * scale <= room - 2 * MARGIN[axis]) [begin, end] = [low, high];
      }
      const margin = max(0, min(MARGIN[axis], (room - (end - begin) * scale) / 2));
      [begin, end] = [begin * scale - margin, end * scale + margin];
      // To the middle, so that there is as much to see at its right as at its left; down no more than is needed.
      const out = (anew && !axis) || begin < from || end > from + room, near = begin < from ? begin : min(end - room, begin);
      const to = !out ? from : axis ? near : (begin + end - room) / 2;
      return max(0, min(to, whole * scale - room));
    };
    const left = aim(0, port.left, port.wide, drawn.width), top = aim(1, port.top, port.high, drawn.height);
    // A smooth scroll still under way would end where the step before wanted it.
    if (!moving && abs(left - port.left) < 1 && abs(top - port.top) < 1) return;
    moving = smooth && light && !calm();
    element.scrollTo({ left, top, behavior: moving ? "smooth" : "auto" });
    if (moving) return;
    assign(port, { left, top });
    later(); // where it stood before it was clamped, the browser tells of no scroll
  };
  const survey = () => {
    const { scrollLeft: left, scrollTop: top, clientWidth: wide, clientHeight: high } = element;
    port = { left, top, wide, high };
    for (const [{ x }, group] of rows) group.style.setProperty("--wb-aside", `${max(0, left / scale - x)}px`);
    if (map.element.hidden) return;
    const inside = (most, ...edges) => edges.map((edge) => max(0, min(most, edge)) / scale);
    const [west, east] = inside(drawn.width * scale, left, left + wide);
    const [north, south] = inside(drawn.height * scale, top, top + high);
    map.show(west, north, east - west, south - north);
  };
  const lens = () => chosen.full ?? chosen;
  /** Tell the styles how much of the notebook is in sight at once, and hear when that changes. */
  const notice = () => {
    const around = bookOf(element);
    if (around && around !== book) observer.observe(around);
    book = around;
    if (book) element.closest(".wb-player")?.style.setProperty("--wb-sight", `${book.clientHeight}px`);
  };
  /** How large the picture opens: all of it, or else large enough to be read, a part of it. */
  const opening = (across, down) => {
    const fitting = (high, wide = across) => min(wide / drawn.width, down / high);
    const least = chart ? (size > 1 ? 1 : TABLE) : size > 1 ? HALL : READABLE;
    const most = size * (chosen.full ? LARGEST : 1), alone = fitting(drawn.height, element.parentNode.offsetWidth - 1);
    // What is told beside it takes of its room, and does not make it larger.
    if (alone >= least) return min(max(fitting(drawn.height), least), most);
    if (size > 1 && innerWidth < NARROW) return size; // a lecture hall's text stays large
    if (read) return max(min(across / drawn.width, size), LEAST);
    return size > 1 ? HALL : element.parentNode.offsetWidth < NARROW ? 1 : LEAST;
  };
  /** Give the picture the size that is wanted in the room that there is. */
  const settle = () => {
    notice();
    const style = getComputedStyle(element);
    size = parseFloat(style.getPropertyValue("--wb-scale")) || 1;
    // The room without the overview, which is not put away for it: in a wider window what is scrolled to the end would move.
    const over = getComputedStyle(map.element).position === "absolute";
    const beside = over ? 0 : map.element.offsetWidth, wide = element.offsetWidth + (beside && beside + BESIDE);
    const across = wide - 1, down = (parseFloat(style.maxHeight) || Infinity) - 1; // of which no browser rounds more away
    if (across <= 0) return; // it is on no page yet
    const { zoom } = lens(), before = scale;
    scale = zoom === "fit" ? min(across / drawn.width, down / drawn.height, LARGEST * size) : zoom ? zoom * size
      : opening(across, down);
    drawn.root.setAttribute("width", drawn.width * scale);
    drawn.root.setAttribute("height", drawn.height * scale);
    scaled(scale / size);
    const many = over ? OVER : MANY;
    map.element.hidden = drawn.width * scale <= many * across && drawn.height * scale <= many * down;
    survey();
    const now = words([across, down, scale]);
    if (now !== settled) reveal(kept, false, scale !== before); // else it stays where the reader has scrolled it
    settled = now;
  };
  const sized = (zoom) => {
    lens().zoom = zoom;
    settle();
    asked();
  };
  /** Zoom so that what is at a point of the window, or in its middle, stays there. */
  const zoom = (factor, at) => {
    const port = standsAt(element), before = standsAt(drawn.root), old = scale, held = kept;
    const [x, y] = at ?? [port.left + port.width / 2, port.top + port.height / 2];
    kept = [];
    sized(min(4, max(0.02, (scale * factor) / size)));
    kept = held;
    const now = standsAt(drawn.root), grown = scale / old;
    scroll(now.left + (x - before.left) * grown - x, now.top + (y - before.top) * grown - y);
  };
  upon(drawn.root, "pointerdown", ({ button, pointerType, clientX, clientY }) => {
    dragged = false;
    if (button === 0 && pointerType === "mouse") grip = [clientX, clientY]; // a finger scrolls by itself
  });
  upon(element, "pointermove", ({ clientX, clientY, buttons, pointerId }) => {
    if (!grip || !buttons) return;
    const [x, y] = grip;
    if (!dragged && hypot(clientX - x, clientY - y) < DRAGGED) return;
    if (!dragged) element.setPointerCapture(pointerId);
    dragged = true;
    grip = [clientX, clientY];
    scroll(x - clientX, y - clientY);
  });
  upon(element, "pointerup", () => (grip = null));
  upon(element, "click", (event) => dragged && event.stopPropagation(), true);
  upon(element, "wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault(); // or the whole page would zoom
    zoom(Math.exp(-event.deltaY / 400), [event.clientX, event.clientY]);
  }, { passive: false });
  const later = () => {
    due ||= requestAnimationFrame(() => {
      due = 0;
      survey();
    });
  };
  upon(element, "scroll", later);
  upon(element, "scrollend", () => (moving = false));
  const dress = () => {
    settle();
    resized?.(size > 1);
  };
  const observer = new ResizeObserver(dress);
  observer.observe(element);
  observer.observe(room);
  return {
    element, map, room, settle, dress, zoom,
    fit: () => sized("fit"),
    own: () => sized(1),
    scale: () => scale / size,
    /** What brings the window back to where it stands now, unless what is to be in sight is another by then. */
    stand() {
      const { scrollLeft: left, scrollTop: top } = element, before = kept;
      return () => {
        element.scrollTo({ left, top, behavior: "instant" });
        survey();
        if (kept !== before) reveal();
      };
    },
    pan: (across, down) => scroll(80 * across, 80 * down),
    see: (item) => reveal([item], true),
    /** Give the picture the room that there is now, and have these items in sight there. */
    make(items) {
      settle();
      reveal(items);
    },
    /** Keep these items in sight, also when the window changes. */
    keep(items) { reveal(kept = items, true); },
    destroy: () => observer.disconnect(),
  };
}
