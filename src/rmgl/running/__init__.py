"""What a fit needs while it runs: threads, memory, clock, progress and checkpoints."""
