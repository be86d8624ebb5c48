#include "runtime/csi/caller/answers.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "runtime/base/text.hpp"
#include "runtime/base/utf8.hpp"

namespace nomad::csi {
namespace {

namespace wire = schema::csi;

// The specification has 128 bytes for most strings and 4 KiB for maps; plugins are known that do
// not keep to it.
constexpr std::size_t most_id_bytes = 4096;
constexpr std::size_t most_map_bytes = std::size_t{64} << 10;
constexpr int most_entries = 10'000;  ///< Of volumes, snapshots.
constexpr int most_small = 256;       ///< Of topologies, capabilities, figures.

capnp::Text::Reader put(const std::string& text) {
  return {text.c_str(), text.size()};
}

bool has_controls(const std::string& text) {
  return std::any_of(text.begin(), text.end(), [](char sign) {
    return static_cast<unsigned char>(sign) < 0x20 || sign == 0x7f;
  });
}

/// Reads one answer. The first complaint is kept, and of what follows nothing counts.
class Reading {
public:
  capnp::Text::Reader id(const char* what, const std::string& text) {
    if (text.size() > most_id_bytes)
      complain(fmt::format("a {} of {} bytes", what, text.size()));
    else if (has_controls(text))
      complain(fmt::format("a {} with control characters", what));
    return complaint_.empty() ? put(text) : put(none_);
  }

  std::int64_t bytes(const char* what, std::int64_t number) {
    if (number < 0) complain(fmt::format("{} below zero", what));
    return number;
  }

  /// How many of `count` are taken: all or, with a complaint, none.
  unsigned count(const char* what, int count, int most) {
    if (count > most) complain(fmt::format("{} {}", count, what));
    return complaint_.empty() ? static_cast<unsigned>(count) : 0;
  }

  template <class Map, class Init>
  void map(const char* what, const Map& from, const Init& init) {
    std::size_t bytes = 0;
    std::map<std::string, const std::string*> sorted;
    for (const auto& [key, value] : from) {
      bytes += key.size() + value.size();
      sorted.emplace(key, &value);
    }
    if (bytes > most_map_bytes) return complain(fmt::format("a {} of {} bytes", what, bytes));
    auto to = init(static_cast<unsigned>(sorted.size()));
    unsigned next = 0;
    for (const auto& [key, value] : sorted) {
      to[next].setKey(put(key));
      to[next++].setValue(put(*value));
    }
  }

  void volume(const proto::Volume& from, wire::Volume::Builder to) {
    if (from.volume_id().empty()) complain("a volume without an id");
    to.setId(id("volume id", from.volume_id()));
    to.setCapacityBytes(bytes("a capacity", from.capacity_bytes()));
    map("volume context", from.volume_context(),
        [&to](unsigned size) { return to.initContext(size); });
    to.setSourceSnapshot(id("snapshot id", from.content_source().snapshot().snapshot_id()));
    to.setSourceVolume(id("volume id", from.content_source().volume().volume_id()));
    auto all = to.initTopologies(count("topologies", from.accessible_topology_size(), most_small));
    for (unsigned i = 0; i < all.size(); ++i)
      map("topology", from.accessible_topology(static_cast<int>(i)).segments(),
          [&all, i](unsigned size) { return all[i].initSegments(size); });
  }

  void snapshot(const proto::Snapshot& from, wire::Snapshot::Builder to) {
    if (from.snapshot_id().empty()) complain("a snapshot without an id");
    to.setId(id("snapshot id", from.snapshot_id()));
    to.setSourceVolume(id("volume id", from.source_volume_id()));
    to.setSizeBytes(bytes("a size", from.size_bytes()));
    to.setCreateTime(from.creation_time().seconds());
    to.setIsReady(from.ready_to_use());
  }

  void complain(std::string what) {
    if (complaint_.empty()) complaint_ = "it answers with " + std::move(what);
  }

