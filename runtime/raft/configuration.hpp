// Configuration: the members of a cluster, as entries of the log and snapshots carry it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/base/result.hpp"
#include "runtime/raft/entry.hpp"

namespace nomad::raft {

struct Member {
  ServerId id;
  std::string address;
  bool voter = false;  ///< Otherwise a learner: it receives the log and counts for nothing.

  friend bool operator==(const Member&, const Member&) = default;
};

struct Configuration {
  /// Identifies the cluster for ever; messages of another one are dropped.
  std::string cluster_id;

  /// Sorted by id.
  std::vector<Member> members;

  /// Ids that were removed. They are never added again: such a server may have forgotten its vote.
  std::vector<ServerId> removed;

  const Member* find(const ServerId& id) const;
  bool is_voter(const ServerId& id) const;
  std::size_t voter_count() const;

  friend bool operator==(const Configuration&, const Configuration&) = default;
};

/// The payload of a configuration entry. Counts and lengths are little-endian 32-bit numbers.
Bytes encode(const Configuration& configuration);

/// `corrupt` when the bytes are no configuration.
Result<Configuration> decode_configuration(std::span<const std::byte> bytes);

}  // namespace nomad::raft
