#include "runtime/raft/wire.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <kj/exception.h>

#include "schema/raft.capnp.h"

namespace nomad::raft {
namespace {

namespace wire = schema::raft;

constexpr std::size_t word = sizeof(capnp::word);

/// Words of everything but payloads, at most; a larger message costs one more copy, no more.
constexpr std::size_t fixed_words = 64;
constexpr std::size_t entry_words = 6;

capnp::Text::Reader text(const std::string& value) {
  return {value.data(), value.size()};
}

capnp::Data::Reader data(const Bytes& bytes) {
  return {reinterpret_cast<const capnp::byte*>(bytes.data()), bytes.size()};
}

std::size_t words_of(std::size_t bytes) {
  return (bytes + word - 1) / word;
}

/// Room for the whole message in one piece.
std::size_t estimate(const Message& message, const std::string& from_address) {
  auto words = fixed_words
               + words_of(message.cluster_id.size() + message.from.size() + message.to.size()
                          + from_address.size());
  if (const auto* append = std::get_if<AppendRequest>(&message.body))
    for (const auto& entry : append->entries)
      words += entry_words + words_of(entry.payload.size());
  if (const auto* chunk = std::get_if<SnapshotChunk>(&message.body))
    words += words_of(chunk->data.size()) + words_of(encode(chunk->meta.configuration).size());
  return words;
}

void write(const VoteRequest& from, wire::Message::Body::Builder to) {
  auto body = to.initVoteRequest();
  body.setPreVote(from.pre_vote);
  body.setTransfer(from.transfer);
  body.setLastIndex(from.last_index);
  body.setLastTerm(from.last_term);
}

void write(const VoteReply& from, wire::Message::Body::Builder to) {
  auto body = to.initVoteReply();
  body.setPreVote(from.pre_vote);
  body.setGranted(from.granted);
}

void write(const Heartbeat& from, wire::Message::Body::Builder to) {
  auto body = to.initHeartbeat();
  body.setCommitIndex(from.commit_index);
  body.setRound(from.round);
}

void write(const HeartbeatReply& from, wire::Message::Body::Builder to) {
  to.initHeartbeatReply().setRound(from.round);
}

void write(const AppendRequest& from, wire::Message::Body::Builder to) {
  auto body = to.initAppendRequest();
  body.setPrevIndex(from.prev_index);
  body.setPrevTerm(from.prev_term);
  body.setCommitIndex(from.commit_index);
  body.setRound(from.round);
  auto entries = body.initEntries(static_cast<unsigned>(from.entries.size()));
  for (unsigned at = 0; at < entries.size(); ++at) {
    const auto& entry = from.entries[at];
    entries[at].setTerm(entry.term);
    entries[at].setKind(static_cast<std::uint8_t>(entry.kind));
    entries[at].setPayload(data(entry.payload));
  }
}

void write(const AppendReply& from, wire::Message::Body::Builder to) {
  auto body = to.initAppendReply();
  body.setAccepted(from.accepted);
  body.setMatchIndex(from.match_index);
  body.setPrevIndex(from.prev_index);
  body.setHintIndex(from.hint_index);
  body.setHintTerm(from.hint_term);
  body.setRound(from.round);
}

void write(const SnapshotChunk& from, wire::Message::Body::Builder to) {
  auto body = to.initSnapshotChunk();
  auto meta = body.initMeta();
  meta.setIndex(from.meta.index);
  meta.setTerm(from.meta.term);
  meta.setConfiguration(data(encode(from.meta.configuration)));
  meta.setConfigurationIndex(from.meta.configuration_index);
  body.setTotalBytes(from.total_bytes);
  body.setOffset(from.offset);
  body.setData(data(from.data));
  body.setRound(from.round);
}

void write(const SnapshotReply& from, wire::Message::Body::Builder to) {
  auto body = to.initSnapshotReply();
  body.setIndex(from.index);
  body.setTerm(from.term);
  body.setNextOffset(from.next_offset);
  body.setInstalled(from.installed);
  body.setRound(from.round);
}

void write(const TimeoutNow&, wire::Message::Body::Builder to) {
  to.setTimeoutNow();
}

/// Builds a message in a piece of memory that outlives it, with one word free in front.
class RoomBuilder : public capnp::MessageBuilder {
public:
  explicit RoomBuilder(std::size_t words)
      : words_{words}, room_{std::make_shared<std::uint64_t[]>(1 + words)} {}

