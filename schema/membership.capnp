# What servers tell each other of the servers there are: runtime/cluster/members/membership.hpp in its form
# on the wire. Fields are only ever added.
@0xb9c64d1f08a7e352;
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("nomad::schema::membership");

struct Member {
  id @0 :Text;
  name @1 :Text;           # "<node name>.<region>"
  region @2 :Text;
  datacenter @3 :Text;
  rpcAddress @4 :Text;     # "10.0.0.7:4647"
  httpAddress @5 :Text;
  build @6 :Text;          # "1.6.5"
  expect @7 :UInt32;       # bootstrap_expect; 0: it does not found clusters
  clusterId @8 :Text;      # of the log; empty: it has none yet
  incarnation @9 :UInt64;
  status @10 :UInt8;       # alive, leaving, failed, left
  protocol @11 :UInt32;
  raftProtocol @12 :UInt32;
  nonVoter @13 :Bool;
  serfAddress @14 :Text;   # As it is shown; what else knows a server by it may look there.
}

struct Table {
  from @0 :Text;           # The sender's id.
  members @1 :List(Member);
  removed @2 :List(Text);  # Ids that were removed from the log's members for ever.
}

# One side's table, as it is or sealed by the key of `encrypt` (XSalsa20-Poly1305, nonce first).
struct Envelope {
  union {
    plain @0 :Table;
    sealed @1 :Data;       # A `Table` in flat form.
  }
}

# What a server seals for another one by a key that is made from one of its keyring, one of orders and one
# of reports (XSalsa20-Poly1305, nonce first): a `KeyringOrder`, or the `KeyringReport` that answers it, in
# flat form.
struct Sealed { bytes @0 :Data; }

# What an operator asks of the keys of `encrypt`. Obeyed once, in the minute in which it was given.
struct KeyringOrder {
  action @0 :UInt8;        # list, install, use, remove
  key @1 :Text;            # in base64; secret
  id @2 :Data;             # 16 random bytes, of this order to this server alone
  time @3 :Int64;          # when it was given: Unix nanoseconds
  to @4 :Text;             # the id of the server that is to obey
}

struct KeyringReport {
  failure @0 :Text;        # empty: it was done
  keys @1 :List(Text);     # those of the server now, the one that it seals by first; secret
  id @2 :Data;             # of the order that it is on
}

# Asks a server to probe another one, because the asker can't reach it.
struct ProbeRequest {
  address @0 :Text;
  region @1 :Text;
}

struct ProbeReply { reached @0 :Bool; }
