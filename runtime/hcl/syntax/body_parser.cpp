#include "runtime/hcl/syntax/body_parser.hpp"

#include <algorithm>
#include <unordered_map>

#include "runtime/base/text.hpp"
#include "runtime/hcl/syntax/expression_parser.hpp"
#include "runtime/hcl/syntax/template_parser.hpp"

namespace nomad::hcl {

namespace {

constexpr const char* item_required = "Argument or block definition required";
constexpr const char* how_to_set
    = "An argument or block definition is required here. To set an argument, use the equals sign "
      "\"=\" to introduce the argument value.";
constexpr const char* single_argument = "Invalid single-argument block definition";
constexpr const char* block_definition = "Invalid block definition";

}  // namespace

/// The content of a body while it is read.
struct BodyParser::Items {
  std::vector<AttributeNode> attributes;
  std::vector<const BlockNode*> blocks;
  std::unordered_map<std::string_view, Span> names;  // only when there are many attributes

  /// Where `name` was defined before, if it was.
  const Span* find(std::string_view name) {
    constexpr std::size_t few = 16;
    if (attributes.size() <= few) {
      for (const AttributeNode& attribute : attributes)
        if (attribute.name == name) return &attribute.name_span;
      return nullptr;
    }
    if (names.empty())
      for (const AttributeNode& attribute : attributes)
        names.emplace(attribute.name, attribute.name_span);
    const auto found = names.find(name);
    return found == names.end() ? nullptr : &found->second;
  }

