// `make extra NAME=mutation` only, because its dependencies take time to resolve. With it the build definition has another target, so
// that the next start of sbt without it does not compile the definition again.
if (!sys.props.contains("mutation")) Nil
else
  Seq(
    libraryDependencies += "io.stryker-mutator" %% "stryker4s-core" % "0.10.1",
    Compile / unmanagedSourceDirectories += baseDirectory.value / "mutation",
    // Runs in JVMs of its own, with the classes of the tests.
    Compile / unmanagedSources / excludeFilter := "Worker.java",
    target := baseDirectory.value / "target" / "mutation"
  )
