#include "runtime/probe/grpc_call.hpp"

#include <charconv>
#include <utility>

#include <fmt/format.h>

namespace nomad::probe {
namespace {

constexpr std::string_view preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
constexpr std::size_t head_bytes = 9;
constexpr std::size_t most_payload = 16 * 1024;  ///< What a connection begins with.
constexpr std::size_t most_block = 64 * 1024;

namespace frames {
constexpr std::uint8_t data = 0;
constexpr std::uint8_t headers = 1;
constexpr std::uint8_t reset = 3;
constexpr std::uint8_t settings = 4;
constexpr std::uint8_t push_promise = 5;
constexpr std::uint8_t ping = 6;
constexpr std::uint8_t go_away = 7;
constexpr std::uint8_t continuation = 9;
}  // namespace frames

constexpr std::uint8_t acknowledges = 0x1;
constexpr std::uint8_t ends_stream = 0x1;
constexpr std::uint8_t ends_headers = 0x4;
constexpr std::uint8_t is_padded = 0x8;
constexpr std::uint8_t has_priority = 0x20;

Error violated(std::string_view what) {
  return {Errc::corrupt, fmt::format("the peer's HTTP/2 is malformed: {}", what)};
}

void append_number(std::string& out, std::uint32_t value, int bytes) {
  while (bytes-- > 0)
    out += static_cast<char>(value >> (8 * bytes));
}

std::uint32_t number_at(std::string_view bytes, std::size_t at, std::size_t count) {
  std::uint32_t value = 0;
  for (std::size_t i = at; i < at + count; ++i)
    value = value << 8 | static_cast<std::uint8_t>(bytes[i]);
  return value;
}

std::string frame_of(std::uint8_t type,
                     std::uint8_t flags,
                     std::uint32_t stream,
                     std::string_view payload) {
  std::string out;
  append_number(out, static_cast<std::uint32_t>(payload.size()), 3);
  out += static_cast<char>(type);
  out += static_cast<char>(flags);
  append_number(out, stream, 4);
  return out += payload;
}

int number_of(std::string_view text) {
  int value = -1;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

GrpcCall::GrpcCall(const Question& question) {
  const std::string no_push{"\0\x02\0\0\0\0", 6};
  const auto headers
      = encode_field(":method", "POST") + encode_field(":scheme", question.tls ? "https" : "http")
        + encode_field(":path", question.path) + encode_field(":authority", question.authority)
        + encode_field("content-type", "application/grpc") + encode_field("te", "trailers")
        + encode_field("user-agent", "nomadctl");
  output_ = preface;
  output_ += frame_of(frames::settings, 0, 0, no_push);
  output_ += frame_of(frames::headers, ends_headers, 1, headers);
  output_ += frame_of(frames::data, ends_stream, 1, question.body);
}

std::string GrpcCall::take_output() {
  return std::exchange(output_, {});
}

Result<std::optional<GrpcAnswer>> GrpcCall::feed(std::string_view bytes) {
  input_ += bytes;
  std::string_view rest{input_};
  while (!is_over_) {
    if (NOMAD_TRY(take_frame(rest))) continue;
    input_.erase(0, input_.size() - rest.size());
    return std::optional<GrpcAnswer>{};
  }
  return std::optional<GrpcAnswer>{std::move(answer_)};
}

/// False: the next one is not whole yet.
Result<bool> GrpcCall::take_frame(std::string_view& input) {
  if (!was_greeted_ && input.starts_with("HTTP/1"))
    return Error{Errc::corrupt, "the answer is not gRPC's (HTTP/1)"};
  if (input.size() < head_bytes) return false;
  const auto size = number_at(input, 0, 3);
  const Frame head{.type = static_cast<std::uint8_t>(input[3]),
                   .flags = static_cast<std::uint8_t>(input[4]),
                   .stream = number_at(input, 5, 4) & 0x7fffffffU};
  if (!was_greeted_ && (head.type != frames::settings || head.has(acknowledges)))
    return violated("it does not begin with settings");
  if (size > most_payload) return violated("a frame is too large");
  if (input.size() < head_bytes + size) return false;
  was_greeted_ = true;
  auto frame = head;
  frame.payload = input.substr(head_bytes, size);
  NOMAD_TRY(take(frame));
  input.remove_prefix(head_bytes + size);
  return true;
}

Result<> GrpcCall::take(const Frame& frame) {
  if (block_ && frame.type != frames::continuation) return violated("headers break off");
  switch (frame.type) {
    case frames::data:
      return take_data(frame);
    case frames::headers:
      return take_headers(frame);
    case frames::continuation:
      if (!block_ || frame.stream != 1) return violated("there are no headers to go on with");
      return take_block(frame);
    case frames::settings:
      return take_settings(frame);
    case frames::ping:
      if (frame.payload.size() != 8) return violated("a ping of another size");
      return acknowledge(frame);
    case frames::reset:
      if (frame.stream != 1 || frame.payload.size() != 4) return violated("a reset of nothing");
      return Error{Errc::unavailable, fmt::format("the peer broke the call off (code {})",
                                                  number_at(frame.payload, 0, 4))};
    case frames::go_away:
      if (frame.payload.size() < 8) return violated("a farewell that is too short");
      if ((number_at(frame.payload, 0, 4) & 0x7fffffffU) >= 1) return {};  // it serves this call
      return Error{Errc::unavailable, fmt::format("the peer serves no calls any more (code {})",
                                                  number_at(frame.payload, 4, 4))};
    case frames::push_promise:
      return violated("it pushes");
    default:
      return {};  // windows, priorities, and what is yet to be invented
  }
}

Result<> GrpcCall::take_settings(const Frame& frame) {
  if (frame.payload.size() % 6 != 0) return violated("settings of another size");
  return acknowledge({.type = frame.type, .flags = frame.flags});
}

Result<> GrpcCall::acknowledge(const Frame& frame) {
  if (frame.has(acknowledges)) return {};
  output_ += frame_of(frame.type, acknowledges, 0, frame.payload);
  if (output_.size() > most_queued_bytes)
    return Error{Errc::too_large, "the peer wants too much acknowledged"};
  return {};
}

Result<> GrpcCall::strip_padding(Frame& frame) {
  if (!frame.has(is_padded)) return {};
  const std::size_t padding = frame.payload.empty() ? 0 : number_at(frame.payload, 0, 1);
  if (frame.payload.size() < 1 + padding) return violated("more padding than there is");
  frame.payload = frame.payload.substr(1, frame.payload.size() - 1 - padding);
  return {};
}

Result<> GrpcCall::take_data(Frame frame) {
  if (frame.stream != 1) return violated("data of another call");
  NOMAD_TRY(strip_padding(frame));
  if (answer_.body.size() + frame.payload.size() > most_body_bytes)
    return Error{Errc::too_large, "the answer is too long"};
  answer_.body += frame.payload;
  is_over_ = frame.has(ends_stream);
  return {};
}

Result<> GrpcCall::take_headers(Frame frame) {
  if (frame.stream != 1) return violated("headers of another call");
  NOMAD_TRY(strip_padding(frame));
  constexpr std::size_t priority_bytes = 5;
  if (frame.has(has_priority)) {
    if (frame.payload.size() < priority_bytes) return violated("a priority breaks off");
    frame.payload.remove_prefix(priority_bytes);
  }
  block_.emplace();
  block_ends_ = frame.has(ends_stream);
  return take_block(frame);
}

Result<> GrpcCall::take_block(const Frame& frame) {
  if (block_->size() + frame.payload.size() > most_block) return violated("headers are too long");
  *block_ += frame.payload;
  if (!frame.has(ends_headers)) return {};
  const auto fields = NOMAD_TRY(decoder_.decode(*block_));
  block_.reset();
  for (const auto& [name, value] : fields) {
    if (name == ":status") answer_.http_status = number_of(value);
    if (name == "grpc-status") answer_.status = number_of(value);
    if (name == "grpc-message") answer_.message = value.substr(0, most_body_bytes);
  }
  is_over_ = block_ends_;
  return {};
}

}  // namespace nomad::probe
