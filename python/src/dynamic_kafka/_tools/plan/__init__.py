"""What a query would do with another metadata file, as ``plan`` prints it."""
