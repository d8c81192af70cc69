/**
 * Where what a reader has come to is kept: of a page of its own in its address, of a notebook in the browser's storage.
 *
 * @typedef {{view?: string, step?: number, box?: string, open?: string[], zoom?: number|"fit"}} Kept
 */

import { list, upon } from "./drawing.js";

const PAUSE_MS = 250; // after which the address is written: a browser takes only so many changes of it
const STORE = "workbench-pictures", MOST = 200; // pictures whose state a browser keeps

/** What is kept as an address tells it, and back. */
const told = ({ view, step, box, open, zoom }) => {
  const parts = { view, step, box, open: open?.map(encodeURIComponent).join(","), zoom: zoom === "fit" ? zoom : zoom && +zoom.toFixed(2) };
  return new URLSearchParams(Object.entries(parts).filter(([, value]) => value !== undefined)).toString();
};
function read(text) {
  const parts = new URLSearchParams(text), of = (name) => parts.get(name) ?? undefined, number = (name) => (of(name) > 0 ? +of(name) : undefined);
  const open = of("open")?.split(",").filter(Boolean);
  try {
    return { view: of("view"), step: number("step"), box: of("box"), zoom: of("zoom") === "fit" ? "fit" : number("zoom"), open: open?.map(decodeURIComponent) };
  } catch {
    return {}; // an address that somebody has typed
  }
}

/** The address of a page: another view or box is a place to go back to, a step is not. `came` is told of what it says now. */
function inAddress(came) {
  let due = 0;
  const go = () => came(read(location.hash.slice(1)));
  upon(globalThis, "popstate", go);
  return {
    first: read(location.hash.slice(1)),
    write(state, anew) {
      clearTimeout(due);
      const put = () => `#${told(state)}` !== location.hash && history[anew ? "pushState" : "replaceState"](history.state, "", `#${told(state)}`);
      if (anew) put();
      else due = setTimeout(put, PAUSE_MS);
    },
    end() {
      clearTimeout(due);
      globalThis.removeEventListener("popstate", go);
    },
  };
}

/** A number for a text, the same for the same. */
const digest = (text) => [...text].reduce((sum, each) => (Math.imul(sum, 31) + each.codePointAt(0)) | 0, 7).toString(36);

/** The storage of the browser, by what is told of the picture; of several alike each has its own. */
function inStorage(el, { title, start, boxes, arrows, steps }) {
  const name = `${digest(JSON.stringify([title, start, list(steps).length, ...[boxes, arrows].map((part) => list(part).map(({ id }) => id))]))}`;
  const alike = document.querySelectorAll(`[data-wb-kept^="${name}."]`).length, key = `${name}.${alike}`;
  const all = () => JSON.parse(localStorage.getItem(STORE) ?? "[]");
  el.dataset.wbKept = key;
  try {
    return {
      first: read(all().find(([each]) => each === key)?.[1]),
      write(state) {
        try {
          localStorage.setItem(STORE, JSON.stringify([[key, told(state)], ...all().filter(([each]) => each !== key)].slice(0, MOST)));
        } catch { /* it is full, or nobody may write there */ }
      },
      end() {},
    };
  } catch {
    return null; // a page whose storage is closed
  }
}

/** Where the state of the picture in `el` is kept, if anywhere. */
export const keeper = (el, story, { dressed, position }, came) =>
  (dressed ? inAddress(came) : position === undefined && el.closest(".jp-NotebookPanel") ? inStorage(el, story) : null);
