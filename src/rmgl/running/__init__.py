"""Resources of a running fit: threads, memory, clock and progress."""
