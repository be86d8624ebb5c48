#include "runtime/net/rpc/rpc_frame.hpp"

#include <algorithm>

#include "runtime/base/name_table.hpp"

namespace nomad::net {
namespace {

constexpr std::uint16_t magic = 0x4e52;

constexpr std::uint8_t flag_first = 1;
constexpr std::uint8_t flag_last = 2;
constexpr std::uint8_t flag_one_way = 4;
constexpr std::uint8_t flag_byte_stream = 8;
constexpr std::uint8_t all_flags = flag_first | flag_last | flag_one_way | flag_byte_stream;

constexpr std::size_t hello_fixed_bytes = 8;
constexpr std::size_t longest_error_text = 16 * 1024;
constexpr std::uint8_t highest_code = static_cast<std::uint8_t>(last_errc);

template <class Number>
void put(std::byte* to, Number value) {
  for (std::size_t i = 0; i < sizeof value; ++i)
    to[i] = static_cast<std::byte>(static_cast<std::uint64_t>(value) >> (8 * i));
}

template <class Number>
Number get(const std::byte* from) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(Number); ++i)
    value |= std::to_integer<std::uint64_t>(from[i]) << (8 * i);
  return static_cast<Number>(value);
}

Error malformed(std::string what) {
  return {Errc::corrupt, std::move(what)};
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

std::string_view to_string(RpcFrameKind kind) {
  static constexpr std::string_view names[] = {"hello", "request", "response", "error", "cancel",
                                               "data",  "window",  "ping",     "pong",  "goodbye"};
  return name_in<1>(names, kind, "unknown");
}

RpcFrameHeaderBytes encode(const RpcFrameHeader& header) {
  RpcFrameHeaderBytes bytes{};
  put(bytes.data(), magic);
  put(bytes.data() + 2, rpc_frame_version);
  put(bytes.data() + 3, static_cast<std::uint8_t>(header.kind));
  put(bytes.data() + 4, static_cast<std::uint8_t>(header.priority));
  put(bytes.data() + 5,
      static_cast<std::uint8_t>((header.first ? flag_first : 0) | (header.last ? flag_last : 0)
                                | (header.one_way ? flag_one_way : 0)
                                | (header.byte_stream ? flag_byte_stream : 0)));
  put(bytes.data() + 8, header.stream);
  put(bytes.data() + 12, header.length);
  return bytes;
}

Result<RpcFrameHeader> decode_rpc_frame_header(std::span<const std::byte> bytes) {
  if (bytes.size() < rpc_frame_header_bytes) return malformed("the header of a frame is cut short");
  if (get<std::uint16_t>(bytes.data()) != magic) return malformed("these are no frames of ours");
  const auto version = get<std::uint8_t>(bytes.data() + 2);
  if (version != rpc_frame_version)
    return malformed("frames of version " + std::to_string(version) + ", where we speak "
                     + std::to_string(rpc_frame_version));
  const auto kind = get<std::uint8_t>(bytes.data() + 3);
  if (kind < static_cast<std::uint8_t>(RpcFrameKind::hello)
      || kind > static_cast<std::uint8_t>(RpcFrameKind::goodbye))
    return malformed("a frame of the unknown kind " + std::to_string(kind));
  const auto priority = get<std::uint8_t>(bytes.data() + 4);
  if (priority >= rpc_priority_count)
    return malformed("a frame of the unknown priority " + std::to_string(priority));
  const auto flags = get<std::uint8_t>(bytes.data() + 5);
  if ((flags & ~all_flags) != 0 || get<std::uint16_t>(bytes.data() + 6) != 0)
    return malformed("a frame with flags that nobody sends");
  RpcFrameHeader header;
  header.kind = static_cast<RpcFrameKind>(kind);
  header.priority = static_cast<RpcPriority>(priority);
  header.first = (flags & flag_first) != 0;
  header.last = (flags & flag_last) != 0;
  header.one_way = (flags & flag_one_way) != 0;
  header.byte_stream = (flags & flag_byte_stream) != 0;
  header.stream = get<std::uint32_t>(bytes.data() + 8);
  header.length = get<std::uint32_t>(bytes.data() + 12);
  if (header.length > rpc_frame_payload_bytes)
    return malformed("a frame of " + std::to_string(header.length) + " bytes, where "
                     + std::to_string(rpc_frame_payload_bytes) + " are allowed");
  return header;
}

std::string encode(const RpcHello& hello) {
  const auto region = hello.region.substr(0, 255);
  const auto name = hello.name.substr(0, 255);
  std::string payload(hello_fixed_bytes, '\0');
  auto* fixed = reinterpret_cast<std::byte*>(payload.data());
  put(fixed, hello.min_version);
  put(fixed + 2, hello.max_version);
  put(fixed + 4, static_cast<std::uint8_t>(hello.role));
  put(fixed + 5, static_cast<std::uint8_t>(hello.for_raft ? 1 : 0));
  put(fixed + 6, static_cast<std::uint8_t>(region.size()));
  put(fixed + 7, static_cast<std::uint8_t>(name.size()));
  return payload + region + name;
}

Result<RpcHello> decode_rpc_hello(std::span<const std::byte> payload) {
  if (payload.size() < hello_fixed_bytes) return malformed("a hello that is cut short");
  const auto region_size = get<std::uint8_t>(payload.data() + 6);
  const auto name_size = get<std::uint8_t>(payload.data() + 7);
  if (payload.size() < hello_fixed_bytes + region_size + name_size)
    return malformed("a hello that is cut short");
  const auto role = get<std::uint8_t>(payload.data() + 4);
  if (role != static_cast<std::uint8_t>(RpcRole::server)
      && role != static_cast<std::uint8_t>(RpcRole::client))
    return malformed("a hello of the unknown role " + std::to_string(role));
  RpcHello hello;
  hello.min_version = get<std::uint16_t>(payload.data());
  hello.max_version = get<std::uint16_t>(payload.data() + 2);
  hello.role = static_cast<RpcRole>(role);
  hello.for_raft = (get<std::uint8_t>(payload.data() + 5) & 1) != 0;
  hello.region = text_of(payload.subspan(hello_fixed_bytes, region_size));
  hello.name = text_of(payload.subspan(hello_fixed_bytes + region_size, name_size));
  return hello;
}

std::string encode_rpc_error(const Error& error) {
  return std::string(1, static_cast<char>(error.code)) + error.what.substr(0, longest_error_text);
}

Error decode_rpc_error(std::span<const std::byte> payload) {
  if (payload.empty()) return {Errc::internal, "an error without its code"};
  const auto code = std::to_integer<std::uint8_t>(payload[0]);
  // A code that a newer peer knows and we do not is still an error with a sentence.
  return {code >= 1 && code <= highest_code ? static_cast<Errc>(code) : Errc::internal,
          text_of(payload.subspan(1))};
}

}  // namespace nomad::net
