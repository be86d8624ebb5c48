#include "runtime/probe/grpc_health.hpp"

#include <array>
#include <cstdint>
#include <optional>

#include <fmt/format.h>

namespace nomad::probe {
namespace {

constexpr std::size_t frame_header_bytes = 5;  // one of flags, four of the length
constexpr char service_tag = 0x0a;             // field 1, with a length
constexpr std::uint64_t status_tag = 0x08;     // field 1, a varint

void append_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

/// Takes it off the front.
std::optional<std::uint64_t> take_varint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<std::uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return value;
  }
  return std::nullopt;
}

/// Passes over the value of a field that we do not know.
bool skip_value(std::string_view& message, std::uint64_t tag) {
  std::optional<std::uint64_t> size;
  switch (tag & 7) {
    case 0:
      return take_varint(message).has_value();
    case 1:
      size = 8;
      break;
    case 2:
      size = take_varint(message);
      break;
    case 5:
      size = 4;
      break;
    default:
      return false;
  }
  if (!size || *size > message.size()) return false;
  message.remove_prefix(*size);
  return true;
}

/// Field 1 of the message, which is zero when it is not there.
std::optional<std::uint64_t> status_in(std::string_view message) {
  std::uint64_t status = 0;
  while (!message.empty()) {
    const auto tag = take_varint(message);
    if (!tag) return std::nullopt;
    if (*tag == status_tag) {
      const auto value = take_varint(message);
      if (!value) return std::nullopt;
      status = *value;
    } else if (!skip_value(message, *tag)) {
      return std::nullopt;
    }
  }
  return status;
}

}  // namespace

std::string encode_health_request(std::string_view service) {
  std::string message;
  if (!service.empty()) {
    message += service_tag;
    append_varint(message, service.size());
    message += service;
  }
  std::string frame(1, '\0');
  for (int shift = 24; shift >= 0; shift -= 8)
    frame += static_cast<char>(message.size() >> shift);
  return frame + message;
}

Result<std::string> decode_health_answer(std::string_view body) {
  const Error corrupt{Errc::corrupt, "the answer is no HealthCheckResponse"};
  if (body.size() < frame_header_bytes || body[0] != 0) return corrupt;
  std::uint64_t size = 0;
  for (std::size_t i = 1; i < frame_header_bytes; ++i)
    size = size << 8 | static_cast<std::uint8_t>(body[i]);
  body.remove_prefix(frame_header_bytes);
  if (size != body.size()) return corrupt;
  const auto status = status_in(body);
  if (!status) return corrupt;
  constexpr std::array<std::string_view, 4> names
      = {"UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"};
  return *status < names.size() ? std::string{names[*status]} : fmt::format("{}", *status);
}

std::string status_name(int grpc_status) {
  constexpr std::array<std::string_view, 17> names = {
      "OK",       "Canceled",       "Unknown",          "InvalidArgument",   "DeadlineExceeded",
      "NotFound", "AlreadyExists",  "PermissionDenied", "ResourceExhausted", "FailedPrecondition",
      "Aborted",  "OutOfRange",     "Unimplemented",    "Internal",          "Unavailable",
      "DataLoss", "Unauthenticated"};
  if (grpc_status >= 0 && static_cast<std::size_t>(grpc_status) < names.size())
    return std::string{names[static_cast<std::size_t>(grpc_status)]};
  return fmt::format("Code({})", grpc_status);
}

}  // namespace nomad::probe
