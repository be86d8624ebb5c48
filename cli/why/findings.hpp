// What is wrong with a job, and what helps: decided from facts alone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/why/facts.hpp"

namespace nomad::cli::why {

enum class Weight : std::uint8_t {
  problem,  ///< Keeps the job from what it should do.
  warning,  ///< Does so soon, or has done so.
  note      ///< Nothing is wrong; it says why nothing runs.
};

struct Finding {
  Weight weight = Weight::problem;
  std::string what;                     ///< A sentence, without a full stop.
  std::vector<std::string> details{};   ///< Lines.
  std::vector<std::string> commands{};  ///< That help, to be typed into a shell as they stand.
};

/// A command of this program for a shell: `what` as it stands ("job history -p"), then `words`,
/// which are others' texts, quoted where they have to be.
std::string shell_command(std::string_view what, const std::vector<std::string>& words = {});
/// The same of a namespace, which is named unless it is the default one.
std::string shell_command_in(std::string_view ns,
                             std::string_view what,
                             const std::vector<std::string>& words = {});
/// The same of the job's namespace.
std::string shell_command_for(const Facts& facts,
                              std::string_view what,
                              const std::vector<std::string>& words = {});

/// What weighs most comes first.
std::vector<Finding> diagnose(const Facts& facts);

/// "Job "web" (service, version 3) is running: 1 of 2 allocations run".
std::string headline(const Facts& facts);

/// To stdout, behind an empty line.
void print(const Finding& finding);

// The parts of `diagnose`, in the order of what they look at.

void find_in_job(const Facts& facts, std::vector<Finding>& out);
void find_in_evaluations(const Facts& facts, std::vector<Finding>& out);
void find_in_placements(const Facts& facts, std::vector<Finding>& out);
void find_in_allocations(const Facts& facts, std::vector<Finding>& out);
void find_in_checks(const Facts& facts, std::vector<Finding>& out);
void find_in_deployments(const Facts& facts, std::vector<Finding>& out);

/// What of the job keeps a group from a node for good, as far as lists of nodes tell; "" for
/// nothing.
std::string obstacle(const View& job, const View& group, const View& node);

}  // namespace nomad::cli::why
