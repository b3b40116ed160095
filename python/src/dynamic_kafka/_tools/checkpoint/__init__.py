"""Reads checkpoints of queries without Spark."""
