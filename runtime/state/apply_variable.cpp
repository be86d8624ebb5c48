// Variables and the keyring. Whether a check-and-set holds is judged here and nowhere else, so
// that of two writers who saw the same index one loses. What a variable holds is not seen.
#include "runtime/state/applier.hpp"

namespace nomad::state {

namespace {

std::string variable_key(schema::Variable::Reader variable) {
  return join_key(view(variable.getNamespace()), view(variable.getPath()));
}

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

}  // namespace

void Applier::variable_apply(schema::VariableApply::Reader command) {
  const auto variable = command.getVariable();
  const std::string key = variable_key(variable);
  const auto* found = t_.variables.find(key);
  const Object<schema::Variable> stored = found != nullptr ? *found : Object<schema::Variable>{};
  const Index actual = stored ? stored->getModifyIndex() : 0;
  if (checks(command.getOperation()) && command.getCheckIndex() != actual)
    return refuse_variable(command, stored);
  if (deletes(command.getOperation())) {
    if (stored) drop_variable(key, stored);
    return;
  }
  // The proposer sealed it some time ago: a key that has gone since would leave it unreadable.
  if (!t_.root_keys.contains(view(variable.getKeyId())))
    return refuse(Errc::unavailable,
                  "root key \"" + copy(variable.getKeyId()) + "\" has been removed; try again");
  put_variable(variable, stored);
}

void Applier::refuse_variable(schema::VariableApply::Reader command,
                              const Object<schema::Variable>& stored) {
  outcome_.variable = stored ? stored : nothing_at(command.getVariable());
  refuse(Errc::conflict, "cas error: requested index " + std::to_string(command.getCheckIndex())
                             + "; found index "
                             + std::to_string(outcome_.variable->getModifyIndex()));
}

void Applier::put_variable(schema::Variable::Reader variable,
                           const Object<schema::Variable>& stored) {
  const std::string key = variable_key(variable);
  Draft<schema::Variable> draft{variable};
  draft->setCreateIndex(stored ? stored->getCreateIndex() : index_);
  draft->setCreateTime(stored ? stored->getCreateTime() : variable.getModifyTime());
  draft->setModifyIndex(index_);
  outcome_.variable = draft.freeze();
  if (stored) t_.variables_by_key.erase(join_key(view(stored->getKeyId()), key));
  t_.variables_by_key.insert_or_assign(join_key(view(variable.getKeyId()), key), Nothing{});
  t_.variables.insert_or_assign(key, outcome_.variable);
  touch(Table::variables);
  changed(Table::variables, key);
}

void Applier::drop_variable(const std::string& key, const Object<schema::Variable>& stored) {
  t_.variables_by_key.erase(join_key(view(stored->getKeyId()), key));
  t_.variables.erase(key);
  touch(Table::variables);
  changed(Table::variables, key);
}

void Applier::keyring(schema::Command::Reader command) {
  if (command.isRootKeyUpsert()) root_key_upsert(command.getRootKeyUpsert());
  if (command.isRootKeyDelete()) root_key_delete(view(command.getRootKeyDelete()));
  if (command.isKeyHolderUpsert()) key_holder_upsert(command.getKeyHolderUpsert());
  if (command.isKeyHolderDelete()) key_holder_delete(view(command.getKeyHolderDelete()));
}

void Applier::root_key_upsert(schema::RootKeyUpsert::Reader command) {
  const auto key = command.getKey();
  const auto* found = t_.root_keys.find(view(key.getKeyId()));
  const Object<schema::RootKey> stored = found != nullptr ? *found : Object<schema::RootKey>{};
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
  if (key->getState() == next || key->getState() == schema::RootKeyState::REKEYING) return;
  Draft<schema::RootKey> draft{key};
  draft->setState(next);
  put_root_key(draft.freeze());
}

void Applier::put_root_key(const Object<schema::RootKey>& key) {
  Draft<schema::RootKey> draft{key};
  draft->setModifyIndex(index_);
  t_.root_keys.insert_or_assign(view(key->getKeyId()), draft.freeze());
  touch(Table::root_keys);
  changed(Table::root_keys, view(key->getKeyId()));
}

void Applier::root_key_delete(std::string_view id) {
  const auto* found = t_.root_keys.find(id);
  if (found == nullptr) return refuse(Errc::not_found, "root key metadata not found");
  if ((*found)->getState() == schema::RootKeyState::ACTIVE)
    return refuse(Errc::rejected, "active root key cannot be deleted - call rotate first");
  const std::string prefix = join_key(id, "");
  const auto first = t_.variables_by_key.lower_bound(prefix);
  if (first.valid() && first.key().starts_with(prefix))
    return refuse(Errc::rejected, "root key in use, cannot delete");
  t_.root_keys.erase(id);
  touch(Table::root_keys);
  changed(Table::root_keys, id);
}

void Applier::key_holder_upsert(schema::KeyHolder::Reader holder) {
  const auto* found = t_.key_holders.find(view(holder.getId()));
  Draft<schema::KeyHolder> draft{holder};
  draft->setCreateIndex(found != nullptr ? (*found)->getCreateIndex() : index_);
  draft->setModifyIndex(index_);
  t_.key_holders.insert_or_assign(view(holder.getId()), draft.freeze());
  touch(Table::key_holders);
  changed(Table::key_holders, view(holder.getId()));
}

void Applier::key_holder_delete(std::string_view id) {
  if (!t_.key_holders.erase(id)) return refuse(Errc::not_found, "no such key holder");
  touch(Table::key_holders);
  changed(Table::key_holders, id);
}

}  // namespace nomad::state
