"""From Flink's Dynamic Kafka Source to this one, with a real Flink job: `make extra NAME=flink`."""
