"""Errors of the settings of Kafka clients."""


class KafkaSettingsError(Exception):
    """A client cannot be created with these properties. The message contains no secret."""
