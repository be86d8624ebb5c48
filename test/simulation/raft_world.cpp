#include "test/simulation/raft_world.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/raft/invariant.hpp"

namespace nomad::test {

using namespace raft;
using namespace std::chrono_literals;

namespace {

std::uint64_t chain(std::uint64_t state, const Entry& entry) {
  auto mixed = state * 0x9e37'79b9'7f4a'7c15 + entry.index;
  for (const char letter : entry.payload.text())
    mixed = (mixed ^ static_cast<unsigned char>(letter)) * 0x0000'0100'0000'01b3;
  return mixed | 1;  // 0 means "not applied yet"
}

}  // namespace

RaftWorld::RaftWorld(RaftWorldOptions options) : options_(options), random_(options.seed) {
  Configuration members{.cluster_id = "world", .members = {}, .removed = {}};
  for (int number = 0; number < options_.servers; ++number)
    members.members.push_back({.id = fmt::format("s{}", number),
                               .address = fmt::format("host{}", number),
                               .voter = true});
  for (const auto& member : members.members)
    add_server(member.id, &members);
  next_server_ = options_.servers;
  schedule_load();
  start_clients();
}

RaftWorld::~RaftWorld() = default;

void RaftWorld::at(Time when, std::function<void()> action) {
  events_.push(
      {std::max(when, now_), ++order_, std::make_shared<std::function<void()>>(std::move(action))});
}

void RaftWorld::run(Time duration) {
  run_until(now_ + duration);
}

void RaftWorld::run_until(Time end) {
  try {
    while (!violation_ && !events_.empty() && events_.top().at <= end) {
      const auto event = events_.top();
      events_.pop();
      now_ = event.at;
      (*event.action)();
    }
  } catch (const InvariantViolated& err) {
    violated(err.what());
  }
  now_ = std::max(now_, end);
}

Time RaftWorld::local(const Server& server) const {
  const auto passed = static_cast<double>(now_.count()) * server.clock_rate;
  return server.clock_offset + Time{static_cast<std::int64_t>(passed)};
}

Time RaftWorld::global(const Server& server, Time local) const {
  const auto passed = static_cast<double>((local - server.clock_offset).count());
  return Time{static_cast<std::int64_t>(passed / server.clock_rate) + 1};
}

Time RaftWorld::delay(Time shortest, Time longest) {
  const auto spread = static_cast<std::uint64_t>((longest - shortest).count());
  return shortest + Time{static_cast<std::int64_t>(random_.below(spread + 1))};
}

RaftWorld::Server* RaftWorld::find(const ServerId& id) {
  const auto found = servers_.find(id);
  return found == servers_.end() ? nullptr : found->second.get();
}

Time RaftWorld::wake_time(const Server& server) {
  return server.paused_until + delay(0ms, 20ms);
}

RaftWorld::Server* RaftWorld::leader(bool even_paused) {
  std::vector<Server*> leading;
  for (auto& [id, server] : servers_)
    if (server->core && (even_paused || is_awake(*server)) && server->core->role() == Role::leader)
      leading.push_back(server.get());
  return leading.empty() ? nullptr : leading[random_.below(leading.size())];
}

void RaftWorld::step(Server& server, Input input) {
  if (violation_ || !server.core) return;
  tick_if_due(server);
  if (violation_ || !server.core) return;
  ++counts_.steps;
  carry_out(server, server.core->step(local(server), std::move(input)));
}

void RaftWorld::carry_out(Server& server, Outputs out) {
  check_step(server, out);
  if (violation_) return;
  if (out.fatal) return violated(server.id + " stops: " + out.fatal->what);
  const bool writes = out.write.has_value();
  if (writes) {
    server.disk.pending.push_back({out.write_seq, std::move(*out.write)});
    write_next(server);
  }
  for (const auto& message : out.messages)
    send(server, message);
  for (const auto& read : out.reads)
    if (const auto asked = server.reads.find(read.id); asked != server.reads.end())
      asked->second.granted = std::max<Index>(read.index, 1);
  for (const auto id : out.refused_reads)
    if (const auto refused = server.reads.extract(id);
        !refused.empty() && refused.mapped().operation != nobody)
      give_up(refused.mapped().operation);
  for (const auto& wanted : out.log_fetches)
    fetch(server, wanted);
  for (const auto& wanted : out.chunk_fetches)
    fetch(server, wanted);
  if (out.store_chunk) store_chunk(server, std::move(*out.store_chunk));
  if (out.install) install(server, std::move(*out.install));
  if (out.truncate_through > 0) cut_log(server, out.truncate_through);
  if (server.core->role() != Role::leader)
    for (const auto& proposal : std::exchange(server.proposals, {}))
      if (proposal.operation != nobody) give_up(proposal.operation);
  apply(server);
  arm(server);
  if (writes && mistake == Mistake::forget_fsync) step(server, Persisted{out.write_seq});
}

void RaftWorld::arm(Server& server) {
  const auto due = server.core->next_look(local(server));
  if (!due || (server.timer && *server.timer <= *due)) return;
  server.timer = due;
  at(global(server, *due), [this, &server, life = server.life] { ring(server, life); });
}

/// The timer fires, of a paused server when it wakes.
void RaftWorld::ring(Server& server, std::uint64_t life) {
  if (server.life != life || !server.core) return;
  if (is_awake(server)) return tick_if_due(server);
  at(wake_time(server), [this, &server, life] { ring(server, life); });
}

/// As a node does, before anything else that it takes in.
void RaftWorld::tick_if_due(Server& server) {
  if (!server.timer || local(server) < *server.timer) return;
  const auto late = local(server) - *server.timer;
  server.timer.reset();
  step(server, Tick{late});
}

void RaftWorld::send(Server& from, const Message& message) {
  ++counts_.messages;
  check_sent(from, message);
  if (cut_.contains({message.from, message.to})) return;
  const auto& faults = options_.faults;
  if (faulty_ && random_.chance(faults.lose)) {
    ++counts_.lost;
    return;
  }
  const bool twice = faulty_ && random_.chance(faults.duplicate);
  if (twice) ++counts_.duplicated;
  for (int copy = 0; copy < (twice ? 2 : 1); ++copy) {
    const bool slow = faulty_ && random_.chance(faults.slow_message);
    if (slow) ++counts_.delayed;
    at(now_ + (slow ? delay(5ms, 1s) : delay(100us, 5ms)), [this, message] { deliver(message); });
  }
}

void RaftWorld::deliver(const Message& message) {
  auto* server = find(message.to);
  if (server == nullptr || !server->core || cut_.contains({message.from, message.to})) return;
  if (!is_awake(*server)) {
    // It waits in the socket's buffer.
    at(wake_time(*server), [this, message] { deliver(message); });
    return;
  }
  const auto* vote = std::get_if<VoteReply>(&message.body);
  if (vote != nullptr && vote->pre_vote && vote->granted)
    server->supporters[message.term].insert(message.from);
  step(*server, Received{message});
}

void RaftWorld::answer(Server& server, Index index, const RegisterOperation& outcome) {
  if (violation_ || server.proposals.empty() || server.proposals.front().index != index) return;
  const auto proposal = std::move(server.proposals.front());
  server.proposals.pop_front();
  if (committed_[index].command != proposal.command)
    return violated(fmt::format("{} answered a write that is not at index {}", server.id, index));
  ++counts_.answered_writes;
  answered_ = std::max(answered_, index);
  if (proposal.operation != nobody) complete(proposal.operation, outcome);
  for (auto& [id, other] : servers_)
    check_lease(*other);
}

void RaftWorld::apply(Server& server) {
  if (std::exchange(server.applying, true)) return;
  apply_committed(server);
  server.applying = false;
}

/// Applies what is committed and durable, and answers as a node does: after the state has it.
void RaftWorld::apply_committed(Server& server) {
  while (!violation_ && server.applied < server.core->apply_index()) {
    const auto index = server.applied + 1;
    const auto& log = server.core->log();
    Entry entry;
    if (index >= log.cached_from()) {
      entry = log.entries(index, index, 1).front();
    } else {
      const auto offset = index - server.disk.base - 1;
      if (index <= server.disk.base || offset >= server.disk.log.size())
        return violated(fmt::format("{} has lost committed entry {}", server.id, index));
      entry = server.disk.log[offset];
    }
    server.state = chain(server.state, entry);
    const auto outcome = entry.kind == EntryKind::command
                             ? apply_command(server.registers, entry.payload.text())
                             : RegisterOperation{};
    server.applied = index;
    auto& known = committed_[index];
    if (known.state == 0) {
      known.state = server.state;
      known.command = entry.payload.text();
    } else if (known.state != server.state) {
      return violated(fmt::format("{} has another state after index {}", server.id, index));
    }
    answer(server, index, outcome);
    step(server, AppliedUpTo{index});
    if (violation_ || !server.core) return;
  }
  for (auto read = server.reads.begin(); read != server.reads.end();) {
    if (read->second.granted == 0 || read->second.granted > server.applied) {
      ++read;
      continue;
    }
    ++counts_.answered_reads;
    if (server.applied < read->second.at_least)
      return violated(fmt::format("{} answered a read from index {}, but {} was answered before it",
                                  server.id, server.applied, read->second.at_least));
    if (read->second.operation != nobody) {
      const auto key = operations_[read->second.operation].key;
      RegisterOperation outcome;
      outcome.seen = server.registers[key];
      complete(read->second.operation, outcome);
    }
    read = server.reads.erase(read);
  }
}

void RaftWorld::heal_and_check() {
  if (violation_) return;
  faulty_ = false;
  cut_.clear();
  for (auto& [id, server] : servers_) {
    server->paused_until = now_;
    server->disk.slow_until = now_;
    server->disk.fails = false;
    if (!server->core && !server->removed) restart(*server);
  }
  if (!comes_to_rest()) return;
  check_agreement();
  if (!violation_) check_registers();
}

std::vector<std::pair<const char*, std::uint64_t>> RaftWorldCounts::all() const {
  return {{"messages", messages},
          {"lost messages", lost},
          {"doubled messages", duplicated},
          {"delayed messages", delayed},
          {"partitions", partitions},
          {"one-way partitions", one_way_partitions},
          {"crashes", crashes},
          {"writes lost by crashes", lost_writes},
          {"torn writes", torn_writes},
          {"pauses", pauses},
          {"freezes", freezes},
          {"slow disks", slow_disks},
          {"failed disks", failed_disks},
          {"membership changes", membership_changes},
          {"leadership transfers", transfers},
          {"snapshots", snapshots},
          {"installed snapshots", installed_snapshots},
          {"refused snapshots", refused_snapshots},
          {"elections", leaders},
          {"lease reads", lease_reads}};
}

std::optional<std::string> run_raft_world(const RaftWorldOptions& options,
                                          Time duration,
                                          RaftWorldCounts* counts) {
  RaftWorld world{options};
  world.run(duration);
  world.heal_and_check();
  if (counts != nullptr) *counts = world.counts();
  return world.violation();
}

}  // namespace nomad::test
