"""Lineage, as a released listener of OpenLineage reports it: `make extra NAME=lineage`."""

OPENLINEAGE = "io.openlineage:openlineage-spark_2.13:1.53.0"
