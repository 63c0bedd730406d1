"""The page that shows a fitted model: one HTML file that needs nothing else, not even a network."""
