#include "runtime/text/regex.hpp"

#include <algorithm>
#include <utility>

#include <re2/re2.h>

#include "runtime/base/text.hpp"
#include "runtime/base/threads/processor_time.hpp"
#include "runtime/base/utf8.hpp"
#include "runtime/text/letters.hpp"
#include "runtime/text/re2_words.hpp"

namespace nomad {
namespace {

using Groups = std::vector<re2::StringPiece>;

/// What a byte of pattern costs to compile: RE2 may make a large program of a short one.
constexpr std::uint64_t pattern_byte_cost = 256;
/// How many instructions of a program cost as much as to read a byte.
constexpr std::uint64_t instructions_per_unit = 4;
/// Bytes that matches may have read before it is seen how many it was: some milliseconds.
constexpr std::uint64_t looks_after = std::uint64_t{1} << 22U;

bool is_name_character(char32_t c) {
  return c == '_' || is_unicode_letter(c) || is_unicode_digit(c);
}

/// The name of a group behind "$": takes it off, with its braces. Empty if there is none.
std::string_view take_name(std::string_view& rest) {
  const std::size_t begin = rest.starts_with('{') ? 1 : 0;
  std::size_t end = begin;
  while (end < rest.size()) {
    const CodePoint point = decode_utf8(rest, end);
    if (!is_name_character(point.value)) break;
    end += point.length;
  }
  if (begin == 1 && !rest.substr(end).starts_with('}')) return {};
  const std::string_view name = rest.substr(begin, end - begin);
  if (!name.empty()) rest.remove_prefix(end + begin);
  return name;
}

void append_group(std::string& out, const RE2& regex, const Groups& groups, std::string_view name) {
  std::size_t position = groups.size();
  if (is_digits(name)) {
    position = name.size() > 6 ? groups.size() : static_cast<std::size_t>(leading_number(name));
  } else {
    const auto& names = regex.NamedCapturingGroups();
    if (const auto known = names.find(std::string{name}); known != names.end())
      position = static_cast<std::size_t>(known->second);
  }
  if (position < groups.size()) out.append(groups[position].data(), groups[position].size());
}

void expand(std::string& out, const RE2& regex, const Groups& groups, std::string_view with) {
  for (;;) {
    const std::size_t dollar = with.find('$');
    out += with.substr(0, dollar);
    if (dollar == std::string_view::npos) return;
    with.remove_prefix(dollar + 1);
    if (with.starts_with('$')) {
      out += '$';
      with.remove_prefix(1);
      continue;
    }
    const std::string_view name = take_name(with);
    if (name.empty())
      out += '$';
    else
      append_group(out, regex, groups, name);
  }
}

/// Looking for a match reads to its end, or on to the end of the text, as the pattern says. RE2
/// does not tell, so what it took is seen by the clock: a nanosecond is about a byte.
class Matching {
public:
  explicit Matching(Work& work) : work_{work} {}

