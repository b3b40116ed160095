"""Makes the checkpoints in tests/conformance/checkpoints."""
