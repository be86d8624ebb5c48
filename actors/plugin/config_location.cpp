#include "actors/plugin/config_location.hpp"

#include <boost/json/parse.hpp>
#include <fmt/format.h>

#include "actors/client/drivers/config_schema.hpp"

namespace nomad::plugin {

std::optional<ConfigError> config_error(std::string_view what, const ConfigLocations& locations) {
  constexpr std::string_view prefix = "failed to parse config: ";
  if (!what.starts_with(prefix)) return std::nullopt;
  ConfigError error{.field = {}, .problem = std::string{what.substr(prefix.size())}};
  for (const auto& [key, location] : locations)
    if (key.size() > error.field.size()
        && (error.problem.starts_with(key + ':')
            || error.problem.find('"' + key + '"') != std::string::npos))
      error.field = key;
  return error;
}

std::string location_error(std::string_view plugin,
                           const ConfigError& error,
                           const ConfigLocations& locations) {
  const auto text = fmt::format("plugin.{}.config: {}", plugin, error.problem);
  const auto location = locations.find(error.field);
  return location == locations.end() ? text : fmt::format("{}: {}", location->second, text);
}

Result<boost::json::object> check_config(std::string_view plugin,
                                         capnp::List<schema::plugin::ConfigField>::Reader fields,
                                         std::string_view config,
                                         const ConfigLocations& locations) {
  boost::json::error_code failure;
  const auto given = boost::json::parse(config, failure);
  if (failure) return Error{Errc::invalid_argument, "its configuration is no JSON"};
  auto made = client::apply_fields(fields, given);
  if (made) return made;
  const auto error = config_error(made.error().what, locations);
  return Error{Errc::invalid_argument,
               error ? location_error(plugin, *error, locations) : made.error().what};
}

}  // namespace nomad::plugin
