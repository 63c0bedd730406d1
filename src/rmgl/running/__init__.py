"""Threads, memory, timing and progress of a fit."""
