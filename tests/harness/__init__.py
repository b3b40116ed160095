"""What end-to-end tests are made of: drivers as processes, an idempotent sink, metadata files, exact counts."""
