"""What all tests share."""

import gc


def pytest_configure(config):
    """Let QuantEcon compile before the workers start; let the collector pass over what stays.

    QuantEcon compiles a generalised ufunc when it is imported, and Numba's cache of one, filled by
    two processes at once, aborts every process that reads it.
    """
    gc.set_threshold(50_000, 20, 100)
    if getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput"):
        import quantecon  # noqa: F401
