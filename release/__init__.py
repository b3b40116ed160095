"""What `make extra NAME=release-check` verifies before a release is published."""
