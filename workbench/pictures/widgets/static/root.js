/**
 * The root of every player. Its class is that of the version, in which the whole stylesheet is nested: a page has the
 * stylesheet once, and whatever else stands on the page is not touched by it.
 */

import { html } from "./drawing.js";

export const sheet = html("style", {}, LIBRARY_STYLE); // it and LIBRARY_VERSION come from tests/write_player.py, which joins the modules

/** @param {string} tag @param {string} name @param {Record<string, unknown>} attributes @param {...(Node|string)} held */
export function playerRoot(tag, name, attributes, ...held) {
  if (!sheet.isConnected) document.head.append(sheet); // a host may have taken it away
  return html(tag, { class: `wb-player ${LIBRARY_VERSION} ${name}`.trim(), ...attributes }, ...held);
}
