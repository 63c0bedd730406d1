"""The file format of models and checkpoints; files are written completely or not at all."""
