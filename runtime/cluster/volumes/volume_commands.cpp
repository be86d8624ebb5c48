#include "runtime/cluster/volumes/volume_commands.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/jobspec/validate/validate.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/object/entries.hpp"
#include "runtime/state/volumes/claims.hpp"
#include "runtime/state/volumes/csi_plugins.hpp"

namespace nomad::cluster {
namespace {

using Volume = schema::CsiVolume::Reader;
using Text = capnp::Text::Reader;

constexpr std::size_t longest_id = 256;

bool has_no_segments(const auto topology) {
  return topology.getSegments().size() == 0;
}

/// It becomes a part of paths on nodes.
bool is_plain_id(std::string_view id) {
  return id.size() <= longest_id && !id.starts_with('.') && std::ranges::none_of(id, [](char c) {
           return static_cast<unsigned char>(c) < ' ' || c == '/' || c == 127;
         });
}

bool is_same(schema::MountOptions::Reader one, schema::MountOptions::Reader other) {
  return one.getFsType() == other.getFsType()
         && texts_of(one.getMountFlags()) == texts_of(other.getMountFlags());
}

bool is_same_map(capnp::List<schema::TextEntry>::Reader one,
                 capnp::List<schema::TextEntry>::Reader other) {
  if (one.size() != other.size()) return false;
  for (unsigned i = 0; i < one.size(); ++i)
    if (one[i].getKey() != other[i].getKey() || one[i].getValue() != other[i].getValue())
      return false;
  return true;
}

/// Of capabilities that a volume in use has from now on, one must be what it is used by.
bool suits_use(Volume stored, Volume wanted) {
  if (stored.getClaims().size() == 0) return true;
  return state::offers_modes(wanted, stored.getAccessMode(), stored.getAttachmentMode());
}

std::vector<std::string> update_mistakes(Volume stored, Volume wanted) {
  std::vector<std::string> mistakes;
  const auto check = [&mistakes](Text from, Text to, std::string_view what) {
    if (to.size() != 0 && from != to)
      mistakes.push_back(fmt::format("volume {} cannot be updated", what));
  };
  check(stored.getName(), wanted.getName(), "name");
  check(stored.getExternalId(), wanted.getExternalId(), "external ID");
  check(stored.getPluginId(), wanted.getPluginId(), "plugin ID");
  check(stored.getCloneId(), wanted.getCloneId(), "clone ID");
  check(stored.getSnapshotId(), wanted.getSnapshotId(), "snapshot ID");
  if (wanted.getParameters().size() != 0
      && !is_same_map(stored.getParameters(), wanted.getParameters()))
    mistakes.emplace_back("volume parameters cannot be updated");
  if (!suits_use(stored, wanted))
    mistakes.emplace_back(
        "volume requested capabilities update was not compatible with existing capability in use");
  if (stored.getClaims().size() != 0
      && !is_same(stored.getMountOptions(), wanted.getMountOptions()))
    mistakes.emplace_back("can not update mount options while volume is in use");
  return mistakes;
}

}  // namespace

std::vector<std::string> volume_mistakes(Volume wanted) {
  std::vector<std::string> mistakes;
  if (wanted.getId().size() == 0)
    mistakes.emplace_back("missing volume id");
  else if (!is_plain_id(view(wanted.getId())))
    mistakes.push_back(fmt::format(
        "volume id must have at most {} bytes, no slash or control character, and not begin with a "
        "dot",
        longest_id));
  if (wanted.getPluginId().size() == 0) mistakes.emplace_back("missing plugin id");
  if (wanted.getRequestedCapabilities().size() == 0)
    mistakes.emplace_back("must include at least one capability block");
  for (const auto capability : wanted.getRequestedCapabilities()) {
    if (capability.getAccessMode() == schema::CsiAccessMode::UNKNOWN)
      mistakes.emplace_back("capability block is missing an access mode");
    if (capability.getAttachmentMode() == schema::CsiAttachmentMode::UNKNOWN)
      mistakes.emplace_back("capability block is missing an attachment mode");
  }
  if (wanted.getSnapshotId().size() != 0 && wanted.getCloneId().size() != 0)
    mistakes.emplace_back("only one of snapshot_id and clone_id is allowed");
  for (const auto topology : wanted.getRequestedTopologies().getRequired())
    if (has_no_segments(topology))
      mistakes.emplace_back("required topology is missing segments field");
  for (const auto topology : wanted.getRequestedTopologies().getPreferred())
    if (has_no_segments(topology))
      mistakes.emplace_back("preferred topology is missing segments field");
  const auto least = wanted.getRequestedCapacityMin();
  const auto most = wanted.getRequestedCapacityMax();
  if (least < 0 || most < 0) mistakes.emplace_back("requested capacities can't be negative");
  if (most != 0 && most < least)
    mistakes.push_back(fmt::format(
        "max requested capacity ({} bytes) less than or equal to min ({} bytes)", most, least));
  return mistakes;
}

std::string mistakes_text(const std::vector<std::string>& mistakes) {
  return fmt::format("validation: {}", fmt::join(mistakes, ", "));
}

Result<Object<schema::CsiVolume>> merge_volume(const Object<schema::CsiVolume>& stored,
                                               const Object<schema::CsiVolume>& wanted) {
  if (const auto mistakes = update_mistakes(*stored, *wanted); !mistakes.empty())
    return Error{Errc::invalid_argument,
                 "unable to update volume: " + jobspec::join_errors(mistakes)};
  Draft<schema::CsiVolume> draft{stored};
  draft->setRequestedCapabilities(wanted->getRequestedCapabilities());
  if (wanted->hasMountOptions())
    draft->setMountOptions(wanted->getMountOptions());
  else
    draft->disownMountOptions();
  if (wanted->getContext().size() != 0) draft->setContext(wanted->getContext());
  if (wanted->getTopologies().size() != 0) draft->setTopologies(wanted->getTopologies());
  if (wanted->hasRequestedTopologies())
    draft->setRequestedTopologies(wanted->getRequestedTopologies());
  if (wanted->getCapacity() != 0) draft->setCapacity(wanted->getCapacity());
  if (wanted->getRequestedCapacityMin() != 0)
    draft->setRequestedCapacityMin(wanted->getRequestedCapacityMin());
  if (wanted->getRequestedCapacityMax() != 0)
    draft->setRequestedCapacityMax(wanted->getRequestedCapacityMax());
  if (stored->getExternalId().size() == 0) draft->setExternalId(wanted->getExternalId());
  if (wanted->getKeyId().size() != 0) {
    draft->setKeyId(wanted->getKeyId());
    draft->setSealed(wanted->getSealed());
  }
  draft->setResourceExhausted(0);
  return draft.freeze();
}

Result<Decision> decide_register_volume(const state::Snapshot& state,
                                        const access::Asking& asking,
                                        const Object<schema::CsiVolume>& wanted) {
  const auto ns = view(wanted->getNamespace());
  const auto allowed = NOMAD_TRY(access::authorize(asking, {ns}));
  NOMAD_TRY(access::authorize(asking.who, access::Capability::plugin_read, {}));
  if (const auto mistakes = volume_mistakes(*wanted); !mistakes.empty())
    return Error{Errc::invalid_argument, mistakes_text(mistakes)};
  if (!state.get_namespace(ns))
    return Error{Errc::rejected, fmt::format("nonexistent namespace \"{}\"", ns)};
  // How its plugin stands changes all the time, and may do so as soon as the volume is there.
  const auto plugin = state::find_csi_plugin(state.unguarded(), view(wanted->getPluginId()));
  if (!plugin)
    return Error{Errc::rejected, fmt::format("no CSI plugin named: {} could be found",
                                             view(wanted->getPluginId()))};
  const auto stored = state.csi_volume(ns, view(wanted->getId()));
  const auto merged = stored ? NOMAD_TRY(merge_volume(stored, wanted)) : wanted;
  Draft<schema::Command> draft;
  auto command = draft->initCsiVolumeRegister();
  command.setVolume(*merged);
  command.setKeepSecrets(wanted->getKeyId().size() == 0);
  auto volume = command.getVolume();
  volume.disownSecrets();
  volume.disownReadAllocs();
  volume.disownWriteAllocs();
  volume.disownAllocations();
  volume.setControllerRequired(plugin->controller_required);
  if (!stored) {
    volume.setAccessMode(schema::CsiAccessMode::UNKNOWN);
    volume.setAttachmentMode(schema::CsiAttachmentMode::UNKNOWN);
  }
  return Decision{.allowed = allowed, .command = draft.freeze()};
}

Result<Decision> decide_deregister_volume(const access::Asking& asking,
                                          std::string_view ns,
                                          std::string_view id,
                                          bool force) {
  const auto allowed = NOMAD_TRY(access::authorize(asking, {ns}));
  Draft<schema::Command> draft;
  auto command = draft->initCsiVolumeDeregister();
  command.setNamespace(std::string{ns});
  command.setId(std::string{id});
  command.setForce(force);
  return Decision{.allowed = allowed, .command = draft.freeze()};
}

Result<Decision> decide_detach_volume(const state::Snapshot& state,
                                      const access::Asking& asking,
                                      std::string_view ns,
                                      std::string_view id,
                                      std::string_view node_id) {
  const auto allowed = NOMAD_TRY(access::authorize(asking, {ns}));
  NOMAD_TRY(access::authorize(asking.who, access::Capability::plugin_read, {}));
  const auto volume = state.csi_volume(ns, id);
  if (!volume) return Error{Errc::not_found, fmt::format("volume not found: {}", id)};
  bool is_in_use = false;
  std::vector<schema::CsiClaim::Reader> over;
  for (const auto claim : volume->getClaims()) {
    if (view(claim.getNodeId()) != node_id) continue;
    // An allocation that has ended never lives again.
    const auto alloc = state.unguarded().alloc(view(claim.getAllocId()));
    if (alloc && !alloc->client_terminal)
      is_in_use = true;
    else if (claim.getState() == schema::CsiClaimState::TAKEN)
      over.push_back(claim);
  }
  if (over.empty() && is_in_use)
    return Error{Errc::conflict,
                 fmt::format("volume in use: {}: by allocations that run on the node", id)};
  if (over.empty()) return Decision{.allowed = allowed};
  Draft<schema::Command> draft;
  auto entries = draft->initCsiClaimUpdate().initEntries(static_cast<unsigned>(over.size()));
  for (unsigned i = 0; i < entries.size(); ++i) {
    entries[i].setNamespace(volume->getNamespace());
    entries[i].setVolumeId(volume->getId());
    entries[i].setClaim(over[i]);
    entries[i].getClaim().setState(schema::CsiClaimState::UNPUBLISHING);
  }
  return Decision{.allowed = allowed, .command = draft.freeze()};
}

Object<schema::Command> claim_command(std::string_view ns,
                                      std::string_view volume_id,
                                      schema::CsiClaim::Reader claim) {
  Draft<schema::Command> draft;
  auto entry = draft->initCsiClaimUpdate().initEntries(1)[0];
  entry.setNamespace(std::string{ns});
  entry.setVolumeId(std::string{volume_id});
  entry.setClaim(claim);
  return draft.freeze();
}

}  // namespace nomad::cluster
