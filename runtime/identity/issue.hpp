// Issue: which claims an allocation's tasks and services have. What is signed follows from the
// allocation's row, its job and the time alone, so that nothing has to be kept of it.
//
// Pure. Tests: issue_test.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "runtime/identity/rsa_key.hpp"
#include "runtime/identity/sign.hpp"
#include "runtime/identity/signature_cache.hpp"
#include "runtime/object/object.hpp"
#include "runtime/security/keyring.hpp"
#include "runtime/state/snapshot.hpp"

namespace nomad::identity {

/// Which identity is wanted.
struct IdentityRef {
  std::string alloc_id;
  std::string workload;  ///< The task's name, or the service's, as its block in the job has it.
  bool is_service = false;
  std::string name = {};  ///< "" or "default": the one without a name.
};

/// A key by its row. Keys are kept: the same row gives the same object. Thread-safe.
using KeyOf
    = std::function<Result<std::shared_ptr<const SigningKey>>(const Object<schema::RootKey>&)>;

/// Derives them from the keyring's root keys, and keeps what it has derived.
KeyOf signing_keys(std::shared_ptr<security::Keyring> keyring);

/// What signs: Ed25519 what Nomad takes itself, RS256 what is for others.
struct IssuingKeys {
  KeyOf own;
  RsaKeyOf for_others;
};

struct Issued {
  std::string token{};
  std::int64_t issued_at = 0;   ///< Unix seconds.
  std::int64_t expires_at = 0;  ///< Likewise; 0: it ends with its allocation.
};

/// The identity, signed. `not_found` says in Nomad's words what there is none of, also for an
/// allocation that is not the node's or has ended; `unavailable`: the key can't sign yet.
///
/// An identity without an end is signed by the key of its row (by the active one if that is gone,
/// or `corrupt`: not for this server), from the row's time on; one with an end by the active key,
/// from `now` (Unix seconds) on. Of the former, signatures by RS256 are kept in `signatures` (null:
/// they are not).
Result<Issued> issue(const state::Snapshot& state,
                     const IssuingKeys& keys,
                     std::string_view node_id,
                     const IdentityRef& wanted,
                     std::string_view issuer,
                     std::int64_t now,
                     SignatureCache* signatures = nullptr);

/// The job that identities of this job's allocations name: its parent, if it is a child.
std::string_view identity_job_id(schema::Job::Reader job);

/// The key that signs for an allocation whose row names it by its CreateIndex; empty if it is gone.
Object<schema::RootKey> key_created_at(const state::Snapshot& state, std::uint64_t create_index);

}  // namespace nomad::identity
