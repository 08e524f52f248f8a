"""Pages of the part `robots`: what each computes, draws and claims."""
