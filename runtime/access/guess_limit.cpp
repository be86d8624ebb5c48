#include "runtime/access/guess_limit.hpp"

#include <utility>

namespace nomad::access {

void GuessLimit::Count::add(std::int64_t now) {
  if (std::exchange(window, now) != now) count = 0;
  ++count;
}

/// Ports are the guesser's choice.
std::size_t GuessLimit::position_of(std::string_view remote) const {
  return hash_.of(remote.substr(0, remote.rfind(':')))[0] % of_one_.size();
}

void GuessLimit::note(std::string_view remote, Time now) {
  const auto window = window_of(now);
  auto& own = of_one_[position_of(remote)];
  const std::lock_guard lock{guard_};
  own.add(window);
  if (own.in(window) <= limits_.of_one) of_all_.add(window);
}

bool GuessLimit::is_over(std::string_view remote, Time now) const {
  const auto position = position_of(remote);
  const auto window = window_of(now);
  const std::lock_guard lock{guard_};
  return of_one_[position].in(window) >= limits_.of_one || of_all_.in(window) >= limits_.of_all;
}

}  // namespace nomad::access
