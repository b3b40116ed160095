"""Parts of end-to-end tests: drivers as processes, an idempotent sink, metadata files, exact comparisons."""
