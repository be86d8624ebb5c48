// What may be written as a variable, and the commands of variables and of the keyring. The rules'
// texts are Nomad's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/access/authorize.hpp"
#include "runtime/base/result.hpp"
#include "runtime/object/object.hpp"
#include "runtime/state/snapshot.hpp"
#include "schema/command.capnp.h"

namespace nomad::cluster {

/// Keys and values of one variable together.
inline constexpr std::size_t most_variable_bytes = 65'536;

/// Whether a variable of `item_bytes` may be written to `path` in `ns`; errors are `rejected`.
Result<> check_variable(std::string_view ns,
                        std::string_view path,
                        std::size_t items,
                        std::size_t item_bytes);

/// A command that is sealed, and the permission for it.
struct SealedDecision {
  access::Allowed allowed;
  Object<schema::Command> command;
};

/// `set_variable` and `delete_variable` for a caller. There must be the variable's namespace, and
/// room for it in the quota that this has for `region`, the cluster's. `lock_id`: of the lock on it
/// that the caller holds; "" of none.
Result<SealedDecision> decide_set_variable(const state::Snapshot& snapshot,
                                           const access::Asking& asking,
                                           std::string_view region,
                                           const Object<schema::Variable>& variable,
                                           std::optional<std::uint64_t> check_index,
                                           std::string_view lock_id = {});

Result<SealedDecision> decide_delete_variable(const access::Asking& asking,
                                              std::string_view ns,
                                              std::string_view path,
                                              std::optional<std::uint64_t> check_index);

/// `put_root_key` and `delete_root_key` for a caller.
Result<SealedDecision> decide_put_root_key(const access::Asking& asking,
                                           const Object<schema::RootKey>& key,
                                           bool rekey);

/// Applying refuses a key that has sealed or signed something that is there, for `now` is no part
/// of an entry; here one is refused, unless by force, by which identities that have an end were
/// signed, and may be shown until then. What is read for that does not change any more once the key
/// is not the active one.
Result<SealedDecision> decide_delete_root_key(const state::Snapshot& snapshot,
                                              const access::Asking& asking,
                                              std::string_view id,
                                              bool is_forced,
                                              std::int64_t now);

/// Puts `variable`; with `check_index` only if that is the stored one's ModifyIndex (0: none), with
/// `region` only if the quota of its namespace there has room. Of one that is locked only with its
/// lock's id.
Object<schema::Command> set_variable(const Object<schema::Variable>& variable,
                                     std::optional<std::uint64_t> check_index,
                                     std::string_view region = {},
                                     std::string_view lock_id = {});

Object<schema::Command> delete_variable(std::string_view ns,
                                        std::string_view path,
                                        std::optional<std::uint64_t> check_index);

Object<schema::Command> put_root_key(const Object<schema::RootKey>& key, bool rekey);

/// Puts `key`, which is the stored one with changes; refused with `conflict` if that has become
/// another since. So any server may wrap a key for others, at whatever time.
Object<schema::Command> change_root_key(const Object<schema::RootKey>& key);

/// Never the active one. By force also one that has sealed or signs something, which is lost then.
Object<schema::Command> delete_root_key(std::string_view id, bool is_forced = false);
Object<schema::Command> put_key_holder(const Object<schema::KeyHolder>& holder);

/// Whether a command is one of the above: what a server may hand to the leader ready made.
bool is_sealed_command(schema::Command::Which which);

}  // namespace nomad::cluster
