// runtime/raft/core: transcripts of small scenarios. Each file holds a script and what the cores
// must do. After a wanted change of behaviour run with NOMAD_REWRITE_TRANSCRIPTS=1 and review the
// difference.
#include "runtime/raft/core.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "runtime/raft/invariant.hpp"
#include "test/unit/runtime/raft/core_harness.hpp"
#include "test/unit/runtime/raft/transcript.hpp"

using namespace nomad;
using namespace nomad::raft;

TEST_CASE("core: transcripts") {
  int files = 0;
  for (const auto& item : std::filesystem::directory_iterator{NOMAD_TRANSCRIPTS}) {
    ++files;
    CAPTURE(item.path().filename().string());
    std::ifstream in{item.path()};
    const std::string wanted{std::istreambuf_iterator<char>{in}, {}};
    const auto made = test::replay(wanted);
    CHECK(made == wanted);
    if (std::getenv("NOMAD_REWRITE_TRANSCRIPTS") != nullptr) std::ofstream{item.path()} << made;
  }
  CHECK(files >= 7);
}

namespace {

Configuration single() {
  return {.cluster_id = "c", .members = {{.id = "a", .address = {}, .voter = true}}, .removed = {}};
}

Core single_voter() {
  StartState start;
  start.hard_state = {.current_term = 1, .voted_for = {}};
  start.log.append(
      {.index = 1, .term = 1, .kind = EntryKind::configuration, .payload = encode(single())});
  start.configs.append(1, single());
  return Core{CoreOptions{.self = "a"}, std::move(start), Random{1}, Time{0}};
}

/// Everything the core asks for is durable at once.
void settle(Core& core, Outputs out, Time core_time = Time{0}) {
  while (out.write)
    out = core.step(core_time, Persisted{out.write_seq});
}

}  // namespace

TEST_CASE("core: a single voter needs no time to lead, and no timer afterwards") {
  auto core = single_voter();
  CHECK(core.next_deadline() == Time{0});

  settle(core, core.step(Time{0}, Tick{}));

  CHECK(core.role() == Role::leader);
  CHECK(core.apply_index() == 2);
  CHECK(core.lease_until() == Time::max());
  CHECK_FALSE(core.next_deadline().has_value());
}

TEST_CASE("core: a single voter commits nothing before it is durable") {
  auto core = single_voter();
  settle(core, core.step(Time{0}, Tick{}));

  auto first = core.step(Time{0}, ProposeCommands{{Bytes::copy("x"), Bytes::copy("y")}});
  auto second = core.step(Time{0}, ProposeCommands{{Bytes::copy("z")}});
  CHECK(first.proposed->value() == 3);
  CHECK(second.proposed->value() == 5);
  CHECK(core.apply_index() == 2);

  core.step(Time{0}, Persisted{first.write_seq});
  CHECK(core.apply_index() == 4);
  core.step(Time{0}, Persisted{second.write_seq});
  CHECK(core.apply_index() == 5);
}

namespace {

Core one_of_three(const std::string& self, std::uint64_t seed) {
  Configuration three{.cluster_id = "c", .members = {}, .removed = {}};
  for (const auto* id : {"a", "b", "c"})
    three.members.push_back({.id = id, .address = {}, .voter = true});
  StartState start;
  start.hard_state = {.current_term = 1, .voted_for = {}};
  start.log.append(
      {.index = 1, .term = 1, .kind = EntryKind::configuration, .payload = encode(three)});
  start.configs.append(1, three);
  return Core{CoreOptions{.self = self}, std::move(start), Random{seed}, Time{0}};
}

}  // namespace

TEST_CASE("core: followers stand for election one after the other, none before its time") {
  const auto timeout = CoreOptions{}.election_timeout;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Time last = timeout;
    for (const auto* id : {"a", "b", "c"}) {
      const auto stands = one_of_three(id, seed).next_deadline().value();
      CHECK(stands > last);
      last = stands;
    }
    CHECK(last < 2 * timeout);
  }
}

TEST_CASE("core: who stood in vain tries again, and never later than twice the time-out") {
  const auto timeout = CoreOptions{}.election_timeout;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    auto core = one_of_three("c", seed);  // the others are away
    auto now = core.next_deadline().value();
    for (int attempt = 1; attempt <= 5; ++attempt) {
      const auto out = core.step(now, Tick{});
      CHECK(core.role() == Role::pre_candidate);
      CHECK(out.messages.size() == 2);
      const auto next = core.next_deadline().value();
      CHECK(next >= now + (attempt == 1 ? timeout / 2 : timeout));
      CHECK(next <= now + (attempt == 1 ? timeout : 2 * timeout));
      now = next;
    }
  }
}

