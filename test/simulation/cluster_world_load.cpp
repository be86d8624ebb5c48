// ClusterWorld's operators. Some jobs are registers, for the checker of linearizability; the others
// make allocations come and go.
#include <cstdlib>

#include <fmt/format.h>

#include "runtime/object/draft.hpp"
#include "test/simulation/cluster_jobs.hpp"
#include "test/simulation/cluster_world.hpp"

namespace nomad::test {

using namespace std::chrono_literals;
using namespace server::server_api;

using Kind = RegisterOperation::Kind;

namespace {

constexpr std::uint64_t registers = 3;
constexpr std::uint64_t services = 5;

std::string register_name(int key) {
  return fmt::format("register-{}", key);
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

template <class Reply, class Request>
void ClusterWorld::ask_api(SimServer& server,
                           const Request& request,
                           SimCall::Answer<Reply> answer) {
  SimCall::start<Reply>(
      system_, network_, operators_machine_, server, {},
      [this, request](SimServer& boss, const SimCall::Answer<Reply>& done) {
        if (options_.server_mutation == ServerMutation::ack_unwritten && random_.chance(0.05)) {
          boss.ask<Reply>(boss.api(), request, [](const Result<Reply>&) {});
          if constexpr (requires(Reply reply) { reply.job_modify_index; }) {
            Reply reply;
            reply.index = reply.job_modify_index = witness_.last() + 1;
            return done(reply);
          }
        }
        boss.ask<Reply>(boss.api(), request, done);
      },
      std::move(answer));
}

// -- registers
// -------------------------------------------------------------------------------------

void ClusterWorld::use_register(std::size_t by) {
  const auto id = operations_.size();
  Operation operation{.by = by, .key = static_cast<int>(random_.below(registers)), .what = {}};
  operation.what.called = system_.now().count();
  std::uint64_t at_index = 0;
  const auto luck = random_.below(10);
  if (luck >= 4) {
    operation.what.kind = luck < 8 ? Kind::write : Kind::compare_and_set;
    operation.what.value = id + 1;
  }
  if (operation.what.kind == Kind::compare_and_set) {
    // What was seen last of this register, by whomever.
    for (auto seen = operations_.rbegin(); seen != operations_.rend(); ++seen)
      if (seen->key == operation.key && seen->what.kind == Kind::read && seen->what.seen != 0) {
        operation.what.expected = seen->what.seen;
        at_index = seen_index_[{operation.key, seen->what.seen}];
        break;
      }
    if (operation.what.expected == 0) operation.what.kind = Kind::write;
  }
  operations_.push_back(operation);
  under_way_[by] = id;
  if (faulty_) ++counts_.called;
  act_again(by, id, network_.delay(2s, 4s));
  auto* server = contact();
  if (server == nullptr) return;
  if (operation.what.kind == Kind::read)
    read_register(id, *server);
  else
    write_register(id, *server, at_index);
}

/// As the API does it: the newest state, then the lease; without one, a read index.
void ClusterWorld::read_register(std::size_t id, SimServer& server) {
  struct Seen {
    std::uint64_t value = 0;
    std::uint64_t index = 0;
  };

  const auto look = [key = operations_[id].key](SimServer& at) {
    Seen seen;
    if (const auto job = at.store()->snapshot().job("default", register_name(key))) {
      seen.value = register_value(*job);
      seen.index = job->getJobModifyIndex();
    }
    return seen;
  };
  SimCall::start<Seen>(
      system_, network_, operators_machine_, server,
      {.patience = 4s, .needs_lease = options_.server_mutation == ServerMutation::read_stale},
      [look](SimServer& boss, const SimCall::Answer<Seen>& done) {
        const auto seen = look(boss);
        if (boss.lease_holds()) return done(seen);
        boss.ask<raft::ReadReady>(boss.raft(), raft::ReadIndex{},
                                  [look, &boss, done](const Result<raft::ReadReady>& ready) {
                                    if (!ready) return done(ready.error());
                                    done(look(boss));
                                  });
      },
      [this, id](const Result<Seen>& seen) {
        if (!seen) return act_again(operations_[id].by, id, network_.delay(5ms, 80ms));
        RegisterOperation outcome;
        outcome.seen = seen->value;
        if (seen->value != 0) seen_index_[{operations_[id].key, seen->value}] = seen->index;
        complete(id, outcome);
      });
}

void ClusterWorld::write_register(std::size_t id, SimServer& server, std::uint64_t at_index) {
  const auto& what = operations_[id].what;
  RegisterJob request{.job = register_job(register_name(operations_[id].key), what.value)};
  request.enforce_index = what.kind == Kind::compare_and_set;
  request.job_modify_index = at_index;
  ask_api<JobRegistered>(server, request, [this, id](const Result<JobRegistered>& done) {
    auto& operation = operations_[id];
    if (done) {
      answered_.push_back(
          {done->job_modify_index, register_name(operation.key), operation.what.value});
      return complete(id, {});
    }
    if (operation.what.kind == Kind::compare_and_set && done.error().code == Errc::conflict)
      note_failed_set(id, done.error());
    act_again(operation.by, id, network_.delay(5ms, 80ms));
  });
}

/// A refused compare-and-set says at which index the job was changed; the log says to what.
void ClusterWorld::note_failed_set(std::size_t id, const Error& error) {
  const auto colon = error.what.rfind(": ");
  const auto index
      = colon == std::string::npos ? 0 : std::strtoull(error.what.c_str() + colon + 2, nullptr, 10);
  const auto* command = witness_.command(index);
  operations_[id].is_void = true;
  if (command == nullptr) return;
  const auto read = capnp::readMessageUnchecked<schema::Command>(
      reinterpret_cast<const capnp::word*>(command->data()));
  if (!read.isJobRegister()) return;
  operations_[id].is_void = false;
  RegisterOperation outcome;
  outcome.succeeded = false;
  outcome.seen = register_value(read.getJobRegister().getJob());
  complete(id, outcome);
}

void ClusterWorld::complete(std::size_t id, const RegisterOperation& outcome) {
  auto& operation = operations_[id];
  if (operation.what.answered != RegisterOperation::unknown) return;  // a doubled answer
  operation.what.answered = system_.now().count();
  operation.what.succeeded = outcome.succeeded;
  operation.what.seen = outcome.seen;
  if (faulty_) ++counts_.answered;
  act_again(operation.by, id, network_.delay(0ms, 60ms));
}

// -- jobs
// ------------------------------------------------------------------------------------------

template <class Request>
void ClusterWorld::change_job(std::size_t by, const Request& request) {
  const auto id = operations_.size();
  operations_.push_back({.by = by, .key = -1, .what = {}, .is_void = true});
  under_way_[by] = id;
  if (faulty_) ++counts_.called;
  act_again(by, id, network_.delay(3s, 6s));
  auto* server = contact();
  if (server == nullptr) return;
  using Reply = std::conditional_t<
      std::is_same_v<Request, StopAlloc>, EvalCreated,
      std::conditional_t<std::is_same_v<Request, SetNodeEligibility>, NodeChanged, JobRegistered>>;
  ask_api<Reply>(*server, request, [this, by, id](const Result<Reply>& done) {
    if (done && faulty_) ++counts_.answered;
    act_again(by, id, network_.delay(100ms, 800ms));
  });
}

void ClusterWorld::use_jobs(std::size_t by) {
  const auto service = fmt::format("service-{}", random_.below(services));
  const auto luck = random_.below(100);
  if (luck < 30) return change_job(by, RegisterJob{.job = service_job(service, random_)});
  if (luck < 45)
    return change_job(
        by, RegisterJob{.job = batch_job(fmt::format("batch-{}", random_.below(40)), random_)});
  if (luck < 60)
    return change_job(by, ScaleJob{.ns = "default",
                                   .job_id = service,
                                   .group = "group",
                                   .count = static_cast<std::int64_t>(random_.below(5))});
  if (luck < 75)
    return change_job(
        by, DeregisterJob{.ns = "default", .job_id = service, .purge = random_.chance(0.3)});
  if (luck < 80) return change_job(by, EvaluateJob{.ns = "default", .job_id = service});
  auto* server = some_server();
  if (server == nullptr) return system_.at(system_.now() + 100ms, [this, by] { act(by); });
  const auto state = server->store()->snapshot();
  if (luck < 90) {
    std::vector<std::string> running;
    for (const auto& entry : state.allocs_by_job("default", service))
      if (!entry.value()->terminal()) running.push_back(copy(entry.value()->alloc->getId()));
    if (!running.empty())
      return change_job(by, StopAlloc{.alloc_id = running[random_.below(running.size())]});
  }
  const auto& node = *nodes_[random_.below(nodes_.size())];
  if (node.id().empty()) return system_.at(system_.now() + 100ms, [this, by] { act(by); });
  change_job(by, SetNodeEligibility{.node_id = node.id(), .eligible = random_.chance(0.6)});
}

}  // namespace nomad::test
