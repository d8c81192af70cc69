// What the kernel of a lesson loads in Pyodide's place: Pyodide itself, with the site's own packages in it from the
// start, so that `import workbench` is the first thing that a reader runs. `site.json` beside it says where all that is.

const here = (name) => new URL(name, import.meta.url).href;

// Asked for anew each time: a site that was built again has other files of the same names.
const fetched = async (name) => {
  const answer = await fetch(here(name), { cache: "no-cache" });
  if (!answer.ok) throw new Error(`${name}: ${answer.status}`);
  return answer;
};

export async function loadPyodide(options) {
  const site = await (await fetched("site.json")).json();
  const packed = site.wheels.map(async (name) => (await fetched(name)).arrayBuffer());
  const indexURL = here(site.pyodide);
  const { loadPyodide } = await import(`${indexURL}pyodide.mjs`);
  const pyodide = await loadPyodide({ ...options, indexURL, packages: site.packages });
  const extractDir = pyodide.runPython("import site; site.getsitepackages()[0]");
  for (const wheel of await Promise.all(packed)) pyodide.unpackArchive(wheel, "wheel", { extractDir });
  // In the folder where the kernel starts, which is not the notebooks': no reader's list of files shows solutions.
  for (const [name, text] of Object.entries(site.exercises)) pyodide.FS.writeFile(name, text);
  // What lessons import lies there too: before it, where a notebook is, a reader may have another of the same name.
  pyodide.runPython("import importlib, os, sys; sys.path.append(os.getcwd()); importlib.invalidate_caches()");
  return pyodide;
}
