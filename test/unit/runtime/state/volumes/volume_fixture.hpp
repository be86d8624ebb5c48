// Volumes, plugins and claims in a state, for tests of what is decided about them.
#pragma once

#include "runtime/cluster/volumes/volume_commands.hpp"
#include "test/unit/runtime/state/fixture.hpp"

namespace nomad::test {

struct VolumeSpec {
  std::string id = "data";
  std::string ns = "default";
  std::string plugin = "p";
  schema::CsiAccessMode access = schema::CsiAccessMode::SINGLE_NODE_WRITER;
  bool controller_required = false;
};

inline void fill(schema::CsiVolume::Builder volume, const VolumeSpec& spec) {
  volume.setId(text(spec.id));
  volume.setNamespace(text(spec.ns));
  volume.setPluginId(text(spec.plugin));
  volume.setControllerRequired(spec.controller_required);
  auto one = volume.initRequestedCapabilities(1)[0];
  one.setAccessMode(spec.access);
  one.setAttachmentMode(schema::CsiAttachmentMode::FILE_SYSTEM);
}

inline Object<schema::CsiVolume> volume_of(const VolumeSpec& spec) {
  Draft<schema::CsiVolume> draft;
  fill(*draft, spec);
  return draft.freeze();
}

struct ClaimSpec {
  std::string alloc = "alloc";
  std::string node = "node";
  schema::CsiClaimMode mode = schema::CsiClaimMode::WRITE;
  schema::CsiAccessMode access = schema::CsiAccessMode::SINGLE_NODE_WRITER;
  schema::CsiClaimState state = schema::CsiClaimState::TAKEN;
};

inline Object<schema::CsiClaim> claim_of(const ClaimSpec& spec) {
  Draft<schema::CsiClaim> claim;
  claim->setAllocId(text(spec.alloc));
  claim->setNodeId(text(spec.node));
  claim->setMode(spec.mode);
  claim->setAccessMode(spec.access);
  claim->setAttachmentMode(schema::CsiAttachmentMode::FILE_SYSTEM);
  claim->setState(spec.state);
  return claim.freeze();
}

/// What a node says of its plugins.
struct PluginNode {
  std::string id = "node";
  std::string plugin = "p";
  bool node_healthy = true;
  bool has_controller = false;
  bool controller_healthy = true;
};

struct VolumeState : state::StateFixture {
  state::Outcome register_volume(const VolumeSpec& spec = {}) {
    return run(
        [&](auto command) { test::fill(command.initCsiVolumeRegister().initVolume(), spec); });
  }

  state::Outcome claim(const ClaimSpec& spec = {}, const std::string& volume = "data") {
    const auto command = cluster::claim_command("default", volume, *claim_of(spec));
    auto outcome = store.apply(++index, *command);
    store.publish();
    return outcome;
  }

  state::Outcome add_plugin(const PluginNode& spec = {}) {
    return run([&](auto command) {
      auto node = command.initNodeRegister().initNode();
      state::fill(node, state::NodeSpec{.id = spec.id});
      auto entry = node.initCsiNodePlugins(1)[0];
      entry.setKey(text(spec.plugin));
      auto info = entry.initValue();
      info.setPluginId(text(spec.plugin));
      info.setHealthy(spec.node_healthy);
      info.setProvider("org.example.disks");
      info.setProviderVersion("1.2");
      info.initNodeInfo().setId(text("ext-" + spec.id));
      if (!spec.has_controller) return;
      auto controller = node.initCsiControllerPlugins(1)[0];
      controller.setKey(text(spec.plugin));
      controller.initValue().setHealthy(spec.controller_healthy);
      controller.getValue().setRequiresControllerPlugin(true);
      controller.getValue().initControllerInfo().setSupportsAttachDetach(true);
    });
  }

  Object<schema::CsiVolume> volume(const std::string& id = "data") const {
    return now().csi_volume("default", id);
  }
};

}  // namespace nomad::test
