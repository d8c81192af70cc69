/**
 * Plays a picture where it stands in a notebook or in a page made of one, with no kernel and nothing to fetch: a script
 * of its own beside its image. It holds the player too, since of any other picture's cell nobody knows when it runs; a
 * page reads it once. The image goes when all is there: where no script may run, it stays.
 */
(async (name, library, player, story) => {
  const places = (root) => [...root.querySelectorAll(`.${name}`)];
  // A script that a host runs elsewhere than where it stood finds its picture in the page, once that is there.
  const beside = places(document.currentScript?.parentNode ?? document);
  const signs = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#:%/()*+-;,=.?@^_[]|'~";
  const unpacked = (dense) => {
    const bytes = new Uint8Array(Math.ceil(dense.length / 5) * 4), four = new DataView(bytes.buffer);
    dense.match(/.{1,5}/g).forEach((five, i) => {
      four.setUint32(4 * i, [...five.padEnd(5, "~")].reduce((sum, sign) => 85 * sum + signs.indexOf(sign), 0));
    });
    const whole = new Blob([bytes.subarray(0, Math.floor(dense.length * 0.8))]);
    return new Response(whole.stream().pipeThrough(new DecompressionStream("gzip"))).text();
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
