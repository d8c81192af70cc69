"""A step of PyTorch's engine, and from a click on Step to the painted answer in the real JupyterLab at 100 nodes.

Run it as a script: it prints the least time of the first, where PyTorch is installed, and the median and the 95th
percentile of the second, in ms; it fails if one is over its bound.
"""

from __future__ import annotations

import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parent / "support")]

from browser_page import open_page  # noqa: E402
from lab import serve  # noqa: E402

NODES, BOUND, BOUND_OF_TORCH = 100, 100.0, 1.0  # ms

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


def measured_in_torch() -> float:
    """A node of a small network, without a picture."""
    import torch

    import workbench

    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
    times: list[float] = []
    for _ in range(20):
        stepper = workbench.step(net(torch.randn(5, 3)).pow(2).mean())
        begin = time.perf_counter()
        stepper.run()
        times.append((time.perf_counter() - begin) / stepper.position)
    return 1000 * min(times)


if __name__ == "__main__":
    in_torch = measured_in_torch() if find_spec("torch") else 0.0
    print(f"a step of PyTorch's engine: {in_torch:.2f} ms" if in_torch else "PyTorch is not installed")
    times = sorted(measured())
    middle, high = times[len(times) // 2], times[int(len(times) * 0.95)]
    print(f"click to paint of a live step, {NODES} nodes: median {middle:.0f} ms, p95 {high:.0f} ms")
    sys.exit(high > BOUND or in_torch > BOUND_OF_TORCH)
