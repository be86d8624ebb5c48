#include "runtime/jobspec/diff/diff.hpp"

#include <algorithm>
#include <map>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "runtime/base/text.hpp"
#include "runtime/jobspec/diff/diff_parts.hpp"
#include "runtime/jobspec/diff/diff_rules.hpp"
#include "runtime/jobspec/diff/differ.hpp"
#include "runtime/jobspec/diff/flatten.hpp"
#include "runtime/jobspec/tree.hpp"

namespace nomad::jobspec {
namespace {

using boost::json::array;
using boost::json::object;
using boost::json::value;

/// Builds the diffs of jobs, groups and tasks, which have shapes of their own.
class JobDiffer {
public:
  explicit JobDiffer(bool contextual) : differ_{contextual} {}

  object job(const object* before, const object* after) const {
    const FieldDiffs fields = plain(job_, before, after);
    ObjectDiffs objects = differ_.children_diffs(job_, before, after);
    value groups = named(before, after, "TaskGroups",
                         [this](const object* a, const object* b) { return group(a, b); });
    Change change = before == nullptr  ? Change::added
                    : after == nullptr ? Change::deleted
                                       : Change::none;
    if (change == Change::none && changed(fields, objects, groups)) change = Change::edited;
    const object* shown = after == nullptr ? before : after;
    return {{"Type", to_text(change)},
            {"ID", tree::text(*shown, "ID")},
            {"Fields", to_json(fields)},
            {"Objects", to_json(objects)},
            {"TaskGroups", std::move(groups)}};
  }

private:
  static bool changed(const FieldDiffs& fields, const ObjectDiffs& objects, const value& groups) {
    if (change_by_fields(fields) != Change::none || !objects.empty()) return true;
    if (!groups.is_array()) return false;
    const array& all = groups.get_array();
    return std::any_of(all.begin(), all.end(), [](const value& group) {
      return tree::text(group.get_object(), "Type") != "None";
    });
  }

  object group(const object* before, const object* after) const {
    Flat old_flat = flatten_fields(before, group_);
    Flat new_flat = flatten_fields(after, group_);
    if (before != nullptr && after != nullptr)
      for (const Field& field : group_.type.fields) {
        if (!field.has(Trait::pointer)) continue;
        old_flat[std::string{field.json}] = number_text(*before, field.json);
        new_flat[std::string{field.json}] = number_text(*after, field.json);
      }
    value tasks = named(before, after, "Tasks",
                        [this](const object* a, const object* b) { return task(a, b); });
    object out = named_diff(group_, before, after, field_diffs(old_flat, new_flat, false));
    out["Tasks"] = std::move(tasks);
    out["Updates"] = nullptr;
    return out;
  }

  object task(const object* before, const object* after) const {
    object out = named_diff(task_, before, after, plain(task_, before, after));
    out["Annotations"] = nullptr;
    return out;
  }

  object named_diff(TypedRule rule,
                    const object* before,
                    const object* after,
                    const FieldDiffs& fields) const {
    const Change change = same_object(rule, before, after)
                              ? Change::none
                              : change_by_presence(before != nullptr, after != nullptr);
    return {{"Type", to_text(change)},
            {"Name", tree::text(after == nullptr ? *before : *after, "Name")},
            {"Fields", to_json(fields)},
            {"Objects", to_json(differ_.children_diffs(rule, before, after))}};
  }

  static FieldDiffs plain(TypedRule rule, const object* before, const object* after) {
    return field_diffs(flatten_fields(before, rule), flatten_fields(after, rule), false);
  }

  static std::string number_text(const object& in, std::string_view name) {
    const value* found = tree::find(in, name);
    return found == nullptr ? "" : std::to_string(tree::number_of(*found));
  }

  /// Elements of both lists, joined and sorted by name.
  template <class CompareTwo>
  static value named(const object* before,
                     const object* after,
                     std::string_view member,
                     CompareTwo&& compare) {
    std::map<std::string_view, std::pair<const object*, const object*>> joined;
    if (before != nullptr)
      tree::each(*before, member, [&](const object& element) {
        joined[tree::text(element, "Name")].first = &element;
      });
    if (after != nullptr)
      tree::each(*after, member, [&](const object& element) {
        joined[tree::text(element, "Name")].second = &element;
      });
    if (joined.empty()) return nullptr;
    array out;
    for (const auto& [name, pair] : joined)
      out.push_back(compare(pair.first, pair.second));
    return out;
  }

  Differ differ_;
  TypedRule job_{job_rule, block_types().job};
  TypedRule group_{group_rule, block_types().group};
  TypedRule task_{task_rule, block_types().task};
};

}  // namespace

Result<object> diff(const object* old_job, const object* new_job, bool contextual) {
  if (old_job == nullptr && new_job == nullptr)
    return object{{"Type", "None"},
                  {"ID", ""},
                  {"Fields", nullptr},
                  {"Objects", nullptr},
                  {"TaskGroups", nullptr}};
  if (old_job != nullptr && new_job != nullptr
      && tree::text(*old_job, "ID") != tree::text(*new_job, "ID"))
    return Error{Errc::invalid_argument,
                 fmt::format("can not diff jobs with different IDs: {} and {}",
                             quote(tree::text(*old_job, "ID")), quote(tree::text(*new_job, "ID")))};
  return JobDiffer{contextual}.job(old_job, new_job);
}

}  // namespace nomad::jobspec
