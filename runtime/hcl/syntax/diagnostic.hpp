// Diagnostics: what is wrong with a job file, where, and what would be right.
//
// A diagnostic is made where the mistake is found and travels by value in a list; nothing here
// throws. Two renderings exist: the one-line form that Nomad's clients match on, and the form for
// people, with the source line and the exact range marked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/hcl/syntax/source.hpp"

namespace nomad::hcl {

enum class Severity : std::uint8_t { error, warning };

struct Diagnostic {
  Severity severity = Severity::error;
  std::string summary;
  std::string detail;
  /// The construct at fault; absent for mistakes without a location ("<nil>" in the one-line form).
  std::optional<Range> subject;
  /// A wider range worth showing around the subject.
  std::optional<Range> context;
  /// A replacement for the text of `subject`, such as a correctly spelt name. Already part of
  /// `detail` in words.
  std::string suggestion;
  /// The source line in which `subject` starts, without its line break.
  std::string source_line;

  /// `job.hcl:3,5-8: Summary; Detail`.
  std::string to_string() const;
};

using Diagnostics = std::vector<Diagnostic>;

/// An error at `span` of `source`, with the source line filled in.
Diagnostic error_at(const Source& source, Span span, std::string summary, std::string detail);

/// An error without a location.
Diagnostic error_without_place(std::string summary, std::string detail);

bool has_errors(const Diagnostics& diagnostics);

void append(Diagnostics& to, Diagnostics&& more);

/// The first one, then ", and N other diagnostic(s)": how syntax errors are shown.
std::string first_and_count(const Diagnostics& diagnostics);

/// Every error's one-line form, each on a line of its own.
std::string all_lines(const Diagnostics& diagnostics);

struct RenderOptions {
  bool color = false;
  /// Longest part of a source line that is shown, in grapheme clusters.
  std::uint32_t max_width = 160;
};

/// The form for people: the one-line form, then the source line with `^^^` under the range.
std::string render(const Diagnostic& diagnostic, const RenderOptions& options = {});
std::string render(const Diagnostics& diagnostics, const RenderOptions& options = {});

}  // namespace nomad::hcl
