// ServerContact: what the client has with the servers: registration, heartbeats, the watch of its
// allocations, and what it does when it is without servers, or was. Part of the client actor; works
// in its turns.
//
//   register ─▶ heartbeat ─▶ (the servers had given the node up: report everything ─▶ heartbeat) ─▶
//   …
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "actors/client/alloc_sync.hpp"
#include "actors/client/node_allocs.hpp"
#include "actors/core/part.hpp"
#include "actors/roles/client_api.hpp"
#include "actors/roles/node_door.hpp"
#include "runtime/base/random.hpp"

namespace nomad::client {

class ServerContact {
public:
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

  using Messages = actor::
      Interface<void(sync::Reported), void(RegisterDue), void(HeartbeatDue), void(WatchDue)>;

  /// By reference: what the client comes to know, and changes.
  struct Parts {
    NodeDoor servers;
    bool dev = false;
    UnixClock unix_now;
    NodeAllocs& allocs;
    Random& random;
    const NodeIdentity& identity;
    const Object<schema::Node>& node;  ///< As it is registered next.
    const AllocSync& sync;
    const bool& stopping;
  };

  ServerContact(actor::PartSelf<Messages> self, Parts parts)
      : self_{self}, parts_{std::move(parts)} {}

  ServerContact(const ServerContact&) = delete;
  ServerContact& operator=(const ServerContact&) = delete;

  auto handlers() {
    return actor::handlers([this](client_api::GetNode) { return local_node(); },
                           [this](client_api::CountAllocs) { return counts(); },
                           [this](const sync::Reported& msg) { reported(msg); },
                           [this](RegisterDue msg) { register_due(msg.round); },
                           [this](HeartbeatDue msg) { heartbeat_due(msg.round); },
                           [this](WatchDue) { watch(); });
  }

  void register_node();

  /// The node has changed: registers it soon; changes that follow shortly are registered with it.
  void register_soon();

  /// Their first answer has been applied.
  bool contacted() const { return contacted_; }

private:
  client_api::LocalNode local_node() const;
  client_api::AllocCounts counts() const;
  void register_due(std::uint64_t round);
  void heartbeat_due(std::uint64_t round);

  /// Asks what the servers assign to the node, and goes on asking.
  void watch();

  /// The servers have heard of allocations: if they waited for that, the next heartbeat makes the
  /// node ready.
  void reported(const sync::Reported& msg);

  void registered(const door::Reply& answer);
  void register_failed(const Error& err);
  void arm_heartbeat(Nanoseconds delay);
  void heartbeat_answered(schema::door::Lease::Reader lease);
  void heartbeat_failed(const Error& err);
  void heard_of_servers(std::chrono::milliseconds ttl);
  void assigned(const door::Reply& answer);
  void applied(std::uint64_t index, bool impatient);
  void watch_failed(const Error& err);

  Nanoseconds now() const { return self_->now().time_since_epoch(); }

  actor::PartSelf<Messages> self_;
  Parts parts_;

  bool registering_ = false;
  bool registers_again_ = false;  ///< The node changed while it was being registered.
  bool registers_soon_ = false;   ///< A timer for it runs.
  bool is_registered_ = false;
  bool watching_ = false;
  bool contacted_ = false;
  std::uint64_t register_round_ = 0;
  std::uint64_t heartbeat_round_ = 0;
  unsigned register_failures_ = 0;
  Nanoseconds told_of_registering_{0};  ///< When the log was last told of a failure.
  unsigned watch_failures_ = 0;
  unsigned heartbeat_failures_ = 0;
  /// How often in a row the servers said that they wait for reports.
  unsigned waiting_answers_ = 0;
  bool beats_on_report_ = false;  ///< The servers wait for a report, and then for a heartbeat.
  std::optional<Nanoseconds> lease_from_;  ///< When the last heartbeat was answered.
  std::chrono::milliseconds ttl_{0};
  std::int64_t last_heartbeat_ = 0;  ///< The same by wall clock, in nanoseconds; 0: never.
  std::uint64_t min_index_ = 0;
};

}  // namespace nomad::client
