// The syntax tree of a file: bodies, attributes, blocks and expressions.
//
// All nodes of a file live in the file's arena and die with it; names and texts are views into the
// source or the arena. Nodes are immutable after parsing. Every node knows its file, so that an
// expression can be evaluated, and its mistakes placed, on its own.
//
// Depth is bounded: `height` counts levels of nodes below, and the parser refuses to build above
// `max_height`, so that recursion over a tree is bounded too.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/hcl/syntax/source.hpp"
#include "runtime/hcl/value/value.hpp"

namespace nomad::hcl {

class File;

/// Levels of nested nodes (expressions and blocks) in one file.
inline constexpr std::uint16_t max_height = 300;

enum class ExprKind : std::uint8_t {
  literal,      ///< number, true, false, null; a piece of text in a template
  variable,     ///< name followed by attribute and constant index steps
  relative,     ///< steps applied to another expression
  index,        ///< `collection[key]` with a key that is no constant
  call,         ///< `name(args)`
  conditional,  ///< `c ? a : b`, and `%{ if }`
  unary,        ///< `!x`, `-x`
  binary,
  tuple,       ///< `[a, b]`
  object,      ///< `{ k = v }`
  object_key,  ///< wraps a key of an object constructor
  for_loop,    ///< `[for …]`, `{for …}`, and inside `template_join` `%{ for }`
  splat,       ///< `a.*.b`, `a[*].b`
  splat_item,  ///< the element a splat is at
  parentheses,
  template_text,  ///< quoted string or heredoc
  template_wrap,  ///< `"${x}"` alone: the value of x with its own type
  template_join,  ///< the pieces of a `%{ for }` joined
  json,           ///< a value of a JSON file
};

struct Expression {
  ExprKind kind;
  std::uint16_t height;
  Span span;
  const File* file;
};

template <ExprKind own>
struct ExpressionOf : Expression {
  ExpressionOf() : Expression{own, 1, {}, nullptr} {}
};

/// One step of a traversal.
struct Step {
  enum class Kind : std::uint8_t { root, attribute, index } kind;
  Span span;
  std::string_view name;       ///< root and attribute
  const Value* key = nullptr;  ///< index: a known string or number
};

struct LiteralExpr : ExpressionOf<ExprKind::literal> {
  const Value* value;
};

/// `steps[0]` is the root name.
struct VariableExpr : ExpressionOf<ExprKind::variable> {
  std::span<const Step> steps;

