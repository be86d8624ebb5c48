// runtime/raft/core: a follower collects a snapshot, and another server leads meanwhile.
#include <algorithm>
#include <iterator>
#include <string>

#include <doctest/doctest.h>

#include "runtime/raft/core.hpp"
#include "test/unit/runtime/raft/core_harness.hpp"

using namespace nomad;
using namespace nomad::raft;

namespace {

constexpr Index arriving_at = 10;

/// Server "d", which has only its first entry; "a" and "b" lead in turn.
struct Receiver {
  Configuration members{.cluster_id = "c", .members = {}, .removed = {}};
  SnapshotMeta meta{.index = arriving_at, .term = 1, .configuration = {}, .configuration_index = 1};
  std::optional<Core> core;

  Receiver() {
    for (const auto* id : {"a", "b", "d"})
      members.members.push_back({.id = id, .address = {}, .voter = true});
    meta.configuration = members;
    StartState state;
    state.hard_state = {.current_term = 1, .voted_for = {}};
    state.log.append(
        {.index = 1, .term = 1, .kind = EntryKind::configuration, .payload = encode(members)});
    state.configs.append(1, members);
    core.emplace(CoreOptions{.self = "d"}, std::move(state), Random{1}, Time{0});
  }

  /// The step with all that was waiting for its write.
  Outputs step(Input input) {
    auto out = core->step(Time{0}, std::move(input));
    if (!out.write) return out;
    auto more = core->step(Time{0}, Persisted{out.write_seq});
    std::ranges::move(more.messages, std::back_inserter(out.messages));
    return out;
  }

  Outputs chunk(const ServerId& from, Term term, std::uint64_t offset, std::uint64_t total) {
    return step(Received{{.cluster_id = "c",
                          .from = from,
                          .to = "d",
                          .term = term,
                          .body = SnapshotChunk{.meta = meta,
                                                .total_bytes = total,
                                                .offset = offset,
                                                .data = Bytes::copy(std::string(100, 'x')),
                                                .round = 1}}});
  }

  Outputs stored(std::uint64_t next) {
    return step(ChunkStored{.index = arriving_at, .term = 1, .next_offset = next});
  }

  /// What the only message says to `leader`: the next byte that is wanted.
  static std::uint64_t wanted(const Outputs& out, const ServerId& leader) {
    REQUIRE(out.messages.size() == 1);
    CHECK(out.messages[0].to == leader);
    const auto& reply = std::get<SnapshotReply>(out.messages[0].body);
    CHECK_FALSE(reply.installed);
    return reply.next_offset;
  }
};

}  // namespace

TEST_CASE("snapshot transfer: another leader's file of the same snapshot begins anew") {
  Receiver receiver;
  REQUIRE(receiver.chunk("a", 2, 0, 300).store_chunk);
  CHECK(Receiver::wanted(receiver.stored(100), "a") == 100);
  REQUIRE(receiver.chunk("a", 2, 100, 300).store_chunk);

  // Server b leads while that is being stored; its file of the same state has other bytes.
  CHECK_FALSE(receiver.chunk("b", 3, 0, 300).store_chunk);
  CHECK(receiver.stored(200).messages.empty());  // nobody waits for it any more
  const auto late = receiver.chunk("a", 2, 200, 300);
  CHECK_FALSE(late.store_chunk);

  CHECK(Receiver::wanted(receiver.chunk("b", 3, 100, 300), "b") == 0);
  const auto first = receiver.chunk("b", 3, 0, 300);
  REQUIRE(first.store_chunk);
  CHECK(first.store_chunk->offset == 0);
  CHECK(Receiver::wanted(receiver.stored(100), "b") == 100);
  REQUIRE(receiver.chunk("b", 3, 100, 300).store_chunk);
  CHECK(Receiver::wanted(receiver.stored(200), "b") == 200);
  REQUIRE(receiver.chunk("b", 3, 200, 300).store_chunk);
  const auto whole = receiver.stored(300);
  CHECK(whole.install == receiver.meta);

  const auto done
      = receiver.step(SnapshotInstalled{.meta = receiver.meta, .bytes = 300, .ok = true});
  REQUIRE(done.messages.size() == 1);
  CHECK(done.messages[0].to == "b");
  CHECK(std::get<SnapshotReply>(done.messages[0].body).installed);
  CHECK(receiver.core->apply_index() == arriving_at);
}

