"""The file format of models and checkpoints, and files that are written completely or not at all."""
