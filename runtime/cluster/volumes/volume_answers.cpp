#include "runtime/cluster/volumes/volume_answers.hpp"

#include "runtime/object/draft.hpp"
#include "runtime/state/volumes/claims.hpp"

namespace nomad::cluster {
namespace {

/// What volumes, plugins and their stubs say of how a plugin stands.
template <class Builder>
void set_counts(Builder& to, const state::CsiPlugin& plugin) {
  to->setProvider(text(plugin.provider));
  to->setControllersHealthy(plugin.controllers_healthy);
  to->setControllersExpected(plugin.controllers_expected);
  to->setNodesHealthy(plugin.nodes_healthy);
  to->setNodesExpected(plugin.nodes_expected);
}

template <class Builder>
void set_plugin(Builder& to, schema::CsiVolume::Reader volume, const state::CsiPlugin* plugin) {
  to->setControllerRequired(state::needs_controller(volume, plugin));
  to->setSchedulable(state::is_schedulable(volume, plugin));
  if (plugin != nullptr) set_counts(to, *plugin);
}

void set_ids(schema::CsiVolume::Builder volume, schema::CsiVolume::Reader from) {
  unsigned readers = 0;
  unsigned writers = 0;
  const auto counts = state::count_claims(from);
  auto read = volume.initReadAllocs(static_cast<unsigned>(counts.readers));
  auto write = volume.initWriteAllocs(static_cast<unsigned>(counts.writers));
  for (const auto claim : from.getClaims()) {
    const bool writes = claim.getMode() == schema::CsiClaimMode::WRITE;
    auto entry = writes ? write[writers++] : read[readers++];
    entry.setKey(claim.getAllocId());
  }
}

void set_instances(capnp::List<schema::CsiInfoEntry>::Builder to,
                   const std::vector<state::CsiPlugin::Instance>& instances) {
  for (unsigned i = 0; i < to.size(); ++i) {
    to[i].setKey(instances[i].node->getId());
    to[i].setValue(instances[i].info);
  }
}

}  // namespace

Object<schema::CsiVolume> volume_answer(const Object<schema::CsiVolume>& volume,
                                        const state::CsiPlugin* plugin,
                                        const std::string& allocations) {
  Draft<schema::CsiVolume> draft{state::kind::CsiVolumes::shown(volume)};
  draft->disownSealed();
  draft->disownKeyId();
  draft->setAllocations(text(allocations));
  set_ids(*draft, *volume);
  draft->disownClaims();
  set_plugin(draft, *volume, plugin);
  if (plugin != nullptr) draft->setProviderVersion(text(plugin->version));
  return draft.freeze();
}

Object<schema::CsiVolumeStub> volume_stub(schema::CsiVolume::Reader volume,
                                          const state::CsiPlugin* plugin) {
  Draft<schema::CsiVolumeStub> draft;
  draft->setId(volume.getId());
  draft->setNamespace(volume.getNamespace());
  draft->setName(volume.getName());
  draft->setExternalId(volume.getExternalId());
  if (volume.hasTopologies()) draft->setTopologies(volume.getTopologies());
  draft->setAccessMode(volume.getAccessMode());
  draft->setAttachmentMode(volume.getAttachmentMode());
  const auto counts = state::count_claims(volume);
  draft->setCurrentReaders(counts.readers);
  draft->setCurrentWriters(counts.writers);
  draft->setPluginId(volume.getPluginId());
  set_plugin(draft, volume, plugin);
  draft->setResourceExhausted(volume.getResourceExhausted());
  draft->setCreateIndex(volume.getCreateIndex());
  draft->setModifyIndex(volume.getModifyIndex());
  return draft.freeze();
}

Object<schema::CsiPlugin> plugin_answer(const state::CsiPlugin& plugin,
                                        const std::string& allocations) {
  Draft<schema::CsiPlugin> draft;
  draft->setId(text(plugin.id));
  draft->setVersion(text(plugin.version));
  draft->setControllerRequired(plugin.controller_required);
  set_instances(draft->initControllers(static_cast<unsigned>(plugin.controllers.size())),
                plugin.controllers);
  set_instances(draft->initNodes(static_cast<unsigned>(plugin.nodes.size())), plugin.nodes);
  draft->setAllocations(text(allocations));
  set_counts(draft, plugin);
  draft->setCreateIndex(plugin.create_index);
  draft->setModifyIndex(plugin.modify_index);
  return draft.freeze();
}

Object<schema::CsiPluginStub> plugin_stub(const state::CsiPlugin& plugin) {
  Draft<schema::CsiPluginStub> draft;
  draft->setId(text(plugin.id));
  draft->setControllerRequired(plugin.controller_required);
  set_counts(draft, plugin);
  draft->setCreateIndex(plugin.create_index);
  draft->setModifyIndex(plugin.modify_index);
  return draft.freeze();
}

Object<schema::CsiVolume> volume_for_node(const Object<schema::CsiVolume>& volume) {
  Draft<schema::CsiVolume> draft{volume};
  draft->disownSealed();
  draft->disownKeyId();
  draft->disownClaims();
  return draft.freeze();
}

std::string external_id(schema::CsiVolume::Reader volume) {
  return copy(volume.getExternalId().size() != 0 ? volume.getExternalId() : volume.getId());
}

}  // namespace nomad::cluster