namespace {

const std::vector<ServerId> voters{"a", "b", "c"};

/// Follows "b" in term 2 and has a log of these terms behind the members.
testing::LoneCore follower(const std::vector<Term>& terms = {}) {
  testing::LoneCore core{testing::started_with(testing::cluster_of(voters), terms)};
  core.receive("b", 2, Heartbeat{});
  core.persist();
  return core;
}

const Outputs& arrive(testing::LoneCore& core, Index index, Term term = 2) {
  return core.receive("b", SnapshotChunk{.meta = {.index = index,
                                                  .term = term,
                                                  .configuration = testing::cluster_of(voters),
                                                  .configuration_index = 1},
                                         .total_bytes = 1,
                                         .data = Bytes::copy("x")});
}

/// The leader's entries 2 and 3 come by the log, and are committed.
void catch_up(testing::LoneCore& core) {
  core.receive("b", AppendRequest{.prev_index = 1,
                                  .prev_term = 1,
                                  .entries = {{2, 2, EntryKind::command, Bytes::copy("x")},
                                              {3, 2, EntryKind::command, Bytes::copy("x")}},
                                  .commit_index = 3});
  core.persist();
  REQUIRE(core.core.commit_index() == 3);
}

}  // namespace

TEST_CASE("snapshot arrival: of what is committed already nothing is wanted") {
  auto core = follower();
  catch_up(core);
  arrive(core, 3);
  CHECK_FALSE(core.out.store_chunk.has_value());
  const auto replies = core.sent<SnapshotReply>("b");
  REQUIRE(replies.size() == 1);
  CHECK(replies[0].installed);
}

TEST_CASE("snapshot arrival: what the log brings meanwhile needs no installing") {
  auto core = follower();
  arrive(core, 3);
  REQUIRE(core.out.store_chunk.has_value());
  catch_up(core);
  core.step(ChunkStored{.index = 3, .term = 2, .next_offset = 1});
  CHECK_FALSE(core.out.install.has_value());
}

TEST_CASE("snapshot arrival: a stored chunk counts for its own snapshot") {
  auto core = follower();
  core.step(ChunkStored{.index = 3, .term = 2, .next_offset = 1});  // nothing arrives
  CHECK_FALSE(core.out.install.has_value());
  arrive(core, 3);
  core.step(ChunkStored{.index = 4, .term = 2, .next_offset = 1});
  CHECK_FALSE(core.out.install.has_value());
  core.step(ChunkStored{.index = 3, .term = 1, .next_offset = 1});
  CHECK_FALSE(core.out.install.has_value());
  core.step(ChunkStored{.index = 3, .term = 2, .next_offset = 1});
  CHECK(core.out.install.has_value());
}

TEST_CASE("snapshot arrival: a log that is another one ends where the snapshot does") {
  auto core = follower({1, 1, 1, 1});  // up to 5
  arrive(core, 3);
  core.step(ChunkStored{.index = 3, .term = 2, .next_offset = 1});
  core.step(SnapshotInstalled{.meta = *core.out.install, .bytes = 1, .ok = true});
  CHECK(core.core.log().last_index() == 3);
  CHECK(core.core.log().last_term() == 2);
}

TEST_CASE("snapshot arrival: only the leader that sent it hears that it is installed") {
  const auto replies_after = [](const ServerId& leader, Term term) {
    auto core = follower();
    arrive(core, 3);
    core.step(ChunkStored{.index = 3, .term = 2, .next_offset = 1});
    const auto meta = *core.out.install;
    if (term > 2) core.receive(leader, term, Heartbeat{});
    core.persist();
    core.step(SnapshotInstalled{.meta = meta, .bytes = 1, .ok = true});
    auto count = core.out.messages.size();
    if (core.out.write) count += core.persist().messages.size();
    return count;
  };
  CHECK(replies_after("b", 2) == 1);
  CHECK(replies_after("c", 3) == 0);
}
