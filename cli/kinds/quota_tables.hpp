// What is in use of a quota, as `quota status` and `namespace status` show it.
#pragma once

#include <map>
#include <string>

#include <boost/json/value.hpp>

#include "cli/api.hpp"
#include "cli/output/json_view.hpp"

namespace nomad::cli {

/// Each region that a quota limits counts its own.
struct QuotaUsages {
  std::map<std::string, boost::json::value> by_region;
  std::map<std::string, std::string> failures;  ///< Why a region's is not known.
};

QuotaUsages read_quota_usages(Api& api, const View& quota);

/// Prints the limits with what is in use of them. 1 if a region did not say, which is printed, too.
int print_quota_limits(Api& api, const View& quota);

}  // namespace nomad::cli
