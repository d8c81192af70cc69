"""Why a test is skipped where what it runs is not installed: what conftest.py lets pass where that is not required."""

TORCH = (
    'torch is not installed, so the workbench has nothing to be compared with: pip install -e ".[oracle]" brings it.'
)
NEWER = "this PyTorch is older than what the test is about."
SITE = 'Sphinx, which makes a site of the pages, is not installed: pip install -e ".[docs]" brings it.'
CHECKER = 'the type checker is not installed: pip install -e ".[types]" brings it.'
GRADER = 'the program that grades is not installed: pip install -e ".[nbgrader,otter]" brings it.'
LIGHTNING = 'lightning is not installed: pip install -e ".[trainers]" brings it.'
TRANSFORMERS = 'transformers is not installed: pip install -e ".[trainers]" brings it.'
HUB = (
    "JupyterHub or its proxy is not installed: `pip install jupyterhub` and `npm install -g configurable-http-proxy` "
    "bring them."
)
