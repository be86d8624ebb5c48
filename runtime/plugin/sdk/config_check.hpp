// What an agent makes of a configuration before a plugin gets it: checked against the fields that
// are declared, every value of its field's kind. For those that stand in an agent's place without
// being one: the test kit, and `nomadctl plugin validate`.
//
// May depend on: what the SDK has. Pure. Tests: config_location_test, value by value beside the
// agent.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/plugin/sdk/plugin.hpp"

namespace nomad::plugin {

/// As plugins write them down, of what they have declared.
std::vector<ConfigField> fields_of(capnp::List<schema::plugin::ConfigField>::Reader declared);

/// `json` as the plugin gets it: durations as nanoseconds, which they may be already. The error is
/// the agent's: "wait: expected a duration such as \"10s\"".
Result<std::string> apply_config(const std::vector<ConfigField>& fields, std::string_view json);

}  // namespace nomad::plugin
