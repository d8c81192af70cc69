/**
 * Plays a picture where it stands in a notebook or in a page made of one, with no kernel and nothing to fetch: a script
 * of its own beside its image. It holds the library too, since of any other picture's cell nobody knows when it runs; a
 * page reads that once for each version. The image goes when all is there: where no script may run, it stays.
 */
(async (name, version, library, story, inside, tabs = []) => {
  const places = (root) => [...root.querySelectorAll(`.${name}`)];
  // A script that a host runs elsewhere than where it stood finds its picture in the page, once that is there.
  const beside = places(document.currentScript?.parentNode ?? document);
  const unpacked = (packed) => {
    const whole = new Blob([Uint8Array.from(atob(packed), (each) => each.charCodeAt(0))]);
    return new Response(whole.stream().pipeThrough(new DecompressionStream("gzip"))).text();
  };
  const read = async () => {
    const script = document.createElement("script");
    script.textContent = await unpacked(library);
    document.head.append(script);
    script.remove();
    return libraries[version];
  };
  const libraries = (globalThis.workbenchLibraries ??= {}), reading = `${version} is read`;
  const played = (globalThis.workbenchPlayed ??= new WeakSet());
  const [{ mount }, told, within] = await Promise.all([
    libraries[version] ?? (libraries[reading] ??= read()), unpacked(story), inside && unpacked(inside)]);
  for (const place of beside.length ? beside : places(document)) {
    if (played.has(place)) continue; // the same picture stands beside it, and has been stepped through by now
    played.add(place);
    const still = [...place.childNodes], el = document.createElement("div");
    place.replaceChildren(el);
    try {
      const views = tabs.map(([view, packed]) => [view, packed ? async () => JSON.parse(await unpacked(packed)) : null]);
      mount(el, JSON.parse(told), { views, ...(within && { within: JSON.parse(within) }) });
    } catch (error) {
      place.replaceChildren(...still);
      throw error;
    }
  }
});
