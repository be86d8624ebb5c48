#include "runtime/net/rpc/rpc_mux.hpp"

#include <algorithm>

#include "runtime/net/rpc/little_endian.hpp"

namespace nomad::net {
namespace {

/// Frames that higher classes may send in a row while a lower one waits.
constexpr unsigned higher_at_most = 64;

/// Of replies to pings, windows, refusals. A peer that provokes them and does not read them is
/// not read either.
constexpr std::size_t control_limit = 256 * 1024;

std::size_t index_of(RpcPriority priority) {
  return static_cast<std::size_t>(priority);
}

constexpr std::uint32_t largest_window = 0x7fffffff;

Error fault(RpcFrameKind kind, std::string_view what) {
  return {Errc::corrupt, std::string{to_string(kind)} + ": " + std::string{what}};
}

}  // namespace

RpcMux::RpcMux(Side side, const RpcHello& hello, RpcLimits limits, Time now)
    : side_{side},
      limits_{limits},
      assembly_{limits.max_message_bytes, limits.max_assembling_bytes},
      next_id_{side == Side::dialer ? 1U : 2U},
      last_heard_{now},
      last_ping_{now} {
  control(RpcFrameKind::hello, 0, encode(hello));
}

// -- what we want to send ------------------------------------------------------------------------

Result<RpcStreamId> RpcMux::call(RpcRequest request, Time now) {
  if (closing_) return Error{Errc::unavailable, "the connection is about to close"};
  const auto size = request.head.size() + request.body.size() + rpc_request_fixed_bytes;
  if (size > limits_.max_message_bytes || request.head.size() > rpc_frame_payload_bytes / 2)
    return Error{Errc::too_large, "the request is too large"};
  if (queued_bytes_ + size > limits_.max_queue_bytes || next_id_ > 0xfffffff0U)
    return Error{Errc::overloaded, "too much waits to be sent to this peer"};
  const auto id = next_id_;
  next_id_ += 2;
  auto& stream = streams_[id];
  stream.ours = true;
  stream.byte_stream = request.byte_stream;
  stream.priority = request.priority;
  stream.send_window = stream.receive_window = limits_.window_bytes;
  if (request.timeout.count() > 0) set_deadline(id, stream, now + request.timeout);
  enqueue(id, stream,
          {.kind = RpcFrameKind::request,
           .head = encode_head(request),
           .body = std::move(request.body),
           .byte_stream = request.byte_stream});
  return id;
}

Result<> RpcMux::post(RpcRequest request, std::uint64_t number) {
  if (closing_) return Error{Errc::unavailable, "the connection is about to close"};
  const auto size = request.head.size() + request.body.size() + rpc_request_fixed_bytes;
  if (size > limits_.max_message_bytes || request.head.size() > rpc_frame_payload_bytes / 2)
    return Error{Errc::too_large, "the request is too large"};
  if (queued_bytes_ + size > limits_.max_queue_bytes)
    return Error{Errc::overloaded, "too much waits to be sent to this peer"};
  auto& posts = posts_[index_of(request.priority)];
  posts.out.push_back({.kind = RpcFrameKind::request,
                       .head = encode_head(request),
                       .body = std::move(request.body),
                       .one_way = true,
                       .number = number});
  queued_bytes_ += size;
  if (!std::exchange(posts.queued, true)) turns_[index_of(request.priority)].push_back(0);
  return {};
}

void RpcMux::cancel(RpcStreamId id) {
  const auto found = streams_.find(id);
  if (found == streams_.end() || !found->second.ours) return;
  if (found->second.any_sent) control(RpcFrameKind::cancel, id, {});
  erase(id);
}

void RpcMux::respond(RpcStreamId id, Bytes body) {
  const auto found = streams_.find(id);
  if (found == streams_.end() || found->second.ours || found->second.finishing) return;
  if (body.size() > limits_.max_message_bytes) {
    fail(id, {Errc::too_large, "the answer is too large"});
    return;
  }
  found->second.finishing = true;
  enqueue(id, found->second, {.kind = RpcFrameKind::response, .body = std::move(body)});
}

void RpcMux::fail(RpcStreamId id, const Error& error) {
  const auto found = streams_.find(id);
  if (found == streams_.end() || found->second.ours || found->second.finishing) return;
  found->second.finishing = true;
  enqueue(id, found->second,
          {.kind = RpcFrameKind::error, .body = Bytes::copy(encode_rpc_error(error))});
}

bool RpcMux::write(RpcStreamId id, Bytes bytes) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return false;
  auto& stream = found->second;
  if (!stream.byte_stream || stream.write_ended || stream.finishing) return false;
  // Who has nothing waiting may always write: so whoever is refused has a frame to come, after
  // which it is told to go on, and a reader that keeps up is not stopped by those that don't.
  const bool too_much_of_all = data_bytes_ >= limits_.max_queue_bytes && stream.data_waiting > 0;
  if (stream.data_waiting >= limits_.window_bytes || too_much_of_all) {
    stream.refused_write = true;
    return false;
  }
  if (bytes.empty()) return true;
  stream.data_waiting += bytes.size();
  enqueue(id, stream, {.kind = RpcFrameKind::data, .body = std::move(bytes), .last = false});
  return true;
}

