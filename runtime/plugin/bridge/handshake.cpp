#include "runtime/plugin/bridge/handshake.hpp"

#include <vector>

#include <fmt/format.h>

#include "runtime/plugin/bridge/shown.hpp"

namespace nomad::plugin::bridge {
namespace {

constexpr std::size_t longest_path = 107;  // of sockaddr_un
constexpr std::size_t most_shown = 200;

std::vector<std::string_view> parts_of(std::string_view line) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto end = line.find('|');
    parts.push_back(line.substr(0, end));
    if (end == std::string_view::npos) return parts;
    line.remove_prefix(end + 1);
  }
}

Error refused(std::string why) {
  return {Errc::rejected, std::move(why)};
}

}  // namespace

Result<Handshake> read_handshake(std::string_view line) {
  while (!line.empty() && (line.back() == '\r' || line.back() == ' '))
    line.remove_suffix(1);
  const auto parts = parts_of(line);
  if (parts.size() < 4)
    return refused(
        fmt::format("it is no plugin of Nomad's: its first line is no handshake, but \"{}\"",
                    shown(line, most_shown)));
  if (parts[0] != "1")
    return refused(fmt::format("it speaks version \"{}\" of go-plugin, this agent 1",
                               shown(parts[0], most_shown)));
  if (parts[1] != protocol_version)
    return refused(
        fmt::format("it speaks version \"{}\" of the protocol of Nomad's plugins, this agent {}",
                    shown(parts[1], most_shown), protocol_version));
  // Without the fifth part it is of a time before gRPC.
  if (parts.size() < 5 || parts[4] != "grpc")
    return refused(fmt::format("it speaks \"{}\", this agent gRPC",
                               parts.size() < 5 ? "netrpc" : shown(parts[4], most_shown)));
  if (parts.size() > 5 && !parts[5].empty())
    return refused("it wants TLS, which nobody has asked for");
  const std::string address{parts[3]};
  if (parts[2] == "unix") {
    if (address.size() > longest_path || !address.starts_with('/') || shown(address) != address)
      return refused(fmt::format("\"{}\" is no path of a socket", shown(address, most_shown)));
    return Handshake{.target = "unix:" + address, .socket = address};
  }
  if (parts[2] == "tcp" && address.starts_with("127.0.0.1:"))
    return Handshake{.target = "ipv4:" + address};
  return refused(
      fmt::format("it listens at \"{}\" of \"{}\": expected a Unix socket, or a port of 127.0.0.1",
                  shown(address, most_shown), shown(parts[2], most_shown)));
}

}  // namespace nomad::plugin::bridge
