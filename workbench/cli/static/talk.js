// A lesson as slides: a new one for each heading, for each picture, after each question to the room, and where one is full.
const main = document.querySelector("main");
const picture = "[data-widget], .wb-player, .jp-OutputArea-output img";
const said = (element) => element.innerText.replace(/¶/g, "").replace(/In\s*\[\d+\]:/g, "").trim().replace(/\s+/g, " ");
const isAnswer = (part) => part.textContent.includes("The answer: ");
const isHeading = (part) => part.matches("h1, h2, h3");
const isPicture = (part) => isOutput(part) && !!part.querySelector(picture);
const SHOWS = /^[\w.]+\.show\([^()]*\)( #.*)?$/; // a line that shows a picture
const isOutput = (part) => part.matches(".jp-OutputArea-child");

// Long code comes in pieces: each begins after an empty line, or after as many lines as one holds.
const MOST = 15;
function divide(wrapper) {
  const lines = wrapper.querySelector("pre")?.textContent.trimEnd().split("\n") ?? [];
  if (lines.length <= MOST) return;
  const pieces = [];
  for (const [number, line] of lines.entries()) {
    const last = pieces.at(-1);
    if (!last || (line && (!lines[number - 1] || last.length >= MOST))) pieces.push([line]);
    else last.push(line);
  }
  let from = 0;
  for (const text of pieces.map((piece) => piece.join("\n"))) {
    const copy = wrapper.cloneNode(true);
    copy.classList.add("piece");
    keep(copy.querySelector("pre"), from, from + text.trimEnd().length);
    wrapper.before(copy);
    from += text.length + 1;
  }
  wrapper.remove();
}
// Of the text of an element only what stands between two places.
function keep(element, from, to) {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let at = 0, node; (node = walker.nextNode()); ) {
    const { data } = node;
    node.data = data.slice(Math.max(0, from - at), Math.max(0, to - at));
    at += data.length;
  }
}
main.querySelectorAll(".jp-CodeCell > .jp-Cell-inputWrapper").forEach(divide);

// A cell comes in parts: paragraphs, tables and code of a text; what a cell of code says, and each of its outputs.
const PARTS = ".jp-RenderedMarkdown > *, .jp-CodeCell > .jp-Cell-inputWrapper, .jp-OutputArea-child";
const cells = [...main.children].filter((cell) => cell.matches(".jp-Cell")).map((cell) => {
  const parts = [...cell.parentElement.querySelectorAll(PARTS)].filter((part) => cell.contains(part));
  for (const part of parts) part.classList.add("part");
  return { cell, parts, text: cell.textContent, code: cell.matches(".jp-CodeCell"), notes: cell.querySelector(".notes") };
});
const cover = (part) => {
  const output = part.querySelector(".jp-OutputArea-output");
  output.classList.add("covered");
  output.addEventListener("click", () => output.classList.remove("covered"));
};

// What a slide shows: its parts, and those that come with a later key; a picture stands among the words about it.
const slides = [];
let title = document.title, open = null;
const begin = (kind) => slides.push((open = { kind, title, parts: [], later: [], notes: [] }));
const add = (part) => {
  if (open?.kind !== "words") begin("words");
  open.parts.push(part);
};
const asks = (part) => /\b(Predict|Before you)\b/.test(part.textContent);
let asked = false, before = null; // whether the room guesses what comes next, and the last paragraph
for (const { cell, parts, text, code, notes } of cells) {
  if (notes) {
    if (!open) begin("words");
    open.notes.push(notes);
    continue;
  }
  const predicts = !code && /\bPredict\b/.test(text);
  if (code) parts.sort((one, other) => isPicture(one) - isPicture(other)); // a picture does not tell an answer first
  for (const part of parts) {
    if (code && !part.matches(".jp-OutputArea-child, .piece") && SHOWS.test(said(part))) continue; // the picture says enough
    if (part.matches("h1, h2")) {
      [title, before, open] = [said(part), null, null];
    }
    if (isPicture(part)) {
      begin("picture");
      open.parts.push(...(before ? [before] : []), part);
      open.picture = part;
    } else if (!code && open?.kind === "picture" && !open.later.length && part.matches("p") && !asks(part)) {
      open.later.push(part); // it explains the picture
    } else {
      add(part);
      if (isOutput(part) && (asked || isAnswer(part))) cover(part);
    }
    if (part.matches("p") && !/\bPredict\b/.test(part.textContent)) before = part;
  }
  asked = code ? false : asked || /\bBefore you\b/.test(text);
  // The room guesses before it sees more; what comes after a solution or an answer explains it.
  const answered = code && parts.some((part) => isAnswer(part) && !isPicture(part));
  if (predicts || cell.querySelector(".solution") || (answered && open?.kind === "words")) open = null;
}

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
  button("Overview (o)", () => look()), button("Presenter (p)", () => present()),
  make("span", { className: "keys" }, "↓ ↑ step the picture · f full screen"), where);
