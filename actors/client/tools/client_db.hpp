// ClientDb: the client's local database as an actor. What must survive the agent is saved here
// before the action that it records becomes visible outside.
//
// Owns:   the ClientStore; in a thread of its own, because committing blocks.
// Takes:  Save, SaveIdentity (answered when durable), SaveLater (not answered), Load. Everything
//         that queues up while a commit runs becomes durable by the next one, so that a thousand
//         saves a second cost a few hundred commits.
// Order:  changes are applied in the order of their messages, Save and SaveLater alike.
// Parent: client, end_owner: what is written down must be what is done.
// Ends:   by the parent's exit message; what is queued is committed first.
//
// A commit that fails is answered with its error and logged; nothing of it is applied. What finds
// the disk full waits, and is tried again each second: who asked is answered when it is saved, if
// he still waits. (All give up after a minute: a node without room obeys its servers, and what it
// can't begin begins elsewhere.)
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/core/actor.hpp"
#include "runtime/object/alloc_view.hpp"
#include "runtime/object/object.hpp"
#include "runtime/storage/client_store.hpp"
#include "runtime/workload/alloc_update.hpp"
#include "runtime/workload/node_meta.hpp"
#include "runtime/workload/volumes/plugin_machine.hpp"
#include "runtime/workload/volumes/volume_row.hpp"
#include "schema/alloc.capnp.h"
#include "schema/client.capnp.h"
#include "schema/job.capnp.h"

namespace nomad::client {

/// Services of an allocation that a provider of a plugin has still to deregister.
struct PendingDeregistration {
  std::string provider;
  std::string alloc_id;
  std::vector<std::string> ids{};

  friend bool operator==(const PendingDeregistration&, const PendingDeregistration&) = default;
};

namespace client_db {

struct Committed {
  using is_message = void;
};

/// Makes the node's id and secret durable, in the database and, if that can be, in a file beside
/// it.
struct SaveIdentity {
  using is_message = void;
  std::string node_id;
  std::string secret_id;
};

/// Makes `changes` durable, together; an empty batch waits for everything saved before, and is
/// answered `overloaded` when the disk is too full for that.
struct Save {
  using is_message = void;
  storage::ClientBatch changes;
};

/// The same without an answer, with the next commit.
struct SaveLater {
  using is_message = void;
  storage::ClientBatch changes;

  /// Both, of each row the newest: so a disk that stands fills no mailbox (actors/core/newest.hpp).
  void stand_for(SaveLater&& earlier) {
    earlier.changes.append(std::move(changes));
    changes = std::move(earlier.changes);
    changes.drop_overwritten();
  }
};

/// An allocation as the last agent left it.
struct SavedAlloc {
  Object<schema::Allocation> alloc;
  Object<schema::Job> job;
  std::vector<std::pair<std::string, Object<schema::LocalTask>>> tasks;  ///< By name.
  std::optional<workload::Acknowledged> acknowledged;
  std::optional<workload::HealthStatus> health;
};

/// All that was saved. Rows that cannot be read are logged and left out, each by itself.
struct Loaded {
  using is_message = void;
  std::string node_id;  ///< Empty: this is a new node.
  std::string secret_id;
  std::uint64_t incarnation = 0;  ///< Of the last agent (`ReportNumbers`); 0: of none.
  std::vector<SavedAlloc> allocs;
  std::vector<std::string> unused_jobs;  ///< Keys of jobs that no allocation refers to.
  workload::DynamicMeta node_meta;
  std::vector<PendingDeregistration> deregistrations;  ///< By allocation and provider.
};

struct Load {
  using is_message = void;
};

/// What was saved of CSI: rows of volumes, plugins that are registered, and which allocations there
/// are. Bad rows are logged and left out.
struct LoadedVolumes {
  using is_message = void;
  std::vector<workload::VolumeRow> volumes;
  std::vector<workload::PluginTask> plugins;
  std::vector<std::string> allocs;  ///< Ids.
};

struct LoadVolumes {
  using is_message = void;
};

/// How rows are written; the reverse is in `Load`.
void put_incarnation(storage::ClientBatch& batch, std::uint64_t incarnation);
/// One row of the node's dynamic metadata; the value may be missing, as in DynamicMeta.
void put_meta(storage::ClientBatch& batch,
              const std::string& key,
              const std::optional<std::string>& value);
void erase_meta(storage::ClientBatch& batch, const std::string& key);
void put_alloc(storage::ClientBatch& batch, const Object<schema::Allocation>& alloc);
void put_job(storage::ClientBatch& batch, const Object<schema::Job>& job);
void put_task(storage::ClientBatch& batch,
              const std::string& alloc_id,
              const std::string& task,
              const Object<schema::LocalTask>& state);
void put_acknowledged(storage::ClientBatch& batch,
                      const std::string& alloc_id,
                      const workload::Acknowledged& state);
void erase_acknowledged(storage::ClientBatch& batch, const std::string& alloc_id);
void put_health(storage::ClientBatch& batch,
                const std::string& alloc_id,
                const std::optional<workload::HealthStatus>& health);
/// Erases everything about an allocation but its job.
void erase_alloc(storage::ClientBatch& batch, const std::string& alloc_id);
/// They outlive their allocation: its erasure leaves them.
void put_deregistration(storage::ClientBatch& batch, const PendingDeregistration& pending);
void erase_deregistration(storage::ClientBatch& batch, const PendingDeregistration& pending);
void erase_job(storage::ClientBatch& batch, const std::string& job_key);
/// They outlive their allocation, too.
void put_volume(storage::ClientBatch& batch, const workload::VolumeRow& row);
void erase_volume(storage::ClientBatch& batch, const std::string& key);
void put_csi_plugin(storage::ClientBatch& batch, const workload::PluginTask& plugin);
void erase_csi_plugin(storage::ClientBatch& batch, const std::string& key);

}  // namespace client_db

using ClientDb = actor::Interface<client_db::Committed(client_db::Save),
                                  client_db::Committed(client_db::SaveIdentity),
                                  void(client_db::SaveLater),
                                  client_db::Loaded(client_db::Load),
                                  client_db::LoadedVolumes(client_db::LoadVolumes)>;

/// Opens `<state_dir>/state.db`. A damaged one is set aside and another begins. Other errors are
/// the ClientStore's. Any thread.
Result<storage::ClientStore> open_client_store(const std::string& state_dir);

/// Starts the actor over the store of `state_dir`; id and secret of the node are in
/// `<state_dir>/identity`, too.
ClientDb spawn_client_db(const actor::Owner& owner,
                         storage::ClientStore store,
                         const std::string& state_dir);

/// Remembers nothing: for agents in dev mode, whose state ends with them.
ClientDb spawn_forgetful_client_db(const actor::Owner& owner);

/// The same actor without a thread of its own, over a store that tests have opened; without
/// `identity_path` it keeps no file beside it.
ClientDb spawn_client_db_inline(const actor::Owner& owner,
                                std::shared_ptr<storage::ClientStore> store,
                                std::string identity_path = {});

}  // namespace nomad::client
