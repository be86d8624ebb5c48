// The recursive-descent parser of native HCL; private to the parser's source files.
//
// It follows the reference implementation in what it reports and how it goes on after an error,
// because users compare the messages: after the first recovery, complaints about unexpected tokens
// are kept back. Recursion is bounded by `depth_`; left-associative chains by the nodes' heights.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/hcl/syntax/arena.hpp"
#include "runtime/hcl/syntax/ast.hpp"
#include "runtime/hcl/syntax/diagnostic.hpp"
#include "runtime/hcl/syntax/lexer.hpp"

namespace nomad::hcl {

/// Makes nodes in a file's arena.
class TreeBuilder {
public:
  explicit TreeBuilder(File& file) : file_{file}, arena_{*file.arena_} {}

  void set_body(const BodyNode* body) { file_.body_ = body; }

  void set_expression(const Expression* expression) { file_.expression_ = expression; }

  void set_json(const JsonNode* json) { file_.json_ = json; }

  const File* file() const { return &file_; }

  Arena& arena() { return arena_; }

private:
  File& file_;
  Arena& arena_;
};

/// One piece of a template before it is a tree.
struct TemplatePart {
  enum class Kind : std::uint8_t { literal, interpolation, if_, for_, else_, end_if, end_for, end };

  Kind kind = Kind::end;
  Span span{};
  std::string text{};                // literal
  const Expression* expr = nullptr;  // interpolation, condition, collection
  std::string_view key_name{};       // for
  std::string_view value_name{};     // for
};

class Parser {
public:
  Parser(File& file, std::vector<Token> tokens);

  void check_tokens();
  const BodyNode* parse_body(TokenType end);
  const Expression* parse_expression();
  const Expression* parse_whole_expression();
  const Expression* parse_whole_template();
  /// Steps of an absolute traversal that takes up all tokens; empty on error.
  std::vector<Step> parse_whole_traversal();

  TreeBuilder& builder() { return builder_; }

  Diagnostics take_diagnostics() { return std::move(diagnostics_); }

private:
  friend class TemplateTree;

  // Tokens. Comments are skipped, one that ends its line counts as a newline.
  Token peek() const {
    const Token* next = plain_next();
    return next != nullptr ? *next : next_token().first;
  }

  Token read() {
    if (const Token* next = plain_next()) {
      ++next_;
      return *next;
    }
    const auto [token, next] = next_token();
    next_ = next;
    return token;
  }

  /// The next token if it is nothing that may have to be skipped.
  const Token* plain_next() const {
    if (next_ >= tokens_.size()) return nullptr;
    const Token& next = tokens_[next_];
    const bool plain
        = next.type != TokenType::comment && (see_newlines_ || next.type != TokenType::newline);
    return plain ? &next : nullptr;
  }

  /// The next token that counts and the index after it.
  std::pair<Token, std::size_t> next_token() const;
  Span previous_span() const;
  std::string_view text(Token token) const;
  bool at_keyword(std::string_view keyword) const;

  class IgnoreNewlines;
  class SeeNewlines;

  // Errors.
  std::size_t mark() const { return errors_; }

  bool failed_since(std::size_t mark) const { return errors_ > mark; }

  void error(Span span, std::string summary, std::string detail);
  void quiet_error(Span span, std::string summary, std::string detail);
  bool too_deep(Span span);
  Token recover(TokenType end);
  void recover_after_item();
  static TokenType opposite(TokenType type);

  // Nodes.
  template <class Node>
  const Expression* make(Node node,
                         Span span,
                         std::initializer_list<const Expression*> children = {});
  template <class Node>
  const Expression* make_over(Node node, Span span, std::span<const Expression* const> children);
  const Expression* literal(Value value, Span span);

  const Expression* placeholder(Span span) { return literal(Value{}, span); }

  // Bodies.
  struct Items;
  void parse_body_item(Items& items);
  AttributeNode finish_attribute(Token name, bool single_line);
  const BlockNode* finish_block(Token name);
  bool parse_labels(std::vector<std::string_view>& labels, std::vector<Span>& spans, Token& brace);
  const BodyNode* parse_single_attribute_body();
  const BodyNode* parse_block_body();
  void close_single_line();
  void add_attribute(Items& items, AttributeNode attribute);

