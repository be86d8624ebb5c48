#include "runtime/access/verdicts.hpp"

#include <algorithm>

namespace nomad::access {

const Result<Allowed>& Verdicts::judge(Capability needed, std::string_view ns) {
  const auto fits = [&](const Verdict& one) { return one.needed == needed && one.ns == ns; };
  if (last_ >= all_.size() || !fits(all_[last_])) {
    last_ = static_cast<std::size_t>(std::ranges::find_if(all_, fits) - all_.begin());
    if (last_ == all_.size())
      all_.push_back({needed, std::string{ns}, authorize(who_, needed, {.ns = ns})});
  }
  return all_[last_].allowed;
}

bool are_same_for(const Principal& who, const std::vector<Verdict>& verdicts) {
  return std::ranges::all_of(verdicts, [&](const Verdict& one) {
    return authorize(who, one.needed, {.ns = one.ns}).has_value() == one.allowed.has_value();
  });
}

}  // namespace nomad::access
