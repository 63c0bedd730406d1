"""Command line `rmgl`: options, commands and terminal output."""
