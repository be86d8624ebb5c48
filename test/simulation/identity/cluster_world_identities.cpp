// ClusterWorld's identities of tasks: rules (25) to (29), and deaths at each step of their way.
#include <algorithm>

#include <fmt/format.h>

#include "actors/roles/node_door.hpp"
#include "runtime/access/login/jwt.hpp"
#include "runtime/identity/issue.hpp"
#include "test/simulation/cluster_jobs.hpp"
#include "test/simulation/cluster_world.hpp"

namespace nomad::test {

using namespace std::chrono_literals;
using Position = SimIdentities::Position;

namespace {

/// See (26).
constexpr Time longest_recovery = 60s;

/// A third party keeps what it has fetched for so long; the next key is published twice as long
/// before it signs.
constexpr Time fetch_interval = 3s;

constexpr Time between_kills = 12s;

/// Old ones are forgotten.
constexpr std::size_t most_shown = 400;

/// Whose key signs by that id.
std::string root_key_of(std::string key_id) {
  const auto end = key_id.size() - std::min(key_id.size(), std::string_view{"-rs256"}.size());
  if (std::string_view{key_id}.substr(end) == "-rs256") key_id.resize(end);
  return key_id;
}

std::string key_of(std::string_view token) {
  const auto jwt = access::parse_jwt(token);
  return jwt ? jwt->key_id : std::string{};
}

}  // namespace

ClusterWorldOptions only_kills(KillsAt kills, std::uint64_t seed) {
  ClusterWorldOptions options{.seed = seed, .nodes = 3, .operators = 3};
  options.faults = {.network = {.lose = 0, .duplicate = 0, .slow = 0},
                    .partitions = 0,
                    .server_crashes = 0,
                    .agent_crashes = 0,
                    .machine_crashes = 0,
                    .engine_failures = 0,
                    .pauses = 0,
                    .slow_disks = 0,
                    .failing_disks = 0,
                    .clock_jumps = 0,
                    .membership_changes = 0,
                    .transfers = 0,
                    .failpoints = 0};
  options.kills = std::move(kills);
  return options;
}

Result<> ClusterWorld::kill_at(std::string_view failpoint) {
  if (failpoint != options_.kills->failpoint) return {};
  if (killed_ && system_.now() - *killed_ < between_kills) return {};
  const auto machine = *system_.running();
  killed_ = system_.now();
  ++counts_.kills;
  const auto off = network_.delay(10ms, 3s);
  auto* const boss = leader();
  const auto victim = options_.kills->victim;
  for (auto* server : live_servers())
    if (victim == Victim::servers || (victim == Victim::leader && server == boss)
        || (victim == Victim::itself && server->machine() == machine))
      crash_server(*server, off);
  if (victim == Victim::itself)
    for (auto& node : nodes_)
      if (node->machine() == machine) crash_node(*node, false, off);
  if (!system_.is_on(machine)) throw SimulatedCrash{};
  return {};
}

/// (25) of what a node gives a task.
void ClusterWorld::note_identity(SimNode& node,
                                 const Position& position,
                                 const std::string& token) {
  ++counts_.identities;
  if (node.identities().find(position) != nullptr) ++counts_.renewed;
  const auto whose = fmt::format("{} of task {} of allocation {} on {}", position.file,
                                 position.task, position.alloc_id, node.name());
  const auto jwt = access::parse_jwt(token);
  if (!jwt) return violated(whose + " is no token");
  const auto claim = [&](std::string_view name) { return access::text_claim(jwt->claims, name); };
  const bool is_for_others = position.file == others_identity_file;
  const auto* const name = is_for_others                            ? others_identity
                           : position.file == renewed_identity_file ? renewed_identity
                                                                    : nullptr;
  const auto subject = name != nullptr ? fmt::format("global:default:{}:group:{}:{}",
                                                     claim("nomad_job_id"), position.task, name)
                                       : "";
  if (claim("nomad_allocation_id") != position.alloc_id || claim("nomad_task") != position.task
      || claim("nomad_namespace") != "default" || claim("sub") != subject)
    return violated(fmt::format("{} is of task {} of allocation {}, {}", whose, claim("nomad_task"),
                                claim("nomad_allocation_id"), claim("sub")));
  note_signing_keys();
  if (jwt->algorithm != (is_for_others ? "RS256" : "EdDSA"))
    return violated(whose + " is signed by " + jwt->algorithm);
  if (!signing_keys_.contains(root_key_of(jwt->key_id)))
    return violated(
        fmt::format("{} is signed by key {}, which was never the active one", whose, jwt->key_id));
  if (shown_.size() >= most_shown) shown_.erase(shown_.begin(), shown_.begin() + most_shown / 2);
  shown_.emplace_back(position.alloc_id, token);
}

void ClusterWorld::note_signing_keys() {
  witness_.each_command_after(keys_seen_, [this](raft::Index index, const raft::Bytes& payload) {
    keys_seen_ = index;
    const auto command = command_of(payload);
    if (!command.isRootKeyUpsert()) return;
    const auto key = command.getRootKeyUpsert().getKey();
    if (key.getState() == schema::RootKeyState::ACTIVE) signing_keys_.insert(copy(key.getKeyId()));
  });
}

void ClusterWorld::check_identities() {
  auto* asked = some_server();
  if (asked == nullptr) return;
  in_use_.clear();
  for (auto& node : nodes_)
    for (const auto& process : node->processes())
      if (process.running && !violation_) check_identities_of(*node, process, *asked);
  check_ended(*asked);
  check_published(*asked);
  if (random_.chance(0.3)) ask_for_anothers(*asked);
}

void ClusterWorld::check_identities_of(SimNode& node, const SimProcess& process, SimServer& asked) {
  const auto row = asked.store()->snapshot().alloc(process.id.alloc_id);
  if (!row) return;  // it has not heard of it yet, or not any more
  const auto task = row->job->getTaskGroups()[0].getTasks()[0];
  if (!task.hasIdentity()) return;
  const bool shows_to_others = task.getIdentities().size() > 1;
  const auto whose = fmt::format("task {} of allocation {} on {}", process.id.task,
                                 process.id.alloc_id, node.name());
  const auto file = [&](const char* name) {
    return node.identities().find({process.id.alloc_id, process.id.task, name});
  };
  const auto* own = file(default_identity_file);
  const auto* renewed = file(renewed_identity_file);
  const auto* others = shows_to_others ? file(others_identity_file) : renewed;
  const bool has_variable = !process.container.empty() || !process.token.empty();
  if (own == nullptr || renewed == nullptr || others == nullptr || !has_variable
      || own->token.empty() || renewed->token.empty() || others->token.empty())
    return violated(whose + " runs without an identity that its job says it shows");
  for (const auto* renewal : {renewed, others})
    if (options_.kills && faulty_ && system_.now() - renewal->written > Time{identity_ttl})
      return violated(whose + " has an identity that is over");
  if (row->client_terminal) return;
  check_believed(asked, own->token, whose);
  if (!process.token.empty()) check_believed(asked, process.token, whose);
  if (!whole_since_ || system_.now() < *whole_since_ + longest_recovery) return;
  for (const auto* each : {own, renewed, others})
    in_use_.push_back(each->token);
  for (auto* server : live_servers())
    check_believed(*server, renewed->token, whose);
}

/// (26)
void ClusterWorld::check_believed(SimServer& asked,
                                  const std::string& token,
                                  const std::string& whose) {
  ++counts_.verified;
  const auto known = asked.who_is(token);
  if (!known || *known) return;
  // A leader that still waits for the key says so, and refuses nothing.
  const bool is_whole = whole_since_ && system_.now() >= *whole_since_ + longest_recovery;
  if (known->error().code == Errc::unavailable && !is_whole) return;
  violated(fmt::format("{} refuses an identity of {}, signed by key {}: {}", asked.id(), whose,
                       key_of(token), known->error().what));
}

/// (27)
void ClusterWorld::check_ended(SimServer& asked) {
  if (shown_.empty()) return;
  const auto state = asked.store()->snapshot();
  for (int look = 0; look < 8; ++look) {
    const auto& [alloc_id, token] = shown_[random_.below(shown_.size())];
    const auto row = state.alloc(alloc_id);
    if (row && !row->client_terminal) continue;
    const auto known = asked.who_is(token);
    if (known && *known)
      return violated(fmt::format("{} believes an identity of allocation {}, which {}", asked.id(),
                                  alloc_id, row ? "has ended" : "is gone"));
  }
}

/// (28)
void ClusterWorld::ask_for_anothers(SimServer& helper) {
  auto* node = some_node();
  if (node == nullptr || node->id().empty() || shown_.empty()) return;
  const auto alloc_id = shown_[random_.below(shown_.size())].first;
  const auto row = helper.store()->snapshot().alloc(alloc_id);
  if (!row || row->alloc->node_id() == node->id()) return;
  const auto question = door::make_ask(node->id(), [&](auto& ask) {
    auto wanted = ask.initSignIdentities(1)[0];
    wanted.setAllocId(text(alloc_id));
    wanted.setTask("task");
  });
  helper.ask<door::Reply>(
      node->link(), question, [this, alloc_id, name = node->name()](const auto& answer) {
        if (!answer || !(*answer)->isIdentities()) return;
        if ((*answer)->getIdentities()[0].getToken().size() > 0)
          violated(fmt::format("{} gets the identity of allocation {}, which is another node's",
                               name, alloc_id));
      });
}

/// As a third party does it: what it can't read it asks for again.
void ClusterWorld::fetch_keys(SimServer& helper) {
  if (fetched_ && system_.now() - *fetched_ < fetch_interval) return;
  fetched_ = system_.now();
  net::Request request;
  request.method = "GET";
  request.target = "/.well-known/jwks.json";
  request.remote = "third:1";
  request.received = std::chrono::steady_clock::now();
  net::split_target(request);
  ask_api(helper, std::move(request), [this](const net::Response& answer) {
    auto keys = access::read_jwks(answer.body);
    if (answer.status != 200 || !keys) return;
    if (mistake == Mistake::hide_next_keys)
      std::erase_if(*keys, [this](const access::PublicKey& key) {
        return !signing_keys_.contains(root_key_of(key.id()));
      });
    published_ = std::move(*keys);
  });
}

/// (29)
void ClusterWorld::check_published(SimServer& helper) {
  fetch_keys(helper);
  if (!whole_since_ || system_.now() < *whole_since_ + longest_recovery) return;
  for (const auto& token : in_use_) {
    const auto jwt = access::parse_jwt(token);
    if (jwt && !access::is_signed_by(published_, *jwt))
      return violated(
          fmt::format("key {} signs an identity, which the keys that were asked for {} "
                      "ms ago do not verify",
                      jwt->key_id, (system_.now() - *fetched_) / 1ms));
  }
}

/// What agents take up from those before them, and what is not written at once, is renewed as well,
/// whatever the wall clocks of nodes say, and when they are set right.
void ClusterWorld::watch_identities() {
  if (options_.kills) return;  // what may be is much less there, and was checked all along
  for (auto& node : nodes_) {
    crash_node(*node, false, network_.delay(10ms, 1s));
    system_.jump_wall_clock(node->machine(), network_.delay(-4min, 4min));
    node->identities().set_faulty(true);
  }
  run_until(std::max(system_.now() + identity_ttl * 3 / 4, *whole_since_ + longest_recovery));
  for (auto& node : nodes_) {
    system_.correct_wall_clock(node->machine());
    node->identities().set_faulty(false);
  }
  run_until(system_.now() + identity_ttl * 5 / 4);
}

}  // namespace nomad::test
