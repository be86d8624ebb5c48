#include "runtime/hcl/value/value.hpp"

#include <algorithm>
#include <atomic>
#include <limits>

#include "runtime/base/sorting/sort_stably.hpp"
#include "runtime/hcl/value/utf8.hpp"

namespace nomad::hcl {

namespace {

constexpr std::uint64_t node_weight = 16;

std::uint64_t saturating_add(std::uint64_t a, std::uint64_t b) {
  return a > std::numeric_limits<std::uint64_t>::max() - b
             ? std::numeric_limits<std::uint64_t>::max()
             : a + b;
}

}  // namespace

struct Value::Text {
  std::string text;
};

/// What sequences and mappings know about their contents.
struct Value::Contents {
  ~Contents() { delete type.load(); }

  Contents() = default;
  Contents(const Contents&) = delete;
  Contents& operator=(const Contents&) = delete;

  void add(const Value& value, std::size_t key_size) {
    height = std::max(height, value.height() + 1);
    weight = saturating_add(weight, saturating_add(value.weight(), key_size));
    wholly_known = wholly_known && value.is_wholly_known();
  }

  std::uint32_t height = 1;
  std::uint64_t weight = node_weight;
  bool wholly_known = true;
  mutable std::atomic<const Type*> type{nullptr};  // of a tuple or object, made when asked for
};

struct Value::Sequence : Contents {
  Elements elements;
};

struct Value::Mapping : Contents {
  Entries entries;
};

Value::Value(Type type, Payload payload)
    : state_{State::known}, type_{std::move(type)}, payload_{std::move(payload)} {}

Value Value::null(Type type) {
  return {State::null, std::move(type)};
}

Value Value::unknown(Type type) {
  return {State::unknown, std::move(type)};
}

Value Value::boolean(bool value) {
  return {Type::boolean(), value};
}

Value Value::number(Number value) {
  return {Type::number(), std::move(value)};
}

Value Value::string(std::string_view text) {
  return {Type::string(), std::make_shared<const Text>(Text{normalized(text)})};
}

Value Value::sequence(Type type, Elements elements) {
  auto contents = std::make_shared<Sequence>();
  contents->elements = std::move(elements);
  for (const Value& element : contents->elements)
    contents->add(element, 0);
  return {std::move(type), std::shared_ptr<const Sequence>{std::move(contents)}};
}

Value Value::mapping(Type type, Entries entries) {
  for (auto& entry : entries)
    if (!is_ascii(entry.first)) entry.first = normalized(entry.first);
  const auto by_key = [](const Entry& a, const Entry& b) { return a.first < b.first; };
  if (!std::is_sorted(entries.begin(), entries.end(), by_key)) sort_stably(entries, by_key);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (i + 1 < entries.size() && entries[i].first == entries[i + 1].first) continue;
    if (kept != i) entries[kept] = std::move(entries[i]);
    ++kept;
  }
  entries.resize(kept);
  auto contents = std::make_shared<Mapping>();
  contents->entries = std::move(entries);
  for (const auto& [key, value] : contents->entries)
    contents->add(value, key.size());
  return {std::move(type), std::shared_ptr<const Mapping>{std::move(contents)}};
}

Value Value::tuple(Elements elements) {
  return sequence(Type::of_kind(Type::Kind::tuple), std::move(elements));
}

Value Value::object(Entries entries) {
  return mapping(Type::of_kind(Type::Kind::object), std::move(entries));
}

Value Value::list(Type element, Elements elements) {
  return sequence(Type::list(std::move(element)), std::move(elements));
}

Value Value::map(Type element, Entries entries) {
  return mapping(Type::map(std::move(element)), std::move(entries));
}

Value Value::set(Type element, Elements elements) {
  sort_stably(elements, set_order);
  Elements distinct;
  distinct.reserve(elements.size());
  for (Value& value : elements) {
    // Equal elements are neighbours; an unknown one equals nothing.
    if (!distinct.empty() && equals(distinct.back(), value) == true) continue;
    distinct.push_back(std::move(value));
  }
  return sequence(Type::set(std::move(element)), std::move(distinct));
}

