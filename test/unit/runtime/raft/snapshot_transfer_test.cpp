// runtime/raft/core: a leader sends its snapshot to a member that is behind the log: lost and late
// chunks, and newer snapshots meanwhile.
#include <algorithm>
#include <iterator>

#include <doctest/doctest.h>

#include "runtime/raft/core.hpp"

using namespace nomad;
using namespace nomad::raft;
using namespace std::chrono_literals;

namespace {

constexpr Index snapshot_at = 10;
constexpr std::uint64_t file_bytes = 1'000;

Configuration members_of(const std::vector<Member>& members) {
  return {.cluster_id = "c", .members = members, .removed = {}};
}

/// Voter "a" leads alone; learner "d" has nothing, and the log begins behind a snapshot.
struct Sender {
  CoreOptions options{.self = "a", .chunk_bytes = 100, .promote_lag = 2};
  std::optional<Core> core;
  Time now{0};
  Term term = 2;

  void start() {
    const auto members = members_of(
        {{.id = "a", .address = {}, .voter = true}, {.id = "d", .address = {}, .voter = false}});
    StartState state;
    state.hard_state = {.current_term = 1, .voted_for = {}};
    state.snapshot = SnapshotMeta{
        .index = snapshot_at, .term = 1, .configuration = members, .configuration_index = 1};
    state.snapshot_bytes = file_bytes;
    state.log = LogView{snapshot_at, 1};
    state.configs = ConfigHistory{{1, members}};
    core.emplace(options, std::move(state), Random{1}, now);
    step(Tick{});
    REQUIRE(core->role() == Role::leader);
  }

  /// One step; what it writes is durable and applied at once.
  Outputs step(Input input) {
    auto out = core->step(now, std::move(input));
    auto persisted = out.write_seq;
    while (persisted != 0) {
      auto more = core->step(now, Persisted{persisted});
      persisted = more.write_seq;
      std::ranges::move(more.messages, std::back_inserter(out.messages));
      std::ranges::move(more.chunk_fetches, std::back_inserter(out.chunk_fetches));
    }
    core->step(now, AppliedUpTo{core->apply_index()});
    return out;
  }

  Outputs from_d(Body body) {
    return step(Received{
        {.cluster_id = "c", .from = "d", .to = "a", .term = term, .body = std::move(body)}});
  }

  /// Server d says that it has nothing: the leader begins to send its snapshot.
  ChunkFetch begin() {
    start();
    const auto refused = from_d(AppendReply{.accepted = false, .prev_index = snapshot_at});
    REQUIRE(refused.chunk_fetches.size() == 1);
    return refused.chunk_fetches.front();
  }

  /// The part has been read; the chunk that leaves, if one does.
  std::optional<SnapshotChunk> read(const ChunkFetch& fetch, std::string_view data = "data") {
    const auto out = step(ChunkFetched{.peer = fetch.peer,
                                       .index = fetch.index,
                                       .offset = fetch.offset,
                                       .data = Bytes::copy(data)});
    for (const auto& message : out.messages)
      if (const auto* chunk = std::get_if<SnapshotChunk>(&message.body)) return *chunk;
    return std::nullopt;
  }

  Outputs wants(std::uint64_t offset, Index index = snapshot_at, Term of = 1) {
    return from_d(
        SnapshotReply{.index = index, .term = of, .next_offset = offset, .installed = false});
  }

  /// One heartbeat that server d answers: what the leader then reads for it.
  std::vector<ChunkFetch> beat() {
    now += options.heartbeat_interval;
    Round round = 0;
    for (const auto& message : step(Tick{}).messages)
      if (const auto* heartbeat = std::get_if<Heartbeat>(&message.body)) round = heartbeat->round;
    REQUIRE(round != 0);
    return from_d(HeartbeatReply{.round = round}).chunk_fetches;
  }