void RpcMux::end_write(RpcStreamId id) {
  const auto found = streams_.find(id);
  if (found == streams_.end() || !found->second.byte_stream || found->second.finishing) return;
  if (std::exchange(found->second.write_ended, true)) return;
  enqueue(id, found->second, {.kind = RpcFrameKind::data});
}

void RpcMux::taken(RpcStreamId id, std::size_t count) {
  const auto found = streams_.find(id);
  if (found == streams_.end() || !found->second.byte_stream) return;
  auto& stream = found->second;
  stream.unreported += count;
  if (stream.unreported < limits_.window_bytes / 4 || stream.peer_ended) return;
  const auto grant = static_cast<std::uint32_t>(
      std::min<std::size_t>(stream.unreported, limits_.window_bytes - stream.receive_window));
  stream.unreported = 0;
  stream.receive_window += grant;
  std::string payload;
  append_little_endian(payload, grant);
  control(RpcFrameKind::window, id, payload);
}

void RpcMux::say_goodbye(std::string_view why) {
  if (std::exchange(closing_, true)) return;
  control(RpcFrameKind::goodbye, 0, why.substr(0, 1024));
}

bool RpcMux::is_open(RpcStreamId stream) const {
  return streams_.contains(stream);
}

// -- the queue -----------------------------------------------------------------------------------

bool RpcMux::is_sendable(const Stream& stream) {
  if (stream.out.empty()) return false;
  const auto& front = stream.out.front();
  return front.kind != RpcFrameKind::data || front.body.empty() || stream.send_window > 0;
}

std::size_t& RpcMux::count_of(const Outgoing& outgoing) {
  return outgoing.kind == RpcFrameKind::data ? data_bytes_ : queued_bytes_;
}

void RpcMux::enqueue(RpcStreamId id, Stream& stream, Outgoing outgoing) {
  count_of(outgoing) += outgoing.head.size() + outgoing.body.size();
  stream.out.push_back(std::move(outgoing));
  if (!stream.queued && is_sendable(stream)) {
    stream.queued = true;
    turns_[index_of(stream.priority)].push_back(id);
  }
}

void RpcMux::control(RpcFrameKind kind, RpcStreamId stream, std::string_view payload) {
  RpcFrameHeader header;
  header.kind = kind;
  header.priority = RpcPriority::urgent;
  header.first = header.last = true;
  header.stream = stream;
  header.length = static_cast<std::uint32_t>(payload.size());
  control_.push_back({encode(header), Bytes::copy(payload)});
  control_bytes_ += rpc_frame_header_bytes + payload.size();
  queued_bytes_ += payload.size();
}

bool RpcMux::wants_input() const {
  return queued_bytes_ < limits_.max_queue_bytes && control_bytes_ < control_limit;
}

bool RpcMux::has_output() const {
  return !control_.empty()
         || std::any_of(std::begin(turns_), std::end(turns_),
                        [](const auto& turns) { return !turns.empty(); });
}

