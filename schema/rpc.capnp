# What nodes of a cluster say to each other. The frames around it are runtime/net's; the methods and
# who may call them are in actors/rpc/method.hpp. Fields are only ever added.
@0xd5a1c1e3f5b2a90c;
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("nomad::schema::rpc");
using import "annotations.capnp".secret;
using Alloc = import "alloc.capnp";
using Common = import "common.capnp";
using Job = import "job.capnp";
using Node = import "node.capnp";
using Service = import "service.capnp";
using Variable = import "variable.capnp";

# Before the body of every request. The secrets prove who asks, for this request alone; the server
# that serves it checks them again after forwarding.
struct RequestHead {
  region @0 :Text;                 # where it is to be served; empty: in the receiver's
  hops @1 :UInt8;                  # how often it was forwarded
  token @2 :Text $secret;          # X-Nomad-Token
  nodeId @3 :Text;
  nodeSecret @4 :Text $secret;
  remote @5 :Text;                 # of the first caller; believed of servers only
  allowStale @6 :Bool;             # any server may answer
  targetNode @7 :Text;             # the client node whose answer is wanted
  limits @8 :Text;                 # what the caller is kept to (runtime/access/limits.hpp); empty: nothing
}

struct Empty {}

struct ServerAddress {
  id @0 :Text;
  rpcAddress @1 :Text;             # "10.0.0.7:4647"
  region @2 :Text;
  datacenter @3 :Text;
  isLeader @4 :Bool;
}

struct StatusLeaderReply { rpcAddress @0 :Text; }  # empty: none is known

struct StatusPeersReply { servers @0 :List(ServerAddress); }

# Which of the asked server's connections leads to the node.
struct HasNodeRequest { nodeId @0 :Text; }

struct HasNodeReply { connected @0 :Bool; }

# Answers Server.WriteSealed, whose request is a Command.
struct SealedWriteReply {
  index @0 :UInt64;
  conflict @1 :Bool;               # nothing was written: `variable` is stored instead
  variable @2 :Variable.Variable;
}

# Answers Access.Resolve: what the token in the request's head gives. The request has no body.
struct ResolveReply {
  struct Policy {
    name @0 :Text;
    modifyIndex @1 :UInt64;
    rules @2 :Text;
  }

  struct Workload {
    namespace @0 :Text;
    jobId @1 :Text;
    group @2 :Text;
    task @3 :Text;
    allocId @4 :Text;
  }

  index @0 :UInt64;                # of the newest change of what it was read from
  accessor @1 :Text;               # the token's public name
  validForMs @2 :UInt64;           # then the token ends by itself; 0: it does not
  union {                          # the rights
    nothing @3 :Void;
    everything @4 :Void;
    policies @5 :List(Policy);     # and what `implicit` may do without any
  }
  implicit @6 :Workload;
  workload @7 :Workload;           # whose identity the token is, if a task's
}

# What a region has of a kind that holds in all regions: keys alone, in pages, or, if `keys` names some,
# these whole. Asked by servers of other regions with a token that manages.
struct RegionRowsRequest {
  kind @0 :Text;                   # as snapshots call it
  minIndex @1 :UInt64;             # of the first page: held until the kind's index is another one
  maxWaitMs @2 :UInt64;
  after @3 :Text;                  # keys behind this one
  keys @4 :List(Text);
}

struct RegionRowsReply {
  struct Row {
    key @0 :Text;
    modifyIndex @1 :UInt64;
    hash @2 :Data;                 # of all that users say of it
    row @3 :Data;                  # whole, but for what its region's root key has sealed
    secret @4 :Data $secret;       # which is this
  }
  index @0 :UInt64;                # of the kind's last change
  rows @1 :List(Row);
  complete @2 :Bool;               # nothing is behind the last one
  done @3 :UInt32;                 # of `keys`: so many are dealt with; the rest is asked for again
}

struct NodeRegisterRequest { node @0 :Node.Node; }

