#include "runtime/raft/quorum.hpp"

#include <algorithm>
#include <vector>

namespace nomad::raft {

std::uint64_t reached_by_quorum(const Configuration& configuration,
                                const std::function<std::uint64_t(const ServerId&)>& reached) {
  std::vector<std::uint64_t> numbers;
  for (const auto& member : configuration.members)
    if (member.voter) numbers.push_back(reached(member.id));
  if (numbers.empty()) return 0;
  // Of 2k or 2k+1 sorted numbers, k+1 are at least as large as the one at (n-1)/2.
  const auto at = numbers.begin() + static_cast<std::ptrdiff_t>((numbers.size() - 1) / 2);
  std::ranges::nth_element(numbers, at);
  return *at;
}

VoteResult count_votes(const Configuration& configuration,
                       const std::function<int(const ServerId&)>& vote) {
  std::size_t voters = 0;
  std::size_t yes = 0;
  std::size_t no = 0;
  for (const auto& member : configuration.members) {
    if (!member.voter) continue;
    ++voters;
    const int cast = vote(member.id);
    if (cast > 0) ++yes;
    if (cast == 0) ++no;
  }
  if (yes > voters / 2) return VoteResult::won;
  if (voters - no <= voters / 2) return VoteResult::lost;
  return VoteResult::pending;
}

}  // namespace nomad::raft
