/** Sentences about a picture: a name in them is code, colored like the box that it names. */

import { html, list, words } from "./drawing.js";

const PART = /(`[^`]+`|(?<=`|\d(?:st|nd|rd|th)(?: call)?) \([A-Z]\w*\))/; // a name, and PyTorch's own behind it
const ORDINAL = /, [\d,]+(st|nd|rd|th)( call)?$/; // behind the title of what has the same as another

/** The kind of box that each name in a sentence stands for: a title, it without its round, or the variable in it. */
function kindsOf(boxes) {
  const kinds = new Map(), named = list(boxes).filter(({ title }) => title);
  const put = (name, kind) => name && !kinds.has(name) && kinds.set(name, kind);
  for (const { title, kind } of named) put(title, kind);
  for (const { title, kind } of named) {
    const own = title.replace(ORDINAL, "");
    put(own, kind);
    put(own.slice(own.indexOf(": ") + 2), kind);
    put(/^([\w.]+) = /.exec(own)?.[1], kind);
  }
  return kinds;
}

/**
 * What tells a sentence in the words of these boxes, as the parts that an element is filled with.
 * @param {Box[]} boxes @returns {(sentence: string) => (string|Node)[]}
 */
export function teller(boxes) {
  const kinds = kindsOf(boxes);
  const part = (text) => {
    if (text.startsWith(" (")) return html("small.wb-own", {}, text);
    const name = text.slice(1, -1), kind = kinds.get(name) ?? kinds.get(name.replace(/\.grad$/, ""));
    return html("code.wb-name", kind ? { "data-kind": kind } : {}, name);
  };
  return (sentence) => words(sentence).split(PART).filter(Boolean).map((text) => (/^`[^`]|^ \([A-Z]\w*\)$/.test(text) ? part(text) : text));
}
