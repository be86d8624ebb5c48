// What kinds derive and refuse.
#include "runtime/state/kinds/kinds.hpp"

#include "runtime/state/kinds/quota_use.hpp"
#include "runtime/state/tables.hpp"

namespace nomad::state::kind {

namespace {

bool is_built_in_pool(schema::NodePool::Reader pool) {
  return view(pool.getName()) == "default" || view(pool.getName()) == "all";
}

std::string quoted(std::string_view noun, capnp::Text::Reader name) {
  return std::string{noun} + " \"" + copy(name) + "\"";
}

bool is_dead(const Object<schema::Job>& job) {
  return view(job->getStatus()) == "dead";
}

}  // namespace

bool NodePools::is_shared(Reader pool) {
  return !is_built_in_pool(pool);
}

std::optional<Error> NodePools::may_put(const Tables&, const Object<Type>&, Reader wanted) {
  if (!is_built_in_pool(wanted)) return std::nullopt;
  return Error{Errc::rejected,
               "modifying " + quoted("node pool", wanted.getName()) + " is not allowed"};
}

std::optional<Error> NodePools::may_remove(const Tables& tables, Reader pool) {
  const auto named = quoted("node pool", pool.getName());
  if (is_built_in_pool(pool)) return Error{Errc::rejected, "deleting " + named + " is not allowed"};
  for (const auto& entry : tables.nodes.all())
    if (entry.value()->getNodePool() == pool.getName())
      return Error{Errc::conflict, named + " has nodes"};
  for (const auto& entry : tables.jobs.all())
    if (entry.value()->getNodePool() == pool.getName() && !is_dead(entry.value()))
      return Error{Errc::conflict, named + " has non-terminal jobs"};
  return std::nullopt;
}

std::optional<Error> Namespaces::may_put(const Tables& tables, const Object<Type>&, Reader wanted) {
  if (wanted.getQuota().size() == 0 || tables.quotas.contains(view(wanted.getQuota())))
    return std::nullopt;
  return Error{Errc::rejected, quoted("namespace", wanted.getName()) + " names "
                                   + quoted("quota", wanted.getQuota()) + ", which does not exist"};
}

std::optional<Error> Namespaces::may_remove(const Tables& tables, Reader ns) {
  const auto name = view(ns.getName());
  if (name == "default") return Error{Errc::rejected, "default namespace can not be deleted"};
  const auto contains = quoted("namespace", ns.getName()) + " contains at least one ";
  for (const auto& entry : tables.jobs.prefix(join_key(name, "")))
    if (!is_dead(entry.value()))
      return Error{Errc::rejected,
                   contains + quoted("non-terminal job", entry.value()->getId())
                       + ". All jobs must be terminal in namespace before it can be deleted"};
  if (!tables.variables.prefix(join_key(name, "")).empty())
    return Error{Errc::rejected, contains
                                     + "variable. All variables in namespace must be deleted "
                                       "before it can be deleted"};
  if (!tables.csi_volumes.prefix(join_key(name, "")).empty())
    return Error{Errc::rejected, contains
                                     + "CSI volume. All CSI volumes in namespace must be deleted "
                                       "before it can be deleted"};
  return std::nullopt;
}

void Namespaces::derive(Tables& tables,
                        const Object<Type>& before,
                        const Object<Type>& after,
                        const Derivation& how) {
  const auto quota_of = [](const Object<Type>& ns) { return ns ? copy(ns->getQuota()) : ""; };
  const auto from = quota_of(before);
  const auto to = quota_of(after);
  if (from == to) return;
  change_quota(tables, view((after ? *after : *before).getName()), from, to);
  for (const auto& quota : {from, to})
    if (!quota.empty()) how.changed(Table::quota_use, quota);
  if (!from.empty()) how.quota_opened(from);
}

void Variables::derive(Tables& tables,
                       const Object<Type>& before,
                       const Object<Type>& after,
                       const Derivation& how) {
  const auto ns = copy((after ? *after : *before).getNamespace());
  const auto* known = tables.variable_bytes.find(ns);
  const auto sum = (known != nullptr ? *known : 0) + (after ? bytes(*after) : 0)
                   - (before ? bytes(*before) : 0);
  if (sum != 0)
    tables.variable_bytes.insert_or_assign(ns, sum);
  else
    tables.variable_bytes.erase(ns);
  if (const auto* quota = tables.quota_of_namespaces.find(ns))
    how.changed(Table::quota_use, *quota);
}

std::optional<Error> Quotas::may_remove(const Tables& tables, Reader quota) {
  const auto named = join_key(view(quota.getName()), "");
  if (tables.namespaces_by_quota.prefix(named).empty()) return std::nullopt;
  // Which ones is not for everybody who may delete quotas to know.
  return Error{Errc::rejected, quoted("quota", quota.getName()) + " is in use by namespaces"};
}

void Quotas::derive(Tables&,
                    const Object<Type>& before,
                    const Object<Type>& after,
                    const Derivation& how) {
  const auto name = key(after ? *after : *before);
  how.changed(Table::quota_use, name);
  how.quota_opened(name);
}

std::optional<std::string> Jobs::key_by_token(Reader job) {
  if (job.getDispatchIdempotencyToken().size() == 0) return std::nullopt;
  return join_key(join_key(view(job.getNamespace()), view(job.getParentId())),
                  view(job.getDispatchIdempotencyToken()), view(job.getId()));
}

std::string Evals::key_by_job(Reader eval) {
  const auto ns = view(eval.getNamespace());
  const auto job = view(eval.getJobId());
  const auto id = view(eval.getId());
  std::string key;
  key.reserve(ns.size() + job.size() + id.size() + 3);
  key.append(ns).push_back('\0');
  key.append(job).push_back('\0');
  key.push_back(static_cast<char>(eval.getStatus()));
  return key.append(id);
}

void Evals::derive(Tables& tables,
                   const Object<Type>& before,
                   const Object<Type>& after,
                   const Derivation&) {
  const auto job = key_of_job(after ? *after : *before);  // An evaluation stays with its job.
  JobCounts* counts = tables.job_counts.find_for_update(job);
  if (counts == nullptr) {
    tables.job_counts.insert_or_assign(job, JobCounts{});
    counts = tables.job_counts.find_for_update(job);
  }
  const auto count = [counts](Reader eval, std::uint32_t step) {
    counts->evals += step;
    if (!is_terminal(eval.getStatus())) counts->live_evals += step;
  };
  if (after) count(*after, 1);
  if (before) count(*before, static_cast<std::uint32_t>(-1));
  if (counts->empty()) tables.job_counts.erase(job);
}

std::optional<Error> SchedulerConfig::may_put(const Tables&,
                                              const Object<Type>& stored,
                                              Reader wanted) {
  if (wanted.getModifyIndex() == 0) return std::nullopt;
  return check_modify_index("scheduler configuration", stored, wanted.getModifyIndex());
}

std::vector<std::string> AutopilotConfig::mistakes(Reader wanted) {
  std::vector<std::string> found;
  if (wanted.getLastContactThreshold() < 0)
    found.emplace_back("LastContactThreshold can't be negative");
  if (wanted.getServerStabilizationTime() < 0)
    found.emplace_back("ServerStabilizationTime can't be negative");
  return found;
}

std::optional<Error> AutopilotConfig::may_put(const Tables&,
                                              const Object<Type>& stored,
                                              schema::AutopilotUpdate::Reader wanted) {
  if (!wanted.getCheck()) return std::nullopt;
  return check_modify_index("autopilot configuration", stored,
                            wanted.getConfiguration().getModifyIndex());
}

}  // namespace nomad::state::kind
