// The messages of `alloc exec`, as text and as values. Pure.
//
// Each is one JSON object (RFC 8259), the text of a message of its websocket: in
// `{"stdin":{"data":"<base64>"}}`,
// `{"stdin":{"close":true}}`, `{"tty_size":{"height":24,"width":80}}` and `{}`, a heartbeat; out
// `{"stdout":{"data":…}}`, `{"stdout":{"close":true}}`, the same of stderr, and at the end
// `{"exited":true,"result":{"exit_code":3}}` without a code of 0.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/base/result.hpp"
#include "runtime/host/exec_session.hpp"

namespace nomad::api {

/// Bytes of an output; its end, if there are none.
std::string exec_output_frame(host::ExecEvents::Output which, std::string_view bytes);

std::string exec_exit_frame(int code);

/// What one frame of the client asks for.
struct ExecInput {
  std::string data;  ///< For the command's input.
  bool closes = false;
  std::optional<std::pair<std::uint16_t, std::uint16_t>> size;  ///< Rows and columns.

  friend bool operator==(const ExecInput&, const ExecInput&) = default;
};

/// Members that are unknown, or of another type, are passed over. `invalid_argument` for what is no
/// JSON object, or data that is not base64.
Result<ExecInput> parse_exec_input(std::string_view text);

}  // namespace nomad::api
