"""The command `rmgl`: its options, what its commands do, and what a terminal shows."""
