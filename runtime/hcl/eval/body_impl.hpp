// The inside of Body; private to its source files.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/hcl/eval/body.hpp"
#include "runtime/hcl/syntax/json_node.hpp"

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

/// What a reading looks for: a schema, and for an expanded body what else may stand there, namely
/// `dynamic` blocks and what earlier readings took.
class Wanted {
public:
  explicit Wanted(const BodySchema& schema, const Body::Impl* expanding = nullptr)
      : schema_{schema}, expanding_{expanding} {}

  const std::vector<AttributeSchema>& attributes() const { return schema_.attributes; }

  bool has_attribute(std::string_view name) const;
  /// Of two schemas for a type the later counts; null when there is none.
  const BlockSchema* block(std::string_view type) const;
  /// Calls `visit` with each block schema, in order.
  template <class Visit>
  void each_block(Visit visit) const;
  /// Names that may have been meant, in order.
  std::vector<std::string_view> attribute_names() const;
  std::vector<std::string_view> block_types() const;

private:
  static const BlockSchema& dynamic_schema();

  const BodySchema& schema_;
  const Body::Impl* expanding_;
};

/// What a body's own syntax says, `dynamic` blocks not expanded. With `see_all` also what earlier
/// readings took.
class BodyReader {
public:
  explicit BodyReader(const Body::Impl& body, bool see_all = false)
      : body_{body}, source_{body.file->source()}, see_all_{see_all} {}

  BodyContent content(const Wanted& wanted) const;
  /// `used` collects, for JSON, the names that were taken.
  BodyContent partial(const Wanted& wanted, std::vector<std::string>* used) const;
  JustAttributes just_attributes() const;
  Span missing_item() const;

  static Body child(const Body::Impl& parent, const BodyNode* native, const JsonNode* json);

  static Body wrap(std::shared_ptr<const Body::Impl> impl) { return Body{std::move(impl)}; }

  /// The inside of a body to change: its own, if nobody else has it, and a copy otherwise.
  static std::shared_ptr<Body::Impl> take(Body body);

private:
  bool hides_attribute(std::string_view name) const {
    return !see_all_ && body_.hides_attribute(name);
  }

  bool hides_block(std::string_view type) const { return !see_all_ && body_.hides_block(type); }

  BodyContent native_partial(const Wanted& wanted) const;
  void native_blocks(const Wanted& wanted, BodyContent& out) const;
  bool check_labels(const BlockNode& block, const BlockSchema& schema, Diagnostics& out) const;
  void native_leftovers(const Wanted& wanted, BodyContent& out) const;
  void unsupported_attribute(const AttributeNode& attribute,
                             const Wanted& wanted,
                             Diagnostics& out) const;
  void unsupported_block(const BlockNode& block, const Wanted& wanted, Diagnostics& out) const;
  BodyContent json_partial(const Wanted& wanted, std::vector<std::string>* used) const;
  void json_leftovers(const Wanted& wanted,
                      const std::vector<std::string>& used,
                      Diagnostics& out) const;
  void missing_arguments(const Wanted& wanted, BodyContent& out) const;
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
  bool see_all_;
};

template <class Visit>
void Wanted::each_block(Visit visit) const {
  for (const BlockSchema& block : schema_.blocks)
    visit(block);
  if (expanding_ == nullptr) return;
  visit(dynamic_schema());
  for (const BlockSchema& block : expanding_->hidden_blocks)
    visit(block);
}

}  // namespace nomad::hcl
