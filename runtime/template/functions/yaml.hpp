// YAML as gopkg.in/yaml.v2 reads it into an interface{} and writes it, on libyaml.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "runtime/base/result.hpp"
#include "runtime/template/eval/context.hpp"

namespace nomad::templates {

/// Mappings are map[interface {}]interface {}. Anchors are read, but what they come to is counted
/// as often as it is used, so that no text unfolds without end.
Result<Value> read_yaml(Context& context, std::string_view text);

/// Fails with `too_large` beyond `limit` bytes.
Result<std::string> write_yaml(const Value& value, std::size_t limit);

}  // namespace nomad::templates
