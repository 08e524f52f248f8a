"""Pages of the part `joint`: what each computes, draws and claims."""
