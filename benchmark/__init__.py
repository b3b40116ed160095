"""Ratios against Spark's built-in Kafka source, and the targets of the project: ``python -m benchmark``."""
