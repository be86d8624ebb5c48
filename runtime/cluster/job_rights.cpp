#include "runtime/cluster/job_rights.hpp"

#include "runtime/object/draft.hpp"

namespace nomad::cluster {
namespace {

using access::Capability;
using access::Principal;
using Group = schema::TaskGroup::Reader;
using Volume = schema::VolumeRequest::Reader;

Result<> authorize_volume(const Principal& who, std::string_view ns, Volume volume) {
  if (view(volume.getType()) == "csi") {
    NOMAD_TRY(authorize(who, Capability::csi_mount_volume, {.ns = ns}));
    NOMAD_TRY(authorize(who, Capability::plugin_read, {}));
    return {};
  }
  const auto needed = volume.getReadOnly() ? Capability::host_volume_mount_readonly
                                           : Capability::host_volume_mount_readwrite;
  NOMAD_TRY(authorize(who, needed, {.host_volume = view(volume.getSource())}));
  return {};
}

/// What a mount shows its host is as good as writing there.
Result<> authorize_mount(const Principal& who, Group group, schema::VolumeMount::Reader mount) {
  if (view(mount.getPropagationMode()) != "bidirectional") return {};
  for (const auto entry : group.getVolumes())
    if (view(entry.getKey()) == view(mount.getVolume()))
      NOMAD_TRY(authorize(who, Capability::host_volume_mount_readwrite,
                          {.host_volume = view(entry.getValue().getSource())}));
  return {};
}

}  // namespace

Result<> authorize_pool(const Principal& who, schema::Job::Reader job) {
  const auto named = view(job.getNodePool());
  const auto pool = named.empty() ? std::string_view{"default"} : named;
  NOMAD_TRY(authorize(who, Capability::node_pool_use, {.node_pool = pool}));
  return {};
}

Result<> authorize_contents(const Principal& who, schema::Job::Reader job) {
  NOMAD_TRY(authorize_pool(who, job));
  const auto ns = view(job.getNamespace());
  for (const auto group : job.getTaskGroups()) {
    for (const auto entry : group.getVolumes())
      NOMAD_TRY(authorize_volume(who, ns, entry.getValue()));
    for (const auto task : group.getTasks()) {
      for (const auto mount : task.getVolumeMounts())
        NOMAD_TRY(authorize_mount(who, group, mount));
      if (task.hasCsiPluginConfig())
        NOMAD_TRY(authorize(who, Capability::csi_register_plugin, {.ns = ns}));
    }
  }
  return {};
}

}  // namespace nomad::cluster
