# What the agent and nomadctl-artifact say to each other. The agent gives one FetchOrder as standard
# input; the program answers by packets on descriptor 3, each one FetchReport in Cap'n Proto's flat
# form, and ends after `done` or `failed`. Both are of one release: the program lives no longer than
# one artifact, and the agent starts it.
@0xb1c09d5e3f7a2846;
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("nomad::schema::artifact");

struct Header {
  name @0 :Text;
  value @1 :Text;
}

# Times are nanoseconds, sizes bytes; 0 stands for no bound.
struct Limits {
  httpReadTimeout @0 :Int64;
  httpMaxBytes @1 :UInt64;
  gcsTimeout @2 :Int64;
  gitTimeout @3 :Int64;
  hgTimeout @4 :Int64;
  s3Timeout @5 :Int64;
  unpackedFiles @6 :UInt64;
  unpackedBytes @7 :UInt64;
}

# Everything is interpolated. The directory to work in is descriptor 4; what was fetched is then
# "out" in it.
struct FetchOrder {
  source @0 :Text;            # with the options as its parameters
  mode @1 :Text;              # "any", "file" or "dir"
  headers @2 :List(Header);
  limits @3 :Limits;
  confinement @4 :Confinement;
  reach @5 :Reach;
  insecure @6 :Bool;          # Certificates of servers count for nothing.
}

# Which addresses may be connected to beside those that nobody minds.
struct Reach {
  loopback @0 :Bool;
  linkLocal @1 :Bool;         # and where clouds tell machines their keys
  agent @2 :Bool;             # The agent's own API: these ports of this machine, or at these addresses.
  agentPorts @3 :List(UInt16);
  agentAddresses @4 :List(Text);
}

struct Confinement {
  files @0 :Bool;             # The host's files are out of reach, but for what programs need.
  uid @1 :UInt32;             # To become; 0 with gid 0: stay who it is.
  gid @2 :UInt32;
  callFilter @3 :Data;        # struct sock_filter[] of system calls; empty: none.
}

struct FetchReport {
  union {
    warning @0 :Text;         # For the agent's log.
    progress @1 :Progress;
    failed @2 :Text;          # What, and where; without secrets.
    done @3 :Done;
  }
}

struct Progress {
  received @0 :UInt64;        # bytes
  expected @1 :UInt64;        # 0: the sender does not say
}

struct Done {
  isFile @0 :Bool;            # "out" is the file that the destination is to become.
  files @1 :UInt64;
  bytes @2 :UInt64;           # received
}
