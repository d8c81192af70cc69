"""From a click on Step to the painted answer of the kernel, in the real JupyterLab at 100 nodes.

Run it as a script: it prints the median and the 95th percentile in ms, and fails if the latter is over the bound.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from browser_page import open_page  # noqa: E402
from lab import serve  # noqa: E402

NODES, BOUND = 100, 100.0  # ms

CELL = f"""import workbench as torch
weights = [torch.randn(8, requires_grad=True) for _ in range({NODES // 4})]
h = torch.randn(8)
for weight in weights:
    h = (h * weight).tanh() + 0.1
s = torch.step(h.sum())
s"""
# The next frame after the answer has changed the page has been painted when the one after it begins.
CLICK = """() => new Promise((done) => {
  const root = document.querySelector(".wb-stepper"), begin = performance.now();
  new MutationObserver((_, observer) => {
    observer.disconnect();
    requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - begin)));
  }).observe(root, { attributes: true, attributeFilter: ["data-answered"] });
  root.querySelector('[data-action="step"]').click();
})"""


def measured() -> list[float]:
    """The times of all steps but the first, which warms everything up."""
    with tempfile.TemporaryDirectory() as place:
        folder, home = Path(place, "lessons"), Path(place, "home")
        folder.mkdir()
        home.mkdir()
        with serve(folder, home) as lab, open_page((1400, 900)) as page:
            lab.write("steps.ipynb", CELL)
            lab.open(page, "steps.ipynb")
            lab.run_all(page)
            page.wait_for_selector(".wb-stepper")
            return [page.evaluate(CLICK) for _ in range(NODES)][1:]


if __name__ == "__main__":
    times = sorted(measured())
    middle, high = times[len(times) // 2], times[int(len(times) * 0.95)]
    print(f"click to paint of a live step, {NODES} nodes: median {middle:.0f} ms, p95 {high:.0f} ms")
    sys.exit(high > BOUND)
