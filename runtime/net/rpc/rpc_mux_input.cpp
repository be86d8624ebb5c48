// The receiving half of RpcMux: what each frame of the peer means, and what is its fault.
#include <algorithm>
#include <cstring>

#include "runtime/net/rpc/rpc_mux.hpp"

namespace nomad::net {
namespace {

constexpr std::uint32_t largest_window = 0x7fffffff;

template <class Number>
Number number_at(std::span<const std::byte> bytes, std::size_t offset) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(Number); ++i)
    value |= std::to_integer<std::uint64_t>(bytes[offset + i]) << (8 * i);
  return static_cast<Number>(value);
}

Error fault(RpcFrameKind kind, std::string_view what) {
  return {Errc::corrupt, std::string{to_string(kind)} + ": " + std::string{what}};
}

}  // namespace

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
    const auto header = decode_rpc_frame_header(bytes);
    if (!header) return header.error();
    const auto whole = rpc_frame_header_bytes + header->length;
    if (bytes.size() < whole) break;
    NOMAD_TRY(
        on_frame(*header, bytes.subspan(rpc_frame_header_bytes, header->length), now, events));
    bytes = bytes.subspan(whole);
  }
  // At most one unfinished frame is kept; a wrong magic is noticed before its header is whole.
  if (bytes.size() >= 2 && bytes.size() < rpc_frame_header_bytes
      && number_at<std::uint16_t>(bytes, 0) != 0x4e52)
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
  auto hello = decode_rpc_hello(payload);
  if (!hello) return hello.error();
  constexpr std::uint16_t ours = 1;
  if (hello->min_version > ours || hello->max_version < ours)
    return fault(RpcFrameKind::hello,
                 "the peer speaks versions " + std::to_string(hello->min_version) + " to "
                     + std::to_string(hello->max_version) + " of the protocol, we speak 1");
  peer_ = *hello;
  events.emplace_back(RpcGreeted{std::move(*hello)});
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

Result<> RpcMux::assemble(std::string& into, Payload payload, bool is_first) {
  if (is_first && !into.empty()) return Error{Errc::corrupt, "a message within a message"};
  if (into.size() + payload.size() > limits_.max_message_bytes)
    return Error{Errc::too_large,
                 "a message of more than " + std::to_string(limits_.max_message_bytes) + " bytes"};
  if (assembling_bytes_ + payload.size() > limits_.max_assembling_bytes)
    return Error{Errc::too_large, "unfinished messages of more than "
                                      + std::to_string(limits_.max_assembling_bytes) + " bytes"};
  into.append(reinterpret_cast<const char*>(payload.data()), payload.size());
  assembling_bytes_ += payload.size();
  return {};
}

Bytes RpcMux::finish_message(std::string& assembled) {
  assembling_bytes_ -= assembled.size();
  auto owner = std::make_shared<const std::string>(std::exchange(assembled, {}));
  const auto view = std::as_bytes(std::span{*owner});
  return {std::move(owner), view};
}

Result<RpcRequest> RpcMux::split_request(const RpcFrameHeader& header, const Bytes& message) const {
  const auto bytes = message.view();
  if (bytes.size() < rpc_request_fixed_bytes) return fault(header.kind, "cut short");
  const std::size_t head_size = number_at<std::uint32_t>(bytes, 8);
  if (head_size > bytes.size() - rpc_request_fixed_bytes) return fault(header.kind, "cut short");
  RpcRequest request;
  request.method = number_at<std::uint16_t>(bytes, 0);
  request.timeout = std::chrono::milliseconds{number_at<std::uint32_t>(bytes, 4)};
  request.priority = header.priority;
  request.one_way = header.one_way;
  request.byte_stream = header.byte_stream;
  request.head = message.slice(rpc_request_fixed_bytes, head_size);
  request.body = message.slice(rpc_request_fixed_bytes + head_size,
                               bytes.size() - rpc_request_fixed_bytes - head_size);
  return request;
}

Result<> RpcMux::on_post(const RpcFrameHeader& header, Payload payload, RpcEvents& events) {
  if (header.stream != 0 || header.byte_stream) return fault(header.kind, "one-way, but a stream");
  auto& assembling = posts_assembling_[static_cast<std::size_t>(header.priority)];
  if (!header.first && assembling.empty()) return fault(header.kind, "goes on without a beginning");
  NOMAD_TRY(assemble(assembling, payload, header.first));
  if (!header.last) {
    if (assembling.empty()) return fault(header.kind, "an empty piece");
    return {};
  }
  auto request = split_request(header, finish_message(assembling));
  if (!request) return request.error();
  events.emplace_back(RpcRequested{0, std::move(*request)});
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
  auto found = find(header);
  if (!found) return found.error();
  if (*found == nullptr) return {};
  auto& stream = **found;
  if (stream.request_done || stream.byte_stream != header.byte_stream)
    return fault(header.kind, "goes on after its end");
  NOMAD_TRY(assemble(stream.assembling, payload, header.first));
  if (!header.last) return {};
  auto request = split_request(header, finish_message(stream.assembling));
  if (!request) return request.error();
  stream.request_done = true;
  if (request->timeout.count() > 0) set_deadline(header.stream, stream, now + request->timeout);
  events.emplace_back(RpcRequested{header.stream, std::move(*request)});
  return {};
}

Result<> RpcMux::on_response(const RpcFrameHeader& header, Payload payload, RpcEvents& events) {
  auto found = find(header);
  if (!found) return found.error();
  if (*found == nullptr) return {};
  auto& stream = **found;
  if (!stream.ours) return fault(header.kind, "to a request of the peer's own");
  if (!stream.any_sent) return fault(header.kind, "to a request that was not sent");
  if (!header.first && stream.assembling.empty())
    return fault(header.kind, "goes on without a beginning");
  NOMAD_TRY(assemble(stream.assembling, payload, header.first));
  if (!header.last) {
    if (payload.empty()) return fault(header.kind, "an empty piece");
    return {};
  }
  if (!stream.request_done) control(RpcFrameKind::cancel, header.stream, {});
  auto body = finish_message(stream.assembling);
  answered(header.stream, std::move(body), true, events);
  return {};
}

Result<> RpcMux::on_error(const RpcFrameHeader& header, Payload payload, RpcEvents& events) {
  auto found = find(header);
  if (!found) return found.error();
  if (*found == nullptr) return {};
  auto& stream = **found;
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
  auto found = find(header);
  if (!found) return found.error();
  if (*found == nullptr) return {};
  auto& stream = **found;
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
  auto found = find(header);
  if (!found) return found.error();
  if (*found == nullptr) return {};
  auto& stream = **found;
  const auto grant = number_at<std::uint32_t>(payload, 0);
  if (!stream.byte_stream || grant > largest_window - std::min(stream.send_window, largest_window))
    return fault(header.kind, "larger than a window can be");
  stream.send_window += grant;
  if (!stream.queued && is_sendable(stream)) {
    stream.queued = true;
    turns_[static_cast<std::size_t>(stream.priority)].push_back(header.stream);
  }
  return {};
}

}  // namespace nomad::net
