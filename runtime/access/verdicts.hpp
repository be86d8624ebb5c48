// Verdicts: what one caller may see, while one answer is made for him: each namespace is judged
// once, however many rows of it there are. They are kept with a rendering, so that it is given only
// to those of whom the same is true.
//
// One thread at a time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/access/authorize.hpp"

namespace nomad::access {

struct Verdict {
  Capability needed;
  std::string ns;
  Result<Allowed> allowed;
};

class Verdicts {
public:
  /// `who` must outlive this.
  explicit Verdicts(const Principal& who) : who_{who} {}

  explicit Verdicts(Principal&&) = delete;

  /// Valid until the next call.
  const Result<Allowed>& judge(Capability needed, std::string_view ns);

  const std::vector<Verdict>& all() const { return all_; }

  const Principal& who() const { return who_; }

private:
  const Principal& who_;
  std::vector<Verdict> all_;
  std::size_t last_ = 0;  ///< Neighbours of a list are mostly of one namespace.
};

/// Whether all of `verdicts`, which are another's, would be the same for `who`, as of now.
bool are_same_for(const Principal& who, const std::vector<Verdict>& verdicts);

}  // namespace nomad::access
