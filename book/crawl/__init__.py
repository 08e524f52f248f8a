"""Pages of the part `crawl`: what each computes, draws and claims."""
