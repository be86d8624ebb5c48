// Verification: whose identity a token is, and what it gives. Its key decides how it is signed, not
// the token; then its times count, and then the state: the allocation must be there, with the job
// that the token names, and not have ended. Whoever is refused hears "Permission denied" and no
// more.
//
// An identity that is for somebody else (one with a subject, and no audience of ours) is none here:
// whoever it was shown to could show it to us. It is signed by another key of another algorithm
// besides, which this does not know.
//
// Pure but for the keys that `KeyOf` keeps. Tests: verify_test.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "runtime/access/authenticator.hpp"
#include "runtime/access/moment.hpp"
#include "runtime/access/policy/rights_cache.hpp"
#include "runtime/identity/issue.hpp"

namespace nomad::state {
class Store;
}

namespace nomad::identity {

/// What a token says that one of our keys has signed and that counts at `now` (Unix seconds; our
/// servers' clocks may differ by a minute). `not_found`: there is no such key here; `unavailable`:
/// it can't be opened here, or not yet; otherwise `permission_denied`.
Result<Claims> verify(const state::Snapshot& state,
                      const KeyOf& keys,
                      std::string_view token,
                      std::int64_t now);

/// What whoever shows these claims may do: what his task may (cluster::rights_of_task), until they
/// end or his allocation does. `not_found`: there is no such allocation here.
Result<access::Grant> rights_of_claims(const state::Snapshot& state,
                                       const Claims& claims,
                                       access::RightsCache& cache,
                                       const access::Moment& now);

/// `lookup`, and identities besides, of the newest state in `store`. What this server does not know
/// yet others may: unless `knows_all`, only they can say that it is none. With a key that can't be
/// opened it is `unavailable` then: it may be good.
access::Lookup with_identities(access::Lookup lookup,
                               std::shared_ptr<const state::Store> store,
                               KeyOf keys,
                               std::function<bool()> knows_all = {},
                               std::function<access::Moment()> now = &access::Moment::now);

}  // namespace nomad::identity
