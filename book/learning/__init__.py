"""Pages of the part `learning`: what each computes, draws and claims."""
