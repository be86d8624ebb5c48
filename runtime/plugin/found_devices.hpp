// Devices of a node that a plugin has found, looked at before they are believed. Pure.
#pragma once

#include <vector>

#include "runtime/base/result.hpp"
#include "runtime/host/fingerprint/fingerprint.hpp"
#include "schema/plugin.capnp.h"

namespace nomad::plugin {

inline constexpr unsigned most_device_groups = 64;
inline constexpr unsigned most_devices = 1024;  ///< Of all groups together.

/// The error says what is wrong: none is taken then.
Result<std::vector<host::DeviceGroup>> read_devices(
    capnp::List<schema::plugin::DeviceGroup>::Reader groups);

}  // namespace nomad::plugin
