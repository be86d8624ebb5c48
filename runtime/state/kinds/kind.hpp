// What the descriptor of a stored kind is made of; kinds.hpp has the descriptors, and says what
// each member of one is for.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/object/draft.hpp"
#include "runtime/state/map/persistent_map.hpp"
#include "runtime/state/table.hpp"
#include "schema/command.capnp.h"

namespace nomad::state {

struct Tables;

/// What can be watched and, up to the last of Kinds (kinds.hpp), what is stored. The comment is the
/// watched key. A new stored table goes behind the last stored one: snapshots hold indexes by
/// place.
enum class Table : std::uint32_t {
  jobs,                  ///< namespace\0id
  job_versions,          ///< namespace\0id
  retained_jobs,         ///< (not watched)
  job_summaries,         ///< namespace\0id
  nodes,                 ///< id
  node_pools,            ///< name
  namespaces,            ///< name
  allocs,                ///< id
  alloc_metrics,         ///< (not watched)
  evals,                 ///< id
  deployments,           ///< id
  services,              ///< namespace\0id
  scheduler_config,      ///< ""
  variables,             ///< namespace\0path
  root_keys,             ///< id
  key_holders,           ///< server id
  restore_rows,          ///< (not watched)
  autopilot_config,      ///< ""
  scaling_events,        ///< namespace\0job id
  job_submissions,       ///< namespace\0job id
  periodic_launches,     ///< namespace\0job id
  acl_policies,          ///< name
  acl_tokens,            ///< accessor
  acl_one_time_tokens,   ///< hash of the secret
  acl_roles,             ///< id
  acl_auth_methods,      ///< name
  acl_binding_rules,     ///< id
  acl_bootstrap,         ///< ""
  quotas,                ///< name
  admission_policies,    ///< name
  csi_volumes,           ///< namespace\0id
  allocs_by_node,        ///< node id: any change of its allocations
  allocs_for_node,       ///< node id: a change that servers made; what a client waits for
  allocs_by_job,         ///< namespace\0job id
  allocs_by_eval,        ///< evaluation id
  allocs_by_deployment,  ///< deployment id
  evals_by_job,          ///< namespace\0job id
  deployments_by_job,    ///< namespace\0job id
  services_by_name,      ///< namespace\0name
  services_by_alloc,     ///< allocation id
  services_by_job,       ///< namespace\0job id
  scaling_policies,      ///< id
  csi_plugins,           ///< id: what nodes, jobs and volumes say of a plugin
  quota_use,             ///< quota: what its allocations or variables take
  draining_nodes,        ///< node id: a drain begins, changes or ends
  applied,               ///< "": each publication
};

template <class T>
using Objects = PersistentMap<Object<T>>;

/// The base of a descriptor: which objects it is about, and which table they are.
template <class T, Table number>
struct Stored {
  using Type = T;
  using Reader = typename T::Reader;
  static constexpr Table table = number;
};

/// Another order of a kind's rows. `key(row)` is a row's place in `map`: a text, or an optional one
/// where not each row has a place. The map's values are the rows, or Nothing.
template <class Rows, class Map, class Key>
struct RowIndex {
  Map Rows::*map;
  Key key;
};

template <class Rows, class Map, class Key>
RowIndex(Map Rows::*, Key) -> RowIndex<Rows, Map, Key>;

/// Who else is woken by a change of a row: those who wait for `key(row)` of a watched table.
template <class Key>
struct RowWatch {
  Table table;
  Key key;
};

template <class Key>
RowWatch(Table, Key) -> RowWatch<Key>;

/// The command that stores one. What it brings is the object, or has it (`object_of`).
template <class Payload>
struct PutCommand {
  schema::Command::Which which;
  Payload (schema::Command::Reader::*get)() const;
  void (schema::Command::Builder::*set)(Payload);
  std::string_view event = {};  ///< The type of its events.
};

template <class Payload, class... Event>
PutCommand(schema::Command::Which,
           Payload (schema::Command::Reader::*)() const,
           void (schema::Command::Builder::*)(Payload),
           Event...) -> PutCommand<Payload>;

/// The command that removes the one of a key.
struct RemoveCommand {
  schema::Command::Which which;
  capnp::Text::Reader (schema::Command::Reader::*get)() const;
  void (schema::Command::Builder::*set)(capnp::Text::Reader);
  std::string_view event = {};
};

/// For `derive` of a descriptor.
struct Derivation {
  Index index = 0;  ///< Of the change.
  /// To be told which keys of a watched table changed.
  std::function<void(Table table, std::string_view key)> changed;
  /// To be told which quotas may have more room than before.
  std::function<void(std::string_view quota)> quota_opened;
};

/// "namespace\0job id" of whatever belongs to a job.
template <class Reader>
std::string key_of_job(Reader row) {
  return join_key(view(row.getNamespace()), view(row.getJobId()));
}

/// In the order of creation: create index, id.
template <class Reader>
std::string key_by_create(Reader row) {
  return number_key(row.getCreateIndex()).append(view(row.getId()));
}

/// A check-and-set on the index that was read; `name` is for the text.
template <class T>
std::optional<Error> check_modify_index(std::string_view name,
                                        const Object<T>& stored,
                                        Index wanted) {
  const Index actual = stored ? stored->getModifyIndex() : 0;
  if (wanted == actual) return std::nullopt;
  return Error{Errc::conflict, std::string{name} + " has ModifyIndex " + std::to_string(actual)};
}

}  // namespace nomad::state
