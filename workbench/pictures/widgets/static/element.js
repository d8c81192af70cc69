/**
 * The element `<autograd-player src="picture.json">`: a saved picture in any page. Made into `autograd-player.js` of the
 * documentation by tests/write_player.py, with the player in it; nothing else is fetched than `src`.
 */

import { html } from "./drawing.js";
import { Unreadable, beginning, mount, opened } from "./viewing.js";

const THEMES = ["auto", "light", "dark", "projector", "print"];
const UNREACHED = "the server doesn't send it, or this page may not read it. A page opened as a file:// can read no other file, and another site has to allow it (CORS)";

/** @returns {Promise<{name: string, bytes: Uint8Array}>} */
async function fetched(src) {
  const name = src.split(/[?#]/)[0].split("/").pop() || src, refuse = (why) => new Unreadable(`Can't show ${name}: ${why}.`);
  const answer = await fetch(src).catch(() => null);
  if (!answer) throw refuse(UNREACHED);
  if (!answer.ok) throw refuse(`the server answers ${answer.status}`);
  return { name, bytes: new Uint8Array(await answer.arrayBuffer()) };
}

class AutogradPlayer extends HTMLElement {
  static observedAttributes = ["src", "view", "step", "theme"];
  #turn = 0;
  #playing = null;
  #story = null;

  connectedCallback() {
    this.style.display ||= "block";
    this.#show();
  }
  disconnectedCallback() {
    this.#turn += 1;
    this.#playing?.destroy();
    this.#playing = null;
  }
  attributeChangedCallback(name, before, after) {
    if (before !== after && this.isConnected) this.#show();
  }
  /** Show what the attributes say; what stands in the element, or the last picture, stays until that is there. */
  async #show() {
    const turn = (this.#turn += 1), src = this.getAttribute("src");
    await null; // several attributes change at once
    if (turn !== this.#turn || !src) return;
    try {
      if (this.#story?.src !== src) {
        const { name, bytes } = await fetched(src);
        this.#story = { src, told: await opened(name, bytes) };
      }
      if (turn === this.#turn) this.#play(this.#story.told);
    } catch (error) {
      if (turn !== this.#turn) return;
      this.querySelector(":scope > [role=alert]")?.remove();
      this.append(html("p", { role: "alert" }, error instanceof Unreadable ? error.message : "Can't show this picture: it is damaged."));
    }
  }
  #play(story) {
    const step = Number.parseInt(this.getAttribute("step"), 10), theme = this.getAttribute("theme"), el = html("div");
    this.#playing?.destroy();
    this.replaceChildren(el);
    this.#playing = mount(el, beginning(story, this.getAttribute("view")), {
      theme: THEMES.includes(theme) ? theme : "auto", ...(step > 0 && { position: step - 1 }) });
  }
}
if (!customElements.get("autograd-player")) customElements.define("autograd-player", AutogradPlayer);
