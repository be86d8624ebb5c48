// The identity of a server: an id made at its first start and kept in `<data_dir>/server/node-id`.
//
// An id that was removed from a cluster never votes again. So a server that leaves gives its id up,
// and comes back at its next start under a new one and with an empty log; the old log lies beside
// it as `raft.left` until the next time.
#pragma once

#include <string>

#include "runtime/base/result.hpp"

namespace nomad::agent {

struct ServerIdentity {
  std::string id;
  bool has_left = false;  ///< This server was part of a cluster before, under another id.
};

/// Of the server whose files are in `directory`; makes the id if there is none.
Result<ServerIdentity> server_identity(const std::string& directory);

/// The server has left its cluster: its id is given up, durably.
Result<> retire_identity(const std::string& directory);

}  // namespace nomad::agent
