#include "runtime/jobspec/diff/differ.hpp"

#include <set>
#include <string>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "runtime/base/duration.hpp"
#include "runtime/jobspec/diff/flatten.hpp"
#include "runtime/jobspec/tree.hpp"

namespace nomad::jobspec {
namespace {

using boost::json::array;
using boost::json::object;
using boost::json::value;

/// Single values that may be null are no plain fields; each block treats its own differently.
void add_pointer_fields(const BlockType& type,
                        const object* before,
                        const object* after,
                        Flat& old_flat,
                        Flat& new_flat) {
  for (const Field& field : type.fields) {
    if (!field.has(Trait::pointer)) continue;
    const value* old_value = before == nullptr ? nullptr : tree::find(*before, field.json);
    const value* new_value = after == nullptr ? nullptr : tree::find(*after, field.json);
    const bool both = before != nullptr && after != nullptr;
    if (&type == &block_types().tmpl) {
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

ObjectDiffs flat_map(std::string_view name,
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

}  // namespace

std::optional<ObjectDiff> Differ::object_diff(std::string_view name,
                                              TypedRule rule,
                                              const object* before,
                                              const object* after) const {
  if (same_object(rule.type, before, after)) return std::nullopt;
  ObjectDiff diff;
  diff.name = name;
  diff.change = change_by_presence(before != nullptr, after != nullptr);
  Flat old_flat = flatten_fields(before, rule);
  Flat new_flat = flatten_fields(after, rule);
  add_pointer_fields(rule.type, before, after, old_flat, new_flat);
  diff.fields = field_diffs(old_flat, new_flat, contextual_ && rule.rule.contextual);
  diff.objects = children_diffs(rule, before, after);
  // What differs may be what does not count.
  if (before != nullptr && after != nullptr && diff.fields.empty() && diff.objects.empty())
    return std::nullopt;
  return diff;
}

ObjectDiffs Differ::children_diffs(TypedRule rule,
                                   const object* before,
                                   const object* after) const {
  static const object nothing;
  ObjectDiffs out;
  for (const ChildRule& child : rule.rule.children) {
    const auto has = [&child](const object* parent) {
      return parent != nullptr && tree::child(*parent, child.member) != nullptr;
    };
    if (child.edits_only && !(has(before) && has(after))) continue;
    const Field& field = *rule.type.find(child.member);
    append(out,
           child_diffs(child.how, {child.member, child.name, field.kind, child.rule, field.block},
                       before == nullptr ? nothing : *before, after == nullptr ? nothing : *after));
  }
  return out;
}

ObjectDiffs Differ::child_diffs(Compare how,
                                const Child& child,
                                const object& before,
                                const object& after) const {
  const std::string_view member = child.member;
  switch (how) {
    case Compare::text_set:
      return text_set(child, before, after, false);
    case Compare::changed_text_set:
      return text_set(child, before, after, true);
    case Compare::fields_or_zero:
      return fields_or_zero(child, before, after);
    case Compare::fields:
      return one(fields_diff(child.name, child.typed(), tree::child(before, member),
                             tree::child(after, member)));
    case Compare::field_set:
      return field_set(child, before, after, {});
    case Compare::artifact_set:
      return field_set(child, before, after, "RelativeDest");
    case Compare::object:
      return one(object_diff(child.name, child.typed(), tree::child(before, member),
                             tree::child(after, member)));
    case Compare::by_key:
      return keyed(child, before, after);
    case Compare::in_order:
      return in_order(child, before, after);
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
    case Compare::schedule:
      return schedule(child, before, after);
    case Compare::regions:
      return regions(child, before, after);
  }
  return {};
}

ObjectDiffs Differ::text_set(const Child& child,
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

std::optional<ObjectDiff> Differ::fields_diff(std::string_view name,
                                              TypedRule rule,
                                              const object* before,
                                              const object* after) const {
  ObjectDiff diff;
  diff.name = name;
  diff.fields = field_diffs(flatten_fields(before, rule), flatten_fields(after, rule), contextual_);
  diff.change = change_by_fields(diff.fields);
  if (diff.change == Change::none) return std::nullopt;
  return diff;
}

/// The same for an object that a new job always has.
ObjectDiffs Differ::fields_or_zero(const Child& child,
                                   const object& before,
                                   const object& after) const {
  static const object zero;
  const object* old_object = tree::child(before, child.member);
  return one(fields_diff(child.name, child.typed(), old_object == nullptr ? &zero : old_object,
                         tree::child(after, child.member)));
}

ObjectDiffs Differ::free_map(const Child& child,
                             const object& before,
                             const object& after,
                             bool contextual) const {
  const object* old_content = tree::child(before, child.member);
  const object* new_content = tree::child(after, child.member);
  if (same_content(old_content, new_content)) return {};
  const auto is_empty
      = [](const object* content) { return content == nullptr || content->empty(); };
  const auto flat_of
      = [](const object* content) { return content == nullptr ? Flat{} : flatten_free(*content); };
  ObjectDiff diff;
  diff.name = child.name;
  diff.change = is_empty(old_content)   ? Change::added
                : is_empty(new_content) ? Change::deleted
                                        : Change::edited;
  diff.fields = field_diffs(flat_of(old_content), flat_of(new_content), contextual);
  return one(std::move(diff));
}

ObjectDiffs Differ::addresses(const Child& child, const object& before, const object& after) const {
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

ObjectDiffs Differ::dns(const Child& child, const object& before, const object& after) const {
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

ObjectDiffs Differ::wait(const Child& child, const object& before, const object& after) const {
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

/// The block has nothing else, and Nomad shows its fields as the schedule's.
ObjectDiffs Differ::schedule(const Child& child, const object& before, const object& after) const {
  return children_diffs(child.typed(), tree::child(before, child.member),
                        tree::child(after, child.member));
}

}  // namespace nomad::jobspec
