// QuotaLimits: what the quota of a namespace allows in this region, and whether a use of it fits.
//
// May depend on: runtime/state. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/object/object.hpp"
#include "runtime/state/kinds/quota_use.hpp"
#include "runtime/state/snapshot.hpp"

namespace nomad::scheduler {

class QuotaLimits {
public:
  /// Those that bound a namespace's allocations in `region`, the server's own: a job's is what its
  /// submitter says. Nothing if none do. Of a quota that is not there nothing may be used.
  static std::optional<QuotaLimits> of(const state::Snapshot& state,
                                       std::string_view ns,
                                       std::string_view region);

  const std::string& name() const { return name_; }

  /// What of `after` is more than the limits, as QuotaExhausted shows it; empty if all fits. Who is
  /// beyond a limit already, because that was lowered, may keep what he had at `before`.
  std::vector<std::string> exceeded(const state::QuotaUse& before,
                                    const state::QuotaUse& after) const;

private:
  std::string name_;
  bool is_known_ = true;  ///< Else `spec_` allows nothing.
  Object<schema::QuotaSpec> spec_;
  schema::QuotaResources::Reader limits_;  ///< Of `spec_`.
};

/// A quota in the plan in progress.
struct QuotaBudget {
  QuotaLimits limits;
  state::QuotaUse before;  ///< With what other plans take that are under way.
  state::QuotaUse now;

  /// As QuotaLimits has it, if `more` is placed besides.
  std::vector<std::string> exceeded_with(const state::QuotaUse& more) const;
};

}  // namespace nomad::scheduler
