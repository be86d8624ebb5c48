// Messages as bytes: everything comes back, and what is no message is refused.
#include "runtime/raft/wire.hpp"

#include <doctest/doctest.h>

using namespace nomad;
using namespace nomad::raft;

namespace {

Message message(Body body) {
  return {.cluster_id = "cluster", .from = "a", .to = "b", .term = 7, .body = std::move(body)};
}

/// There and back; everything but the body has to be as it was.
template <class T>
T sent(const T& body) {
  const auto bytes = write_wire(message(body), "10.0.0.1:4647");
  CHECK(bytes.size() % 8 == 0);
  const auto read = read_wire(bytes);
  REQUIRE(read.has_value());
  CHECK(read->from_address == "10.0.0.1:4647");
  CHECK(read->message.protocol == protocol_version);
  CHECK(read->message.cluster_id == "cluster");
  CHECK(read->message.from == "a");
  CHECK(read->message.to == "b");
  CHECK(read->message.term == 7);
  REQUIRE(std::holds_alternative<T>(read->message.body));
  return std::get<T>(read->message.body);
}

SnapshotChunk chunk(const std::string& data) {
  return {.meta = {.index = 9,
                   .term = 3,
                   .configuration = {.cluster_id = "cluster",
                                     .members = {{.id = "a", .address = "x:1", .voter = true}},
                                     .removed = {"gone"}},
                   .configuration_index = 4},
          .total_bytes = 1'000,
          .offset = 500,
          .data = Bytes::copy(data),
          .round = 11};
}

AppendRequest append(std::size_t entries, std::size_t bytes) {
  AppendRequest request{
      .prev_index = 10, .prev_term = 3, .entries = {}, .commit_index = 8, .round = 12};
  for (std::size_t i = 0; i < entries; ++i)
    request.entries.push_back({.index = 11 + i,
                               .term = 3 + i,
                               .kind = static_cast<EntryKind>(i % 3),
                               .payload = Bytes::copy(std::string(bytes + i, 'x'))});
  return request;
}

}  // namespace

TEST_CASE("wire: votes, heartbeats and answers come back as they were") {
  for (const bool yes : {true, false}) {
    const auto vote
        = sent(VoteRequest{.pre_vote = yes, .transfer = !yes, .last_index = 5, .last_term = 6});
    CHECK(vote.pre_vote == yes);
    CHECK(vote.transfer == !yes);
    CHECK(vote.last_index == 5);
    CHECK(vote.last_term == 6);
    CHECK(sent(VoteReply{.pre_vote = yes, .granted = !yes}).pre_vote == yes);
    CHECK(sent(VoteReply{.pre_vote = yes, .granted = !yes}).granted == !yes);

    const auto appended = sent(AppendReply{.accepted = yes,
                                           .match_index = 1,
                                           .prev_index = 2,
                                           .hint_index = 3,
                                           .hint_term = 4,
                                           .round = 5});
    CHECK(appended.accepted == yes);
    CHECK(appended.match_index == 1);
    CHECK(appended.prev_index == 2);
    CHECK(appended.hint_index == 3);
    CHECK(appended.hint_term == 4);
    CHECK(appended.round == 5);

    const auto stored = sent(
        SnapshotReply{.index = 1, .term = 2, .next_offset = 3, .installed = yes, .round = 4});
    CHECK(stored.index == 1);
    CHECK(stored.term == 2);
    CHECK(stored.next_offset == 3);
    CHECK(stored.installed == yes);
    CHECK(stored.round == 4);
  }
  CHECK(sent(Heartbeat{.commit_index = 3, .round = 4}).commit_index == 3);
  CHECK(sent(Heartbeat{.commit_index = 3, .round = 4}).round == 4);
  CHECK(sent(HeartbeatReply{.round = 4}).round == 4);
  sent(TimeoutNow{});
}

TEST_CASE("wire: entries of any number and size come back, numbered from the one before") {
  for (const std::size_t entries : {0, 1, 3, 200})
    for (const std::size_t bytes : {0, 1, 7, 8, 9, 100'000}) {
      if (entries * bytes > 1'000'000) continue;
      const auto request = append(entries, bytes);
      const auto arrived = sent(request);
      CHECK(arrived.prev_index == 10);
      CHECK(arrived.prev_term == 3);
      CHECK(arrived.commit_index == 8);
      CHECK(arrived.round == 12);
      CHECK(arrived.entries == request.entries);
    }
}

TEST_CASE("wire: what the sender can apply comes with each message") {
  auto told = message(Heartbeat{});
  CHECK(read_wire(write_wire(told, ""))->message.known_commands == 0);
  told.known_commands = 33;
  CHECK(read_wire(write_wire(told, ""))->message.known_commands == 33);
}

TEST_CASE("wire: parts of a snapshot come back with what it stands for") {
  const auto part = chunk("the file");
  const auto arrived = sent(part);
  CHECK(arrived.meta == part.meta);
  CHECK(arrived.total_bytes == 1'000);
  CHECK(arrived.offset == 500);
  CHECK(arrived.data == part.data);
  CHECK(arrived.round == 11);
  CHECK(sent(chunk("")).data.empty());
}

TEST_CASE("wire: payloads share the bytes that arrived") {
  const auto bytes = write_wire(message(append(1, 1'000)), "");
  const auto read = read_wire(bytes);
  REQUIRE(read.has_value());
  const auto& payload = std::get<AppendRequest>(read->message.body).entries.at(0).payload;
  CHECK(payload.data() > bytes.data());
  CHECK(payload.data() + payload.size() <= bytes.data() + bytes.size());
}

TEST_CASE("wire: what keeps a leader in office leaves first, snapshots last") {
  CHECK(lane_of(message(Heartbeat{})) == Lane::urgent);
  CHECK(lane_of(message(VoteRequest{})) == Lane::urgent);
  CHECK(lane_of(message(AppendReply{})) == Lane::urgent);
  CHECK(lane_of(message(append(1, 1))) == Lane::normal);
  CHECK(lane_of(message(chunk(""))) == Lane::bulk);
}

TEST_CASE("wire: bytes that are no message are refused") {
  const auto code_of = [](const Bytes& bytes) {
    const auto read = read_wire(bytes);
    REQUIRE_FALSE(read.has_value());
    return read.error().code;
  };
  const auto whole = write_wire(message(append(2, 50)), "10.0.0.1:4647");
  CHECK(code_of({}) == Errc::corrupt);
  CHECK(code_of(whole.slice(0, whole.size() - 1)) == Errc::corrupt);
  CHECK(code_of(whole.slice(4, whole.size() - 8)) == Errc::corrupt);  // whole words, not aligned
  const auto no_words = [](const Bytes& bytes) {
    return read_wire(bytes).error().what == "raft message: not whole words";
  };
  CHECK(no_words({}));
  CHECK(no_words(whole.slice(0, whole.size() - 1)));
  CHECK(no_words(whole.slice(4, whole.size() - 8)));
  for (std::size_t size = 8; size < whole.size(); size += 8)
    CHECK(code_of(whole.slice(0, size)) == Errc::corrupt);

  auto odd = append(1, 1);
  odd.entries[0].kind = static_cast<EntryKind>(3);
  CHECK(read_wire(write_wire(message(odd), "")).error()
        == Error{Errc::corrupt, "raft message: an entry of unknown kind"});

  auto newer = message(Heartbeat{});
  newer.protocol = protocol_version + 1;
  const auto refused = read_wire(write_wire(newer, ""));
  CHECK(refused.error().code == Errc::invalid_argument);
  CHECK(refused.error().what == "raft message of protocol version 2; this server speaks version 1");
}
