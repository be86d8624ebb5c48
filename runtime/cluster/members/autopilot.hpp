// Autopilot: what the leader does about the log's members by itself: new servers come in as
// learners and become voters when they have been healthy for a while; servers that leave, and dead
// ones that others can spare, go. Pure.
//
// (1) One change at a time, and none while the last one is not committed (the core refuses it).
// (2) A dead voter goes only while fewer than half of the voters are dead, and at least
//     `min_quorum` stay. Its id can never come back, so it is given `dead_after` first: a restart
//     of the machine is no reason. A member that the table of servers does not know is dead while
//     the log hears nothing of it either; its time begins when this leader begins to look.
// (3) A server whose id was removed is never added again.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/cluster/members/membership.hpp"
#include "runtime/raft/config_change.hpp"

namespace nomad::cluster {

struct AutopilotConfig {
  bool cleanup_dead_servers = true;
  std::chrono::nanoseconds last_contact_threshold = std::chrono::milliseconds{200};
  std::uint64_t max_trailing_logs = 250;
  std::uint64_t min_quorum = 0;
  std::chrono::nanoseconds server_stabilization_time = std::chrono::seconds{10};

  friend bool operator==(const AutopilotConfig&, const AutopilotConfig&) = default;
};

/// How long a server may be silent before it counts as gone for ever (2).
inline constexpr std::chrono::minutes dead_after{10};

/// How long a server that answers may lag behind without taking one entry more: its disk refuses
/// them, or can't keep up.
inline constexpr std::chrono::seconds stuck_after{3};

/// Between two looks: what was longer ago is no look at the same thing.
inline constexpr std::chrono::seconds longest_blink{2};

/// The log as its leader sees it.
struct LogStatus {
  struct Peer {
    std::string id;
    std::uint64_t match_index = 0;
    std::chrono::nanoseconds silence{0};
  };

  std::string self;
  std::uint64_t term = 0;
  std::uint64_t last_index = 0;
  raft::Configuration configuration;
  std::vector<Peer> peers;  ///< Of every other member.
};

struct ServerHealth {
  std::string id;
  std::string name;
  std::string address;
  std::string version;
  MemberStatus status = MemberStatus::failed;
  bool leader = false;
  bool voter = false;
  bool healthy = false;
  std::chrono::nanoseconds last_contact{0};
  std::uint64_t last_term = 0;
  std::uint64_t last_index = 0;
  std::chrono::nanoseconds stable_since{0};  ///< By the caller's clock.
};

struct ClusterHealth {
  bool healthy = false;
  std::size_t failure_tolerance = 0;  ///< Healthy voters that may fail without losing the quorum.
  std::vector<ServerHealth> servers;
};

class Autopilot {
public:
  using Time = std::chrono::nanoseconds;

  explicit Autopilot(Time how_long = dead_after) : dead_after_(how_long) {}

  /// Takes a look; on the leader, every second or so. `members` are all that are known, `since`
  /// tells since when one has its status.
  void observe(const LogStatus& log,
               const std::vector<MemberInfo>& members,
               const std::string& region,
               const AutopilotConfig& config,
               Time now);

  const ClusterHealth& health() const { return health_; }

  /// The next change to make, as of the last look.
  std::optional<raft::MemberChange> next_change() const { return next_; }

private:
  void judge(const LogStatus& log,
             const std::vector<MemberInfo>& servers,
             const AutopilotConfig& config,
             Time now);
  std::optional<raft::MemberChange> choose(const LogStatus& log,
                                           const std::vector<MemberInfo>& servers,
                                           const AutopilotConfig& config,
                                           Time now) const;
  std::optional<raft::MemberChange> choose_removal(const LogStatus& log,
                                                   const std::vector<MemberInfo>& servers,
                                                   const AutopilotConfig& config,
                                                   Time now) const;

  struct Seen {
    bool healthy = false;
    Time since{0};       ///< Of `healthy`.
    Time dead_since{0};  ///< Zero: not dead.
    std::uint64_t index = 0;
    Time at_index_since{0};  ///< Lagging behind, or since the last look.
  };

  Time dead_after_;
  Time looked_at_{0};
  std::map<std::string, Seen> seen_;
  ClusterHealth health_;
  std::optional<raft::MemberChange> next_;
};

}  // namespace nomad::cluster
