// ClusterWorld: a whole cluster in one thread under one seed: servers and client nodes as the real
// actors (SimServer, SimNode), operators that register, scale, stop and read jobs, and everything
// that goes wrong: networks, disks, crashes of servers, agents and machines, crashes at named
// failpoints, pauses, jumping wall clocks. Servers come, leave, and die for good.
//
// What must always hold, and is checked while it runs:
// (1) Election safety: at most one leader a term. (2) Log matching, on the servers' disks. (3) All
// servers apply the same entries, and have the same state at the same index. (4) No process of an
// allocation's task starts while another one of it runs, on whatever machine. (9) No actor ends by
// an exception, an unhandled error or an unexpected message. (11) No server is removed from the log
// that neither left nor died for good. (14) No node is given more than it has. (15) No evaluation
// places an allocation twice. (21) No node has two allocations of a system or sysbatch job, or of
// one whose hosts are to be distinct. (22) No agent ends a running task unless it is asked to: what
// it was told is saved is there after a crash. (23) An allocation that waits for an evaluation to
// be placed again has one. (24) The log does not grow faster than what goes on in the world
// explains. At the end, when the cluster was healed: (5) a leader within ten seconds, and a write
// answered within ten more. (6) Every write that was answered is what the log holds at its index.
// (7) What operators were answered about some jobs and variables is linearizable. (8) Every
// allocation is accounted for: what should run does so exactly once, on a node that knows it, and
// nothing else does. Jobs have what they want in its newest version, or a failed deployment, or an
// evaluation that waits for room, which no node has, whomever they may preempt. (10) Every member
// can open every root key. (12) The log's voters are the servers that are there, and no others.
// (13) No operator's write is in the log twice. (16) Every deployment has succeeded, failed or been
// cancelled, or waits for room. (17) The drainer marks no allocation twice, of a service no more at
// once than its migrate block allows before the deadline, and calls a drain complete when all that
// is to go was told so, and not later than its deadline. (18) No write that was refused as not done
// is in the log. (19) Jobs preempt only what is less important by ten. (20) No plan replaces more
// of a job at once than its update block allows, or anything before canaries are promoted; there
// are no more canaries than wanted, and only those that want it promote themselves.
// (25) A running task has all identities that its job says it shows, each whole, its own, and
// signed by a key that has been the active one. (26) No server refuses the default identity of a
// task that runs, nor, once the cluster has been whole for a minute (what is tried again comes
// after half of one, and what a server with a wrong clock has signed is replaced after 0.6 of its
// life), that which is renewed; where nothing but one machine at a time dies for up to three
// seconds, it is never older than it may be. (27) Nobody's identity counts once his allocation has
// ended. (28) No node gets an identity of another node's task. (29) Who fetches the published keys
// every three seconds, from any server, knows the key of each identity in a whole cluster, and
// verifies by these alone what is for others.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/access/login/public_key.hpp"
#include "runtime/cluster/drain/drain_commands.hpp"
#include "runtime/net/http/http_message.hpp"
#include "test/mistakes/mistake.hpp"
#include "test/simulation/linearizability.hpp"
#include "test/simulation/log/log_judges.hpp"
#include "test/simulation/sim_call.hpp"
#include "test/simulation/sim_node.hpp"
#include "test/simulation/sim_server.hpp"

