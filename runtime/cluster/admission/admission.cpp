#include "runtime/cluster/admission/admission.hpp"

#include <algorithm>
#include <set>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "runtime/access/policy/policy.hpp"
#include "runtime/base/text.hpp"
#include "runtime/cluster/acl/acl_names.hpp"
#include "runtime/cluster/acl/held_token.hpp"
#include "runtime/cluster/content_hash.hpp"
#include "runtime/cluster/kind_commands.hpp"
#include "runtime/object/json_codec.hpp"

namespace nomad::cluster {
namespace {

using state::kind::AdmissionPolicies;

constexpr std::string_view advisory = "advisory";
constexpr std::string_view soft_mandatory = "soft-mandatory";
constexpr std::string_view hard_mandatory = "hard-mandatory";
constexpr std::string_view submit_job = "submit-job";
constexpr std::size_t longest_admission_description = 256;

/// What a refusal or a warning says of one job, at most.
constexpr std::size_t most_told = 64;

template <class List>
void set_names(List list, const std::set<std::string, std::less<>>& names) {
  unsigned i = 0;
  for (const auto& name : names)
    list.set(i++, text(name));
}

void describe_caller(const state::Snapshot& state,
                     const access::Principal& who,
                     schema::AdmissionCaller::Builder caller) {
  const auto& grant = who.grant();
  std::set<std::string, std::less<>> policies;
  std::set<std::string, std::less<>> roles;
  caller.setType("anonymous");
  if (grant) {
    for (const auto& each : access::policies_of(*grant->rights))
      policies.insert(each.name);
    if (const auto token = state.row<state::kind::AclTokens>(grant->accessor)) {
      const auto held = held_token(state, *token);
      caller.setName(text(held.name));
      caller.setType(text(held.type));
      for (const auto& each : held.policies)
        policies.insert(each.name);
      for (const auto& each : held.roles)
        roles.insert(each.name);
    } else if (!grant->accessor.empty()) {
      caller.setType(access::is_manager(who) ? "management" : "client");
    }
    if (grant->workload) caller.setType("workload");
    if (grant->workload) caller.setAllocation(text(grant->workload->alloc_id));
    caller.setAccessor(text(grant->accessor));
  }
  set_names(caller.initPolicies(static_cast<unsigned>(policies.size())), policies);
  set_names(caller.initRoles(static_cast<unsigned>(roles.size())), roles);
}

bool has_unclear_key(const boost::json::value& value) {
  if (const auto* const list = value.if_array()) return std::ranges::any_of(*list, has_unclear_key);
  const auto* const object = value.if_object();
  return object != nullptr && std::ranges::any_of(*object, [](const auto& member) {
           return member.key().find("${") != boost::json::string_view::npos
                  || has_unclear_key(member.value());
         });
}

/// Why no condition can be judged of a task's Config: client nodes replace `${…}` in keys, too, and
/// such a key may become one that a condition has looked at already.
std::vector<std::string> unclear_keys(schema::Job::Reader job, Work& work) {
  std::vector<std::string> unclear;
  const auto judge = [&](schema::Task::Reader task) -> Result<> {
    const auto config = view(task.getConfig());
    if (config.empty()) return {};
    NOMAD_TRY(work.take(config.size()));
    if (!has_unclear_key(NOMAD_TRY(parse_json(config)))) return {};
    return Error{Errc::invalid_argument, "a key has ${"};
  };
  for (const auto group : job.getTaskGroups())
    for (const auto task : group.getTasks())
      if (const auto clear = judge(task); !clear && unclear.size() < most_told)
        unclear.push_back(fmt::format("the config of task {} in group {} cannot be evaluated: {}",
                                      quote(shorten(view(task.getName()))),
                                      quote(shorten(view(group.getName()))), clear.error().what));
  return unclear;
}

/// What a policy says against a job.
std::vector<std::string> said_by(schema::AdmissionPolicy::Reader policy,
                                 const Submission& submitted,
                                 const ReadAdmission& read,
                                 Work& work) {
  const auto source = view(policy.getPolicy());
  const auto rules = read ? read(source) : AdmissionRules::read(std::string{source});
  if (!rules) return {"it cannot be read: " + rules.error().what};
  return (*rules)->broken_by(submitted, work);
}

void tell(std::vector<std::string>& to,
          schema::AdmissionPolicy::Reader policy,
          const std::vector<std::string>& said) {
  for (const auto& line : said)
    if (to.size() < most_told)
      to.push_back(fmt::format("sentinel policy {} ({}): {}", quote(view(policy.getName())),
                               view(policy.getEnforcementLevel()), line));
}

/// The state to read the policies of. Until there was ever one, nothing is noted of it: a guard
/// that names their table would not be known to servers of before, and there are none then.
state::Snapshot state_of_policies(const state::Snapshot& state) {
  const auto unguarded = state.unguarded();
  return unguarded.index(state::Table::admission_policies) == 0 ? unguarded : state;
}

/// Sets what the request leaves to the text, if that says what policy it is.
void take_head(schema::AdmissionPolicy::Builder policy,
               const AdmissionHead& head,
               std::vector<std::string>& mistakes) {
  const auto differs
      = [&mistakes](std::string_view what, std::string_view is, std::string_view said) {
          if (is != said)
            mistakes.push_back(fmt::format("the {} is '{}', and '{}' in the text", what,
                                           shorten(is), shorten(said)));
        };
  if (policy.asReader().getScope().size() == 0) policy.setScope(text(head.scope));
  if (policy.asReader().getEnforcementLevel().size() == 0)
    policy.setEnforcementLevel(text(head.level));
  const auto given = policy.asReader();
  differs("name", view(given.getName()), head.name);
  differs("scope", view(given.getScope()), head.scope);
  if (!head.level.empty())
    differs("enforcement level", view(given.getEnforcementLevel()), head.level);
}

std::vector<std::string> admission_mistakes(schema::AdmissionPolicy::Builder draft) {
  std::vector<std::string> mistakes;
  const auto rules = AdmissionRules::read(copy(draft.asReader().getPolicy()));
  draft.setHasHead(rules && (*rules)->head());
  if (draft.getHasHead()) take_head(draft, *(*rules)->head(), mistakes);
  const auto policy = draft.asReader();
  const auto name = view(policy.getName());
  if (!is_acl_name(name)) mistakes.push_back(fmt::format("invalid name '{}'", shorten(name)));
  if (policy.getDescription().size() > longest_admission_description)
    mistakes.push_back(fmt::format("description longer than {}", longest_admission_description));
  if (const auto scope = view(policy.getScope()); scope != submit_job)
    mistakes.push_back(
        fmt::format("invalid scope '{}': it must be {}", shorten(scope), submit_job));
  const auto level = view(policy.getEnforcementLevel());
  if (level != advisory && level != soft_mandatory && level != hard_mandatory)
    mistakes.push_back(fmt::format("invalid enforcement level '{}': it must be one of {}, {}, {}",
                                   shorten(level), advisory, soft_mandatory, hard_mandatory));
  if (!rules) mistakes.push_back("failed to parse policy: " + rules.error().what);
  return mistakes;
}

}  // namespace

Result<Decision> decide_put_admission(const state::Snapshot& state,
                                      const access::Asking& asking,
                                      schema::AdmissionPolicy::Reader policy) {
  NOMAD_TRY(access::authorize(asking, {}));
  Draft<schema::AdmissionPolicy> draft{policy};
  if (const auto mistakes = admission_mistakes(*draft); !mistakes.empty())
    return Error{Errc::invalid_argument,
                 fmt::format("sentinel policy invalid: {}", jobspec::join_errors(mistakes))};
  ContentHash hash;
  const auto whole = draft.reader();
  for (const auto part : {whole.getName(), whole.getDescription(), whole.getScope(),
                          whole.getEnforcementLevel(), whole.getPolicy()})
    hash.add(part);
  draft->setHash(hash.finish());
  return decide_put<AdmissionPolicies>(state, asking, draft.reader());
}

Result<std::vector<std::string>> judge_submission(const state::Snapshot& state,
                                                  const access::Principal& who,
                                                  schema::Job::Reader job,
                                                  const SubmissionOptions& asked) {
  if (asked.overrides)
    NOMAD_TRY(
        access::authorize(who, access::Capability::sentinel_override, {view(job.getNamespace())}));
  std::vector<std::string> warnings;
  const auto policies = state_of_policies(state);
  const auto& rows = policies.rows<AdmissionPolicies>();
  if (rows.size() == 0) return warnings;
  Draft<schema::AdmissionRequest> request;
  describe_caller(state.unguarded(), who, request->initCaller());
  const auto ns = state.get_namespace(view(job.getNamespace()));
  const Submission submitted{job, ns ? *ns : schema::Namespace::Reader{}, request.reader()};
  Work work{admission_work};
  const auto unclear = unclear_keys(job, work);
  std::vector<std::string> refusals;
  for (const auto& entry : rows.all()) {
    const auto policy = *entry.value();
    const auto level = view(policy.getEnforcementLevel());
    const bool warns = level == advisory || (level == soft_mandatory && asked.overrides);
    auto& told = warns ? warnings : refusals;
    tell(told, policy, unclear);
    tell(told, policy, said_by(policy, submitted, asked.read, work));
  }
  if (refusals.empty()) return warnings;
  return Error{Errc::rejected,
               fmt::format("the job is not admitted: {}", jobspec::join_errors(refusals))};
}

}  // namespace nomad::cluster
