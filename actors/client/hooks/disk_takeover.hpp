// Takes over the ephemeral disk of the allocation before. Blocks: for the threads of steps.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "runtime/base/result.hpp"
#include "runtime/net/byte_stream.hpp"
#include "schema/job.capnp.h"

namespace nomad::client {

/// Whether the group's disk is taken over from the allocation before.
bool takes_disk_over(schema::TaskGroup::Reader group);

struct DiskTakeover {
  std::string alloc_root;  ///< Whose shared part has been built.
  std::string previous_id;
  std::vector<std::string> tasks;

  bool here = false;    ///< This node has it, beside `alloc_root`; otherwise:
  std::string address;  ///< of the API of the node that gives it out,
  bool tls = false;
  std::string token;         ///< for this,
  net::Connector connector;  ///< reached so.
};

/// Does nothing if tasks have begun to use the disk. Of an archive that does not come whole,
/// nothing is left; so after `cancelled`.
Result<> take_over_disk(const DiskTakeover& order, const std::stop_token& stopped);

}  // namespace nomad::client
