// Descriptions that several commands share: placement failures and deployments.
#pragma once

#include <string>
#include <string_view>

#include "cli/output/json_view.hpp"

namespace nomad::cli {

/// Why a group could not be placed: one `* …` bullet a line, each indented by `indent`.
std::string placement_failure(const View& metric, const std::string& indent);

/// `Task Group "g" (failed to place 2 allocations):`
std::string failed_group(std::string_view group, const View& metric);

/// That and its bullets, for every failed group.
std::string placement_failures(const View& failed_groups,
                               const std::string& indent,
                               std::string_view between = "\n");

/// The block of `deployment status`. With `brief`, what `job status` shows of it.
std::string deployment_block(const View& deployment, bool verbose, bool brief);

/// "2026-01-02T03:15:00Z (5m54s from now)": when a periodic job's next launch is due, in the job's
/// time zone. The API does not say it: it is worked out here, by this machine's clock. "" if the
/// job is not periodic or is parameterized, or what it has for crons is none.
std::string next_launch(const View& job);

/// What that is if no instant matches: as Nomad shows it, which counts to the year 1.
inline constexpr std::string_view never_launched = " (-2562047h47m16.854775808s from now)";

}  // namespace nomad::cli
