#include "runtime/jobspec/diff.hpp"

#include <algorithm>
#include <compare>
#include <optional>
#include <set>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "runtime/base/duration.hpp"
#include "runtime/jobspec/diff_rules.hpp"
#include "runtime/jobspec/flatten.hpp"
#include "runtime/jobspec/interpolation.hpp"
#include "runtime/jobspec/tree.hpp"

namespace nomad::jobspec {

namespace {

using boost::json::array;
using boost::json::object;
using boost::json::value;

/// In the order in which diffs are shown.
enum class Change : std::uint8_t { edited, added, deleted, none };

std::string_view to_text(Change change) {
  switch (change) {
    case Change::edited:
      return "Edited";
    case Change::added:
      return "Added";
    case Change::deleted:
      return "Deleted";
    case Change::none:
      return "None";
  }
  return {};
}

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

bool comes_before(const FieldDiff& a, const FieldDiff& b) {
  return std::tie(a.name, a.before, a.after) < std::tie(b.name, b.before, b.after);
}

void sort(FieldDiffs& diffs) {
  std::stable_sort(diffs.begin(), diffs.end(),
                   [](const FieldDiff& a, const FieldDiff& b) { return comes_before(a, b); });
}

void sort(ObjectDiffs& diffs);

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

/// By insertion, which is well defined whatever `comes_before` says; long lists by what of it is an
/// order.
void sort(ObjectDiffs& diffs) {
  constexpr std::size_t longest_inserted = 12;
  if (diffs.size() > longest_inserted) {
    std::stable_sort(diffs.begin(), diffs.end());
    return;
  }
  for (std::size_t next = 1; next < diffs.size(); ++next)
    for (std::size_t at = next; at > 0 && comes_before(diffs[at], diffs[at - 1]); --at)
      std::swap(diffs[at], diffs[at - 1]);
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

/// What happened to an object, judged by its fields alone.
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

/// Compares two trees by rules. Null stands for an object that is not there.
class Differ {
public:
  explicit Differ(bool contextual) : contextual_{contextual} {}

  /// An object diff with the diffs of nested objects; nothing when the two are equal.
  std::optional<ObjectDiff> object_diff(std::string_view name,
                                        const ObjectRule& rule,
                                        const object* before,
                                        const object* after) const {
    if (same_object(*rule.type, before, after)) return std::nullopt;
    ObjectDiff diff;
    diff.name = name;
    diff.change = change_by_presence(before != nullptr, after != nullptr);
    Flat old_flat = flatten_fields(before, rule);
    Flat new_flat = flatten_fields(after, rule);
    add_pointer_fields(*rule.type, before, after, old_flat, new_flat);
    diff.fields = field_diffs(old_flat, new_flat, contextual_ && rule.contextual);
    diff.objects = children_diffs(rule, before, after);
    return diff;
  }

  ObjectDiffs children_diffs(const ObjectRule& rule,
                             const object* before,
                             const object* after) const {
    static const object nothing;
    ObjectDiffs out;
    for (const ChildRule& child : rule.children)
      append(out, child_diffs(child, *rule.type, before == nullptr ? nothing : *before,
                              after == nullptr ? nothing : *after));
    return out;
  }

private:
  /// Single values that may be null are no plain fields; each block treats its own differently.
  static void add_pointer_fields(const BlockType& type,
                                 const object* before,
                                 const object* after,
                                 Flat& old_flat,
                                 Flat& new_flat) {
    for (const Field& field : type.fields) {
      if (!field.has(Trait::pointer)) continue;
      const value* old_value = before == nullptr ? nullptr : tree::find(*before, field.json);
      const value* new_value = after == nullptr ? nullptr : tree::find(*after, field.json);
      const bool both = before != nullptr && after != nullptr;
      if (&type == &template_type) {
        if (old_value != nullptr)
          old_flat[std::string{field.json}] = std::to_string(tree::number_of(*old_value));
        if (new_value != nullptr)
          new_flat[std::string{field.json}] = std::to_string(tree::number_of(*new_value));
      } else if (field.json == "ConnectTimeout" && both) {
        const auto show = [](const value* from) {
          return from == nullptr ? "" : format_duration(Nanoseconds{tree::number_of(*from)});
        };
        old_flat[std::string{field.json}] = show(old_value);
        new_flat[std::string{field.json}] = show(new_value);
      }
    }
  }

  ObjectDiffs child_diffs(const ChildRule& child,
                          const BlockType& type,
                          const object& before,
                          const object& after) const {
    const std::string_view member = child.member;
    switch (child.how) {
      case Compare::text_set:
        return text_set(child, before, after, false);
      case Compare::changed_text_set:
        return text_set(child, before, after, true);
      case Compare::fields_or_zero:
        return fields_or_zero(child, before, after);
      case Compare::fields:
        return one(fields_diff(child.name, *child.rule, tree::child(before, member),
                               tree::child(after, member)));
      case Compare::field_set:
        return field_set(child, before, after, {});
      case Compare::artifact_set:
        return field_set(child, before, after, "RelativeDest");
      case Compare::object:
        return one(object_diff(child.name, *child.rule, tree::child(before, member),
                               tree::child(after, member)));
      case Compare::by_key:
        return keyed(child, type, before, after);
      case Compare::services:
        return matched(child, before, after, match_service);
      case Compare::templates:
        return matched(child, before, after, match_template);
      case Compare::networks:
        return networks(child, before, after);
      case Compare::static_ports:
      case Compare::dynamic_ports:
        return ports(child, before, after);
      case Compare::upstreams:
        return upstreams(child, before, after);
      case Compare::free_map:
        return free_map(child, before, after, contextual_);
      case Compare::quiet_free_map:
        return free_map(child, before, after, false);
      case Compare::header:
        return free_map(child, before, after, contextual_);
      case Compare::addresses:
        return addresses(child, before, after);
      case Compare::dns:
        return dns(child, before, after);
      case Compare::wait:
        return wait(child, before, after);
      case Compare::regions:
        return regions(child, before, after);
    }
    return {};
  }

  static ObjectDiffs one(std::optional<ObjectDiff>&& diff) {
    ObjectDiffs out;
    if (diff) out.push_back(std::move(*diff));
    return out;
  }

  ObjectDiffs text_set(const ChildRule& child,
                       const object& before,
                       const object& after,
                       bool only_changed) const {
    const auto collect = [&](const object& in) {
      std::set<std::string_view> texts;
      for (const value& element : tree::list(in, child.member))
        texts.insert(tree::text_of(element));
      return texts;
    };
    const auto old_texts = collect(before);
    const auto new_texts = collect(after);
    ObjectDiff diff;
    diff.name = child.name;
    bool added = false;
    bool removed = false;
    const auto put = [&](std::string_view old_text, std::string_view new_text) {
      if (auto field = field_diff(child.name, old_text, new_text, contextual_))
        diff.fields.push_back(std::move(*field));
    };
    for (const std::string_view text : old_texts) {
      const bool kept = new_texts.contains(text);
      removed = removed || !kept;
      put(text, kept ? text : "");
    }
    for (const std::string_view text : new_texts) {
      if (old_texts.contains(text)) continue;
      added = true;
      put("", text);
    }
    if (!added && !removed && (diff.fields.empty() || only_changed)) return {};
    sort(diff.fields);
    diff.change = added && removed ? Change::edited
                  : added          ? Change::added
                  : removed        ? Change::deleted
                                   : Change::none;
    return one(std::move(diff));
  }

  std::optional<ObjectDiff> fields_diff(std::string_view name,
                                        const ObjectRule& rule,
                                        const object* before,
                                        const object* after) const {
    ObjectDiff diff;
    diff.name = name;
    diff.fields
        = field_diffs(flatten_fields(before, rule), flatten_fields(after, rule), contextual_);
    diff.change = change_by_fields(diff.fields);
    if (diff.change == Change::none) return std::nullopt;
    return diff;
  }

  /// The same for an object that a new job always has.
  ObjectDiffs fields_or_zero(const ChildRule& child,
                             const object& before,
                             const object& after) const {
    static const object zero;
    const object* old_object = tree::child(before, child.member);
    return one(fields_diff(child.name, *child.rule, old_object == nullptr ? &zero : old_object,
                           tree::child(after, child.member)));
  }

  using Keyed = std::map<std::string, const object*>;

  template <class Key>
  static Keyed key_objects(const object& in, std::string_view member, Key&& key) {
    Keyed out;
    tree::each(in, member, [&](const object& element) { out[key(element)] = &element; });
    return out;
  }

  static const object* find(const Keyed& in, const std::string& key) {
    const auto found = in.find(key);
    return found == in.end() ? nullptr : found->second;
  }

  /// Calls `compare(old or null, new or null)` for each key of either side.
  template <class CompareTwo>
  static ObjectDiffs join(const Keyed& before, const Keyed& after, CompareTwo&& compare) {
    ObjectDiffs out;
    const auto put = [&](std::optional<ObjectDiff>&& diff) {
      if (diff) out.push_back(std::move(*diff));
    };
    for (const auto& [key, element] : before)
      put(compare(element, find(after, key)));
    for (const auto& [key, element] : after)
      if (!before.contains(key)) put(compare(nullptr, element));
    sort(out);
    return out;
  }

  ObjectDiffs field_set(const ChildRule& child,
                        const object& before,
                        const object& after,
                        std::string_view id_member) const {
    const auto key = [&](const object& element) {
      const std::string_view id
          = id_member.empty() ? std::string_view{} : tree::text(element, id_member);
      return id.empty() ? "\x1f" + content_key(*child.rule->type, element) : std::string{id};
    };
    return join(key_objects(before, child.member, key), key_objects(after, child.member, key),
                [&](const object* a, const object* b) {
                  return fields_diff(child.name, *child.rule, a, b);
                });
  }

  ObjectDiffs keyed(const ChildRule& child,
                    const BlockType& type,
                    const object& before,
                    const object& after) const {
    const auto compare = [&](const object* a, const object* b) {
      return object_diff(child.name, *child.rule, a, b);
    };
    if (type.find(child.member)->kind == Kind::block_map) {
      const auto collect = [&](const object& in) {
        Keyed out;
        if (const object* entries = tree::child(in, child.member))
          for (const auto& entry : *entries)
            out[entry.key()] = entry.value().if_object();
        return out;
      };
      return join(collect(before), collect(after), compare);
    }
    const auto key = [&](const object& element) {
      std::string joined;
      for (const std::string_view name : child.rule->key)
        joined += fmt::format("{}{}/", tree::text(element, name), tree::number(element, name));
      return joined;
    };
    return join(key_objects(before, child.member, key), key_objects(after, child.member, key),
                compare);
  }

  /// The index in `candidates` that belongs to `element` at `position`, or -1.
  using Match = int (*)(const object& element,
                        std::size_t position,
                        const array& candidates,
                        const std::vector<bool>& taken);

  /// Position alone is too weak an identity, and so is each of name and port.
  static int match_service(const object& element,
                           std::size_t position,
                           const array& candidates,
                           const std::vector<bool>& taken) {
    int best = -1;
    int best_score = 2;
    for (std::size_t at = 0; at < candidates.size(); ++at) {
      if (taken[at] || !candidates[at].is_object()) continue;
      const object& candidate = candidates[at].get_object();
      int score = at == position ? 1 : 0;
      if (tree::text(element, "PortLabel") == tree::text(candidate, "PortLabel")) score += 2;
      if (tree::text(element, "Name") == tree::text(candidate, "Name")) score += 3;
      if (score > best_score) {
        best_score = score;
        best = static_cast<int>(at);
      }
    }
    return best;
  }

  static int match_template(const object& element,
                            std::size_t,
                            const array& candidates,
                            const std::vector<bool>& taken) {
    for (std::size_t at = 0; at < candidates.size(); ++at)
      if (!taken[at] && candidates[at].is_object()
          && tree::text(candidates[at].get_object(), "DestPath") == tree::text(element, "DestPath"))
        return static_cast<int>(at);
    return -1;
  }

  ObjectDiffs matched(const ChildRule& child,
                      const object& before,
                      const object& after,
                      Match match) const {
    const array& olds = tree::list(before, child.member);
    const array& news = tree::list(after, child.member);
    const auto compare = [&](const object* a, const object* b) {
      return object_diff(child.name, *child.rule, a, b);
    };
    if (olds.size() == 1 && news.size() == 1)
      return one(compare(olds.front().if_object(), news.front().if_object()));
    ObjectDiffs out;
    std::vector<bool> taken(news.size(), false);
    for (std::size_t at = 0; at < olds.size(); ++at) {
      const object* element = olds[at].if_object();
      if (element == nullptr) continue;
      const int found = match(*element, at, news, taken);
      if (found >= 0) taken[static_cast<std::size_t>(found)] = true;
      append(out,
             one(compare(element,
                         found < 0 ? nullptr : news[static_cast<std::size_t>(found)].if_object())));
    }
    for (std::size_t at = 0; at < news.size(); ++at)
      if (!taken[at]) append(out, one(compare(nullptr, news[at].if_object())));
    sort(out);
    return out;
  }

  ObjectDiffs networks(const ChildRule& child, const object& before, const object& after) const {
    const auto key = [&](const object& element) { return content_key(*child.rule->type, element); };
    return join(key_objects(before, child.member, key), key_objects(after, child.member, key),
                [&](const object* a, const object* b) {
                  return a != nullptr && b != nullptr ? std::nullopt
                                                      : object_diff(child.name, *child.rule, a, b);
                });
  }

  ObjectDiffs ports(const ChildRule& child, const object& before, const object& after) const {
    const auto key = [](const object& port) { return std::string{tree::text(port, "Label")}; };
    return join(key_objects(before, child.member, key), key_objects(after, child.member, key),
                [&](const object* a, const object* b) {
                  return fields_diff(child.name, *child.rule, a, b);
                });
  }

  ObjectDiffs upstreams(const ChildRule& child, const object& before, const object& after) const {
    static const object nothing;
    const auto key = [](const object& upstream) {
      return fmt::format("{}/{}", tree::text(upstream, "Datacenter"),
                         tree::text(upstream, "DestinationName"));
    };
    return join(key_objects(before, child.member, key), key_objects(after, child.member, key),
                [&](const object* a, const object* b) {
                  auto diff = object_diff(child.name, *child.rule, a, b);
                  if (!diff) return diff;
                  // Its mesh gateway is a value, so it is never absent.
                  const auto gateway = [](const object* upstream) {
                    const object* found
                        = upstream == nullptr ? nullptr : tree::child(*upstream, "MeshGateway");
                    return found == nullptr ? &nothing : found;
                  };
                  const ChildRule& mesh = child.rule->children.front();
                  diff->objects = one(fields_diff(mesh.name, *mesh.rule, gateway(a), gateway(b)));
                  return diff;
                });
  }

  ObjectDiffs free_map(const ChildRule& child,
                       const object& before,
                       const object& after,
                       bool contextual) const {
    const object* old_content = tree::child(before, child.member);
    const object* new_content = tree::child(after, child.member);
    if (same_content(old_content, new_content)) return {};
    const auto is_empty
        = [](const object* content) { return content == nullptr || content->empty(); };
    const auto flat_of = [](const object* content) {
      return content == nullptr ? Flat{} : flatten_free(*content);
    };
    ObjectDiff diff;
    diff.name = child.name;
    diff.change = is_empty(old_content)   ? Change::added
                  : is_empty(new_content) ? Change::deleted
                                          : Change::edited;
    diff.fields = field_diffs(flat_of(old_content), flat_of(new_content), contextual);
    return one(std::move(diff));
  }

  static ObjectDiffs flat_map(std::string_view name,
                              const Flat& before,
                              const Flat& after,
                              bool no_before,
                              bool no_after,
                              bool contextual) {
    if (before == after && no_before == no_after) return {};
    ObjectDiff diff;
    diff.name = name;
    diff.change = change_by_presence(!no_before, !no_after);
    diff.fields = field_diffs(before, after, contextual);
    return one(std::move(diff));
  }

  ObjectDiffs addresses(const ChildRule& child, const object& before, const object& after) const {
    const auto collect = [&](const object& in) {
      Flat out;
      if (const object* entries = tree::child(in, child.member))
        for (const auto& entry : *entries) {
          if (!entry.value().is_object()) continue;
          const object& address = entry.value().get_object();
          const std::string_view host = tree::text(address, "Address");
          const bool brackets = host.find(':') != std::string_view::npos;
          out.emplace(entry.key(), fmt::format("{}{}{}:{}", brackets ? "[" : "", host,
                                               brackets ? "]" : "", tree::number(address, "Port")));
        }
      return out;
    };
    // A proxy without addresses differs from no proxy, so presence counts, not only contents.
    const bool same_presence = (tree::child(before, child.member) == nullptr)
                               == (tree::child(after, child.member) == nullptr);
    const Flat old_flat = collect(before);
    const Flat new_flat = collect(after);
    if (old_flat == new_flat && same_presence) return {};
    ObjectDiff diff;
    diff.name = child.name;
    diff.change = change_by_presence(!old_flat.empty(), old_flat.empty() || !new_flat.empty());
    diff.fields = field_diffs(old_flat, new_flat, contextual_);
    return one(std::move(diff));
  }

  ObjectDiffs dns(const ChildRule& child, const object& before, const object& after) const {
    const object* old_dns = tree::child(before, child.member);
    const object* new_dns = tree::child(after, child.member);
    const auto collect = [](const object* in) {
      Flat out;
      if (in == nullptr) return out;
      for (const std::string_view name : {"Servers", "Searches", "Options"}) {
        std::string joined;
        for (const value& element : tree::list(*in, name))
          joined += (joined.empty() ? "" : ",") + std::string{tree::text_of(element)};
        if (!tree::list(*in, name).empty()) out.emplace(name, joined);
      }
      return out;
    };
    if (old_dns == nullptr && new_dns == nullptr) return {};
    return flat_map(child.name, collect(old_dns), collect(new_dns), old_dns == nullptr,
                    new_dns == nullptr, contextual_);
  }

  ObjectDiffs wait(const ChildRule& child, const object& before, const object& after) const {
    const object* old_wait = tree::child(before, child.member);
    const object* new_wait = tree::child(after, child.member);
    const auto collect = [](const object* in) {
      Flat out;
      if (in == nullptr) return out;
      for (const std::string_view name : {"Min", "Max"}) {
        const value* limit = tree::find(*in, name);
        out.emplace(name, limit == nullptr ? "nil" : std::to_string(tree::number_of(*limit)));
      }
      return out;
    };
    if (old_wait == nullptr && new_wait == nullptr) return {};
    return flat_map(child.name, collect(old_wait), collect(new_wait), old_wait == nullptr,
                    new_wait == nullptr, contextual_);
  }

  /// A region's change is that of its fields; one that changed otherwise is not shown.
  ObjectDiffs regions(const ChildRule& child, const object& before, const object& after) const {
    const auto key = [](const object& region) { return std::string{tree::text(region, "Name")}; };
    return join(key_objects(before, child.member, key), key_objects(after, child.member, key),
                [&](const object* a, const object* b) {
                  auto diff = object_diff(child.name, *child.rule, a, b);
                  if (diff) diff->change = change_by_fields(diff->fields);
                  if (diff && diff->change == Change::none) diff.reset();
                  return diff;
                });
  }

  bool contextual_;
};

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

/// Builds the diffs of jobs, groups and tasks, which have shapes of their own.
class JobDiffer {
public:
  explicit JobDiffer(bool contextual) : differ_{contextual} {}

  object job(const object* before, const object* after) const {
    const FieldDiffs fields = plain(job_rule, before, after);
    ObjectDiffs objects = differ_.children_diffs(job_rule, before, after);
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
    Flat old_flat = flatten_fields(before, group_rule);
    Flat new_flat = flatten_fields(after, group_rule);
    if (before != nullptr && after != nullptr)
      for (const Field& field : group_type.fields) {
        if (!field.has(Trait::pointer)) continue;
        old_flat[std::string{field.json}] = number_text(*before, field.json);
        new_flat[std::string{field.json}] = number_text(*after, field.json);
      }
    value tasks = named(before, after, "Tasks",
                        [this](const object* a, const object* b) { return task(a, b); });
    object out = named_diff(group_rule, before, after, field_diffs(old_flat, new_flat, false));
    out["Tasks"] = std::move(tasks);
    out["Updates"] = nullptr;
    return out;
  }

  object task(const object* before, const object* after) const {
    object out = named_diff(task_rule, before, after, plain(task_rule, before, after));
    out["Annotations"] = nullptr;
    return out;
  }

  object named_diff(const ObjectRule& rule,
                    const object* before,
                    const object* after,
                    const FieldDiffs& fields) const {
    const Change change = same_object(*rule.type, before, after)
                              ? Change::none
                              : change_by_presence(before != nullptr, after != nullptr);
    return {{"Type", to_text(change)},
            {"Name", tree::text(after == nullptr ? *before : *after, "Name")},
            {"Fields", to_json(fields)},
            {"Objects", to_json(differ_.children_diffs(rule, before, after))}};
  }

  static FieldDiffs plain(const ObjectRule& rule, const object* before, const object* after) {
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

bool same_specification(const object& a, const object& b) {
  for (const Field& field : job_type.fields) {
    if (field.has(Trait::api_only) || field.json == "Status" || field.json == "StatusDescription"
        || field.json == "Stable" || field.json == "Version" || field.json == "CreateIndex"
        || field.json == "ModifyIndex" || field.json == "JobModifyIndex"
        || field.json == "SubmitTime")
      continue;
    if (!same_member(field, a.if_contains(field.json), b.if_contains(field.json))) return false;
  }
  return true;
}

}  // namespace nomad::jobspec
