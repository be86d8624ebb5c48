// What an untyped YAML 1.1 scalar means: null, a bool, a number, a timestamp or text.
#pragma once

#include <string>
#include <string_view>

#include "runtime/hcl/value/value.hpp"

namespace nomad::hcl {

struct YamlScalar {
  Value value;
  bool is_merge = false;  ///< the `<<` key
  std::string error;      ///< not empty: the scalar does not fit its tag
};

/// `tag` is the full tag ("tag:yaml.org,2002:int") or empty.
YamlScalar resolve_yaml_scalar(std::string_view tag, std::string_view text, bool quoted);

}  // namespace nomad::hcl
