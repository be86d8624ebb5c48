// TokenReader: the tokens of a text, the position in them, what was wrong so far, and the nodes
// made. All that the parsers of bodies, expressions and templates share; they themselves hold no
// state.
//
// It follows the reference implementation in what is reported and how it goes on after an error,
// because users compare the messages: after the first recovery, complaints about unexpected tokens
// are kept back. Recursion is bounded by the depth; left-associative chains by the nodes' heights.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/hcl/syntax/diagnostic.hpp"
#include "runtime/hcl/syntax/lexer.hpp"
#include "runtime/hcl/syntax/tree_builder.hpp"

namespace nomad::hcl {

inline constexpr std::size_t max_diagnostics = 1000;

class TokenReader {
public:
  TokenReader(File& file, std::vector<Token> tokens);

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

  /// The token `ahead` of the next one as the text has it, comments and newlines included.
  const Token* raw(std::size_t ahead) const {
    return next_ + ahead < tokens_.size() ? &tokens_[next_ + ahead] : nullptr;
  }

  void skip_raw(std::size_t count) { next_ += count; }

  const std::vector<Token>& tokens() const { return tokens_; }

  Span previous_span() const;
  std::string_view text(Token token) const;
  bool at_keyword(std::string_view keyword) const;
  static TokenType opposite(TokenType type);

  template <bool sees_newlines>
  class Newlines;
  using IgnoreNewlines = Newlines<false>;
  using SeeNewlines = Newlines<true>;

  // What was wrong.
  std::size_t mark() const { return errors_; }

  bool failed_since(std::size_t mark) const { return errors_ > mark; }

  /// Whether something failed since so that nobody knows where in the text this is.
  bool recovering_since(std::size_t mark) const { return recovering_ && failed_since(mark); }

  bool is_recovering() const { return recovering_; }

  void start_recovering() { recovering_ = true; }

  void error(Span span, std::string summary, std::string detail);
  /// An error that is only worth reporting while the reader still knows where it is.
  void quiet_error(Span span, std::string summary, std::string detail);
  /// Reports excessive nesting once and gives up on the rest of the text. Answers false.
  bool too_deep(Span span);
  /// Reads up to and with the next `end` that closes the current bracket.
  Token recover(TokenType end);
  /// Reads to the end of the line on which everything that was opened is closed again.
  void recover_after_item();

  Diagnostics& diagnostics() { return diagnostics_; }

  // How deep the parsers are nested.
  bool is_full_depth() const { return depth_ >= max_height; }

  void enter() { ++depth_; }

  void leave() { --depth_; }

  // Nodes.
  template <class Node>
  const Expression* make(Node node,
                         Span span,
                         std::initializer_list<const Expression*> children = {});
  template <class Node>
  const Expression* make_over(Node node, Span span, std::span<const Expression* const> children);
  const Expression* literal(Value value, Span span);

  const Expression* placeholder(Span span) { return literal(Value{}, span); }

  const Source& source() const { return source_; }

  const File* file() const { return builder_.file(); }

  Arena& arena() { return builder_.arena(); }

  TreeBuilder& builder() { return builder_; }

private:
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

/// For as long as it lives, line breaks are tokens, or are none.
template <bool sees_newlines>
class TokenReader::Newlines {
public:
  explicit Newlines(TokenReader& reader)
      : reader_{reader}, before_{std::exchange(reader.see_newlines_, sees_newlines)} {}

  ~Newlines() { reader_.see_newlines_ = before_; }

  Newlines(const Newlines&) = delete;
  Newlines& operator=(const Newlines&) = delete;

private:
  TokenReader& reader_;
  bool before_;
};

template <class Node>
const Expression* TokenReader::make_over(Node node,
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
const Expression* TokenReader::make(Node node,
                                    Span span,
                                    std::initializer_list<const Expression*> children) {
  return make_over(node, span,
                   std::span<const Expression* const>{children.begin(), children.size()});
}

}  // namespace nomad::hcl
