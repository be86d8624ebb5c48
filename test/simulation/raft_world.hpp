// RaftWorld: a whole Raft cluster in one thread under one seed: cores, a network that delays,
// loses, duplicates, reorders and cuts, disks that are slow and forget what was not synced, clocks
// that differ and drift, crashes, pauses, membership changes, clients. After every step it checks
// what must always hold; the first violation ends the run.
//
// (1) Election safety: at most one leader a term, one vote a term and server, also over crashes.
// (2) Committed entries never change, are the same on all servers, and are in each new leader's
// log. (3) What a server acknowledges or answers for is durable there. (4) Every answered write is
// committed at the index that was answered. (5) A granted read, and a read under a lease, sees
// every write that was answered before. (6) Terms and commit indexes only grow. (7) What clients
// were answered about a few registers is linearizable (linearizability.hpp). (8) Nobody stands for
// election, unless the leader wants him to, whom a majority has not told that it would vote for
// him. (9) Where servers only stall, within the bound that they can bear, a leader keeps its place.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <vector>

#include "runtime/base/random.hpp"
#include "runtime/raft/core.hpp"
#include "test/mistakes/mistake.hpp"
#include "test/simulation/linearizability.hpp"

namespace nomad::test {

using raft::Time;

/// How bad the world is. Probabilities are per message, or per second of the world.
struct RaftFaults {
  double lose = 0.05;
  double duplicate = 0.03;
  double slow_message = 0.05;  ///< Takes up to a second.
  double partitions = 0.2;     ///< Also one-way ones.
  double crashes = 0.25;
  double pauses = 0.1;
  double freezes = 0;  ///< Of the whole host: all servers pause together.
  double slow_disks = 0.2;
  double failing_disks = 0.05;  ///< A write fails; the server stops.
  double membership_changes = 0.2;
  double transfers = 0.1;
  double snapshots = 0.5;
  double clock_drift = 0.045;  ///< Rates lie between 1 - this and 1 + this.
};

struct RaftWorldOptions {
  std::uint64_t seed = 1;
  int servers = 3;
  RaftFaults faults{};
  Mistake mistake = Mistake::none;
  /// Nothing but pauses, freezes and slow disks happens: a leader that was elected stays (9).
  bool leader_stays = false;
  double operations = 20;  ///< Writes and reads per second that only the rules look at.
  int clients = 5;         ///< Each has one operation on a register under way.
  int registers = 3;
};

/// What happened, to see that a run met what it should have met.
struct RaftWorldCounts {
  std::uint64_t steps = 0;
  std::uint64_t messages = 0;
  std::uint64_t lost = 0;
  std::uint64_t duplicated = 0;
  std::uint64_t delayed = 0;  ///< By up to a second: later messages overtake them.
  std::uint64_t partitions = 0;
  std::uint64_t one_way_partitions = 0;
  std::uint64_t crashes = 0;
  std::uint64_t lost_writes = 0;  ///< Writes that a crash took away before they were durable.
  std::uint64_t torn_writes = 0;  ///< Of them: under way when the server crashed.
  std::uint64_t pauses = 0;
  std::uint64_t freezes = 0;
  std::uint64_t slow_disks = 0;
  std::uint64_t failed_disks = 0;
  std::uint64_t refused_snapshots = 0;  ///< Arrived, and did not verify.
  std::uint64_t membership_changes = 0;
  std::uint64_t transfers = 0;
  std::uint64_t snapshots = 0;
  std::uint64_t installed_snapshots = 0;
  std::uint64_t leaders = 0;
  std::uint64_t writes = 0;
  std::uint64_t answered_writes = 0;
  std::uint64_t answered_reads = 0;
  std::uint64_t lease_checks = 0;
  std::uint64_t called = 0;       ///< Operations of clients while there were faults.
  std::uint64_t answered = 0;     ///< Of them.
  std::uint64_t lease_reads = 0;  ///< Of them: answered under a lease, without asking anybody.

