"""What all tests share."""


def pytest_configure(config):
    """Let QuantEcon compile before the workers start.

    It compiles a generalised ufunc when it is imported, and Numba's cache of one, filled by two
    processes at once, aborts every process that reads it.
    """
    if getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput"):
        import quantecon  # noqa: F401
