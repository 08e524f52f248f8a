"""Pages of the part `trace`: what each computes, draws and claims."""