namespace nomad::test {

/// Probabilities per second of the world.
struct ClusterFaults {
  NetworkFaults network{};
  double partitions = 0.15;  ///< Also one-way ones.
  double server_crashes = 0.12;
  double agent_crashes = 0.15;
  double machine_crashes = 0.05;  ///< Of nodes: tasks and all.
  double engine_failures = 0.5;   ///< Of nodes: they are slow, die or forget a container.
  double pauses = 0.1;            ///< Of servers and nodes.
  double slow_disks = 0.1;
  double failing_disks = 0.03;
  double clock_jumps = 0.1;  ///< Of wall clocks, up to minutes either way.
  double membership_changes = 0.1;
  double transfers = 0.06;
  double snapshots = 0.2;
  double failpoints = 0.0002;  ///< That a machine dies, each time one is reached.
};

/// Whom the death at a named place hits.
enum class Victim : std::uint8_t { itself, leader, servers };

/// Machines die where a failpoint is reached: at the first time, and again when twelve seconds have
/// passed since. They are back after three seconds at most.
struct KillsAt {
  std::string failpoint;
  Victim victim = Victim::itself;
};

struct ClusterWorldOptions {
  std::uint64_t seed = 1;
  int servers = 3;
  int nodes = 5;
  ClusterFaults faults{};
  int operators = 6;  ///< Each has one request under way.
  Mistake mistake = Mistake::none;
  std::optional<KillsAt> kills = {};  ///< With no other faults: see `only_kills`.
  std::string story = {};             ///< A job: what the log did to it is printed.
};

struct ClusterWorldCounts {
  std::uint64_t steps = 0;
  std::uint64_t partitions = 0;
  std::uint64_t one_way_partitions = 0;
  std::uint64_t server_crashes = 0;
  std::uint64_t agent_crashes = 0;
  std::uint64_t machine_crashes = 0;
  std::uint64_t failpoint_crashes = 0;
  std::uint64_t engine_failures = 0;
  std::uint64_t server_pauses = 0;
  std::uint64_t node_pauses = 0;
  std::uint64_t slow_disks = 0;
  std::uint64_t clock_jumps = 0;
  std::uint64_t arrivals = 0;    ///< Of servers.
  std::uint64_t departures = 0;  ///< They leave.
  std::uint64_t deaths = 0;      ///< They never come back, and say nothing.
  std::uint64_t transfers = 0;
  std::uint64_t leaders = 0;
  std::uint64_t by_api = 0;    ///< Writes that the HTTP API has acknowledged.
  std::uint64_t called = 0;    ///< Operators' requests while there were faults.
  std::uint64_t answered = 0;  ///< Of them, with success.
  std::uint64_t written_variables = 0;
  std::uint64_t removed_variables = 0;
  std::uint64_t refused_sets = 0;    ///< Of variables, for another index than expected.
  std::uint64_t refused_writes = 0;  ///< Of registers, as not done.
  std::uint64_t drained = 0;         ///< Drains of nodes that came to their end.
  std::uint64_t preempted = 0;       ///< Allocations.
  std::uint64_t replaced = 0;        ///< By updates.
  std::uint64_t canaries = 0;
  std::uint64_t promoted = 0;    ///< Deployments, by operators or themselves.
  std::uint64_t dispatched = 0;  ///< Of parameterized jobs.
  std::uint64_t waiting = 0;     ///< Jobs without room at the end.
  std::uint64_t kills = 0;       ///< Of KillsAt.
  std::uint64_t identities = 0;  ///< Written files.
  std::uint64_t renewed = 0;     ///< Of them, those that replaced an older one.
  std::uint64_t verified = 0;    ///< Identities that a server was asked about.
  std::uint64_t rotations = 0;   ///< Of root keys, with all variables sealed anew.
  std::uint64_t entries = 0;
  std::uint64_t states_compared = 0;
  NetworkCounts network{};
  RpcCounts rpc{};
  DiskCounts disks{};
  NodeCounts nodes{};
  /// How often each failpoint was reached, and a machine died there.
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>, std::less<>> failpoints{};

  /// Single messages aside.
  std::uint64_t faults() const {
    return partitions + server_crashes + agent_crashes + machine_crashes + failpoint_crashes
           + engine_failures + server_pauses + node_pauses + slow_disks + disks.failed
           + disks.refused_snapshots + clock_jumps + arrivals + departures + deaths + transfers;
  }

  /// Every count by its name, in one order.
  std::vector<std::pair<const char*, std::uint64_t>> all() const;
};

class ClusterWorld {
public:
  explicit ClusterWorld(ClusterWorldOptions options);
  ~ClusterWorld();

  /// Lets `duration` of the world's time pass under its faults; ends early at a violation.
  void run(Time duration);

  /// Ends all faults, lets the cluster come to rest, and checks (5) to (8).
  void heal_and_check();

  /// Prints what the log did to the job of the options, if they name one.
  void tell_story();

  const std::optional<std::string>& violation() const { return violation_; }

  ClusterWorldCounts counts() const;

  /// Equal for equal runs.
  std::uint64_t trace() const { return system_.trace(); }

private:
  using Machine = SimSystem::Machine;

  static constexpr std::size_t nobody = std::numeric_limits<std::size_t>::max();

