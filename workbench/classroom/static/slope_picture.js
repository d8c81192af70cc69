/**
 * A curve, the line that touches it, and a slider: with no kernel and nothing to fetch, from points computed before.
 * Where no script may run, the image stays. The text has no "less than" sign, so that it can't end its script element.
 */
(name, told) => {
  const places = (root) => [...root.querySelectorAll(`.${name}`)];
  // A script that a host runs elsewhere than where it stood finds its picture in the page.
  const beside = places(document.currentScript?.parentNode ?? document);
  const [left, top, wide, high] = told.area, [low, least, last, most] = told.ends;
  const minus = (text) => text.replace("-", "\u2212");
  const across = (x) => left + (wide * (x - low)) / (last - low);
  const down = (y) => top + high - (high * (y - least)) / (most - least);
  for (const place of beside.length ? beside : places(document)) {
    if (place.querySelector("svg")) continue;
    const svg = new DOMParser().parseFromString(told.svg, "image/svg+xml").documentElement;
    const slider = document.createElement("input"), root = document.createElement("div");
    const find = (kind) => svg.querySelector(`.${kind}`);
    const nearest = (x) => told.points.reduce((a, b) => (Math.abs(a[0] - x) > Math.abs(b[0] - x) ? b : a));
    const show = (x) => {
      const [at, y, slope] = nearest(x), line = find("wb-line"), dot = find("wb-dot");
      line.setAttribute("x1", across(low)), line.setAttribute("y1", down(y + slope * (low - at)));
      line.setAttribute("x2", across(last)), line.setAttribute("y2", down(y + slope * (last - at)));
      dot.setAttribute("cx", across(at)), dot.setAttribute("cy", down(y));
      find("wb-x").textContent = minus(`x = ${at.toFixed(1)}`);
      find("wb-slope").textContent = minus(`slope ${slope.toFixed(1)}`);
      slider.value = at;
      slider.setAttribute("aria-valuetext", `x is ${at.toFixed(1)}, slope ${slope.toFixed(1)}`);
    };
    const drag = (event) => {
      const box = svg.getBoundingClientRect(), unit = box.width / told.size[0];
      show(low + (((event.clientX - box.left) / unit - left) / wide) * (last - low));
    };
    root.style.cssText = `max-width:${told.size[0]}px;background:#fff;border:1px solid #ccc;border-radius:6px`;
    svg.style.cssText = "display:block;width:100%;height:auto;cursor:ew-resize;touch-action:none;user-select:none";
    find("wb-invites").textContent = "Drag the point or the slider.";
    const step = told.points[1][0] - told.points[0][0];
    Object.assign(slider, { type: "range", min: low, max: last, step, ariaLabel: "x" });
    slider.style.cssText = `display:block;box-sizing:border-box;accent-color:#c2410c;cursor:ew-resize;height:22px;
      margin:0 0 8px ${(100 * (left - 8)) / told.size[0]}%;width:${(100 * (wide + 16)) / told.size[0]}%`;
    slider.addEventListener("input", () => show(Number(slider.value)));
    slider.addEventListener("keydown", (event) => event.stopPropagation()); // a notebook's own keys
    svg.addEventListener("pointerdown", (event) => {
      event.preventDefault(), svg.setPointerCapture(event.pointerId), drag(event);
    });
    svg.addEventListener("pointermove", (event) => event.buttons && drag(event));
    root.append(svg, slider);
    place.replaceChildren(root);
    show(told.start);
  }
}
