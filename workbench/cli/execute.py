"""Run a notebook's cells in a kernel of this very environment."""

from __future__ import annotations

import subprocess
from pathlib import Path

import nbformat
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from jupyter_core.utils import ensure_event_loop
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, DeadKernelError
from nbformat import NotebookNode
from tqdm import tqdm

from workbench.cli.command import CommandError


def read(path: Path) -> NotebookNode:
    """The notebook in a file."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise CommandError(f"there is no notebook {path}.") from None
    except UnicodeDecodeError:
        raise CommandError(f"{path} is not a notebook.") from None
    except OSError as error:
        raise CommandError(f"cannot read {path}: {error.strerror}.") from None
    try:
        notebook = nbformat.reads(text, as_version=4)
        nbformat.validate(notebook)
    except Exception:  # nbformat raises its own errors, but also AttributeError and KeyError on odd JSON
        raise CommandError(f"{path} is not a notebook.") from None
    return notebook


def execute(notebook: NotebookNode, path: Path) -> None:
    """Run all cells of `notebook`, read from `path`, in the folder it lies in, and fill in their outputs."""
    # No kernel spec is looked up: whatever is installed on the machine, "python3" is this interpreter.
    specs = KernelSpecManager(kernel_dirs=[], ensure_native_kernel=True)
    client = NotebookClient(
        notebook,
        km=AsyncKernelManager(kernel_name="python3", kernel_spec_manager=specs),
        resources={"metadata": {"path": str(path.resolve().parent)}},
        # How a stream is cut into messages depends on timing.
        coalesce_streams=True,
        record_timing=False,
    )
    number = 0
    try:
        # What cells print comes by messages; the process itself only has notes about its own transport.
        with client.setup_kernel(stderr=subprocess.DEVNULL):
            # On a terminal only: a log needs no bar.
            for index, cell in enumerate(tqdm(notebook.cells, desc=path.stem, unit="cell", disable=None)):
                number += cell.cell_type == "code" and bool(cell.source.strip())
                client.execute_cell(cell, index)
            client.set_widgets_metadata()
    except CellExecutionError as error:
        raise CommandError(f"{path}, code cell {number}: {_first_line(error)}") from None
    except DeadKernelError:
        raise CommandError(f"{path}, code cell {number}: the kernel died.") from None
    except KeyboardInterrupt:
        # Some kernels fail the cell while they are shut down; nobody waits for it, and asyncio would say so.
        ensure_event_loop().set_exception_handler(lambda loop, what: None)
        raise
    finally:
        client._cleanup_kernel()


def _first_line(error: CellExecutionError) -> str:
    said = str(error.evalue).strip().partition("\n")[0]
    return f"{error.ename}: {said}" if said else str(error.ename)
