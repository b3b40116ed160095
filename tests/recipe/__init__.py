"""The recipe of docs/change-data.md, with a table format that another project made: `make extra NAME=recipe`."""
