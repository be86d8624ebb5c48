// Values of configurations between the forms that they have: JSON of the agent, HCL's, and the
// MessagePack that Nomad's plugins get. Pure.
//
// MessagePack is written here, not by libmsgpack: what there is to write is one walk over HCL's
// values, which would be as long with a packer of the library's, and nothing is read.
#pragma once

#include <string>

#include <boost/json/value.hpp>

#include "runtime/hcl/value/value.hpp"

namespace nomad::plugin::bridge {

/// Lists become tuples, objects stay such, null is null.
hcl::Value value_of(const boost::json::value& json);

/// As Nomad encodes what it has decoded: null as nil, whole numbers as such, others as doubles,
/// lists and sets as arrays.
std::string to_msgpack(const hcl::Value& value);

}  // namespace nomad::plugin::bridge
