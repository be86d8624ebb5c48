// Obstacles: what may be against a node, numbered so that a verdict about one of 50,000 nodes is a
// few integers and no text.
//
// May depend on: runtime/base. Pure.
#pragma once

#include <cstdint>
#include <string_view>

namespace nomad::scheduler::explain {

/// In the order in which a node's are told.
enum class Obstacle : std::uint8_t {
  status,
  drain,
  eligibility,
  node_pool,
  datacenter,
  constraint,
  driver,
  device,  ///< Not there, whatever is in use.
  network,
  host_volume,
  csi_volume,
  distinct_hosts,
  distinct_property,
  present,  ///< A system job has its allocation there.
  port,
  network_room,  ///< Ports or bandwidth that no static port of the group names.
  device_room,
  cores,
  cpu,
  memory,
  disk,
  room,  ///< What the scheduler calls exhausted, and is none of these.
};
inline constexpr std::size_t obstacles = 22;

/// As the API names it: "distinct-hosts".
std::string_view to_string(Obstacle what);

/// One obstacle of a group: which constraint, driver, port… it is, counted in the group's order.
using ReasonId = std::uint32_t;

constexpr ReasonId reason_id(Obstacle what, std::size_t index = 0) {
  return static_cast<ReasonId>(what) << 24U | (static_cast<ReasonId>(index) & 0xffffffU);
}

constexpr Obstacle obstacle_of(ReasonId id) {
  return static_cast<Obstacle>(id >> 24U);
}

constexpr std::size_t index_of(ReasonId id) {
  return id & 0xffffffU;
}

/// Whether it is an amount that is asked for and free: these fold whatever the figures are.
constexpr bool is_amount(Obstacle what) {
  return what == Obstacle::cores || what == Obstacle::cpu || what == Obstacle::memory
         || what == Obstacle::disk;
}

}  // namespace nomad::scheduler::explain
