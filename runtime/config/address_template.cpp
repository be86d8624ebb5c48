#include "runtime/config/address_template.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <fstream>
#include <optional>
#include <span>

#include <arpa/inet.h>
#include <net/if.h>

#include <fmt/format.h>
#include <ifaddrs.h>
#include <re2/re2.h>

namespace nomad::config {
namespace {

/// An IPv4 address as the IPv6 address that is mapped to it.
using Octets = std::array<std::uint8_t, 16>;

constexpr unsigned mapped_bits = 96;

std::optional<Octets> octets_of(const std::string& ip) {
  Octets out{};
  if (inet_pton(AF_INET6, ip.c_str(), out.data()) == 1) return out;
  out[10] = out[11] = 0xff;
  if (inet_pton(AF_INET, ip.c_str(), out.data() + 12) == 1) return out;
  return std::nullopt;
}

bool is_ipv6(const std::string& ip) {
  return ip.find(':') != ip.npos;
}

/// Whether `ip` is in "10.0.0.0/8"; nothing if that is no network.
std::optional<bool> in_network(const std::string& ip, const std::string& network) {
  const auto slash = network.find('/');
  if (slash == network.npos) return std::nullopt;
  const auto base = octets_of(network.substr(0, slash));
  const auto address = octets_of(ip);
  unsigned bits = 0;
  const auto* end = network.data() + network.size();
  const auto [stop, failure] = std::from_chars(network.data() + slash + 1, end, bits);
  const bool is_wide = is_ipv6(network);
  if (!base || !address || failure != std::errc{} || stop != end || bits > (is_wide ? 128 : 32))
    return std::nullopt;
  if (!is_wide) bits += mapped_bits;
  for (unsigned bit = 0; bit < bits; ++bit)
    if (((*base)[bit / 8] ^ (*address)[bit / 8]) >> (7 - bit % 8) & 1) return false;
  return true;
}

bool in_any(const std::string& ip, std::span<const char* const> networks) {
  return std::any_of(networks.begin(), networks.end(),
                     [&](const char* network) { return in_network(ip, network).value_or(false); });
}

/// Neither for one machine or link alone, nor down.
bool is_forwardable(const LocalAddress& address) {
  static constexpr const char* links[] = {"169.254.0.0/16", "fe80::/10", "127.0.0.0/8", "::1/128"};
  return address.is_up && !address.is_loopback && !in_any(address.ip, links);
}

bool is_private(const LocalAddress& address) {
  static constexpr const char* networks[]
      = {"10.0.0.0/8",   "172.16.0.0/12", "192.168.0.0/16",  "100.64.0.0/10",  "192.0.0.0/24",
         "192.0.2.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "fc00::/7"};
  return in_any(address.ip, networks);
}

struct Stage {
  std::string word;
  std::vector<std::string> arguments;
};

Error not_understood(std::string_view what) {
  return {Errc::invalid_argument, fmt::format("the template {} is not understood", what)};
}

/// What stands between "{{" and "}}".
Result<std::vector<Stage>> parse_stages(std::string_view text) {
  std::vector<Stage> stages(1);
  for (std::size_t at = 0; at < text.size(); ++at) {
    Stage& stage = stages.back();
    if (text[at] == '|') {
      stages.emplace_back();
    } else if (text[at] == '"') {
      const auto end = text.find('"', at + 1);
      if (end == text.npos || stage.word.empty()) return not_understood(text);
      stage.arguments.emplace_back(text.substr(at + 1, end - at - 1));
      at = end;
    } else if (text[at] != ' ') {
      const auto end = std::min(text.find_first_of(" |\"", at), text.size());
      auto& target = stage.word.empty() ? stage.word : stage.arguments.emplace_back();
      target = text.substr(at, end - at);
      at = end - 1;
    }
  }
  return stages;
}

class Pipeline {
public:
  explicit Pipeline(const LocalAddresses& here) : here_{here} {}

  /// The text that the stages give.
  Result<std::string> run(const std::vector<Stage>& stages) {
    NOMAD_TRY(start(stages.front()));
    for (std::size_t i = 1; i < stages.size(); ++i)
      NOMAD_TRY(filter(stages[i]));
    if (!text_)
      return Error{Errc::invalid_argument, "a template of interfaces ends with attr or join"};
    return *text_;
  }

private:
  template <class Predicate>
  void keep(Predicate&& is_wanted) {
    std::erase_if(addresses_, [&](const LocalAddress& each) { return !is_wanted(each); });
  }

  void take_first() { text_ = addresses_.empty() ? std::string{} : addresses_.front().ip; }

  Result<> start(const Stage& stage) {
    addresses_ = here_.all;
    const auto& word = stage.word;
    const bool is_address = word.ends_with("IP");
    if (word == "GetInterfaceIP" && stage.arguments.size() == 1)
      keep([&](const LocalAddress& each) { return each.interface == stage.arguments[0]; });
    else if (word == "GetPrivateIP" || word == "GetPublicIP")
      keep([&](const LocalAddress& each) {
        return each.is_default && is_forwardable(each)
               && is_private(each) == (word == "GetPrivateIP");
      });
    else if (word == "GetDefaultInterfaces")
      keep([](const LocalAddress& each) { return each.is_default; });
    else if (word == "GetPrivateInterfaces" || word == "GetPublicInterfaces")
      keep([&](const LocalAddress& each) {
        return is_forwardable(each) && is_private(each) == (word == "GetPrivateInterfaces");
      });
    else if (word != "GetAllInterfaces")
      return not_understood(word);
    std::stable_partition(addresses_.begin(), addresses_.end(),
                          [](const LocalAddress& each) { return !is_ipv6(each.ip); });
    if (is_address) take_first();
    return {};
  }

  Result<> filter(const Stage& stage) {
    const auto& [word, arguments] = stage;
    const bool is_include = word == "include";
    if (text_) return not_understood(word);
    if ((is_include || word == "exclude") && arguments.size() == 2)
      return select(is_include, arguments[0], arguments[1]);
    if (word == "limit" && arguments.size() == 1) {
      std::size_t most = 0;
      const auto* end = arguments[0].data() + arguments[0].size();
      if (std::from_chars(arguments[0].data(), end, most).ptr != end) return not_understood(word);
      addresses_.resize(std::min(addresses_.size(), most));
      return {};
    }
    if (word == "attr" && arguments == std::vector<std::string>{"address"}) {
      take_first();
      return {};
    }
    if (word != "join" || arguments.size() != 2 || arguments[0] != "address")
      return not_understood(word);
    std::string joined;
    for (const auto& each : addresses_)
      joined += (joined.empty() ? "" : arguments[1]) + each.ip;
    text_ = std::move(joined);
    return {};
  }

  Result<> select(bool is_include, const std::string& by, const std::string& what) {
    const re2::RE2 pattern{by == "name" ? what : "", re2::RE2::Quiet};
    bool is_known = by != "network" || in_network("127.0.0.1", what).has_value();
    const auto matches = [&](const LocalAddress& each) {
      if (by == "name") return re2::RE2::PartialMatch(each.interface, pattern);
      if (by == "network") return in_network(each.ip, what).value_or(false);
      if (by == "type")
        return what == "IP" || (what == "IPv6" ? is_ipv6(each.ip) : !is_ipv6(each.ip));
      return what == "up"         ? each.is_up
             : what == "loopback" ? each.is_loopback
                                  : is_forwardable(each);
    };
    if (by == "name") is_known = pattern.ok();
    if (by == "type") is_known = what == "IP" || what == "IPv4" || what == "IPv6";
    if (by == "flags") is_known = what == "up" || what == "loopback" || what == "forwardable";
    if (!is_known || (by != "name" && by != "network" && by != "type" && by != "flags"))
      return not_understood(fmt::format("{} \"{}\"", by, what));
    keep([&](const LocalAddress& each) { return matches(each) == is_include; });
    return {};
  }

  const LocalAddresses& here_;
  std::vector<LocalAddress> addresses_;
  std::optional<std::string> text_;
};

/// The interface of the IPv4 default route, as /proc/net/route has it.
std::string default_interface() {
  std::ifstream routes{"/proc/net/route"};
  std::string interface, destination, rest;
  while (routes >> interface >> destination && std::getline(routes, rest))
    if (destination == "00000000") return interface;
  return {};
}

}  // namespace

LocalAddresses LocalAddresses::read() {
  LocalAddresses out;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return out;
  const auto with_default = default_interface();
  for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr) continue;
    char text[INET6_ADDRSTRLEN] = {};
    const int family = each->ifa_addr->sa_family;
    const void* raw = nullptr;
    if (family == AF_INET) raw = &reinterpret_cast<const sockaddr_in*>(each->ifa_addr)->sin_addr;
    if (family == AF_INET6) raw = &reinterpret_cast<const sockaddr_in6*>(each->ifa_addr)->sin6_addr;
    if (raw == nullptr || inet_ntop(family, raw, text, sizeof text) == nullptr) continue;
    out.all.push_back({.interface = each->ifa_name,
                       .ip = text,
                       .is_up = (each->ifa_flags & IFF_UP) != 0,
                       .is_loopback = (each->ifa_flags & IFF_LOOPBACK) != 0,
                       .is_default = each->ifa_name == with_default});
  }
  freeifaddrs(list);
  return out;
}

Result<std::string> expand_address(std::string_view text, const LocalAddresses& here) {
  std::string out;
  for (auto begin = text.find("{{"); begin != text.npos; begin = text.find("{{")) {
    const auto end = text.find("}}", begin);
    if (end == text.npos) return not_understood(text);
    const auto stages = NOMAD_TRY(parse_stages(text.substr(begin + 2, end - begin - 2)));
    const auto value = NOMAD_TRY(Pipeline{here}.run(stages));
    if (value.empty())
      return Error{Errc::invalid_argument, fmt::format("{} gives no address of this machine",
                                                       text.substr(begin, end + 2 - begin))};
    out += text.substr(0, begin);
    out += value;
    text.remove_prefix(end + 2);
  }
  return out += text;
}

}  // namespace nomad::config
