// What a task hears of the ports that its driver maps by `port_map`. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/base/result.hpp"

namespace nomad::client {

/// `port_map` of a task's settings (ConfigReader::map): label to the port inside.
/// `invalid_argument` for what is no port.
Result<std::map<std::string, std::int64_t>> read_port_map(
    const std::map<std::string, std::string>& from);

/// NOMAD_PORT_<label> of an environment ("NAME=value") becomes the port inside.
void put_mapped_ports(const std::map<std::string, std::int64_t>& ports,
                      std::vector<std::string>& environment);

}  // namespace nomad::client