  /// Beats until the chunk is read again; how long that took. `limit` when it is not.
  Time until_repeated(Time limit) {
    const auto since = now;
    while (now - since < limit) {
      const auto fetches = beat();
      CHECK(fetches.size() <= 1);
      if (fetches.empty()) continue;
      const auto passed = now - since;
      CHECK(read(fetches.front()).has_value());
      return passed;
    }
    return limit;
  }

  void write(Index count) {
    for (Index number = 0; number < count; ++number)
      step(ProposeCommands{{Bytes::copy("x")}});
  }

  /// Up to where the log may be cut after a snapshot of all that is applied. 0: not at all.
  Index save() {
    const auto meta = core->snapshot_meta(core->apply_index());
    return step(
               SnapshotSaved{.meta = meta, .bytes = 2 * file_bytes, .truncate_through = meta.index})
        .truncate_through;
  }
};

}  // namespace

TEST_CASE("snapshot transfer: while a chunk is read no other is asked for") {
  Sender sender;
  const auto fetch = sender.begin();
  CHECK(fetch.index == snapshot_at);
  CHECK(fetch.offset == 0);

  for (int beats = 0; beats < 100; ++beats)
    CHECK(sender.beat().empty());
  CHECK(sender.wants(100).chunk_fetches.empty());  // nor another position

  // What is read by then is not wanted any more: the other place is read next.
  const auto out = sender.step(ChunkFetched{
      .peer = "d", .index = fetch.index, .offset = fetch.offset, .data = Bytes::copy("data")});
  CHECK(out.messages.empty());
  REQUIRE(out.chunk_fetches.size() == 1);
  CHECK(out.chunk_fetches.front().offset == 100);
  const auto chunk = sender.read(out.chunk_fetches.front());
  REQUIRE(chunk);
  CHECK(chunk->offset == 100);
  CHECK(chunk->meta.index == snapshot_at);
  CHECK(chunk->total_bytes == file_bytes);
}

TEST_CASE("snapshot transfer: a chunk that is not answered goes again, ever less often") {
  Sender sender;
  sender.read(sender.begin());
  const auto beat = sender.options.heartbeat_interval;
  auto wait = sender.options.election_timeout / 2;
  for (int time = 0; time < 7; ++time) {
    const auto passed = sender.until_repeated(60s);
    CHECK(passed > wait);
    CHECK(passed <= wait + 2 * beat);
    wait = std::min(2 * wait, 8 * sender.options.election_timeout);
  }
  // Once it has come through, the next one is not waited for that long.
  const auto next = sender.wants(100);
  REQUIRE(next.chunk_fetches.size() == 1);
  CHECK(sender.read(next.chunk_fetches.front())->offset == 100);
  sender.now += 10ms;
  const auto after = sender.wants(200);
  REQUIRE(after.chunk_fetches.size() == 1);
  sender.read(after.chunk_fetches.front());
  CHECK(sender.until_repeated(60s) < sender.options.election_timeout);
}

TEST_CASE("snapshot transfer: over a slow link no chunk goes twice once that is known") {
  Sender sender;
  auto fetch = sender.begin();
  for (std::uint64_t next = 100; next < file_bytes; next += 100) {
    sender.read(fetch);
    int repeated = 0;
    for (const auto answered = sender.now + 3s; sender.now < answered;)
      for (const auto& again : sender.beat())
        repeated += sender.read(again) ? 1 : 0;
    if (next == 100)
      CHECK(repeated > 0);
    else
      CHECK(repeated == 0);
    const auto out = sender.wants(next);
    REQUIRE(out.chunk_fetches.size() == 1);
    fetch = out.chunk_fetches.front();
  }
}

TEST_CASE("snapshot transfer: a chunk that is reported lost goes again with the next answer") {
  Sender sender;
  sender.read(sender.begin());

  CHECK(sender.step(Unreachable{"d"}).chunk_fetches.empty());
  CHECK(sender.step(Unreachable{"d"}).chunk_fetches.empty());

  const auto again = sender.beat();
  REQUIRE(again.size() == 1);
  CHECK(again.front().offset == 0);
  sender.read(again.front());
  CHECK(sender.beat().empty());
}

