// The inside of Body; private to its source files.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/hcl/body.hpp"
#include "runtime/hcl/json_node.hpp"

namespace nomad::hcl {

/// A context with iterators, kept alive by the bodies that are evaluated in it.
struct OwnedContext {
  std::shared_ptr<const OwnedContext> outer;
  std::vector<std::pair<std::string, Value>> variables;
  EvalContext context;
};

struct Body::Impl {
  std::shared_ptr<const File> file;
  const BodyNode* native = nullptr;  // or
  const JsonNode* json = nullptr;

  bool expands = false;
  const EvalContext* context = nullptr;  // for `for_each` and labels
  std::shared_ptr<const OwnedContext> owned;
  std::shared_ptr<const Iteration> iteration;
  std::shared_ptr<std::size_t> generated;  // blocks made so far under the outermost expanded body

  // What an earlier partial_content took. Block schemas, because an expanded body asks again.
  std::vector<std::string> hidden_attributes;
  std::vector<BlockSchema> hidden_blocks;

  bool hides_attribute(std::string_view name) const;
  bool hides_block(std::string_view type) const;
};

/// What a body's own syntax says, `dynamic` blocks not expanded.
class BodyReader {
public:
  explicit BodyReader(const Body::Impl& body) : body_{body}, source_{body.file->source()} {}

  BodyContent content(const BodySchema& schema) const;
  /// `used` collects, for JSON, the names that were taken.
  BodyContent partial(const BodySchema& schema, std::vector<std::string>* used) const;
  JustAttributes just_attributes() const;
  Span missing_item() const;

  static Body child(const Body::Impl& parent, const BodyNode* native, const JsonNode* json);

  static Body wrap(std::shared_ptr<const Body::Impl> impl) { return Body{std::move(impl)}; }

  static const Body::Impl& open(const Body& body) { return *body.impl_; }

private:
  BodyContent native_partial(const BodySchema& schema) const;
  void native_blocks(const BodySchema& schema, BodyContent& out) const;
  bool check_labels(const BlockNode& block, const BlockSchema& schema, Diagnostics& out) const;
  void native_leftovers(const BodySchema& schema, BodyContent& out) const;
  void unsupported_attribute(const AttributeNode& attribute,
                             const BodySchema& schema,
                             BodyContent& out) const;
  void unsupported_block(const BlockNode& block, const BodySchema& schema, Diagnostics& out) const;
  BodyContent json_partial(const BodySchema& schema, std::vector<std::string>* used) const;
  void json_leftovers(const BodySchema& schema,
                      const std::vector<std::string>& used,
                      Diagnostics& out) const;
  void missing_arguments(const BodySchema& schema, BodyContent& out) const;
  std::vector<const JsonProperty*> properties(const JsonNode& node,
                                              const std::string_view* label,
                                              Diagnostics& out) const;
  void unpack(const JsonNode& node,
              const BlockSchema& schema,
              std::vector<std::string>& labels,
              std::vector<Span>& spans,
              Span type,
              BodyContent& out) const;
  void add_json_block(const JsonNode& node,
                      Span open,
                      const BlockSchema& schema,
                      const std::vector<std::string>& labels,
                      const std::vector<Span>& spans,
                      Span type,
                      BodyContent& out) const;
  Attribute json_attribute(const JsonProperty& property) const;
  void error(Diagnostics& out, Span span, std::string summary, std::string detail) const;

  const Body::Impl& body_;
  const Source& source_;
};

}  // namespace nomad::hcl
