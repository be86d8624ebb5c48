#include "runtime/jobspec/diff/diff_parts.hpp"

#include <algorithm>

#include <boost/json.hpp>

#include "runtime/base/name_table.hpp"
#include "runtime/base/sorting/sort_stably.hpp"

namespace nomad::jobspec {
namespace {

using boost::json::array;
using boost::json::object;
using boost::json::value;

bool comes_before(const FieldDiff& a, const FieldDiff& b) {
  return std::tie(a.name, a.before, a.after) < std::tie(b.name, b.before, b.after);
}

/// Of two objects of one name and one kind of change, the one that has any smaller part comes
/// first. That is no order (each of two may come before the other), but it is the one that clients
/// see; looking into two objects leaves their parts sorted.
bool has_smaller_part(ObjectDiff& a, ObjectDiff& b);

bool comes_before(ObjectDiff& a, ObjectDiff& b) {
  if (a == b) return false;
  if (a.name != b.name) return a.name < b.name;
  if (a.change != b.change) return a.change < b.change;
  if (a.fields.size() != b.fields.size()) return a.fields.size() < b.fields.size();
  if (a.objects.size() != b.objects.size()) return a.objects.size() < b.objects.size();
  return has_smaller_part(a, b);
}

bool has_smaller_part(ObjectDiff& a, ObjectDiff& b) {
  for (std::size_t at = 0; at < a.fields.size(); ++at)
    if (comes_before(a.fields[at], b.fields[at])) return true;
  sort(a.objects);
  sort(b.objects);
  for (std::size_t at = 0; at < a.objects.size(); ++at)
    if (comes_before(a.objects[at], b.objects[at])) return true;
  return false;
}

}  // namespace

std::string_view to_text(Change change) {
  static constexpr std::string_view names[] = {"Edited", "Added", "Deleted", "None"};
  return name_in(names, change);
}

void sort(FieldDiffs& diffs) {
  sort_stably(diffs, [](const FieldDiff& a, const FieldDiff& b) { return comes_before(a, b); });
}

/// By insertion, which is well defined whatever `comes_before` says; long lists by what of it is an
/// order.
void sort(ObjectDiffs& diffs) {
  constexpr std::size_t longest_inserted = 12;
  if (diffs.size() > longest_inserted) {
    sort_stably(diffs);
    return;
  }
  for (std::size_t next = 1; next < diffs.size(); ++next)
    for (std::size_t at = next; at > 0 && comes_before(diffs[at], diffs[at - 1]); --at)
      std::swap(diffs[at], diffs[at - 1]);
}

ObjectDiffs one(std::optional<ObjectDiff>&& diff) {
  ObjectDiffs out;
  if (diff) out.push_back(std::move(*diff));
  return out;
}

void append(ObjectDiffs& to, ObjectDiffs&& more) {
  for (ObjectDiff& diff : more)
    to.push_back(std::move(diff));
}

std::optional<FieldDiff> field_diff(std::string_view name,
                                    std::string_view before,
                                    std::string_view after,
                                    bool contextual) {
  FieldDiff diff{Change::none, std::string{name}, std::string{before}, std::string{after}};
  if (before == after) return contextual ? std::optional{std::move(diff)} : std::nullopt;
  diff.change = before.empty() ? Change::added : after.empty() ? Change::deleted : Change::edited;
  return diff;
}

FieldDiffs field_diffs(const Flat& before, const Flat& after, bool contextual) {
  FieldDiffs out;
  const auto put
      = [&](const std::string& name, std::string_view old_text, std::string_view new_text) {
          if (auto diff = field_diff(name, old_text, new_text, contextual))
            out.push_back(std::move(*diff));
        };
  auto left = before.begin();
  auto right = after.begin();
  while (left != before.end() || right != after.end()) {
    if (right == after.end() || (left != before.end() && left->first < right->first)) {
      put(left->first, left->second, "");
      ++left;
    } else if (left == before.end() || right->first < left->first) {
      put(right->first, "", right->second);
      ++right;
    } else {
      put(left->first, left->second, right->second);
      ++left;
      ++right;
    }
  }
  return out;
}

Change change_by_fields(const FieldDiffs& fields) {
  bool added = false;
  bool deleted = false;
  for (const FieldDiff& field : fields) {
    if (field.change == Change::edited) return Change::edited;
    added = added || field.change == Change::added;
    deleted = deleted || field.change == Change::deleted;
  }
  if (added && deleted) return Change::edited;
  return added ? Change::added : deleted ? Change::deleted : Change::none;
}

Change change_by_presence(bool before, bool after) {
  return before && after ? Change::edited : after ? Change::added : Change::deleted;
}

value to_json(const FieldDiffs& fields) {
  if (fields.empty()) return nullptr;
  array out;
  out.reserve(fields.size());
  for (const FieldDiff& field : fields)
    out.push_back(object{{"Type", to_text(field.change)},
                         {"Name", field.name},
                         {"Old", field.before},
                         {"New", field.after},
                         {"Annotations", nullptr}});
  return out;
}

value to_json(const ObjectDiffs& objects) {
  if (objects.empty()) return nullptr;
  array out;
  out.reserve(objects.size());
  for (const ObjectDiff& diff : objects)
    out.push_back(object{{"Type", to_text(diff.change)},
                         {"Name", diff.name},
                         {"Fields", to_json(diff.fields)},
                         {"Objects", to_json(diff.objects)}});
  return out;
}

}  // namespace nomad::jobspec
