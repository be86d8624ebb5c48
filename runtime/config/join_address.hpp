// Addresses of servers as people write them: the port may be missing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace nomad::config {

/// `name` with `port` unless it has one: "a:4648", "[::1]:4648". More colons than one, without
/// brackets, are an IPv6 address.
std::string join_address(const std::string& name, std::int64_t port);

/// Adds the names in `given`, each of which may be several, separated by commas.
void add_names(std::vector<std::string>& list, const std::vector<std::string>& given);

/// Whether the port of `name` is one, if it has any.
bool has_good_port(const std::string& name);

}  // namespace nomad::config
