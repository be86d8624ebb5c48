// Variables and the keyring. Whether a check-and-set holds is judged here and nowhere else, so
// that of two writers who saw the same index one loses. What a variable holds is not seen.
#include <algorithm>

#include "runtime/state/alloc_index.hpp"
#include "runtime/state/apply_kind.hpp"

namespace nomad::state {

namespace {

Object<schema::Variable> nothing_at(schema::Variable::Reader asked) {
  Draft<schema::Variable> draft;
  draft->setNamespace(asked.getNamespace());
  draft->setPath(asked.getPath());
  return draft.freeze();
}

bool deletes(schema::VariableOperation operation) {
  return operation == schema::VariableOperation::DELETE
         || operation == schema::VariableOperation::CHECK_AND_DELETE;
}

bool checks(schema::VariableOperation operation) {
  return operation == schema::VariableOperation::CHECK_AND_SET
         || operation == schema::VariableOperation::CHECK_AND_DELETE;
}

/// So many of what a key has sealed are counted for a refusal.
constexpr std::size_t most_counted_variables = 1000;

/// What would be lost without the key, for people; "" if nothing.
std::string uses_of(const Tables& tables, schema::RootKey::Reader key) {
  std::string uses;
  const auto add = [&uses](std::uint64_t number, std::string_view verb, std::string_view noun) {
    if (number == 0) return;
    uses.append(uses.empty() ? "it " : ", ").append(verb);
    uses.append(number > most_counted_variables ? " more than " : " ")
        .append(std::to_string(std::min<std::uint64_t>(number, most_counted_variables)))
        .append(" ")
        .append(noun)
        .append(number == 1 ? "" : "s");
  };
  std::size_t variables = 0;
  for (const auto& entry : tables.variables_by_key.prefix(join_key(view(key.getKeyId()), "")))
    if (static_cast<void>(entry), ++variables > most_counted_variables) break;
  add(variables, "has sealed", "variable");
  if (const auto* sealed = tables.acl_sealed_by_key.find(view(key.getKeyId())))
    add(*sealed, "has sealed", "secret");
  if (const auto* signs = tables.identity_uses.find(number_key(key.getCreateIndex())))
    add(*signs, "signs the identities of", "allocation");
  add(identities_of_lost_keys(tables), "may sign, in place of a key that has gone, for",
      "allocation");
  return uses;
}

}  // namespace

void Applier::variable_apply(schema::VariableApply::Reader command) {
  const auto variable = command.getVariable();
  const auto stored = found<kind::Variables>(kind::Variables::key(variable));
  const Index actual = stored ? stored->getModifyIndex() : 0;
  if (checks(command.getOperation()) && command.getCheckIndex() != actual)
    return refuse_variable(command, stored);
  const bool is_locked = stored && stored->hasLock();
  if (command.getLockId() != (is_locked ? stored->getLock().getId() : capnp::Text::Reader{}))
    return refuse_locked(variable, is_locked);
  if (deletes(command.getOperation())) {
    if (is_locked) outcome_.locking = kind::Variables::key(*stored);
    if (stored) replace<kind::Variables>(stored, {});
    return;
  }
  // The proposer sealed it some time ago: a key that has gone since would leave it unreadable.
  if (!t_.root_keys.contains(view(variable.getKeyId())))
    return refuse(Errc::unavailable,
                  "root key \"" + copy(variable.getKeyId()) + "\" has been removed; try again");
  if (const auto error = exceeds_quota(variable, view(command.getRegion()), stored))
    return refuse(*error);
  Draft<schema::Variable> draft{variable};
  if (is_locked)
    draft->setLock(stored->getLock());
  else
    draft->disownLock();
  draft->setCreateIndex(stored ? stored->getCreateIndex() : index_);
  draft->setCreateTime(stored ? stored->getCreateTime() : variable.getModifyTime());
  draft->setModifyIndex(index_);
  outcome_.variable = draft.freeze();
  replace<kind::Variables>(stored, outcome_.variable);
}

/// Why the quota of its namespace has no room for it. One that gets no longer always has.
std::optional<Error> Applier::exceeds_quota(schema::Variable::Reader variable,
                                            std::string_view region,
                                            const Object<schema::Variable>& stored) const {
  const auto ns = view(variable.getNamespace());
  const auto* name = t_.quota_of_namespaces.find(ns);
  if (name == nullptr) return std::nullopt;
  const auto more
      = kind::Variables::bytes(variable) - (stored ? kind::Variables::bytes(*stored) : 0);
  if (more <= 0) return std::nullopt;
  const auto quota = found<kind::Quotas>(*name);
  if (!quota)
    return Error{Errc::rejected,
                 "quota exceeded: quota \"" + *name + "\" is not known in this region"};
  const auto limit = limit_in(*quota, region);
  if (!limit || limit->getVariablesLimit() == 0) return std::nullopt;
  const auto most = mebibytes(std::max<std::int64_t>(limit->getVariablesLimit(), 0));
  const auto sum = variable_bytes_of_quota(t_, *name) + more;
  if (sum <= most) return std::nullopt;
  return Error{Errc::rejected, "quota exceeded: the variables of quota \"" + *name
                                   + "\" would take " + std::to_string(sum) + " bytes of "
                                   + std::to_string(most)};
}

void Applier::refuse_variable(schema::VariableApply::Reader command,
                              const Object<schema::Variable>& stored) {
  outcome_.variable = stored ? stored : nothing_at(command.getVariable());
  refuse(Errc::conflict, "cas error: requested index " + std::to_string(command.getCheckIndex())
                             + "; found index "
                             + std::to_string(outcome_.variable->getModifyIndex()));
}

/// Whoever is told learns nothing of what is stored: he has not asked for it by its index.
void Applier::refuse_locked(schema::Variable::Reader asked, bool is_locked) {
  outcome_.variable = nothing_at(asked);
  refuse(Errc::conflict,
         is_locked ? "attempting to modify locked variable" : "variable doesn't hold a lock");
}

void Applier::variable_locking(schema::VariableLocking::Reader command) {
  const auto stored = found<kind::Variables>(kind::Variables::key(command.getVariable()));
  if (command.getRelease())
    release_variable(command, stored);
  else
    lock_variable(command, stored);
}

/// Who holds the lock already may take it again, as one does whom the answer has not reached: it
/// stays as it was agreed on.
void Applier::lock_variable(schema::VariableLocking::Reader command,
                            const Object<schema::Variable>& stored) {
  const auto variable = command.getVariable();
  const bool is_held = stored && stored->hasLock();
  if (is_held && stored->getLock().getId() != variable.getLock().getId())
    return refuse_locked(variable, true);
  Draft<schema::Variable> draft{variable};
  const bool keeps_data = stored && command.getKeepData();
  if (keeps_data) {
    draft->setKeyId(stored->getKeyId());
    draft->setData(stored->getData());
  }
  if (is_held) draft->setLock(stored->getLock());
  const bool seals_nothing = is_held && keeps_data;
  if (!seals_nothing && !t_.root_keys.contains(view(draft->getKeyId()))) {
    const auto key = "root key \"" + copy(draft->getKeyId()) + '"';
    if (keeps_data)
      return refuse(Errc::rejected, key + ", which has sealed the variable, has been removed: put "
                                          "its items anew, then lock it");
    // The proposer sealed it some time ago: a key that has gone since would leave it unreadable.
    return refuse(Errc::unavailable, key + " has been removed; try again");
  }
  if (const auto error = exceeds_quota(draft.reader(), view(command.getRegion()), stored))
    return refuse(*error);
  draft->setCreateIndex(stored ? stored->getCreateIndex() : index_);
  draft->setCreateTime(stored ? stored->getCreateTime() : variable.getModifyTime());
  draft->setModifyIndex(index_);
  outcome_.variable = draft.freeze();
  outcome_.locking = kind::Variables::key(variable);
  replace<kind::Variables>(stored, outcome_.variable);
}

/// What the variable holds stays: a release that comes late must not undo what others have written.
/// One with an index is for what was there at that index: who holds the lock may have taken it
/// again since, with the same id.
void Applier::release_variable(schema::VariableLocking::Reader command,
                               const Object<schema::Variable>& stored) {
  const auto variable = command.getVariable();
  if (!stored) return refuse(Errc::not_found, "variable doesn't exist");
  if (!stored->hasLock() || stored->getLock().getId() != variable.getLock().getId())
    return refuse_locked(variable, stored->hasLock());
  const auto seen = variable.getModifyIndex();
  if (seen != 0 && seen != stored->getModifyIndex()) return refuse_locked(variable, true);
  Draft<schema::Variable> draft{stored};
  draft->disownLock();
  draft->setModifyTime(variable.getModifyTime());
  draft->setModifyIndex(index_);
  outcome_.variable = draft.freeze();
  outcome_.locking = kind::Variables::key(variable);
  replace<kind::Variables>(stored, outcome_.variable);
}

void Applier::root_key_upsert(schema::RootKeyUpsert::Reader command) {
  const auto key = command.getKey();
  const auto stored = found<kind::RootKeys>(view(key.getKeyId()));
  const auto base = command.getCheckIndex();
  if (base != 0 && (!stored || stored->getModifyIndex() != base))
    return refuse(Errc::conflict,
                  "the root key was read at index " + std::to_string(base) + " and is "
                      + (stored ? "at " + std::to_string(stored->getModifyIndex()) : "gone"));
  const bool was_active = stored && stored->getState() == schema::RootKeyState::ACTIVE;
  const bool takes_over = !was_active && key.getState() == schema::RootKeyState::ACTIVE;
  if (command.getRekey() && !takes_over)
    return refuse(Errc::rejected, "cannot rekey without setting the new key active");
  if (was_active && key.getState() != schema::RootKeyState::ACTIVE)
    return refuse(Errc::rejected, "the active root key stays so until another takes over");
  if (takes_over) {
    std::vector<Object<schema::RootKey>> others;
    for (const auto& entry : t_.root_keys.all())
      others.push_back(entry.value());
    for (const auto& other : others)
      step_back(other, command.getRekey());
  }
  Draft<schema::RootKey> draft{key};
  draft->setCreateIndex(stored ? stored->getCreateIndex() : index_);
  if (stored) draft->setCreateTime(stored->getCreateTime());
  put_root_key(draft.freeze());
}

/// What becomes of `key` when another becomes the active one.
void Applier::step_back(const Object<schema::RootKey>& key, bool rekey) {
  const auto next = rekey ? schema::RootKeyState::REKEYING : schema::RootKeyState::INACTIVE;
  if (key->getState() == next || key->getState() == schema::RootKeyState::REKEYING
      || key->getState() == schema::RootKeyState::PREPUBLISHED)
    return;
  Draft<schema::RootKey> draft{key};
  draft->setState(next);
  put_root_key(draft.freeze());
}

void Applier::put_root_key(const Object<schema::RootKey>& key) {
  Draft<schema::RootKey> draft{key};
  draft->setModifyIndex(index_);
  put<kind::RootKeys>(draft.freeze());
}

void Applier::root_key_delete(capnp::Text::Reader id) {
  remove_root_key(id, false);
}

void Applier::root_key_forced_delete(capnp::Text::Reader id) {
  remove_root_key(id, true);
}

void Applier::remove_root_key(capnp::Text::Reader id, bool is_forced) {
  const auto key = found<kind::RootKeys>(view(id));
  if (!key) return refuse(Errc::not_found, "root key metadata not found");
  if (key->getState() == schema::RootKeyState::ACTIVE)
    return refuse(Errc::rejected, "active root key cannot be deleted - call rotate first");
  const auto uses = uses_of(t_, *key);
  if (!uses.empty() && !is_forced)
    return refuse(Errc::rejected, "root key in use, cannot delete: " + uses
                                      + "; rotate with -full seals anew what it has sealed, and "
                                        "-force removes it with all of that");
  replace<kind::RootKeys>(key, {});
}

}  // namespace nomad::state