TEST_CASE("snapshot transfer: goes on where the receiver stands, and begins anew where it must") {
  Sender sender;
  sender.read(sender.begin());

  auto out = sender.wants(300);
  REQUIRE(out.chunk_fetches.size() == 1);
  CHECK(out.chunk_fetches.front().offset == 300);
  CHECK(sender.read(out.chunk_fetches.front())->offset == 300);
  CHECK(sender.wants(300).chunk_fetches.empty());         // said before
  CHECK(sender.wants(file_bytes).chunk_fetches.empty());  // there is nothing
  CHECK(sender.wants(400, 9).chunk_fetches.empty());      // another snapshot

  // The receiver has lost what it had.
  CHECK(sender.wants(0).chunk_fetches.empty());
  sender.now += sender.options.election_timeout / 2;
  const auto anew = sender.beat();
  REQUIRE(anew.size() == 1);
  CHECK(sender.read(anew.front())->offset == 0);
}

TEST_CASE("snapshot transfer: who begins anew time and again is sent the file ever less often") {
  Sender sender;
  const auto beat = sender.options.heartbeat_interval;
  const auto begin_anew = [&] {
    for (std::uint64_t next = 100; next < file_bytes; next += 100) {
      const auto fetches = sender.wants(next).chunk_fetches;
      REQUIRE(fetches.size() == 1);
      sender.read(fetches.front());
    }
    CHECK(sender.wants(0).chunk_fetches.empty());
    return sender.until_repeated(10min);
  };
  sender.read(sender.begin());
  sender.write(20);
  auto pause = sender.options.election_timeout / 2;
  const auto longest = 512 * pause;
  for (int time = 0; time < 12; ++time) {
    const auto passed = begin_anew();
    CHECK(passed >= pause);
    CHECK(passed <= pause + beat);
    pause = std::min(2 * pause, longest);
  }
  CHECK(pause == longest);
  // Bytes that went before are no progress: the log waits no longer.
  CHECK_FALSE(sender.core->log_held_behind());
  CHECK(sender.save() == sender.core->apply_index());

  // Once one is installed, the next is another matter.
  const auto next = sender.from_d(
      SnapshotReply{.index = snapshot_at, .term = 1, .next_offset = file_bytes, .installed = true});
  REQUIRE(next.chunk_fetches.size() == 1);
  CHECK(next.chunk_fetches.front().index > snapshot_at);
  sender.read(next.chunk_fetches.front());
  const auto last = next.chunk_fetches.front().index;
  sender.read(sender.wants(100, last, 2).chunk_fetches.front());
  CHECK(sender.wants(0, last, 2).chunk_fetches.empty());
  CHECK(sender.until_repeated(60s) <= sender.options.election_timeout / 2 + beat);
}

TEST_CASE("snapshot transfer: while the receiver that begins anew is waited for, nothing leaves") {
  Sender sender;
  sender.read(sender.begin());
  const auto reading = sender.wants(100).chunk_fetches;
  REQUIRE(reading.size() == 1);
  CHECK(sender.wants(0).chunk_fetches.empty());
  const auto out = sender.step(
      ChunkFetched{.peer = "d", .index = snapshot_at, .offset = 100, .data = Bytes::copy("data")});
  CHECK(out.messages.empty());
  CHECK(out.chunk_fetches.empty());
  CHECK(sender.beat().empty());
  CHECK(sender.until_repeated(60s) < sender.options.election_timeout);
}

