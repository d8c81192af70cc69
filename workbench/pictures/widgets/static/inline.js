/**
 * Plays a picture where it stands in a notebook or in a page made of one, with no kernel and nothing to fetch: a script
 * of its own beside its image. It holds the library too, since of any other picture's cell nobody knows when it runs; a
 * page reads that once for each version. The image goes when all is there: where no script may run, it stays.
 */
(async (name, version, library, story, inside, tabs = []) => {
  const places = (root) => [...root.querySelectorAll(`.${name}`)],
    // A script that a host runs elsewhere than where it stood finds its picture in the page, once that is there.
    beside = places(document.currentScript?.parentNode ?? document),
    unpacked = (packed) => new Response(new Blob([Uint8Array.from(atob(packed), (each) => each.charCodeAt(0))])
      .stream().pipeThrough(new DecompressionStream("gzip"))).text(),
    element = (name) => document.createElement(name),
    libraries = (window.workbenchLibraries ??= {}), parse = JSON.parse,
    read = async () => {
      const script = element("script");
      script.text = await unpacked(library);
      document.head.append(script);
      script.remove();
      return libraries[version];
    },
    [{ mount }, told, within] = await Promise.all([
      libraries[version] ?? (libraries["_" + version] ??= read()), unpacked(story), inside && unpacked(inside)]);
  for (const place of beside.length ? beside : places(document)) {
    if (place.workbenchPlayed) continue; // the same picture stands beside it, and has been stepped through by now
    place.workbenchPlayed = 1;
    const still = [...place.childNodes], el = element("div");
    place.replaceChildren(el);
    try {
      const views = tabs.map(([view, packed]) => [view, packed ? async () => parse(await unpacked(packed)) : null]);
      mount(el, parse(told), { views, ...(within && { within: parse(within) }) });
    } catch (error) {
      place.replaceChildren(...still);
      throw error;
    }
  }
});