  struct Operation {
    std::size_t by;
    int key;
    RegisterOperation what;
    bool is_void = false;  ///< Refused without an effect, and without a word on what was found.
  };

  /// An answered write: what the log must hold at `index`.
  struct Answered {
    std::uint64_t index;
    std::string name;  ///< Of the register.
    std::uint64_t value;
    std::string sealed = {};  ///< Of a variable that was not removed.
  };

  // cluster_world.cpp: the parts, and how they die and come back
  SimServer& add_server(const std::string& id, const raft::Configuration* founders);
  void add_node();
  void run_until(Time end);
  Result<> reach(std::string_view failpoint);
  void violated(const std::string& rule);
  void crash_server(SimServer& server, Time off);
  void crash_node(SimNode& node, bool machine, Time off);
  void note_leadership(SimServer& server, const raft::LeadershipChanged& change);
  void note_start(SimNode& node, const SimProcess& process);
  void note_log(const std::string& line);
  void restart_failed();
  SimServer* find(const std::string& id);
  SimServer* leader();
  std::vector<SimServer*> live_servers();

  // cluster_world_faults.cpp
  void beat();
  bool comes(double per_second);
  void cut_network();
  void fail_an_engine();
  void pause_somebody();
  void crash_a_server();
  void crash_a_node(bool machine);
  void slow_a_disk();
  void fail_a_disk();
  void jump_a_clock();
  void transfer_leadership();
  void snapshot_somebody();
  SimServer* some_server();
  SimNode* some_node();

  // cluster_world_members.cpp
  bool is_gone(const std::string& id) const;
  std::vector<std::string> addresses();
  void change_membership();
  void leave(SimServer& server);
  void go_on_leaving(SimServer& server, std::uint64_t life, Time until);
  void look_at_members();
  std::string account_for_members() const;

  // cluster_world_registers.cpp
  void use_register(std::size_t by);
  std::uint64_t last_seen(int key) const;
  void ask_api(SimServer& server, net::Request request, const SimExchange::Answered& answered);
  void read_by_api(std::size_t operation, SimServer& server);
  void write_by_api(std::size_t operation, SimServer& server, std::uint64_t at_index);
  void read_register(std::size_t operation, SimServer& server);
  void write_register(std::size_t operation, SimServer& server, std::uint64_t at_index);
  void write_variable(std::size_t operation, SimServer& server, std::uint64_t at_index);
  void note_failed_set(std::size_t operation, const std::string& why);
  void note_refused(std::size_t operation);
  void complete(std::size_t operation, const RegisterOperation& outcome);
  void rotate_keys(std::size_t by);

  // cluster_world_load.cpp: operators
  void start_operators();
  void act(std::size_t by);
  void act_again(std::size_t by, std::size_t operation, Time after);
  void use_jobs(std::size_t by);
  bool use_deployment(std::size_t by, const state::Snapshot& state);
  template <class Decide>
  using WrittenBy = server::Written<server::DecidedBy<Decide>>;

  template <class Decide>
  void write_at(SimServer& server, const Decide& decide, SimCall::Answer<WrittenBy<Decide>> answer);
  template <class Decide>
  void change(std::size_t by, const Decide& decide);
  void register_job(std::size_t by, const Object<schema::Job>& job);
  std::size_t begin_change(std::size_t by);
  void end_change(std::size_t by, std::size_t id, bool is_done);
  SimServer* contact();

  // identity/cluster_world_identities.cpp
  void note_identity(SimNode& node,
                     const SimIdentities::Position& position,
                     const std::string& token);
  void note_signing_keys();
  void check_identities();
  void check_identities_of(SimNode& node, const SimProcess& process, SimServer& asked);
  void check_believed(SimServer& asked, const std::string& token, const std::string& whose);
  void check_ended(SimServer& asked);
  void ask_for_anothers(SimServer& helper);
  void fetch_keys(SimServer& helper);
  void check_published(SimServer& helper);
  void watch_identities();
  Result<> kill_at(std::string_view failpoint);

  // cluster_world_drains.cpp
  cluster::DrainRequest some_drain();
  void end_drains();

  // log/cluster_world_log.cpp
  void check_log();
  void check_refused();

  // cluster_world_rest.cpp
  void end_deployments();
  void end_periodic_jobs();
  std::string account_for_jobs(const state::Snapshot& state);
  std::string account_for_service(const state::Snapshot& state, const Object<schema::Job>& job);
  std::string account_for_system(const state::Snapshot& state, const Object<schema::Job>& job);
  std::string account_for_deployments(const state::Snapshot& state);

