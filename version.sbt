// The one place of the version: the jar, the POM and the Python wheel take it from here.
ThisBuild / version := "0.1.0-SNAPSHOT"
