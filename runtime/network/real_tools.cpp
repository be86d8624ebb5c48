// What AllocNetworks works with on a real machine.
#include <thread>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "runtime/host/process/unique_fd.hpp"
#include "runtime/network/alloc_networks.hpp"
#include "runtime/network/namespaces.hpp"

namespace nomad::network {
namespace {

/// Whether the address can't be had because somebody has it; other failures are told by who needs
/// it.
bool is_bound(int family, int type, const sockaddr* address, socklen_t size) {
  const host::UniqueFd any{::socket(family, type | SOCK_CLOEXEC, 0)};
  if (!any) return false;
  const int on = 1;
  // Connections that have ended hold nobody up; who listens does.
  if (type == SOCK_STREAM) ::setsockopt(any.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (family == AF_INET6) ::setsockopt(any.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  return ::bind(any.get(), address, size) != 0 && errno == EADDRINUSE;
}

bool is_port_taken(const PortMapping& mapping) {
  const int type = mapping.protocol == "udp" ? SOCK_DGRAM : SOCK_STREAM;
  const auto port = htons(static_cast<std::uint16_t>(mapping.host_port));
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_port = port;
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_port = port;
  const auto& ip = mapping.host_ip;
  if (!ip.empty() && ::inet_pton(AF_INET6, ip.c_str(), &six.sin6_addr) == 1)
    return is_bound(AF_INET6, type, reinterpret_cast<const sockaddr*>(&six), sizeof six);
  if (!ip.empty()) ::inet_pton(AF_INET, ip.c_str(), &four.sin_addr);
  return is_bound(AF_INET, type, reinterpret_cast<const sockaddr*>(&four), sizeof four);
}

}  // namespace

NetworkTools real_tools(const NetworkOptions& options) {
  const Namespaces namespaces{options.namespace_dir};
  return {
      .run = host::run_program,
      .has_namespace = [namespaces](const std::string& name) { return namespaces.exists(name); },
      .make_namespace = [namespaces](const std::string& name) { return namespaces.make(name); },
      .remove_namespace = [namespaces](const std::string& name) { return namespaces.remove(name); },
      .is_taken = is_port_taken,
      .end_holders = host::end_holders,
      .wait = [](std::chrono::milliseconds time) { std::this_thread::sleep_for(time); }};
}

}  // namespace nomad::network
