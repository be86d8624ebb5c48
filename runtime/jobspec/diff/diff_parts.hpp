// What a job diff is made of: changed fields and changed objects, how they are ordered and shown.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <boost/json/value.hpp>

#include "runtime/jobspec/diff/flatten.hpp"

namespace nomad::jobspec {

/// In the order in which diffs are shown.
enum class Change : std::uint8_t { edited, added, deleted, none };

std::string_view to_text(Change change);

struct FieldDiff {
  Change change = Change::none;
  std::string name;
  std::string before;
  std::string after;

  auto operator<=>(const FieldDiff&) const = default;
};

struct ObjectDiff {
  Change change = Change::none;
  std::string_view name;
  std::vector<FieldDiff> fields;
  std::vector<ObjectDiff> objects;

  bool operator==(const ObjectDiff&) const = default;

  std::weak_ordering operator<=>(const ObjectDiff& other) const {
    return std::tie(name, change, fields, objects)
           <=> std::tie(other.name, other.change, other.fields, other.objects);
  }
};

using FieldDiffs = std::vector<FieldDiff>;
using ObjectDiffs = std::vector<ObjectDiff>;

void sort(FieldDiffs& diffs);
void sort(ObjectDiffs& diffs);

/// Nothing for equal texts, unless `contextual` asks for what did not change too.
std::optional<FieldDiff> field_diff(std::string_view name,
                                    std::string_view before,
                                    std::string_view after,
                                    bool contextual);

/// A list of `diff`, if there is one.
ObjectDiffs one(std::optional<ObjectDiff>&& diff);

void append(ObjectDiffs& to, ObjectDiffs&& more);

/// The diffs of all members of both sides, by name.
FieldDiffs field_diffs(const Flat& before, const Flat& after, bool contextual);

/// What happened to an object, judged by its fields alone.
Change change_by_fields(const FieldDiffs& fields);

Change change_by_presence(bool before, bool after);

/// The API's form; null for an empty list.
boost::json::value to_json(const FieldDiffs& fields);
boost::json::value to_json(const ObjectDiffs& objects);

}  // namespace nomad::jobspec
