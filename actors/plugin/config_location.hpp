// The configuration of a plugin against the fields that it declares, and where in the agent's files
// a mistake of it stands. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>

#include "runtime/base/result.hpp"
#include "schema/plugin.capnp.h"

namespace nomad::plugin {

/// Places in the agent's files of the keys, by their paths below `config`, and of the block by "".
using ConfigLocations = std::map<std::string, std::string>;

/// What is wrong with a configuration.
struct ConfigError {
  std::string field;    ///< The longest path of those that have places; "" is the block's.
  std::string problem;  ///< "interval: expected a duration"
};

/// `apply_fields`, and plugins that check as it does, say it in words alone: this is where they are
/// read. Nothing if `what` is about something else.
std::optional<ConfigError> config_error(std::string_view what, const ConfigLocations& locations);

/// "start.hcl:7: plugin.stamp.config: interval: expected a duration"
std::string location_error(std::string_view plugin,
                           const ConfigError& error,
                           const ConfigLocations& locations);

/// `config`, a JSON object, as the plugin gets it: every value of its field's kind. The error is as
/// `location_error` tells it.
Result<boost::json::object> check_config(std::string_view plugin,
                                         capnp::List<schema::plugin::ConfigField>::Reader fields,
                                         std::string_view config,
                                         const ConfigLocations& locations);

}  // namespace nomad::plugin
