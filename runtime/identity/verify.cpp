#include "runtime/identity/verify.hpp"

#include <algorithm>

#include "runtime/access/login/jwt.hpp"
#include "runtime/access/login/token_check.hpp"
#include "runtime/cluster/data/stored_rights.hpp"
#include "runtime/state/store.hpp"

namespace nomad::identity {
namespace {

/// By which clocks of servers may differ, in seconds.
constexpr std::int64_t clock_skew = 60;

constexpr std::int64_t verify_second = 1'000'000'000;

Error not_here(const char* what) {
  return {Errc::not_found, what};
}

/// A time in whole seconds, as we sign them.
std::optional<std::int64_t> time_claim(const access::Claims& claims, std::string_view name) {
  const auto* const found = claims.if_contains(name);
  if (found == nullptr || !found->is_int64()) return {};
  return found->get_int64();
}

Claims read(const access::Claims& from) {
  const auto text
      = [&](std::string_view name) { return std::string{access::text_claim(from, name)}; };
  return {.ns = text("nomad_namespace"),
          .job_id = text("nomad_job_id"),
          .alloc_id = text("nomad_allocation_id"),
          .task = text("nomad_task"),
          .service = text("nomad_service"),
          .subject = text("sub"),
          .audience = access::audiences_of(from),
          .issuer = text("iss"),
          .id = text("jti")};
}

bool has_task(schema::Job::Reader job, std::string_view group, std::string_view name) {
  for (const auto each : job.getTaskGroups()) {
    if (view(each.getName()) != group) continue;
    for (const auto task : each.getTasks())
      if (view(task.getName()) == name) return true;
  }
  return false;
}

/// Whether what a key has signed for an allocation counts: the key is known, and the allocation
/// runs.
bool counts(const state::Snapshot& state, const std::string& key_id, const std::string& alloc_id) {
  const auto row = state.alloc(alloc_id);
  return row && !row->client_terminal && state.root_key(key_id);
}

}  // namespace

Result<Claims> verify(const state::Snapshot& state,
                      const KeyOf& keys,
                      std::string_view token,
                      std::int64_t now) {
  const auto jwt = access::parse_jwt(token);
  if (!jwt || jwt->algorithm != ed25519_algorithm || jwt->key_id.empty())
    return access::permission_denied();
  const auto row = state.root_key(jwt->key_id);
  if (!row) return not_here("the token's key is not known");
  const auto key = keys(row);
  if (!key) return Error{Errc::unavailable, "the token's key cannot be opened"};
  if (!(*key)->verifying().verifies(jwt->signed_part, jwt->signature))
    return access::permission_denied();
  auto claims = read(jwt->claims);
  const auto issued = time_claim(jwt->claims, "iat");
  const auto begins = time_claim(jwt->claims, "nbf");
  if (!issued || !begins) return access::permission_denied();
  claims.issued_at = *issued;
  if (jwt->claims.contains("exp")) {
    const auto ends = time_claim(jwt->claims, "exp");
    const bool has_begun = std::max(*issued, *begins) <= now + clock_skew;
    if (!ends || *ends <= now || !has_begun) return access::permission_denied();
    claims.expires_at = *ends;
  }
  if (!is_for_nomad(claims)) return access::permission_denied();
  return claims;
}

Result<access::Grant> rights_of_claims(const state::Snapshot& state,
                                       const Claims& claims,
                                       access::RightsCache& cache,
                                       const access::Moment& now) {
  const auto row = claims.alloc_id.empty() ? state::AllocRef{} : state.alloc(claims.alloc_id);
  if (!row) return not_here("the token's allocation is not known");
  const auto& alloc = row->alloc;
  // What has no end is of the allocation's own time, whatever the clocks say.
  const bool is_of_its_time = claims.expires_at != 0 || claims.issued_at == alloc->identity_time()
                              || claims.issued_at == alloc->create_time() / verify_second;
  if (row->client_terminal || !is_of_its_time || alloc->ns() != claims.ns
      || identity_job_id(*row->job) != claims.job_id
      || !has_task(*row->job, alloc->task_group(), claims.task))
    return access::permission_denied();
  auto rights = NOMAD_TRY(cluster::rights_of_task(
      state,
      {.node_id = std::string{alloc->node_id()}, .alloc_id = claims.alloc_id, .task = claims.task},
      cache));
  auto until = access::Time::max();
  if (claims.expires_at != 0)
    until = now.steady
            + std::chrono::nanoseconds{claims.expires_at * verify_second - now.unix_nanoseconds};
  return access::Grant{
      .rights = std::move(rights),
      .workload = access::WorkloadIdentity{claims.ns, claims.job_id, claims.alloc_id, claims.task},
      .index = cluster::stored_rights_index(state),
      .until = until};
}

access::Lookup with_identities(access::Lookup lookup,
                               std::shared_ptr<const state::Store> store,
                               KeyOf keys,
                               std::function<bool()> knows_all,
                               std::function<access::Moment()> now) {
  const auto cache = std::make_shared<access::RightsCache>();
  lookup.here = [others = std::move(lookup.here), store = std::move(store), keys = std::move(keys),
                 cache, knows_all = std::move(knows_all), now = std::move(now)](
                    std::string_view token) -> std::optional<Result<access::Grant>> {
    if (!access::is_signed_token(token)) return others(token);
    const auto snapshot = store->snapshot();
    const auto moment = now();
    const auto claims = verify(snapshot, keys, token, moment.unix_nanoseconds / verify_second);
    auto grant = claims ? rights_of_claims(snapshot, *claims, *cache, moment)
                        : Result<access::Grant>{claims.error()};
    if (grant) {
      const auto jwt = access::parse_jwt(token);
      grant->holds = [store, key = jwt ? jwt->key_id : std::string{}, id = claims->alloc_id] {
        return counts(store->snapshot(), key, id);
      };
      return grant;
    }
    const auto why = grant.error().code;
    if (why != Errc::not_found && why != Errc::unavailable) return grant;
    // Asked after the state was read, so that the state had all then.
    if (knows_all && !knows_all()) return {};
    // A new leader may wait for others to give it a key: the token may be good.
    if (why == Errc::unavailable) return grant;
    return access::permission_denied();
  };
  return lookup;
}

}  // namespace nomad::identity
