#include "runtime/hcl/syntax/source.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include <unicode/brkiter.h>
#include <unicode/locid.h>
#include <unicode/utext.h>

#include "runtime/hcl/syntax/lexer.hpp"
#include "runtime/hcl/value/utf8.hpp"

namespace nomad::hcl {

namespace {

/// Lines longer than this are counted in code points, so that a position never costs more than a
/// walk over a few kilobytes of cluster rules.
constexpr std::size_t max_cluster_line = 8U << 10U;

std::size_t count_code_points(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

/// In JSON files a tab between values counts two columns and a carriage return none.
std::size_t json_columns(std::string_view line) {
  std::size_t columns = 0;
  bool in_string = false;
  for (std::size_t at = 0; at < line.size();) {
    const auto c = static_cast<unsigned char>(line[at]);
    if (!in_string || c < 0x20) {
      in_string = !in_string && c == '"';
      columns += c == '\t' ? 2 : c == '\r' ? 0 : 1;
      ++at;
    } else if (c == '"' || c == '\\') {
      in_string = c != '"';
      const bool escape = !in_string || at + 1 == line.size()
                              ? false
                              : line[at + 1] == '"' || line[at + 1] == '\\';
      at += escape ? 2 : 1;
      columns += escape ? 2 : 1;
    } else {
      std::size_t end = at;
      while (end < line.size() && line[end] != '"' && line[end] != '\\'
             && static_cast<unsigned char>(line[end]) >= 0x20)
        ++end;
      columns += count_grapheme_clusters(line.substr(at, end - at));
      at = end;
    }
  }
  return columns;
}

}  // namespace

std::size_t count_grapheme_clusters(std::string_view text) {
  if (is_ascii(text)) {  // only "\r\n" is a cluster of two
    std::size_t pairs = 0;
    for (std::size_t i = 0; i + 1 < text.size(); ++i)
      pairs += text[i] == '\r' && text[i + 1] == '\n';
    return text.size() - pairs;
  }
  if (text.size() > max_cluster_line) return count_code_points(text);
  UErrorCode status = U_ZERO_ERROR;
  thread_local const std::unique_ptr<icu::BreakIterator> clusters{
      icu::BreakIterator::createCharacterInstance(icu::Locale::getRoot(), status)};
  UText* utext
      = utext_openUTF8(nullptr, text.data(), static_cast<std::int64_t>(text.size()), &status);
  if (U_FAILURE(status) != 0 || clusters == nullptr) return count_code_points(text);
  clusters->setText(utext, status);
  std::size_t count = 0;
  while (clusters->next() != icu::BreakIterator::DONE)
    ++count;
  utext_close(utext);
  return count;
}

std::string Range::to_string() const {
  std::string out
      = file_name + ':' + std::to_string(start.line) + ',' + std::to_string(start.column) + '-';
  if (end.line != start.line) out += std::to_string(end.line) + ',';
  return out + std::to_string(end.column);
}

/// What is only needed to place a message, made on first use.
struct Source::Index {
  std::once_flag lines_once;
  std::once_flag tokens_once;
  std::vector<std::uint32_t> line_starts;
  std::vector<Token> tokens;
};

Source::Source(std::string file_name, std::string text, Syntax syntax, Position origin)
    : file_name_{std::move(file_name)},
      text_{std::move(text)},
      syntax_{syntax},
      origin_{origin},
      index_{std::make_unique<Index>()} {}

Source::~Source() = default;

const std::vector<std::uint32_t>& Source::line_starts() const {
  std::call_once(index_->lines_once, [this] {
    auto& starts = index_->line_starts;
    starts.push_back(0);
    for (std::size_t at = text_.find('\n'); at != std::string::npos; at = text_.find('\n', at + 1))
      starts.push_back(static_cast<std::uint32_t>(at + 1));
  });
  return index_->line_starts;
}

std::size_t Source::columns(std::uint32_t line_start, std::uint32_t byte) const {
  const std::string_view line = std::string_view{text_}.substr(line_start, byte - line_start);
  if (is_json(syntax_)) return json_columns(line);
  if (is_ascii(line)) return line.size();
  if (line.size() > max_cluster_line) return count_code_points(line);
  std::call_once(index_->tokens_once, [this] { index_->tokens = lex(text_, syntax_); });
  const auto& tokens = index_->tokens;
  auto token = std::partition_point(tokens.begin(), tokens.end(),
                                    [&](const Token& t) { return t.end <= line_start; });
  std::size_t columns = 0;
  std::uint32_t at = line_start;
  if (line_start == 0 && line.starts_with("\xEF\xBB\xBF"))
    at = 3;  // a byte order mark takes no column
  for (; token != tokens.end() && token->begin < byte; ++token) {
    const std::uint32_t begin = std::max(token->begin, at);
    const std::uint32_t end = std::min(token->end, byte);
    columns += begin - at;  // spaces between tokens
    columns += count_grapheme_clusters(std::string_view{text_}.substr(begin, end - begin));
    at = std::max(end, begin);
  }
  return columns + (byte - at);
}

Position Source::position(std::uint32_t byte) const {
  byte = std::min(byte, static_cast<std::uint32_t>(text_.size()));
  const auto& starts = line_starts();
  const auto next = std::upper_bound(starts.begin(), starts.end(), byte);
  const auto line = static_cast<std::uint32_t>(next - starts.begin());
  const auto column = static_cast<std::uint32_t>(columns(*(next - 1), byte)) + 1;
  return {origin_.line + line - 1, line == 1 ? origin_.column + column - 1 : column,
          origin_.byte + byte};
}

Range Source::range(Span span) const {
  return {file_name_, position(span.begin), position(span.end)};
}

std::string_view Source::line(std::uint32_t line) const {
  const auto& starts = line_starts();
  if (line < origin_.line || line - origin_.line >= starts.size()) return {};
  const std::size_t index = line - origin_.line;
  const std::size_t begin = starts[index];
  const std::size_t end = index + 1 < starts.size() ? starts[index + 1] - 1 : text_.size();
  std::string_view text = std::string_view{text_}.substr(begin, end - begin);
  if (text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

}  // namespace nomad::hcl
