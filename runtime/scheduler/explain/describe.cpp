#include "runtime/scheduler/explain/describe.hpp"

#include <fmt/format.h>

#include "runtime/base/ids.hpp"
#include "runtime/base/text.hpp"
#include "runtime/base/utf8.hpp"
#include "runtime/object/entries.hpp"
#include "runtime/object/enum_name.hpp"
#include "runtime/scheduler/placement/devices.hpp"
#include "runtime/scheduler/plan/node_facts.hpp"

namespace nomad::scheduler::explain {
namespace {

/// Values of nodes are others' texts, and may be of any length.
constexpr std::size_t most_value_bytes = 128;

std::string cut(std::string_view value) {
  if (value.size() <= most_value_bytes) return std::string{value};
  return std::string{utf8_prefix(value, most_value_bytes)} + "...";
}

Reason plain(Obstacle what, std::string subject, std::string value = {}) {
  Reason reason{.what = what, .subject = std::move(subject)};
  if (!value.empty()) reason.values.push_back(std::move(value));
  return reason;
}

Reason of_constraint(const ConstraintSpec& constraint, schema::Node::Reader node) {
  std::string here;
  for (const auto side : {constraint.left, constraint.right}) {
    if (!side.starts_with("${")) continue;
    if (!here.empty()) here += " and ";
    const auto value = resolve_target(side, node);
    here += value ? cut(*value) : "not set";
  }
  return plain(Obstacle::constraint, "constraint " + cut(shown(constraint)), std::move(here));
}

Reason of_driver(std::string_view driver, schema::Node::Reader node) {
  const auto subject = fmt::format("driver \"{}\"", driver);
  const auto drivers = node.getDrivers();
  const auto position = find_entry(drivers, driver);
  if (!position || !drivers[*position].getValue().getDetected())
    return plain(Obstacle::driver, subject, "missing");
  const auto why = view(drivers[*position].getValue().getHealthDescription());
  return plain(Obstacle::driver, subject, why.empty() ? "unhealthy" : "unhealthy, " + cut(why));
}

Reason of_device(Obstacle what,
                 schema::RequestedDevice::Reader request,
                 const Object<schema::Node>& node) {
  OperandChecker operands;
  const auto asked = device_count(request);
  const auto subject = fmt::format("device \"{}\", {} asked", view(request.getName()), asked);
  if (what == Obstacle::device_room) return plain(what, subject, "in use");
  const auto healthy = healthy_instances(*node, request, operands);
  if (healthy >= asked) return plain(what, subject, "too few for all tasks together");
  return plain(what, subject, healthy == 0 ? "missing" : fmt::format("{} healthy", healthy));
}

Reason of_volume(const VolumeSpec& volume, std::string_view name, schema::Node::Reader node) {
  const auto source = source_of(volume, name);
  return plain(Obstacle::host_volume, fmt::format("host volume \"{}\"", source),
               find_entry(node.getHostVolumes(), source) ? "read-only" : "missing");
}

Reason of_port(const NodeJudge& judge,
               schema::Port::Reader port,
               const Object<schema::Node>& node,
               const MayName& may_name) {
  const auto subject = fmt::format("port \"{}\" ({})", view(port.getLabel()), port.getValue());
  auto& proposal = judge.ground().proposal();
  const auto* network = proposal.node(node).network();
  if (network == nullptr) return plain(Obstacle::port, subject, "taken");
  for (const auto& wanted : network->static_ports(judge.group().group.getNetworks()[0], *node)) {
    if (wanted.label != view(port.getLabel())) continue;
    if (network->is_reserved(wanted.ip, static_cast<Port>(wanted.value)))
      return plain(Obstacle::port, subject, "reserved by the node");
    for (const auto& row : proposal.allocs_on(view(node->getId()))) {
      const auto alloc = *row->alloc;
      if (!holds_port(alloc, wanted)) continue;
      if (may_name && !may_name(alloc.ns()))
        return plain(Obstacle::port, subject, "held by an allocation of another namespace");
      return plain(
          Obstacle::port, subject,
          fmt::format("held by allocation {} of job \"{}\"", short_id(alloc.id()), alloc.job_id()));
    }
  }
  return plain(Obstacle::port, subject, "taken");
}

Reason of_network(const NodeJudge& judge, ReasonId id) {
  const auto what = obstacle_of(id);
  const auto& said = judge.network_text(index_of(id));
  if (what != Obstacle::network || said != "missing network") return plain(what, said);
  const auto mode = view(judge.group().group.getNetworks()[0].getMode());
  return plain(what, fmt::format("network mode \"{}\"", mode.empty() ? "host" : mode), "missing");
}

Reason of_property(const NodeJudge& judge, std::size_t index, schema::Node::Reader node) {
  const auto& property = judge.group().distinct_properties[index];
  const auto value = resolve_target(property.attribute, node);
  const auto& counts = judge.ground().selector().distinct_counts(judge.group())[index];
  return plain(Obstacle::distinct_property,
               fmt::format("distinct_property {} (at most {})", property.attribute, property.limit),
               value ? fmt::format("{} has {}", cut(*value), counts.count(*value)) : "not set");
}

Reason of_amount(Obstacle what, const Amount& amount) {
  const auto subject = [&] {
    if (what == Obstacle::cores) return fmt::format("cores, {} asked", amount.asked);
    const auto* unit = what == Obstacle::cpu ? "MHz" : "MiB";
    return fmt::format("{}, {} {} asked", to_string(what), amount.asked, unit);
  };
  return {.what = what,
          .subject = subject(),
          .asked = amount.asked,
          .least_free = amount.free,
          .most_free = amount.free};
}

Reason of_scope(const NodeJudge& judge, Obstacle what, schema::Node::Reader node) {
  const auto job = judge.ground().job().reader();
  if (what == Obstacle::status)
    return plain(what, "not ready", std::string{enum_name(node.getStatus())});
  if (what == Obstacle::drain) return plain(what, "being drained");
  if (what == Obstacle::eligibility) return plain(what, "not eligible");
  if (what == Obstacle::node_pool)
    return plain(what, fmt::format("node pool \"{}\" asked", view(job.getNodePool())),
                 cut(view(node.getNodePool())));
  return plain(what, "datacenter " + cut(join(texts_of(job.getDatacenters()), ",")) + " asked",
               cut(view(node.getDatacenter())));
}

}  // namespace

Reason describe(const NodeJudge& judge,
                ReasonId id,
                const Object<schema::Node>& node,
                const std::optional<Amounts>& amounts,
                const MayName& may_name) {
  const auto what = obstacle_of(id);
  const auto index = index_of(id);
  const auto& group = judge.group();
  switch (what) {
    case Obstacle::status:
    case Obstacle::drain:
    case Obstacle::eligibility:
    case Obstacle::node_pool:
    case Obstacle::datacenter:
      return of_scope(judge, what, *node);
    case Obstacle::constraint:
      return of_constraint(judge.constraints().at(index), *node);
    case Obstacle::driver:
      return of_driver(group.drivers[index], *node);
    case Obstacle::device:
    case Obstacle::device_room:
      return of_device(what, device_requests(group)[index], node);
    case Obstacle::host_volume:
      return of_volume(group.host_volumes[index], judge.alloc_name(), *node);
    case Obstacle::distinct_hosts:
      return plain(what, "distinct_hosts", "there is one of the job");
    case Obstacle::present:
      return plain(what, "one of the group is there");
    case Obstacle::distinct_property:
      return of_property(judge, index, *node);
    case Obstacle::port:
      return of_port(judge,
                     group.group.getNetworks()[0].getReservedPorts()[static_cast<unsigned>(index)],
                     node, may_name);
    case Obstacle::csi_volume:
    case Obstacle::network:
    case Obstacle::network_room:
    case Obstacle::room:
      return of_network(judge, id);
    case Obstacle::cores:
    case Obstacle::cpu:
    case Obstacle::memory:
    case Obstacle::disk:
      return of_amount(what, amounts ? amounts->of(what) : Amount{});
  }
  return plain(what, std::string{to_string(what)});
}

}  // namespace nomad::scheduler::explain
