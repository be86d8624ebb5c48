#include "runtime/cluster/variable_commands.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "runtime/base/duration.hpp"
#include "runtime/base/text.hpp"
#include "runtime/cluster/variables/root_key_uses.hpp"
#include "runtime/object/draft.hpp"

namespace nomad::cluster {
namespace {

constexpr std::size_t longest_path = 128;

bool is_path_character(char c) {
  return is_alphanumeric(c) || c == '-' || c == '_' || c == '~' || c == '/';
}

Error refusal(std::string what) {
  return {Errc::rejected, std::move(what)};
}

Result<> check_path(std::string_view path) {
  if (path.empty()) return refusal("variable requires path");
  if (path.size() > longest_path || !std::all_of(path.begin(), path.end(), is_path_character))
    return refusal("invalid path " + quote(path));
  const auto parts = split(path, '/');
  if (parts[0] != "nomad") return {};
  if (parts.size() == 1)
    return refusal(
        "\"nomad\" is a reserved top-level directory path, but you may write variables to "
        "\"nomad/jobs\", \"nomad/job-templates\", or below");
  if (parts[1] == "jobs") return {};
  if (parts[1] == "job-templates" && parts.size() == 3) return {};
  if (parts[1] == "job-templates")
    return refusal(
        "\"nomad/job-templates\" is a reserved directory path, but you may write variables at the "
        "level below it, for example, \"nomad/job-templates/template-name\"");
  return refusal(
      "only paths at \"nomad/jobs\" or \"nomad/job-templates\" and below are valid paths under the "
      "top-level \"nomad\" directory");
}

template <class Fill>
Object<schema::Command> command(Fill fill) {
  Draft<schema::Command> draft;
  fill(*draft);
  return draft.freeze();
}

void set_operation(schema::VariableApply::Builder apply,
                   std::optional<std::uint64_t> check_index,
                   schema::VariableOperation plain,
                   schema::VariableOperation checked) {
  apply.setOperation(check_index ? checked : plain);
  apply.setCheckIndex(check_index.value_or(0));
}

}  // namespace

Result<> check_variable(std::string_view ns,
                        std::string_view path,
                        std::size_t items,
                        std::size_t item_bytes) {
  if (ns == "*") return refusal("can not target wildcard (\"*\")namespace");
  if (items == 0) return refusal("empty variables are invalid");
  if (item_bytes > most_variable_bytes)
    return refusal("variables are limited to 64KiB in total size");
  return check_path(path);
}

Result<SealedDecision> decide_set_variable(const state::Snapshot& snapshot,
                                           const access::Asking& asking,
                                           std::string_view region,
                                           const Object<schema::Variable>& variable,
                                           std::optional<std::uint64_t> check_index,
                                           std::string_view lock_id) {
  const access::Target target{view(variable->getNamespace()), view(variable->getPath())};
  const auto allowed = NOMAD_TRY(access::authorize(asking, target));
  if (!snapshot.get_namespace(view(variable->getNamespace())))
    return refusal("variable is in nonexistent namespace " + quote(view(variable->getNamespace())));
  return SealedDecision{allowed, set_variable(variable, check_index, region, lock_id)};
}

Result<SealedDecision> decide_delete_variable(const access::Asking& asking,
                                              std::string_view ns,
                                              std::string_view path,
                                              std::optional<std::uint64_t> check_index) {
  const auto allowed = NOMAD_TRY(access::authorize(asking, {ns, path}));
  return SealedDecision{allowed, delete_variable(ns, path, check_index)};
}

Result<SealedDecision> decide_put_root_key(const access::Asking& asking,
                                           const Object<schema::RootKey>& key,
                                           bool rekey) {
  const auto allowed = NOMAD_TRY(access::authorize(asking, {}));
  return SealedDecision{allowed, put_root_key(key, rekey)};
}

Result<SealedDecision> decide_delete_root_key(const state::Snapshot& snapshot,
                                              const access::Asking& asking,
                                              std::string_view id,
                                              bool is_forced,
                                              std::int64_t now) {
  const auto allowed = NOMAD_TRY(access::authorize(asking, {}));
  const auto key = snapshot.root_key(id);
  if (key && !is_forced && key->getState() != schema::RootKeyState::ACTIVE)
    if (const auto lives = lives_on(snapshot, key, now))
      return Error{
          Errc::rejected,
          fmt::format("root key in use, cannot delete: identities that {} has signed last until {} "
                      "(the longest ttl of a job's is {}), and whoever verifies them refuses them "
                      "without it; -force removes it all the same",
                      id, format_rfc3339(lives->until - lives->until % 1'000'000'000),
                      format_duration(Nanoseconds{lives->ttl}))};
  return SealedDecision{allowed, delete_root_key(id, is_forced)};
}

Object<schema::Command> set_variable(const Object<schema::Variable>& variable,
                                     std::optional<std::uint64_t> check_index,
                                     std::string_view region,
                                     std::string_view lock_id) {
  return command([&](schema::Command::Builder to) {
    auto apply = to.initVariableApply();
    set_operation(apply, check_index, schema::VariableOperation::SET,
                  schema::VariableOperation::CHECK_AND_SET);
    apply.setVariable(*variable);
    if (!region.empty()) apply.setRegion(text(std::string{region}));
    if (!lock_id.empty()) apply.setLockId(text(std::string{lock_id}));
  });
}

Object<schema::Command> delete_variable(std::string_view ns,
                                        std::string_view path,
                                        std::optional<std::uint64_t> check_index) {
  return command([&](schema::Command::Builder to) {
    auto apply = to.initVariableApply();
    set_operation(apply, check_index, schema::VariableOperation::DELETE,
                  schema::VariableOperation::CHECK_AND_DELETE);
    auto variable = apply.initVariable();
    variable.setNamespace(text(std::string{ns}));
    variable.setPath(text(std::string{path}));
  });
}

Object<schema::Command> put_root_key(const Object<schema::RootKey>& key, bool rekey) {
  return command([&](schema::Command::Builder to) {
    auto upsert = to.initRootKeyUpsert();
    upsert.setKey(*key);
    upsert.setRekey(rekey);
  });
}

Object<schema::Command> change_root_key(const Object<schema::RootKey>& key) {
  return command([&](schema::Command::Builder to) {
    auto upsert = to.initRootKeyUpsert();
    upsert.setKey(*key);
    upsert.setCheckIndex(key->getModifyIndex());
  });
}

Object<schema::Command> delete_root_key(std::string_view id, bool is_forced) {
  return command([&](schema::Command::Builder to) {
    if (is_forced)
      to.setRootKeyForcedDelete(text(std::string{id}));
    else
      to.setRootKeyDelete(text(std::string{id}));
  });
}

Object<schema::Command> put_key_holder(const Object<schema::KeyHolder>& holder) {
  return command([&](schema::Command::Builder to) { to.setKeyHolderUpsert(*holder); });
}

bool is_sealed_command(schema::Command::Which which) {
  using Which = schema::Command::Which;
  return which == Which::VARIABLE_APPLY || which == Which::ROOT_KEY_UPSERT
         || which == Which::ROOT_KEY_DELETE || which == Which::ROOT_KEY_FORCED_DELETE
         || which == Which::KEY_HOLDER_UPSERT;
}

}  // namespace nomad::cluster
