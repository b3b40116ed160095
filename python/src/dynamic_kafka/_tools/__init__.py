"""What `python -m dynamic_kafka` needs, and no query does: the only part that imports the extra `cli`."""
