// What a plugin's refusal means, in the words that users of Nomad know. Pure.
#pragma once

#include <string>

#include "runtime/csi/cause.hpp"
#include "schema/csi_call.capnp.h"

namespace nomad::csi {

/// `about` is what was asked about: a volume's or snapshot's id or name. The text names neither
/// plugin nor secrets; its end is what the plugin itself says, as gRPC's programs print it.
std::string explain(schema::csi::Method method, const std::string& about, const Failure& failure);

}  // namespace nomad::csi