TEST_CASE("core: messages that are malformed, foreign or misdirected change nothing") {
  auto core = single_voter();
  settle(core, core.step(Time{0}, Tick{}));
  const Message good{
      .cluster_id = "c", .from = "b", .to = "a", .term = 99, .body = HeartbeatReply{}};
  const auto ignored = [&core](Message message) {
    const auto out = core.step(Time{0}, Received{std::move(message)});
    return out.messages.empty() && !out.write && core.role() == Role::leader;
  };

  auto message = good;
  message.protocol = 2;
  CHECK(ignored(message));
  message = good;
  message.cluster_id = "other";
  CHECK(ignored(message));
  message = good;
  message.to = "c";
  CHECK(ignored(message));
  message = good;
  message.from = "a";
  CHECK(ignored(message));
  message = good;
  message.body = AppendRequest{.prev_index = 1,
                               .prev_term = 1,
                               .entries = {{.index = 3, .term = 1, .kind = {}, .payload = {}}},
                               .commit_index = 0,
                               .round = 0};
  CHECK(ignored(message));
  message.body = AppendRequest{.prev_index = 2,
                               .prev_term = 2,
                               .entries = {{.index = 3, .term = 100, .kind = {}, .payload = {}}},
                               .commit_index = 0,
                               .round = 0};
  CHECK(ignored(message));
}

TEST_CASE("core: what a snapshot has made durable stays so while older writes end") {
  auto core = one_of_three("b", 1);
  const auto from_leader = [&core](Body body) {
    return core.step(
        Time{0},
        Received{{.cluster_id = "c", .from = "a", .to = "b", .term = 2, .body = std::move(body)}});
  };
  const auto append = [&](Index first, Index last) {
    AppendRequest request{.prev_index = first - 1,
                          .prev_term = first == 2 ? Term{1} : Term{2},
                          .entries = {},
                          .commit_index = 0,
                          .round = 1};
    for (auto index = first; index <= last; ++index)
      request.entries.push_back(
          {.index = index, .term = 2, .kind = EntryKind::command, .payload = Bytes::copy("x")});
    return from_leader(std::move(request)).write_seq;
  };
  // Both writes are under way when a snapshot that the log continues is installed.
  const auto first = append(2, 3);
  const auto second = append(4, 6);
  const SnapshotMeta meta{
      .index = 5, .term = 2, .configuration = core.configuration(), .configuration_index = 1};
  from_leader(SnapshotChunk{
      .meta = meta, .total_bytes = 4, .offset = 0, .data = Bytes::copy("file"), .round = 1});
  REQUIRE(core.step(Time{0}, ChunkStored{.index = 5, .term = 2, .next_offset = 4}).install);
  core.step(Time{0}, SnapshotInstalled{.meta = meta, .bytes = 4, .ok = true});
  CHECK(core.log().last_index() == 6);
  CHECK(core.durable_index() == 5);
  CHECK(core.apply_index() == 5);

  core.step(Time{0}, Persisted{first});
  CHECK(core.durable_index() == 5);
  CHECK(core.apply_index() == 5);
  core.step(Time{0}, Persisted{second});
  CHECK(core.durable_index() == 6);
}

TEST_CASE("core: a broken promise of its surroundings is noticed") {
  auto core = single_voter();
  settle(core, core.step(Time{5}, Tick{}), Time{5});
  CHECK_THROWS_AS(core.step(Time{4}, Tick{}), InvariantViolated);
  CHECK_THROWS_AS(core.step(Time{6}, Persisted{1'000}), InvariantViolated);
}

TEST_CASE("core: how long the leader has been silent, which one itself never is") {
  raft::testing::LoneCore core{
      raft::testing::started_with(raft::testing::cluster_of({"a", "b", "c"}))};
  CHECK(core.core.last_contact(Time{300}) == Time{300});
  core.now = Time{100};
  core.receive("b", 2, Heartbeat{});
  CHECK(core.core.last_contact(Time{300}) == Time{200});
  core.elect();
  CHECK(core.core.last_contact(core.now + Time{300}) == Time{0});
}

TEST_CASE("core: who claims the term that this server leads is noted and not believed") {
  auto core = raft::testing::LoneCore::leading(
      raft::testing::started_with(raft::testing::cluster_of({"a", "b", "c"})));
  core.receive("c", Heartbeat{});
  CHECK(core.out.notices.size() == 1);
  CHECK(core.out.messages.empty());
  CHECK(core.core.role() == Role::leader);
}

TEST_CASE("core: a leader whose disk alone answers nothing for five timeouts steps down") {
  const auto silent_for = [](const Configuration& members, Time duration, bool alone) {
    auto core = raft::testing::LoneCore::leading(raft::testing::started_with(members));
    const auto began = core.now;
    if (alone)
      for (const char* other : {"b", "c"})
        core.accept(other, core.core.log().last_index());
    for (Time passed{0}; passed < duration; passed += std::chrono::milliseconds{500}) {
      core.tick_at(began + passed);
      for (const auto& beat : core.sent<Heartbeat>("b"))
        core.receive("b", HeartbeatReply{.round = beat.round});
    }
    core.tick_at(began + duration);
    return core.core.role();
  };
  const auto five = 5 * CoreOptions{}.election_timeout;
  const auto three = raft::testing::cluster_of({"a", "b", "c"});
  CHECK(silent_for(three, five, true) == Role::leader);
  CHECK(silent_for(three, five + Time{1}, true) == Role::follower);
  CHECK(silent_for(three, 2 * five, false) == Role::leader);  // the others' are no better
}

TEST_CASE("core: a single voter leads on with a silent disk, for nobody else could") {
  auto core = raft::testing::LoneCore{
      raft::testing::started_with(raft::testing::cluster_of({"a"}, {"b"}))};
  core.step(Tick{});
  core.persist();
  REQUIRE(core.core.role() == Role::leader);
  core.tick_at(std::chrono::seconds{6});
  CHECK(core.core.role() == Role::leader);
}
