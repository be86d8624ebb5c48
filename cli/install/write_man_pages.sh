#!/bin/sh
# Run by `meson install`: has the program write its manual pages. Arguments: the program, where they go (relative to
# the prefix, or absolute).
set -eu
case "$2" in /*) folder=${DESTDIR:-}$2 ;; *) folder=$MESON_INSTALL_DESTDIR_PREFIX/$2 ;; esac
date=$(date -u -d "@${SOURCE_DATE_EPOCH:-$(date +%s)}" +%Y-%m-%d)
exec "$1" man -out "$folder" -date "$date"
