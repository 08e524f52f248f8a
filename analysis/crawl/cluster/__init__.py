"""A crawl by several processes under one budget: hosts shared out, epochs in step.

A *host* belongs to one process, with all its sources, so that crawl delays and robots.txt are kept
as by one process; hosts that a redirect has joined belong to the same one. Each process runs Scrapy
with a scheduler, a ``JOBDIR`` and a list of sources of its own. At the start of an epoch each
*offers* the largest indices of what it may fetch, the coordinator gives the places of the budget to
the largest of all offers, and each process fetches as many sources as it was given places. As
sources of different hosts do not hinder each other, these are the sources that one process would
fetch, but for those of equal index.

What can differ from one process: a policy that learns fits its prior to the sources of one process
alone; and a redirect to a host of another process fails once, and joins the two hosts.

The processes are actors on the workers of a Dask cluster
(`analysis.ephemeral.scheduler.machines.cluster`).
One that dies begins anew on a worker that is alive, from its ``JOBDIR``, with the places that it
had: items are delivered at least once, as by one process.
"""
