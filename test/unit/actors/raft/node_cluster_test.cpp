// actors/raft: three nodes under a virtual clock, with disks and a network that the test plays:
// elections, replication over a lossy network, isolation, handing over, and what the wire carries.
#include <map>

#include <doctest/doctest.h>

#include "actors/raft/node_parts.hpp"
#include "actors/raft/raft_node.hpp"
#include "actors/raft/recovery.hpp"
#include "runtime/base/random.hpp"
#include "test/support/actor_fixture.hpp"
#include "test/support/list_fsm.hpp"
#include "test/support/result_text.hpp"

using namespace nomad;
using namespace nomad::raft;
using namespace std::chrono_literals;

namespace {

/// The disk has got round to what was written up to `seq`.
struct DiskDone {
  using is_message = void;
  std::uint64_t seq = 0;
};

using Disk = actor::WithInternal<LogWriter, void(DiskDone)>;

struct NodesFixture : test::ActorFixture {
  struct Server {
    std::shared_ptr<test::ListFsm> fsm = std::make_shared<test::ListFsm>();
    std::shared_ptr<ProposalQueue> queue = std::make_shared<ProposalQueue>(1'000, 1'000'000);
    std::shared_ptr<LeaderView> leader = std::make_shared<LeaderView>();
    Time disk_delay = 1ms;
    RaftNode node;
    std::optional<RaftInbox> inbox;
    bool isolated = false;
  };

  std::map<ServerId, Server> servers;
  Random random{7};
  double loss = 0;
  std::size_t messages = 0;
  Carrier net = [this](const Carry& carried) { carry(carried); };

  NodesFixture() {
    Configuration members{.cluster_id = "c", .members = {}, .removed = {}};
    for (const char* id : {"a", "b", "c"})
      members.members.push_back({.id = id, .address = id, .voter = true});
    for (const char* id : {"a", "b", "c"})
      start(id, &members);
  }

  /// The message's sender is not told to us: its bytes are.
  void carry(const Carry& msg) {
    ++messages;
    const auto read = read_wire(msg.bytes);
    REQUIRE(read);
    auto& to = servers.at(msg.to);
    if (to.isolated || servers.at(read->message.from).isolated)
      return msg.done(Error{Errc::unavailable, "isolated"});
    msg.done({});
    if (random.chance(loss)) return;
    REQUIRE(to.inbox->deliver(msg.bytes));
  }

  void start(const ServerId& id, const Configuration* members) {
    auto& server = servers[id];
    NodeParts parts;
    parts.options.self = id;
    parts.options.address = id;
    parts.options.carrier = net;
    parts.core_options.self = id;
    parts.seed = servers.size();
    if (members != nullptr) {
      parts.start.hard_state = {.current_term = 1, .voted_for = {}};
      parts.start.log.append(
          {.index = 1, .term = 1, .kind = EntryKind::configuration, .payload = encode(*members)});
      parts.start.configs.append(1, *members);
    }
    parts.fsm = server.fsm;
    parts.queue = server.queue;
    parts.lease = std::make_shared<LeaderLease>();
    parts.counters = std::make_shared<RaftCounters>();
    parts.leader = server.leader;
    parts.clock = [this] { return Time{now().time_since_epoch()}; };
    parts.spawn_log_writer = [this, &server](const actor::Owner&, LogWriterListener listener) {
      return adopt(
          actor::spawn(system(), [&server, listener](Disk::pointer self) -> Disk::behavior_type {
            return {[self, &server](const log_writer::Write& msg) {
                      actor::send_self_after(self, server.disk_delay, DiskDone{msg.seq});
                    },
                    [](const log_writer::TruncatePrefix&) {},
                    [self, listener](DiskDone msg) {
                      self->send(listener, log_writer::Written{msg.seq});
                    }};
          }));
    };
    parts.spawn_snapshotter = [this](const actor::Owner&) {
      return adopt(actor::spawn(system(), [](Snapshotter::pointer) -> Snapshotter::behavior_type {
        return {[](const snapshotter::SaveSnapshot&) { return snapshotter::Saved{}; },
                [](const snapshotter::ReadPart&) { return snapshotter::Part{}; },
                [](const snapshotter::StorePart&) { return snapshotter::Stored{}; },
                [](const snapshotter::FinishArrived&) { return snapshotter::Arrived{}; }};
      }));
    };
    server.node = adopt(spawn_raft_node(system(), std::move(parts), false));
    server.inbox.emplace(server.node, server.fsm, std::size_t{1} << 20);
    settle();
  }

