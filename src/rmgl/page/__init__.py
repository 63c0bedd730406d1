"""The interactive page about a fitted model: one self-contained HTML file."""