/// The most urgent class with output; now and then a lower one, so that none starves.
RpcPriority RpcMux::next_class() {
  std::size_t first = 0;
  while (turns_[first].empty())
    ++first;
  std::size_t second = first + 1;
  while (second < rpc_priority_count && turns_[second].empty())
    ++second;
  if (second == rpc_priority_count || ++higher_in_a_row_ <= higher_at_most) {
    if (second == rpc_priority_count) higher_in_a_row_ = 0;
    return static_cast<RpcPriority>(first);
  }
  higher_in_a_row_ = 0;
  return static_cast<RpcPriority>(second);
}

std::optional<RpcMux::Piece> RpcMux::next_output(RpcEvents& events) {
  while (control_.empty()) {
    if (!has_output()) return {};
    const auto priority = next_class();
    auto& turns = turns_[index_of(priority)];
    const auto id = turns.front();
    turns.pop_front();
    auto piece = id == 0 ? post_piece(priority, events) : stream_piece(id, events);
    if (piece) return piece;  // else whoever had the turn is gone
  }
  auto piece = std::move(control_.front());
  control_.pop_front();
  control_bytes_ -= rpc_frame_header_bytes + piece.payload.size();
  queued_bytes_ -= piece.payload.size();
  return piece;
}

RpcMux::Piece RpcMux::cut(Outgoing& outgoing, RpcPriority priority, std::size_t limit, bool& done) {
  const auto total = outgoing.head.size() + outgoing.body.size();
  const auto size = std::min(limit, total - outgoing.sent);
  Piece piece;
  if (outgoing.sent >= outgoing.head.size()) {
    piece.payload = outgoing.body.slice(outgoing.sent - outgoing.head.size(), size);
  } else {
    const auto of_head = std::min(size, outgoing.head.size() - outgoing.sent);
    std::string both{outgoing.head.text().substr(outgoing.sent, of_head)};
    both += outgoing.body.text().substr(0, size - of_head);
    piece.payload = Bytes::copy(both);
  }
  RpcFrameHeader header;
  header.kind = outgoing.kind;
  header.priority = priority;
  header.first = !std::exchange(outgoing.first_done, true);
  outgoing.sent += size;
  done = outgoing.sent == total;
  header.last = done && outgoing.last;
  header.one_way = outgoing.one_way;
  header.byte_stream = outgoing.byte_stream;
  header.stream = outgoing.stream;
  header.length = static_cast<std::uint32_t>(size);
  piece.header = encode(header);
  count_of(outgoing) -= size;
  return piece;
}

std::optional<RpcMux::Piece> RpcMux::post_piece(RpcPriority priority, RpcEvents& events) {
  auto& posts = posts_[index_of(priority)];
  bool done = false;
  auto piece = cut(posts.out.front(), priority, rpc_frame_payload_bytes, done);
  if (done) {
    events.emplace_back(RpcPosted{posts.out.front().number, {}});
    posts.out.pop_front();
  }
  posts.queued = !posts.out.empty();
  if (posts.queued) turns_[index_of(priority)].push_back(0);
  return piece;
}

std::optional<RpcMux::Piece> RpcMux::stream_piece(RpcStreamId id, RpcEvents& events) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return {};
  auto& stream = found->second;
  stream.queued = false;
  if (!is_sendable(stream)) return {};
  auto& front = stream.out.front();
  front.stream = id;
  const bool is_data = front.kind == RpcFrameKind::data;
  const auto limit = is_data ? std::min<std::size_t>(rpc_frame_payload_bytes, stream.send_window)
                             : rpc_frame_payload_bytes;
  bool done = false;
  const auto kind = front.kind;
  auto piece = cut(front, stream.priority, limit, done);
  stream.any_sent = true;
  if (is_data) {
    stream.send_window -= static_cast<std::uint32_t>(piece.payload.size());
    stream.data_waiting -= piece.payload.size();
    if (stream.refused_write && stream.data_waiting < limits_.window_bytes / 2) {
      stream.refused_write = false;
      events.emplace_back(RpcWritable{id});
    }
  }
  if (done) {
    stream.out.pop_front();
    if (kind == RpcFrameKind::request) stream.request_done = true;
    if (kind == RpcFrameKind::response || kind == RpcFrameKind::error) {
      erase(id);
      return piece;
    }
  }
  if (is_sendable(stream)) {
    stream.queued = true;
    turns_[index_of(stream.priority)].push_back(id);
  }
  return piece;
}