  // Expressions.
  const Expression* parse_binary(int level);
  const Expression* parse_with_traversals();
  const Expression* parse_traversals(const Expression* from);
  class Chain;
  void parse_dot(Chain& chain);
  void parse_attribute_splat(Chain& chain, Token dot);
  bool parse_splat_steps(Span star, std::vector<Step>& steps, Span& last);
  void parse_bracket(Chain& chain);
  void parse_full_splat(Chain& chain, Token open);
  Step legacy_index(Token dot, Span at, bool splat);
  const Expression* parse_term();
  const Expression* parse_parentheses();
  const Expression* parse_name();
  const Expression* parse_unary(UnaryOp op);
  const Expression* parse_call(Token name);
  const Expression* parse_tuple();
  const Expression* parse_object();
  bool parse_object_item(std::vector<ObjectItem>& items, Token& close);
  void report_missing_separator(Token next);
  const Expression* parse_for(Token open);
  bool parse_for_names(std::string_view& key, std::string_view& value);
  const Expression* abandon_for(Token open);
  void check_for(const ForExpr& loop, Token open, Token ellipsis);
  const Value* number_value(Token token);

  // Strings and templates.
  const Expression* parse_string();
  const Expression* parse_plain_string(Token open);
  std::string_view parse_quoted_literal(Span& span);
  std::string decode(Token token);
  void decode_escape(Token token, std::string_view text, std::size_t& at, std::string& out);
  std::vector<TemplatePart> parse_template_parts(TokenType end, Span& span);
  void parse_interpolation(Token open, std::vector<TemplatePart>& parts, bool& trim_next);
  void parse_control(Token open, std::vector<TemplatePart>& parts, bool& trim_next);
  bool parse_for_directive(Token open, std::vector<TemplatePart>& parts);
  void close_control(Token keyword, bool& trim_next);
  static void flush_heredoc(std::vector<TemplatePart>& parts);
  std::vector<const Expression*> parse_template(TokenType end, bool flush, Span& span, bool& wraps);

  TreeBuilder builder_;
  std::string_view source_text_;
  const Source& source_;
  std::vector<Token> tokens_;
  std::size_t next_ = 0;
  bool see_newlines_ = true;
  bool recovering_ = false;
  std::uint16_t depth_ = 0;
  std::size_t errors_ = 0;
  Diagnostics diagnostics_;
};

/// For as long as it lives, line breaks are no tokens.
class Parser::IgnoreNewlines {
public:
  explicit IgnoreNewlines(Parser& parser) : parser_{parser}, before_{parser.see_newlines_} {
    parser_.see_newlines_ = false;
  }

  ~IgnoreNewlines() { parser_.see_newlines_ = before_; }

  IgnoreNewlines(const IgnoreNewlines&) = delete;
  IgnoreNewlines& operator=(const IgnoreNewlines&) = delete;

private:
  Parser& parser_;
  bool before_;
};

class Parser::SeeNewlines {
public:
  explicit SeeNewlines(Parser& parser) : parser_{parser}, before_{parser.see_newlines_} {
    parser_.see_newlines_ = true;
  }

  ~SeeNewlines() { parser_.see_newlines_ = before_; }

  SeeNewlines(const SeeNewlines&) = delete;
  SeeNewlines& operator=(const SeeNewlines&) = delete;

private:
  Parser& parser_;
  bool before_;
};

template <class Node>
const Expression* Parser::make_over(Node node,
                                    Span span,
                                    std::span<const Expression* const> children) {
  std::uint16_t height = 0;
  for (const Expression* child : children)
    height = std::max(height, child->height);
  node.height = static_cast<std::uint16_t>(height + 1);
  node.span = span;
  node.file = builder_.file();
  if (node.height > max_height && !too_deep(span)) return placeholder(span);
  return builder_.arena().make(node);
}

template <class Node>
const Expression* Parser::make(Node node,
                               Span span,
                               std::initializer_list<const Expression*> children) {
  return make_over(node, span,
                   std::span<const Expression* const>{children.begin(), children.size()});
}

}  // namespace nomad::hcl