  /// Single messages aside.
  std::uint64_t faults() const {
    return partitions + crashes + pauses + slow_disks + failed_disks + refused_snapshots
           + membership_changes + transfers;
  }

  /// Every count by its name, in one order.
  std::vector<std::pair<const char*, std::uint64_t>> all() const;
};

class RaftWorld {
public:
  explicit RaftWorld(RaftWorldOptions options);
  ~RaftWorld();

  /// Lets `duration` of the world's time pass under its faults; ends early at a violation.
  void run(Time duration);

  /// Ends all faults, lets the cluster come to rest, and checks that it is alive (a leader within
  /// twenty seconds, a new write answered), that all members agree, and that nothing was lost.
  void heal_and_check();

  /// The first rule that was broken, with what and when.
  const std::optional<std::string>& violation() const { return violation_; }

  const RaftWorldCounts& counts() const { return counts_; }

private:
  struct Snapshot {
    raft::SnapshotMeta meta;
    std::string file;  ///< Its bytes; says which state it holds.
  };

  struct PendingWrite {
    std::uint64_t seq;
    raft::LogWrite write;
  };

  struct Disk {
    raft::HardState hard_state;
    raft::Index base = 0;  ///< The entry before the first one.
    std::deque<raft::Entry> log;
    std::optional<Snapshot> snapshot;
    std::optional<Snapshot> older;  ///< The one before, which may be on its way to somebody.
    std::deque<PendingWrite> pending;
    bool busy = false;
    bool fails = false;  ///< Its next write does.
    Time slow_until{0};
  };

  static constexpr std::size_t nobody = std::numeric_limits<std::size_t>::max();

  /// What one register holds.
  using Registers = std::map<int, std::uint64_t>;

  struct PendingProposal {
    raft::Index index;
    std::string command;
    std::size_t operation = nobody;  ///< Of a client.
  };

  struct PendingRead {
    raft::Index at_least;  ///< What was answered before the read began.
    std::size_t operation = nobody;
    raft::Index granted = 0;
  };

  struct Server {
    raft::ServerId id;
    std::optional<raft::Core> core;  ///< Empty while crashed.
    std::uint64_t life = 0;
    Disk disk;

    Disk* durable() { return &disk; }

    double clock_rate = 1;
    Time clock_offset{0};
    Time paused_until{0};
    raft::Index applied = 0;
    std::uint64_t state = 0;  ///< A hash over everything applied.
    Registers registers;
    std::deque<PendingProposal> proposals;
    std::map<std::uint64_t, PendingRead> reads;
    std::string arriving;  ///< Bytes of an arriving snapshot.
    bool snapshotting = false;
    bool applying = false;  ///< A step while one applies leaves the rest to it.
    std::optional<Time> timer;
    raft::Role last_role = raft::Role::follower;
    raft::Term last_term = 0;
    raft::Index last_commit = 0;
    /// Who would vote for it in which term; of this life.
    std::map<raft::Term, std::set<raft::ServerId>> supporters;
    bool removed = false;
  };

  struct Event {
    Time at;
    std::uint64_t order;
    std::shared_ptr<std::function<void()>> action;

    bool operator>(const Event& other) const {
      return std::pair{at, order} > std::pair{other.at, other.order};
    }
  };

  // raft_world.cpp: time, steps, network
  void at(Time when, std::function<void()> action);
  void run_until(Time end);
  void step(Server& server, raft::Input input);
  void carry_out(Server& server, raft::Outputs out);
  void send(Server& from, const raft::Message& message);
  void deliver(const raft::Message& message);
  void arm(Server& server);
  void ring(Server& server, std::uint64_t life);
  void tick_if_due(Server& server);
  void apply(Server& server);
  void apply_committed(Server& server);
  void answer(Server& server, raft::Index index, const RegisterOperation& outcome);
  Time local(const Server& server) const;
  Time global(const Server& server, Time local) const;
  Time delay(Time shortest, Time longest);

  /// When a paused server comes to what waits for it, in no particular order.
  Time wake_time(const Server& server);

