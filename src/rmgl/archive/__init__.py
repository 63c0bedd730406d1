"""The file format of models and checkpoints. Files are written completely or not at all."""
