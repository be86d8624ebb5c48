#include "runtime/jobspec/validate/namespace_rules.hpp"

#include <fmt/format.h>

#include "runtime/object/draft.hpp"

namespace nomad::jobspec {
namespace {

using PoolRules = schema::NamespaceNodePoolConfiguration::Reader;

bool has_name(capnp::List<capnp::Text>::Reader names, std::string_view wanted) {
  for (const auto name : names)
    if (view(name) == wanted) return true;
  return false;
}

/// `*` stands for any number of characters.
bool fits_glob(std::string_view pattern, std::string_view name) {
  std::size_t at = 0, star = std::string_view::npos, mark = 0;
  std::size_t in_name = 0;
  while (in_name < name.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      mark = in_name;
    } else if (at < pattern.size() && pattern[at] == name[in_name]) {
      ++at;
      ++in_name;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      in_name = ++mark;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', at) == std::string_view::npos;
}

bool fits_any(capnp::List<capnp::Text>::Reader patterns, std::string_view name) {
  for (const auto pattern : patterns)
    if (fits_glob(view(pattern), name)) return true;
  return false;
}

/// None enabled: all that are not disabled.
bool allows_driver(schema::NamespaceCapabilities::Reader rules, std::string_view driver) {
  const auto enabled = rules.getEnabledTaskDrivers();
  return (enabled.size() == 0 || has_name(enabled, driver))
         && !has_name(rules.getDisabledTaskDrivers(), driver);
}

std::string_view default_of(PoolRules rules) {
  return rules.getDefault().size() == 0 ? "default" : view(rules.getDefault());
}

/// An empty list of allowed ones allows the default alone.
bool allows_pool(PoolRules rules, std::string_view pool) {
  if (pool == default_of(rules)) return true;
  if (rules.hasAllowed()) return fits_any(rules.getAllowed(), pool);
  return !fits_any(rules.getDenied(), pool);
}

/// What of a job a namespace has rules about: views into it.
struct Needs {
  std::vector<std::string_view> drivers;  ///< Of each task.
  std::string_view node_pool;
};

std::vector<std::string> errors_of(const Needs& job, schema::Namespace::Reader ns) {
  std::vector<std::string> errors;
  std::vector<std::string> drivers;
  if (ns.hasCapabilities())
    for (const auto driver : job.drivers)
      if (!allows_driver(ns.getCapabilities(), driver))
        drivers.push_back(fmt::format("\"{}\"", driver));
  if (!drivers.empty())
    errors.push_back(drivers.size() == 1
                         ? fmt::format("used task driver {} is not allowed in namespace \"{}\"",
                                       drivers.front(), view(ns.getName()))
                         : fmt::format("used task drivers [{}] are not allowed in namespace \"{}\"",
                                       fmt::join(drivers, " "), view(ns.getName())));
  if (ns.hasNodePoolConfiguration() && !allows_pool(ns.getNodePoolConfiguration(), job.node_pool))
    errors.push_back(fmt::format("namespace \"{}\" does not allow jobs to use node pool \"{}\"",
                                 view(ns.getName()), job.node_pool));
  return errors;
}

}  // namespace

std::string_view default_node_pool(schema::Namespace::Reader ns) {
  return default_of(ns.getNodePoolConfiguration());
}

std::vector<std::string> namespace_errors(const DraftBlock& job, schema::Namespace::Reader ns) {
  Needs needs{.drivers = {}, .node_pool = job.text("NodePool")};
  job.each("TaskGroups", [&](const DraftBlock& group) {
    group.each("Tasks",
               [&](const DraftBlock& task) { needs.drivers.push_back(task.text("Driver")); });
  });
  return errors_of(needs, ns);
}

std::vector<std::string> namespace_errors(schema::Job::Reader job, schema::Namespace::Reader ns) {
  Needs needs{.drivers = {}, .node_pool = view(job.getNodePool())};
  for (const auto group : job.getTaskGroups())
    for (const auto task : group.getTasks())
      needs.drivers.push_back(view(task.getDriver()));
  return errors_of(needs, ns);
}

std::vector<std::string> node_pool_mistakes(PoolRules rules) {
  if (rules.hasAllowed() && rules.hasDenied() && rules.getDenied().size() != 0)
    return {"\"allowed\" and \"denied\" can't be used together"};
  if (const auto pool = default_of(rules); fits_any(rules.getDenied(), pool))
    return {fmt::format("the default node pool \"{}\" is among those that are denied", pool)};
  return {};
}

}  // namespace nomad::jobspec
