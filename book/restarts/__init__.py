"""Pages of the part `restarts`: what each computes, draws and claims."""
