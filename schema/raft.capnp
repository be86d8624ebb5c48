# What the servers of a cluster say to each other about the log: runtime/raft/messages.hpp in its
# form on the wire. Every message names the version of the protocol; a receiver that does not speak
# it reads nothing else. Later releases add fields and union members at the end.
@0xe7b1d90c3a5f4d26;
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("nomad::schema::raft");

struct Message {
  protocol @0 :UInt32;
  clusterId @1 :Text;
  from @2 :Text;
  fromAddress @3 :Text;  # Where the sender can be reached: it may not be in the receiver's log yet.
  to @4 :Text;
  term @5 :UInt64;
  body :union {
    voteRequest @6 :VoteRequest;
    voteReply @7 :VoteReply;
    heartbeat @8 :Heartbeat;
    heartbeatReply @9 :HeartbeatReply;
    appendRequest @10 :AppendRequest;
    appendReply @11 :AppendReply;
    snapshotChunk @12 :SnapshotChunk;
    snapshotReply @13 :SnapshotReply;
    timeoutNow @14 :Void;
  }
  knownCommands @15 :UInt32;  # How many kinds the sender can apply; 0: it is too old to say.
}

struct VoteRequest {
  preVote @0 :Bool;
  transfer @1 :Bool;
  lastIndex @2 :UInt64;
  lastTerm @3 :UInt64;
}

struct VoteReply {
  preVote @0 :Bool;
  granted @1 :Bool;
}

struct Heartbeat {
  commitIndex @0 :UInt64;
  round @1 :UInt64;
}

struct HeartbeatReply {
  round @0 :UInt64;
}

struct Entry {
  term @0 :UInt64;
  kind @1 :UInt8;  # runtime/raft/entry.hpp
  payload @2 :Data;
}

# The entries follow prevIndex without a hole.
struct AppendRequest {
  prevIndex @0 :UInt64;
  prevTerm @1 :UInt64;
  entries @2 :List(Entry);
  commitIndex @3 :UInt64;
  round @4 :UInt64;
}

struct AppendReply {
  accepted @0 :Bool;
  matchIndex @1 :UInt64;
  prevIndex @2 :UInt64;
  hintIndex @3 :UInt64;
  hintTerm @4 :UInt64;
  round @5 :UInt64;
}

struct SnapshotMeta {
  index @0 :UInt64;
  term @1 :UInt64;
  configuration @2 :Data;  # As in a configuration entry.
  configurationIndex @3 :UInt64;
}

struct SnapshotChunk {
  meta @0 :SnapshotMeta;
  totalBytes @1 :UInt64;
  offset @2 :UInt64;
  data @3 :Data;
  round @4 :UInt64;
}

struct SnapshotReply {
  index @0 :UInt64;
  term @1 :UInt64;
  nextOffset @2 :UInt64;
  installed @3 :Bool;
  round @4 :UInt64;
}
