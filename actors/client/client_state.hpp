// The state of the Client actor, shared by its sources and by nobody else: client.cpp has the
// start and the end, client_servers.cpp what it has with the servers, client_allocs.cpp the
// allocations and what the API asks of them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "actors/client/client.hpp"
#include "actors/client/fingerprint/node_builder.hpp"
#include "actors/core/actor.hpp"
#include "actors/core/supervise.hpp"
#include "runtime/base/random.hpp"
#include "runtime/workload/alloc_diff.hpp"
#include "runtime/workload/gc_choice.hpp"
#include "runtime/workload/heartbeat_stop.hpp"

namespace nomad::client::detail {

/// Timers. A counter tells the latest one of its kind from stale ones.
struct RegisterDue {
  using is_message = void;
  std::uint64_t round;
};

struct HeartbeatDue {
  using is_message = void;
  std::uint64_t round;
};

struct WatchDue {
  using is_message = void;
};

struct StopLook {
  using is_message = void;
  std::uint64_t round;
};

struct LookAround {
  using is_message = void;
};

using ClientSelf = actor::WithInternal<Client,
                                       void(alloc_runner::Status),
                                       void(sync::Reported),
                                       void(StopLook),
                                       void(RegisterDue),
                                       void(HeartbeatDue),
                                       void(WatchDue),
                                       void(LookAround)>;

class ClientState {
public:
  static constexpr const char* name = "client";

  explicit ClientState(ClientSelf::pointer actor) : self_{actor} {}

  ~ClientState();

  void init(ClientOptions options, ClientParts parts);

  // Timers and children.
  void register_due(std::uint64_t round);
  void heartbeat_due(std::uint64_t round);
  void watch();
  void look_around();
  void stop_look(std::uint64_t round);
  void reported();
  void status_changed(const alloc_runner::Status& msg);
  void child_down(const actor::Down& down);

  // The API.
  actor::Answer<client_actor::Stopped> stop();
  actor::Answer<client_api::Done> collect_garbage(const client_api::CollectGarbage& msg);
  client_api::LocalNode local_node() const;
  client_api::AllocCounts counts() const;
  actor::Answer<client_api::HostUsage> host_stats();
  actor::Answer<client_api::ExecStarted> exec(client_api::Exec& msg);

  /// Hands a request about one allocation to its runner.
  template <class Reply, class Message>
  actor::Answer<Reply> pass_on(Message& msg) {
    const auto found = allocs_.find(msg.alloc_id);
    if (found == allocs_.end() || !found->second.runner) return unknown(msg.alloc_id);
    return self_->delegate(found->second.runner, std::move(msg));
  }

private:
  struct Alloc {
    Object<schema::Allocation> alloc;  ///< As the servers last had it.
    Object<schema::Job> job;
    Object<schema::Job> next_job;  ///< Another version, which is saved and not in force yet.
    AllocRunner runner;            ///< Empty: it cannot run here, or its remains have been removed.
    schema::ClientStatus status = schema::ClientStatus::PENDING;
    bool removed = false;  ///< The servers have forgotten it.
    bool restored = false;
    bool destroying = false;
    bool wanted_again = false;   ///< Removed, but the servers have it after all.
    bool by_collection = false;  ///< Destroyed because the collection said so.
  };

  struct GarbagePromise {
    std::string alloc_id;  ///< Empty: every marked one.
    actor::Promise<client_api::Done> promise;
  };

  static Error unknown(const std::string& alloc_id);

  // Start (client.cpp).
  void fingerprint();
  void spawn_drivers();
  Driver spawn_driver(const std::string& name);
  void ask_drivers();
  void ready_to_start();
  void take_identity();
  void take_up();
  void make_context();
  void register_node();
  void registered(const server_link::Registered& answer);
  void register_failed(const Error& err);
  void node_changed();
  void arm_heartbeat(Nanoseconds delay);
  void heartbeat_answered(const server_link::Lease& lease);
  void heartbeat_failed(const Error& err);
  void heard_of_servers(std::chrono::milliseconds ttl);
  void report_all();
  void watch_patience(const std::string& alloc_id);
  void arm_stop_look();
  void watch_failed(const Error& err);
  void finish_stop();

