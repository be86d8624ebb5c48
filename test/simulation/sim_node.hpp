// SimNode: one client node of a simulated cluster: the real client (registration, heartbeats,
// watch, sync buffer, alloc and task runners, the list of servers) over a simulated network, a
// simulated local database and a driver whose processes outlive the agent, as real tasks do.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "actors/client/client.hpp"
#include "runtime/storage/client_store.hpp"
#include "test/simulation/docker/sim_engine.hpp"
#include "test/simulation/identity/sim_identities.hpp"
#include "test/simulation/sim_network.hpp"
#include "test/simulation/sim_rpc.hpp"

namespace nomad::test {

struct NodeCounts {
  std::uint64_t started = 0;  ///< Processes.
  std::uint64_t ended = 0;    ///< By themselves.
  std::uint64_t killed = 0;
  std::uint64_t attached = 0;  ///< Found again by a later agent.
  std::uint64_t failed_starts = 0;
  std::uint64_t containers = 0;  ///< Of the started processes, those of containers.
  std::uint64_t lost_saves = 0;  ///< Local state that a crash took away.
};

/// A process of a task, on a machine.
struct SimProcess {
  client::driver::TaskId id;
  std::string run_id;
  std::uint64_t number = 0;
  bool running = true;
  bool attached = false;   ///< Somebody hears of its end.
  bool forgotten = false;  ///< The agent does not look for it (`Mistake::forget_processes`).
  bool asked = false;      ///< To end.
  workload::ExitResult result;
  std::string container{};  ///< Its id, of a process that the engine started.
  std::string token{};      ///< NOMAD_TOKEN in its environment; of a container's process none.
};

class SimNode {
public:
  using Machine = SimSystem::Machine;

  SimNode(SimSystem& system,
          SimNetwork& network,
          SimRpc& rpc,
          NodeCounts& counts,
          std::string name,
          std::uint64_t seed);
  ~SimNode();

  const std::string& name() const { return name_; }

  Machine machine() const { return machine_; }

  /// The addresses of servers that its configuration names, at each start. Set by the world.
  std::function<std::vector<std::string>()> servers;

  /// Told before a process starts. Set by the world.
  std::function<void(SimNode&, const SimProcess&)> on_start;

  /// Told of a rule that it breaks. Set by the world.
  std::function<void(const std::string&)> violated;

  void start();

  /// The agent dies, the tasks go on.
  void crash_agent();

  /// The machine goes down, and everything with it.
  void crash_machine();

  bool is_on() const { return system_.is_on(machine_); }

  /// Empty until it has registered for the first time.
  const std::string& id() const { return credentials_->node_id; }

  const std::vector<SimProcess>& processes() const { return processes_; }

  NodeDoor link() const { return link_; }

  const client::Client& client() const { return client_; }

  /// The container engine on it.
  SimEngine& engine() { return engine_; }

  const SimEngine& engine() const { return engine_; }

  /// The files of its tasks' identities.
  SimIdentities& identities() { return identities_; }

  void set_faulty(bool faulty) {
    faulty_ = faulty;
    identities_.set_faulty(faulty);
    engine_.set_faulty(faulty);
  }

private:
  NodeDoor spawn_link();
  client::ClientDb spawn_db();
  Time saved_at(Time shortest, Time longest);
  client::Driver spawn_driver(const client::PluginAgent& agent);
  client::PluginCatalog plugins();

  using DbSelf = actor::WithInternal<client::ClientDb, void(Run)>;
  using DriverSelf = actor::WithInternal<client::Driver, void(Run)>;

  using DriverAnswered = client::driver::Answered;

  actor::Answer<DriverAnswered> answer(DriverSelf::pointer self,
                                       schema::plugin::DriverRequest::Reader request);
  actor::Answer<DriverAnswered> start_task(DriverSelf::pointer self,
                                           const schema::plugin::TaskConfig::Reader& config);
  DriverAnswered recover_task(const schema::plugin::RecoverTask::Reader& order);
  DriverAnswered stop_task(const schema::plugin::StopTask::Reader& order);
  void destroy_task(const client::driver::TaskId& id);
  void end_others(const std::vector<client::driver::TaskId>& kept);

  /// A task that is to run: how long (0: for ever), and how it ends.
  struct Plan {
    client::driver::TaskId id;
    std::string run_id;
    std::int64_t run_for = 0;
    int exit_code = 0;
    std::string token{};
  };

  void begin(const Plan& plan);
  void begin_container(const SimEngine::Process& started);
  void end_container(const SimEngine::Process& ended, bool unasked);
  void end(std::uint64_t number, int exit_code);
  void tell_end(const SimProcess& process);
  SimProcess* find(const client::driver::TaskId& id);

  SimSystem& system_;
  SimNetwork& network_;
  SimRpc& rpc_;
  NodeCounts& counts_;
  std::string name_;
  Random random_;
  Machine machine_;
  SimEngine engine_;
  SimIdentities identities_;
  std::shared_ptr<rpc::Credentials> credentials_ = std::make_shared<rpc::Credentials>();
  std::shared_ptr<storage::ClientStore> store_;
  std::vector<SimProcess> processes_;
  client::PluginAgent agent_;  ///< Of the newest driver.
  std::uint64_t next_process_ = 1;
  bool faulty_ = true;
  Time saved_until_{0};
  NodeDoor link_;
  client::Client client_;
};

}  // namespace nomad::test
