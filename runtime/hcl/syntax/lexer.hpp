// Lexer: text to tokens, without regard to their order. Never fails: what belongs to no token
// becomes a token of an invalid type, which the parser reports.
//
// Three modes nest: normal, inside a quoted string, inside a heredoc; `${` and `%{` lead back to
// normal until the brace that closes them. Time is linear in the text.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/hcl/syntax/source.hpp"

namespace nomad::hcl {

enum class TokenType : std::uint8_t {
  end_of_file,
  open_brace,
  close_brace,
  open_bracket,
  close_bracket,
  open_paren,
  close_paren,
  open_quote,
  close_quote,
  open_heredoc,   ///< `<<EOT` with its line break
  close_heredoc,  ///< the marker, without its line break
  star,
  slash,
  plus,
  minus,
  percent,
  equal,
  equal_op,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  logical_and,
  logical_or,
  bang,
  dot,
  comma,
  ellipsis,
  fat_arrow,
  question,
  colon,
  template_interp,   ///< `${` or `${~`
  template_control,  ///< `%{` or `%{~`
  template_end,      ///< `}` or `~}` that closes one of these
  quoted_literal,    ///< text in a quoted string, escapes as written
  string_literal,    ///< text in a heredoc or bare template
  number,
  identifier,
  comment,  ///< with its line break, if it runs to the end of the line
  newline,
  bitwise_and,
  bitwise_or,
  bitwise_not,
  bitwise_xor,
  backtick,
  apostrophe,
  semicolon,
  invalid,
  bad_utf8,
  quoted_newline,  ///< line break in a quoted string
};

struct Token {
  TokenType type;
  std::uint32_t begin;
  std::uint32_t end;

  Span span() const { return {begin, end}; }
};

/// The tokens of `text`, which is at most 4 GiB; the last one is always `end_of_file`. A byte order
/// mark at the start is skipped. Of a text with more than `most` of them, not much more are read.
std::vector<Token> lex(std::string_view text, Syntax syntax, std::size_t most = SIZE_MAX);

}  // namespace nomad::hcl
