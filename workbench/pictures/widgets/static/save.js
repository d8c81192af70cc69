/** A picture as a file or on the clipboard: made of what is on the page, with no kernel and no network. */

import { entries, html, svg, words } from "./drawing.js";

/** What a drawing looks like, beyond its shapes: the styles of which a file of its own has none. */
const LOOKS = [
  "fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "stroke-linejoin", "paint-order", "font-family", "font-size",
  "font-weight", "font-style", "text-anchor",
];
const KEPT = ["d", "x", "y", "width", "height", "rx", "cx", "cy", "r", "transform"]; // and of its own attributes these
const TWICE = 2; // px of a PNG for each px of the picture's own size
const PAGE_STYLE = ":root { color-scheme: light dark; } body { max-width: 1200px; margin: 0 auto; padding: 12px 16px; font-family: system-ui, sans-serif; }";

/** The same element with the looks that it has here, and all in it that is seen. */
function dressedCopy(element, around = {}) {
  const style = getComputedStyle(element), copy = svg(element.tagName);
  if (style.visibility === "hidden" || (style.fill === "none" && style.stroke === "none" && !element.firstElementChild)) return null;
  const looks = Object.fromEntries(LOOKS.map((name) => [name, style.getPropertyValue(name)]));
  for (const name of KEPT) if (element.hasAttribute(name)) copy.setAttribute(name, element.getAttribute(name));
  for (const [name, look] of entries(looks)) if (look !== around[name]) copy.setAttribute(name, look);
  for (const each of element.childNodes) {
    const held = each instanceof Element ? dressedCopy(each, looks) : each.cloneNode();
    if (held) copy.append(held);
  }
  return copy;
}
/** The picture as it is now in a document of its own, in its own size, on the canvas of its theme. */
export function asSvg({ root, width, height }, title) {
  const { backgroundColor } = getComputedStyle(root.closest(".wb-player"));
  const whole = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}` }, svg("title", {}, title),
    svg("rect", { width, height, fill: backgroundColor }), ...[...root.children].map((each) => dressedCopy(each)).filter(Boolean));
  return new XMLSerializer().serializeToString(whole);
}
async function asPng(drawn, title) {
  const image = new Image(), canvas = html("canvas", { width: drawn.width * TWICE, height: drawn.height * TWICE });
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(asSvg(drawn, title))}`; // a page of its own loads nothing else
  await image.decode();
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((made) => canvas.toBlob(made));
}
/** A page of its own that plays this story. */
function asPage(story, title, theme) {
  const told = (value) => JSON.stringify(value).replaceAll("<", "\\u003c"), name = title.replace(/[&<>]/g, (sign) => `&#${sign.charCodeAt(0)};`);
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:">
<title>${name}</title><style>${PAGE_STYLE}</style></head><body><main><h1>${name}</h1><div id="player"></div></main>
<script id="story" type="application/json">${told(story)}</script>
<script type="module">(globalThis.workbenchLibraries ??= {})["${LIBRARY_VERSION}"] = (${LIBRARY_SOURCE})();
globalThis.workbenchLibraries["${LIBRARY_VERSION}"].mount(document.getElementById("player"),
  JSON.parse(document.getElementById("story").textContent), { theme: ${told(theme)}, dressed: document.documentElement });
</script></body></html>
`;
}

function download(name, blob) {
  const link = html("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000); // by then it is written
}

/**
 * The menu's entries that save a picture, as it is drawn now, or with all its steps as a page if `story` has them; `say`
 * tells the reader how that went.
 */
export function savings({ drawn, title, story, theme, say }) {
  const name = (suffix) => `${words(title).toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "") || "picture"}.${suffix}`;
  const save = (suffix, type, make) => ({ action: `save-${suffix}`, label: suffix.toUpperCase(), group: "Save as", async act() {
    const made = await make();
    download(name(suffix), made instanceof Blob ? made : new Blob([made], { type }));
  } });
  const copy = async () => {
    try {
      await navigator.clipboard.write([new ClipboardItem({ "image/png": asPng(drawn, title) })]);
      say("The picture is on the clipboard.");
    } catch {
      say("This page may not copy pictures. Save it as PNG instead.");
    }
  };
  return [
    save("svg", "image/svg+xml", () => asSvg(drawn, title)), save("png", "image/png", () => asPng(drawn, title)),
    ...(story ? [save("html", "text/html", () => asPage(story, title, theme() ?? "auto"))] : []),
    { action: "copy", label: "Copy picture", act: copy },
  ];
}
