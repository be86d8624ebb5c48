// ConfigSpec: what a plugin of Nomad's lets stand in a configuration (hclspec). The agent is told
// as much of it as its own schemas can say, so that most mistakes are found where they stand; the
// bridge makes the value of it by all of its rules. Pure.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "runtime/base/result.hpp"
#include "runtime/hcl/value/value.hpp"
#include "runtime/plugin/bridge/wire.hpp"
#include "runtime/plugin/sdk/plugin.hpp"

namespace nomad::plugin::bridge {

class ConfigSpec {
public:
  /// `what` is named by errors. Refused: what is no object, is nested beyond 8 blocks, has types or
  /// literals that are none.
  static Result<ConfigSpec> read(std::string_view what, const hclspec::Spec& spec);

  /// Texts, booleans, lists and maps of texts, and blocks are checked by the agent; the rest is
  /// `any`.
  const std::vector<ConfigField>& fields() const { return fields_; }

  /// What the plugin gets, with defaults. `invalid_argument` as "failed to parse config: …".
  Result<hcl::Value> decode(const boost::json::object& config) const;

private:
  hclspec::Spec spec_;
  std::vector<ConfigField> fields_;
};

}  // namespace nomad::plugin::bridge
