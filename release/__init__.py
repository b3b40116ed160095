"""What `make release-check` verifies before a release is published."""