  // cluster_world_checks.cpp
  void check_logs_match();
  bool comes_back_to_life();
  void make_nodes_eligible();
  void finish_operations();
  std::string unsettled();
  void check_states();
  void check_placements();
  void check_pace();
  void note_failed_deployments();
  std::string find_lag();
  void check_answered();
  void check_registers();
  void check_repetitions();
  std::string account_for_allocations(const state::Snapshot& state);
  std::string account_for_processes(const state::Snapshot& state);
  std::string account_for_evaluations(const state::Snapshot& state);

  ClusterWorldOptions options_;
  Making making_{options_.mistake};
  std::optional<std::string> violation_;
  ClusterWorldCounts counts_;
  SimSystem system_;
  SimNetwork network_;
  SimRpc rpc_;
  StateWitness witness_;
  std::uint64_t log_listener_ = 0;
  Random random_;
  Machine operators_machine_;
  std::map<std::string, std::unique_ptr<SimServer>> servers_;
  std::vector<std::unique_ptr<SimNode>> nodes_;
  std::vector<std::string> gone_;      ///< Servers that leave or have died for good.
  raft::Configuration configuration_;  ///< The last that a leader said is committed.
  std::uint64_t beats_ = 0;
  int next_server_ = 0;
  bool faulty_ = true;
  bool loaded_ = true;
  std::map<raft::Term, std::string> leaders_;
  std::vector<Operation> operations_;
  std::vector<std::size_t> under_way_;  ///< By operator.
  std::vector<Answered> answered_;
  std::set<std::pair<std::string, std::uint64_t>> refused_;  ///< By register and value: not done.
  std::set<std::tuple<std::string, std::uint64_t, std::uint64_t>>
      failed_versions_;  ///< Of deployments that failed: job, its create index, its version.
  std::set<std::string> promotions_;  ///< Deployments that operators wanted to be promoted.
  LogJudges judges_{promotions_};
  std::map<std::string, int> held_;  ///< Deployments that operators try to promote: how often.
  std::set<std::string> hurried_;    ///< Nodes whose drains were given a deadline at the end.
  std::map<std::pair<int, std::uint64_t>, std::uint64_t> seen_index_;  ///< By key and value.
  /// Of identities.
  std::optional<Time> whole_since_{};   ///< Since when nothing fails any more.
  std::set<std::string> signing_keys_;  ///< Those that have been active.
  raft::Index keys_seen_ = 0;           ///< Entries that were looked at for them.
  access::PublicKeys published_;        ///< Those that were fetched last,
  std::optional<Time> fetched_{};       ///< and when.
  std::vector<std::pair<std::string, std::string>> shown_;  ///< Allocations and their tokens.
  std::vector<std::string> in_use_;                         ///< Tokens that running tasks show.
  std::optional<Time> killed_{};                            ///< When KillsAt hit last.
};

template <class Decide>
void ClusterWorld::write_at(SimServer& server,
                            const Decide& decide,
                            SimCall::Answer<WrittenBy<Decide>> answer) {
  using Reply = WrittenBy<Decide>;
  SimCall::start<Reply>(
      system_, network_, operators_machine_, server, {},
      [this, decide](SimServer& boss, const SimCall::Answer<Reply>& done) {
        if (mistake == Mistake::ack_unwritten && random_.chance(0.05)) {
          boss.write(decide, [](const Result<Reply>&) {});
          if constexpr (requires(Reply reply) { reply.decision.job_modify_index; }) {
            Reply reply{{.allowed = access::own_work("simulation")}};
            reply.index = reply.decision.job_modify_index = witness_.last() + 1;
            return done(reply);
          }
        }
        boss.write(decide, done);
      },
      std::move(answer));
}

/// Nothing fails but what `kills` says.
ClusterWorldOptions only_kills(KillsAt kills, std::uint64_t seed);

/// One run as the suite and `simulate` do it: faults, then healing. The violation, if any.
std::optional<std::string> run_cluster_world(const ClusterWorldOptions& options,
                                             Time duration,
                                             ClusterWorldCounts* counts = nullptr,
                                             std::uint64_t* trace = nullptr);

}  // namespace nomad::test
