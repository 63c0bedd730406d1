"""What a fit needs while it runs: threads, memory, clock and progress."""