// -- what comes: what each frame of the peer means, and what is its fault -------------------------

Result<> RpcMux::receive(std::span<const std::byte> bytes, Time now, RpcEvents& events) {
  if (!bytes.empty()) last_heard_ = now;
  std::string joined;
  if (!input_.empty()) {
    joined = std::move(input_);
    input_.clear();
    joined.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    bytes = std::as_bytes(std::span{joined});
  }
  while (bytes.size() >= rpc_frame_header_bytes) {
    const auto header = NOMAD_TRY(decode_rpc_frame_header(bytes));
    const auto whole = rpc_frame_header_bytes + header.length;
    if (bytes.size() < whole) break;
    NOMAD_TRY(on_frame(header, bytes.subspan(rpc_frame_header_bytes, header.length), now, events));
    bytes = bytes.subspan(whole);
  }
  // At most one unfinished frame is kept; a wrong magic is noticed before its header is whole.
  if (bytes.size() >= 2 && bytes.size() < rpc_frame_header_bytes
      && little_endian_at<std::uint16_t>(bytes, 0) != 0x4e52)
    return Error{Errc::corrupt, "these are no frames of ours"};
  input_.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return {};
}

Result<> RpcMux::on_frame(const RpcFrameHeader& header,
                          Payload payload,
                          Time now,
                          RpcEvents& events) {
  // A goodbye instead of a hello says why we are not let in.
  if (header.kind != RpcFrameKind::hello && header.kind != RpcFrameKind::goodbye && !peer_)
    return fault(header.kind, "sent before the hello");
  switch (header.kind) {
    case RpcFrameKind::hello:
      return on_hello(payload, events);
    case RpcFrameKind::request:
      return header.one_way ? on_post(header, payload, events)
                            : on_request(header, payload, now, events);
    case RpcFrameKind::response:
      return on_response(header, payload, events);
    case RpcFrameKind::error:
      return on_error(header, payload, events);
    case RpcFrameKind::cancel:
      on_cancel(header.stream, events);
      return {};
    case RpcFrameKind::data:
      return on_data(header, payload, events);
    case RpcFrameKind::window:
      return on_window(header, payload);
    case RpcFrameKind::ping: {
      const std::string_view echo{reinterpret_cast<const char*>(payload.data()), payload.size()};
      control(RpcFrameKind::pong, 0, echo);
      return {};
    }
    case RpcFrameKind::pong:
      return {};
    case RpcFrameKind::goodbye:
      closing_ = true;
      events.emplace_back(
          RpcGoodbye{{reinterpret_cast<const char*>(payload.data()), payload.size()}});
      return {};
  }
  return fault(header.kind, "unknown");
}

Result<> RpcMux::on_hello(Payload payload, RpcEvents& events) {
  if (peer_) return fault(RpcFrameKind::hello, "sent twice");
  auto hello = NOMAD_TRY(decode_rpc_hello(payload));
  constexpr std::uint16_t ours = 1;
  if (hello.min_version > ours || hello.max_version < ours)
    return fault(RpcFrameKind::hello,
                 "the peer speaks versions " + std::to_string(hello.min_version) + " to "
                     + std::to_string(hello.max_version) + " of the protocol, we speak 1");
  peer_ = hello;
  events.emplace_back(RpcGreeted{std::move(hello)});
  return {};
}

Result<RpcMux::Stream*> RpcMux::find(const RpcFrameHeader& header) {
  const bool is_ours = (header.stream & 1) == (side_ == Side::dialer ? 1U : 0U);
  const auto* newest = std::max_element(std::begin(newest_of_peer_), std::end(newest_of_peer_));
  const bool ever_was
      = header.stream != 0 && (is_ours ? header.stream < next_id_ : header.stream <= *newest);
  if (!ever_was) return fault(header.kind, "of a stream that never was");
  const auto found = streams_.find(header.stream);
  return found == streams_.end() ? nullptr : &found->second;
}