  bool is_awake(const Server& server) const { return server.core && server.paused_until <= now_; }

  Server* find(const raft::ServerId& id);
  Server* leader(bool even_paused = false);

  // raft_world_disk.cpp: writes, crashes, snapshots
  Server& add_server(raft::ServerId id, const raft::Configuration* bootstrap);
  void write_next(Server& server);
  void make_durable(Server& server, const raft::LogWrite& write);
  void crash(Server& server);
  void restart(Server& server);
  void start_core(Server& server);
  void save_snapshot(Server& server);
  void cut_log(Server& server, raft::Index through);
  void store_chunk(Server& server, raft::StoreChunk chunk);
  void install(Server& server, raft::SnapshotMeta meta);
  void fetch(Server& server, const raft::LogFetch& wanted);
  void fetch(Server& server, const raft::ChunkFetch& wanted);

  // raft_world_load.cpp: clients and faults
  void schedule_load();
  void client_writes();
  void client_reads();
  void fail_a_disk();
  void cut_network();
  void crash_somebody();
  void pause_somebody();
  void freeze_all();
  bool has_caught_up(const Server& server) const;
  void slow_a_disk();
  void change_membership();
  void transfer_leadership();
  void snapshot_somebody();
  Server* somebody();

  // raft_world_clients.cpp: operations on registers
  static std::string file_of(const raft::SnapshotMeta& meta,
                             const Server& server,
                             std::size_t padding);
  static void restore_from(const std::string& file, Server& server);
  static RegisterOperation apply_command(Registers& registers, std::string_view command);
  void start_clients();
  void client_acts(std::size_t client);
  void propose_operation(Server& server, std::size_t operation);
  void read_register(Server& server, std::size_t operation);
  void complete(std::size_t operation, const RegisterOperation& outcome);
  void give_up(std::size_t operation);
  void check_registers();

  // raft_world_checks.cpp
  void violated(const std::string& rule);
  void check_step(Server& server, const raft::Outputs& out);
  void check_commit(Server& server);
  void check_quorum_of_commit(Server& server);
  void check_new_leader(Server& server);
  void check_lease(Server& server);
  void check_logs_match();
  void check_sent(Server& server, const raft::Message& message);
  void check_candidate(const Server& server, const raft::Message& message);
  void check_agreement();
  bool is_durable(Server& server, raft::Index index, raft::Term term) const;
  bool comes_to_rest();

  RaftWorldOptions options_;
  Making making_{options_.mistake};
  Random random_;
  Time now_{0};
  std::uint64_t order_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::map<raft::ServerId, std::unique_ptr<Server>> servers_;
  std::set<std::pair<raft::ServerId, raft::ServerId>> cut_;  ///< From, to.
  bool faulty_ = true;
  int next_server_ = 0;
  std::uint64_t next_command_ = 0;
  std::uint64_t next_read_ = 0;

  struct Committed {
    raft::Term term = 0;
    raft::Term decided_in = 0;  ///< The term of the leader that committed it.
    std::string command{};
    std::uint64_t state = 0;  ///< The state after it; 0 until somebody has applied it.
  };

  std::vector<Committed> committed_{1};  ///< By index.
  std::map<raft::Term, raft::ServerId> leaders_;
  std::map<std::pair<raft::ServerId, raft::Term>, raft::ServerId> votes_;
  raft::Index answered_ = 0;  ///< The highest index of an answered write.

  struct Operation {
    std::size_t client;
    int key;
    RegisterOperation what;
  };

  std::vector<Operation> operations_;
  std::vector<std::size_t> clients_;  ///< The operation that each has under way.

  std::optional<std::string> violation_;
  RaftWorldCounts counts_;
};

/// One run as the suite and `simulate` do it: faults, then healing. The violation, if any.
std::optional<std::string> run_raft_world(const RaftWorldOptions& options,
                                          Time duration,
                                          RaftWorldCounts* counts = nullptr);

}  // namespace nomad::test