# Answers Node.Register and Node.UpdateStatus.
struct NodeLeaseReply {
  index @0 :UInt64;
  ttlMs @1 :UInt64;
  serverTime @2 :Int64;            # Unix nanoseconds; 0: not given
  awaitsReports @3 :Bool;              # the servers had given the node up
  servers @4 :List(ServerAddress); # where the node can turn to from now on
}

struct NodeUpdateStatusRequest { nodeId @0 :Text; }

struct NodeAllocsRequest {
  nodeId @0 :Text;
  minIndex @1 :UInt64;
  maxWaitMs @2 :UInt64;
}

struct NodeAllocsReply {
  struct Assigned {
    alloc @0 :Alloc.Allocation;
    job @1 :UInt32;                # its position in `jobs`
  }
  index @0 :UInt64;
  complete @1 :Bool;               # these are all of the node's; others are forgotten
  allocs @2 :List(Assigned);
  jobs @3 :List(Job.Job);
}

struct NodeUpdateAllocRequest {
  nodeId @0 :Text;
  allocs @1 :List(Alloc.Allocation);
}

# Answers Node.UpdateAlloc, Node.RegisterServices and Node.DeregisterServices.
struct NodeUpdateAllocReply { index @0 :UInt64; }

struct NodeRegisterServicesRequest {
  nodeId @0 :Text;
  services @1 :List(Service.ServiceRegistration);
}

struct NodeDeregisterServicesRequest {
  nodeId @0 :Text;
  allocId @1 :Text;
  ids @2 :List(Text);              # none: all of the allocation
}

# Answered as Node.UpdateAlloc.
struct NodeEmitEventsRequest {
  nodeId @0 :Text;
  events @1 :List(Node.NodeEvent);
}

# A node drains itself, or asks whether it is done.
struct NodeUpdateDrainRequest {
  nodeId @0 :Text;
  start @1 :Bool;                  # otherwise only asks
  deadline @2 :Int64;              # ns; negative: at once, 0: none
  ignoreSystemJobs @3 :Bool;
}

struct NodeUpdateDrainReply { draining @0 :Bool; }

struct NodeAwaitPreviousRequest {
  nodeId @0 :Text;
  allocId @1 :Text;                # of the node; what it replaces is meant
  maxWaitMs @2 :UInt64;
}

struct NodeAwaitPreviousReply {
  ended @0 :Bool;
  httpAddress @1 :Text;            # of the node that has its data; empty: nobody, or it is not wanted
  tls @2 :Bool;
  migrateToken @3 :Text $secret;
}

# What templates of a node's tasks follow: held until it is something else than `known`.
struct NodeWatchDataRequest {
  nodeId @0 :Text;
  kind @1 :UInt8;                  # ClusterQuery::Kind of runtime/template/cluster_query.hpp
  namespace @2 :Text;
  name @3 :Text;                   # of a service; the path, or its beginning, of variables
  tag @4 :Text;
  choose @5 :Text;                 # "<number>|<key>"
  known @6 :UInt64;                # the digest of the last answer; 0: none
  maxWaitMs @7 :UInt64;
}

struct NodeWatchDataReply {
  digest @0 :UInt64;               # `known`: nothing is new, and nothing follows
  services @1 :List(Service.ServiceRegistration);
  variables @2 :List(Variable.Variable);  # without what they hold
  items @3 :Data $secret;          # what the one variable holds, as runtime/security encodes it
}

# A request of the HTTP API on its way to the node that serves it: the leader, a server of another
# region, or the client node that it is about. The answer's body follows as a byte stream.
struct ApiRequest {
  method @0 :Text;                 # "GET"
  target @1 :Text;                 # path and query
  headers @2 :List(Common.TextEntry);
  body @3 :Data;
  bodyLength @4 :UInt64;           # not 0: instead of `body` as many bytes follow in the stream
}

# First in the byte stream, after its length as four bytes, little end first.
struct ApiResponseHead {
  status @0 :UInt16;
  contentType @1 :Text;
  headers @2 :List(Common.TextEntry);
  whole @3 :Bool;                  # the answer is complete: `length` bytes follow, then the end
  length @4 :UInt64;
}
