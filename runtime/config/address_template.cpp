#include "runtime/config/address_template.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <tuple>

#include <arpa/inet.h>
#include <net/if.h>

#include <fmt/format.h>
#include <ifaddrs.h>
#include <re2/re2.h>

#include "runtime/base/files/bounded.hpp"
#include "runtime/base/ip_network.hpp"
#include "runtime/base/sorting/sort_stably.hpp"
#include "runtime/base/text.hpp"
#include "runtime/base/whole_number.hpp"

namespace nomad::config {
namespace {

// What go-sockaddr never takes for forwardable, and what of RFC 6890 it does.
constexpr std::string_view not_forwardable
    = "0.0.0.0/8,127.0.0.0/8,169.254.0.0/16,192.0.0.0/24,192.0.2.0/24,198.51.100.0/24,"
      "203.0.113.0/24,240.0.0.0/4,::1/128,::/128,::ffff:0:0/96,2001:db8::/32,2001:10::/28,fe80::/"
      "10";
constexpr std::string_view private_networks
    = "10.0.0.0/8,100.64.0.0/10,172.16.0.0/12,192.88.99.0/24,192.168.0.0/16,198.18.0.0/15,"
      "64:ff9b::/96,100::/64,2001::/16,2002::/16,fc00::/7";

bool is_ipv6(const LocalAddress& address) {
  return address.ip.find(':') != std::string::npos;
}

bool is_forwardable(const LocalAddress& address) {
  return address.is_up && !address.is_loopback && !in_networks(address.ip, not_forwardable);
}

bool is_private(const LocalAddress& address) {
  return in_networks(address.ip, private_networks);
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

using Predicate = std::function<bool(const LocalAddress&)>;

/// Of include and exclude: what `what` means of each `by`. Nothing if it is not understood.
std::optional<Predicate> selector(std::string_view by, const std::string& what) {
  const auto word = to_lower(what);
  if (by == "name") {
    auto pattern = std::make_shared<re2::RE2>(what, re2::RE2::Quiet);
    if (!pattern->ok()) return std::nullopt;
    return [pattern](const LocalAddress& each) {
      return re2::RE2::PartialMatch(each.interface, *pattern);
    };
  }
  if (by == "network") {
    std::vector<IpNetwork> networks;
    for (const auto text : split(what, '|')) {
      auto network = parse_ip_network(text);
      if (!network) return std::nullopt;
      networks.push_back(std::move(*network));
    }
    return [networks](const LocalAddress& each) {
      return std::ranges::any_of(networks, [&](const auto& one) { return one.contains(each.ip); });
    };
  }
  if (by == "type" && (word == "ip" || word == "ipv4|ipv6" || word == "ipv6|ipv4"))
    return [](const LocalAddress&) { return true; };
  if (by == "type" && (word == "ipv4" || word == "ipv6"))
    return [wide = word == "ipv6"](const LocalAddress& each) { return is_ipv6(each) == wide; };
  if (by != "flag" && by != "flags") return std::nullopt;
  if (word == "up") return &LocalAddress::is_up;
  if (word == "loopback") return &LocalAddress::is_loopback;
  if (word == "forwardable") return is_forwardable;
  return std::nullopt;
}

class Pipeline {
public:
  explicit Pipeline(const LocalAddresses& here) : addresses_{here.all} {}

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
  void keep(const Predicate& is_wanted) {
    std::erase_if(addresses_, [&](const LocalAddress& each) { return !is_wanted(each); });
  }

  /// Those that are not behind first; of these IPv4 first, then the largest network first.
  void order(const Predicate& is_behind) {
    const auto rank = [&](const LocalAddress& each) {
      return std::tuple{is_behind(each), is_ipv6(each), each.prefix};
    };
    sort_stably(addresses_, {}, rank);
  }

  Result<> start(const Stage& stage) {
    const auto& word = stage.word;
    if (word == "GetPrivateIP" || word == "GetPrivateInterfaces" || word == "GetPublicIP"
        || word == "GetPublicInterfaces") {
      const bool wants_private = word.starts_with("GetPrivate");
      keep([&](const LocalAddress& each) {
        return is_forwardable(each) && is_private(each) == wants_private;
      });
      order([](const LocalAddress& each) { return !each.is_default; });
    } else if (word == "GetInterfaceIP" && stage.arguments.size() == 1) {
      NOMAD_TRY(select(true, "name", stage.arguments[0]));
      order([](const LocalAddress& each) { return !is_forwardable(each); });
    } else if (word == "GetDefaultInterfaces" || word == "GetAllInterfaces") {
      if (word == "GetDefaultInterfaces") keep(&LocalAddress::is_default);
      sort_stably(addresses_, {}, is_ipv6);
    } else {
      return not_understood(word);
    }
    return word.ends_with("IP") ? take({addresses_.data(), addresses_.empty() ? 0U : 1U}, "address")
                                : Result<>{};
  }

  Result<> filter(const Stage& stage) {
    const auto& [word, arguments] = stage;
    const bool is_include = word == "include";
    if (text_) return not_understood(word);
    if ((is_include || word == "exclude") && arguments.size() == 2)
      return select(is_include, arguments[0], arguments[1]);
    if (word == "attr" && arguments.size() == 1)
      return take({addresses_.data(), addresses_.empty() ? 0U : 1U}, arguments[0]);
    if (word == "join" && arguments.size() == 2)
      return take(addresses_, arguments[0], arguments[1]);
    std::size_t most = 0;
    if (word != "limit" || arguments.size() != 1 || !read_whole_number(arguments[0], most))
      return not_understood(word);
    addresses_.resize(std::min(addresses_.size(), most));
    return {};
  }

  Result<> select(bool is_include, const std::string& by, const std::string& what) {
    const auto matches = selector(to_lower(by), what);
    if (!matches) return not_understood(fmt::format("{} \"{}\"", by, what));
    keep([&](const LocalAddress& each) { return (*matches)(each) == is_include; });
    return {};
  }

  /// Ends the pipeline with the attribute of each, joined.
  Result<> take(std::span<const LocalAddress> from,
                const std::string& attribute,
                std::string_view separator = "") {
    const auto name = to_lower(attribute);
    if (name != "address" && name != "name") return not_understood(attribute);
    std::vector<std::string_view> values;
    for (const auto& each : from)
      values.push_back(name == "name" ? each.interface : each.ip);
    text_ = join(values, separator);
    return {};
  }

  std::vector<LocalAddress> addresses_;
  std::optional<std::string> text_;
};

std::string read_routes(const char* path) {
  return read_whole_file(path).value_or("");
}

/// How many bits of a mask are set.
int prefix_of(const sockaddr* mask) {
  if (mask == nullptr) return 0;
  const bool is_wide = mask->sa_family == AF_INET6;
  in6_addr bytes{};
  if (is_wide)
    bytes = reinterpret_cast<const sockaddr_in6*>(mask)->sin6_addr;
  else
    std::memcpy(&bytes, &reinterpret_cast<const sockaddr_in*>(mask)->sin_addr, sizeof(in_addr));
  int bits = 0;
  for (const unsigned char byte : bytes.s6_addr)
    bits += std::popcount(byte);
  return bits;
}

}  // namespace

LocalAddresses LocalAddresses::read() {
  LocalAddresses out;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return out;
  const auto with_default
      = parse_default_route(read_routes("/proc/net/route"), read_routes("/proc/net/ipv6_route"));
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
                       .prefix = prefix_of(each->ifa_netmask),
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
