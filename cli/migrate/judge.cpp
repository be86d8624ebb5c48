#include "cli/migrate/judge.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "runtime/access/policy/policy.hpp"
#include "runtime/base/text.hpp"
#include "runtime/object/plan.hpp"
#include "schema/acl.capnp.h"
#include "schema/node.capnp.h"
#include "schema/operator.capnp.h"

namespace nomad::cli::migrate {
namespace {

/// Names that the schema of the kind does not have, and that say something.
template <class T>
std::vector<Remark> unknown_names(const boost::json::value& object) {
  std::vector<Remark> remarks;
  const auto& plan = object::plan_of<T>();
  for (const auto& [name, value] : View{object}.members())
    if (plan.find(name) == nullptr && !says_nothing(*value.raw()))
      remarks.push_back(
          {Verdict::warning, fmt::format("{} is not known here, and is ignored", name)});
  return remarks;
}

/// Judges all of a listing. `judge_one` gives the remarks of an object; its name is its member
/// `name`.
template <class JudgeOne>
void add(std::vector<Judged>& all,
         const Listing& listing,
         std::string_view kind,
         std::string_view name,
         JudgeOne judge_one) {
  for (const auto& object : listing.objects)
    all.push_back({.kind = std::string{kind},
                   .ns = View{object}["Namespace"].text(),
                   .name = View{object}[name].text(),
                   .remarks = judge_one(object)});
}

}  // namespace

std::string_view name_of(Verdict verdict) {
  constexpr std::array<std::string_view, 4> names{"works", "partly", "warning", "error"};
  return names.at(static_cast<std::size_t>(verdict));
}

Verdict Judged::verdict() const {
  auto worst = Verdict::works;
  for (const auto& remark : remarks)
    worst = std::max(worst, remark.verdict);
  return worst;
}

std::string without_breaks(std::string_view text) {
  return escape_controls(join(fields(text), " "));
}

bool says_nothing(const boost::json::value& value) {
  switch (value.kind()) {
    case boost::json::kind::null:
      return true;
    case boost::json::kind::bool_:
      return !value.get_bool();
    case boost::json::kind::string:
      return value.get_string().empty();
    case boost::json::kind::array:
      return value.get_array().empty();
    case boost::json::kind::object:
      return std::ranges::all_of(value.get_object(),
                                 [](const auto& member) { return says_nothing(member.value()); });
    default:
      return value.to_number<double>() == 0;
  }
}

std::vector<Remark> judge_namespace(const boost::json::value& ns) {
  return unknown_names<schema::Namespace>(ns);
}

std::vector<Remark> judge_node_pool(const boost::json::value& pool) {
  return unknown_names<schema::NodePool>(pool);
}

std::vector<Remark> judge_policy(const boost::json::value& policy) {
  const auto read = access::read_policy(View{policy}["Rules"].text(), access::PolicyText::written);
  if (read) return {};
  return {{Verdict::error, read.error().what}};
}

std::vector<Remark> judge_scheduler(const boost::json::value& configuration) {
  return unknown_names<schema::SchedulerConfiguration>(configuration);
}

std::string why_no_home(const Listing& namespaces, std::string_view ns) {
  if (!namespaces.unread.empty()
      || std::ranges::any_of(namespaces.objects, [ns](const boost::json::value& one) {
           return View{one}["Name"].text() == ns;
         }))
    return "";
  return fmt::format("namespace {} does not exist, and variables need one here", quote(ns));
}

std::vector<Judged> judge(const Cluster& cluster) {
  std::vector<Judged> all;
  if (cluster.agent_unread.empty())
    all.push_back({.kind = "agent",
                   .ns = "",
                   .name = View{cluster.agent}["member"]["Name"].text(),
                   .remarks = judge_agent(View{cluster.agent})});
  if (!cluster.scheduler.is_null())
    all.push_back({.kind = "settings",
                   .ns = "",
                   .name = "scheduler",
                   .remarks = judge_scheduler(cluster.scheduler)});
  const auto judge_variable = [&cluster](const boost::json::value& variable) {
    std::vector<Remark> remarks;
    if (auto why = why_no_home(cluster.namespaces, View{variable}["Namespace"].text());
        !why.empty())
      remarks.push_back({Verdict::error, std::move(why)});
    return remarks;
  };
  const Surroundings at{.memory_oversubscription
                        = View{cluster.scheduler}["MemoryOversubscriptionEnabled"].truth()};
  add(all, cluster.namespaces, "namespace", "Name", judge_namespace);
  add(all, cluster.node_pools, "node pool", "Name", judge_node_pool);
  add(all, cluster.policies, "ACL policy", "Name", judge_policy);
  add(all, cluster.variables, "variable", "Path", judge_variable);
  add(all, cluster.volumes, "CSI volume", "ID", [](const auto&) {
    return std::vector<Remark>{{Verdict::error, "there are no CSI volumes"}};
  });
  add(all, cluster.jobs, "job", "ID",
      [&at](const boost::json::value& job) { return judge_job(job, at); });
  return all;
}

std::vector<std::string> unread_of(const Cluster& cluster) {
  std::vector<std::string> all;
  const auto add_one = [&all](std::string_view what, const std::string& why) {
    if (!why.empty()) all.push_back(fmt::format("{}: {}", what, why));
  };
  add_one("agent", cluster.agent_unread);
  add_one("what the token may not read", cluster.left_out);
  add_one("settings of the scheduler", cluster.scheduler_unread);
  add_one("namespaces", cluster.namespaces.unread);
  add_one("node pools", cluster.node_pools.unread);
  add_one("ACL policies", cluster.policies.unread);
  add_one("variables", cluster.variables.unread);
  add_one("CSI volumes", cluster.volumes.unread);
  add_one("jobs", cluster.jobs.unread);
  return all;
}

}  // namespace nomad::cli::migrate
