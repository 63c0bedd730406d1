"""The version of the package, which is stated here alone: the build reads it from this file."""

__version__ = "1.0.0"
