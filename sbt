#!/usr/bin/env bash
# Runs the build with an installed sbt where there is one; else with sbt-launch, which the Ivy that
# ships inside pyspark's jars fetches once into a cache. So a machine needs only a JDK, Python and make.
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
cd "$root"

installed="$(type -P -a sbt | grep -vxF "$root/sbt" | head -n 1 || true)"
if [[ -n "$installed" ]]; then
  exec "$installed" "$@"
fi

version="$(sed -n 's/^sbt\.version *= *//p' project/build.properties)"
cache="${XDG_CACHE_HOME:-$HOME/.cache}/dynamic-kafka"
launcher="$cache/sbt-launch-$version.jar"
if [[ ! -f "$launcher" ]]; then
  make --no-print-directory target/ivy/.ready >&2
  ivy="$(echo target/ivy/ivy-*.jar)"
  staging="$(mktemp -d)"
  trap 'rm -rf "$staging"' EXIT
  java -cp "$ivy" org.apache.ivy.Main -cache "$staging/cache" -warn \
    -dependency org.scala-sbt sbt-launch "$version" -confs default -types jar \
    -retrieve "$staging/[artifact].[ext]" >&2
  mkdir -p "$cache"
  # Moved into place whole, so that an interrupted fetch is never taken for a launcher.
  mv "$staging/sbt-launch.jar" "$launcher"
  rm -rf "$staging"
  trap - EXIT
fi
# Properties are the JVM's: sbt's own runner hands them on in the same way.
properties=()
commands=()
for argument in "$@"; do
  if [[ "$argument" == -D* ]]; then properties+=("$argument"); else commands+=("$argument"); fi
done
# Escape codes in a log help nobody.
color=true
[[ -t 1 ]] || color=false
# Half of the heap at once: grown bit by bit it is collected all the time while a compiler starts. Without the optimizing
# compiler, all sources are compiled in the same time, and with 360 instead of 494 s of CPU, which tests beside it have.
# Its own default for compiled code is 48 MB. Once that is full, method handles no longer link (JDK-8295724), and whatever
# sbt runs next fails with "no such method: MethodHandle.linkToStatic".
exec java -Dsbt.color="$color" -Xms1g -Xmx2g -Xss4m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 \
  -XX:ReservedCodeCacheSize=240m -Dsbt.supershell=false ${SBT_OPTS:-} \
  ${properties[@]+"${properties[@]}"} -jar "$launcher" ${commands[@]+"${commands[@]}"}
