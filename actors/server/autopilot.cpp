#include "actors/server/autopilot.hpp"

#include "actors/core/supervise.hpp"
#include "actors/roles/no_leader.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/name_table.hpp"
#include "runtime/object/draft.hpp"

namespace nomad::server {
namespace {

using cluster::MemberInfo;
using raft::RaftStatus;

struct Look {
  using is_message = void;
};

using AutopilotSelf = actor::WithInternal<Autopilot, void(Look)>;

constexpr std::chrono::seconds patience{30};

std::string_view verb(raft::MemberAction action) {
  static constexpr std::string_view names[]
      = {"adding", "promoting", "demoting", "removing", "moving"};
  static_assert(name_in(names, raft::MemberAction::remove) == "removing"
                && name_in(names, raft::MemberAction::move) == "moving");
  return name_in(names, action, "changing");
}

cluster::LogStatus log_status(const RaftStatus& status) {
  cluster::LogStatus log{.self = status.self,
                         .term = status.current_term,
                         .last_index = status.last_index,
                         .configuration = status.configuration,
                         .peers = {}};
  for (const auto& peer : status.peers)
    log.peers.push_back({.id = peer.id, .match_index = peer.match_index, .silence = peer.silence});
  return log;
}

cluster::AutopilotConfig config_of(schema::AutopilotConfiguration::Reader from) {
  return {.cleanup_dead_servers = from.getCleanupDeadServers(),
          .last_contact_threshold = std::chrono::nanoseconds{from.getLastContactThreshold()},
          .max_trailing_logs = from.getMaxTrailingLogs(),
          .min_quorum = from.getMinQuorum(),
          .server_stabilization_time = std::chrono::nanoseconds{from.getServerStabilizationTime()}};
}

Object<schema::AutopilotConfiguration> shown(const cluster::AutopilotConfig& config) {
  Draft<schema::AutopilotConfiguration> draft;
  draft->setCleanupDeadServers(config.cleanup_dead_servers);
  draft->setLastContactThreshold(config.last_contact_threshold.count());
  draft->setMaxTrailingLogs(config.max_trailing_logs);
  draft->setMinQuorum(config.min_quorum);
  draft->setServerStabilizationTime(config.server_stabilization_time.count());
  return draft.freeze();
}

struct AutopilotState {
  static constexpr const char* name = "autopilot";

  using Self = AutopilotSelf::stateful_pointer<AutopilotState>;

  std::chrono::nanoseconds now() const { return self->now().time_since_epoch(); }

  autopilot::Settings settings() const {
    auto stored = options.store ? options.store->snapshot().autopilot_configuration()
                                : Object<schema::AutopilotConfiguration>{};
    return {stored ? std::move(stored) : shown(options.config)};
  }

  /// Asks the log how it is, one question at a time.
  void look() {
    if (std::exchange(looking, true)) return;
    self->request(raft, patience, raft::GetStatus{})
        .then(
            [this](const RaftStatus& status) {
              looking = false;
              seen(status);
            },
            [this](const Error& err) {
              looking = false;
              log::warn("autopilot", "the status of the log is not known", {{"error", err}});
            });
  }

  void seen(const RaftStatus& status) {
    const auto& configuration = status.configuration;
    // Who is told that it was removed gives its id up: that must not be taken back.
    const bool is_committed = status.configuration_index <= status.commit_index;
    if (configuration.cluster_id != cluster_id
        || (is_committed && configuration.removed.size() != removed)) {
      cluster_id = configuration.cluster_id;
      removed = configuration.removed.size();
      self->send(membership, membership::UseLog{cluster_id, configuration.removed});
    }
    if (configuration.members.empty()) return found_cluster();
    if (!leads || status.role != raft::Role::leader) return;
    pilot.observe(log_status(status), *members, options.region, config_of(*settings().shown),
                  now());
    if (const auto change = pilot.next_change()) make(*change);
  }

  void make(const raft::MemberChange& change) {
    if (std::exchange(changing, true)) return;
    log::info("autopilot", "changing the members of the cluster",
              {{"action", verb(change.action)}, {"peer", change.id}, {"address", change.address}});
    self->request(raft, patience, raft::ChangeMember{change})
        .then(
            [this](const raft::Applied&) {
              changing = false;
              look();
            },
            [this, change](const Error& err) {
              changing = false;
              log::warn("autopilot", "the members of the cluster stay as they were",
                        {{"action", verb(change.action)}, {"peer", change.id}, {"error", err}});
            });
  }

  /// One of the expected servers writes the first entry; the others vote for it.
  void found_cluster() {
    std::string why;
    const auto founders = cluster::founders(*members, options.self, &why);
    if (founders.empty() && why != told_why)
      log::info("autopilot", "there is no cluster yet", {{"error", why}});
    told_why = why;
    if (founders.empty() || std::exchange(changing, true)) return;
    raft::Configuration configuration;
    for (const auto& server : founders)
      configuration.members.push_back(
          {.id = server.id, .address = server.rpc_address, .voter = true});
    configuration.cluster_id = raft::new_cluster_id(configuration.members);
    log::info("autopilot", "founding the cluster",
              {{"cluster", configuration.cluster_id}, {"count", founders.size()}});
    self->request(raft, patience, raft::BootstrapCluster{configuration})
        .then([this](const raft::Applied&) { changing = false; },
              [this](const Error& err) {
                changing = false;
                log::warn("autopilot", "could not found the cluster", {{"error", err}});
              });
  }

  Self self = nullptr;
  RaftMembers raft;
  MembershipLink membership;
  AutopilotOptions options;
  cluster::Autopilot pilot;
  membership::Members members = std::make_shared<std::vector<MemberInfo>>();
  std::string cluster_id;
  std::size_t removed = 0;
  std::string told_why;
  bool leads = false;
  bool looking = false;
  bool changing = false;
};

AutopilotSelf::behavior_type autopilot_actor(AutopilotState::Self self,
                                             RaftMembers raft,
                                             MembershipLink membership,
                                             AutopilotOptions options) {
  auto& state = self->state;
  state.self = self;
  state.raft = std::move(raft);
  state.membership = std::move(membership);
  state.options = std::move(options);
  state.pilot = cluster::Autopilot{state.options.dead_after};
  self->send(state.membership, membership::AddListener{self});
  actor::send_self(self, Look{});
  return {
      [self](Lead msg) {
        auto& now = self->state;
        now.leads = msg.leads;
        now.pilot = cluster::Autopilot{now.options.dead_after};
        now.look();
      },
      [self](const membership::MembersChanged& msg) {
        self->state.members = msg.members;
        self->state.look();
      },
      [self](autopilot::GetHealth) -> actor::Answer<autopilot::Health> {
        const auto& now = self->state;
        if (!now.leads) return no_leader();
        return autopilot::Health{now.pilot.health(), now.now()};
      },
      [self](autopilot::GetSettings) { return self->state.settings(); },
      [self](Look) {
        self->state.look();
        actor::send_self_after(self, self->state.options.interval, Look{});
      },
  };
}

}  // namespace

Autopilot spawn_autopilot(const actor::Owner& owner,
                          const RaftMembers& raft,
                          const MembershipLink& membership,
                          AutopilotOptions options) {
  return actor::spawn<actor::Policy::restart>(owner, autopilot_actor, raft, membership,
                                              std::move(options));
}

}  // namespace nomad::server