document.body.classList.add("talk");
document.body.append(bar, overview);

const began = Date.now();
const clock = () => {
  const now = new Date().toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  return `${now} · ${minutes()} min since the start`;
};
const minutes = () => Math.floor((Date.now() - began) / 60000);
let shown = slides, at = 0;

// Put these parts on the screen, and no others.
function lay({ kind, parts }) {
  for (const part of main.querySelectorAll(".part.on, .jp-Cell.on")) part.classList.remove("on");
  reveal(parts);
  main.className = kind;
  main.style.zoom = 1;
  main.style.height = "";
}

// What a key opens has its room from the start.
function opened(measure) {
  const folded = [...main.querySelectorAll(".solution:not([open])")];
  for (const each of folded) each.open = true;
  const made = measure();
  for (const each of folded) each.open = false;
  return made;
}

// Slides of words that are longer than the screen break where a part ends.
function paged() {
  return slides.flatMap((slide) => {
    if (slide.kind === "picture") return [slide];
    const pages = [];
    for (const part of slide.parts) {
      const last = pages.at(-1);
      if (last) lay({ kind: "words", parts: [...last, part] });
      const opens = last && /:$/.test(said(last.at(-1))) && last.at(-1).matches("p"); // its list stands with it
      if (last && main.scrollHeight <= main.clientHeight + 1) last.push(part);
      else if (last?.length === 1 && isHeading(last[0])) last.push(part);
      else pages.push([...(last?.length > 1 && (opens || isHeading(last.at(-1))) ? [last.pop()] : []), part]);
    }
    return pages.map((parts, number) => ({ ...slide, parts, notes: number ? [] : slide.notes }));
  });
}

// As large as fits; what one part alone makes long scrolls.
function enlarge() {
  for (const zoom of [1.6, 1.5, 1.4, 1.3, 1.2, 1.1, 1]) {
    main.style.zoom = zoom;
    main.style.height = `${100 / zoom}vh`;
    if (main.scrollHeight <= main.clientHeight + 1) break;
  }
}

function arrange() {
  const last = shown[at].parts.at(-1);
  shown = opened(paged);
  at = Math.max(0, shown.findIndex((slide) => slide.parts.includes(last)));
  show();
}

// The picture has the room that the words leave, which stand beside it where it is higher than wide.
function fit() {
  const { picture } = shown[at], size = drawing()?.viewBox.baseVal;
  const give = (room) => main.style.setProperty("--room", `${room}px`);
  give(200);
  main.classList.toggle("beside", !!size && size.height > size.width && !!main.querySelector("p.on"));
  if (main.scrollHeight > main.clientHeight) main.classList.remove("beside");
  const bottom = Math.max(...[...main.querySelectorAll(".part.on")].map((part) => part.getBoundingClientRect().bottom));
  const words = main.classList.contains("beside") ? 6 : bottom - picture.offsetHeight;
  const room = Math.max(200, innerHeight - bar.offsetHeight - words - 12);
  give(room);
  for (const dressed of main.querySelectorAll(".on [data-wb-theme]")) dressed.dataset.wbTheme = "projector";
  still()?.decode().then(() => enlargeStill(still(), room));
  const fill = (action) => {
    give(room);
    push(action);
    give(2 * room - picture.offsetHeight); // a player leaves room for what it does not show, or too little
    push(action);
  };
  setTimeout(() => {
    fill("fit");
    if (smallest() < SMALL) fill("own"); // a part of it, which follows the steps
  }, 50);
}

