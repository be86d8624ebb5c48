#include "runtime/cluster/data/stored_rights.hpp"

#include <algorithm>
#include <utility>

#include "runtime/access/secret_hash.hpp"
#include "runtime/base/secret.hpp"
#include "runtime/cluster/acl/acl_names.hpp"
#include "runtime/cluster/acl/token_commands.hpp"
#include "runtime/object/object.hpp"
#include "runtime/state/store.hpp"

namespace nomad::cluster {

namespace {

/// What the policies of these names give together. One that cannot be read any more may have
/// denied something: then nothing is known.
Result<access::RightsRef> rights_of_names(const state::Snapshot& state,
                                          const Names& names,
                                          access::RightsCache& cache,
                                          const access::ImplicitRights* workload = nullptr) {
  std::vector<access::NamedPolicy> policies;
  for (const auto& name : names) {
    const auto row = state.row<state::kind::AclPolicies>(name);
    if (!row) continue;
    auto policy = cache.read_policy(view(row->getRules()));
    if (!policy) return policy.error().within("ACL policy " + name);
    policies.push_back({name, row->getModifyIndex(), std::move(*policy)});
  }
  if (policies.empty() && workload == nullptr) return access::Rights::nothing();
  return cache.rights_of(std::move(policies), workload);
}

/// The policies that a workload has without a token. Names are compared whole.
Names policies_of_workload(const state::Snapshot& state, const access::ImplicitRights& workload) {
  Names names;
  const auto prefix = state::join_key(workload.ns, workload.job_id, "");
  for (const auto& entry : state.tables().acl_policies_by_job.prefix(prefix)) {
    const auto name = entry.key().substr(prefix.size());
    const auto policy = state.row<state::kind::AclPolicies>(name);
    if (!policy) continue;
    const auto job = policy->getJobAcl();
    const auto fits = [](std::string_view wanted, std::string_view is) {
      return wanted.empty() || wanted == is;
    };
    if (fits(view(job.getGroup()), workload.group) && fits(view(job.getTask()), workload.task))
      names.emplace(name);
  }
  return names;
}

/// When a token that ends then by the calendar ends by the steady clock.
access::Time end_of_grant(schema::AclToken::Reader token, const access::Moment& now) {
  if (token.getExpirationTime() == 0) return access::Time::max();
  const std::chrono::nanoseconds left{token.getExpirationTime() - now.unix_nanoseconds};
  return now.steady + std::min<std::chrono::nanoseconds>(left, std::chrono::hours{24 * 365});
}

}  // namespace

std::uint64_t stored_rights_index(const state::Snapshot& state) {
  return state::rights_index(state.unguarded().tables());
}

Result<access::Grant> stored_rights(const state::Snapshot& state,
                                    std::string_view token,
                                    access::RightsCache& cache,
                                    const access::Moment& now) {
  access::Grant grant{.index = stored_rights_index(state)};
  if (token.empty()) {
    const auto rights = rights_of_names(state, {std::string{anonymous_policy}}, cache);
    grant.rights = rights ? *rights : access::Rights::nothing();
    return grant;
  }
  const auto row = token_of_secret(state, access::secret_hash(token));
  if (!row || has_expired(*row, now.unix_nanoseconds)) return access::permission_denied();
  grant.accessor = copy(row->getAccessorId());
  grant.until = end_of_grant(*row, now);
  grant.rights = view(row->getType()) == "management"
                     ? access::Rights::everything()
                     : NOMAD_TRY(rights_of_names(state, policies_of_token(state, *row), cache));
  return grant;
}

Result<access::RightsRef> rights_of_task(const state::Snapshot& state,
                                         const TaskOfNode& task,
                                         access::RightsCache& cache) {
  const auto row = task.alloc_id.empty() ? state::AllocRef{} : state.alloc(task.alloc_id);
  if (!row || task.task.empty() || row->alloc->node_id() != task.node_id
      || row->alloc->is_client_terminal())
    return access::Rights::nothing();
  const auto& alloc = row->alloc;
  access::ImplicitRights workload{.ns = std::string{alloc->ns()},
                                  .job_id = std::string{alloc->job_id()},
                                  .group = std::string{alloc->task_group()},
                                  .task = task.task};
  const auto job = state.job(workload.ns, workload.job_id);
  if (job && job->getParentId().size() > 0) workload.job_id = copy(job->getParentId());
  return rights_of_names(state, policies_of_workload(state, workload), cache, &workload);
}

bool is_secret_of_node(const state::Snapshot& state,
                       std::string_view node_id,
                       std::string_view secret) {
  const auto node = state.node(node_id);
  return node && !secret.empty() && same_secret(view(node->getSecretId()), secret);
}

access::Lookup lookup_in(std::shared_ptr<const state::Store> store,
                         std::function<bool()> knows_all,
                         std::function<access::Moment()> now) {
  const auto cache = std::make_shared<access::RightsCache>();
  return {.index = [store] { return store->rights_indexes().rights; },
          .tokens_index = [store] { return store->rights_indexes().tokens; },
          .is_node =
              [store](std::string_view id, std::string_view secret) {
                return is_secret_of_node(store->snapshot(), id, secret);
              },
          .here = [store, cache, knows_all = std::move(knows_all), now = std::move(now)](
                      std::string_view token) -> std::optional<Result<access::Grant>> {
            auto found = stored_rights(store->snapshot(), token, *cache, now());
            const bool is_unknown = !found && found.error().code == Errc::permission_denied;
            // Asked after the state was read, so that the state had all then.
            if (is_unknown && knows_all && !knows_all()) return {};
            return found;
          }};
}

}  // namespace nomad::cluster
