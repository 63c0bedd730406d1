"""The whole fit: from checked views to a `FittedModel`."""