  kj::ArrayPtr<capnp::word> allocateSegment(unsigned minimum) override {
    if (more_.empty() && !std::exchange(used_, true) && words_ >= minimum)
      return {reinterpret_cast<capnp::word*>(room_.get() + 1), words_};
    const std::size_t size = std::max<std::size_t>(minimum, fixed_words);
    more_.push_back(std::make_unique<std::uint64_t[]>(size));
    return {reinterpret_cast<capnp::word*>(more_.back().get()), size};
  }

  /// A message in one segment stands in its room already; only its table is missing.
  Bytes finish() {
    const auto segments = getSegmentsForOutput();
    if (more_.empty() && segments.size() == 1) {
      const std::array<std::uint32_t, 2> table{0, static_cast<std::uint32_t>(segments[0].size())};
      std::memcpy(room_.get(), table.data(), sizeof table);
      const auto* first = reinterpret_cast<const std::byte*>(room_.get());
      return {room_, {first, (1 + segments[0].size()) * word}};
    }
    const auto flat = capnp::messageToFlatArray(segments);
    return Bytes::copy(std::as_bytes(std::span{flat.begin(), flat.size()}));
  }

private:
  std::size_t words_;
  std::shared_ptr<std::uint64_t[]> room_;
  bool used_ = false;
  std::vector<std::unique_ptr<std::uint64_t[]>> more_;
};

// ---- reading: the slices share the arrived bytes

struct Source {
  const Bytes& bytes;

