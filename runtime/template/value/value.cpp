#include "runtime/template/value/value.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace nomad::templates {

/// Ends values without a call for each level: what only the ended held is ended in a loop.
class EndedValues {
public:
  static void end(std::vector<Value> values) {
    while (!values.empty()) {
      Value last = std::move(values.back());
      values.pop_back();
      if (auto* items = std::get_if<Value::Items>(&last.content_);
          items != nullptr && *items != nullptr && items->use_count() == 1)
        take(const_cast<List&>(**items).items, values);  // Nobody else sees it any more.
      if (auto* map = std::get_if<std::shared_ptr<Map>>(&last.content_);
          map != nullptr && *map != nullptr && map->use_count() == 1)
        take((*map)->entries, values);
    }
  }

  static void take(std::vector<Value>& from, std::vector<Value>& to) {
    std::ranges::move(from, std::back_inserter(to));
    from.clear();
  }

  static void take(std::map<Value, Value, KeyOrder>& from, std::vector<Value>& to) {
    for (auto& [key, value] : from)
      to.push_back(std::move(value));
    from.clear();
  }
};

namespace {

const std::vector<Value> no_items;
const std::map<Value, Value, KeyOrder> no_entries;

/// Beyond this many values nobody looks whether a map comes to hold itself.
constexpr std::size_t most_searched = 10'000;

/// Compares values of any depth.
class Equality {
public:
  explicit Equality(Work& work) : work_{work} {}

  Result<bool> holds(const Value& a, const Value& b, int depth) {
    if (a.type() != b.type() || a.is_nil() != b.is_nil()) return false;
    if (a.is_nil()) return true;
    if (depth > max_depth) return false;
    NOMAD_TRY(work_.take(Work::step + compared_bytes(a, b)));
    switch (a.kind()) {
      case Kind::any:
        return true;
      case Kind::boolean:
      case Kind::integer:
      case Kind::natural:
      case Kind::number:
      case Kind::text:
        return order_of_basics(a, b) == 0;
      case Kind::list:
      case Kind::structure:
        return &a.items() == &b.items() || NOMAD_TRY(all(a.items(), b.items(), depth));
      case Kind::map:
        return a.shared_map() == b.shared_map() || NOMAD_TRY(entries(a, b, depth));
      case Kind::function:
        return false;
    }
    return false;
  }

private:
  Result<bool> all(const std::vector<Value>& a, const std::vector<Value>& b, int depth) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i)
      if (!NOMAD_TRY(holds(a[i], b[i], depth + 1))) return false;
    return true;
  }

  Result<bool> entries(const Value& a, const Value& b, int depth) {
    if (a.size() != b.size()) return false;
    for (auto x = a.entries().begin(), y = b.entries().begin(); x != a.entries().end(); ++x, ++y)
      if (!NOMAD_TRY(holds(x->first, y->first, depth + 1))
          || !NOMAD_TRY(holds(x->second, y->second, depth + 1)))
        return false;
    return true;
  }

  Work& work_;
};

}  // namespace

Value Value::boolean(bool value) {
  Value out;
  out.type_ = &types::boolean;
  out.content_ = value;
  return out;
}

Value Value::integer(std::int64_t value, const Type& type) {
  Value out;
  out.type_ = &type;
  out.content_ = value;
  return out;
}

Value Value::natural(std::uint64_t value, const Type& type) {
  Value out;
  out.type_ = &type;
  out.content_ = value;
  return out;
}

Value Value::number(double value) {
  Value out;
  out.type_ = &types::number;
  out.content_ = value;
  return out;
}

Value Value::text(std::string value, const Type& type) {
  Value out;
  out.type_ = &type;
  out.content_ = std::make_shared<const std::string>(std::move(value));
  return out;
}

Value Value::list(std::vector<Value> items, const Type& type) {
  Value out;
  out.type_ = &type;
  out.content_ = std::make_shared<const List>(std::move(items));
  return out;
}

Value Value::map(std::shared_ptr<Map> map, const Type& type) {
  Value out;
  out.type_ = &type;
  out.content_ = std::move(map);
  return out;
}

Value Value::structure(const Type& type, std::vector<Value> fields) {
  return list(std::move(fields), type);
}

Value Value::function(const Function& function) {
  Value out;
  out.type_ = &types::function;
  out.content_ = &function;
  return out;
}

Value Value::null(const Type& type) {
  Value out;
  out.type_ = type.kind == Kind::any ? nullptr : &type;
  return out;
}