Result<> RpcMux::on_post(const RpcFrameHeader& header, Payload payload, RpcEvents& events) {
  if (header.stream != 0 || header.byte_stream) return fault(header.kind, "one-way, but a stream");
  auto& assembling = posts_assembling_[static_cast<std::size_t>(header.priority)];
  if (!header.first && assembling.empty()) return fault(header.kind, "goes on without a beginning");
  NOMAD_TRY(assembly_.add(assembling, payload, header.first));
  if (!header.last && assembling.empty()) return fault(header.kind, "an empty piece");
  if (!header.last) return {};
  auto request = NOMAD_TRY(decode_rpc_request(header, assembly_.finish(assembling)));
  events.emplace_back(RpcRequested{0, std::move(request)});
  return {};
}

Result<> RpcMux::on_request(const RpcFrameHeader& header,
                            Payload payload,
                            Time now,
                            RpcEvents& events) {
  const bool is_ours = (header.stream & 1) == (side_ == Side::dialer ? 1U : 0U);
  if (header.stream == 0 || is_ours)
    return fault(header.kind, "under an id that is not the peer's");
  if (payload.empty()) return fault(header.kind, "an empty piece");
  if (header.first) {
    auto& newest = newest_of_peer_[static_cast<std::size_t>(header.priority)];
    if (header.stream <= newest || streams_.contains(header.stream))
      return fault(header.kind, "under an id used before");
    newest = header.stream;
    if (peer_streams_ >= limits_.max_streams) {
      control(RpcFrameKind::error, header.stream,
              encode_rpc_error({Errc::overloaded, "too many requests are open"}));
      return {};
    }
    ++peer_streams_;
    auto& made = streams_[header.stream];
    made.byte_stream = header.byte_stream;
    made.priority = header.priority;
    made.send_window = made.receive_window = limits_.window_bytes;
  }
  auto found = NOMAD_TRY(find(header));
  if (found == nullptr) return {};
  auto& stream = *found;
  if (stream.request_done || stream.byte_stream != header.byte_stream)
    return fault(header.kind, "goes on after its end");
  NOMAD_TRY(assembly_.add(stream.assembling, payload, header.first));
  if (!header.last) return {};
  auto request = NOMAD_TRY(decode_rpc_request(header, assembly_.finish(stream.assembling)));
  stream.request_done = true;
  if (request.timeout.count() > 0) set_deadline(header.stream, stream, now + request.timeout);
  events.emplace_back(RpcRequested{header.stream, std::move(request)});
  return {};
}

Result<> RpcMux::on_response(const RpcFrameHeader& header, Payload payload, RpcEvents& events) {
  auto found = NOMAD_TRY(find(header));
  if (found == nullptr) return {};
  auto& stream = *found;
  if (!stream.ours) return fault(header.kind, "to a request of the peer's own");
  if (!stream.any_sent) return fault(header.kind, "to a request that was not sent");
  if (!header.first && stream.assembling.empty())
    return fault(header.kind, "goes on without a beginning");
  NOMAD_TRY(assembly_.add(stream.assembling, payload, header.first));
  if (!header.last && payload.empty()) return fault(header.kind, "an empty piece");
  if (!header.last) return {};
  if (!stream.request_done) control(RpcFrameKind::cancel, header.stream, {});
  auto body = assembly_.finish(stream.assembling);
  answered(header.stream, std::move(body), true, events);
  return {};
}

Result<> RpcMux::on_error(const RpcFrameHeader& header, Payload payload, RpcEvents& events) {
  auto found = NOMAD_TRY(find(header));
  if (found == nullptr) return {};
  auto& stream = *found;
  if (!stream.ours) return fault(header.kind, "to a request of the peer's own");
  if (!stream.request_done && stream.any_sent) control(RpcFrameKind::cancel, header.stream, {});
  answered(header.stream, decode_rpc_error(payload), true, events);
  return {};
}

void RpcMux::on_cancel(RpcStreamId id, RpcEvents& events) {
  const auto found = streams_.find(id);
  if (found == streams_.end() || found->second.ours) return;
  const bool was_told = found->second.request_done;
  erase(id);
  if (was_told) events.emplace_back(RpcCancelled{id});
}

