"""The version of the package. The build reads it from this file, the only place that states it."""

__version__ = "1.0.0"
