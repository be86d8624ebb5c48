#include "runtime/base/work.hpp"

namespace nomad {

Result<void> Work::take_at_once(std::uint64_t units) {
  if (units > at_once && most_ != std::numeric_limits<std::uint64_t>::max() && !refused_)
    refused_ = Error{Errc::too_large, "this takes more work at once than is allowed"};
  if (refused_) next_look_ = 0;
  return take(units);
}

Result<void> Work::slow_take() {
  if (!refused_ && used_ > most_)
    refused_ = Error{Errc::too_large, "this takes more work than is allowed"};
  if (!refused_ && look_)
    if (const auto wanted = look_(); !wanted) refused_ = wanted.error();
  next_look_ = refused_ ? 0 : used_ + look_every;
  if (refused_) return *refused_;
  return {};
}

}  // namespace nomad