Result<> RpcMux::on_data(const RpcFrameHeader& header, Payload payload, RpcEvents& events) {
  auto found = NOMAD_TRY(find(header));
  if (found == nullptr) return {};
  auto& stream = *found;
  if (!stream.byte_stream || (!stream.ours && !stream.request_done))
    return fault(header.kind, "where none was announced");
  if (stream.peer_ended) return fault(header.kind, "after its end");
  if (payload.size() > stream.receive_window) return fault(header.kind, "beyond its window");
  stream.receive_window -= static_cast<std::uint32_t>(payload.size());
  stream.peer_ended = header.last;
  events.emplace_back(RpcData{header.stream, Bytes::copy(payload), header.last});
  return {};
}

Result<> RpcMux::on_window(const RpcFrameHeader& header, Payload payload) {
  if (payload.size() != 4) return fault(header.kind, "of a wrong size");
  auto found = NOMAD_TRY(find(header));
  if (found == nullptr) return {};
  auto& stream = *found;
  const auto grant = little_endian_at<std::uint32_t>(payload, 0);
  if (!stream.byte_stream || grant > largest_window - std::min(stream.send_window, largest_window))
    return fault(header.kind, "larger than a window can be");
  stream.send_window += grant;
  if (!stream.queued && is_sendable(stream)) {
    stream.queued = true;
    turns_[static_cast<std::size_t>(stream.priority)].push_back(header.stream);
  }
  return {};
}

// -- time and end --------------------------------------------------------------------------------

void RpcMux::set_deadline(RpcStreamId id, Stream& stream, Time deadline) {
  if (stream.deadline != Time::max()) deadlines_.erase({stream.deadline, id});
  stream.deadline = deadline;
  if (deadline != Time::max()) deadlines_.emplace(deadline, id);
}

void RpcMux::drop_output(Stream& stream) {
  for (const auto& outgoing : stream.out)
    count_of(outgoing) -= outgoing.head.size() + outgoing.body.size() - outgoing.sent;
  stream.out.clear();
  stream.data_waiting = 0;
}

void RpcMux::erase(RpcStreamId id) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return;
  set_deadline(id, found->second, Time::max());
  drop_output(found->second);
  assembly_.drop(found->second.assembling);
  if (!found->second.ours) --peer_streams_;
  streams_.erase(found);  // a turn that it still has finds nobody
}

Result<> RpcMux::expire(Time now, RpcEvents& events) {
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    const auto id = deadlines_.begin()->second;
    const auto& stream = streams_.at(id);
    if (!stream.ours) {
      events.emplace_back(RpcCancelled{id});
      erase(id);
      continue;
    }
    if (stream.any_sent) control(RpcFrameKind::cancel, id, {});
    answered(id, Error{Errc::timeout, "no answer in time"}, false, events);
  }
  const auto silence = now - last_heard_;
  if (silence >= limits_.dead_after)
    return Error{Errc::timeout, "the peer has been silent for "
                                    + std::to_string(limits_.dead_after.count()) + " ms"};
  if (silence >= limits_.ping_after && now - last_ping_ >= limits_.ping_after) {
    last_ping_ = now;
    control(RpcFrameKind::ping, 0, {});
  }
  return {};
}

void RpcMux::answered(RpcStreamId id, Result<Bytes> outcome, bool by_peer, RpcEvents& events) {
  const bool was_sent = streams_.at(id).any_sent;
  erase(id);
  events.emplace_back(RpcAnswered{id, std::move(outcome), was_sent, by_peer});
}

void RpcMux::abort(const Error& reason, RpcEvents& events) {
  closing_ = true;
  std::vector<RpcStreamId> all;
  for (const auto& [id, stream] : streams_)
    all.push_back(id);
  std::sort(all.begin(), all.end());
  for (const auto id : all) {
    if (streams_.at(id).ours) {
      answered(id, reason, false, events);
      continue;
    }
    const bool was_told = streams_.at(id).request_done;
    erase(id);
    if (was_told) events.emplace_back(RpcCancelled{id});
  }
  for (auto& posts : posts_) {
    for (const auto& outgoing : posts.out) {
      queued_bytes_ -= outgoing.head.size() + outgoing.body.size() - outgoing.sent;
      events.emplace_back(RpcPosted{outgoing.number, reason});
    }
    posts.out.clear();
    posts.queued = false;
  }
  for (auto& turns : turns_)
    turns.clear();
}

}  // namespace nomad::net
