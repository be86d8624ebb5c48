// The structural comparison behind job diffs: what the rules of diff_rules.hpp say of two trees.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include <boost/json/value.hpp>

#include "runtime/jobspec/diff/diff_parts.hpp"
#include "runtime/jobspec/diff/diff_rules.hpp"

namespace nomad::jobspec {

/// Compares two trees by rules. Null stands for an object that is not there. Pure.
class Differ {
public:
  using object = boost::json::object;
  using array = boost::json::array;

  /// With `contextual`, objects that changed show their other fields too.
  explicit Differ(bool contextual) : contextual_{contextual} {}

  /// An object diff with the diffs of nested objects; nothing when the two are equal.
  std::optional<ObjectDiff> object_diff(std::string_view name,
                                        TypedRule rule,
                                        const object* before,
                                        const object* after) const;

  ObjectDiffs children_diffs(TypedRule rule, const object* before, const object* after) const;

private:
  /// The index in `candidates` that belongs to `element` at `position`, or -1.
  using Match = int (*)(const object& element,
                        std::size_t position,
                        const array& candidates,
                        const std::vector<bool>& taken);

  /// A member with nested objects, as rule and table together describe it.
  struct Child {
    std::string_view member;
    std::string_view name;
    Kind kind;
    const ObjectRule* rule;
    const BlockType* type;  ///< of the objects in it

    TypedRule typed() const { return {*rule, *type}; }
  };

  ObjectDiffs child_diffs(Compare how,
                          const Child& child,
                          const object& before,
                          const object& after) const;
  std::optional<ObjectDiff> fields_diff(std::string_view name,
                                        TypedRule rule,
                                        const object* before,
                                        const object* after) const;

  ObjectDiffs text_set(const Child&,
                       const object& before,
                       const object& after,
                       bool only_changed) const;
  ObjectDiffs fields_or_zero(const Child&, const object& before, const object& after) const;
  ObjectDiffs free_map(const Child&,
                       const object& before,
                       const object& after,
                       bool contextual) const;
  ObjectDiffs addresses(const Child&, const object& before, const object& after) const;
  ObjectDiffs dns(const Child&, const object& before, const object& after) const;
  ObjectDiffs wait(const Child&, const object& before, const object& after) const;
  ObjectDiffs schedule(const Child&, const object& before, const object& after) const;

  // Lists of objects, whose elements are matched first.
  ObjectDiffs field_set(const Child&,
                        const object& before,
                        const object& after,
                        std::string_view id_member) const;
  ObjectDiffs keyed(const Child&, const object& before, const object& after) const;
  ObjectDiffs in_order(const Child&, const object& before, const object& after) const;
  ObjectDiffs matched(const Child&, const object& before, const object& after, Match) const;
  ObjectDiffs networks(const Child&, const object& before, const object& after) const;
  ObjectDiffs ports(const Child&, const object& before, const object& after) const;
  ObjectDiffs upstreams(const Child&, const object& before, const object& after) const;
  ObjectDiffs regions(const Child&, const object& before, const object& after) const;

  bool contextual_;
};

/// The index of the service or template in `candidates` that `element` was, or -1.
int match_service(const boost::json::object& element,
                  std::size_t position,
                  const boost::json::array& candidates,
                  const std::vector<bool>& taken);
int match_template(const boost::json::object& element,
                   std::size_t position,
                   const boost::json::array& candidates,
                   const std::vector<bool>& taken);

}  // namespace nomad::jobspec
