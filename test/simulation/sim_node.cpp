#include "test/simulation/sim_node.hpp"

#include "actors/client/hooks/health_hook.hpp"
#include "actors/core/supervise.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/object/draft.hpp"
#include "test/simulation/sim_call.hpp"

namespace nomad::test {

using namespace std::chrono_literals;
namespace link = client::server_link;

SimNode::SimNode(SimSystem& system,
                 SimNetwork& network,
                 NodeCounts& counts,
                 std::string name,
                 NodeMutation mutation,
                 std::uint64_t seed)
    : system_(system),
      network_(network),
      counts_(counts),
      name_(std::move(name)),
      mutation_(mutation),
      random_(seed),
      machine_(system.add_machine(name_)),
      store_(std::make_shared<storage::ClientStore>(
          std::move(*storage::ClientStore::open(":memory:")))) {}

SimNode::~SimNode() = default;

client::PluginCatalog SimNode::plugins() {
  client::PluginCatalog plugins;
  plugins.alloc_hooks = {client::health_hook()};
  plugins.drivers.emplace(
      "sim", client::DriverEntry{
                 .capabilities
                 = {.fs_isolation = "none", .send_signals = true, .secrets_in_memory = false},
                 .spawn = [this](const actor::Owner&, const client::DriverOptions&) {
                   return spawn_driver();
                 }});
  plugins.fingerprinters = {{"sim", [](const host::FingerprintOptions&, host::NodeFacts& facts) {
                               facts.attributes["kernel.name"] = "linux";
                               facts.cpu_total_compute = 8'000;
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
    const auto stats = system_.own(
        machine_,
        actor::spawn(
            system, [](client::StatsReader::pointer) -> client::StatsReader::behavior_type {
              return {[](client::stats::ReadHost) { return client::client_api::HostUsage{}; },
                      [](const client::stats::ReadTasks&) { return client::stats::TaskUsages{}; },
                      [](const client::stats::ForgetTask&) {}};
            }));
    client_ = system_.own(
        machine_, client::spawn_client(
                      system, std::move(options),
                      {.servers = link_,
                       .db = spawn_db(),
                       .steps = system_.own(machine_, client::spawn_inline_step_runner(system)),
                       .make_stats = [stats](const actor::Owner&,
                                             const client::StatsOptions&) { return stats; },
                       .plugins = std::make_shared<const client::PluginCatalog>(plugins())}));
  });
}

void SimNode::crash_agent() {
  for (auto& process : processes_)
    process.attached = false;
  listeners_.clear();
  if (mutation_ == NodeMutation::forget_processes)
    for (auto& process : processes_)
      process.forgotten = true;
  system_.switch_off(machine_);
}

void SimNode::crash_machine() {
  crash_agent();
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
              if (mutation_ == NodeMutation::forget_saved && random_.chance(0.3))
                return Committed{};
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
            [later](SaveLater& msg) { later(std::move(msg.changes)); },
            [self, inner](Load msg) { return self->delegate(inner, msg); },
            [](const Run& msg) { msg.action(); },
        };
      }));
}

/// One question: to the server that answered last, which asks the leader; the answer comes back on
/// the same way.
template <class Reply, class Request>
actor::Answer<Reply> SimNode::call(LinkSelf::pointer self, const Request& request) {
  ++counts_.calls;
  auto promise = self->template make_response_promise<Reply>();
  const auto all = servers();
  if (all.empty()) return Error{Errc::unavailable, "No servers"};
  auto& server = *all[chosen_server_ % all.size()];
  const auto answer = [this, handle = LinkSelf{self}, promise](Result<Reply> reply) {
    const auto code = reply.error().code;
    if (!reply && (code == Errc::unavailable || code == Errc::no_leader || code == Errc::timeout)) {
      ++counts_.failed_calls;
      ++chosen_server_;
    }
    actor::tell(handle, Run{[promise, reply]() mutable { actor::answer(promise, reply); }});
  };
  auto asked = request;
  constexpr bool watches = std::is_same_v<Request, link::WatchAllocs>;
  // A report that came late would undo a later one: the transport never sends one twice.
  constexpr bool repeated
      = std::is_same_v<Request, link::Heartbeat> || std::is_same_v<Request, link::RegisterNode>;
  if constexpr (watches) asked.max_wait = std::min<std::chrono::milliseconds>(asked.max_wait, 30s);
  SimCall::start<Reply>(
      system_, network_, machine_, server,
      {.patience = watches ? 40s : 10s, .repeated = repeated, .needs_lease = true},
      [asked](SimServer& leader, const SimCall::Answer<Reply>& done) {
        if constexpr (repeated)
          leader.ask<Reply>(leader.nodes().tracker, asked, done);
        else
          leader.ask<Reply>(leader.nodes().endpoint, asked, done);
      },
      answer);
  return promise;
}

client::ServerLink SimNode::spawn_link() {
  return system_.own(
      machine_,
      actor::spawn(system_.system(), [this](LinkSelf::pointer self) -> LinkSelf::behavior_type {
        return {
            [this, self](const link::RegisterNode& msg) {
              id_ = copy(msg.node->getId());
              return call<link::Registered>(self, msg);
            },
            [this, self](const link::Heartbeat& msg) { return call<link::Lease>(self, msg); },
            [this, self](const link::WatchAllocs& msg) {
              return call<link::AssignedAllocs>(self, msg);
            },
            [this, self](const link::UpdateAllocs& msg) { return call<link::Updated>(self, msg); },
            [](const Run& msg) { msg.action(); },
        };
      }));
}

}  // namespace nomad::test
