/** The kernel behind a picture: what asks it, and hears what is new from it, and that nobody is there any more. */

import { assign, entries, list } from "./drawing.js";

export const BUSY = "The kernel is busy. The request waits.";
export const AGAIN = ". Rerun the cell to get a new one.", lostWith = (what) => `The kernel of this ${what} has shut down`;
const BUSY_MS = 1000, LOOK_MS = 1000;
const OVER = ["dead", "restarting", "autorestarting"];

/** Whether the kernel of a host that knows it is gone: what is sent to it then would write an error to the console. */
export const alone = (host) =>
  "kernel" in host && (!host.kernel || host.kernel.isDisposed || OVER.includes(host.kernel.status));

/** What is shown, with what is new in it. */
export function renewed(shown, { picture: news, status }) {
  const renew = (part) => {
    if (Array.isArray(news[part])) return news[part]; // of another graph, all
    const things = new Map(list(shown.picture[part]).map((thing) => [thing.id, thing]));
    for (const [id, fields] of entries(news[part] ?? {})) things.set(id, { ...things.get(id), ...fields });
    return [...things.values()];
  };
  const story = { ...shown.picture, ...news, boxes: renew("boxes"), arrows: renew("arrows") };
  return { picture: story, status: { ...shown.status, ...status } };
}

/** A picture's items, which `change` brings up to date: what is new in them. @returns {Items} */
export function living(story) {
  const kept = (things) => new Map(list(things).map((thing) => [thing.id, { ...thing }]));
  return { boxes: kept(story.boxes), arrows: kept(story.arrows) };
}
export const change = (items, news) => new Set(["boxes", "arrows"].flatMap((part) => entries(news[part] ?? {})
  .map(([id, fields]) => assign(items[part].get(id), fields))));

/** The items as they are in this picture of them: those that differ from before. */
export const refreshed = ({ boxes, arrows }, story) => new Set([[boxes, story.boxes], [arrows, story.arrows]].flatMap(
  ([known, now]) => now.filter((thing) => Object.keys(thing).some((name) => thing[name] !== known.get(thing.id)[name]))
    .map((thing) => assign(known.get(thing.id), thing))));

/**
 * A line to a model's kernel: `hear` is given what it sends, `busy` called when an answer takes long, `cut` when there
 * will be none: `gone` then says why, of the thing that is called `what`.
 */
export function wire(model, what, { hear, busy, cut }) {
  const host = model.widget_manager ?? {};
  let waiting = 0;
  const end = (why) => {
    if (line.gone) return;
    line.gone = why + AGAIN;
    clearInterval(timer);
    clearTimeout(waiting);
    cut();
  };
  const look = () => alone(host) && end(lostWith(what));
  const lost = () => {
    look();
    end(`The kernel no longer has this ${what}`);
  };
  // A model that was saved with the notebook has nobody to ask.
  const unanswered = () => (host.kernel?.status === "idle" ? lost() : busy());
  const heard = (news) => {
    clearTimeout(waiting);
    hear(news);
  };
  const timer = setInterval(look, LOOK_MS);
  const heeded = [["msg:custom", heard], ["comm:close", lost], ["comm_live_update", look]]; // one that starts again is soon idle
  for (const [event, act] of heeded) model.on(event, act);
  const line = {
    gone: null,
    ask(message) {
      look();
      if (line.gone) return;
      clearTimeout(waiting);
      waiting = setTimeout(unanswered, BUSY_MS);
      model.send(message);
    },
    destroy() {
      clearInterval(timer);
      clearTimeout(waiting);
      for (const [event, act] of heeded) model.off(event, act);
    },
  };
  return line;
}
