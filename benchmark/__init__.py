"""Measures the connector against Spark's built-in Kafka source and the project's targets: ``python -m benchmark``."""
