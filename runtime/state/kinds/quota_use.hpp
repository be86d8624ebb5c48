// QuotaUse: what allocations take of a quota. Kept as a sum per quota while allocations come and
// go, and while namespaces change their quota: so that nobody adds up for a placement.
//
// An allocation counts until it has ended or is told to: one that only stops holds its node's
// resources still, but not its share of the quota, or an update could never replace it there.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/state/rows.hpp"
#include "schema/quota.capnp.h"

namespace nomad::state {

struct Tables;

struct QuotaUse {
  Demand demand;  ///< Of which a quota does not limit the disk.
  std::int64_t cores = 0;
  std::int64_t allocations = 0;
  std::map<std::string, std::int64_t, std::less<>> devices;  ///< By "vendor/type/name"; no zeros.

  QuotaUse& operator+=(const QuotaUse& other);
  QuotaUse& operator-=(const QuotaUse& other);
  friend bool operator==(const QuotaUse&, const QuotaUse&) = default;
};

/// What one allocation takes that has not ended.
QuotaUse quota_use_of(const Demand& demand, schema::AllocatedResources::Reader resources);

/// How many instances of a device are in use, which a quota names by its type, "vendor/type" or
/// "vendor/type/name".
std::int64_t devices_in_use(std::string_view name, const QuotaUse& use);

/// What of a quota bounds one region; empty if nothing does.
std::optional<schema::QuotaLimit::Reader> limit_in(schema::QuotaSpec::Reader quota,
                                                   std::string_view region);

/// In bytes; the greatest number if there is none for it.
std::int64_t mebibytes(std::int64_t count);

/// Counts a change of an allocation, of which `before` or `after` may be null. Returns the quota
/// whose use has changed; empty if none has.
std::string count_for_quota(Tables& tables, const AllocRow* before, const AllocRow* after);

/// Puts a namespace with all that it takes under the quota `to` in place of `from`; "" is none.
void change_quota(Tables& tables,
                  std::string_view ns,
                  const std::string& from,
                  const std::string& to);

/// The bytes that variables of the quota's namespaces take as they are stored.
std::int64_t variable_bytes_of_quota(const Tables& tables, std::string_view quota);

}  // namespace nomad::state
