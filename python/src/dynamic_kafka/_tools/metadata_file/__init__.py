"""Metadata files as the connector reads them, for those who look at one without Spark.

What is good and what is bad here has to be what the connector's ``MetadataDocument`` says of the same file.
"""
