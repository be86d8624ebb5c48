// A cluster as `nomadctl migrate` reads it, by the HTTP API: Nomad's, or one of these agents.
#pragma once

#include <string>
#include <vector>

#include <boost/json/value.hpp>

#include "cli/api.hpp"

namespace nomad::cli::migrate {

/// Objects of one kind, as the API answered.
struct Listing {
  std::vector<boost::json::value> objects;
  std::string unread;  ///< Why they are not known; "": they are.
};

struct Cluster {
  boost::json::value agent;      ///< /v1/agent/self of the one that was asked.
  std::string agent_unread;      ///< Why that is not known.
  std::string left_out;          ///< Why lists may be without some objects; "": they are not.
  boost::json::value scheduler;  ///< The configuration of its schedulers.
  std::string scheduler_unread;  ///< Why that is not known.
  Listing namespaces;
  Listing node_pools;
  Listing policies;   ///< None where ACLs are off.
  Listing variables;  ///< What lists tell of them, with their Items where these were asked for.
  Listing jobs;       ///< Each as it is stored, without those that others have started.
  Listing volumes;    ///< CSI volumes.
};

/// Whether what variables hold is wanted.
enum class VariableItems : bool { no, yes };

/// Asks for everything. What the token may not read is told in the listings; an error is that the
/// cluster can't be asked at all, or that the token may not even list namespaces. `api` then is at
/// any namespace.
Result<Cluster> read_cluster(Api& api, VariableItems items);

}  // namespace nomad::cli::migrate