const SMALL = 20, WRITTEN = 12; // px: the smallest text on the screen, and that of a picture of its own size
const still = () => main.querySelector('.on .wb-live > img[src^="data:image/svg+xml;base64,"]');
// A picture that nothing plays: a part of it is in sight, with what runs next, where all of it would be too small.
function enlargeStill(image, room) {
  const { naturalWidth: wide, naturalHeight: high, parentElement: box } = image;
  const scale = Math.max(Math.min(box.clientWidth / wide, room / high), SMALL / WRITTEN);
  Object.assign(image.style, { width: `${scale * wide}px`, maxWidth: "none" });
  const source = new TextDecoder().decode(Uint8Array.from(atob(image.src.split(",")[1]), (letter) => letter.charCodeAt(0)));
  const frame = new DOMParser().parseFromString(source, "image/svg+xml").querySelector(".wb-state-ready > .wb-frame");
  if (!frame) return;
  const [x, y] = ["x", "y"].map((name) => scale * frame.getAttribute(name));
  box.scrollTo(x - 0.2 * box.clientWidth, y - 0.6 * room);
}
const drawing = () => main.querySelector(".on .wb-sheet > svg");
// How high the smallest text of the picture is on the screen.
function smallest() {
  const texts = [...(drawing()?.querySelectorAll("text") ?? [])].filter((text) => text.textContent && text.checkVisibility());
  return Math.min(...texts.map((text) => parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a));
}

function show() {
  const slide = shown[at];
  lay(slide);
  if (slide.told) reveal(slide.later);
  if (slide.kind === "picture") fit();
  else opened(enlarge);
  main.scrollTop = 0;
  where.textContent = `${at + 1} / ${shown.length}`;
  history.replaceState(null, "", `#${at + 1}`);
  tell();
}

function reveal(parts) {
  for (const part of parts) for (const each of [part, part.closest(".jp-Cell")]) each.classList.add("on");
}

function move(by) {
  const slide = shown[at];
  const covered = by > 0 && main.querySelector(".part.on .covered");
  const folded = by > 0 && main.querySelector(".part.on.solution:not([open])");
  const later = by > 0 && slide.later.filter((part) => !part.classList.contains("on"));
  const below = main.scrollHeight - main.clientHeight - main.scrollTop;
  if (by > 0 && slide.kind === "words" && below > 8) main.scrollBy(0, Math.min(below, 0.8 * main.clientHeight));
  else if (covered) covered.classList.remove("covered");
  else if (folded) folded.open = true;
  else if (later.length) {
    slide.told = true;
    reveal(later);
    fit();
  } else if (shown[at + by]) {
    at += by;
    show();
  }
}

// On the presenter's window alone, if there is one.
function look() {
  if (overview.open) return overview.close();
  (desk && !desk.closed ? desk.document : document).body.append(overview);
  const next = shown[at + 1];
  const items = shown.map((slide, number) => {
    const text = slide.parts.map((part) => (part === slide.picture ? "picture" : said(part))).join(" ");
    const face = button("", () => { at = number; overview.close(); show(); });
    face.append(make("b", {}, `${number + 1}: ${slide.title}`), make("small", {}, text.slice(0, 140)));
    if (number === at) face.setAttribute("aria-current", "true");
    return make("li", {}, face);
  });
  overview.replaceChildren(
    make("p", {}, `${minutes()} min since the start · slide ${at + 1} of ${shown.length}${next ? ` · next: ${next.title}` : ""}`),
    make("ol", {}, ...items), button("Close (Esc)", () => overview.close()));
  overview.showModal();
  overview.querySelector("[aria-current]").focus();
}

