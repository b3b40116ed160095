"""The command line and what it needs. Queries do not use it, and only it imports modules of the extra `cli`."""
