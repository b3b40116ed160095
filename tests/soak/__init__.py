"""Random events over three clusters under load, and an exact count at the end."""
