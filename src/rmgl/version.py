"""The package version. The build reads it from this file, the only place where it is stated."""

__version__ = "1.0.0"
