// Random commands about volumes, for store_random_test.cpp.
#pragma once

#include <string>

#include "runtime/base/random.hpp"
#include "schema/command.capnp.h"

namespace nomad::state {

inline void draw_volume(schema::Command::Builder command, Random& random) {
  const auto name = [&random](const char* kind, std::uint64_t count) {
    return kind + std::to_string(random.below(count));
  };
  const auto id = name("volume", 3);
  switch (random.below(4)) {
    case 0: {
      auto body = command.initCsiVolumeRegister();
      body.setKeepSecrets(random.chance(0.5));
      auto volume = body.initVolume();
      volume.setId(text(id));
      volume.setNamespace("default");
      volume.setPluginId(text(name("plugin", 2)));
      if (random.chance(0.3)) volume.setKeyId(text(name("key", 3)));
      auto one = volume.initRequestedCapabilities(1)[0];
      one.setAccessMode(schema::CsiAccessMode::MULTI_NODE_SINGLE_WRITER);
      return one.setAttachmentMode(schema::CsiAttachmentMode::FILE_SYSTEM);
    }
    case 1: {
      auto body = command.initCsiVolumeDeregister();
      body.setNamespace("default");
      body.setId(text(id));
      return body.setForce(random.chance(0.7));
    }
    default: {
      auto entry = command.initCsiClaimUpdate().initEntries(1)[0];
      entry.setNamespace("default");
      entry.setVolumeId(text(id));
      auto claim = entry.initClaim();
      claim.setAllocId(text(name("alloc", 40)));
      claim.setNodeId(text(name("node", 4)));
      claim.setMode(static_cast<schema::CsiClaimMode>(random.below(2)));
      claim.setAccessMode(schema::CsiAccessMode::MULTI_NODE_SINGLE_WRITER);
      claim.setAttachmentMode(schema::CsiAttachmentMode::FILE_SYSTEM);
      if (random.chance(0.3)) claim.setState(static_cast<schema::CsiClaimState>(random.below(4)));
      return;
    }
  }
}

}  // namespace nomad::state
