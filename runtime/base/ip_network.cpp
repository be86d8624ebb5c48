#include "runtime/base/ip_network.hpp"

#include <charconv>
#include <cstdint>

#include <arpa/inet.h>

#include "runtime/base/text.hpp"
#include "runtime/base/whole_number.hpp"

namespace nomad {

std::string ip_bytes(std::string_view address) {
  if (address.find('\0') != address.npos) return {};
  const std::string text{address};
  char bytes[sizeof(in6_addr)];
  if (inet_pton(AF_INET, text.c_str(), bytes) == 1) return {bytes, sizeof(in_addr)};
  if (inet_pton(AF_INET6, text.c_str(), bytes) == 1) return {bytes, sizeof(in6_addr)};
  return {};
}

bool is_ip_address(std::string_view text) {
  return !ip_bytes(text).empty();
}

bool is_loopback(std::string_view host) {
  using namespace std::string_view_literals;
  constexpr auto own = "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1"sv;     // ::1
  constexpr auto mapped = "\0\0\0\0\0\0\0\0\0\0\xff\xff\x7f"sv;  // ::ffff:127.0.0.0
  const auto bytes = ip_bytes(host);
  const bool is_ipv4 = bytes.size() == sizeof(in_addr) && bytes.front() == 127;
  return is_ipv4 || bytes == own || bytes.starts_with(mapped) || to_lower(host) == "localhost";
}

bool IpNetwork::contains(std::string_view address) const {
  const std::string other = ip_bytes(address);
  if (other.size() != bytes.size()) return false;
  for (unsigned bit = 0; bit < prefix; ++bit)
    if (((bytes[bit / 8] ^ other[bit / 8]) >> (7 - bit % 8) & 1) != 0) return false;
  return true;
}

std::optional<IpNetwork> parse_ip_network(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == text.npos) return std::nullopt;
  IpNetwork out{.bytes = ip_bytes(text.substr(0, slash))};
  if (out.bytes.empty() || !read_whole_number(text.substr(slash + 1), out.prefix)
      || out.prefix > 8 * out.bytes.size())
    return std::nullopt;
  return out;
}

bool in_networks(std::string_view address, std::string_view networks) {
  for (const auto each : split(networks, ','))
    if (const auto network = parse_ip_network(trim(each)); network && network->contains(address))
      return true;
  return false;
}

std::string parse_default_route(std::string_view route, std::string_view ipv6_route) {
  std::string best;
  std::uint64_t best_metric = 0;
  auto consider = [&](std::string_view interface, std::string_view flags, std::string_view metric,
                      int metric_base) {
    std::uint64_t flag_bits = 0, value = 0;
    std::from_chars(flags.data(), flags.data() + flags.size(), flag_bits, 16);
    std::from_chars(metric.data(), metric.data() + metric.size(), value, metric_base);
    constexpr std::uint64_t up = 1, reject = 0x200;
    if ((flag_bits & up) == 0 || (flag_bits & reject) != 0) return;
    if (!best.empty() && best_metric <= value) return;
    best = interface;
    best_metric = value;
  };
  for (std::string_view line : split(route, '\n')) {
    auto words = fields(line, file_space);
    if (words.size() >= 8 && words[1] == "00000000" && words[7] == "00000000")
      consider(words[0], words[3], words[6], 10);
  }
  if (!best.empty()) return best;
  for (std::string_view line : split(ipv6_route, '\n')) {
    auto words = fields(line, file_space);
    if (words.size() >= 10 && words[0] == "00000000000000000000000000000000" && words[1] == "00"
        && words[9] != "lo")
      consider(words[9], words[8], words[5], 16);
  }
  return best;
}

}  // namespace nomad