  Complaint outcome() { return std::move(complaint_); }

private:
  Complaint complaint_;
  const std::string none_;
};

/// A bit for each capability, at its number. What is above 63 nobody knows.
template <class List, class NumberOf>
std::uint64_t mask_of(const List& all, const NumberOf& number_of) {
  std::uint64_t mask = 0;
  for (const auto& one : all) {
    const auto number = static_cast<int>(number_of(one));
    if (number > 0 && number < 64) mask |= std::uint64_t{1} << number;
  }
  return mask;
}

template <class List>
std::uint64_t mask_of_calls(const List& all) {
  return mask_of(all, [](const auto& one) { return one.rpc().type(); });
}

}  // namespace

std::string one_line(const std::string& text, std::size_t most) {
  auto made = escape_controls(utf8_prefix(text, most));
  for (char& sign : made)
    if (sign == '\n' || sign == '\t' || sign == '\r') sign = ' ';
  while (!made.empty() && made.back() == ' ')
    made.pop_back();
  return made;
}

Complaint take(const proto::GetPluginInfoResponse& from, Into to) {
  Reading reading;
  if (from.name().empty()) reading.complain("no name of itself");
  to.setName(reading.id("name", from.name()));
  to.setVersion(reading.id("version", from.vendor_version()));
  return reading.outcome();
}

Complaint take(const proto::GetPluginCapabilitiesResponse& from, Into to) {
  to.setCapabilities(
      mask_of(from.capabilities(), [](const auto& one) { return one.service().type(); }));
  to.setExpansion(
      mask_of(from.capabilities(), [](const auto& one) { return one.volume_expansion().type(); }));
  return {};
}

Complaint take(const proto::ProbeResponse& from, Into to) {
  to.setReady(!from.has_ready() || from.ready().value());
  return {};
}

Complaint take(const proto::CreateVolumeResponse& from, Into to) {
  Reading reading;
  reading.volume(from.volume(), to.initVolumes(1)[0]);
  return reading.outcome();
}

Complaint take(const proto::ControllerPublishVolumeResponse& from, Into to) {
  Reading reading;
  reading.map("publish context", from.publish_context(),
              [&to](unsigned size) { return to.initPublishContext(size); });
  return reading.outcome();
}

Complaint take(const proto::ValidateVolumeCapabilitiesResponse& from, Into to) {
  Reading reading;
  to.setMessage(put(one_line(from.message())));
  to.setIsConfirmed(from.has_confirmed());
  const auto& all = from.confirmed().volume_capabilities();
  auto confirmed = to.initConfirmed(reading.count("capabilities", all.size(), most_small));
  for (unsigned i = 0; i < confirmed.size(); ++i) {
    const auto& one = all[static_cast<int>(i)];
    confirmed[i].setAccessMode(static_cast<std::uint8_t>(one.access_mode().mode()));
    confirmed[i].setBlock(one.has_block());
    confirmed[i].setFsType(reading.id("file system", one.mount().fs_type()));
    auto flags = confirmed[i].initMountFlags(
        reading.count("mount flags", one.mount().mount_flags_size(), most_small));
    for (unsigned flag = 0; flag < flags.size(); ++flag)
      flags.set(flag, reading.id("mount flag", one.mount().mount_flags(static_cast<int>(flag))));
  }
  return reading.outcome();
}

Complaint take(const proto::ListVolumesResponse& from, Into to) {
  Reading reading;
  to.setNextToken(reading.id("token", from.next_token()));
  auto volumes = to.initVolumes(reading.count("volumes", from.entries_size(), most_entries));
  for (unsigned i = 0; i < volumes.size(); ++i) {
    const auto& entry = from.entries(static_cast<int>(i));
    reading.volume(entry.volume(), volumes[i]);
    const auto& status = entry.status();
    auto nodes = volumes[i].initPublishedNodes(
        reading.count("nodes", status.published_node_ids_size(), most_entries));
    for (unsigned node = 0; node < nodes.size(); ++node)
      nodes.set(node, reading.id("node id", status.published_node_ids(static_cast<int>(node))));
    volumes[i].setAbnormal(status.volume_condition().abnormal());
    volumes[i].setCondition(put(one_line(status.volume_condition().message())));
  }
  return reading.outcome();
}

Complaint take(const proto::ControllerGetCapabilitiesResponse& from, Into to) {
  to.setCapabilities(mask_of_calls(from.capabilities()));
  return {};
}

Complaint take(const proto::CreateSnapshotResponse& from, Into to) {
  Reading reading;
  reading.snapshot(from.snapshot(), to.initSnapshots(1)[0]);
  return reading.outcome();
}

Complaint take(const proto::ListSnapshotsResponse& from, Into to) {
  Reading reading;
  to.setNextToken(reading.id("token", from.next_token()));
  auto snapshots = to.initSnapshots(reading.count("snapshots", from.entries_size(), most_entries));
  for (unsigned i = 0; i < snapshots.size(); ++i)
    reading.snapshot(from.entries(static_cast<int>(i)).snapshot(), snapshots[i]);
  return reading.outcome();
}

Complaint take(const proto::ControllerExpandVolumeResponse& from, Into to) {
  Reading reading;
  to.setCapacityBytes(reading.bytes("a capacity", from.capacity_bytes()));
  to.setNodeExpansionRequired(from.node_expansion_required());
  return reading.outcome();
}

Complaint take(const proto::NodeGetVolumeStatsResponse& from, Into to) {
  Reading reading;
  auto usage = to.initUsage(reading.count("figures", from.usage_size(), most_small));
  for (unsigned i = 0; i < usage.size(); ++i) {
    const auto& one = from.usage(static_cast<int>(i));
    usage[i].setUnit(static_cast<std::uint8_t>(one.unit()));
    usage[i].setAvailable(one.available());
    usage[i].setTotal(one.total());
    usage[i].setUsed(one.used());
  }
  return reading.outcome();
}

Complaint take(const proto::NodeExpandVolumeResponse& from, Into to) {
  Reading reading;
  to.setCapacityBytes(reading.bytes("a capacity", from.capacity_bytes()));
  return reading.outcome();
}

Complaint take(const proto::NodeGetCapabilitiesResponse& from, Into to) {
  to.setCapabilities(mask_of_calls(from.capabilities()));
  return {};
}

Complaint take(const proto::NodeGetInfoResponse& from, Into to) {
  Reading reading;
  if (from.node_id().empty()) reading.complain("no id of the node");
  to.setNodeId(reading.id("node id", from.node_id()));
  to.setMaxVolumes(reading.bytes("a bound of volumes", from.max_volumes_per_node()));
  reading.map("topology", from.accessible_topology().segments(),
              [&to](unsigned size) { return to.initTopology(size); });
  return reading.outcome();
}

}  // namespace nomad::csi
