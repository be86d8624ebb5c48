#include "runtime/hcl/value/type.hpp"

#include <algorithm>

#include "runtime/base/sorting/sort_stably.hpp"

namespace nomad::hcl {

struct Type::Node {
  Type element;
  std::vector<Type> elements;
  std::vector<Attribute> attributes;
  std::uint32_t height = 1;
  bool has_dynamic = false;
};

Type Type::list(Type element) {
  return collection(Kind::list, std::move(element));
}

Type Type::set(Type element) {
  return collection(Kind::set, std::move(element));
}

Type Type::map(Type element) {
  return collection(Kind::map, std::move(element));
}

Type Type::collection(Kind kind, Type element) {
  auto node = std::make_shared<Node>();
  node->height = element.height() + 1;
  node->has_dynamic = element.has_dynamic();
  node->element = std::move(element);
  return {kind, std::move(node)};
}

Type Type::tuple(std::vector<Type> elements) {
  auto node = std::make_shared<Node>();
  for (const Type& element : elements) {
    node->height = std::max(node->height, element.height() + 1);
    node->has_dynamic = node->has_dynamic || element.has_dynamic();
  }
  node->elements = std::move(elements);
  return {Kind::tuple, std::move(node)};
}

Type Type::object(std::vector<Attribute> attributes) {
  const auto by_name = [](const Attribute& a, const Attribute& b) { return a.first < b.first; };
  if (!std::is_sorted(attributes.begin(), attributes.end(), by_name))
    sort_stably(attributes, by_name);
  auto node = std::make_shared<Node>();
  for (Attribute& attribute : attributes) {
    if (!node->attributes.empty() && node->attributes.back().first == attribute.first)
      node->attributes.back() = std::move(attribute);
    else
      node->attributes.push_back(std::move(attribute));
  }
  for (const Attribute& attribute : node->attributes) {
    node->height = std::max(node->height, attribute.second.height() + 1);
    node->has_dynamic = node->has_dynamic || attribute.second.has_dynamic();
  }
  return {Kind::object, std::move(node)};
}

const Type& Type::element() const {
  return node_->element;
}

const std::vector<Type>& Type::elements() const {
  return node_->elements;
}

const std::vector<Type::Attribute>& Type::attributes() const {
  return node_->attributes;
}

const Type* Type::attribute(std::string_view name) const {
  const auto& all = node_->attributes;
  const auto at
      = std::lower_bound(all.begin(), all.end(), name,
                         [](const Attribute& a, std::string_view n) { return a.first < n; });
  return at != all.end() && at->first == name ? &at->second : nullptr;
}

bool Type::has_dynamic() const {
  return node_ != nullptr ? node_->has_dynamic : kind_ == Kind::dynamic;
}

std::uint32_t Type::height() const {
  return node_ != nullptr ? node_->height : 0;
}

std::string Type::friendly_name() const {
  return named("dynamic", "dynamic");
}

std::string Type::friendly_name_for_constraint() const {
  return named("any type", "any single type");
}

std::string Type::named(std::string_view dynamic, std::string_view dynamic_element) const {
  const auto inner = [&] {
    const Type& element = node_->element;
    return element.kind() == Kind::dynamic ? std::string{dynamic_element}
                                           : element.named(dynamic, dynamic_element);
  };
  switch (kind_) {
    case Kind::dynamic:
      return std::string{dynamic};
    case Kind::boolean:
      return "bool";
    case Kind::number:
      return "number";
    case Kind::string:
      return "string";
    case Kind::list:
      return "list of " + inner();
    case Kind::set:
      return "set of " + inner();
    case Kind::map:
      return "map of " + inner();
    case Kind::tuple:
      return "tuple";
    case Kind::object:
      return "object";
  }
  return {};
}

std::string Type::to_expression() const {
  switch (kind_) {
    case Kind::dynamic:
      return "any";
    case Kind::boolean:
      return "bool";
    case Kind::number:
      return "number";
    case Kind::string:
      return "string";
    case Kind::list:
      return "list(" + node_->element.to_expression() + ")";
    case Kind::set:
      return "set(" + node_->element.to_expression() + ")";
    case Kind::map:
      return "map(" + node_->element.to_expression() + ")";
    case Kind::tuple: {
      std::string out = "tuple([";
      for (const Type& element : node_->elements)
        out += (&element == &node_->elements.front() ? "" : ",") + element.to_expression();
      return out + "])";
    }
    case Kind::object: {
      std::string out = "object({";
      for (const auto& [name, type] : node_->attributes)
        out += (&name == &node_->attributes.front().first ? "" : ",") + name + "="
               + type.to_expression();
      return out + "})";
    }
  }
  return {};
}

bool operator==(const Type& a, const Type& b) {
  if (a.kind_ != b.kind_) return false;
  if (a.node_ == b.node_) return true;
  return a.node_ != nullptr && b.node_ != nullptr && a.node_->height == b.node_->height
         && a.node_->element == b.node_->element && a.node_->elements == b.node_->elements
         && a.node_->attributes == b.node_->attributes;
}

}  // namespace nomad::hcl
