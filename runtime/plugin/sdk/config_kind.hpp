// How the kinds of a configuration's fields are told to people, by agents and by what stands in an
// agent's place to test a plugin. Pure.
#pragma once

#include <string_view>

#include "schema/plugin.capnp.h"

namespace nomad::plugin {

/// What stands behind "expected".
inline std::string_view expectation_of(schema::plugin::ConfigField::Kind kind) {
  using Kind = schema::plugin::ConfigField::Kind;
  switch (kind) {
    case Kind::TEXT:
      return "a text";
    case Kind::NUMBER:
      return "a whole number";
    case Kind::BOOLEAN:
      return "true or false";
    case Kind::DURATION:
      return "a duration such as \"10s\"";
    case Kind::TEXTS:
      return "a list of texts";
    case Kind::BLOCK:
      return "a block";
    case Kind::MAP:
      return "texts under names";
    case Kind::BLOCKS:
      return "blocks";
    case Kind::ANY:
      return "anything";
  }
  return "what is not known here: this is older than what declares it";
}

}  // namespace nomad::plugin