  // Allocations (client_allocs.cpp).
  void restore(client_db::SavedAlloc& saved);
  void apply(server_link::AllocSet set);
  void add(const server_link::AssignedAlloc& assigned, storage::ClientBatch& batch);
  void save_update(const server_link::AssignedAlloc& assigned, storage::ClientBatch& batch);
  void reject(const Object<schema::Allocation>& alloc,
              const Object<schema::Job>& job,
              std::string_view reason);
  void update(const server_link::AssignedAlloc& assigned);
  void remove(const std::string& alloc_id);
  void applied();
  AllocRunner run(AllocSetup setup);
  void hold_job(const Object<schema::Job>& job, storage::ClientBatch& batch);
  void release_job(schema::Job::Reader job, storage::ClientBatch& batch);
  void collect(std::size_t coming = 0);
  void collect_one(const std::string& alloc_id);
  void destroy(const std::string& alloc_id);
  void destroyed(const std::string& alloc_id);
  void answer_garbage(const std::string& alloc_id);
  void runner_crashed(const std::string& alloc_id, const Error& reason);
  workload::GcUsage usage() const;

  Nanoseconds now() const { return self_->now().time_since_epoch(); }

  ClientSelf::pointer self_;
  ClientOptions options_;
  ClientParts parts_;
  Random random_{0};

  // Start.
  std::optional<client_db::Loaded> loaded_;
  std::optional<host::NodeFacts> facts_;
  std::size_t drivers_asked_ = 0;  ///< Fingerprints of drivers that are not answered.
  bool started_ = false;
  NodeIdentity identity_;
  StatsReader stats_;
  AllocSync sync_;
  std::map<std::string, Driver> drivers_;
  std::map<std::string, driver::Health> driver_health_;
  Context context_;
  Object<schema::Node> node_;

  // Servers.
  bool registering_ = false;
  bool is_registered_ = false;
  bool watching_ = false;
  bool contacted_ = false;  ///< Their first answer has been applied.
  std::uint64_t register_round_ = 0;
  std::uint64_t heartbeat_round_ = 0;
  unsigned register_failures_ = 0;
  unsigned watch_failures_ = 0;
  unsigned heartbeat_failures_ = 0;
  unsigned missed_answers_
      = 0;  ///< How often in a row the servers said that they wait for reports.
  bool beats_on_report_ = false;  ///< The servers wait for a report, and then for a heartbeat.
  std::optional<Nanoseconds> lease_from_;  ///< When the last heartbeat was answered.
  std::chrono::milliseconds ttl_{0};
  std::int64_t last_heartbeat_ = 0;  ///< The same by wall clock.
  std::uint64_t min_index_ = 0;
  bool ask_for_all_ = false;  ///< The next watch asks for everything.

  // Without servers.
  workload::HeartbeatStop heartbeat_stop_;
  std::uint64_t stop_look_round_ = 0;
  std::uint64_t rest_version_ = 0;  ///< Of the reports on allocations without a runner.

  // Allocations.
  std::unordered_map<std::string, Alloc> allocs_;
  std::unordered_map<std::string, std::uint64_t> indexes_;  ///< AllocModifyIndex of each of them.
  std::unordered_map<std::string, std::size_t> jobs_;       ///< Allocations with a row, by job key.
  std::map<actor::Address, std::string> runners_;           ///< Alloc id by runner.
  workload::GcQueue gc_{{}};
  workload::GcUsage disk_;
  std::vector<GarbagePromise> garbage_;

  bool stopping_ = false;
  std::size_t stops_awaited_ = 0;
  actor::Promise<client_actor::Stopped> stop_promise_;
};

}  // namespace nomad::client::detail
