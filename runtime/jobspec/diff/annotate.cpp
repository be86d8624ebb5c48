// What a diff leads to, in the words of `job plan`.
#include <boost/json.hpp>

#include "runtime/jobspec/diff/diff.hpp"
#include "runtime/jobspec/tree.hpp"
#include "runtime/jobspec/validate/rules.hpp"

namespace nomad::jobspec {

namespace {

using boost::json::array;
using boost::json::object;
using tree::each;

constexpr std::string_view forces_create = "forces create";
constexpr std::string_view forces_destroy = "forces destroy";
constexpr std::string_view forces_in_place = "forces in-place update";
constexpr std::string_view forces_destructive = "forces create/destroy update";

void add_annotation(object& diff, std::string_view text) {
  tree::set_default(diff, "Annotations", array{});
  diff.at("Annotations").as_array().push_back(boost::json::value(text));
}

void annotate_count(object& group) {
  each(group, "Fields", [](object& field) {
    if (tree::text(field, "Name") != "Count") return;
    std::int64_t before = 0;
    std::int64_t after = 0;
    parse_whole(tree::text(field, "Old"), before);
    parse_whole(tree::text(field, "New"), after);
    if (before < after) add_annotation(field, forces_create);
    if (after < before) add_annotation(field, forces_destroy);
  });
}

/// Services, constraints, schedules and the bounds of logs can change under a running task.
bool is_destructive(const object& task) {
  bool destructive = false;
  each(task, "Fields", [&](const object& field) {
    destructive = destructive || tree::text(field, "Name") != "KillTimeout";
  });
  each(task, "Objects", [&](const object& changed) {
    const std::string_view name = tree::text(changed, "Name");
    if (name == "Service" || name == "Constraint" || name == "Schedule") return;
    if (name != "LogConfig") {
      destructive = true;
      return;
    }
    each(changed, "Fields", [&](const object& field) {
      destructive = destructive || tree::text(field, "Name") == "Disabled";
    });
  });
  return destructive;
}

void annotate_task(object& task, std::string_view group_change) {
  const std::string_view change = tree::text(task, "Type");
  if (change == "None") return;
  const bool whole_group = group_change == "Added" || group_change == "Deleted";
  if (whole_group && change == "Added")
    add_annotation(task, forces_create);
  else if (whole_group && change == "Deleted")
    add_annotation(task, forces_destroy);
  else
    add_annotation(task, is_destructive(task) ? forces_destructive : forces_in_place);
}

object to_json(const DesiredUpdates& updates) {
  object out;
  const auto put = [&](std::string_view name, std::uint64_t count) {
    if (count != 0) out[name] = count;
  };
  put("ignore", updates.ignore);
  put("create", updates.place);
  put("migrate", updates.migrate);
  put("destroy", updates.stop);
  put("canary", updates.canary);
  put("in-place update", updates.in_place_update);
  put("create/destroy update", updates.destructive_update);
  return out;
}

}  // namespace

void annotate(object& job_diff, const std::map<std::string, DesiredUpdates, std::less<>>& updates) {
  each(job_diff, "TaskGroups", [&](object& group) {
    if (const auto found = updates.find(tree::text(group, "Name")); found != updates.end())
      group["Updates"] = to_json(found->second);
    annotate_count(group);
    const std::string change{tree::text(group, "Type")};
    each(group, "Tasks", [&](object& task) { annotate_task(task, change); });
  });
}

}  // namespace nomad::jobspec
