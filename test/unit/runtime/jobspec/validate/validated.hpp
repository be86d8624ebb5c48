// What the tests of rules have in common: a small job's parts, and the mistakes that are found in
// it.
#pragma once

#include <string>
#include <vector>

#include <boost/json.hpp>

#include "runtime/jobspec/validate/validate.hpp"
#include "test/unit/runtime/jobspec/cases.hpp"

namespace nomad::jobspec {

inline std::vector<std::string> errors_of(const boost::json::object& job,
                                          const ValidateOptions& options = {}) {
  return validate(admitted(job).job(), options).errors;
}

inline boost::json::object& group_of(boost::json::object& job) {
  return job.at("TaskGroups").at(0).as_object();
}

inline boost::json::object& task_of(boost::json::object& job) {
  return group_of(job).at("Tasks").at(0).as_object();
}

inline std::string joined(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts)
    out += text + "\n";
  return out;
}

inline std::string joined(const boost::json::value& texts) {
  std::string out;
  for (const boost::json::value& text : texts.as_array())
    out += std::string{text.as_string()} + "\n";
  return out;
}

}  // namespace nomad::jobspec
