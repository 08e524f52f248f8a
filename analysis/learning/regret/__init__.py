"""What learners lose: cases in which learning is hard, and random sets of sources."""
