"""Pages of the part `ephemeral`: what each computes, draws and claims."""
