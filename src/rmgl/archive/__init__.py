"""The file format of models and checkpoints, and files that appear complete or not at all. It knows no other part of the package."""
