"""The checks of `make release-check`, without a build."""
