// RaftWorld's registers and their clients: each client has one operation under way, and gives it
// up after a while. What they were answered is checked at the end.
#include <charconv>

#include <fmt/format.h>

#include "test/simulation/raft_world.hpp"

namespace nomad::test {

using namespace raft;
using namespace std::chrono_literals;

using Kind = RegisterOperation::Kind;

namespace {

/// The next number of `text`, which is cut off it.
std::uint64_t take_number(std::string_view& text) {
  while (!text.empty() && (text.front() < '0' || text.front() > '9'))
    text.remove_prefix(1);
  std::uint64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return failure == std::errc{} ? number : 0;
}

}  // namespace

/// "<index> <term> <state> <registers> <key>=<value>… <padding>"
std::string RaftWorld::file_of(const SnapshotMeta& meta,
                               const Server& server,
                               std::size_t padding) {
  auto file
      = fmt::format("{} {} {} {}", meta.index, meta.term, server.state, server.registers.size());
  for (const auto& [key, value] : server.registers)
    file += fmt::format(" {}={}", key, value);
  return file + ' ' + std::string(padding, '.');
}

void RaftWorld::restore_from(const std::string& file, Server& server) {
  std::string_view rest = file;
  take_number(rest);  // index
  take_number(rest);  // term
  server.state = take_number(rest);
  server.registers.clear();
  for (auto left = take_number(rest); left > 0; --left) {
    const auto key = static_cast<int>(take_number(rest));
    server.registers[key] = take_number(rest);
  }
}

/// "w <key> <value>" or "s <key> <expected> <value>"; anything else leaves the registers alone.
RegisterOperation RaftWorld::apply_command(Registers& registers, std::string_view command) {
  RegisterOperation outcome;
  if (command.empty() || (command.front() != 'w' && command.front() != 's')) return outcome;
  const bool sets = command.front() == 's';
  const auto key = static_cast<int>(take_number(command));
  auto& held = registers[key];
  if (sets) {
    const auto expected = take_number(command);
    outcome.succeeded = held == expected;
    outcome.seen = outcome.succeeded ? 0 : held;
  }
  const auto value = take_number(command);
  if (outcome.succeeded) held = value;
  return outcome;
}

void RaftWorld::start_clients() {
  clients_.assign(static_cast<std::size_t>(options_.clients), nobody);
  for (std::size_t client = 0; client < clients_.size(); ++client)
    at(now_ + delay(0ms, 50ms), [this, client] { client_acts(client); });
}

/// Calls one operation, mostly where the leader seems to be, and gives it up in time.
void RaftWorld::client_acts(std::size_t client) {
  if (options_.operations <= 0) return;  // coming to rest
  const auto id = operations_.size();
  const auto again = [this, client, id](Time after) {
    at(now_ + after, [this, client, id] {
      if (clients_[client] == id) client_acts(client);
    });
  };
  Operation operation{
      .client = client,
      .key = static_cast<int>(random_.below(static_cast<std::uint64_t>(options_.registers))),
      .what = {}};
  operation.what.called = now_.count();
  const auto luck = random_.below(10);
  if (luck >= 4) {
    operation.what.kind = luck < 8 ? Kind::write : Kind::compare_and_set;
    operation.what.value = id + 1;
  }
  auto* server = random_.chance(0.9) ? leader(true) : somebody();
  if (operation.what.kind == Kind::compare_and_set && server != nullptr)
    operation.what.expected = server->registers[operation.key];
  operations_.push_back(operation);
  clients_[client] = id;
  if (server == nullptr) return again(delay(20ms, 200ms));
  if (faulty_) ++counts_.called;
  again(delay(1s, 3s));
  const auto arrives = is_awake(*server) ? now_ + delay(50us, 3ms) : wake_time(*server);
  at(arrives, [this, server, id, life = server->life] {
    if (server->life != life || !is_awake(*server)) return;
    if (operations_[id].what.kind == Kind::read)
      read_register(*server, id);
    else
      propose_operation(*server, id);
  });
}

void RaftWorld::propose_operation(Server& server, std::size_t id) {
  const auto& operation = operations_[id];
  const auto padding = std::string(random_.below(40), 'x');
  const auto text = operation.what.kind == Kind::write
                        ? fmt::format("w {} {} {}", operation.key, operation.what.value, padding)
                        : fmt::format("s {} {} {} {}", operation.key, operation.what.expected,
                                      operation.what.value, padding);
  ProposeCommands commands;
  commands.payloads.push_back(Bytes::copy(text));
  ++counts_.writes;
  ++counts_.steps;
  auto out = server.core->step(local(server), std::move(commands));
  if (!*out.proposed)
    give_up(id);
  else
    server.proposals.push_back({.index = **out.proposed, .command = text, .operation = id});
  carry_out(server, std::move(out));
}

/// As the API does it: the newest state, then the lease; without one, a read index.
void RaftWorld::read_register(Server& server, std::size_t id) {
  const auto& core = *server.core;
  const auto key = operations_[id].key;
  const bool ready = core.barrier_index() != 0 && server.applied >= core.barrier_index();
  if (ready && core.lease_until() > local(server)) {
    ++counts_.lease_reads;
    RegisterOperation outcome;
    outcome.seen = server.registers[key];
    return complete(id, outcome);
  }
  const auto read = ++next_read_;
  server.reads[read] = {.at_least = answered_, .operation = id};
  step(server, RequestRead{read});
}

void RaftWorld::complete(std::size_t id, const RegisterOperation& outcome) {
  auto& operation = operations_[id];
  if (clients_[operation.client] != id) return;  // given up: it is as if no answer had come
  operation.what.answered = now_.count();
  operation.what.succeeded = outcome.succeeded;
  operation.what.seen = outcome.seen;
  if (faulty_) ++counts_.answered;
  clients_[operation.client] = nobody;
  at(now_ + delay(0ms, 40ms), [this, client = operation.client] {
    if (clients_[client] == nobody) client_acts(client);
  });
}

/// It was refused, or the server that had it is none any more: the client tries elsewhere.
void RaftWorld::give_up(std::size_t id) {
  const auto client = operations_[id].client;
  if (clients_[client] != id) return;
  clients_[client] = nobody;
  at(now_ + delay(5ms, 80ms), [this, client] {
    if (clients_[client] == nobody) client_acts(client);
  });
}

/// (7)
void RaftWorld::check_registers() {
  std::map<int, std::vector<RegisterOperation>> histories;
  for (const auto& operation : operations_)
    histories[operation.key].push_back(operation.what);
  for (const auto& [key, history] : histories)
    if (const auto why = find_nonlinearizable(history); why)
      return violated(fmt::format("register {}: {}", key, *why));
}

}  // namespace nomad::test
