// What allocations take of a node: kept as a sum per node while allocations come and go, so that
// nobody adds up a node's allocations again for each placement.
//
// An allocation counts until its client says that it ended (or it is lost): one that is only told
// to stop still holds its resources. A plan that stops it may subtract it from a copy.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/state/map/shared.hpp"
#include "schema/alloc.capnp.h"

namespace nomad::state {

/// Amounts that simply add up.
struct Demand {
  std::int64_t cpu_mhz = 0;
  std::int64_t memory_mb = 0;
  std::int64_t memory_max_mb = 0;  ///< With oversubscription; at least `memory_mb`.
  std::int64_t disk_mb = 0;

  Demand& operator+=(const Demand& other);
  Demand& operator-=(const Demand& other);
  friend bool operator==(const Demand&, const Demand&) = default;
};

/// What one allocation takes at its peak: prestart and poststop tasks do not run beside the main
/// ones, so of the three phases the largest counts, each sidecar always.
Demand demand_of(schema::AllocatedResources::Reader resources);

/// Which ports of one address are taken. A copy shares its parts until they change.
class UsedPorts {
public:
  static constexpr unsigned words = 1024;

  bool contains(std::uint16_t port) const { return (word(port / 64) >> (port % 64) & 1) != 0; }

  /// Ports [64 * index, 64 * index + 63], the lowest in the lowest bit.
  std::uint64_t word(unsigned index) const {
    const auto& part = parts_[index / part_words];
    return part ? (*part)[index % part_words] : 0;
  }

  std::size_t size() const { return size_; }

  /// A port may be taken more than once (by an allocation that is stopping and by its
  /// replacement); it is free when each has given it back.
  void insert(std::uint16_t port);
  void erase(std::uint16_t port);

  /// Whether it is taken more than once.
  bool is_shared(std::uint16_t port) const;

private:
  static constexpr unsigned part_words = 16;
  using Part = std::array<std::uint64_t, part_words>;

  std::array<Shared<Part>, words / part_words> parts_;
  std::vector<std::uint16_t> again_;  ///< Each further taking of a port; sorted.
  std::size_t size_ = 0;
};

/// Everything that is taken of one node.
class NodeUsage {
public:
  const Demand& total() const { return total_; }

  std::size_t allocations() const { return allocations_; }

  /// The ports taken on a host address ("" where allocations name none), or null if none is.
  const UsedPorts* ports(std::string_view host_ip) const;
  bool port_taken(std::string_view host_ip, std::uint16_t port) const;

  /// Reserved cores and devices ("vendor/type/name/id") that are taken. Sorted; one that is taken
  /// twice occurs twice.
  const std::vector<std::uint16_t>& cores() const { return cores_; }

  const std::vector<std::string>& devices() const { return devices_; }

  void add(const Demand& demand, schema::AllocatedResources::Reader resources);
  /// Takes back what `add` of the same resources put in.
  void remove(const Demand& demand, schema::AllocatedResources::Reader resources);

  bool empty() const { return allocations_ == 0; }

private:
  struct Address {
    std::string ip;
    UsedPorts ports;
  };

  UsedPorts& ports_for_change(std::string_view host_ip);

  Demand total_;
  std::size_t allocations_ = 0;
  std::vector<Address> addresses_;
  std::vector<std::uint16_t> cores_;
  std::vector<std::string> devices_;
};

}  // namespace nomad::state
