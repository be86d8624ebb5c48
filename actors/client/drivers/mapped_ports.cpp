#include "actors/client/drivers/mapped_ports.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/base/whole_number.hpp"
#include "runtime/workload/interpolation.hpp"

namespace nomad::client {

Result<std::map<std::string, std::int64_t>> read_port_map(
    const std::map<std::string, std::string>& from) {
  std::map<std::string, std::int64_t> ports;
  for (const auto& [label, text] : from) {
    const auto port = whole_number<std::int64_t>(text);
    if (!port || *port < 0 || *port > 65535)
      return Error{Errc::invalid_argument,
                   fmt::format("port_map.{}: expected a port, got \"{}\"", label, text)};
    ports.emplace(label, *port);
  }
  return ports;
}

void put_mapped_ports(const std::map<std::string, std::int64_t>& ports,
                      std::vector<std::string>& environment) {
  for (const auto& [label, port] : ports) {
    const auto name = workload::clean_variable("NOMAD_PORT_" + label);
    auto variable = fmt::format("{}={}", name, port);
    const auto found = std::ranges::find_if(
        environment, [&name](const auto& each) { return each.starts_with(name + '='); });
    if (found != environment.end())
      *found = std::move(variable);
    else
      environment.push_back(std::move(variable));
  }
}

}  // namespace nomad::client
