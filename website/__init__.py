"""The documentation as a website (`make site`), and the moving picture of the demo (`make picture`)."""
