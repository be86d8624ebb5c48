#include "cli/migrate/copy_plan.hpp"

#include <map>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/migrate/judge.hpp"
#include "cli/output/json_view.hpp"
#include "cli/var/var_view.hpp"
#include "runtime/jobspec/canonical/canonicalize.hpp"
#include "runtime/jobspec/job_draft.hpp"
#include "runtime/object/meaning.hpp"
#include "runtime/object/plan.hpp"
#include "schema/acl.capnp.h"
#include "schema/node.capnp.h"
#include "schema/operator.capnp.h"

namespace nomad::cli::migrate {
namespace {

using boost::json::value;
using JsonObject = boost::json::object;

constexpr std::string_view differs = "is here, and differs; -overwrite makes it what it is there";

/// What says nothing is left out, at any depth.
value without_empty(const value& from) {
  if (from.is_array()) {
    boost::json::array out;
    for (const auto& each : from.get_array())
      out.push_back(without_empty(each));
    return out;
  }
  if (!from.is_object()) return from;
  JsonObject out;
  for (const auto& member : from.get_object())
    if (!says_nothing(member.value())) out[member.key()] = without_empty(member.value());
  return out;
}

/// What users say of an object, of what its schema here knows.
template <class T>
value said_of(const value& from) {
  const auto& plan = object::plan_of<T>();
  JsonObject out;
  for (const auto& [name, member] : View{from}.members())
    if (plan.find(name) != nullptr && name != "CreateIndex" && name != "ModifyIndex"
        && name != "Hash")
      out[name] = *member.raw();
  return without_empty(out);
}

/// The objects of a listing, which outlives it, by their namespaces and names.
class Index {
public:
  Index(const Listing& listing, std::string_view name) {
    for (const auto& one : listing.objects)
      objects_.emplace(std::pair{View{one}["Namespace"].text(), View{one}[name].text()}, &one);
  }

