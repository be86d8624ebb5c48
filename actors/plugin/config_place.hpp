// The configuration of a plugin against the fields that it declares, and where in the agent's files
// a mistake of it stands. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>

#include "runtime/base/result.hpp"
#include "schema/plugin.capnp.h"

namespace nomad::plugin {

/// "start.hcl:7: plugin.stamp.config: interval: expected a duration". `what` is as `apply_fields`
/// says it; `places` are those of the keys, by their paths below `config`, and of the block by "".
std::string place_error(std::string_view plugin,
                        std::string_view what,
                        const std::map<std::string, std::string>& places);

/// `config`, a JSON object, as the plugin gets it: every value of its field's kind. The error is as
/// `place_error` tells it.
Result<boost::json::object> check_config(std::string_view plugin,
                                         capnp::List<schema::plugin::ConfigField>::Reader fields,
                                         std::string_view config,
                                         const std::map<std::string, std::string>& places);

}  // namespace nomad::plugin
