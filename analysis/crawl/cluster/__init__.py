"""A crawl by several processes under one budget: each host belongs to one process.

A *host* belongs to one process, with all its sources, so that one process keeps its crawl delay
and robots.txt; hosts that a redirect links belong to the same process. Each process runs Scrapy
with a scheduler, a ``JOBDIR`` and a list of sources of its own. At the start of an epoch each
process *offers* the largest indices of the sources that it may fetch; the coordinator accepts the
largest of all offers, as many as the budget allows, and each process fetches as many sources as
offers of its were accepted. Since hosts do not share sources, these are the sources that a single
process would fetch, except among sources of equal index.

Two things can differ from a single process: a policy that learns fits its prior to the sources of
one process alone; and the first redirect to a host of another process fails, after which the two
hosts belong to one process.

The processes are actors on the workers of a Dask cluster (`analysis.ephemeral.scheduler.machines`).
If a worker dies, its process restarts on another one, from its ``JOBDIR`` and with its share of the
epoch: items are delivered at least once, as by a single process.
"""
