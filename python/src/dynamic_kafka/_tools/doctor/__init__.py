"""Checks the clusters of a metadata file, as ``doctor`` prints them."""
