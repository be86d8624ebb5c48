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

annotation json @0xb1d2c3e4f5a60001 (field, group, union, enumerant, struct) :Text;
# The name in the HTTP API; a struct's is told by errors.

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
# A struct or list that the API never shows as null: absent is shown as one of zeros, or as [].
# A $durationText of which 0 is shown as "0s".

annotation duration @0xb1d2c3e4f5a6000a (field, group, union) :Void;
# Int64 nanoseconds; the API also accepts Go's text ("10s") on input, and shows a number.

annotation durationText @0xb1d2c3e4f5a6001b (field) :Void;
# Int64 nanoseconds that the API shows as Go's text, "" for 0; it accepts a number on input, too.

# What follows is about jobs: how a field looks in job files and requests, and what its change means
# for running allocations. A field without any of it is an attribute of job files under its own
# name, may be left out, is then zero, is compared by `job plan` and makes new allocations.
# Fields stand in the order of Nomad's API, in which clients send them; ordinals tell their age.

annotation hcl @0xb1d2c3e4f5a6000b (field, group, union) :Text;
# The name in job files; otherwise that of the schema in snake case. "": not written there.

annotation label @0xb1d2c3e4f5a6000c (field) :Void;
# The label of its block in job files; $hcl then is what errors call the label.

annotation nullable @0xb1d2c3e4f5a6000d (struct, field) :Bool;
# A single value that may be null in requests, until canonicalization; of a struct: all of its own
# that don't say otherwise. Lists, maps and structs always may be.

annotation default @0xb1d2c3e4f5a6000e (field, group, union) :Text;
# What canonicalization makes of a null value; of a zero one, where null can't be. Durations are
# written as Go's text. Defaults that depend on other fields are code (jobspec/canonicalize).

annotation int64 @0xb1d2c3e4f5a6000f (field) :Void;
# Go's int64, which errors tell from its int.

annotation byValue @0xb1d2c3e4f5a60010 (field) :Void;
# A list that holds its elements themselves in Go, which errors tell from one of pointers.

annotation omitNull @0xb1d2c3e4f5a60011 (field) :Void;
# Left out where a request's form is completed, instead of shown as null.

annotation serverOnly @0xb1d2c3e4f5a60012 (field) :Void;
# Worked out by servers: neither in job files, nor heard from requests.

annotation requestOnly @0xb1d2c3e4f5a60013 (field) :Void;
# Merged into other fields by canonicalization: the stored form is without it.

annotation bookkeeping @0xb1d2c3e4f5a60014 (field) :Void;
# Tells what became of a job, not what it is to be: jobs that differ in it have one specification.

enum Update {
  destructive @0;
  # Running allocations are replaced. It is what a field means that says nothing, as that is safe.
  inPlace @1;
  # Running allocations take the new value over.
  special @2;
  # Judged by code of its own in scheduler/tasks_updated.
}

annotation update @0xb1d2c3e4f5a60015 (field, group, union) :Update;
# What a change means for running allocations, in the groups and tasks of jobs.

# What this release makes of a field of job files: each says one of these four, unless its whole
# block is refused or unheeded. docs/compatibility.md is made of them.

annotation works @0xb1d2c3e4f5a60016 (field, group, union) :Void;
# Does what it does in Nomad.

annotation partly @0xb1d2c3e4f5a60017 (field, group, union) :Text;
# Works, but for what the text says. Nobody is told when a job is registered.

annotation unheeded @0xb1d2c3e4f5a60018 (field, group, union) :Text;
# Has no effect yet; the tasks run as they would without it. A warning, of which the text is the
# end. What is refused inside of it still is.

annotation refused @0xb1d2c3e4f5a60019 (field, group, union) :Text;
# Has no effect yet, and the tasks would run wrongly without it. An error, whose end says what to do
# instead; "" where one of Nomad's own rules refuses it (jobspec/validate).

annotation only @0xb1d2c3e4f5a6001a (field) :List(Text);
# Of a refused text: the values that work.
