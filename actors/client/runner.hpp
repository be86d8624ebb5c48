// Runner: what the client and the runner of one allocation say to each other, and how runners are
// made. This is a library of its own (meson: client_runner_dep): whoever writes another runner
// needs neither the client nor the real one; see actors/nodesim for a small one and
// test/unit/actors/nodesim/least_runner_test.cpp for the least one there can be.
//
// Rules every runner keeps:
//   - It does nothing before Begin.
//   - It tells `context->sync` each state that the servers are to hear of (StateChanged with a
//   version
//     that grows; urgently when ClientStatus changed), and its parent Status whenever that changes
//     or everything is over.
//   - Assign with a desired status of stop or evict ends the allocation's work.
//   - Destroy and Detach are answered, and end the actor.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/client/alloc_sync.hpp"
#include "actors/client/drivers/driver_manager.hpp"
#include "actors/core/actor.hpp"
#include "actors/roles/client_api.hpp"
#include "runtime/workload/alloc_update.hpp"
#include "runtime/workload/disk/disk_watch.hpp"
#include "schema/client.capnp.h"

namespace nomad::client {

namespace alloc_runner {

struct Done {
  using is_message = void;
};

/// Starts, or takes up what the last agent left.
struct Begin {
  using is_message = void;
};

/// The servers changed the allocation. One with a lower AllocModifyIndex than the last is ignored.
struct Assign {
  using is_message = void;
  Object<schema::Allocation> alloc;
  Object<schema::Job> job;
};

/// The servers had taken the allocation for unknown and have it back: tells each task's history,
/// and reports the current state.
struct Reconnect {
  using is_message = void;
  Object<schema::Allocation> alloc;
  Object<schema::Job> job;
};

/// The servers had given the node up: reports the current state, whatever they have acknowledged.
struct ReportAgain {
  using is_message = void;
};

/// Ends the tasks, if they run, and removes what is left on this machine. Answered when nothing
/// is; the rows of the database are the parent's to erase.
struct Destroy {
  using is_message = void;
};

/// The agent ends, the tasks go on.
struct Detach {
  using is_message = void;
};

struct ServersContacted {
  using is_message = void;
};

/// A driver has died, or another has followed it.
struct DriverReplaced {
  using is_message = void;
  std::string name;
  KnownDriver driver;
};

/// What the allocation's directory was found to hold.
struct DiskLooked {
  using is_message = void;
  workload::DiskLook look;
  bool enforce = false;  ///< `workload::DiskTerms`
};

/// What the running tasks use, or the one named; an unknown one is `not_found`.
struct ReadUsage {
  using is_message = void;
  std::string task{};
};

/// To the parent.
struct Status {
  using is_message = void;
  std::string alloc_id;
  schema::ClientStatus status = schema::ClientStatus::PENDING;
  bool over = false;  ///< Every task has ended for good, and every hook.
};

/// To the parent: asks to hear when an allocation of this node has ended; answered then, or at once
/// if it is none of this node's. `for_whom` waits to take over its directory: that is kept until
/// the status of `for_whom` is no longer pending. Empty: nobody wants it.
struct AwaitEnd {
  using is_message = void;
  std::string alloc_id;
  std::string for_whom;
};

struct Ended {
  using is_message = void;
  bool here = false;  ///< False: this node does not have it.
};

}  // namespace alloc_runner

using AllocRunner = actor::Interface<void(alloc_runner::Begin),
                                     void(alloc_runner::Assign),
                                     void(alloc_runner::Reconnect),
                                     void(alloc_runner::ReportAgain),
                                     void(alloc_runner::ServersContacted),
                                     void(alloc_runner::DriverReplaced),
                                     void(alloc_runner::DiskLooked),
                                     alloc_runner::Done(alloc_runner::Destroy),
                                     alloc_runner::Done(alloc_runner::Detach),
                                     door::NodeReply(door::NodeAsk),
                                     client_api::AllocUsage(alloc_runner::ReadUsage),
                                     client_api::AllocDir(client_api::AllocDirOf),
                                     client_api::ExecStarted(client_api::Exec)>;

using AllocRunnerParent
    = actor::Interface<void(alloc_runner::Status), alloc_runner::Ended(alloc_runner::AwaitEnd)>;

/// What every runner of this node works with.
struct RunnerContext {
  std::string node_id;
  AllocSync sync;
  std::function<std::int64_t()> unix_now;  ///< Wall clock, in nanoseconds.
  std::uint64_t seed = 0;                  ///< Runners derive their own chance from it.
};

struct AllocSetup {
  std::shared_ptr<const RunnerContext> context;
  Object<schema::Allocation> alloc;
  Object<schema::Job> job;
  AllocRunnerParent parent;
  /// What the last agent left; `restored` says that there was one.
  bool restored = false;
  /// There was no record of it, but an earlier agent may have run it and lost the record.
  bool may_run = false;
  std::vector<std::pair<std::string, Object<schema::LocalTask>>> saved_tasks;
  std::optional<workload::HealthStatus> saved_health;
};

/// What the real runner is made from besides (alloc_runner.hpp).
struct AllocParts;

/// Makes the runner of one allocation. The client asks it for nothing else, so that a load test or
/// a plugin may run allocations in a way of its own.
using AllocRunnerFactory = std::function<AllocRunner(
    const actor::Owner&, const std::shared_ptr<const AllocParts>&, AllocSetup)>;

/// Whether this node can run an allocation at all; the error is what the servers are told.
using AllocCheck = std::function<Result<>(const KnownDrivers&, AllocView, schema::Job::Reader)>;

}  // namespace nomad::client
