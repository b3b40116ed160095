"""Steps that observe a query while it runs."""
