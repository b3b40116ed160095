"""Formats with a registry, with a registry and serializers that other projects made: `make extra NAME=registry`."""
