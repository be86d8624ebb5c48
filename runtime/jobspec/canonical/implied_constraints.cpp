// Constraints that follow from what a group uses, so that it is placed only where that works.
#include <set>
#include <string>

#include <boost/json.hpp>

#include "runtime/jobspec/canonical/canonicalize.hpp"
#include "runtime/jobspec/tree.hpp"

namespace nomad::jobspec {

namespace {

using boost::json::array;
using boost::json::object;
using tree::each;

struct Constraint {
  std::string_view left;
  std::string_view operand;
  std::string_view right;
};

constexpr Constraint vault_constraint{"${attr.vault.version}", "semver", ">= 0.6.1"};
constexpr Constraint consul_constraint{"${attr.consul.version}", "semver", ">= 1.7.0"};
constexpr Constraint native_services_constraint{"${attr.nomad.service_discovery}", "=", "true"};
constexpr Constraint native_checks_constraint{"${attr.nomad.version}", "semver", ">= 1.4.0"};

/// What counts as "already there": the very constraint, or any on the same attribute.
enum class Match { whole, left };

void add_constraint(object& group, Match match, const Constraint& wanted) {
  bool present = false;
  each(static_cast<const object&>(group), "Constraints", [&](const object& constraint) {
    if (tree::text(constraint, "LTarget") != wanted.left) return;
    present = present || match == Match::left
              || (tree::text(constraint, "Operand") == wanted.operand
                  && tree::text(constraint, "RTarget") == wanted.right);
  });
  if (present) return;
  tree::set_default(group, "Constraints", array{});
  group.at("Constraints")
      .as_array()
      .push_back(
          object{{"LTarget", wanted.left}, {"RTarget", wanted.right}, {"Operand", wanted.operand}});
}

struct Usage {
  bool vault = false;
  bool consul = false;
  bool native_services = false;
  bool native_checks = false;
  std::set<std::string, std::less<>> signals;

  void note_services(const object& in) {
    each(in, "Services", [&](const object& service) {
      const std::string_view provider = tree::text(service, "Provider");
      if (provider.empty() || provider == "consul") consul = true;
      if (provider != "nomad") return;
      native_services = true;
      if (!tree::list(service, "Checks").empty()) native_checks = true;
    });
  }

  void note_task(const object& task) {
    note_services(task);
    if (const object* block = tree::child(task, "Vault")) {
      vault = true;
      if (tree::text(*block, "ChangeMode") == "signal")
        signals.emplace(tree::text(*block, "ChangeSignal"));
    }
    if (const std::string_view signal = tree::text(task, "KillSignal"); !signal.empty())
      signals.emplace(signal);
    each(task, "Templates", [&](const object& tmpl) {
      if (tree::text(tmpl, "ChangeMode") == "signal")
        signals.emplace(tree::text(tmpl, "ChangeSignal"));
    });
  }
};

}  // namespace

void add_implied_constraints(object& job) {
  each(job, "TaskGroups", [](object& group) {
    Usage usage;
    usage.note_services(group);
    each(static_cast<const object&>(group), "Tasks",
         [&](const object& task) { usage.note_task(task); });

    if (usage.vault) add_constraint(group, Match::left, vault_constraint);
    if (!usage.signals.empty()) {
      std::string joined;
      for (const std::string& signal : usage.signals)
        joined += (joined.empty() ? "" : ",") + signal;
      add_constraint(group, Match::whole, {"${attr.os.signals}", "set_contains", joined});
    }
    if (usage.native_services) add_constraint(group, Match::whole, native_services_constraint);
    if (usage.native_checks) add_constraint(group, Match::whole, native_checks_constraint);
    if (usage.consul) add_constraint(group, Match::left, consul_constraint);
  });
}

}  // namespace nomad::jobspec
