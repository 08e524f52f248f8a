"""General indexing times, robots that differ, and a simulation of the queue."""
