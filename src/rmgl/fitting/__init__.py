"""The whole fit: from validated views to a `FittedModel`."""
