#include "runtime/state/scaling_policies.hpp"

#include <capnp/any.h>

#include "runtime/base/ids.hpp"
#include "runtime/base/random.hpp"
#include "runtime/object/entries.hpp"

namespace nomad::state {

namespace {

/// FNV-1a, 64 bits.
std::uint64_t policy_hash(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : bytes)
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  return hash;
}

std::string policy_id(schema::Job::Reader job,
                      std::string_view group,
                      std::string_view type,
                      Index index) {
  auto name = join_key(view(job.getNamespace()), view(job.getId()), group);
  name = join_key(name, type, number_key(index));
  Random random{policy_hash(name)};
  return make_uuid(random);
}

/// Whether both ask for the same. Byte for byte: replicas of every release have to judge alike, and
/// what is registered is in one form.
bool same_policy(schema::ScalingPolicy::Reader a, schema::ScalingPolicy::Reader b) {
  Draft<schema::ScalingPolicy> left{a};
  Draft<schema::ScalingPolicy> right{b};
  for (auto* draft : {&left, &right}) {
    (*draft)->setId("");
    (*draft)->setCreateIndex(0);
    (*draft)->setModifyIndex(0);
  }
  return capnp::AnyStruct::Reader{left.reader()} == capnp::AnyStruct::Reader{right.reader()};
}

Object<schema::ScalingPolicy> find_policy(const Object<schema::Job>& job,
                                          std::string_view group,
                                          std::string_view type) {
  if (!job) return {};
  for (const auto each : job->getTaskGroups())
    if (view(each.getName()) == group && each.hasScaling()
        && view(each.getScaling().getType()) == type)
      return complete_policy(each.getScaling(), *job, group);
  return {};
}

/// Calls `use` with each policy of the job, complete as it is listed. Children of periodic and
/// parameterized jobs have their parent's blocks, and no policies.
template <class Use>
void each_policy(schema::Job::Reader job, Use use) {
  if (job.getParentId().size() != 0) return;
  for (const auto group : job.getTaskGroups())
    if (group.hasScaling()) use(complete_policy(group.getScaling(), job, view(group.getName())));
}

}  // namespace

Object<schema::ScalingPolicy> complete_policy(schema::ScalingPolicy::Reader policy,
                                              schema::Job::Reader job,
                                              std::string_view group) {
  Draft<schema::ScalingPolicy> draft{policy};
  if (policy.getId().size() == 0)
    draft->setId(text(policy_id(job, group, view(policy.getType()), job.getCreateIndex())));
  if (policy.getCreateIndex() == 0) draft->setCreateIndex(job.getCreateIndex());
  if (policy.getModifyIndex() == 0) draft->setModifyIndex(job.getJobModifyIndex());
  return draft.freeze();
}

void name_policies(schema::Job::Builder job, const Object<schema::Job>& existing, Index index) {
  if (job.asReader().getParentId().size() != 0) return;
  for (auto group : job.getTaskGroups()) {
    if (!group.hasScaling()) continue;
    auto policy = group.getScaling();
    const auto name = view(group.asReader().getName());
    const auto type = view(policy.asReader().getType());
    const auto known = find_policy(existing, name, type);
    if (known) {
      const bool is_same = same_policy(*known, policy.asReader());
      policy.setId(known->getId());
      policy.setCreateIndex(known->getCreateIndex());
      policy.setModifyIndex(is_same ? known->getModifyIndex() : index);
    } else {
      policy.setId(text(policy_id(job.asReader(), name, type, index)));
      policy.setCreateIndex(index);
      policy.setModifyIndex(index);
    }
  }
}

void kind::Jobs::derive(Tables& tables,
                        const Object<Type>& before,
                        const Object<Type>& after,
                        const Derivation& how) {
  const auto note = [&](std::string_view id) {
    tables.scaling_policies_index = how.index;
    how.changed(Table::scaling_policies, id);
  };
  std::vector<std::string> gone;
  if (before)
    each_policy(*before, [&](const auto& policy) { gone.push_back(copy(policy->getId())); });
  if (after)
    each_policy(*after, [&](const Object<schema::ScalingPolicy>& policy) {
      const auto id = view(policy->getId());
      std::erase(gone, id);
      const auto* known = tables.scaling_policies.find(id);
      if (known != nullptr && (*known)->getModifyIndex() == policy->getModifyIndex()) return;
      tables.scaling_policies.insert_or_assign(id, policy);
      tables.scaling_policies_by_job.insert_or_assign(join_key(key(*after), id), policy);
      note(id);
    });
  for (const auto& id : gone) {
    tables.scaling_policies.erase(id);
    tables.scaling_policies_by_job.erase(join_key(key(*before), id));
    note(id);
  }
  derive_plugins_of_job(tables, before, after, how);
}

}  // namespace nomad::state
