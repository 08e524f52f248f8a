"""The index of markovianbandit-pkg, whose import changes NumPy's error state for the process."""

import contextlib
import io

import numpy as np

VERDICTS = {-1: "several classes", 0: "not indexable", 1: "indexable", 2: "indexable"}


def package_index(arm, discount):
    """Return the package's verdict on an arm of two states or more, and its index."""
    before = np.geterr()
    try:
        from markovianbandit.whittle_computation import compute_whittle_indices

        np.seterr(divide="raise", invalid="raise")  # which its own tests for zero rely on
        with contextlib.redirect_stdout(io.StringIO()):
            verdict, index = compute_whittle_indices(
                *map(np.array, arm.transitions), *map(np.array, arm.rewards), beta=discount
            )
    except (np.linalg.LinAlgError, FloatingPointError):
        return "failed", None
    finally:
        np.seterr(**before)
    return VERDICTS[int(verdict)], np.asarray(index)
