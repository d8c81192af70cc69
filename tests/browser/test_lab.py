"""The JupyterLab harness itself, on a notebook of two cells."""

import json
import sys

import nbformat
import pytest
from browser_page import open_page, require_chromium
from lab import Lab, assert_clean, notebook, serve


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory):
    require_chromium()
    folder = tmp_path_factory.mktemp("lessons")
    sources = ["import sys, ipywidgets\nprint(sys.executable)", "ipywidgets.Text('hi')"]
    nbformat.write(notebook(*sources), folder / "tiny.ipynb")
    home = tmp_path_factory.mktemp("home")
    # A kernel that the reader keeps under the name of ours, and that Jupyter would rather take.
    kept = home / "data" / "kernels" / "python3"
    kept.mkdir(parents=True)
    spec = {"argv": ["/bin/false"], "display_name": "Another", "language": "python"}
    (kept / "kernel.json").write_text(json.dumps(spec))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_PREFER_ENV_PATH", "0")
        with serve(folder, home) as lab:
            yield lab


def test_a_notebook_runs_in_this_environment_and_its_widget_outlives_the_kernel(server: Lab) -> None:
    with open_page() as page:
        server.open(page, "tiny.ipynb")
        server.run_all(page)
        assert page.locator(".jp-OutputArea-output pre").first.inner_text().strip() == sys.executable
        box = page.locator(".widget-text input")
        box.wait_for()
        assert box.input_value() == "hi"
        assert page.locator(".jp-Dialog, .jp-toastContainer .Toastify__toast").count() == 0
        assert page.locator(".jp-FileBrowser .jp-DirListing-item", has_text="tiny.ipynb").is_visible()
        server.shut_kernel_down(page)
        assert box.input_value() == "hi"
        assert_clean(page)


def test_an_error_in_the_console_and_a_request_to_another_machine_are_noticed(server: Lab) -> None:
    with open_page() as page:
        server.open(page, "tiny.ipynb")
        page.evaluate("console.error('it broke')")
        with pytest.raises(AssertionError, match="it broke"):
            assert_clean(page)
        page.evaluate("fetch('https://example.com/').catch(() => null)")
        with pytest.raises(AssertionError, match="example.com"):
            assert_clean(page)
