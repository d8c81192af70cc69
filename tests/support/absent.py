"""Why a test is skipped where what it runs is not installed: what conftest.py lets pass where that is not required."""

TORCH = (
    'torch is not installed, so the workbench has nothing to be compared with: pip install -e ".[oracle]" brings it.'
)
NEWER = "this PyTorch is older than what the test is about."
SITE = 'Sphinx, which makes a site of the pages, is not installed: pip install -e ".[docs]" brings it.'
CHECKER = 'the type checker is not installed: pip install -e ".[types]" brings it.'
GRADER = 'the program that grades is not installed: pip install -e ".[nbgrader,otter]" brings it.'
LIGHTNING = 'lightning is not installed: pip install -e ".[trainers]" brings it.'
INSTALLS = "the test fetches packages for environments that it makes: WORKBENCH_REQUIRE_EXTRAS=1 lets it."
MCP = 'the SDK of the Model Context Protocol is not installed: pip install -e ".[mcp]" brings it.'
TRANSFORMERS = 'transformers is not installed: pip install -e ".[trainers]" brings it.'
LITE = 'JupyterLite, which makes a site of the lessons, is not installed: pip install -e ".[lite]" brings it.'
PYODIDE = "no folder WORKBENCH_PYODIDE has a Python for the browser: tests/make_pyodide.py makes one."
HUB = (
    'JupyterHub or its proxy is not installed: `pip install -e ".[hub]"` and '
    "`npm install -g configurable-http-proxy` bring them."
)
