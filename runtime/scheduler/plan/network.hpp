// NodeNetwork: the addresses of one node, the ports it keeps for itself, and the giving out of
// ports to a placement. Which ports allocations use is the state's NodeUsage, passed in.
//
// May depend on: runtime/state. Immutable; its views live as long as the node object.
#pragma once

#include <map>
#include <string_view>
#include <vector>

#include "runtime/base/random.hpp"
#include "runtime/base/result.hpp"
#include "runtime/scheduler/plan/port_set.hpp"
#include "runtime/state/usage.hpp"
#include "schema/common.capnp.h"
#include "schema/node.capnp.h"

namespace nomad::scheduler {

/// A port given to an allocation.
struct AssignedPort {
  std::string_view label;
  std::string_view host_network;
  std::string_view host_ip;
  std::int32_t value = 0;
  std::int32_t to = 0;
  bool ignores_collision = false;  ///< Others of the node may have it, too.
};

/// What one network block of a group or task came to. Ports are in the order of the job.
struct AssignedNetwork {
  std::string_view device;
  std::string_view ip;
  std::vector<AssignedPort> static_ports;
  std::vector<AssignedPort> dynamic_ports;
};

/// A static port on one of a node's addresses.
struct HostPort {
  std::string_view ip;
  std::int32_t value = 0;
  std::string_view label = {};  ///< As the job calls it, where a job asks for it.
};

/// Mbit/s that allocations were given, by network device: of job files from before Nomad 0.12.
using Bandwidth = std::map<std::string_view, std::int64_t>;

/// Adds what the resources hold; the names live as long as they.
void add_bandwidth(schema::AllocatedResources::Reader resources, Bandwidth& used);

/// A network device of a node, as tasks' own network blocks use it.
struct TaskNetwork {
  std::string_view ip;
  std::string_view device;
  std::int64_t mbits = 0;
};

class NodeNetwork {
public:
  /// Error: the node's reserved ports can't be read.
  static Result<NodeNetwork> make(schema::Node::Reader node);

  /// Finds ports for a group's network block. The error's sentence is what DimensionExhausted
  /// shows behind "network: ".
  Result<AssignedNetwork> assign(schema::NetworkResource::Reader ask,
                                 schema::Node::Reader node,
                                 const state::NodeUsage& usage,
                                 Random& random) const;

  /// The same for the network block of a task (deprecated in job files, still accepted).
  /// `offered` are ports that the same placement already got, `used` what is taken of the devices'
  /// bandwidth: asked for only if the block says `mbits`.
  Result<AssignedNetwork> assign_task(schema::NetworkResource::Reader ask,
                                      const state::NodeUsage& usage,
                                      const Bandwidth& used,
                                      std::vector<Port> offered,
                                      Random& random) const;

  /// Where the static ports of a group's network block have to be that it shares with nobody.
  std::vector<HostPort> static_ports(schema::NetworkResource::Reader ask,
                                     schema::Node::Reader node) const;

  const std::vector<TaskNetwork>& task_networks() const { return task_networks_; }

  /// Whether the node keeps the port for itself.
  bool is_reserved(std::string_view ip, Port port) const;

private:
  using Addresses = std::vector<std::string_view>;

  NodeNetwork() = default;
  void reserve(std::string_view ip, const std::vector<Port>& ports);
  Result<const Addresses*> addresses(std::string_view alias) const;
  Result<AssignedPort> assign_static(schema::Port::Reader port,
                                     std::string_view alias,
                                     const state::NodeUsage& usage) const;
  Result<AssignedPort> assign_dynamic(schema::Port::Reader port,
                                      std::string_view alias,
                                      const state::NodeUsage& usage,
                                      const std::vector<Port>& offered,
                                      Random& random) const;
  Result<AssignedNetwork> assign_task_on(const TaskNetwork& network,
                                         schema::NetworkResource::Reader ask,
                                         const state::NodeUsage& usage,
                                         std::vector<Port> offered,
                                         Random& random) const;
  bool is_taken(std::string_view ip, Port port, const state::NodeUsage& usage) const;
  std::optional<Port> pick(std::string_view ip,
                           const state::NodeUsage& usage,
                           const std::vector<Port>& offered,
                           Random& random) const;

  std::map<std::string_view, Addresses> aliases_;
  std::vector<TaskNetwork> task_networks_;
  std::string_view host_ip_;  ///< What an allocation in host mode names as its address.
  std::map<std::string_view, PortSet> reserved_;
  Port first_dynamic_ = 20'000;
  Port last_dynamic_ = 32'000;
};

}  // namespace nomad::scheduler