  /// Null: it is not there.
  const value* find(const Step& step) const {
    const auto found = objects_.find({step.ns, step.name});
    return found == objects_.end() ? nullptr : found->second;
  }

private:
  std::map<std::pair<std::string, std::string>, const value*> objects_;
};

/// To be created, as long as nothing is known of what is here.
Step step_of(std::string_view kind, std::string ns, std::string name, const Listing& to) {
  return {.kind = std::string{kind},
          .ns = std::move(ns),
          .name = std::move(name),
          .act = Act::create,
          .why = to.unread,
          .refusal = {},
          .path = {},
          .query = {},
          .body = {}};
}

/// What becomes of it: `is_same` is of one that is here.
void settle(Step& step, bool is_here, bool is_same, const CopyRules& rules) {
  if (!step.why.empty())
    step.act = Act::skip;
  else if (is_here && is_same)
    step.act = Act::keep;
  else if (is_here && rules.overwrite)
    step.act = Act::change;
  else if (is_here) {
    step.act = Act::skip;
    step.why = differs;
  }
}

/// Objects without a namespace that are put as a whole.
template <class T>
void add_named(std::vector<Step>& steps,
               std::string_view kind,
               const Listing& from,
               const Listing& to,
               const CopyRules& rules,
               std::string (*path_of)(const std::string& name)) {
  const Index known{to, "Name"};
  for (const auto& one : from.objects) {
    const auto name = View{one}["Name"].text();
    auto step = step_of(kind, "", name, to);
    const auto* here = known.find(step);
    const auto said = said_of<T>(one);
    settle(step, here != nullptr, here != nullptr && said_of<T>(*here) == said, rules);
    step.path = path_of(name);
    step.body = said;
    steps.push_back(std::move(step));
  }
}

/// What operators settle for good, not what they switch for an hour: `RejectJobRegistration` may
/// well be on there while its jobs move.
value settled(const value& configuration) {
  auto said = said_of<schema::SchedulerConfiguration>(configuration);
  for (const auto* passing : {"RejectJobRegistration", "PauseEvalBroker"})
    said.as_object().erase(passing);
  return said;
}

void add_scheduler(std::vector<Step>& steps,
                   const Cluster& from,
                   const Cluster& to,
                   const CopyRules& rules) {
  if (from.scheduler.is_null()) return;
  auto step = step_of("settings", "", "scheduler", {.objects = {}, .unread = to.scheduler_unread});
  settle(step, true, settled(from.scheduler) == settled(to.scheduler), rules);
  step.path = "/v1/operator/scheduler/configuration";
  step.body = settled(from.scheduler);
  for (const auto* passing : {"RejectJobRegistration", "PauseEvalBroker"})
    step.body.as_object()[passing] = View{to.scheduler}[passing].truth();
  steps.push_back(std::move(step));
}

/// Those of both clusters.
Listing namespaces_of(const Cluster& from, const Cluster& to) {
  auto all = from.namespaces;
  all.objects.insert(all.objects.end(), to.namespaces.objects.begin(), to.namespaces.objects.end());
  all.unread += to.namespaces.unread;
  return all;
}

void add_variables(std::vector<Step>& steps,
                   const Cluster& from,
                   const Cluster& to,
                   const CopyRules& rules) {
  const Index known{to.variables, "Path"};
  const auto namespaces = namespaces_of(from, to);
  for (const auto& one : from.variables.objects) {
    const View variable{one};
    auto step
        = step_of("variable", variable["Namespace"].text(), variable["Path"].text(), to.variables);
    const auto* here = known.find(step);
    const auto items = variable["Items"];
    settle(step, here != nullptr,
           here != nullptr && !items.is_null() && View{*here}["Items"].raw() != nullptr
               && *View{*here}["Items"].raw() == *items.raw(),
           rules);
    step.refusal = why_no_home(namespaces, step.ns);
    step.path = variable_path(step.name);
    step.query = {{"cas", here == nullptr ? "0" : View{*here}["ModifyIndex"].text()}};
    step.body = JsonObject{{"Namespace", step.ns},
                           {"Path", step.name},
                           {"Items", items.is_null() ? value{JsonObject{}} : *items.raw()}};
    steps.push_back(std::move(step));
  }
}

/// A job as it comes here: stopped, and in the region that it finds here.
JsonObject stopped(const value& job) {
  auto out = job.is_object() ? job.get_object() : JsonObject{};
  out["Stop"] = true;
  out.erase("Region");
  return out;
}

/// Whether two jobs are one, but for running.
bool is_same_job(const value& a, const value& b) {
  const auto admitted = [](const value& job) {
    auto draft = jobspec::JobDraft::decode(stopped(job));
    if (draft) jobspec::admit(draft->job());
    return draft;
  };
  const auto one = admitted(a);
  const auto other = admitted(b);
  if (!one || !other) return false;
  const auto frozen = one->freeze();
  const auto frozen_other = other->freeze();
  return object::same_meaning(*frozen, *frozen_other);
}

/// Why a job is not brought over; "": it is.
std::string why_not(const View& job, const value* here, bool is_same, const CopyRules& rules) {
  if (here == nullptr && job["Stop"].truth()) return "is stopped there";
  const bool runs = here != nullptr && !View{*here}["Stop"].truth();
  if (!is_same && runs && !rules.overwrite)
    return "runs here, as another version; -overwrite makes it what it is there, and stops it";
  return "";
}

void add_jobs(std::vector<Step>& steps,
              const Cluster& from,
              const Cluster& to,
              const CopyRules& rules) {
  const Index known{to.jobs, "ID"};
  for (const auto& one : from.jobs.objects) {
    const View job{one};
    auto step = step_of("job", job["Namespace"].text(), job["ID"].text(), to.jobs);
    const auto* here = known.find(step);
    const bool is_same = here != nullptr && is_same_job(one, *here);
    if (step.why.empty()) step.why = why_not(job, here, is_same, rules);
    settle(step, here != nullptr, is_same, {.overwrite = true});
    step.path = "/v1/jobs";
    step.body
        = JsonObject{{"Job", stopped(one)},
                     {"EnforceIndex", true},
                     {"JobModifyIndex",
                      here == nullptr ? std::int64_t{0} : View{*here}["JobModifyIndex"].number()}};
    steps.push_back(std::move(step));
  }
}

}  // namespace

std::vector<Step> plan_copy(const Cluster& from, const Cluster& to, const CopyRules& rules) {
  std::vector<Step> steps;
  add_scheduler(steps, from, to, rules);
  add_named<schema::Namespace>(steps, "namespace", from.namespaces, to.namespaces, rules,
                               [](const auto&) { return std::string{"/v1/namespace"}; });
  add_named<schema::NodePool>(steps, "node pool", from.node_pools, to.node_pools, rules,
                              [](const auto&) { return std::string{"/v1/node/pools"}; });
  auto policies = to.policies;
  const auto acl = View{to.agent}["config"]["ACL"]["Enabled"];
  if (!acl.is_null() && !acl.truth()) policies.unread = "ACLs are off here";
  add_named<schema::AclPolicy>(
      steps, "ACL policy", from.policies, policies, rules,
      [](const std::string& name) { return "/v1/acl/policy/" + segment(name); });
  add_variables(steps, from, to, rules);
  add_jobs(steps, from, to, rules);
  return steps;
}

}  // namespace nomad::cli::migrate
