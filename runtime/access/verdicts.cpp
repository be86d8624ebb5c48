#include "runtime/access/verdicts.hpp"

#include <algorithm>
#include <iterator>

namespace nomad::access {

const Result<Allowed>& Verdicts::judge(Capability needed, std::string_view ns) {
  const auto fits = [&](const Verdict& one) { return one.needed == needed && one.ns == ns; };
  if (last_ < all_.size() && fits(all_[last_])) return all_[last_].allowed;
  // What is judged by two capabilities has both among the newest.
  const auto found = std::find_if(all_.rbegin(), all_.rend(), fits);
  if (found == all_.rend()) {
    last_ = all_.size();
    all_.push_back({needed, std::string{ns}, authorize(who_, needed, {.ns = ns})});
  } else {
    last_ = static_cast<std::size_t>(std::prev(found.base()) - all_.begin());
  }
  return all_[last_].allowed;
}

bool are_same_for(const Principal& who, const std::vector<Verdict>& verdicts) {
  return std::ranges::all_of(verdicts, [&](const Verdict& one) {
    return authorize(who, one.needed, {.ns = one.ns}).has_value() == one.allowed.has_value();
  });
}

}  // namespace nomad::access