  std::string_view root_name() const { return steps.front().name; }
};

struct RelativeExpr : ExpressionOf<ExprKind::relative> {
  const Expression* source;
  std::span<const Step> steps;
};

struct IndexExpr : ExpressionOf<ExprKind::index> {
  const Expression* collection;
  const Expression* key;
  Span open_bracket;
  Span brackets;
};

struct CallExpr : ExpressionOf<ExprKind::call> {
  std::string_view name;
  std::span<const Expression* const> args;
  bool expand_final;  ///< `f(a, list...)`
  Span name_span;
  Span open_paren;
  Span close_paren;
};

struct ConditionalExpr : ExpressionOf<ExprKind::conditional> {
  const Expression* condition;
  const Expression* if_true;
  const Expression* if_false;
};

enum class UnaryOp : std::uint8_t { negate, logical_not };

struct UnaryExpr : ExpressionOf<ExprKind::unary> {
  UnaryOp op;
  const Expression* operand;
  Span symbol;
};

enum class BinaryOp : std::uint8_t {
  logical_or,
  logical_and,
  equal,
  not_equal,
  greater,
  greater_equal,
  less,
  less_equal,
  add,
  subtract,
  multiply,
  divide,
  modulo,
};

struct BinaryExpr : ExpressionOf<ExprKind::binary> {
  BinaryOp op;
  const Expression* left;
  const Expression* right;
};

struct TupleExpr : ExpressionOf<ExprKind::tuple> {
  std::span<const Expression* const> elements;
  Span open;
};

struct ObjectItem {
  const Expression* key;  ///< an ObjectKeyExpr
  const Expression* value;
};

struct ObjectExpr : ExpressionOf<ExprKind::object> {
  std::span<const ObjectItem> items;
  Span open;
};

/// A bare name as key is its own text, unless it stood in parentheses.
struct ObjectKeyExpr : ExpressionOf<ExprKind::object_key> {
  const Expression* wrapped;
  bool force_expression;
};

struct ForExpr : ExpressionOf<ExprKind::for_loop> {
  std::string_view key_name;  ///< empty when there is none
  std::string_view value_name;
  const Expression* collection;
  const Expression* key;  ///< null for a tuple
  const Expression* value;
  const Expression* condition;  ///< null when there is no `if`
  bool group;                   ///< `...`
  Span open;
  Span close;
};

struct SplatItemExpr : ExpressionOf<ExprKind::splat_item> {};

struct SplatExpr : ExpressionOf<ExprKind::splat> {
  const Expression* source;
  const Expression* each;  ///< in terms of `item`
  const SplatItemExpr* item;
  Span marker;
};

struct ParenthesesExpr : ExpressionOf<ExprKind::parentheses> {
  const Expression* inner;
};

struct TemplateExpr : ExpressionOf<ExprKind::template_text> {
  std::span<const Expression* const> parts;
};

struct TemplateWrapExpr : ExpressionOf<ExprKind::template_wrap> {
  const Expression* wrapped;
};

struct TemplateJoinExpr : ExpressionOf<ExprKind::template_join> {
  const Expression* tuple;
};

struct JsonNode;

struct JsonExpr : ExpressionOf<ExprKind::json> {
  const JsonNode* node;
};

template <class T>
const T& as(const Expression& expression) {
  return static_cast<const T&>(expression);
}

struct AttributeNode {
  std::string_view name;
  const Expression* expr;
  Span span;
  Span name_span;
  Span equals;
};

struct BlockNode;

/// Attributes and blocks, each in source order.
struct BodyNode {
  std::span<const AttributeNode> attributes;
  std::span<const BlockNode* const> blocks;
  Span span;
  Span end;  ///< empty, after the last byte
};

struct BlockNode {
  std::string_view type;
  std::span<const std::string_view> labels;
  std::span<const Span> label_spans;
  const BodyNode* body;
  const File* file;
  Span type_span;
  Span open_brace;
  Span close_brace;

  /// Type and labels.
  Span definition() const {
    return label_spans.empty() ? type_span : cover(type_span, label_spans.back());
  }
};

/// Bump allocator for nodes; nothing in it is destroyed one by one.
class Arena;

/// A parsed text with its tree.
class File {
public:
  File(std::string file_name, std::string text, Syntax syntax, Position origin = {});
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  const Source& source() const noexcept { return source_; }

  /// The root body of a native file; null for expressions, templates and JSON.
  const BodyNode* body() const noexcept { return body_; }

  /// The root of a parsed expression or template; null otherwise.
  const Expression* expression() const noexcept { return expression_; }

  /// The root value of a JSON file; null otherwise.
  const JsonNode* json() const noexcept { return json_; }

private:
  friend class TreeBuilder;

  Source source_;
  std::unique_ptr<Arena> arena_;
  const BodyNode* body_ = nullptr;
  const Expression* expression_ = nullptr;
  const JsonNode* json_ = nullptr;
};

/// The piece of an expression at which conversion errors are reported: the content of a quoted
/// string, the name of a called function, the opening bracket of a list…
Span start_span(const Expression& expression);

/// The root names with their steps that `expression` refers to, without those that its own `for`
/// loops bind.
std::vector<const VariableExpr*> referenced_variables(const Expression& expression);

/// The steps of an expression that is only a name with attributes and constant indexes, also when
/// it is `true`, `false` or `null`; empty otherwise, and for JSON.
std::vector<Step> static_traversal(const Expression& expression);

/// The expression's text when it is one bare name (in JSON: a string that is one); empty otherwise.
std::string static_keyword(const Expression& expression);

/// Whether the expression is written as a list, and then its elements.
bool is_static_list(const Expression& expression);
std::vector<const Expression*> static_list(const Expression& expression);

}  // namespace nomad::hcl
