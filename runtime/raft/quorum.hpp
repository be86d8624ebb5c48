// Quorums: what a majority of the voters agrees on.
#pragma once

#include <cstdint>
#include <functional>

#include "runtime/raft/configuration.hpp"

namespace nomad::raft {

/// The largest number that a majority of the voters has reached, where `reached` tells each one's;
/// 0 without voters.
std::uint64_t reached_by_quorum(const Configuration& configuration,
                                const std::function<std::uint64_t(const ServerId&)>& reached);

enum class VoteResult : std::uint8_t { pending, won, lost };

/// What an election has come to, where `vote` is 1 for yes, 0 for no and -1 for not yet.
VoteResult count_votes(const Configuration& configuration,
                       const std::function<int(const ServerId&)>& vote);

}  // namespace nomad::raft
