// The one line that a plugin of go-plugin's prints when it listens:
// "1|2|unix|/tmp/plugin123|grpc|". Pure.
#pragma once

#include <string>
#include <string_view>

#include "runtime/base/result.hpp"

namespace nomad::plugin::bridge {

inline constexpr std::size_t longest_handshake = 4096;

/// What a plugin of Nomad's wants to find in its environment, or it says that it is none to be run.
inline constexpr std::string_view cookie_name = "NOMAD_PLUGIN_MAGIC_COOKIE";
inline constexpr std::string_view cookie_value
    = "e4327c2e01eabfd75a8a67adb114fb34a757d57eee7728d857a8cec6e91a7255";
inline constexpr std::string_view protocol_version = "2";  ///< Of Nomad's plugins since 0.9.

struct Handshake {
  std::string target{};  ///< As gRPC names it: "unix:/tmp/plugin123", "ipv4:127.0.0.1:10000".
  std::string socket{};  ///< Path of the Unix socket; empty: it is none.
};

/// The error says what of the line this agent can't use.
Result<Handshake> read_handshake(std::string_view line);

}  // namespace nomad::plugin::bridge
