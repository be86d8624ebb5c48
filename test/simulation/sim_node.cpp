#include "test/simulation/sim_node.hpp"

#include "actors/client/hooks/health_hook.hpp"
#include "actors/client/remote_servers.hpp"
#include "actors/core/supervise.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/object/draft.hpp"
#include "test/mistakes/mistake.hpp"

namespace nomad::test {

using namespace std::chrono_literals;

SimNode::SimNode(SimSystem& system,
                 SimNetwork& network,
                 SimRpc& rpc,
                 NodeCounts& counts,
                 std::string name,
                 std::uint64_t seed)
    : system_(system),
      network_(network),
      rpc_(rpc),
      counts_(counts),
      name_(std::move(name)),
      random_(seed),
      machine_(system.add_machine(name_)),
      engine_(system, network, machine_, seed ^ 0x656e'6769'6e65),
      identities_(system, seed ^ 0x6964'656e'7469'7479),
      store_(std::make_shared<storage::ClientStore>(
          std::move(*storage::ClientStore::open(":memory:")))) {
  engine_.on_start = [this](const SimEngine::Process& process) { begin_container(process); };
  engine_.on_end = [this](const SimEngine::Process& process, bool unasked) {
    end_container(process, unasked);
  };
}

SimNode::~SimNode() = default;

client::PluginCatalog SimNode::plugins() {
  client::PluginCatalog plugins;
  plugins.builtin_hooks = [this](const client::HookParts& parts) {
    return client::Hooks{.of_tasks = {identities_.hook(parts)}};
  };
  plugins.hooks.of_allocs = {client::health_hook([] { return unix_now(); })};
  plugins.drivers.emplace(
      "sim", client::DriverEntry{
                 .spawn = [this](const actor::Owner&, const client::DriverOptions& options) {
                   return spawn_driver(options.agent);
                 }});
  plugins.drivers.emplace("docker", engine_.driver());
  plugins.fingerprinters = {{"sim", [](const host::FingerprintOptions&, host::NodeFacts& facts) {
                               facts.attributes["kernel.name"] = "linux";
                               facts.cpu_total_compute = 1'500;  // some jobs find no room
                               facts.cpu_cores = 4;
                               facts.memory_mb = 16'000;
                               facts.disk_mb = 100'000;
                               return Result<>{};
                             }}};
  return plugins;
}

void SimNode::start() {
  system_.switch_on(machine_);
  system_.on(machine_, [this] {
    auto& system = system_.system();
    client::ClientOptions options;
    options.state_dir = "/nonexistent/state";
    options.alloc_dir = "/";  // measured, never written to
    options.node_name = name_;
    options.unix_now = [] { return unix_now(); };
    options.seed = random_.next() | 1;
    options.gc.disk_usage_threshold = 101;  // of the real disk
    options.gc.inode_usage_threshold = 101;
    link_ = spawn_link();
    const auto usage_reader = system_.own(
        machine_,
        actor::spawn(
            system, [](client::UsageReader::pointer) -> client::UsageReader::behavior_type {
              return {[](client::usage::ReadHost) { return client::client_api::HostUsage{}; },
                      [](const client::usage::ReadTasks&) { return client::usage::TaskUsages{}; },
                      [](const client::usage::ForgetTask&) {}};
            }));
    client_ = system_.own(
        machine_, client::spawn_client(
                      system, std::move(options),
                      {.servers = link_,
                       .db = spawn_db(),
                       .steps = system_.own(machine_, client::spawn_inline_blocking_pool(system)),
                       .make_usage_reader
                       = [usage_reader](const actor::Owner&,
                                        const client::UsageReaderOptions&) { return usage_reader; },
                       .plugins = std::make_shared<const client::PluginCatalog>(plugins())}));
  });
}

void SimNode::crash_agent() {
  for (auto& process : processes_)
    process.attached = false;
  if (mistake == Mistake::forget_processes)
    for (auto& process : processes_)
      process.forgotten = true;
  system_.switch_off(machine_);
  engine_.crash_agent();
}

void SimNode::crash_machine() {
  crash_agent();
  engine_.crash_machine();
  processes_.clear();
}

/// When what is to be saved now is durable: behind everything before it.
Time SimNode::saved_at(Time shortest, Time longest) {
  saved_until_ = std::max(saved_until_, system_.now() + network_.delay(shortest, longest));
  return saved_until_;
}

/// What is saved becomes durable after a while; a crash keeps some prefix of what was not.
client::ClientDb SimNode::spawn_db() {
  using namespace client::client_db;

  const auto inner
      = system_.own(machine_, client::spawn_client_db_inline(system_.system(), store_));
  return system_.own(
      machine_,
      actor::spawn(system_.system(), [this, inner](DbSelf::pointer self) -> DbSelf::behavior_type {
        const auto later = [this, self, inner](storage::ClientBatch batch) {
          const auto life = system_.life(machine_);
          system_.at(saved_at(100us, 4ms), [this, self, handle = DbSelf{self}, inner, life,
                                            batch = std::move(batch)] {
            if (system_.life(machine_) != life) {
              ++counts_.lost_saves;
              return;
            }
            actor::tell(handle, Run{[self, inner, batch] { self->send(inner, SaveLater{batch}); }});
          });
        };
        return {
            [this, self, inner](const Save& msg) -> actor::Answer<Committed> {
              if (mistake == Mistake::forget_saved && random_.chance(0.3)) return Committed{};
              auto promise = self->make_response_promise<Committed>();
              const auto life = system_.life(machine_);
              system_.at(saved_at(1ms, 12ms), [this, self, handle = DbSelf{self}, inner, life,
                                               promise, batch = msg.changes] {
                if (system_.life(machine_) != life) {
                  ++counts_.lost_saves;
                  return;
                }
                actor::tell(
                    handle, Run{[self, inner, promise, batch]() mutable {
                      self->request(inner, actor::infinite, Save{batch})
                          .then([promise](const Committed& done) mutable { promise.deliver(done); },
                                [promise](const Error& err) mutable {
                                  promise.deliver(std::move(err));
                                });
                    }});
              });
              return promise;
            },
            [self, inner](const SaveIdentity& msg) { return self->delegate(inner, msg); },
            [later](SaveLater& msg) { later(std::move(msg.changes)); },
            [self, inner](Load msg) { return self->delegate(inner, msg); },
            [self, inner](LoadVolumes msg) { return self->delegate(inner, msg); },
            [](const Run& msg) { msg.action(); },
        };
      }));
}

NodeDoor SimNode::spawn_link() {
  const auto transport
      = rpc_.spawn(system_.system(), machine_,
                   {.role = net::RpcRole::client, .region = "global", .name = name_});
  return system_.own(machine_, client::spawn_remote_servers(system_.system(), transport,
                                                            {.servers = servers(),
                                                             .region = "global",
                                                             .timeout = 5s,
                                                             .random_seed = random_.next(),
                                                             .rebalance_after = 20s,
                                                             .credentials = credentials_}));
}

}  // namespace nomad::test
