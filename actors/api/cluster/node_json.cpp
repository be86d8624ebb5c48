#include "actors/api/cluster/node_json.hpp"

#include "actors/api/http/json_out.hpp"
#include "runtime/net/socket.hpp"
#include "runtime/object/entries.hpp"
#include "runtime/object/enum_name.hpp"

namespace nomad::api {
namespace {

std::string_view attribute(schema::Node::Reader node, std::string_view name) {
  return find_text(node.getAttributes(), name).value_or(std::string_view{});
}

template <class Entries>
void append_map_or_null(JsonObject& object,
                        std::string_view name,
                        bool has,
                        const Entries& entries) {
  if (has)
    append_json_map(object.raw(name), entries,
                    [](std::string& to, auto value) { append_json(to, value); });
  else
    object.null(name);
}

void append_last_drain(JsonObject& object, schema::Node::Reader node) {
  if (node.hasLastDrain())
    object.object("LastDrain", node.getLastDrain());
  else
    object.null("LastDrain");
}

/// The shape that resources had before NodeResources.
void append_legacy(std::string& out,
                   std::int64_t cpu,
                   std::int64_t disk_mb,
                   std::int64_t memory_mb,
                   const schema::NodeResources::Reader* networks_of) {
  JsonObject object{out};
  object.number("CPU", cpu)
      .number("Cores", 0)
      .null("Devices")
      .number("DiskMB", disk_mb)
      .number("IOPS", 0)
      .number("MemoryMB", memory_mb)
      .number("MemoryMaxMB", 0);
  if (networks_of == nullptr || !networks_of->hasNetworks()) {
    object.null("Networks");
    return;
  }
  auto& networks = object.raw("Networks");
  networks += '[';
  bool is_first = true;
  for (const auto network : networks_of->getNetworks()) {
    if (view(network.getMode()) == "bridge") continue;
    if (!is_first) networks += ',';
    is_first = false;
    append_json(networks, network);
  }
  networks += ']';
}

}  // namespace

void append_node_stub(std::string& out, schema::Node::Reader node, const NodeStubOptions& options) {
  JsonObject object{out};
  object.text("Address", net::host_of(view(node.getHttpAddr())));
  if (options.os) JsonObject{object.raw("Attributes")}.text("os.name", attribute(node, "os.name"));
  object.number("CreateIndex", node.getCreateIndex())
      .text("Datacenter", node.getDatacenter())
      .boolean("Drain", node.hasDrainStrategy());
  append_map_or_null(object, "Drivers", node.hasDrivers(), node.getDrivers());
  append_map_or_null(object, "HostVolumes", node.hasHostVolumes(), node.getHostVolumes());
  object.text("ID", node.getId());
  append_last_drain(object, node);
  object.number("ModifyIndex", node.getModifyIndex())
      .text("Name", node.getName())
      .text("NodeClass", node.getNodeClass())
      .text("NodePool", node.getNodePool());
  if (options.resources && node.hasNodeResources())
    object.object("NodeResources", node.getNodeResources());
  if (options.resources && node.hasReservedResources())
    object.object("ReservedResources", node.getReservedResources());
  object.text("SchedulingEligibility", enum_name(node.getSchedulingEligibility()))
      .text("Status", enum_name(node.getStatus()))
      .text("StatusDescription", node.getStatusDescription())
      .text("Version", attribute(node, "nomad.version"));
}

void append_node(std::string& out, schema::Node::Reader node) {
  JsonObject object{out};
  object.members(node).boolean("Drain", node.hasDrainStrategy());
  const auto reserved = node.getReservedResources();
  append_legacy(object.raw("Reserved"), static_cast<std::int64_t>(reserved.getCpu().getCpuShares()),
                static_cast<std::int64_t>(reserved.getDisk().getDiskMb()),
                static_cast<std::int64_t>(reserved.getMemory().getMemoryMb()), nullptr);
  const auto resources = node.getNodeResources();
  append_legacy(object.raw("Resources"), resources.getCpu().getCpuShares(),
                resources.getDisk().getDiskMb(), resources.getMemory().getMemoryMb(), &resources);
}

}  // namespace nomad::api