Type Value::type() const {
  if (!is_known() || (kind() != Type::Kind::tuple && kind() != Type::Kind::object)) return type_;
  const Contents& contents
      = kind() == Type::Kind::tuple
            ? static_cast<const Contents&>(*std::get<std::shared_ptr<const Sequence>>(payload_))
            : *std::get<std::shared_ptr<const Mapping>>(payload_);
  if (const Type* made = contents.type.load(std::memory_order_acquire)) return *made;
  auto made = std::make_unique<const Type>(structural_type());
  const Type* expected = nullptr;
  if (contents.type.compare_exchange_strong(expected, made.get(), std::memory_order_acq_rel))
    return *made.release();
  return *expected;
}

Type Value::structural_type() const {
  if (kind() == Type::Kind::tuple) {
    std::vector<Type> types;
    types.reserve(elements().size());
    for (const Value& element : elements())
      types.push_back(element.type());
    return Type::tuple(std::move(types));
  }
  std::vector<Type::Attribute> types;
  types.reserve(entries().size());
  for (const auto& [key, value] : entries())
    types.emplace_back(key, value.type());
  return Type::object(std::move(types));
}

bool Value::is_wholly_known() const {
  if (is_unknown()) return false;
  if (const auto* sequence = std::get_if<std::shared_ptr<const Sequence>>(&payload_))
    return (*sequence)->wholly_known;
  if (const auto* mapping = std::get_if<std::shared_ptr<const Mapping>>(&payload_))
    return (*mapping)->wholly_known;
  return true;
}

bool Value::as_bool() const {
  return std::get<bool>(payload_);
}

const Number& Value::as_number() const {
  return std::get<Number>(payload_);
}

std::string_view Value::as_string() const {
  return std::get<std::shared_ptr<const Text>>(payload_)->text;
}

const Value::Elements& Value::elements() const {
  return std::get<std::shared_ptr<const Sequence>>(payload_)->elements;
}

const Value::Entries& Value::entries() const {
  return std::get<std::shared_ptr<const Mapping>>(payload_)->entries;
}

const Value* Value::find(std::string_view key) const {
  const Entries& all = entries();
  const auto at = std::lower_bound(all.begin(), all.end(), key,
                                   [](const Entry& a, std::string_view k) { return a.first < k; });
  return at != all.end() && at->first == key ? &at->second : nullptr;
}

std::size_t Value::size() const {
  if (is_sequence()) return elements().size();
  return is_mapping() ? entries().size() : 0;
}

std::uint32_t Value::height() const noexcept {
  if (const auto* sequence = std::get_if<std::shared_ptr<const Sequence>>(&payload_))
    return (*sequence)->height;
  if (const auto* mapping = std::get_if<std::shared_ptr<const Mapping>>(&payload_))
    return (*mapping)->height;
  return 0;
}

std::uint64_t Value::weight() const noexcept {
  if (const auto* text = std::get_if<std::shared_ptr<const Text>>(&payload_))
    return node_weight + (*text)->text.size();
  if (const auto* sequence = std::get_if<std::shared_ptr<const Sequence>>(&payload_))
    return (*sequence)->weight;
  if (const auto* mapping = std::get_if<std::shared_ptr<const Mapping>>(&payload_))
    return (*mapping)->weight;
  return node_weight;
}

bool operator==(const Value& a, const Value& b) {
  if (a.state_ != b.state_ || a.kind() != b.kind()) return false;
  if (!a.is_known()) return a.type_ == b.type_;
  switch (a.kind()) {
    case Type::Kind::dynamic:
      return true;
    case Type::Kind::boolean:
      return a.as_bool() == b.as_bool();
    case Type::Kind::number:
      return a.as_number() == b.as_number();
    case Type::Kind::string:
      return a.as_string() == b.as_string();
    case Type::Kind::list:
    case Type::Kind::set:
      return a.type_ == b.type_ && a.elements() == b.elements();
    case Type::Kind::tuple:
      return a.elements() == b.elements();
    case Type::Kind::map:
      return a.type_ == b.type_ && a.entries() == b.entries();
    case Type::Kind::object:
      return a.entries() == b.entries();
  }
  return false;
}

}  // namespace nomad::hcl
