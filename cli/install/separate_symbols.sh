#!/bin/sh
# Run by `meson install`: strips the installed programs and keeps what a debugger needs in a file beside each,
# which gdb finds by the link in the program.
set -eu
for program in nomadctl nomadctl-node-sim nomadctl-executor; do
  at="$MESON_INSTALL_DESTDIR_PREFIX/bin/$program"
  [ -f "$at" ] || continue
  objcopy --only-keep-debug "$at" "$at.debug"
  objcopy --strip-unneeded --add-gnu-debuglink="$at.debug" "$at"
done
