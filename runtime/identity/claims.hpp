// Claims: what a workload's identity says, and its reading. An identity is a JWT that the servers
// sign for a task or a service of an allocation: Nomad's own (the default one of a task) has only
// where the task belongs, and lasts as long as its allocation; those with a name are for others,
// and have an audience and an end besides.
//
// Nobody reads claims of a token that was not verified: see verify.hpp.
//
// runtime/identity may depend on: runtime/base, runtime/object, runtime/access, runtime/cluster,
// runtime/security, libsodium. Pure. Tests: identity_test.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nomad::identity {

/// Whom an identity is for that Nomad itself takes as a token.
inline constexpr std::string_view own_audience = "nomadproject.io";

/// The name of a task's identity that has none.
inline constexpr std::string_view default_name = "default";

struct Claims {
  std::string ns;
  std::string job_id;  ///< Of a dispatched or periodic job's child: the parent's.
  std::string alloc_id;
  std::string task = {};     ///< Or a service has it.
  std::string service = {};  ///< As the job's block names it.

  std::string subject = {};  ///< "region:namespace:job:group:task:identity"; "" of the default one.
  std::vector<std::string> audience = {};
  std::string issuer = {};
  std::string id = {};          ///< `jti`.
  std::int64_t issued_at = 0;   ///< Unix seconds; it counts from then on.
  std::int64_t expires_at = 0;  ///< Likewise; 0: it ends with its allocation.

  friend bool operator==(const Claims&, const Claims&) = default;
};

/// Whether Nomad itself takes it as a token: the default one of a task, and those for
/// `own_audience`. Others are for others alone, whoever shows them here.
bool is_for_nomad(const Claims& claims);

/// The JSON that is signed; the same bytes for the same claims, everywhere and always.
std::string claims_json(const Claims& claims);

}  // namespace nomad::identity
