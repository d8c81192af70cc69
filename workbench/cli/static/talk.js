// A lesson as slides: a new one for each heading, for each picture, and after each question to the room.
const main = document.querySelector("main");
const cells = [...main.children].filter((cell) => cell.matches(".jp-Cell"));
const picture = "[data-widget], .wb-player, .jp-OutputArea-output img";
for (const output of main.querySelectorAll(".jp-OutputArea-child")) output.classList.toggle("pictured", !!output.querySelector(picture));
const isPicture = (cell) => cell.querySelector(".pictured");
const said = (element) => element.innerText.replace(/¶/g, "").replace(/In\s*\[\d+\]:/g, "").trim().replace(/\s+/g, " ");

const answers = (place) =>
  [...place.querySelectorAll(".jp-OutputArea-output")].filter((output) => output.textContent.includes("The answer: "));

const slides = [];
let title = document.title, open = null, asked = false;
const cover = (output) => {
  output.classList.add("covered");
  output.addEventListener("click", () => output.classList.remove("covered"));
};
const begin = (kind) => slides.push((open = { kind, title, parts: [] }));
for (const cell of cells) {
  const heading = cell.querySelector("h1, h2");
  const words = said(cell.querySelector(".jp-Cell-inputWrapper") ?? cell).replace(heading ? said(heading) : "", "");
  if (heading) title = said(heading);
  if (heading || !open || open.kind !== "words") begin("words");
  if (cell.matches(".jp-CodeCell")) {
    const guessed = asked ? cell.querySelectorAll(".jp-OutputArea-child:not(.pictured) .jp-OutputArea-output") : answers(cell);
    for (const output of guessed) cover(output);
    asked = false;
  } else asked = asked || /\bBefore you\b/.test(cell.textContent);
  if (isPicture(cell)) {
    if (cell.querySelector(".jp-Cell-inputWrapper")) open.parts.push([cell, "only-input", words]);
    begin("picture");
    open.parts.push([cell, "only-output", words]);
  } else open.parts.push([cell, "", words]);
  // The room guesses before it sees more.
  if (cell.matches(".jp-MarkdownCell") && /\bPredict\b/.test(cell.textContent)) open = null;
  if (cell.querySelector(".solution") || answers(cell).length) open = null; // what comes next explains it
}
const shown = slides.filter((slide) => slide.parts.length);

const make = (tag, names = {}, ...children) => {
  const made = Object.assign(document.createElement(tag), names);
  made.append(...children);
  return made;
};
const where = make("span", { className: "where" });
const button = (text, act) => {
  const made = make("button", { type: "button" }, text);
  made.addEventListener("click", act);
  return made;
};
const overview = make("dialog", { id: "talk-all" });
overview.setAttribute("aria-label", "All slides");
const bar = make("div", { id: "talk-bar" }, button("←", () => move(-1)), button("→", () => move(1)),
  button("Overview (o)", () => look()), make("span", {}, "→ next · ← back · ↓ ↑ step the picture · f full screen"), where);
document.body.classList.add("talk");
document.body.append(bar, overview);

const began = Date.now();
let at = Math.min(Math.max(0, parseInt(location.hash.slice(1), 10) - 1 || 0), shown.length - 1);

function show() {
  const { kind, parts } = shown[at];
  for (const cell of cells) cell.classList.remove("on", "only-input", "only-output");
  main.className = kind;
  for (const [cell, part] of parts) cell.classList.add("on", ...(part ? [part] : []));
  main.style.zoom = 1;
  if (kind === "picture") {
    for (const dressed of main.querySelectorAll(".on [data-wb-theme]")) dressed.dataset.wbTheme = "projector";
    setTimeout(() => main.querySelector('.on [data-action="fit"]')?.click(), 50);
  } else {
    // As large as fits; what is long scrolls.
    for (const zoom of [2.2, 2, 1.8, 1.6, 1.4, 1.2, 1.1, 1]) {
      main.style.zoom = zoom;
      main.style.height = `${100 / zoom}vh`;
      const wide = [...main.querySelectorAll(".on pre")].some((code) => code.scrollWidth > code.clientWidth + 1);
      if (!wide && main.scrollHeight <= main.clientHeight + 1) break;
    }
  }
  if (kind === "picture") main.style.height = "";
  main.scrollTop = 0;
  where.textContent = `${at + 1} / ${shown.length}`;
  history.replaceState(null, "", `#${at + 1}`);
}

function move(by) {
  const covered = by > 0 && main.querySelector(".on .covered");
  const folded = by > 0 && main.querySelector(".on .solution:not([open])");
  const below = main.scrollHeight - main.clientHeight - main.scrollTop;
  if (by > 0 && shown[at].kind === "words" && below > 8) main.scrollBy(0, Math.min(below, 0.8 * main.clientHeight));
  else if (covered) covered.classList.remove("covered");
  else if (folded) folded.open = true;
  else if (shown[at + by]) {
    at += by;
    show();
  }
}

function look() {
  if (overview.open) return overview.close();
  const minutes = Math.floor((Date.now() - began) / 60000);
  const next = shown[at + 1];
  const items = shown.map((slide, number) => {
    const text = slide.parts.map(([, part, words]) => (part === "only-output" ? "picture" : words)).join(" ");
    const face = button("", () => { at = number; overview.close(); show(); });
    face.append(make("b", {}, `${number + 1}: ${slide.title}`), make("small", {}, text.slice(0, 140)));
    if (number === at) face.setAttribute("aria-current", "true");
    return make("li", {}, face);
  });
  overview.replaceChildren(
    make("p", {}, `${minutes} min since the start · slide ${at + 1} of ${shown.length}${next ? ` · next: ${next.title}` : ""}`),
    make("ol", {}, ...items), button("Close (Esc)", () => overview.close()));
  overview.showModal();
  overview.querySelector("[aria-current]").focus();
}

const press = (action) => main.querySelector(`.on [data-action="${action}"]`)?.click();
const keys = {
  ArrowRight: () => move(1), PageDown: () => move(1), " ": () => move(1), ArrowLeft: () => move(-1), PageUp: () => move(-1),
  ArrowDown: () => (shown[at].kind === "picture" ? press("step") : main.scrollBy(0, 200)),
  ArrowUp: () => (shown[at].kind === "picture" ? press("back") : main.scrollBy(0, -200)),
  Home: () => { at = 0; show(); }, End: () => { at = shown.length - 1; show(); },
  o: look, f: () => (document.fullscreenElement ? document.exitFullscreen() : document.documentElement.requestFullscreen()),
};
// Before the players, which have keys of their own; but not where somebody types.
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches?.("input, textarea, select")) return;
  if (overview.open ? event.key !== "o" : !keys[event.key]) return;
  event.preventDefault();
  event.stopPropagation();
  keys[event.key]();
}, true);
addEventListener("resize", show);
show();
// The players arrive after this script.
new MutationObserver(() => {
  for (const dressed of main.querySelectorAll('.on [data-wb-theme]:not([data-wb-theme="projector"])')) {
    if (shown[at].kind === "picture") dressed.dataset.wbTheme = "projector";
  }
}).observe(main, { childList: true, subtree: true });
