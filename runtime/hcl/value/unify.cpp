// The common type of several types, and how to say why a type is not another.
#include <algorithm>

#include "runtime/base/text.hpp"
#include "runtime/hcl/value/convert.hpp"

namespace nomad::hcl {

namespace {

using Kind = Type::Kind;
using Types = std::vector<Type>;

std::optional<Type> unify_types(const Types& types, bool unsafe);

bool converts(const Type& from, const Type& to, bool unsafe) {
  return from == to || is_convertible(from, to, unsafe);
}

/// < 0 when `a` is the more general, > 0 when `b` is, 0 when neither or both.
int compare(const Type& a, const Type& b) {
  if (a.kind() == Kind::dynamic || b.kind() == Kind::dynamic)
    return static_cast<int>(a.kind() == Kind::dynamic)
           - static_cast<int>(b.kind() == Kind::dynamic);
  if (a.is_primitive() && b.is_primitive())
    return static_cast<int>(b.kind() == Kind::string) - static_cast<int>(a.kind() == Kind::string);
  if (a.is_collection() && a.kind() == b.kind()) return compare(a.element(), b.element());
  const auto wider = [](const Type& x, const Type& y) {  // x is preferred to y
    return (x.kind() == Kind::list && y.kind() == Kind::tuple)
           || (x.kind() == Kind::map && y.kind() == Kind::object)
           || ((x.kind() == Kind::tuple || x.kind() == Kind::list) && y.kind() == Kind::set);
  };
  if (wider(a, b)) return -1;
  if (wider(b, a)) return 1;
  if (a.kind() != b.kind() || (a.kind() != Kind::tuple && a.kind() != Kind::object)) return 0;
  bool a_wider = false;
  bool b_wider = false;
  const auto note = [&](int order) {
    a_wider = a_wider || order < 0;
    b_wider = b_wider || order > 0;
  };
  if (a.kind() == Kind::tuple) {
    if (a.elements().size() != b.elements().size()) return 0;
    for (std::size_t i = 0; i < a.elements().size(); ++i)
      note(compare(a.elements()[i], b.elements()[i]));
  } else {
    if (a.attributes().size() != b.attributes().size()) return 0;
    for (std::size_t i = 0; i < a.attributes().size(); ++i) {
      if (a.attributes()[i].first != b.attributes()[i].first) return 0;
      note(compare(a.attributes()[i].second, b.attributes()[i].second));
    }
  }
  return a_wider == b_wider ? 0 : a_wider ? -1 : 1;
}

/// The distinct types, the most general first as far as they compare.
Types preference(const Types& types) {
  Types distinct;
  for (const Type& type : types)
    if (std::find(distinct.begin(), distinct.end(), type) == distinct.end())
      distinct.push_back(type);
  const std::size_t n = distinct.size();
  std::vector<std::vector<std::size_t>> less_general(n);
  std::vector<std::size_t> above(n, 0);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = i + 1; j < n; ++j) {
      const int order = compare(distinct[i], distinct[j]);
      if (order == 0) continue;
      less_general[order < 0 ? i : j].push_back(order < 0 ? j : i);
      ++above[order < 0 ? j : i];
    }
  std::vector<std::size_t> queue;
  for (std::size_t i = 0; i < n; ++i)
    if (above[i] == 0) queue.push_back(i);
  Types out;
  for (std::size_t at = 0; at < queue.size(); ++at) {
    out.push_back(distinct[queue[at]]);
    for (const std::size_t j : less_general[queue[at]])
      if (--above[j] == 0) queue.push_back(j);
  }
  return out;
}

Types members(const Types& types) {
  Types out;
  for (const Type& type : types) {
    if (type.kind() == Kind::tuple)
      out.insert(out.end(), type.elements().begin(), type.elements().end());
    else
      for (const auto& attribute : type.attributes())
        out.push_back(attribute.second);
  }
  return out;
}

/// Tuples as one list, or objects as one map.
std::optional<Type> as_collection(const Types& types, bool unsafe) {
  const bool tuples = types.front().kind() == Kind::tuple;
  const auto element = unify_types(members(types), unsafe);
  if (!element) return std::nullopt;
  Type collection = tuples ? Type::list(*element) : Type::map(*element);
  if (!std::all_of(types.begin(), types.end(),
                   [&](const Type& t) { return converts(t, collection, unsafe); }))
    return std::nullopt;
  return collection;
}

std::optional<Type> unify_collections(const Types& types, bool unsafe) {
  Types elements;
  for (const Type& type : types)
    elements.push_back(type.element());
  const auto element = unify_types(elements, unsafe);
  if (!element) return std::nullopt;
  switch (types.front().kind()) {
    case Kind::list:
      return Type::list(*element);
    case Kind::set:
      return Type::set(*element);
    default:
      return Type::map(*element);
  }
}

/// The `i`-th member's type across all `types`, which have the same shape.
std::optional<Type> unify_across(const Types& types, std::size_t i, bool unsafe) {
  Types across;
  for (const Type& type : types)
    across.push_back(type.kind() == Kind::tuple ? type.elements()[i] : type.attributes()[i].second);
  return unify_types(across, unsafe);
}

std::optional<Type> accepted_by_all(const Types& types, Type candidate, bool unsafe) {
  if (std::all_of(types.begin(), types.end(),
                  [&](const Type& t) { return converts(t, candidate, unsafe); }))
    return candidate;
  return as_collection(types, unsafe);
}

std::optional<Type> unify_tuples(const Types& types, bool unsafe) {
  const std::size_t size = types.front().elements().size();
  for (const Type& type : types)
    if (type.elements().size() != size) return as_collection(types, unsafe);
  Types elements;
  for (std::size_t i = 0; i < size; ++i) {
    auto element = unify_across(types, i, unsafe);
    if (!element) return std::nullopt;
    elements.push_back(std::move(*element));
  }
  return accepted_by_all(types, Type::tuple(std::move(elements)), unsafe);
}

std::optional<Type> unify_objects(const Types& types, bool unsafe) {
  const auto& first = types.front().attributes();
  const auto same_name
      = [](const Type::Attribute& a, const Type::Attribute& b) { return a.first == b.first; };
  for (const Type& type : types)
    if (!std::equal(first.begin(), first.end(), type.attributes().begin(), type.attributes().end(),
                    same_name))
      return as_collection(types, unsafe);
  std::vector<Type::Attribute> attributes;
  for (std::size_t i = 0; i < first.size(); ++i) {
    auto type = unify_across(types, i, unsafe);
    if (!type) return std::nullopt;
    attributes.emplace_back(first[i].first, std::move(*type));
  }
  return accepted_by_all(types, Type::object(std::move(attributes)), unsafe);
}

/// `types` with those of kind `structural` replaced by the one collection they make together.
std::optional<Type> unify_disguised(const Types& types,
                                    Kind structural,
                                    Kind collection,
                                    bool unsafe) {
  Types disguised;
  for (const Type& type : types)
    if (type.kind() == structural) disguised.push_back(type);
  const auto common = as_collection(disguised, unsafe);
  if (!common) return std::nullopt;
  Types replaced = types;
  for (Type& type : replaced)
    if (type.kind() == structural) type = *common;
  auto out = unify_types(replaced, unsafe);
  return out && out->kind() == collection ? out : std::nullopt;
}

std::optional<Type> unify_types(const Types& types, bool unsafe) {
  if (types.empty()) return std::nullopt;
  const auto count = [&](Kind kind) {
    return static_cast<std::size_t>(
        std::count_if(types.begin(), types.end(), [&](const Type& t) { return t.kind() == kind; }));
  };
  const std::size_t dynamic = count(Kind::dynamic);
  const auto only = [&](std::size_t kinds) { return kinds + dynamic == types.size(); };
  for (const Kind kind : {Kind::map, Kind::list, Kind::set, Kind::object, Kind::tuple}) {
    const std::size_t of_kind = count(kind);
    if (of_kind == 0 || !only(of_kind)) continue;
    if (dynamic > 0) return Type::dynamic();
    return kind == Kind::object  ? unify_objects(types, unsafe)
           : kind == Kind::tuple ? unify_tuples(types, unsafe)
                                 : unify_collections(types, unsafe);
  }
  const std::size_t objects = count(Kind::object);
  const std::size_t tuples = count(Kind::tuple);
  if (count(Kind::map) > 0 && only(count(Kind::map) + objects)) {
    if (auto map = unify_disguised(types, Kind::object, Kind::map, unsafe)) return map;
  } else if (count(Kind::list) > 0 && only(count(Kind::list) + tuples)) {
    if (auto list = unify_disguised(types, Kind::tuple, Kind::list, unsafe)) return list;
  } else if (objects > 0 && tuples > 0) {
    return std::nullopt;
  }
  for (const Type& wanted : preference(types))
    if (std::all_of(types.begin(), types.end(),
                    [&](const Type& t) { return converts(t, wanted, unsafe); }))
      return wanted;
  return std::nullopt;
}

std::string required(const Type& want) {
  return want.friendly_name_for_constraint() + " required";
}

std::string missing_attributes(const std::vector<std::string>& names) {
  if (names.size() == 1) return "attribute " + quote(names[0]) + " is required";
  if (names.size() == 2)
    return "attributes " + quote(names[0]) + " and " + quote(names[1]) + " are required";
  std::string out = "attributes ";
  for (std::size_t i = 0; i + 1 < names.size(); ++i)
    out += quote(names[i]) + ", ";
  return out + "and " + quote(names.back()) + " are required";
}

std::string object_mismatch(const Type& got, const Type& want) {
  std::vector<std::string> missing;
  std::string unsafe_mismatch;
  std::string safe_mismatch;
  for (const auto& [name, wanted] : want.attributes()) {
    const Type* have = got.attribute(name);
    if (have == nullptr) {
      missing.push_back(name);
      continue;
    }
    if (*have == wanted) continue;
    const auto describe = [&name = name, have, &wanted = wanted] {
      return "attribute " + quote(name) + ": " + mismatch_message(*have, wanted);
    };
    if (unsafe_mismatch.empty() && !is_convertible(*have, wanted, true))
      unsafe_mismatch = describe();
    if (safe_mismatch.empty() && !is_convertible(*have, wanted, false)) safe_mismatch = describe();
  }
  if (!missing.empty()) return missing_attributes(missing);
  if (!unsafe_mismatch.empty()) return unsafe_mismatch;
  return safe_mismatch.empty() ? "incorrect object attributes" : safe_mismatch;
}

std::string structural_mismatch(const Type& got, const Type& want) {
  const bool tuple = got.kind() == Kind::tuple;
  if (tuple == (want.kind() == Kind::map)) return required(want);
  const Type& element = want.element();
  const auto fits = [&](const Type& have) { return converts(have, element, true); };
  if (tuple) {
    for (std::size_t i = 0; i < got.elements().size(); ++i)
      if (!fits(got.elements()[i]))
        return "element " + std::to_string(i) + ": " + mismatch_message(got.elements()[i], element);
  } else {
    for (const auto& [name, have] : got.attributes())
      if (!fits(have)) return "element " + quote(name) + ": " + mismatch_message(have, element);
  }
  return "all elements must be " + element.friendly_name_for_constraint();
}

std::string collection_mismatch(const Type& got, const Type& want) {
  if ((want.kind() == Kind::map) != (got.kind() == Kind::map)) return required(want);
  const std::string_view noun = want.kind() == Kind::list  ? "list element type"
                                : want.kind() == Kind::set ? "set element type"
                                                           : "map element type";
  return "incorrect " + std::string{noun} + ": " + mismatch_message(got.element(), want.element());
}

}  // namespace

std::optional<Type> unify(const std::vector<Type>& types) {
  return unify_types(types, false);
}

std::optional<Type> unify_unsafe(const std::vector<Type>& types) {
  return unify_types(types, true);
}

std::string mismatch_message(const Type& got, const Type& want) {
  const bool structural = got.kind() == Kind::tuple || got.kind() == Kind::object;
  if (got.kind() == Kind::object && want.kind() == Kind::object) return object_mismatch(got, want);
  if (want.is_collection() && want.element().kind() == Kind::dynamic) {
    if (got.kind() == Kind::tuple && want.kind() == Kind::list)
      return "all list elements must have the same type";
    if (got.kind() == Kind::tuple && want.kind() == Kind::set)
      return "all set elements must have the same type";
    if (got.kind() == Kind::object && want.kind() == Kind::map)
      return "all map elements must have the same type";
  }
  if (structural && want.is_collection()) return structural_mismatch(got, want);
  if (got.is_collection() && want.is_collection()) return collection_mismatch(got, want);
  return required(want);
}

}  // namespace nomad::hcl
