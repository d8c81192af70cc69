// Shows the widgets of a saved page: each front end gets a model that keeps its state here, with no kernel.

class Model {
  #state;
  #listeners = new Map();

  constructor(state) {
    this.#state = { ...state };
  }

  get(name) {
    return this.#state[name];
  }

  set(name, value) {
    if (this.#state[name] === value) return;
    this.#state[name] = value;
    for (const said of [`change:${name}`, "change"]) {
      for (const listener of [...(this.#listeners.get(said) ?? [])]) listener();
    }
  }

  on(said, listener) {
    this.#listeners.set(said, [...(this.#listeners.get(said) ?? []), listener]);
  }

  off(said, listener) {
    const kept = (this.#listeners.get(said) ?? []).filter((other) => listener && other !== listener);
    this.#listeners.set(said, kept);
  }

  // Both would speak to a kernel.
  save_changes() {}
  send() {}
}

const page = JSON.parse(document.getElementById("widgets").textContent);
for (const css of page.styles) document.head.append(Object.assign(document.createElement("style"), { textContent: css }));
const fronts = page.modules.map(async (source) => {
  const front = (await import(URL.createObjectURL(new Blob([source], { type: "text/javascript" })))).default;
  return typeof front === "function" ? front() : front;
});
for (const place of document.querySelectorAll("[data-widget]")) {
  const { module, state } = page.widgets[place.dataset.widget];
  const front = await fronts[module];
  const model = new Model(state);
  const el = document.createElement("div");
  await front.initialize?.({ model });
  // The still picture stays until the live one is there.
  place.replaceChildren(el);
  await front.render({ model, el });
}
