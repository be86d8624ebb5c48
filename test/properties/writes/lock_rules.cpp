#include "test/properties/writes/lock_rules.hpp"

#include <fmt/format.h>

#include "runtime/cluster/variables/lock_commands.hpp"
#include "test/support/anybody.hpp"

namespace nomad::properties {
namespace {

using state::Snapshot;
using Stored = Object<schema::Variable>;

enum class Does { nothing, puts, deletes, takes, releases };

/// What a command wants of a variable, and the lock's id that it shows.
struct Wanted {
  Does does = Does::nothing;
  std::string ns;
  std::string path;
  std::string lock;
  bool keeps_data = false;
};

Wanted wanted_by(schema::Command::Reader command) {
  if (command.isGuarded()) return wanted_by(command.getGuarded().getCommand());
  if (command.isVariableLocking()) {
    const auto locking = command.getVariableLocking();
    const auto variable = locking.getVariable();
    return {locking.getRelease() ? Does::releases : Does::takes, copy(variable.getNamespace()),
            copy(variable.getPath()), copy(variable.getLock().getId()),
            locking.getRelease() || locking.getKeepData()};
  }
  if (!command.isVariableApply()) return {};
  const auto apply = command.getVariableApply();
  const auto operation = apply.getOperation();
  const bool deletes = operation == schema::VariableOperation::DELETE
                       || operation == schema::VariableOperation::CHECK_AND_DELETE;
  return {deletes ? Does::deletes : Does::puts, copy(apply.getVariable().getNamespace()),
          copy(apply.getVariable().getPath()), copy(apply.getLockId())};
}

std::string lock_of(const Stored& variable) {
  return variable && variable->hasLock() ? copy(variable->getLock().getId()) : std::string{};
}

bool is_same_agreement(schema::VariableLock::Reader one, schema::VariableLock::Reader other) {
  return one.getTtl() == other.getTtl() && one.getLockDelay() == other.getLockDelay();
}

/// Of a variable that the command has changed.
std::string broken_by_change(const Stored& before, const Stored& after, const Wanted& wanted) {
  const auto was = lock_of(before);
  const auto is = lock_of(after);
  if (wanted.does == Does::nothing)
    return is == was ? "" : "no command of a variable, and its lock is another";
  if (!was.empty() && wanted.lock != was)
    return fmt::format("locked by {}, changed by who shows \"{}\"", was, wanted.lock);
  if (was.empty() && !wanted.lock.empty() && wanted.does != Does::takes)
    return fmt::format("not locked, changed by who relies on {}", wanted.lock);
  if (is != (wanted.does == Does::puts || wanted.does == Does::takes ? wanted.lock : ""))
    return fmt::format("locked by \"{}\" after who shows \"{}\"", is, wanted.lock);
  if (!was.empty() && is == was && !is_same_agreement(before->getLock(), after->getLock()))
    return fmt::format("the lock of {} is not as it was agreed on", was);
  if (wanted.keeps_data && before && before->getData() != after->getData())
    return "what is stored was to stay, and is another";
  return {};
}

/// Whoever else may renew a lock than who has it.
std::string broken_by_renewal(const Snapshot& state,
                              const std::string& ns,
                              const Stored& variable) {
  const auto holder = lock_of(variable);
  for (const std::string id : lock_ids) {
    const auto renewed
        = cluster::check_renewal(state, nomad::test::anybody(), ns, variable_path, id).has_value();
    if (renewed != (id == holder))
      return fmt::format("locked by \"{}\", and {} {} renew it", holder, id,
                         renewed ? "may" : "may not");
  }
  return {};
}

}  // namespace

std::string broken_lock_rule(const Snapshot& before,
                             schema::Command::Reader command,
                             const Snapshot& after) {
  const auto wanted = wanted_by(command);
  for (const std::string ns : variable_namespaces) {
    const auto was = before.variable(ns, variable_path);
    const auto is = after.variable(ns, variable_path);
    const bool is_meant = wanted.ns == ns && wanted.path == variable_path;
    std::string found;
    if (!was.equals(is)) found = broken_by_change(was, is, is_meant ? wanted : Wanted{});
    if (found.empty()) found = broken_by_renewal(after, ns, is);
    if (!found.empty()) return fmt::format("variable {} of {}: {}", variable_path, ns, found);
  }
  return {};
}

}  // namespace nomad::properties
