/**
 * What pictures in notebooks don't carry, unless they have an overlay: a saved page that opens other files, the numbers of an
 * overlay below a picture, and a picture in a page of one's own. Made into `viewing.min.js` by tests/write_player.py.
 */

import { html, list, upon, words } from "./drawing.js";
import { Unreadable, opened } from "./opening.js";
import { overlayOf } from "./overlay.js";

const player = globalThis.workbenchLibraries[LIBRARY_VERSION]; // read before this; the name is from tests/write_player.py
const sheet = html("style", {}, VIEWING_STYLE);

/** Play a story as `mount` of the player does, with its overlay below it, if it has one. */
export function mount(el, story, options = {}) {
  if (!sheet.isConnected) document.head.append(sheet);
  const place = html("div"), more = Array.isArray(story?.overlay?.rows) ? [overlayOf(story, place, LIBRARY_VERSION)] : [];
  for (const panel of more) // in a notebook each picture has a theme of its own
    new MutationObserver(() => (panel.dataset.wbTheme = place.dataset.wbTheme)).observe(place, { attributeFilter: ["data-wb-theme"] });
  el.replaceChildren(place, ...more);
  const playing = player.mount(place, story, options);
  return { ...playing, destroy: () => (playing.destroy(), el.replaceChildren()) };
}

/** The story whose own view is the one of this name, if it has that. */
export function beginning(story, view) {
  const tabs = list(story.tabs), own = tabs.find(([name, tab]) => name === view && tab);
  if (!own) return story;
  const { tabs: _, ...whole } = story;
  return { ...own[1], tabs: tabs.map(([name, tab]) => [name, name === view ? null : tab ?? whole]) };
}

/** Let an address name a box by its title too. */
function named(story) {
  const parts = new URLSearchParams(location.hash.slice(1)), box = parts.get("box");
  const shown = list(story?.tabs).find(([name, tab]) => name === parts.get("view") && tab)?.[1] ?? story, boxes = list(shown?.boxes);
  if (box === null || boxes.some(({ id }) => id === box)) return;
  const found = boxes.find(({ title }) => title === box) ?? boxes.find(({ title }) => words(title).endsWith(`.${box}`));
  if (!found) return;
  parts.set("box", found.id);
  history.replaceState(history.state, "", `#${parts}`);
}

/** A page of its own, in which other files open too: dropped there, or chosen with the button or the key "o". */
export function view(el, story, options) {
  const field = html("input", { type: "file", accept: ".json,.gz", hidden: "", tabindex: -1 });
  const button = html("button", { type: "button", class: "wb-opener", "aria-keyshortcuts": "o", title: "Open a trace or a picture (.json) in this page: press o, or drop the file here" }, "Open …");
  const said = html("p", { class: "wb-opening", role: "status" }), heading = document.querySelector("h1");
  let playing, place = html("div");
  el.replaceChildren(place);
  named(story);
  playing = mount(place, story, options);

  const say = (text) => said.replaceChildren(words(text));
  /** Show another story; the one that is shown stays if that can't be drawn. */
  function replace(story, name) {
    const before = location.hash, next = html("div");
    place.hidden = true;
    el.append(next);
    try {
      if (before) history.replaceState(history.state, "", "#"); // that was about the other picture
      const other = mount(next, story, options);
      playing.destroy();
      place.remove();
      [playing, place] = [other, next];
    } catch {
      next.remove();
      place.hidden = false;
      if (before) history.replaceState(history.state, "", before);
      throw new Unreadable(`Can't open ${name}: its picture is damaged.`);
    }
    document.title = words(story.title) || "Autograd workbench";
    heading?.replaceChildren(document.title);
    say(`Opened ${name}.`);
  }
  let latest = 0;
  async function read(file) {
    const turn = (latest += 1);
    say(`Opening ${file.name} …`);
    try {
      const story = await opened(file.name, new Uint8Array(await file.arrayBuffer()));
      if (turn === latest) replace(story, file.name);
    } catch (error) {
      if (turn === latest) say(error instanceof Unreadable ? error.message : `Can't read ${file.name}.`);
    }
  }
  const choose = () => field.click();
  upon(button, "click", choose);
  upon(field, "change", () => {
    if (field.files[0]) read(field.files[0]);
    field.value = "";
  });
  upon(document, "keydown", (event) => {
    const { key, target, ctrlKey, metaKey, altKey } = event;
    if (key !== "o" || ctrlKey || metaKey || altKey || target.closest?.("input:not([type=range]), textarea, select")) return;
    event.preventDefault();
    choose();
  }, true);
  const over = (yes) => document.documentElement.toggleAttribute("data-wb-over", yes);
  upon(document, "dragover", (event) => {
    if (![...event.dataTransfer.types].includes("Files")) return;
    event.preventDefault();
    over(true);
  });
  upon(document, "dragleave", ({ relatedTarget }) => relatedTarget || over(false));
  upon(document, "drop", (event) => {
    const [file] = event.dataTransfer.files;
    if (!file) return;
    event.preventDefault();
    over(false);
    read(file);
  });
  const head = html("div", { class: "wb-page-head" });
  heading?.replaceWith(head);
  head.append(...(heading ? [heading] : []), button, field);
  head.after(said);
}

export { Unreadable, opened };
