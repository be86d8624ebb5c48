#include "cli/output/terminal_text.hpp"

#include <algorithm>
#include <array>
#include <iostream>
#include <utility>

#include "cli/output/layout.hpp"
#include "runtime/base/text.hpp"
#include "runtime/base/utf8.hpp"

namespace nomad::cli {
namespace {

using namespace std::string_view_literals;

/// Those of `title`, `colored` and the mistakes of job files.
constexpr std::array own_colors{"\033[0m"sv,  "\033[1m"sv,  "\033[31m"sv,   "\033[32m"sv,
                                "\033[33m"sv, "\033[34m"sv, "\033[1;31m"sv, "\033[1;33m"sv};

/// The colour that `text` begins with; empty for none.
std::string_view color_at(std::string_view text) {
  for (const auto color : own_colors)
    if (text.starts_with(color)) return color;
  return {};
}

/// Whether more could make a colour of it.
bool begins_color(std::string_view text) {
  return std::any_of(own_colors.begin(), own_colors.end(),
                     [text](std::string_view color) { return color.starts_with(text); });
}

/// What the streams had before they were guarded.
std::streambuf* unfiltered_output = nullptr;
std::streambuf* unfiltered_errors = nullptr;

/// Where the last character that the text ends within begins; its size if it is whole.
std::size_t whole_characters(std::string_view text) {
  constexpr std::size_t longest = 4;
  for (std::size_t back = 1; back < longest && back <= text.size(); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xC0U) == 0x80U) continue;  // inside of a character
    const std::size_t length = byte < 0xC0 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
    return length > back ? text.size() - back : text.size();
  }
  return text.size();
}

}  // namespace

std::string one_line(std::string_view text) {
  std::string out = escape_controls(text);
  for (const auto& [blank, shown] : {std::pair{'\n', "\\n"}, std::pair{'\t', "\\t"}})
    for (auto at = out.find(blank); at != std::string::npos; at = out.find(blank, at + 2))
      out.replace(at, 1, shown);
  return out;
}

std::streamsize TerminalFilter::xsputn(const char* text, std::streamsize count) {
  kept_.append(text, static_cast<std::size_t>(count));
  return pass(false) ? count : 0;
}

TerminalFilter::int_type TerminalFilter::overflow(int_type c) {
  if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
  kept_ += traits_type::to_char_type(c);
  return pass(false) ? c : traits_type::eof();
}

int TerminalFilter::sync() {
  return pass(true) ? to_.pubsync() : -1;
}

bool TerminalFilter::pass(bool is_end) {
  std::string_view text = kept_;
  std::string_view rest;
  if (!is_end) {
    const auto whole = whole_characters(text);
    rest = text.substr(whole);
    text = text.substr(0, whole);
  }
  std::string out;
  while (!text.empty()) {
    const auto escape = std::min(text.find('\033'), text.size());
    out += escape_controls(text.substr(0, escape));
    text.remove_prefix(escape);
    if (text.empty()) break;
    const auto color = color_enabled() ? color_at(text) : std::string_view{};
    if (color.empty() && color_enabled() && !is_end && rest.empty() && begins_color(text)) break;
    out += color.empty() ? escape_controls(text.substr(0, 1)) : std::string{color};
    text.remove_prefix(std::max<std::size_t>(color.size(), 1));
  }
  std::string left{text};
  left += rest;
  kept_ = std::move(left);
  const auto size = static_cast<std::streamsize>(out.size());
  return to_.sputn(out.data(), size) == size;
}

void guard_terminal() {
  // They live as long as the streams, which are flushed when the process ends.
  static auto& output = *new TerminalFilter{*std::cout.rdbuf()};
  static auto& errors = *new TerminalFilter{*std::cerr.rdbuf()};
  unfiltered_output = std::cout.rdbuf(&output);
  unfiltered_errors = std::cerr.rdbuf(&errors);
}

RawOutput::RawOutput() {
  if (unfiltered_output == nullptr) return;
  std::cout.flush();
  filtered_output_ = std::cout.rdbuf(unfiltered_output);
  filtered_errors_ = std::cerr.rdbuf(unfiltered_errors);
}

RawOutput::~RawOutput() {
  if (filtered_output_ == nullptr) return;
  std::cout.rdbuf(filtered_output_);
  std::cerr.rdbuf(filtered_errors_);
}

}  // namespace nomad::cli
