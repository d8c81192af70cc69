/**
 * Where a picture that needs the kernel stands in the page: in every element of its own class. A saved notebook keeps
 * that element with an image in it, and no view of a widget, which nothing could show again without the kernel. The model
 * draws there as soon as both are on the page, in whatever order they come.
 */

let known;
/** The page's places: it is searched once, whatever comes. */
function watched() {
  const draws = new Map(), drawn = new Map();
  const fill = (place) => {
    if (!place.classList.contains("wb-live") || drawn.has(place)) return;
    const draw = draws.get([...place.classList].find((name) => draws.has(name)));
    if (!draw) return;
    const still = [...place.childNodes], el = document.createElement("div");
    place.replaceChildren(el);
    drawn.set(place, { draw, still, leave: draw(el) });
  };
  const clear = (place) => {
    const { still, leave } = drawn.get(place);
    drawn.delete(place);
    leave();
    place.replaceChildren(...still); // it may come back, as what is scrolled away does in some notebooks
  };
  const observer = new MutationObserver((changes) => {
    for (const place of [...drawn.keys()]) if (!place.isConnected) clear(place);
    const come = changes.flatMap(({ addedNodes }) => [...addedNodes]).filter((node) => node instanceof Element);
    for (const node of come) [node, ...node.querySelectorAll(".wb-live")].forEach(fill);
  });
  observer.observe(document, { childList: true, subtree: true });
  return {
    add(name, draw) {
      draws.set(name, draw);
      for (const place of document.getElementsByClassName(name)) {
        if (drawn.has(place)) clear(place);
        fill(place);
      }
    },
    /** What is drawn stays: it is all that there will be of it. */
    remove(name, draw) {
      if (draws.get(name) === draw) draws.delete(name);
      for (const [place, each] of drawn) if (each.draw === draw) drawn.delete(place);
    },
  };
}

/** Draw a model's picture in its places from now on, by `render`; gives what ends that. */
export function inhabit(model, render) {
  const places = (known ??= watched()), name = model.get("place"), draw = (el) => render({ model, el });
  places.add(name, draw);
  return () => places.remove(name, draw);
}
