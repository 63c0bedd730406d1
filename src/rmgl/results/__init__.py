"""Reports, tables and tests that describe a fitted model."""
