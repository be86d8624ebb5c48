// Until when what a root key has signed may still be shown to somebody who asks for keys:
// identities with an end, of which nothing is stored. Those without one are counted
// (state::Tables).
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/base/duration.hpp"
#include "runtime/object/identity_ttl.hpp"
#include "runtime/object/object.hpp"
#include "runtime/state/snapshot.hpp"
#include "schema/variable.capnp.h"

namespace nomad::cluster {

/// When the next key began to sign in this one's place (Unix nanoseconds): identities that have an
/// end are signed by the active one. The greatest number while there is none.
std::int64_t signed_until(const state::Snapshot& snapshot, const Object<schema::RootKey>& key);

/// The longest `ttl` of an identity of jobs that run, or are about to; 0: none has one. Reads every
/// job, and no allocation.
std::int64_t longest_ttl_of_jobs(const state::Snapshot& snapshot);

/// Something that `key` has signed for a job may be shown until then; none: nothing any more.
struct SignedSince {
  std::int64_t until = 0;  ///< Unix nanoseconds.
  std::int64_t ttl = 0;    ///< Of the job's identity.
};

std::optional<SignedSince> lives_on(const state::Snapshot& snapshot,
                                    const Object<schema::RootKey>& key,
                                    std::int64_t now);

}  // namespace nomad::cluster
