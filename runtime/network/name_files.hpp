// The files by which the tasks of an allocation find names: /etc/hosts and /etc/resolv.conf. Pure.
//
// May depend on: runtime/base.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.hpp"

namespace nomad::network {

/// Names of this machine, and `hostname` for `address`, if both are given; the text is Nomad's.
std::string hosts_file(std::string_view address, std::string_view hostname);

struct Resolvers {
  std::vector<std::string> servers;
  std::vector<std::string> searches;
  std::vector<std::string> options;

  bool empty() const { return servers.empty() && searches.empty() && options.empty(); }

  bool operator==(const Resolvers&) const = default;
};

/// What stands in a resolv.conf; of `search` and `domain` the last line counts.
Resolvers parse_resolvers(std::string_view text);

/// `wanted`, and what it leaves out from the host's. One that wants nothing has the host's file.
std::string resolver_file(const Resolvers& wanted, std::string_view host_file);

/// Whether a text may be a host's name: letters, digits, dashes and dots, 253 at most, none of its
/// parts empty or longer than 63.
Result<> check_hostname(std::string_view hostname);

}  // namespace nomad::network
