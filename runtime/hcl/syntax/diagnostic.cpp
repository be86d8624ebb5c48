#include "runtime/hcl/syntax/diagnostic.hpp"

#include <algorithm>

#include "runtime/hcl/value/utf8.hpp"

namespace nomad::hcl {

namespace {

/// The bytes of the first `clusters` grapheme clusters of `line`.
std::size_t byte_of_column(std::string_view line, std::size_t clusters) {
  if (clusters == 0) return 0;
  std::size_t low = 0;
  std::size_t high = line.size();
  while (low < high) {  // the count grows with the prefix
    const std::size_t middle = (low + high) / 2;
    if (count_grapheme_clusters(line.substr(0, middle)) < clusters)
      low = middle + 1;
    else
      high = middle;
  }
  while (low < line.size() && (static_cast<unsigned char>(line[low]) & 0xC0) == 0x80)
    ++low;
  return low;
}

struct Marked {
  std::string text;
  std::string marker;
};

/// The part of the line around the subject that fits, and the carets below it.
Marked mark(const Diagnostic& diagnostic, std::size_t width) {
  const std::string_view line = diagnostic.source_line;
  const Range& range = *diagnostic.subject;
  const std::size_t start = byte_of_column(line, range.start.column - 1);
  const std::size_t end = range.end.line == range.start.line
                              ? byte_of_column(line, range.end.column - 1)
                              : line.size();
  std::size_t first = 0;
  if (start > width / 2 && line.size() > width) first = start - width / 2;
  while (first > 0 && (static_cast<unsigned char>(line[first]) & 0xC0) == 0x80)
    --first;
  std::size_t last = std::min(line.size(), first + width);
  while (last < line.size() && (static_cast<unsigned char>(line[last]) & 0xC0) == 0x80)
    ++last;
  Marked out;
  const std::string_view cut = first > 0 ? "…" : "";
  out.text = std::string{cut} + std::string{line.substr(first, last - first)}
             + (last < line.size() ? "…" : "");
  if (!cut.empty()) out.marker += ' ';
  const std::string_view before = line.substr(first, start - first);
  if (before.find('\t') == std::string_view::npos) {
    out.marker.append(count_grapheme_clusters(before), ' ');
  } else {
    for (const char c : before)
      if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) out.marker += c == '\t' ? '\t' : ' ';
  }
  const std::size_t shown_end = std::min(end, last);
  const std::size_t carets
      = shown_end > start ? count_grapheme_clusters(line.substr(start, shown_end - start)) : 0;
  out.marker.append(std::max<std::size_t>(carets, 1), '^');
  return out;
}

}  // namespace

std::string Diagnostic::to_string() const {
  return (subject ? subject->to_string() : std::string{"<nil>"}) + ": " + summary + "; " + detail;
}

Diagnostic error_at(const Source& source, Span span, std::string summary, std::string detail) {
  Diagnostic out;
  out.summary = std::move(summary);
  out.detail = std::move(detail);
  out.subject = source.range(span);
  constexpr std::size_t max_line = 4096;
  const std::string_view line = source.line(out.subject->start.line);
  if (line.size() <= max_line) out.source_line = line;
  return out;
}

Diagnostic error_without_place(std::string summary, std::string detail) {
  Diagnostic out;
  out.summary = std::move(summary);
  out.detail = std::move(detail);
  return out;
}

bool has_errors(const Diagnostics& diagnostics) {
  return std::any_of(diagnostics.begin(), diagnostics.end(),
                     [](const Diagnostic& d) { return d.severity == Severity::error; });
}

void append(Diagnostics& to, Diagnostics&& more) {
  if (to.empty()) {
    to = std::move(more);
    return;
  }
  to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

std::string first_and_count(const Diagnostics& diagnostics) {
  if (diagnostics.empty()) return "no diagnostics";
  if (diagnostics.size() == 1) return diagnostics.front().to_string();
  return diagnostics.front().to_string() + ", and " + std::to_string(diagnostics.size() - 1)
         + " other diagnostic(s)";
}

std::string all_lines(const Diagnostics& diagnostics) {
  std::string out;
  for (const Diagnostic& diagnostic : diagnostics) {
    if (!out.empty()) out += '\n';
    out += diagnostic.to_string();
  }
  return out;
}

std::string render(const Diagnostic& diagnostic, const RenderOptions& options) {
  const bool error = diagnostic.severity == Severity::error;
  const std::string_view accent = !options.color ? "" : error ? "\033[1;31m" : "\033[1;33m";
  const std::string_view bold = options.color ? "\033[1m" : "";
  const std::string_view plain = options.color ? "\033[0m" : "";
  std::string out;
  const std::string location = diagnostic.subject ? diagnostic.subject->to_string() : "<nil>";
  out.append(bold).append(location).append(": ").append(plain);
  out.append(accent).append(diagnostic.summary).append(plain);
  out.append("; ").append(diagnostic.detail).append("\n");
  if (!diagnostic.subject || diagnostic.source_line.empty()) return out;
  const Marked marked = mark(diagnostic, options.max_width);
  const std::string number = std::to_string(diagnostic.subject->start.line);
  out.append("  ").append(number).append(" | ").append(marked.text).append("\n");
  out.append("  ").append(number.size(), ' ').append(" | ");
  out.append(accent).append(marked.marker).append(plain).append("\n");
  return out;
}

std::string render(const Diagnostics& diagnostics, const RenderOptions& options) {
  std::string out;
  for (const Diagnostic& diagnostic : diagnostics)
    out += render(diagnostic, options);
  return out;
}

}  // namespace nomad::hcl