// A second window for the presenter: notes, what the next slide shows, and a clock; the first one has the slide alone.
let desk = null;
function present() {
  if (desk && !desk.closed) return desk.focus();
  desk = window.open("", "", "popup,width=1000,height=700");
  if (!desk) {
    where.textContent = "The browser blocks the second window: allow it for this page.";
    return;
  }
  for (const style of document.querySelectorAll("style")) desk.document.head.append(desk.document.importNode(style, true));
  desk.document.title = `Presenter: ${document.title}`;
  desk.document.documentElement.lang = "en";
  desk.document.body.className = "jp-Notebook desk";
  desk.addEventListener("keydown", press);
  desk.addEventListener("pagehide", () => {
    desk = null;
    overview.close();
    document.body.classList.remove("presented");
    show();
  });
  document.body.classList.add("presented");
  show();
}

// A copy of a slide, small; an answer that the room guesses is not covered here.
function copyOf(slide) {
  const copy = make("div", { className: `copy ${slide.kind}` });
  for (const part of [...slide.parts, ...slide.later]) copy.append(desk.document.importNode(part, true));
  for (const each of copy.querySelectorAll(".covered")) each.classList.remove("covered");
  for (const player of copy.querySelectorAll(".wb-player")) { // a still: nothing plays it there
    const drawn = player.querySelector(".wb-sheet > svg");
    drawn.removeAttribute("width");
    drawn.removeAttribute("height");
    player.replaceChildren(drawn);
  }
  return copy;
}

function tell() {
  if (!desk || desk.closed) return;
  const slide = shown[at], next = shown[at + 1];
  const answers = slide.parts.filter((part) => part.matches(".solution") || part.querySelector(".covered"));
  const part = (name, ...children) => make("section", {}, make("h2", {}, name), ...children);
  const notes = slide.notes.map((each) => desk.document.importNode(each, true));
  if (answers.length || slide.later.length) notes.push(copyOf({ kind: "words", parts: answers, later: slide.later }));
  for (const folded of notes.flatMap((each) => [...each.querySelectorAll("details")])) folded.open = true;
  overview.close();
  desk.document.body.replaceChildren(
    make("header", {}, make("b", {}, `${at + 1} / ${shown.length} · ${slide.title}`), make("time", {}, clock())),
    part("Notes", ...(notes.length ? notes : ["None for this slide."])),
    part("Next", next ? copyOf(next) : "This is the last slide."));
}
setInterval(() => { if (desk && !desk.closed) desk.document.querySelector("time")?.replaceChildren(clock()); }, 20000);

const push = (action) => main.querySelector(`.on [data-action="${action}"]`)?.click();
// On a picture Home leads to its first step, as its own key does; pressed there, to the first slide.
const rewound = () => !main.querySelector('.on [data-action="back"]:not(:disabled, [aria-disabled="true"])');
const keys = {
  ArrowRight: () => move(1), PageDown: () => move(1), " ": () => move(1), ArrowLeft: () => move(-1), PageUp: () => move(-1),
  ArrowDown: () => (drawing() ? push("step") : (still()?.parentElement ?? main).scrollBy(0, 200)),
  ArrowUp: () => (drawing() ? push("back") : (still()?.parentElement ?? main).scrollBy(0, -200)),
  Home: () => (rewound() ? ((at = 0), show()) : push("first")), End: () => { at = shown.length - 1; show(); }, o: look, p: present,
  f: () => (document.fullscreenElement ? document.exitFullscreen() : document.documentElement.requestFullscreen()),
};
// Before the players, which have keys of their own; but not where somebody types.
function press(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches?.("input, textarea, select")) return;
  if (overview.open && event.key === "Escape") return overview.close();
  if (overview.open ? event.key !== "o" : !keys[event.key]) return;
  event.preventDefault();
  event.stopPropagation();
  keys[event.key]();
}
addEventListener("keydown", press, true);
addEventListener("resize", arrange);
addEventListener("pagehide", () => desk?.close());
shown = opened(paged);
at = Math.min(Math.max(0, parseInt(location.hash.slice(1), 10) - 1 || 0), shown.length - 1);
show();
// The players arrive after this script.
new MutationObserver(() => {
  if (shown[at].kind === "picture" && main.querySelector('.on [data-wb-theme]:not([data-wb-theme="projector"])')) fit();
}).observe(main, { childList: true, subtree: true });