  std::vector<ServerId> leaders() {
    std::vector<ServerId> found;
    for (const auto& [id, server] : servers)
      if (server.leader->known().ready) found.push_back(id);
    return found;
  }

  ServerId wait_for_leader(Time patience = 10s) {
    for (Time passed{0}; passed < patience; passed += 10ms) {
      const auto found = leaders();
      if (found.size() == 1) return found.front();
      advance(10ms);
    }
    FAIL("no leader");
    return {};
  }

  std::shared_ptr<std::optional<Result<Applied>>> write(const ServerId& id, std::string_view text) {
    auto slot = std::make_shared<std::optional<Result<Applied>>>();
    Proposer{servers.at(id).queue}.propose(
        Bytes::copy(text), [slot](Result<Applied> outcome) { *slot = std::move(outcome); });
    settle();
    return slot;
  }

  bool all_hold(std::size_t count) {
    return std::ranges::all_of(
        servers, [&](const auto& item) { return item.second.fsm->published()->size() == count; });
  }
};

}  // namespace

TEST_CASE_FIXTURE(NodesFixture, "raft nodes: one leads, and what it acknowledges is everywhere") {
  const auto boss = wait_for_leader();
  const auto done = write(boss, "x");
  CHECK_FALSE(*done);
  advance(500ms);
  REQUIRE(*done);
  CHECK((*done)->has_value());
  CHECK(all_hold(1));
  for (const auto& [id, server] : servers) {
    CHECK(server.leader->known().leader == boss);
    CHECK(server.leader->known().leader_address == boss);
  }
  const auto status = ask<RaftStatus>(servers.at(boss).node, GetStatus{});
  REQUIRE(status->has_value());
  CHECK((*status)->value().peers.size() == 2);
  for (const auto& peer : (*status)->value().peers) {
    CHECK(peer.match_index == (*status)->value().last_index);
    CHECK(peer.silence < 500ms);
    CHECK(peer.reachable);
  }
}

TEST_CASE_FIXTURE(NodesFixture, "raft nodes: followers write while the leader's disk is busy") {
  const auto boss = wait_for_leader();
  servers.at(boss).disk_delay = 50ms;
  const auto done = write(boss, "x");
  advance(40ms);
  // Both others have it on disk, so it is committed; here it is not durable, so not answered.
  CHECK_FALSE(*done);
  const auto status = ask<RaftStatus>(servers.at(boss).node, GetStatus{});
  CHECK((*status)->value().commit_index == (*status)->value().last_index);
  advance(20ms);
  REQUIRE(*done);
  CHECK((*done)->has_value());
}

TEST_CASE_FIXTURE(NodesFixture, "raft nodes: a third of all messages lost, and nothing else") {
  loss = 0.3;
  std::size_t acknowledged = 0;
  for (int round = 0; round < 50; ++round) {
    const auto boss = wait_for_leader(60s);
    const auto done = write(boss, std::to_string(round));
    for (int patience = 0; patience < 1'000 && !*done; ++patience)
      advance(10ms);
    REQUIRE(*done);
    if ((*done)->has_value()) ++acknowledged;
  }
  loss = 0;
  advance(10s);
  CHECK(acknowledged >= 40);
  const auto list = *servers.at("a").fsm->published();
  CHECK(list.size() >= acknowledged);
  CHECK(list == *servers.at("b").fsm->published());
  CHECK(list == *servers.at("c").fsm->published());
}

TEST_CASE_FIXTURE(NodesFixture,
                  "raft nodes: an isolated leader steps down, its write is not done") {
  const auto boss = wait_for_leader();
  auto& old = servers.at(boss);
  old.isolated = true;
  const auto lost = write(boss, "lost");
  advance(1'500ms);
  REQUIRE(*lost);
  CHECK((*lost)->error().code == Errc::unavailable);
  CHECK((*lost)->error().what
        == "leadership lost while committing log (the request may have been carried out)");
  CHECK_FALSE(old.leader->known().leads);
  const auto late = write(boss, "late");
  settle();
  REQUIRE(*late);
  CHECK((*late)->error().code == Errc::no_leader);  // surely nothing was done

  const auto next = wait_for_leader();
  CHECK(next != boss);
  const auto kept = write(next, "kept");
  advance(100ms);
  REQUIRE(*kept);
  CHECK((*kept)->has_value());

  old.isolated = false;
  advance(3s);
  CHECK(all_hold(1));
  CHECK(*old.fsm->published() == test::ListFsm::List{"kept"});
}

TEST_CASE_FIXTURE(NodesFixture, "raft nodes: a leader that is stopped hands over first") {
  const auto boss = wait_for_leader();
  actor::stop(servers.at(boss).node);
  settle();
  advance(100ms);  // far less than an election timeout
  const auto next = leaders();
  REQUIRE(next.size() == 1);
  CHECK(next.front() != boss);
  const auto gone = ask<RaftStatus>(servers.at(boss).node, GetStatus{});
  CHECK((*gone)->error().code == Errc::unavailable);
}

TEST_CASE_FIXTURE(NodesFixture,
                  "raft nodes: an empty server founds a cluster, an old one does not") {
  start("d", nullptr);
  Configuration own{
      .cluster_id = "d's", .members = {{.id = "d", .address = "d", .voter = true}}, .removed = {}};
  auto founded = ask<Applied>(servers.at("d").node, BootstrapCluster{own});
  advance(100ms);
  REQUIRE(founded->has_value());
  CHECK((*founded)->value().index == 1);
  CHECK(servers.at("d").leader->known().ready);

  auto refused = ask<Applied>(servers.at("a").node, BootstrapCluster{own});
  REQUIRE(refused->has_value());
  CHECK((*refused)->error().code == Errc::conflict);
}

TEST_CASE_FIXTURE(NodesFixture, "raft nodes: three empty servers become a cluster by one's word") {
  Configuration founders{.cluster_id = "new", .members = {}, .removed = {}};
  for (const char* id : {"d", "e", "f"}) {
    start(id, nullptr);
    founders.members.push_back({.id = id, .address = id, .voter = true});
  }
  auto founded = ask<Applied>(servers.at("d").node, BootstrapCluster{founders});
  advance(5s);
  REQUIRE(founded->has_value());
  CHECK((*founded)->has_value());
  CHECK(servers.at("d").leader->known().ready);
  write("d", "x");
  advance(300ms);
  for (const char* id : {"d", "e", "f"})
    CHECK(*servers.at(id).fsm->published() == test::ListFsm::List{"x"});
}

TEST_CASE("raft wire: every message comes back as it went") {
  const SnapshotMeta meta{
      .index = 9,
      .term = 3,
      .configuration = {.cluster_id = "c",
                        .members = {{.id = "a", .address = "b:1", .voter = true}},
                        .removed = {"z"}},
      .configuration_index = 4};
  AppendRequest append{
      .prev_index = 5, .prev_term = 2, .entries = {}, .commit_index = 5, .round = 8};
  for (Index index = 6; index < 30; ++index)
    append.entries.push_back({.index = index,
                              .term = 2,
                              .kind = index % 2 == 0 ? EntryKind::command : EntryKind::barrier,
                              .payload = Bytes::copy(std::string(index * 100, 'x'))});
  const std::vector<Body> bodies{
      VoteRequest{.pre_vote = true, .transfer = true, .last_index = 7, .last_term = 2},
      VoteReply{.pre_vote = true, .granted = true},
      Heartbeat{.commit_index = 3, .round = 4},
      HeartbeatReply{.round = 4},
      append,
      AppendReply{.accepted = true,
                  .match_index = 7,
                  .prev_index = 6,
                  .hint_index = 5,
                  .hint_term = 2,
                  .round = 1},
      SnapshotChunk{
          .meta = meta, .total_bytes = 99, .offset = 12, .data = Bytes::copy("chunk"), .round = 2},
      SnapshotReply{.index = 9, .term = 3, .next_offset = 17, .installed = true, .round = 2},
      TimeoutNow{}};
  for (const auto& body : bodies) {
    const Message message{.cluster_id = "c", .from = "a", .to = "b", .term = 7, .body = body};
    const auto bytes = write_wire(message, "host:4647");
    const auto read = read_wire(Bytes::copy(bytes.view()));
    REQUIRE(read);
    CHECK(read->from_address == "host:4647");
    CHECK(read->message.body.index() == body.index());
    CHECK(read->message.term == 7);
    // Written again it is the same to the byte, so nothing was lost.
    CHECK(write_wire(read->message, read->from_address) == bytes);
    if (const auto* entries = std::get_if<AppendRequest>(&read->message.body))
      CHECK(entries->entries == append.entries);
  }
}

TEST_CASE("raft wire: other versions, cut and random bytes are refused") {
  Message message{.cluster_id = "c", .from = "a", .to = "b", .term = 7, .body = TimeoutNow{}};
  const auto good = write_wire(message, {});
  for (std::size_t size = 0; size < good.size(); ++size)
    CHECK_FALSE(read_wire(Bytes::copy(good.view().first(size))));
  message.protocol = 2;
  const auto newer = read_wire(write_wire(message, {}));
  REQUIRE_FALSE(newer);
  CHECK(newer.error().code == Errc::invalid_argument);
  Random random{3};
  int refused = 0;
  for (int round = 0; round < 2'000; ++round) {
    std::string noise{good.text()};
    for (int change = 0; change < 4; ++change)
      noise[random.below(noise.size())] = static_cast<char>(random.next());
    if (!read_wire(Bytes::copy(noise))) ++refused;
  }
  CHECK(refused > 100);
}

TEST_CASE("peers.json: names who goes on; removed ids stay removed") {
  const Configuration before{.cluster_id = "old",
                             .members = {{.id = "a", .address = "a:1", .voter = true},
                                         {.id = "b", .address = "b:1", .voter = true},
                                         {.id = "c", .address = "c:1", .voter = true}},
                             .removed = {"z"}};
  const auto next = recovered_configuration(before, "a", R"([{"id": "a", "address": "a:2"}])");
  REQUIRE(next);
  CHECK(next->members == std::vector<Member>{{.id = "a", .address = "a:2", .voter = true}});
  CHECK(next->removed == std::vector<ServerId>{"z", "b", "c"});
  CHECK(next->cluster_id != "old");
  // The same on every server that has the same file.
  CHECK(recovered_configuration(before, "a", R"([{"id": "a", "address": "a:2"}])")->cluster_id
        == next->cluster_id);

  for (const char* bad :
       {"", "{}", "[]", "[1]", R"([{"id": "a"}])", R"([{"id": "a", "address": "x", "id2": 1}])",
        R"([{"id": "b", "address": "b:1"}])", R"([{"id": "a", "address": "a", "non_voter": true}])",
        R"([{"id": "a", "address": "a"}, {"id": "z", "address": "z"}])",
        R"([{"id": "a", "address": "a"}, {"id": "a", "address": "b"}])"}) {
    CAPTURE(bad);
    const auto refused = recovered_configuration(before, "a", bad);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == Errc::invalid_argument);
    CHECK(refused.error().what.starts_with("peers.json: "));
  }
  CHECK(recovered_configuration(before, "a",
                                R"([{"id": "a", "address": "a"}, {"id": "z", "address": "z"}])")
            .error()
            .what
        == "peers.json: server \"z\" was removed from this cluster: its id is never used again");
}

TEST_CASE_FIXTURE(test::ActorFixture, "raft inbox: what waits is bounded, urgent messages too") {
  const auto node = record<Incoming>();
  const RaftInbox inbox{node.handle, std::make_shared<test::ListFsm>(), 1'000};
  const auto deliver = [&](const Body& body) {
    return inbox.deliver(write_wire(
        {.cluster_id = "c", .from = "a", .to = "b", .term = 7, .body = body}, "host:4647"));
  };
  std::size_t taken = 0;
  Result<> last;
  while (taken < 1'000'000 && (last = deliver(Heartbeat{.commit_index = 3, .round = 4})))
    ++taken;
  REQUIRE(last.has_error());
  CHECK(last.error() == Error{Errc::overloaded, "too much waits to be taken in"});
  CHECK(taken > 1'000);
  // They take nothing of the log's share, and their room comes back with their end.
  CHECK(deliver(
      AppendRequest{.prev_index = 5,
                    .prev_term = 2,
                    .entries = {{.index = 6, .term = 2, .kind = EntryKind::barrier, .payload = {}}},
                    .commit_index = 5,
                    .round = 8}));
  settle();
  node.seen->clear();
  CHECK(deliver(Heartbeat{}));
}