  /// After each match; `rest` bytes may have been read for it.
  Result<void> pay(std::uint64_t rest) {
    NOMAD_TRY(work_.take(Work::step));
    may_have_read_ += rest;
    if (may_have_read_ < looks_after) return {};
    may_have_read_ = 0;
    const auto now = processor_time();
    return work_.take(static_cast<std::uint64_t>((now - std::exchange(paid_, now)).count()));
  }

private:
  Work& work_;
  std::uint64_t may_have_read_ = 0;
  std::chrono::nanoseconds paid_ = processor_time();
};

}  // namespace

Regex::Regex(std::unique_ptr<re2::RE2> compiled) : compiled_{std::move(compiled)} {}

Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;
Regex::~Regex() = default;

Result<Regex> Regex::compile(std::string_view pattern, Work& work, std::int64_t memory) {
  if (pattern.size() > max_pattern)
    return Error{Errc::too_large,
                 "a regular expression has at most " + std::to_string(max_pattern) + " bytes"};
  NOMAD_TRY(work.take(Work::times(pattern.size(), pattern_byte_cost)));
  RE2::Options options{RE2::Quiet};
  options.set_max_mem(memory);
  auto compiled = std::make_unique<RE2>(re2::StringPiece{pattern.data(), pattern.size()}, options);
  if (!compiled->ok()) {
    const auto code = compiled->error_code();
    const bool is_whole = code == RE2::ErrorPatternTooLarge || code == RE2::ErrorBadUTF8;
    const auto part = is_whole ? shorten(pattern) : compiled->error_arg();
    return Error{Errc::invalid_argument,
                 "error parsing regexp: " + std::string{go_words(code)} + ": `" + part + '`'};
  }
  NOMAD_TRY(work.take_steps(static_cast<std::uint64_t>(compiled->ProgramSize())));
  return Regex{std::move(compiled)};
}

/// For one pass over the text.
Result<void> Regex::pay(std::string_view text, Work& work) const {
  const auto program = static_cast<std::uint64_t>(compiled_->ProgramSize());
  return work.take_at_once(Work::times(text.size() + 1, 1 + program / instructions_per_unit));
}

/// Calls `found` for each match that does not overlap the one before, as Go's regexp counts them,
/// with as many groups as asked for. Ends when `found` returns false.
template <class Found>
Result<void> Regex::each_match(std::string_view text, int wanted, Work& work, Found found) const {
  NOMAD_TRY(pay(text, work));
  Matching matching{work};
  Groups groups(static_cast<std::size_t>(wanted) + 1);
  std::size_t last_end = std::string_view::npos;
  for (std::size_t at = 0; at <= text.size();) {
    if (!compiled_->Match({text.data(), text.size()}, at, text.size(), RE2::UNANCHORED,
                          groups.data(), static_cast<int>(groups.size())))
      return {};
    const auto begin = static_cast<std::size_t>(groups[0].data() - text.data());
    const std::size_t end = begin + groups[0].size();
    // An empty match right behind another one does not count.
    const bool counts = end != begin || begin != last_end;
    if (counts && !found(begin, end, groups)) return {};
    NOMAD_TRY(matching.pay(text.size() - begin));
    last_end = end;
    if (end > at)
      at = end;
    else
      at += at < text.size() ? decode_utf8(text, at).length : 1;
  }
  return {};
}

Result<bool> Regex::matches(std::string_view text, Work& work) const {
  NOMAD_TRY(pay(text, work));
  return RE2::PartialMatch({text.data(), text.size()}, *compiled_);
}

Result<std::string> Regex::replace_all(std::string_view text,
                                       std::string_view with,
                                       bool expands,
                                       std::size_t limit,
                                       Work& work) const {
  std::string out;
  std::size_t copied = 0;
  expands = expands && with.find('$') != std::string_view::npos;
  const auto replace = [&](std::size_t begin, std::size_t end, const Groups& groups) {
    out += text.substr(copied, begin - copied);
    if (expands)
      expand(out, *compiled_, groups, with);
    else
      out += with;
    copied = end;
    return out.size() <= limit;
  };
  NOMAD_TRY(each_match(text, expands ? compiled_->NumberOfCapturingGroups() : 0, work, replace));
  out += text.substr(copied);
  if (out.size() > limit) return Error{Errc::too_large, "the text gets too long"};
  return out;
}

Result<std::vector<std::string_view>> Regex::find_all(std::string_view text,
                                                      std::int64_t most,
                                                      Work& work) const {
  std::vector<std::string_view> out;
  if (most == 0) return out;
  NOMAD_TRY(each_match(text, 0, work, [&](std::size_t begin, std::size_t end, const Groups&) {
    out.push_back(text.substr(begin, end - begin));
    return most < 0 || static_cast<std::int64_t>(out.size()) < most;
  }));
  return out;
}

Result<std::vector<std::string_view>> Regex::split(std::string_view text,
                                                   std::int64_t most,
                                                   Work& work) const {
  using Parts = std::vector<std::string_view>;
  Parts out;
  if (most == 0) return out;
  if (!compiled_->pattern().empty() && text.empty()) return Parts{""};
  std::size_t begin = 0;
  std::size_t end = 0;
  NOMAD_TRY(each_match(text, 0, work, [&](std::size_t from, std::size_t to, const Groups&) {
    if (most > 0 && static_cast<std::int64_t>(out.size()) == most - 1) return false;
    end = from;
    if (to != 0) out.push_back(text.substr(begin, end - begin));
    begin = to;
    return true;
  }));
  if (end != text.size()) out.push_back(text.substr(begin));
  return out;
}

std::string quote_meta(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view{"\\.+*?()|[]{}^$"}.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

}  // namespace nomad
