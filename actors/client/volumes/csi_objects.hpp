// Between what servers and jobs say of CSI volumes and what plugins are asked. Values in, values
// out.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/csi/plugin_calls.hpp"
#include "runtime/workload/volumes/plugin_machine.hpp"
#include "runtime/workload/volumes/volume_row.hpp"
#include "schema/csi.capnp.h"
#include "schema/job.capnp.h"
#include "schema/node.capnp.h"
#include "schema/node_door.capnp.h"

namespace nomad::client {

/// How a volume is to be mounted; flags may be secrets.
struct VolumeMountOptions {
  std::string fs_type{};
  std::vector<std::string> flags{};
};

VolumeMountOptions mount_options_of(schema::MountOptions::Reader from);

/// What a job says, over what the volume says.
VolumeMountOptions merged(VolumeMountOptions over, schema::MountOptions::Reader volume);

/// "rw-file-system-single-node-writer": the name of a way to use a volume.
std::string usage_of(bool reads,
                     schema::CsiAttachmentMode attachment,
                     schema::CsiAccessMode access);

/// As CSI numbers them.
std::uint8_t csi_access_mode(schema::CsiAccessMode mode);

/// What servers said of a volume that was claimed, for the calls to its node plugin.
struct ClaimedVolume {
  Object<schema::CsiVolume> volume;
  Object<schema::CsiSecrets> secrets{};  ///< Empty: it has none.
  Object<schema::door::Reply> reply{};   ///< With the publish context.
  VolumeMountOptions options{};          ///< Merged.
};

/// The calls for `row`; `base` is the plugin's directory as it sees that.
void fill_stage(schema::csi::Call::Builder call,
                const workload::VolumeRow& row,
                const std::string& base,
                const ClaimedVolume& claimed);
void fill_publish(schema::csi::Call::Builder call,
                  const workload::VolumeRow& row,
                  const std::string& base,
                  const ClaimedVolume& claimed);
void fill_unpublish(schema::csi::Call::Builder call,
                    const workload::VolumeRow& row,
                    const std::string& base);
void fill_unstage(schema::csi::Call::Builder call,
                  const workload::VolumeRow& row,
                  const std::string& base);

/// Of what servers ask of a controller: how plugins are asked it, what errors begin with
/// ("ControllerCreateVolume"), and what it is about.
struct ControllerQuestion {
  schema::csi::Method method;
  std::string name;
  std::string about;
};

ControllerQuestion question_of(schema::door::CsiControllerCall::Reader call);
void fill_controller(schema::csi::Call::Builder to, schema::door::CsiControllerCall::Reader from);
void fill_expand(schema::csi::Call::Builder to,
                 schema::door::CsiExpand::Reader from,
                 const workload::VolumeRow& row,
                 const std::string& base,
                 capnp::List<schema::SecretEntry>::Reader secrets);

/// What a controller has answered, as servers read it. `rejected`: capabilities are not confirmed.
Result<> write_result(schema::door::CsiControllerCall::Reader asked,
                      schema::csi::Answer::Reader from,
                      schema::door::CsiControllerResult::Builder to);

/// What the node tells of its plugins. Immutable.
struct CsiStandings {
  workload::PluginMachine::Standings nodes{};
  workload::PluginMachine::Standings controllers{};
  std::int64_t changed_at = 0;  ///< Unix nanoseconds.

  /// By kind ("n/" or "c/") and id: since when it stands so.
  std::map<std::string, std::int64_t> since{};
};

void write_standings(const CsiStandings& from, schema::Node::Builder node);

}  // namespace nomad::client
