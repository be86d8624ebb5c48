#!/bin/sh
# Precompiles a header. usage: precompile.sh HEADER PCH MADE DEPFILE COMPILER FLAG…
#
# MADE is an empty header that sources include besides, because dependency files leave PCH out. PCH.sum says
# what went into PCH, so that ccache (with CCACHE_PCH_EXTSUM) needn't read 200 MB for each source, and finds
# again what another folder has compiled.
set -eu
header=$1 pch=$2 made=$3 depfile=$4
shift 4
# Relative, as for the sources: what the headers make of __FILE__ must not tell one folder from another.
set -- "$@" -I. -I"${header%runtime/pch/*}."
export CCACHE_DISABLE=1  # 200 MB that are made once are not worth keeping
"$@" -x c++-header "$header" -o "$pch" -MD -MF "$depfile" -MQ "$pch"
{
  "$@" --version
  printf '%s\n' "$@" | grep -v '^-fdebug-prefix-map='
  "$@" -x c++-header -E -P "$header"
} | sha256sum >"$pch.sum"
: >"$made"
