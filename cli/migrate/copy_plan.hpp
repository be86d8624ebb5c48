// What has to be written to bring a cluster's objects over, and what is left as it is. Pure.
//
// What is here already is never overwritten, unless that is asked for: but for jobs that are here
// and stopped, which get the newest version. Jobs come stopped.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/value.hpp>

#include "cli/api.hpp"
#include "cli/migrate/cluster.hpp"

namespace nomad::cli::migrate {

enum class Act : std::uint8_t {
  create,
  change,
  keep,  ///< It is here, as it is there.
  skip,  ///< For the reason that `why` tells.
};

struct Step {
  std::string kind;  ///< "job"
  std::string ns;    ///< "": of none.
  std::string name;
  Act act = Act::skip;
  std::string why;      ///< Of a skipped one.
  std::string refusal;  ///< Why it would be refused here; "": of that nothing is known.
  std::string path;
  Query query;              ///< Without the namespace.
  boost::json::value body;  ///< May hold secrets: for the request alone.
};

struct CopyRules {
  bool overwrite = false;  ///< What is here and differs becomes what is there.
};

/// In the order in which they need each other. Both clusters have been read with the items of their
/// variables.
std::vector<Step> plan_copy(const Cluster& from, const Cluster& to, const CopyRules& rules);

}  // namespace nomad::cli::migrate
