// How nested objects of a job are compared: under which name, by which identity, and which of their
// own nested objects count. Plain fields need no rule.
//
// These are no annotations of the schema, because they are no traits of a field: one type is
// compared in one way here and in another there, and objects are shown in the order of the rules. A
// test fails when the schema has a nested object that no rule names. Private to this folder.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/jobspec/schema.hpp"

namespace nomad::jobspec {

/// How a member is compared. The names that differ from the member's are part of the API.
enum class Compare : std::uint8_t {
  text_set,          ///< a list of strings, as a set
  changed_text_set,  ///< the same, left out when nothing changed
  fields,            ///< one object by its plain fields; its type follows from theirs
  fields_or_zero,    ///< the same, where the old object counts as zero when it is missing
  field_set,         ///< objects without identity, by content
  artifact_set,      ///< by destination, or by content
  object,            ///< one object with objects of its own
  by_key,            ///< objects matched by `key`
  in_order,          ///< objects matched by position
  services,          ///< matched by name, port and position
  templates,         ///< matched by destination
  networks,          ///< by content: a changed one is a deleted and an added one
  static_ports,
  dynamic_ports,
  upstreams,
  free_map,        ///< content without schema, flattened
  quiet_free_map,  ///< the same, never with unchanged fields
  header,          ///< names with lists of strings
  addresses,       ///< names with host and port
  dns,
  wait,
  schedule,  ///< by the fields of its Cron
  regions,
};

struct ObjectRule;

struct ChildRule {
  std::string_view member;
  Compare how;
  std::string_view name;             ///< of the resulting object diffs
  const ObjectRule* rule = nullptr;  ///< of nested objects
  /// Nomad 1.6 never shows it. Where it changes it is shown; where it comes or goes with what it is
  /// in, the diff is as Nomad's.
  bool edits_only = false;
};

/// How two objects of one type are compared. Their plain fields are compared without being named.
struct ObjectRule {
  std::span<const ChildRule> children{};
  /// Whether unchanged fields are listed where the caller wants context.
  bool contextual = true;
  /// Fields that do not count.
  std::span<const std::string_view> ignored{};
  /// The members that identify an object in a list; by_key only.
  std::span<const std::string_view> key{};
  /// Single values that may be null are shown, too, where they are not.
  bool shows_nullable = false;
};

/// A rule, and the type of the objects that it is about.
struct TypedRule {
  const ObjectRule& rule;
  const BlockType& type;
};

extern const ObjectRule job_rule;
extern const ObjectRule group_rule;
extern const ObjectRule task_rule;

}  // namespace nomad::jobspec
