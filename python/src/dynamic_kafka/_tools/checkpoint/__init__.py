"""What a query's checkpoint says, for those who look at one without Spark. Nothing here writes."""
