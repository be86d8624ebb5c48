// Body: the content of a file or block, read by a schema, with `dynamic` blocks expanded.
//
// One interface for native and JSON files. Unknown arguments and blocks, wrong labels and missing
// arguments become diagnostics in HCL's words, with a suggestion for a misspelt name.
//
// A body is a cheap handle; the file it comes from and the context it was expanded with must
// outlive it. Not safe for concurrent use.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/hcl/eval/eval.hpp"
#include "runtime/hcl/syntax/ast.hpp"
#include "runtime/hcl/syntax/diagnostic.hpp"

namespace nomad::hcl {

struct AttributeSchema {
  std::string_view name;
  bool required = false;
};

struct BlockSchema {
  std::string_view type;
  std::vector<std::string_view> label_names{};
};

struct BodySchema {
  std::vector<AttributeSchema> attributes{};
  std::vector<BlockSchema> blocks{};
};

/// The iterator of a `dynamic` block at one element, inside those of the blocks around it.
struct Iteration {
  std::string name;
  Value object;  ///< with `key` and `value`
  std::shared_ptr<const Iteration> outer;
};

struct Attribute {
  std::string_view name;  ///< lives as long as the file
  const Expression* expr = nullptr;
  Span span;
  Span name_span;
  std::shared_ptr<const Iteration> iteration;

  const Source& source() const { return expr->file->source(); }

  Range range() const { return source().range(span); }

  /// The value, with the iterators of the surrounding `dynamic` blocks in scope.
  Evaluated evaluate(const EvalContext* context) const;
};

struct BodyContent;
struct PartialContent;
struct JustAttributes;

class Body {
public:
  struct Impl;  ///< private to the implementation

  Body() = default;
  /// The root body of a parsed native or JSON file.
  explicit Body(std::shared_ptr<const File> file);

  /// The same body in which `dynamic` blocks are expanded; `for_each` and labels are evaluated
  /// with `context`.
  Body expanded(const EvalContext* context) const;

  /// Everything in the body must be in `schema`.
  BodyContent content(const BodySchema& schema) const;
  /// What `schema` names, and a body with the rest.
  PartialContent partial_content(const BodySchema& schema) const;
  /// All attributes; blocks are errors, unless `dynamic` blocks are expanded here.
  JustAttributes just_attributes() const;

  /// Where something missing might be put.
  Span missing_item_span() const;

  const Source& source() const;

  /// For content without a schema: the native node (null for JSON), the iteration it stands in,
  /// and whether an earlier `partial_content` took the name.
  const BodyNode* node() const;
  const JsonNode* json() const;
  const std::shared_ptr<const Iteration>& iteration() const;
  bool hides_attribute(std::string_view name) const;
  bool hides_block(std::string_view type) const;

private:
  friend class BodyReader;

  explicit Body(std::shared_ptr<const Impl> impl) : impl_{std::move(impl)} {}

  std::shared_ptr<const Impl> impl_;
};

struct Block {
  std::string_view type;
  std::vector<std::string> labels;
  Body body;
  Span definition_span;  ///< type and labels
  Span type_span;
  std::vector<Span> label_spans;

  const Source& source() const { return body.source(); }

  Range definition() const { return source().range(definition_span); }
};

struct BodyContent {
  std::vector<Attribute> attributes;  ///< in the order of the schema
  std::vector<Block> blocks;          ///< in source order, of all types mixed
  Diagnostics diagnostics;

  const Attribute* find(std::string_view name) const;
};

struct PartialContent {
  BodyContent content;
  Body remain;
};

struct JustAttributes {
  std::vector<Attribute> attributes;  ///< in source order
  Diagnostics diagnostics;
};

/// A context with the iterators of `iteration` in scope, for evaluating a native node by hand. Must
/// not outlive `context` or `iteration`.
class IterationScope {
public:
  IterationScope(const Iteration* iteration, const EvalContext* context);

  const EvalContext* context() const noexcept { return context_; }

private:
  std::vector<std::pair<std::string, Value>> variables_;
  EvalContext own_;
  const EvalContext* context_;
};

}  // namespace nomad::hcl
