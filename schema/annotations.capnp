# What the codecs need to know about a field beyond its type.
#
# The JSON name of a field or enumerant is its own name, of a field with the first letter in upper
# case, unless $json says otherwise. Rules that hold for every schema file of this folder:
#   - Scalar defaults are zero and never change: a default is not in the stored bytes.
#   - A scalar that may be null in the API is a named union of `unset :Void` and `value`.
#   - Fields are only ever added, at the end; ordinals are never used again.
#   - A null list or struct pointer is null in the API; an empty list is [] or {}.
@0xd5a1c1e3f5b2a901;
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("nomad::schema");

annotation json @0xb1d2c3e4f5a60001 (field, group, union, enumerant) :Text;
# The name in the HTTP API.

annotation map @0xb1d2c3e4f5a60002 (field) :Void;
# A list of {key, value}, sorted by key, that the API shows as an object.

annotation time @0xb1d2c3e4f5a60003 (field) :Void;
# Int64 Unix nanoseconds that the API shows as an RFC 3339 text; 0 is null.

annotation raw @0xb1d2c3e4f5a60004 (field) :Void;
# Text that holds a JSON value as it is; empty is null.

annotation secret @0xb1d2c3e4f5a60005 (field) :Void;
# Read from requests, but shown as "" in every answer, event and log.

annotation hidden @0xb1d2c3e4f5a60006 (field, group, union) :Void;
# Ours alone: neither read from nor shown in the API.

annotation omitEmpty @0xb1d2c3e4f5a60007 (field) :Void;
# Left out of the API when zero, null or empty.

annotation omitZero @0xb1d2c3e4f5a60008 (struct) :Void;
# Every field of the struct is $omitEmpty.

annotation always @0xb1d2c3e4f5a60009 (field) :Void;
# A struct that the API never shows as null: absent is shown as one of zeros.

annotation durationText @0xb1d2c3e4f5a6000a (field) :Void;
# Int64 nanoseconds; the API also accepts Go's text ("10s") on input, and shows a number.
