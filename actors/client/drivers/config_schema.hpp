// What a driver lets stand in a task's `config` block (DriverDescription.config), and the block as
// the driver gets it. No actor; values in, values out.
#pragma once

#include <span>
#include <string_view>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "runtime/base/result.hpp"
#include "schema/plugin.capnp.h"

namespace nomad::client {

using ConfigKind = schema::plugin::ConfigField::Kind;
using ConfigFields = capnp::List<schema::plugin::ConfigField>;

/// A field as drivers write it down.
struct ConfigFieldSpec {
  std::string_view name;
  ConfigKind kind = ConfigKind::TEXT;
  bool required = false;
  std::span<const ConfigFieldSpec> fields{};  ///< Of a block, or of each of several.
};

/// `to` has as many elements.
void write_fields(std::span<const ConfigFieldSpec> from, ConfigFields::Builder to);

/// Takes the block apart as HCL's types allow (a number or a bool may come as text, a block as a
/// list of one) and makes of it what the driver gets: every value of its field's kind, durations as
/// nanoseconds, nulls left out. `invalid_argument` for what is missing, of another kind, or no
/// field at all, so that a misspelled key is not silently without effect.
Result<boost::json::object> apply_fields(ConfigFields::Reader fields,
                                         const boost::json::value& config);

}  // namespace nomad::client
