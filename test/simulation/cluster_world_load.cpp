// ClusterWorld's operators: some use registers (cluster_world_registers.cpp), the others make
// allocations come and go.
#include <iterator>

#include <fmt/format.h>

#include "runtime/cluster/deployment_commands.hpp"
#include "runtime/cluster/job_commands.hpp"
#include "runtime/cluster/node_commands.hpp"
#include "runtime/cluster/scale_commands.hpp"
#include "runtime/object/draft.hpp"
#include "test/simulation/cluster_jobs.hpp"
#include "test/simulation/cluster_world.hpp"
#include "test/support/anybody.hpp"

namespace nomad::test {

using namespace std::chrono_literals;
using cluster::EvalSeed;
using state::Snapshot;

namespace {

constexpr std::uint64_t services = 5;

/// Of the type that `luck`, below 47, chooses; a service is `service`.
Object<schema::Job> some_job(std::uint64_t luck, const std::string& service, Random& random) {
  if (luck < 24) return service_job(service, random);
  if (luck < 36) return batch_job(fmt::format("batch-{}", random.below(40)), random);
  if (luck < 42) return system_job(fmt::format("system-{}", 1 + 3 * random.below(2)), random);
  if (luck < 45) return sysbatch_job(fmt::format("sysbatch-{}", random.below(2)), random);
  if (luck < 46) return periodic_job("periodic-1", random);
  return parameterized_job("parameterized-2", random);
}

}  // namespace

void ClusterWorld::start_operators() {
  under_way_.assign(static_cast<std::size_t>(options_.operators), nobody);
  for (std::size_t by = 0; by < under_way_.size(); ++by)
    system_.at(network_.delay(0ms, 100ms), [this, by] { act(by); });
}

/// Mostly the leader; any server otherwise.
SimServer* ClusterWorld::contact() {
  auto* boss = random_.chance(0.8) ? leader() : nullptr;
  return boss != nullptr ? boss : some_server();
}

/// Two of three operators use registers, which cost less.
void ClusterWorld::act(std::size_t by) {
  if (!loaded_ || violation_) return;
  if (by % 3 != 2)
    use_register(by);
  else
    use_jobs(by);
}

/// After the operation, or when it has lasted for too long.
void ClusterWorld::act_again(std::size_t by, std::size_t operation, Time after) {
  system_.at(system_.now() + after, [this, by, operation] {
    if (under_way_[by] != operation) return;
    under_way_[by] = nobody;
    act(by);
  });
}

/// An operation of which only its end counts.
std::size_t ClusterWorld::begin_change(std::size_t by) {
  const auto id = operations_.size();
  operations_.push_back({.by = by, .key = -1, .what = {}, .is_void = true});
  under_way_[by] = id;
  if (faulty_) ++counts_.called;
  act_again(by, id, network_.delay(3s, 6s));
  return id;
}

void ClusterWorld::end_change(std::size_t by, std::size_t id, bool is_done) {
  if (is_done && faulty_) ++counts_.answered;
  act_again(by, id, network_.delay(100ms, 800ms));
}

/// Has an operator change something, by way of any server.
template <class Decide>
void ClusterWorld::change(std::size_t by, const Decide& decide) {
  const auto id = begin_change(by);
  if (auto* server = contact())
    write_at(*server, decide,
             [this, by, id](const auto& done) { end_change(by, id, done.has_value()); });
}

void ClusterWorld::register_job(std::size_t by, const Object<schema::Job>& job) {
  change(by, [job](const Snapshot& state, const EvalSeed& seed) {
    return cluster::decide_register(state, nomad::test::anybody(), {.job = job}, seed);
  });
}

void ClusterWorld::use_jobs(std::size_t by) {
  const auto service = fmt::format("service-{}", random_.below(services));
  const auto luck = random_.below(100);
  if (luck < 47) return register_job(by, some_job(luck, service, random_));
  if (luck < 57)
    return change(by, [service, count = static_cast<std::int64_t>(random_.below(5))](
                          const Snapshot& state, const EvalSeed& seed) {
      return cluster::decide_scale(
          state, nomad::test::anybody(),
          {.ns = "default", .job_id = service, .group = "group", .count = count}, 0, seed);
    });
  if (luck < 67) {
    const std::string others[] = {"system-1", "system-4", "sysbatch-0", "periodic-1"};
    const auto job = random_.chance(0.2) ? others[random_.below(std::size(others))] : service;
    return change(by,
                  [job, purge = random_.chance(0.3)](const Snapshot& state, const EvalSeed& seed) {
                    return cluster::decide_deregister(state, nomad::test::anybody(), "default", job,
                                                      purge, 0, seed);
                  });
  }
  if (luck < 69) return rotate_keys(by);
  if (luck < 76)
    return change(by, [service](const Snapshot& state, const EvalSeed& seed) {
      return cluster::decide_evaluate(state, nomad::test::anybody(), "default", service, false,
                                      seed);
    });
  if (luck < 79) {
    ++counts_.dispatched;
    cluster::DispatchRequest request;
    request.ns = "default";
    request.job_id = "parameterized-2";
    return change(by, [request](const Snapshot& state, const EvalSeed& seed) {
      return cluster::decide_dispatch(state, nomad::test::anybody(), request, seed);
    });
  }
  auto* server = some_server();
  if (server == nullptr) return system_.at(system_.now() + 100ms, [this, by] { act(by); });
  const auto state = server->store()->snapshot();
  if (luck < 85 && use_deployment(by, state)) return;
  if (luck < 91) {
    std::vector<std::string> running;
    for (const auto& entry : state.allocs_by_job("default", service))
      if (!entry.value()->terminal()) running.push_back(std::string{entry.value()->alloc->id()});
    if (!running.empty())
      return change(by, [alloc = running[random_.below(running.size())]](const Snapshot& now,
                                                                         const EvalSeed& seed) {
        return cluster::decide_alloc_stop(now, nomad::test::anybody(), alloc, false, seed);
      });
  }
  const auto& node = *nodes_[random_.below(nodes_.size())];
  if (node.id().empty()) return system_.at(system_.now() + 100ms, [this, by] { act(by); });
  if (random_.chance(0.5))
    return change(by,
                  [id = node.id(), wish = some_drain()](const Snapshot& now, const EvalSeed& seed) {
                    return cluster::decide_drain(now, nomad::test::anybody(), id, wish, seed);
                  });
  change(by, [id = node.id(), eligible = random_.chance(0.6)](const Snapshot& now,
                                                              const EvalSeed& seed) {
    return cluster::decide_eligibility(now, nomad::test::anybody(), id, eligible, seed);
  });
}

/// Promotes or, less often, fails one that is under way; false if there is none.
bool ClusterWorld::use_deployment(std::size_t by, const Snapshot& state) {
  std::vector<std::string> active;
  for (const auto& entry : state.deployments())
    if (state::is_active(entry.value()->getStatus())) active.emplace_back(entry.key());
  if (active.empty()) return false;
  const auto id = active[random_.below(active.size())];
  if (random_.chance(0.2)) {
    change(by, [id](const Snapshot& now, const EvalSeed& seed) {
      return cluster::decide_fail(now, nomad::test::anybody(), id, seed);
    });
    return true;
  }
  promotions_.insert(id);
  change(by, [id](const Snapshot& now, const EvalSeed& seed) {
    return cluster::decide_promote(now, nomad::test::anybody(), id, true, {}, seed);
  });
  return true;
}

}  // namespace nomad::test