  Bytes slice(capnp::Data::Reader part) const {
    if (part.size() == 0) return {};
    const auto* first = reinterpret_cast<const std::byte*>(part.begin());
    return bytes.slice(static_cast<std::size_t>(first - bytes.data()), part.size());
  }
};

std::string copy_of(capnp::Text::Reader value) {
  return {value.begin(), value.size()};
}

Result<Body> read(wire::AppendRequest::Reader from, const Source& source) {
  AppendRequest to{.prev_index = from.getPrevIndex(),
                   .prev_term = from.getPrevTerm(),
                   .entries = {},
                   .commit_index = from.getCommitIndex(),
                   .round = from.getRound()};
  to.entries.reserve(from.getEntries().size());
  for (const auto entry : from.getEntries()) {
    if (entry.getKind() > static_cast<std::uint8_t>(EntryKind::configuration))
      return Error{Errc::corrupt, "raft message: an entry of unknown kind"};
    to.entries.push_back({.index = to.prev_index + to.entries.size() + 1,
                          .term = entry.getTerm(),
                          .kind = static_cast<EntryKind>(entry.getKind()),
                          .payload = source.slice(entry.getPayload())});
  }
  return Body{std::move(to)};
}

Result<Body> read(wire::SnapshotChunk::Reader from, const Source& source) {
  const auto meta = from.getMeta();
  const auto configuration = source.slice(meta.getConfiguration());
  auto decoded = NOMAD_TRY(decode_configuration(configuration.view()));
  return Body{SnapshotChunk{.meta = {.index = meta.getIndex(),
                                     .term = meta.getTerm(),
                                     .configuration = std::move(decoded),
                                     .configuration_index = meta.getConfigurationIndex()},
                            .total_bytes = from.getTotalBytes(),
                            .offset = from.getOffset(),
                            .data = source.slice(from.getData()),
                            .round = from.getRound()}};
}

Body read(wire::AppendReply::Reader from) {
  return AppendReply{.accepted = from.getAccepted(),
                     .match_index = from.getMatchIndex(),
                     .prev_index = from.getPrevIndex(),
                     .hint_index = from.getHintIndex(),
                     .hint_term = from.getHintTerm(),
                     .round = from.getRound()};
}

Result<Body> read(wire::Message::Body::Reader from, const Source& source) {
  switch (from.which()) {
    case wire::Message::Body::VOTE_REQUEST: {
      const auto body = from.getVoteRequest();
      return Body{VoteRequest{.pre_vote = body.getPreVote(),
                              .transfer = body.getTransfer(),
                              .last_index = body.getLastIndex(),
                              .last_term = body.getLastTerm()}};
    }
    case wire::Message::Body::VOTE_REPLY:
      return Body{VoteReply{.pre_vote = from.getVoteReply().getPreVote(),
                            .granted = from.getVoteReply().getGranted()}};
    case wire::Message::Body::HEARTBEAT:
      return Body{Heartbeat{.commit_index = from.getHeartbeat().getCommitIndex(),
                            .round = from.getHeartbeat().getRound()}};
    case wire::Message::Body::HEARTBEAT_REPLY:
      return Body{HeartbeatReply{.round = from.getHeartbeatReply().getRound()}};
    case wire::Message::Body::APPEND_REQUEST:
      return read(from.getAppendRequest(), source);
    case wire::Message::Body::APPEND_REPLY:
      return read(from.getAppendReply());
    case wire::Message::Body::SNAPSHOT_CHUNK:
      return read(from.getSnapshotChunk(), source);
    case wire::Message::Body::SNAPSHOT_REPLY: {
      const auto body = from.getSnapshotReply();
      return Body{SnapshotReply{.index = body.getIndex(),
                                .term = body.getTerm(),
                                .next_offset = body.getNextOffset(),
                                .installed = body.getInstalled(),
                                .round = body.getRound()}};
    }
    case wire::Message::Body::TIMEOUT_NOW:
      return Body{TimeoutNow{}};
  }
  return Error{Errc::corrupt, "raft message: of unknown kind"};
}

Result<WireMessage> read_checked(const Bytes& bytes) {
  capnp::ReaderOptions limits;
  limits.traversalLimitInWords = 2 * words_of(bytes.size()) + fixed_words;
  limits.nestingLimit = 8;
  capnp::FlatArrayMessageReader reader{
      {reinterpret_cast<const capnp::word*>(bytes.data()), bytes.size() / word}, limits};
  const auto from = reader.getRoot<wire::Message>();
  if (from.getProtocol() != protocol_version)
    return Error{Errc::invalid_argument,
                 "raft message of protocol version " + std::to_string(from.getProtocol())
                     + "; this server speaks version " + std::to_string(protocol_version)};
  auto body = NOMAD_TRY(read(from.getBody(), Source{bytes}));
  return WireMessage{.message = {.protocol = from.getProtocol(),
                                 .cluster_id = copy_of(from.getClusterId()),
                                 .from = copy_of(from.getFrom()),
                                 .to = copy_of(from.getTo()),
                                 .term = from.getTerm(),
                                 .body = std::move(body),
                                 .known_commands = from.getKnownCommands()},
                     .from_address = copy_of(from.getFromAddress())};
}

}  // namespace

Lane lane_of(const Message& message) {
  if (std::holds_alternative<AppendRequest>(message.body)) return Lane::normal;
  if (std::holds_alternative<SnapshotChunk>(message.body)) return Lane::bulk;
  return Lane::urgent;
}

Bytes write_wire(const Message& message, const std::string& from_address) {
  RoomBuilder builder{estimate(message, from_address)};
  auto to = builder.initRoot<wire::Message>();
  to.setProtocol(message.protocol);
  to.setClusterId(text(message.cluster_id));
  to.setFrom(text(message.from));
  to.setFromAddress(text(from_address));
  to.setTo(text(message.to));
  to.setTerm(message.term);
  to.setKnownCommands(message.known_commands);
  std::visit([body = to.getBody()](const auto& value) { write(value, body); }, message.body);
  return builder.finish();
}

Result<WireMessage> read_wire(const Bytes& bytes) {
  if (bytes.size() % word != 0 || bytes.empty()
      || reinterpret_cast<std::uintptr_t>(bytes.data()) % word != 0)
    return Error{Errc::corrupt, "raft message: not whole words"};
  try {
    return read_checked(bytes);
  } catch (const kj::Exception& err) {
    return Error{Errc::corrupt, std::string{"raft message: "} + err.getDescription().cStr()};
  }
}

}  // namespace nomad::raft
