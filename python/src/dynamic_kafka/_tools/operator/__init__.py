"""Commands that need the connector's jar, because Python's Kafka client cannot do what they do."""
