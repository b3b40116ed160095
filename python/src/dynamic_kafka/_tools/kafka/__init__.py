"""Kafka clients with the properties of Kafka's Java clients."""
