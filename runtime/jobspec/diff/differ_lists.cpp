// The half of Differ that compares lists of objects.
#include <algorithm>
#include <map>
#include <string>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "runtime/jobspec/diff/differ.hpp"
#include "runtime/jobspec/diff/flatten.hpp"
#include "runtime/jobspec/tree.hpp"

namespace nomad::jobspec {
namespace {

using boost::json::array;
using boost::json::object;
using boost::json::value;

using Keyed = std::map<std::string, const object*>;

template <class Key>
Keyed key_objects(const object& in, std::string_view member, Key&& key) {
  Keyed out;
  tree::each(in, member, [&](const object& element) { out[key(element)] = &element; });
  return out;
}

const object* find(const Keyed& in, const std::string& key) {
  const auto found = in.find(key);
  return found == in.end() ? nullptr : found->second;
}

/// Calls `compare(old or null, new or null)` for each key of either side.
template <class CompareTwo>
ObjectDiffs join(const Keyed& before, const Keyed& after, CompareTwo&& compare) {
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

}  // namespace

/// Position alone is too weak an identity, and so is each of name and port.
int match_service(const object& element,
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

int match_template(const object& element,
                   std::size_t,
                   const array& candidates,
                   const std::vector<bool>& taken) {
  for (std::size_t at = 0; at < candidates.size(); ++at)
    if (!taken[at] && candidates[at].is_object()
        && tree::text(candidates[at].get_object(), "DestPath") == tree::text(element, "DestPath"))
      return static_cast<int>(at);
  return -1;
}

ObjectDiffs Differ::field_set(const Child& child,
                              const object& before,
                              const object& after,
                              std::string_view id_member) const {
  const auto key = [&](const object& element) {
    const std::string_view id
        = id_member.empty() ? std::string_view{} : tree::text(element, id_member);
    return id.empty() ? "\x1f" + content_key(*child.type, element) : std::string{id};
  };
  return join(key_objects(before, child.member, key), key_objects(after, child.member, key),
              [&](const object* a, const object* b) {
                return fields_diff(child.name, child.typed(), a, b);
              });
}

ObjectDiffs Differ::keyed(const Child& child, const object& before, const object& after) const {
  const auto compare = [&](const object* a, const object* b) {
    return object_diff(child.name, child.typed(), a, b);
  };
  if (child.kind == Kind::block_map) {
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

ObjectDiffs Differ::in_order(const Child& child, const object& before, const object& after) const {
  const array& olds = tree::list(before, child.member);
  const array& news = tree::list(after, child.member);
  const auto at = [](const array& list, std::size_t position) {
    return position < list.size() ? list[position].if_object() : nullptr;
  };
  ObjectDiffs out;
  for (std::size_t i = 0; i < std::max(olds.size(), news.size()); ++i)
    append(out, one(object_diff(child.name, child.typed(), at(olds, i), at(news, i))));
  sort(out);
  return out;
}

ObjectDiffs Differ::matched(const Child& child,
                            const object& before,
                            const object& after,
                            Match match) const {
  const array& olds = tree::list(before, child.member);
  const array& news = tree::list(after, child.member);
  const auto compare = [&](const object* a, const object* b) {
    return object_diff(child.name, child.typed(), a, b);
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

ObjectDiffs Differ::networks(const Child& child, const object& before, const object& after) const {
  const auto key = [&](const object& element) { return content_key(*child.type, element); };
  return join(key_objects(before, child.member, key), key_objects(after, child.member, key),
              [&](const object* a, const object* b) {
                return a != nullptr && b != nullptr ? std::nullopt
                                                    : object_diff(child.name, child.typed(), a, b);
              });
}

ObjectDiffs Differ::ports(const Child& child, const object& before, const object& after) const {
  const auto key = [](const object& port) { return std::string{tree::text(port, "Label")}; };
  return join(key_objects(before, child.member, key), key_objects(after, child.member, key),
              [&](const object* a, const object* b) {
                return fields_diff(child.name, child.typed(), a, b);
              });
}

ObjectDiffs Differ::upstreams(const Child& child, const object& before, const object& after) const {
  static const object nothing;
  const auto key = [](const object& upstream) {
    return fmt::format("{}/{}", tree::text(upstream, "Datacenter"),
                       tree::text(upstream, "DestinationName"));
  };
  return join(key_objects(before, child.member, key), key_objects(after, child.member, key),
              [&](const object* a, const object* b) {
                auto diff = object_diff(child.name, child.typed(), a, b);
                if (!diff) return diff;
                // Its mesh gateway is a value, so it is never absent.
                const auto gateway = [](const object* upstream) {
                  const object* found
                      = upstream == nullptr ? nullptr : tree::child(*upstream, "MeshGateway");
                  return found == nullptr ? &nothing : found;
                };
                const ChildRule& mesh = child.rule->children.front();
                const TypedRule typed{*mesh.rule, *child.type->find(mesh.member)->block};
                diff->objects = one(fields_diff(mesh.name, typed, gateway(a), gateway(b)));
                return diff;
              });
}

/// A region's change is that of its fields; one that changed otherwise is not shown.
ObjectDiffs Differ::regions(const Child& child, const object& before, const object& after) const {
  const auto key = [](const object& region) { return std::string{tree::text(region, "Name")}; };
  return join(key_objects(before, child.member, key), key_objects(after, child.member, key),
              [&](const object* a, const object* b) {
                auto diff = object_diff(child.name, child.typed(), a, b);
                if (diff) diff->change = change_by_fields(diff->fields);
                if (diff && diff->change == Change::none) diff.reset();
                return diff;
              });
}

}  // namespace nomad::jobspec
