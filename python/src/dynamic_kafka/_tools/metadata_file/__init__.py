"""Reads metadata files without Spark.

It accepts and rejects the same files as the connector's ``MetadataDocument``; tests/conformance has shared cases.
"""
