// Constraints that follow from what a group uses, so that it is placed only where that works.
#include <set>
#include <string>

#include "runtime/jobspec/canonical/canonicalize.hpp"
#include "runtime/jobspec/service_provider.hpp"

namespace nomad::jobspec {

namespace {

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

void add_constraint(DraftBlock& group, Match match, const Constraint& wanted) {
  bool present = false;
  group.each("Constraints", [&](const DraftBlock& constraint) {
    if (constraint.text("LTarget") != wanted.left) return;
    present = present || match == Match::left
              || (constraint.text("Operand") == wanted.operand
                  && constraint.text("RTarget") == wanted.right);
  });
  if (present) return;
  DraftBlock added = group.append("Constraints");
  added.set("LTarget", wanted.left);
  added.set("RTarget", wanted.right);
  added.set("Operand", wanted.operand);
}

struct Usage {
  bool vault = false;
  bool consul = false;
  bool native_services = false;
  bool native_checks = false;
  std::set<std::string, std::less<>> signals;
  std::set<std::string, std::less<>> plugins;  ///< Providers of services.

  void note_services(const DraftBlock& in) {
    in.each("Services", [&](const DraftBlock& service) {
      const std::string_view provider = service.text("Provider");
      if (provider.empty() || provider == "consul") consul = true;
      if (is_plugin_provider(provider)) plugins.emplace(provider);
      if (provider != "nomad") return;
      native_services = true;
      if (!service.list("Checks").empty()) native_checks = true;
    });
  }

  void note_task(const DraftBlock& task) {
    note_services(task);
    if (const DraftBlock block = task.child("Vault")) {
      vault = true;
      if (block.text("ChangeMode") == "signal") signals.emplace(block.text("ChangeSignal"));
    }
    if (const std::string_view signal = task.text("KillSignal"); !signal.empty())
      signals.emplace(signal);
    task.each("Identities", [&](const DraftBlock& identity) {
      if (identity.text("ChangeMode") == "signal") signals.emplace(identity.text("ChangeSignal"));
    });
    task.each("Templates", [&](const DraftBlock& tmpl) {
      if (tmpl.text("ChangeMode") == "signal") signals.emplace(tmpl.text("ChangeSignal"));
    });
  }
};

}  // namespace

void add_implied_constraints(DraftBlock job) {
  job.each("TaskGroups", [](DraftBlock& group) {
    Usage usage;
    usage.note_services(group);
    group.each("Tasks", [&](const DraftBlock& task) { usage.note_task(task); });

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
    for (const auto& provider : usage.plugins)
      add_constraint(group, Match::whole,
                     {"${attr." + provider_attribute(provider) + '}', "=", "true"});
  });
}

}  // namespace nomad::jobspec
