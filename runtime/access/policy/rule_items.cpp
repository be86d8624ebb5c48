#include "runtime/access/policy/rule_items.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/base/text.hpp"
#include "runtime/hcl/syntax/hcl1_parser.hpp"
#include "runtime/hcl/syntax/json_node.hpp"

namespace nomad::access {
namespace {

using hcl::JsonNode;

/// Makes items of a tree. The first mistake stays.
class ItemMaker {
public:
  explicit ItemMaker(std::string_view text) : text_{text} {}

  std::vector<RuleItem> body(const hcl::BodyNode& body, int depth) {
    std::vector<RuleItem> out;
    if (is_too_deep(depth, body.span.begin)) return out;
    for (const auto& attribute : body.attributes) {
      auto& item = out.emplace_back();
      item.names = {name(attribute.name, attribute.name_span)};
      item.value = value(*attribute.expr, depth + 1);
    }
    for (const auto* block : body.blocks) {
      auto& item = out.emplace_back();
      item.names = {name(block->type, block->type_span)};
      for (std::size_t i = 0; i < block->labels.size(); ++i)
        item.names.push_back(name(block->labels[i], block->label_spans[i]));
      item.value.kind = RuleValue::Kind::object;
      item.value.at = block->open_brace.begin;
      item.value.items = body_of(*block, depth);
    }
    return out;
  }

  RuleValue json(const JsonNode& node, int depth) {
    RuleValue out;
    out.at = node.start().begin;
    if (is_too_deep(depth, out.at)) return out;
    switch (node.kind) {
      case JsonNode::Kind::object:
        out.kind = RuleValue::Kind::object;
        for (const auto& property : node.properties) {
          auto& item = out.items.emplace_back();
          item.names = {{property.name, property.name_span.begin}};
          item.value = json(property.value(), depth + 1);
        }
        break;
      case JsonNode::Kind::array:
        out.kind = RuleValue::Kind::list;
        for (const auto& element : node.element_exprs)
          out.elements.push_back(json(*element.node, depth + 1));
        break;
      case JsonNode::Kind::string:
        out.text = node.text;
        break;
      case JsonNode::Kind::boolean:
      case JsonNode::Kind::number:
        out.text = text_.substr(node.span.begin, node.span.end - node.span.begin);
        break;
      case JsonNode::Kind::null:
      case JsonNode::Kind::invalid:
        break;
    }
    return out;
  }

  const std::optional<Error>& error() const { return error_; }

private:
  std::vector<RuleItem> body_of(const hcl::BlockNode& block, int depth) {
    return body(*block.body, depth + 1);
  }

  bool is_too_deep(int depth, std::uint32_t at) {
    if (depth > max_rule_depth) fail(at, "values are nested too deeply");
    return error_.has_value();
  }

  void fail(std::uint32_t at, std::string_view what) {
    if (!error_)
      error_ = Error{Errc::invalid_argument,
                     "At " + position_of(text_, at) + ": " + std::string{what}};
  }

  /// A name is in quotes, or begins with a letter.
  RuleName name(std::string_view name, hcl::Span span) {
    const char first = span.begin < text_.size() ? text_[span.begin] : '"';
    if (is_digit(first) || (first != '"' && (name == "true" || name == "false")))
      fail(span.begin, "a name that is a number or a truth value needs quotes");
    return {name, span.begin};
  }

  RuleValue value(const hcl::Expression& expression, int depth) {
    RuleValue out;
    out.at = expression.span.begin;
    if (is_too_deep(depth, out.at)) return out;
    if (expression.kind == hcl::ExprKind::tuple) {
      out.kind = RuleValue::Kind::list;
      for (const auto* element : hcl::as<hcl::TupleExpr>(expression).elements)
        out.elements.push_back(value(*element, depth + 1));
    } else if (expression.kind == hcl::ExprKind::literal) {
      const auto& literal = *hcl::as<hcl::LiteralExpr>(expression).value;
      out.text = literal.is_string()
                     ? literal.as_string()
                     : text_.substr(out.at, expression.span.end - expression.span.begin);
    } else {
      out.kind = RuleValue::Kind::object;  // of a list: no rule has any
    }
    return out;
  }

  std::string_view text_;
  std::optional<Error> error_;
};

bool is_object(const RuleValue& value) {
  return value.kind == RuleValue::Kind::object;
}

bool has_only_objects(const RuleValue& value) {
  if (is_object(value))
    return !value.items.empty() && std::ranges::all_of(value.items, [](const RuleItem& item) {
      return is_object(item.value);
    });
  return value.kind == RuleValue::Kind::list && !value.elements.empty()
         && std::ranges::all_of(value.elements, is_object);
}

/// Objects of objects, and lists of objects, become several items with the names of both.
void flatten(std::vector<RuleItem>& items) {
  std::vector<RuleItem> flat;
  for (auto open = std::exchange(items, {}); !open.empty();) {
    auto item = std::move(open.back());
    open.pop_back();
    if (!has_only_objects(item.value)) {
      flat.push_back(std::move(item));
      continue;
    }
    for (auto& inner : item.value.items) {
      auto& added = open.emplace_back();
      added.names = item.names;
      added.names.insert(added.names.end(), inner.names.begin(), inner.names.end());
      added.value = std::move(inner.value);
    }
    for (auto& element : item.value.elements) {
      auto& added = open.emplace_back();
      added.names = item.names;
      added.value = std::move(element);
    }
  }
  std::ranges::reverse(flat);
  for (auto& item : flat) {
    flatten(item.value.items);
    for (auto& element : item.value.elements)
      flatten(element.items);
  }
  items = std::move(flat);
}

std::string words_of(const hcl::Diagnostic& diagnostic, std::string_view text) {
  const auto at = diagnostic.subject ? position_of(text, diagnostic.subject->start.byte) : "1:1";
  const bool is_hcl1 = diagnostic.summary == "Invalid HCL1";
  return "At " + at + ": " + (is_hcl1 ? "" : diagnostic.summary + "; ") + diagnostic.detail;
}

}  // namespace

std::string position_of(std::string_view text, std::uint32_t at) {
  const auto before = text.substr(0, at);
  const auto line = std::ranges::count(before, '\n') + 1;
  const auto column = before.size() - (before.rfind('\n') + 1) + 1;
  return std::to_string(line) + ':' + std::to_string(column);
}

Result<RuleText> read_items(std::string_view text) {
  auto parsed = hcl::parse_repeating_hcl1("policy", std::string{text});
  for (const auto& diagnostic : parsed.diagnostics)
    if (diagnostic.severity == hcl::Severity::error)
      return Error{Errc::invalid_argument, words_of(diagnostic, text)};
  ItemMaker maker{parsed.file->source().text()};
  RuleText out;
  if (const auto* root = parsed.file->json(); root != nullptr) {
    out.items = maker.json(*root, 0).items;  // the parser takes nothing but an object as JSON
    flatten(out.items);
  } else if (const auto* body = parsed.file->body(); body != nullptr) {
    out.items = maker.body(*body, 0);
  }
  if (maker.error()) return *maker.error();
  out.owner = std::move(parsed.file);
  return out;
}

}  // namespace nomad::access
