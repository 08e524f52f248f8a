"""Execute one prepared notebook with papermill: the child process that the runner starts.

``python -m analysis.report.execute FOLDER [GIB]`` reads ``input.ipynb`` and ``run.json`` there and
leaves ``notebook.ipynb``, stripped of clocks so that two runs of the same inputs give the same
bytes, and ``cpu.txt``, the CPU-seconds that it took; or ``error.txt``, which names the cell.
"""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import sys
from pathlib import Path

import nbformat
import papermill
from papermill.exceptions import PapermillExecutionError

from analysis.report.paths import ROOT
from analysis.report.run import VARIABLE

#: One thread a kernel, for linear algebra (OpenMP, OpenBLAS, MKL, Accelerate) and for Numba:
#: notebooks run side by side, and sums keep their order.
_LIBRARIES = ("OMP", "OPENBLAS", "MKL", "NUMBA")
THREADS = (*(f"{name}_NUM_THREADS" for name in _LIBRARIES), "VECLIB_MAXIMUM_THREADS")


def kernel_environment(threads: int = 1) -> dict[str, str]:
    """Return the environment variables that a notebook's kernel needs."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    numbers = dict.fromkeys(THREADS, str(threads))
    return {**numbers, VARIABLE: ".", "PYTHONPATH": path, "MPLBACKEND": "agg"}


def execute(folder: Path) -> bool:
    """Execute the notebook prepared in `folder`; return whether it ran to its end."""
    given = json.loads((folder / "run.json").read_text(encoding="utf-8"))["given"]
    os.environ.update(kernel_environment())
    try:
        notebook = papermill.execute_notebook(
            folder / "input.ipynb",
            None,
            parameters=given,
            cwd=folder,
            kernel_name="python3",
            progress_bar=False,
            log_output=False,
            request_save_on_cell_execute=False,
        )
    except PapermillExecutionError as error:
        text = f"cell {error.cell_index}: {error.ename}: {error.evalue}\n"
        trace = re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(error.traceback))
        (folder / "error.txt").write_text(text + trace + "\n", encoding="utf-8")
        return False
    # The kernel has ended, and its time is that of a child.
    used = [resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    seconds = sum(usage.ru_utime + usage.ru_stime for usage in used)
    (folder / "cpu.txt").write_text(f"{seconds:.1f}\n")
    _strip_clocks(notebook)
    nbformat.write(notebook, folder / "notebook.ipynb")
    return True


def _strip_clocks(notebook: nbformat.NotebookNode) -> None:
    notebook.metadata.pop("papermill", None)
    notebook.metadata["language_info"] = {"name": "python"}
    for cell in notebook.cells:
        cell.metadata.pop("papermill", None)
        cell.metadata.pop("execution", None)
        if "injected-parameters" in cell.metadata.get("tags", []):
            cell["id"] = "injected-parameters"


if __name__ == "__main__":
    # An interrupt reaches the whole group: papermill then stops its kernel, and this ends quietly.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    for gib in sys.argv[2:]:
        resource.setrlimit(resource.RLIMIT_AS, (int(float(gib) * 2**30),) * 2)
    try:
        sys.exit(0 if execute(Path(sys.argv[1]).resolve()) else 1)
    except KeyboardInterrupt:
        sys.exit(130)
