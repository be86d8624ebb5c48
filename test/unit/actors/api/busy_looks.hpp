// Looks at a token for which there is no time at first: what goes on for long outlives them.
#pragma once

#include <atomic>
#include <memory>

#include "actors/api/api.hpp"
#include "test/support/eventually.hpp"

namespace nomad::api {

/// With `index` 2, two looks are refused as too many; from 3 on nobody may do anything.
struct BusyLooks {
  std::atomic<std::uint64_t> index{1};
  std::atomic<int> refused{0};

  Result<access::Grant> look() {
    const auto now = index.load();
    if (now > 2) return access::permission_denied();
    if (now == 2 && refused < 2) {
      ++refused;
      test::note_change();
      return Error{Errc::overloaded, "too many requests wait for what their tokens allow"};
    }
    return access::Grant{.rights = access::Rights::everything(), .index = now};
  }

  static void judge_by(const std::shared_ptr<BusyLooks>& looks, ApiOptions& options) {
    options.authenticator = access::Authenticator::make(
        {.lookup = {.index = [looks] { return looks->index.load(); },
                    .here = [looks](std::string_view) -> std::optional<Result<access::Grant>> {
                      return looks->look();
                    }}});
  }

  /// Changes the rights, and waits until both looks have been refused.
  bool are_refused() {
    index = 2;
    return test::eventually([&] { return refused == 2; });
  }
};

}  // namespace nomad::api
