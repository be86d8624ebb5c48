// The names of what Nomad's plugins say, for the bridge. Includes what protoc made.
#pragma once

#include "base.pb.h"
#include "driver.pb.h"
#include "hclspec.pb.h"

namespace nomad::plugin::bridge {

namespace drivers = ::hashicorp::nomad::plugins::drivers::proto;
namespace base = ::hashicorp::nomad::plugins::base::proto;
namespace hclspec = ::hashicorp::nomad::plugins::shared::hclspec;

}  // namespace nomad::plugin::bridge
