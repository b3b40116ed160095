"""The checks of `make extra NAME=release-check`, without a build."""