TEST_CASE("snapshot transfer: is not disturbed by newer snapshots, and the log waits for it") {
  Sender sender;
  sender.read(sender.begin());
  sender.write(20);
  CHECK(sender.save() == 0);
  CHECK(sender.core->log().base_index() == snapshot_at);

  const auto out = sender.wants(100);
  REQUIRE(out.chunk_fetches.size() == 1);
  CHECK(out.chunk_fetches.front().index == snapshot_at);
  const auto chunk = sender.read(out.chunk_fetches.front());
  REQUIRE(chunk);
  CHECK(chunk->meta.index == snapshot_at);
  CHECK(chunk->offset == 100);
  CHECK(chunk->total_bytes == file_bytes);

  // With the old snapshot it goes on in the log, which still waits.
  const auto last = sender.core->log().last_index();
  auto installed = sender.from_d(
      SnapshotReply{.index = snapshot_at, .term = 1, .next_offset = file_bytes, .installed = true});
  CHECK(installed.chunk_fetches.empty());
  REQUIRE(installed.messages.size() == 1);
  CHECK(std::get<AppendRequest>(installed.messages[0].body).prev_index == snapshot_at);
  sender.from_d(AppendReply{.accepted = true, .match_index = 15, .prev_index = snapshot_at});
  CHECK(sender.core->log_held_behind() == Index{15});
  sender.write(1);
  CHECK(sender.save() == 15);

  // When it follows, the log waits no longer.
  sender.from_d(AppendReply{.accepted = true, .match_index = last, .prev_index = 15});
  CHECK_FALSE(sender.core->log_held_behind());
  sender.write(1);
  CHECK(sender.save() == last + 2);
}

TEST_CASE("snapshot transfer: begins again with the newest when the older one is gone") {
  Sender sender;
  sender.read(sender.begin());
  sender.write(20);
  sender.save();
  const auto newest = sender.core->apply_index();
  const auto fetch = sender.wants(100).chunk_fetches;
  REQUIRE(fetch.size() == 1);

  const auto out = sender.step(
      ChunkFetched{.peer = "d", .index = fetch[0].index, .offset = fetch[0].offset, .data = {}});

  CHECK(out.messages.empty());
  REQUIRE(out.chunk_fetches.size() == 1);
  CHECK(out.chunk_fetches[0].index == newest);
  CHECK(out.chunk_fetches[0].offset == 0);
  const auto chunk = sender.read(out.chunk_fetches[0]);
  REQUIRE(chunk);
  CHECK(chunk->meta.index == newest);
  CHECK(chunk->total_bytes == 2 * file_bytes);
}

TEST_CASE("snapshot transfer: a newest snapshot that can't be read is tried again in time") {
  Sender sender;
  const auto fetch = sender.begin();
  const auto out = sender.step(
      ChunkFetched{.peer = "d", .index = fetch.index, .offset = fetch.offset, .data = {}});
  CHECK(out.messages.empty());
  CHECK(out.chunk_fetches.empty());
  CHECK(out.notices.size() == 1);
  CHECK(sender.until_repeated(60s) < sender.options.election_timeout);
}

TEST_CASE("snapshot transfer: the log waits neither for ever nor for everything") {
  Sender sender;
  SUBCASE("for who does not come forward") {
    sender.read(sender.begin());
    sender.write(20);
    sender.now += 59 * sender.options.election_timeout;
    CHECK(sender.save() == 0);
    sender.now += 2 * sender.options.election_timeout;
    sender.write(1);
    CHECK(sender.save() == sender.core->apply_index());
  }
  SUBCASE("but longer for who comes forward") {
    sender.read(sender.begin());
    sender.write(20);
    for (std::uint64_t next = 100; next < file_bytes; next += 100) {
      sender.now += 40 * sender.options.election_timeout;
      const auto fetches = sender.wants(next).chunk_fetches;
      REQUIRE(fetches.size() == 1);
      sender.read(fetches.front());
      sender.write(1);
      CHECK(sender.save() == 0);
    }
  }
  SUBCASE("for who needs too much") {
    sender.options.max_held_entries = 20;
    sender.read(sender.begin());
    sender.write(19);  // and the leader's barrier
    CHECK(sender.save() == 0);
    sender.write(1);
    CHECK(sender.save() == sender.core->apply_index());
  }
}

TEST_CASE("snapshot transfer: who leads no more sends nothing of what was read for it") {
  Sender sender;
  const auto fetch = sender.begin();
  sender.term = 9;
  sender.from_d(HeartbeatReply{});
  CHECK(sender.core->role() != Role::leader);
  CHECK_FALSE(sender.read(fetch));
}
