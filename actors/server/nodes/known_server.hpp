// KnownServer: a server as client nodes and operators see it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/object/draft.hpp"
#include "schema/rpc.capnp.h"

namespace nomad::server {

struct KnownServer {
  std::string id;
  std::string rpc_address;
  std::string region;
  std::string datacenter;
  bool is_leader = false;
};

/// All servers of the region that seem alive. Thread-safe and quick.
using KnownServers = std::function<std::vector<KnownServer>()>;

inline void fill_servers(capnp::List<schema::rpc::ServerAddress>::Builder list,
                         const std::vector<KnownServer>& servers) {
  for (unsigned i = 0; i < servers.size(); ++i) {
    auto entry = list[i];
    entry.setId(text(servers[i].id));
    entry.setRpcAddress(text(servers[i].rpc_address));
    entry.setRegion(text(servers[i].region));
    entry.setDatacenter(text(servers[i].datacenter));
    entry.setIsLeader(servers[i].is_leader);
  }
}

}  // namespace nomad::server
