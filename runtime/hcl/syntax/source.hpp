// Source text and positions in it: what every node of the tree and every diagnostic points into.
//
// Nodes store spans (byte offsets only); lines and columns are computed when a message needs them,
// so that parsing a correct file never counts a column. Depends on runtime/base and ICU.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace nomad::hcl {

/// One point of a source text. Lines and columns count from 1; a column is a grapheme cluster
/// (a tab is one), a byte offset counts from 0.
struct Position {
  std::uint32_t line = 1;
  std::uint32_t column = 1;
  std::uint32_t byte = 0;

  friend bool operator==(const Position&, const Position&) = default;
};

/// A half-open piece of a named source text.
struct Range {
  std::string file_name;
  Position start;
  Position end;

  /// "job.hcl:3,5-8", or "job.hcl:3,5-4,1" when it spans lines.
  std::string to_string() const;

  friend bool operator==(const Range&, const Range&) = default;
};

/// A half-open piece of one source text, in bytes.
struct Span {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;

  friend bool operator==(const Span&, const Span&) = default;
};

/// From the start of `first` to the end of `last`.
constexpr Span cover(Span first, Span last) {
  return {first.begin, last.end};
}

/// How the text is cut into tokens; columns are counted token by token.
enum class Syntax : std::uint8_t {
  native,
  expression,
  json,
  hcl1_json,  ///< JSON whose strings are no templates
  bare_template
};

inline bool is_json(Syntax syntax) {
  return syntax == Syntax::json || syntax == Syntax::hcl1_json;
}

/// A named source text, with the way back from bytes to lines and columns. Immutable once made and
/// safe to use from any thread.
class Source {
public:
  /// `origin` is the position of the text's first byte, for text that was cut out of another.
  Source(std::string file_name,
         std::string text,
         Syntax syntax = Syntax::native,
         Position origin = {});
  ~Source();
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  const std::string& file_name() const noexcept { return file_name_; }

  std::string_view text() const noexcept { return text_; }

  std::string_view text(Span span) const {
    return std::string_view{text_}.substr(span.begin, span.end - span.begin);
  }

  Syntax syntax() const noexcept { return syntax_; }

  Position origin() const noexcept { return origin_; }

  Range range(Span span) const;
  Position position(std::uint32_t byte) const;

  /// Line number `line` (from 1) without its line break; empty when there is no such line.
  std::string_view line(std::uint32_t line) const;

private:
  struct Index;

  const std::vector<std::uint32_t>& line_starts() const;
  /// Columns from `line_start` to `byte`, which is on the same line.
  std::size_t columns(std::uint32_t line_start, std::uint32_t byte) const;

  std::string file_name_;
  std::string text_;
  Syntax syntax_;
  Position origin_;
  std::unique_ptr<Index> index_;
};

/// Grapheme clusters in `text`, which must be UTF-8 (each invalid byte counts as one).
std::size_t count_grapheme_clusters(std::string_view text);

}  // namespace nomad::hcl
