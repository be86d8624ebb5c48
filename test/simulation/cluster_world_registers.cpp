// ClusterWorld's registers, for the checker of linearizability: some are jobs whose metadata holds
// a value, which are read and written by the HTTP API of any server, or by way of the Writer alone;
// the others variables, which are sealed, removed and written anew, while root keys come and go.
#include <charconv>
#include <cstdlib>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "runtime/base/clock.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/cluster/job_commands.hpp"
#include "runtime/cluster/variable_commands.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/object/json_codec.hpp"
#include "runtime/security/variable_items.hpp"
#include "test/simulation/cluster_jobs.hpp"
#include "test/simulation/cluster_world.hpp"
#include "test/support/anybody.hpp"

namespace nomad::test {

using namespace std::chrono_literals;
using server::SealedWritten;

using Kind = RegisterOperation::Kind;

namespace {

constexpr int api_registers = 2;
constexpr int job_registers = 3;
constexpr int registers = 6;

bool is_variable(int key) {
  return key >= job_registers;
}

std::string register_name(int key) {
  return fmt::format("{}{}", is_variable(key) ? "registers/" : "register-", key);
}

/// What somebody has found in a register.
struct Seen {
  std::uint64_t value = 0;
  std::uint64_t index = 0;  ///< When it was written.
};

/// `variable`, opened with the keyring of `server`.
Result<Seen> opened(SimServer& server, const Object<schema::Variable>& variable) {
  if (variable->getKeyId().size() == 0) return Seen{};  // there is none
  const auto key = server.store()->snapshot().root_key(view(variable->getKeyId()));
  const auto bytes = server.keyring().open_variable(key, variable);
  if (!bytes) return bytes.error();
  const auto items = security::decode_items(*bytes);
  if (!items) return items.error();
  Seen seen{.value = 0, .index = variable->getModifyIndex()};
  const auto digits = items->front().second;
  std::from_chars(digits.data(), digits.data() + digits.size(), seen.value);
  return seen;
}

Result<Seen> look_at(SimServer& server, int key) {
  const auto state = server.store()->snapshot();
  if (is_variable(key)) {
    const auto variable = state.variable("default", register_name(key));
    return variable ? opened(server, variable) : Seen{};
  }
  const auto job = state.job("default", register_name(key));
  return job ? Seen{register_value(*job), job->getJobModifyIndex()} : Seen{};
}

const std::string& body_of(const net::Response& response) {
  return response.shared_body ? *response.shared_body : response.body;
}

net::Request api_request(const char* method, std::string target, std::string body = {}) {
  net::Request request;
  request.method = method;
  request.target = std::move(target);
  request.body = std::move(body);
  request.remote = "operator:1";
  request.received = std::chrono::steady_clock::now();
  net::split_target(request);
  return request;
}

/// Whether a refusal of the API says that nothing was done.
bool says_not_done(const std::string& why) {
  return why == "No cluster leader" || why == "node is not the leader"
         || why == "leadership transfer in progress" || why == "the server is stopping";
}

/// What the API says of a register's job.
Seen seen_in(const std::string& body) {
  const auto job = boost::json::parse(body);
  const auto& fields = job.as_object();
  Seen seen{.value = 0, .index = fields.at("JobModifyIndex").to_number<std::uint64_t>()};
  const auto& digits = fields.at("Meta").as_object().at("value").as_string();
  std::from_chars(digits.data(), digits.data() + digits.size(), seen.value);
  return seen;
}

/// What a server writes to have `what` done, as the API makes it.
Result<Object<schema::Command>> variable_command(SimServer& server,
                                                 const std::string& path,
                                                 const RegisterOperation& what,
                                                 std::uint64_t at_index) {
  std::optional<std::uint64_t> check;
  if (what.kind == Kind::compare_and_set) check = at_index;
  if (what.value == 0) return cluster::delete_variable("default", path, check);
  const auto key = server.store()->snapshot().active_root_key();
  if (!key) return Error{Errc::unavailable, "keyring has not been initialized yet"};
  const auto digits = std::to_string(what.value);
  const auto sealed = server.keyring().seal_variable(
      key, "default", path, security::encode_items({{"value", digits}}), unix_now());
  if (!sealed) return sealed.error();
  return cluster::set_variable(*sealed, check);
}

}  // namespace

void ClusterWorld::use_register(std::size_t by) {
  const auto id = operations_.size();
  Operation operation{.by = by, .key = static_cast<int>(random_.below(registers)), .what = {}};
  operation.what.called = system_.now().count();
  const auto luck = random_.below(10);
  if (luck >= 4) {
    operation.what.kind = luck < 7 ? Kind::write : Kind::compare_and_set;
    operation.what.value = id + 1;
  }
  // Variables can be removed, too.
  if (luck >= 4 && is_variable(operation.key) && random_.chance(0.2)) operation.what.value = 0;
  std::uint64_t at_index = 0;
  if (operation.what.kind == Kind::compare_and_set) {
    operation.what.expected = last_seen(operation.key);
    at_index = seen_index_[{operation.key, operation.what.expected}];
    const bool is_empty = operation.what.expected == 0;
    if (is_empty && (!is_variable(operation.key) || operation.what.value == 0))
      operation.what.kind = Kind::write;
  }
  operations_.push_back(operation);
  under_way_[by] = id;
  if (faulty_) ++counts_.called;
  act_again(by, id, network_.delay(2s, 4s));
  const bool uses_api = operation.key < api_registers;
  auto* server = uses_api ? some_server() : contact();  // most have to pass it on
  if (server == nullptr) return;
  if (uses_api && operation.what.kind == Kind::read)
    read_by_api(id, *server);
  else if (uses_api)
    write_by_api(id, *server, at_index);
  else if (operation.what.kind == Kind::read)
    read_register(id, *server);
  else if (is_variable(operation.key))
    write_variable(id, *server, at_index);
  else
    write_register(id, *server, at_index);
}

/// What was seen last of this register, by whomever.
std::uint64_t ClusterWorld::last_seen(int key) const {
  for (auto seen = operations_.rbegin(); seen != operations_.rend(); ++seen) {
    const bool is_answered = seen->what.answered != RegisterOperation::unknown;
    if (seen->key == key && seen->what.kind == Kind::read && is_answered) return seen->what.seen;
  }
  return 0;
}

/// Over a connection that says nothing more when it breaks: the operator waits for some time.
void ClusterWorld::ask_api(SimServer& server,
                           net::Request request,
                           const SimExchange::Answered& answered) {
  const auto back = [this, &server, answered](const net::Response& response) {
    network_.ask(
        server.machine(), operators_machine_, false, [answered, response] { answered(response); },
        [] {});
  };
  network_.ask(
      operators_machine_, server.machine(), false,
      [&server, request, back] { server.serve_api(request, back); }, [] {});
}

void ClusterWorld::read_by_api(std::size_t id, SimServer& server) {
  const auto name = register_name(operations_[id].key);
  ask_api(server, api_request("GET", "/v1/job/" + name), [this, id](const net::Response& answer) {
    if (answer.status != 200 && answer.status != 404)
      return act_again(operations_[id].by, id, network_.delay(5ms, 80ms));
    const auto seen = answer.status == 200 ? seen_in(body_of(answer)) : Seen{};
    if (seen.value != 0) seen_index_[{operations_[id].key, seen.value}] = seen.index;
    RegisterOperation outcome;
    outcome.seen = seen.value;
    complete(id, outcome);
  });
}

void ClusterWorld::write_by_api(std::size_t id, SimServer& server, std::uint64_t at_index) {
  const auto& what = operations_[id].what;
  const auto job
      = to_json(*nomad::test::register_job(register_name(operations_[id].key), what.value));
  const auto body = fmt::format(R"({{"Job":{},"EnforceIndex":{},"JobModifyIndex":{}}})", job,
                                what.kind == Kind::compare_and_set ? "true" : "false", at_index);
  ask_api(server, api_request("PUT", "/v1/jobs", body), [this, id](const net::Response& answer) {
    auto& operation = operations_[id];
    if (answer.status == 200) {
      ++counts_.by_api;
      const auto done = boost::json::parse(body_of(answer));
      answered_.push_back(
          {.index = done.as_object().at("JobModifyIndex").to_number<std::uint64_t>(),
           .name = register_name(operation.key),
           .value = operation.what.value});
      return complete(id, {});
    }
    if (body_of(answer).starts_with("Enforcing job modify index"))
      note_failed_set(id, body_of(answer));
    if (says_not_done(body_of(answer))) note_refused(id);
    act_again(operation.by, id, network_.delay(5ms, 80ms));
  });
}

/// As the API does it: the newest state, then the lease; without one, a read index.
void ClusterWorld::read_register(std::size_t id, SimServer& server) {
  SimCall::start<Seen>(
      system_, network_, operators_machine_, server,
      {.patience = 4s, .needs_lease = mistake == Mistake::read_stale},
      [key = operations_[id].key](SimServer& boss, const SimCall::Answer<Seen>& done) {
        const auto seen = look_at(boss, key);
        if (boss.lease_holds()) return done(seen);
        boss.ask<raft::ReadReady>(boss.raft(), raft::ReadIndex{},
                                  [key, &boss, done](const Result<raft::ReadReady>& ready) {
                                    if (!ready) return done(ready.error());
                                    done(look_at(boss, key));
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
  const cluster::RegisterRequest request{
      .job = nomad::test::register_job(register_name(operations_[id].key), what.value),
      .enforce_index = what.kind == Kind::compare_and_set,
      .job_modify_index = at_index};
  const auto decide = [request](const state::Snapshot& state, const cluster::EvalSeed& seed) {
    return cluster::decide_register(state, nomad::test::anybody(), request, seed);
  };
  write_at(server, decide, [this, id](const Result<server::Written<cluster::Decision>>& done) {
    auto& operation = operations_[id];
    if (done) {
      answered_.push_back({.index = server::job_modify_index(*done),
                           .name = register_name(operation.key),
                           .value = operation.what.value});
      return complete(id, {});
    }
    if (operation.what.kind == Kind::compare_and_set && done.error().code == Errc::conflict)
      note_failed_set(id, done.error().what);
    if (done.error().code == Errc::no_leader) note_refused(id);
    act_again(operation.by, id, network_.delay(5ms, 80ms));
  });
}

/// A refused compare-and-set of a job says at which index it was changed; the log says to what.
void ClusterWorld::note_failed_set(std::size_t id, const std::string& why) {
  const auto colon = why.rfind(": ");
  const auto index
      = colon == std::string::npos ? 0 : std::strtoull(why.c_str() + colon + 2, nullptr, 10);
  const auto* command = witness_.command(index);
  operations_[id].is_void = true;
  if (command == nullptr) return;
  const auto read = command_of(*command);
  if (!read.isJobRegister()) return;
  operations_[id].is_void = false;
  RegisterOperation outcome;
  outcome.succeeded = false;
  outcome.seen = register_value(read.getJobRegister().getJob());
  complete(id, outcome);
}

/// Said of a job's write that nothing was done.
void ClusterWorld::note_refused(std::size_t id) {
  const auto& operation = operations_[id];
  ++counts_.refused_writes;
  refused_.emplace(register_name(operation.key), operation.what.value);
}

void ClusterWorld::write_variable(std::size_t id, SimServer& server, std::uint64_t at_index) {
  struct Done {
    SealedWritten written;
    Seen seen;  ///< Of a conflict.
  };

  const auto path = register_name(operations_[id].key);
  SimCall::start<Done>(
      system_, network_, operators_machine_, server, {},
      [path, what = operations_[id].what, at_index](SimServer& boss,
                                                    const SimCall::Answer<Done>& done) {
        const auto command = variable_command(boss, path, what, at_index);
        if (!command) return done(command.error());
        boss.write_sealed(*command, [&boss, done](const Result<SealedWritten>& written) {
          if (!written) return done(written.error());
          if (!written->conflict) return done(Done{*written, {}});
          const auto seen = opened(boss, written->variable);
          if (!seen) return done(seen.error());
          done(Done{*written, *seen});
        });
      },
      [this, id, path](const Result<Done>& done) {
        auto& operation = operations_[id];
        if (!done) return act_again(operation.by, id, network_.delay(5ms, 80ms));
        RegisterOperation outcome;
        if (done->written.conflict) {
          ++counts_.refused_sets;
          outcome.succeeded = false;
          outcome.seen = done->seen.value;
          // Sealed anew with another key it has another index, and the same value.
          operation.is_void = outcome.seen == operation.what.expected;
        } else {
          ++(operation.what.value == 0 ? counts_.removed_variables : counts_.written_variables);
          const auto sealed
              = done->written.variable ? done->written.variable->getData() : capnp::Data::Reader{};
          answered_.push_back({.index = done->written.index,
                               .name = path,
                               .value = operation.what.value,
                               .sealed = {sealed.begin(), sealed.end()}});
        }
        complete(id, outcome);
      });
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

/// Has all variables sealed anew with a new root key.
void ClusterWorld::rotate_keys(std::size_t by) {
  const auto id = begin_change(by);
  auto* server = contact();
  if (server == nullptr) return;
  SimCall::start<SealedWritten>(
      system_, network_, operators_machine_, *server, {},
      [key_id = make_uuid(random_)](SimServer& boss, const SimCall::Answer<SealedWritten>& done) {
        security::Keyring::Holders holders;
        const auto state = boss.store()->snapshot();
        for (const auto& entry : state.rows<state::kind::KeyHolders>().all())
          holders.push_back(entry.value());
        const auto key = boss.keyring().make_root_key(key_id, unix_now(), holders);
        boss.write_sealed(cluster::put_root_key(key, true), done);
      },
      [this, by, id](const Result<SealedWritten>& done) {
        if (done) ++counts_.rotations;
        end_change(by, id, done.has_value());
      });
}

}  // namespace nomad::test
