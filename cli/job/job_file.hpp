// Reading a job file for the commands that take one: HCL2 with variables, or JSON.
#pragma once

#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "cli/api.hpp"
#include "cli/arguments.hpp"
#include "runtime/base/result.hpp"

namespace nomad::cli {

/// No job file is larger, nor a file that one reads.
inline constexpr std::size_t most_job_file_bytes = std::size_t{16} << 20;

struct JobFileFlags {
  const bool& json;
  const bool& hcl1;
  const bool& strict;
  const std::vector<std::string>& variables;
  const std::vector<std::string>& variable_files;

  explicit JobFileFlags(Arguments& arguments);
};

struct JobFile {
  boost::json::object job;        ///< In api form.
  boost::json::value submission;  ///< What `Submission` of a registration holds.
  std::vector<std::string> warnings;

  /// A member of the job; "" when it is missing or null.
  std::string text(std::string_view member) const;
};

/// The region and namespace that the job itself names, over those of flags and environment.
void use_scope_of(const boost::json::object& job, CommonFlags& flags);

/// Reads "-" (stdin), a path, or an address that nomadctl-artifact can fetch. The error is all
/// diagnostics, as they are shown to people.
Result<JobFile> read_job_file(const std::string& path, const JobFileFlags& flags);

}  // namespace nomad::cli
