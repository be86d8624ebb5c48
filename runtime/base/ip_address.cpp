#include "runtime/base/ip_address.hpp"

#include <string>

#include <arpa/inet.h>

#include "runtime/base/text.hpp"

namespace nomad {
namespace {

bool parses_as(int family, std::string_view text) {
  in6_addr parsed;
  return inet_pton(family, std::string{text}.c_str(), &parsed) == 1;
}

}  // namespace

bool is_ip_address(std::string_view text) {
  return parses_as(AF_INET, text) || parses_as(AF_INET6, text);
}

bool is_loopback(std::string_view host) {
  const bool is_ipv4 = host.starts_with("127.") && parses_as(AF_INET, host);
  return is_ipv4 || host == "::1" || to_lower(host) == "localhost";
}

}  // namespace nomad