  void add(const AttributeNode& attribute) {
    if (attributes.empty()) attributes.reserve(8);
    attributes.push_back(attribute);
    if (!names.empty()) names.emplace(attribute.name, attribute.name_span);
  }
};

const BodyNode* BodyParser::parse(TokenType end) {
  Items items;
  const Span start = in_.previous_span();
  Span last;
  const bool too_deep_here = in_.is_full_depth();
  in_.enter();
  for (;;) {
    if (too_deep_here) {
      last = in_.previous_span();
      in_.too_deep(last);
      break;
    }
    const Token next = in_.peek();
    if (next.type == end) {
      last = in_.read().span();
      break;
    }
    if (next.type == TokenType::newline) {
      in_.read();
    } else if (next.type == TokenType::identifier) {
      parse_body_item(items);
    } else {
      const Token bad = in_.read();
      if (bad.type == TokenType::open_quote)
        in_.quiet_error(bad.span(), "Invalid argument name", "Argument names must not be quoted.");
      else
        in_.quiet_error(bad.span(), item_required,
                        "An argument or block definition is required here.");
      last = in_.previous_span();
      in_.recover(end);
      break;
    }
  }
  in_.leave();
  BodyNode body;
  body.attributes = in_.arena().copy(items.attributes);
  body.blocks = in_.arena().copy(items.blocks);
  body.span = cover(start, last);
  body.end = {last.end, last.end};
  return in_.arena().make(body);
}

void BodyParser::parse_body_item(Items& items) {
  const Token name = in_.read();
  switch (in_.peek().type) {
    case TokenType::equal:
      add_attribute(items, finish_attribute(name, false));
      return;
    case TokenType::open_quote:
    case TokenType::open_brace:
    case TokenType::identifier:
      if (items.blocks.empty()) items.blocks.reserve(8);
      items.blocks.push_back(finish_block(name));
      return;
    default:
      in_.recover_after_item();
      in_.error(name.span(), item_required, how_to_set);
  }
}

void BodyParser::add_attribute(Items& items, AttributeNode attribute) {
  if (const Span* existing = items.find(attribute.name))
    in_.error(attribute.name_span, "Attribute redefined",
              "The argument " + quote(attribute.name) + " was already set at "
                  + in_.source().range(*existing).to_string()
                  + ". Each argument may be set only once.");
  else
    items.add(attribute);
}

AttributeNode BodyParser::finish_attribute(Token name, bool single_line) {
  const Token equals = in_.read();
  const std::size_t before = in_.mark();
  AttributeNode out;
  out.name = in_.text(name);
  out.name_span = name.span();
  out.equals = equals.span();
  out.expr = ExpressionParser{in_}.parse();
  Span last = in_.previous_span();
  if (in_.recovering_since(before)) {
    in_.recover_after_item();
  } else if (!single_line) {
    const Token next = in_.peek();
    if (next.type == TokenType::newline || next.type == TokenType::end_of_file) {
      in_.read();
    } else {
      if (next.type == TokenType::comma)
        in_.quiet_error(
            next.span(), "Unexpected comma after argument",
            "Argument definitions must be separated by newlines, not commas. An argument "
            "definition must end with a newline.");
      else
        in_.quiet_error(next.span(), "Missing newline after argument",
                        "An argument definition must end with a newline.");
      last = in_.previous_span();
      in_.recover_after_item();
    }
  }
  out.span = cover(name.span(), last);
  return out;
}

/// Labels up to the opening brace; false when there is none.
bool BodyParser::parse_labels(std::vector<std::string_view>& labels,
                              std::vector<Span>& spans,
                              Token& brace) {
  for (;;) {
    const Token next = in_.peek();
    switch (next.type) {
      case TokenType::open_brace:
        brace = in_.read();
        return true;
      case TokenType::open_quote: {
        Span span;
        labels.push_back(TemplateParser{in_}.parse_label(span));
        spans.push_back(span);
        break;
      }
      case TokenType::identifier:
        in_.read();
        labels.push_back(in_.text(next));
        spans.push_back(next.span());
        break;
      case TokenType::equal:
        in_.error(
            next.span(), block_definition,
            "The equals sign \"=\" indicates an argument definition, and must not be used when "
            "defining a block.");
        return false;
      case TokenType::newline:
        in_.error(
            next.span(), block_definition,
            "A block definition must have block content delimited by \"{\" and \"}\", starting "
            "on the "
            "same line as the block header.");
        return false;
      default:
        in_.quiet_error(
            next.span(), block_definition,
            "Either a quoted string block label or an opening brace (\"{\") is expected here.");
        return false;
    }
  }
}

const BlockNode* BodyParser::finish_block(Token name) {
  std::vector<std::string_view> labels;
  std::vector<Span> spans;
  Token brace = name;
  BlockNode block{};
  block.type = in_.text(name);
  block.file = in_.file();
  block.type_span = name.span();
  if (!parse_labels(labels, spans, brace)) {
    in_.recover_after_item();
    BodyNode empty;
    empty.span = name.span();
    empty.end = name.span();
    block.body = in_.arena().make(empty);
    block.open_brace = name.span();
    block.close_brace = name.span();
  } else {
    block.open_brace = brace.span();
    block.body = parse_block_body();
    block.close_brace = in_.previous_span();
    const Token next = in_.peek();
    if (next.type == TokenType::newline || next.type == TokenType::end_of_file) {
      in_.read();
    } else {
      in_.quiet_error(next.span(), "Missing newline after block definition",
                      "A block definition must end with a newline.");
      in_.recover_after_item();
    }
    if (block.body == nullptr) {
      BodyNode empty;
      empty.span = cover(block.open_brace, block.close_brace);
      empty.end = block.close_brace;
      block.body = in_.arena().make(empty);
    }
  }
  block.labels = in_.arena().copy(labels);
  block.label_spans = in_.arena().copy(spans);
  return in_.arena().make(block);
}

/// What follows an opening brace, with the closing one. Null when there was no usable content.
const BodyNode* BodyParser::parse_block_body() {
  const TokenType next = in_.peek().type;
  if (next == TokenType::newline || next == TokenType::end_of_file
      || next == TokenType::close_brace)
    return parse(TokenType::close_brace);
  const std::size_t stored = in_.diagnostics().size();
  const BodyNode* body = parse_single_attribute_body();
  const std::size_t inner = in_.diagnostics().size() - stored;
  close_single_line();
  // What is wrong with the block is told before what is wrong in it.
  const auto begin = in_.diagnostics().begin() + static_cast<std::ptrdiff_t>(stored);
  std::rotate(begin, begin + static_cast<std::ptrdiff_t>(inner), in_.diagnostics().end());
  return body;
}

void BodyParser::close_single_line() {
  const Token next = in_.peek();
  switch (next.type) {
    case TokenType::close_brace:
      in_.read();
      return;
    case TokenType::comma:
      in_.error(
          next.span(), single_argument,
          "Single-line block syntax can include only one argument definition. To define multiple "
          "arguments, use the multi-line block syntax with one argument definition per line.");
      break;
    case TokenType::newline:
      in_.error(
          next.span(), single_argument,
          "An argument definition on the same line as its containing block creates a single-line "
          "block definition, which must also be closed on the same line. Place the block's closing "
          "brace immediately after the argument definition.");
      break;
    default:
      in_.quiet_error(
          next.span(), single_argument,
          "A single-line block definition must end with a closing brace immediately after its "
          "single argument definition.");
      break;
  }
  in_.recover(TokenType::close_brace);
}

const BodyNode* BodyParser::parse_single_attribute_body() {
  const Token name = in_.read();
  if (name.type != TokenType::identifier) {
    in_.recover_after_item();
    in_.error(name.span(), item_required, "An argument or block definition is required here.");
    return nullptr;
  }
  const Token next = in_.peek();
  switch (next.type) {
    case TokenType::equal:
      break;
    case TokenType::open_quote:
    case TokenType::open_brace:
    case TokenType::identifier:
      in_.recover_after_item();
      in_.error(cover(name.span(), next.span()), "Argument definition required",
            "A single-line block definition can contain only a single argument. If you meant to define "
            "argument " + quote(in_.text(name))
                + ", use an equals sign to assign it a value. To define a nested block, place it on a "
                  "line of its own within its parent block.");
      return nullptr;
    default:
      in_.recover_after_item();
      in_.error(name.span(), item_required, how_to_set);
      return nullptr;
  }
  const std::vector<AttributeNode> attributes{finish_attribute(name, true)};
  BodyNode body;
  body.attributes = in_.arena().copy(attributes);
  body.span = attributes.front().span;
  body.end = {body.span.end, body.span.end};
  return in_.arena().make(body);
}

}  // namespace nomad::hcl
