#!/bin/sh
# Run by `meson install`, for releases: strips the installed programs and keeps what a debugger needs in
# /usr/lib/debug, by each program's build id, where gdb looks. Arguments: where nomadctl is installed, where its
# helpers are (relative to the prefix, or absolute), then the programs as they were built, nomadctl first.
set -eu
programs=$1 helpers=$2
shift 2
at=$programs
for built in "$@"; do
  case "$at" in /*) installed=${DESTDIR:-}$at ;; *) installed=$MESON_INSTALL_DESTDIR_PREFIX/$at ;; esac
  id=$(readelf -n "$built" | sed -n 's/.*Build ID: //p')
  symbols=${DESTDIR:-}/usr/lib/debug/.build-id/$(printf %.2s "$id")/$(printf %s "$id" | cut -c3-).debug
  # A user who installs for himself may not write there.
  mkdir -p "${symbols%/*}" 2>/dev/null || symbols=$MESON_INSTALL_DESTDIR_PREFIX/lib/debug/${symbols#*/debug/}
  mkdir -p "${symbols%/*}"
  objcopy --only-keep-debug --compress-debug-sections "$built" "$symbols"
  installed=$installed/${built##*/}
  [ ! -f "$installed" ] || strip --strip-unneeded "$installed"
  at=$helpers
done
