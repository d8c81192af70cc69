// A book's page: light or dark as its reader likes, always light on paper; and its contents' search.
const store = (() => { try { return localStorage; } catch { return {}; } })();
const wish = () => store.bookTheme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
const show = (theme) => {
  document.documentElement.toggleAttribute("data-dark", theme === "dark");
  document.body.dataset.jpThemeLight = String(theme !== "dark");
};
show(wish());
addEventListener("beforeprint", () => show("light"));
addEventListener("afterprint", () => show(wish()));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => show(wish()));
for (const button of document.querySelectorAll(".book-theme")) {
  button.addEventListener("click", () => {
    const theme = wish() === "dark" ? "light" : "dark";
    try { store.bookTheme = theme; } catch { /* the page may not remember */ }
    show(theme);
  });
}

const index = document.getElementById("book-index");
if (index) {
  const sections = JSON.parse(index.textContent);
  const field = document.querySelector(".book input[name=q]");
  const list = document.getElementById("book-found");
  const say = document.getElementById("book-said");
  const fold = (text) => text.toLowerCase();
  const marked = (text, words) => {
    const line = document.createElement("p");
    const first = Math.min(...words.map((word) => fold(text).indexOf(word)).filter((at) => at >= 0));
    const start = Number.isFinite(first) ? Math.max(0, first - 60) : 0;
    const shown = (start ? "…" : "") + text.slice(start, start + 200) + (start + 200 < text.length ? "…" : "");
    let at = 0;
    for (;;) {
      const places = words.map((word) => [fold(shown).indexOf(word, at), word]).filter(([place]) => place >= 0);
      if (!places.length) break;
      const [place, word] = places.sort((a, b) => a[0] - b[0])[0];
      line.append(shown.slice(at, place), Object.assign(document.createElement("mark"), {
        textContent: shown.slice(place, place + word.length),
      }));
      at = place + word.length;
    }
    line.append(shown.slice(at));
    return line;
  };
  const search = () => {
    const words = fold(field.value).split(/\s+/).filter(Boolean);
    const score = (section) => words.reduce((sum, word) => {
      const title = fold(section.title).includes(word);
      return title || fold(section.text).includes(word) ? sum + 1 + 9 * title : -Infinity;
    }, 0);
    const found = words.length ? sections.map((section) => [score(section), section]).filter(([points]) => points > 0) : [];
    found.sort((a, b) => b[0] - a[0]);
    list.replaceChildren(...found.slice(0, 30).map(([, section]) => {
      const title = section.title === section.lesson ? section.title : `${section.lesson} › ${section.title}`;
      const link = Object.assign(document.createElement("a"), { href: section.place, textContent: title });
      const item = document.createElement("li");
      item.append(link, marked(section.text, words));
      return item;
    }));
    say.textContent = words.length ? `${found.length} section${found.length === 1 ? "" : "s"} found` : "";
  };
  field.addEventListener("input", search);
  field.form.addEventListener("submit", (event) => { event.preventDefault(); search(); });
  field.value = new URLSearchParams(location.search).get("q") ?? "";
  search();
}
