/**
 * Plays a picture where it stands in a notebook or in a page made of one, with no kernel and nothing to fetch: a script
 * of its own beside its image. It holds the player too, since of any other picture's cell nobody knows when it runs; a
 * page reads it once. The image goes when all is there: where no script may run, it stays.
 */
(async (name, library, player, story) => {
  const places = (root) => [...root.querySelectorAll(`.${name}`)];
  // A script that a host runs elsewhere than where it stood finds its picture in the page, once that is there.
  const beside = places(document.currentScript?.parentNode ?? document);
  const unpacked = (packed) => {
    const bytes = new Blob([Uint8Array.from(atob(packed), (each) => each.charCodeAt(0))]);
    return new Response(bytes.stream().pipeThrough(new DecompressionStream("gzip"))).text();
  };
  const read = async () => {
    const script = document.createElement("script");
    script.textContent = await unpacked(player);
    document.head.append(script);
    script.remove();
    return script.mount;
  };
  const players = (window.workbenchPlayers ??= {}), played = (window.workbenchPlayed ??= new WeakSet());
  const [mount, told] = await Promise.all([(players[library] ??= read()), unpacked(story)]);
  for (const place of beside.length ? beside : places(document)) {
    if (played.has(place)) continue; // the same picture stands beside it, and has been stepped through by now
    played.add(place);
    const still = [...place.childNodes], el = document.createElement("div");
    place.replaceChildren(el);
    try {
      mount(el, JSON.parse(told));
    } catch (error) {
      place.replaceChildren(...still);
      throw error;
    }
  }
})
