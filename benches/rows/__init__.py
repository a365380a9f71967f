"""Rows of the goals, one file per kind."""
