// ClusterWorld's rules; the numbers are those of the head of cluster_world.hpp.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "runtime/cluster/node_commands.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/scheduler/plan/capacity.hpp"
#include "test/simulation/cluster_jobs.hpp"
#include "test/simulation/cluster_world.hpp"
#include "test/support/anybody.hpp"

namespace nomad::test {

using namespace raft;
using namespace std::chrono_literals;
using schema::ClientStatus;
using schema::DesiredStatus;
using Eligibility = schema::SchedulingEligibility;

namespace {

/// Follow-ups of evaluations that failed come after up to six minutes, expired leases, rescheduling
/// and deployments before.
constexpr auto rest = 900s;

/// Where no evaluation is pending, whatever is to come (leases, deadlines, retries) comes sooner.
constexpr auto quiet_rest = 250s;

/// More than this is not written on the way to it.
constexpr raft::Index entries_to_rest = 10'000;

/// So many at most while there are operators; after that there are far fewer.
constexpr raft::Index entries_per_second = 200;
constexpr raft::Index entries_at_once = 1'000;

/// Whether `command` has written `value` to the register `name`; 0: emptied it.
bool is_write_of(schema::Command::Reader command,
                 std::string_view name,
                 std::uint64_t value,
                 std::string_view sealed) {
  if (command.isJobRegister())
    return view(command.getJobRegister().getJob().getId()) == name
           && register_value(command.getJobRegister().getJob()) == value;
  if (!command.isVariableApply()) return false;
  const auto variable = command.getVariableApply().getVariable();
  const auto data = variable.getData();
  return view(variable.getPath()) == name
         && std::equal(data.begin(), data.end(), sealed.begin(), sealed.end(),
                       [](unsigned char left, char right) {
                         return left == static_cast<unsigned char>(right);
                       });
}

}  // namespace

/// (2): if two logs have the same term at an index, they are the same up to there.
void ClusterWorld::check_logs_match() {
  for (auto& [left_id, left] : servers_)
    for (auto& [right_id, right] : servers_) {
      if (left_id >= right_id) continue;
      const auto& mine = left->disk();
      const auto& theirs = right->disk();
      bool same_above = false;
      const auto lowest = std::max(mine.first_index(), theirs.first_index());
      for (auto index = std::min(mine.last_index(), theirs.last_index()); index >= lowest;
           --index) {
        const bool same = mine.term_at(index) == theirs.term_at(index);
        if (same_above && !same)
          return violated(fmt::format("the logs of {} and {} differ at {} below an equal entry",
                                      left_id, right_id, index));
        same_above = same_above || same;
      }
    }
}

/// (5)
bool ClusterWorld::comes_back_to_life() {
  run_until(system_.now() + 10s);
  if (violation_) return false;
  if (leader() == nullptr || !leader()->leader().ready) {
    violated("no leader ten seconds after everything was healed");
    return false;
  }
  const auto before = answered_.size();
  run_until(system_.now() + 10s);
  if (violation_) return false;
  if (answered_.size() == before)
    violated("no write was answered within ten seconds of a healed cluster");
  return !violation_;
}

void ClusterWorld::heal_and_check() {
  if (violation_) return;
  faulty_ = false;
  whole_since_ = system_.now();
  network_.set_faults({.lose = 0, .duplicate = 0, .slow = 0});
  network_.mend_all();
  for (auto& [id, server] : servers_) {
    system_.correct_wall_clock(server->machine());
    server->disk().slow_until(0s);
    server->disk().set_damages(false);
    if (server->is_on() && system_.is_paused(server->machine()))
      system_.pause(server->machine(), system_.now());
    if (!server->is_on() && !is_gone(id)) server->start();
  }
  for (auto& node : nodes_) {
    system_.correct_wall_clock(node->machine());
    node->set_faulty(false);
    if (node->is_on() && system_.is_paused(node->machine()))
      system_.pause(node->machine(), system_.now());
    if (!node->is_on()) node->start();
  }
  if (!comes_back_to_life()) return;
  loaded_ = false;
  finish_operations();
  const auto deadline = system_.now() + rest;
  const auto begin = witness_.last();
  run_until(system_.now() + 20s);
  auto missing = unsettled();
  auto quiet_until = system_.now() + quiet_rest;
  while (!violation_ && !missing.empty() && system_.now() < std::min(deadline, quiet_until)) {
    finish_operations();
    run_until(system_.now() + 10s);
    auto now_missing = unsettled();
    if (now_missing != missing || now_missing.starts_with("evaluation"))
      quiet_until = system_.now() + quiet_rest;
    missing = std::move(now_missing);
    if (const auto written = witness_.last() - begin; written > entries_to_rest)
      return violated(fmt::format("{} entries were written to no end in a healed cluster: {}",
                                  written, missing));
  }
  if (violation_) return;
  if (!missing.empty()) return violated("a healed cluster does not come to rest: " + missing);
  watch_identities();
  check_states();
  check_placements();
  check_answered();
  check_registers();
  check_log();
  check_repetitions();
  check_refused();
}

/// The last things that the operators do, so that all may come to an end.
void ClusterWorld::finish_operations() {
  end_drains();
  make_nodes_eligible();
  end_deployments();
  end_periodic_jobs();
}

/// Jobs have a right to all allocations only where nodes may take them.
void ClusterWorld::make_nodes_eligible() {
  auto* boss = leader();
  if (boss == nullptr) return;
  const auto state = boss->store()->snapshot();
  for (const auto& node : nodes_) {
    const auto known = state.node(node->id());
    if (known && known->getSchedulingEligibility() != Eligibility::ELIGIBLE)
      boss->write(
          [id = node->id()](const state::Snapshot& now, const cluster::EvalSeed& seed) {
            return cluster::decide_eligibility(now, nomad::test::anybody(), id, true, seed);
          },
          [](const auto&) {});  // else at the next look
  }
}

/// What the cluster still has to do, or has wrong; "" when it is at rest and all is accounted for.
/// (8)
std::string ClusterWorld::unsettled() {
  auto* boss = leader();
  if (boss == nullptr) return "there is no leader";
  if (auto why = account_for_members(); !why.empty()) return why;
  const auto state = boss->store()->snapshot();
  if (auto why = account_for_evaluations(state); !why.empty()) return why;
  for (const auto& node : nodes_) {
    const auto known = state.node(node->id());
    if (!known) return node->name() + " is not registered";
    if (known->getStatus() != schema::NodeStatus::READY) return node->name() + " is not ready";
    if (known->hasDrainStrategy()) return node->name() + " drains for longer than its deadline";
    if (known->getSchedulingEligibility() != Eligibility::ELIGIBLE)
      return node->name() + " is not eligible";
  }
  if (auto why = account_for_allocations(state); !why.empty()) return why;
  if (auto why = account_for_processes(state); !why.empty()) return why;
  if (auto why = account_for_jobs(state); !why.empty()) return why;
  return account_for_deployments(state);
}

std::string ClusterWorld::account_for_evaluations(const state::Snapshot& state) {
  for (const auto& entry : state.evals()) {
    const auto eval = *entry.value();
    if (eval.getStatus() != schema::EvalStatus::PENDING) continue;
    const auto since_begin = [](std::int64_t unix_time) {
      return static_cast<double>(unix_time - first_wall_time) / 1e9;
    };
    return fmt::format(
        "evaluation {} of job {} is pending (trigger {}, created at index {} of {} and {:.3f} s, "
        "changed at {}, wait {} s, until {:.3f} s)",
        view(eval.getId()), view(eval.getJobId()), static_cast<int>(eval.getTriggeredBy()),
        eval.getCreateIndex(), state.index(), since_begin(eval.getCreateTime()),
        eval.getModifyIndex(), eval.getWait() / 1'000'000'000,
        eval.getWaitUntil() == 0 ? 0.0 : since_begin(eval.getWaitUntil()));
  }
  return {};
}

std::string ClusterWorld::account_for_allocations(const state::Snapshot& state) {
  for (const auto& entry : state.allocs()) {
    const auto alloc = *entry.value()->alloc;
    const auto node = std::ranges::find_if(
        nodes_, [&](const auto& each) { return each->id() == alloc.node_id(); });
    if (node == nodes_.end()) return fmt::format("allocation {} is on an unknown node", alloc.id());
    const auto running = std::ranges::count_if((*node)->processes(), [&](const auto& process) {
      return process.running && process.id.alloc_id == alloc.id();
    });
    const bool should_run = alloc.desired_status() == DesiredStatus::RUN
                            && alloc.client_status() == ClientStatus::RUNNING;
    if (running != (should_run ? 1 : 0))
      return fmt::format("allocation {} of {} has {} processes on {}, desired {}, status {}",
                         alloc.id(), alloc.job_id(), running, (*node)->name(),
                         static_cast<int>(alloc.desired_status()),
                         static_cast<int>(alloc.client_status()));
    if (!entry.value()->terminal() && !should_run)
      return fmt::format("allocation {} of {} on {} is neither running nor over (status {})",
                         alloc.id(), alloc.job_id(), (*node)->name(),
                         static_cast<int>(alloc.client_status()));
  }
  return {};
}

std::string ClusterWorld::account_for_processes(const state::Snapshot& state) {
  for (const auto& node : nodes_)
    if (const auto left = node->engine().left(); !left.empty()) return node->name() + ": " + left;
  for (const auto& node : nodes_)
    for (const auto& process : node->processes()) {
      if (!process.running) continue;
      const auto row = state.alloc(process.id.alloc_id);
      if (!row)
        return fmt::format("{} runs a task of allocation {}, which nobody knows", node->name(),
                           process.id.alloc_id);
      if (row->alloc->node_id() != node->id())
        return fmt::format("{} runs a task of allocation {}, which is another node's", node->name(),
                           process.id.alloc_id);
    }
  return {};
}

/// (3) at the end: all members have applied the same. Something may be written while we look.
void ClusterWorld::check_states() {
  check_logs_match();
  auto lag = find_lag();
  for (int look = 0; look < 20 && !violation_ && !lag.empty(); ++look) {
    run_until(system_.now() + 250ms);
    lag = find_lag();
  }
  if (!lag.empty()) violated(lag);
}

/// (14), (15), (21) and (23), in the newest state of any server.
void ClusterWorld::check_placements() {
  for (auto* server : live_servers()) {
    const auto state = server->store()->snapshot();
    std::map<std::string, state::Demand> given;
    std::set<std::tuple<std::string, std::string, std::string, std::uint64_t>> names;
    std::set<std::pair<std::string, std::string>> positions;  // of what is alone on its node
    for (const auto& entry : state.allocs()) {
      const auto& row = *entry.value();
      const auto later = row.alloc->followup_eval_id();
      if (!later.empty() && row.alloc->next().empty() && !row.server_terminal && !state.eval(later))
        return violated(
            fmt::format("allocation {} of {} waits for evaluation {}, which nobody has made",
                        entry.key(), row.alloc->job_id(), later));
      if (row.terminal()) continue;
      given[std::string{row.alloc->node_id()}] += row.demand;
      const auto type = view(row.job->getType());
      const auto job = row.alloc->job_id();
      if ((type == "system" || type == "sysbatch" || has_distinct_hosts(job))
          && !positions.emplace(job, row.alloc->node_id()).second)
        return violated(
            fmt::format("node {} has two allocations of {}", row.alloc->node_id(), job));
      if (type != "service" && type != "batch") continue;
      // A canary has the name of what it is to replace, which a drain may move at the same time.
      if (!names
               .emplace(std::string{row.alloc->eval_id()}, std::string{row.alloc->job_id()},
                        std::string{row.alloc->name()}, row.alloc->job_version())
               .second)
        return violated(fmt::format("evaluation {} has placed {} twice", row.alloc->eval_id(),
                                    row.alloc->name()));
    }
    for (const auto& [id, demand] : given) {
      const auto node = state.node(id);
      if (!node) continue;
      const auto lacking = scheduler::Capacity::of(*node).exhausted_by(demand);
      if (!lacking.empty())
        return violated(fmt::format("node {} has less {} than its allocations have", id, lacking));
    }
  }
}

/// (24)
void ClusterWorld::check_pace() {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(system_.now()).count();
  const auto most = entries_at_once + entries_per_second * static_cast<raft::Index>(seconds);
  if (witness_.last() > most)
    violated(fmt::format("{} entries were written within {} s", witness_.last(), seconds));
}

namespace {

/// Whether a member has a wrap of it. If none has, it went away with the servers that had one.
bool can_be_shared(schema::RootKey::Reader key, const Configuration& members) {
  for (const auto wrap : key.getWraps())
    for (const auto& member : members.members)
      if (view(wrap.getRecipient()).starts_with(member.id + ' ')) return true;
  return false;
}

}  // namespace

/// Which member has not applied what the leader has; "" when all have, and their states are equal.
std::string ClusterWorld::find_lag() {
  auto* boss = leader();
  if (boss == nullptr) return "the leader went away in a healed cluster";
  Configuration members;
  boss->ask<RaftStatus>(boss->raft(), GetStatus{}, [&members](Result<RaftStatus> status) {
    if (status) members = status->configuration;
  });
  run_until(system_.now() + 1ms);
  if (members.members.empty()) return "the leader does not say who the members are";
  const auto index = boss->store()->snapshot().index();
  for (const auto& member : members.members) {
    auto* server = find(member.id);
    if (server == nullptr || !server->is_on())
      return "member " + member.id + " is not running in a healed cluster";
    if (server->store()->snapshot().index() != index)
      return fmt::format("{} has applied {} of {} entries in a healed cluster", member.id,
                         server->store()->snapshot().index(), index);
    if (server->digest() != boss->digest()) violated(member.id + " has another state at the end");
    const auto state = server->store()->snapshot();
    for (const auto& key : state.rows<state::kind::RootKeys>().all())
      if (can_be_shared(*key.value(), members) && !server->keyring().opens(key.value()))
        return fmt::format("member {} cannot open root key {}", member.id, key.key());
  }
  return {};
}

/// (6)
void ClusterWorld::check_answered() {
  for (const auto& write : answered_) {
    const auto* command = witness_.command(write.index);
    if (command == nullptr)
      return violated(fmt::format("a write was answered at index {}, which the log does not have",
                                  write.index));
    const auto read = command_of(*command);
    if (!is_write_of(read, write.name, write.value, write.sealed))
      return violated(
          fmt::format("the write of {} to {} was answered at index {}, which is another",
                      write.value, write.name, write.index));
  }
}

/// (13) Each operation writes a value of its own.
void ClusterWorld::check_repetitions() {
  std::map<std::pair<std::string, std::uint64_t>, Index> seen;
  witness_.each_command([&](Index index, const raft::Bytes& command) {
    const auto read = command_of(command);
    if (!read.isJobRegister() || judges_.is_stale(index)) return;
    const auto job = read.getJobRegister().getJob();
    const auto value = register_value(job);
    if (value == 0) return;
    const auto [first, is_new] = seen.try_emplace({copy(job.getId()), value}, index);
    if (!is_new)
      violated(fmt::format("the write of {} to {} at index {} is there again at {}", value,
                           view(job.getId()), first->second, index));
  });
}

/// (7)
void ClusterWorld::check_registers() {
  std::map<int, std::vector<RegisterOperation>> histories;
  for (const auto& operation : operations_)
    if (!operation.is_void) histories[operation.key].push_back(operation.what);
  for (const auto& [key, history] : histories)
    if (const auto why = find_nonlinearizable(history); why)
      return violated(fmt::format("register {}: {}", key, *why));
}

}  // namespace nomad::test