Value Value::zero(const Type& type) {
  switch (type.kind) {
    case Kind::boolean:
      return boolean(false);
    case Kind::integer:
      return integer(0, type);
    case Kind::natural:
      return natural(0, type);
    case Kind::number:
      return number(0);
    case Kind::text:
      return text("", type);
    case Kind::structure: {
      if (type.is_pointer) return null(type);
      std::vector<Value> fields;
      for (const Field& field : type.fields)
        fields.push_back(zero(*field.type));
      return structure(type, std::move(fields));
    }
    case Kind::any:
    case Kind::list:
    case Kind::map:
    case Kind::function:
      break;
  }
  return null(type);
}

std::string_view Value::as_text() const {
  return *std::get<Text>(content_);
}

const std::vector<Value>& Value::items() const {
  return is_nil() ? no_items : std::get<Items>(content_)->items;
}

const std::map<Value, Value, KeyOrder>& Value::entries() const {
  return is_nil() ? no_entries : std::get<std::shared_ptr<Map>>(content_)->entries;
}

Map* Value::shared_map() const {
  return is_nil() ? nullptr : std::get<std::shared_ptr<Map>>(content_).get();
}

const std::vector<Value>& Value::fields() const {
  return items();
}

std::size_t Value::size() const {
  switch (kind()) {
    case Kind::text:
      return as_text().size();
    case Kind::list:
      return items().size();
    case Kind::map:
      return entries().size();
    default:
      return 0;
  }
}

bool Value::is_true() const {
  if (type_ != nullptr && type_->is_pointer) return !is_nil();
  switch (kind()) {
    case Kind::any:
      return false;
    case Kind::boolean:
      return as_boolean();
    case Kind::integer:
      return as_integer() != 0;
    case Kind::natural:
      return as_natural() != 0;
    case Kind::number:
      return as_number() != 0;
    case Kind::text:
    case Kind::list:
    case Kind::map:
      return type_ == &types::int64_channel || size() > 0;
    case Kind::structure:
    case Kind::function:
      return !is_nil();
  }
  return false;
}

std::partial_ordering order_of_basics(const Value& a, const Value& b) {
  switch (a.kind()) {
    case Kind::boolean:
      return a.as_boolean() <=> b.as_boolean();
    case Kind::integer:
      return a.as_integer() <=> b.as_integer();
    case Kind::natural:
      return a.as_natural() <=> b.as_natural();
    case Kind::number:
      return a.as_number() <=> b.as_number();
    case Kind::text:
      return a.as_text() <=> b.as_text();
    default:
      return std::partial_ordering::unordered;
  }
}

bool KeyOrder::operator()(const Value& a, const Value& b) const {
  return a.kind() != b.kind() ? a.kind() < b.kind() : order_of_basics(a, b) < 0;
}

bool KeyOrder::operator()(const Value& a, std::string_view b) const {
  return a.kind() == Kind::text ? a.as_text() < b : a.kind() < Kind::text;
}

bool KeyOrder::operator()(std::string_view a, const Value& b) const {
  return b.kind() == Kind::text ? a < b.as_text() : Kind::text < b.kind();
}

List::~List() {
  std::vector<Value> ended;
  EndedValues::take(items, ended);
  EndedValues::end(std::move(ended));
}

Map::~Map() {
  std::vector<Value> ended;
  EndedValues::take(entries, ended);
  EndedValues::end(std::move(ended));
}

void Map::set(std::string_view key, Value value) {
  entries.insert_or_assign(Value::text(std::string{key}), std::move(value));
}

const Value* Map::find(std::string_view key) const {
  const auto found = entries.find(key);
  return found == entries.end() ? nullptr : &found->second;
}

std::string bytes_of(const Value& list) {
  std::string out;
  for (const Value& byte : list.items())
    out += static_cast<char>(byte.as_natural());
  return out;
}

Result<bool> holds(const Value& value, const Map& map, Work& work) {
  std::vector<const Value*> open{&value};
  std::set<const void*> seen;
  while (!open.empty()) {
    const Value& next = *open.back();
    open.pop_back();
    NOMAD_TRY(work.take(Work::step));
    if (next.is_nil()) continue;
    if (next.kind() == Kind::map) {
      if (next.shared_map() == &map) return true;
      if (!seen.insert(next.shared_map()).second) continue;
      for (const auto& [key, held] : next.entries())
        open.push_back(&held);
    } else if (next.kind() == Kind::list || next.kind() == Kind::structure) {
      if (!seen.insert(&next.items()).second) continue;
      for (const Value& held : next.items())
        open.push_back(&held);
    }
    if (open.size() + seen.size() > most_searched) return true;
  }
  return false;
}

std::uint64_t compared_bytes(const Value& a, const Value& b) {
  return a.kind() == Kind::text && b.kind() == Kind::text ? std::min(a.size(), b.size()) : 0;
}

Result<bool> deep_equal(const Value& a, const Value& b, Work& work) {
  return Equality{work}.holds(a, b, 0);
}

}  // namespace nomad::templates
