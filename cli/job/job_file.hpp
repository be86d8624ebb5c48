// Reading a job file for the commands that take one: HCL2 with variables, or JSON.
#pragma once

#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "cli/arguments.hpp"
#include "runtime/base/result.hpp"

namespace nomad::cli {

struct JobFileFlags {
  bool json = false;
  bool strict = true;
  bool hcl1 = false;
  std::vector<std::string> variables;
  std::vector<std::string> variable_files;

  void add_to(Arguments& arguments);
};

struct JobFile {
  boost::json::object job;        ///< In api form.
  boost::json::value submission;  ///< What `Submission` of a registration holds.
  std::vector<std::string> warnings;
};

/// Reads "-" (stdin) or a path. The error is all diagnostics, as they are shown to people.
Result<JobFile> read_job_file(const std::string& path, const JobFileFlags& flags);

}  // namespace nomad::cli
