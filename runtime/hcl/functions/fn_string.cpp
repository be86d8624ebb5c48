// String functions.
#include <algorithm>

#include <re2/re2.h>

#include "runtime/base/re2_words.hpp"
#include "runtime/base/text.hpp"
#include "runtime/hcl/functions/function_family.hpp"
#include "runtime/hcl/functions/grapheme.hpp"
#include "runtime/hcl/value/utf8.hpp"
#include "runtime/text/letters.hpp"
#include "runtime/text/strings.hpp"

namespace nomad::hcl {

namespace {

using Args = std::span<const Value>;

/// A function of one text.
template <auto change>
FunctionResult changed(Args args) {
  return text(change(args[0].as_string()));
}

/// A function of two texts.
template <auto change>
FunctionResult changed_by(Args args) {
  return text(change(args[0].as_string(), args[1].as_string()));
}

FunctionResult reverse(Args args) {
  const std::string_view in = args[0].as_string();
  std::string out(in.size(), '\0');
  std::size_t end = in.size();
  for (std::size_t at = 0; at < in.size();) {
    const std::size_t length = grapheme_length(in, at);
    end -= length;
    in.copy(out.data() + end, length, at);
    at += length;
  }
  return text(out);
}

FunctionResult strlen(Args args) {
  return Value::number(static_cast<std::int64_t>(count_graphemes_exactly(args[0].as_string())));
}

/// `in` without its first `count` clusters; nothing when there are not so many.
std::optional<std::string_view> skip_clusters(std::string_view in, std::int64_t count) {
  std::size_t at = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    if (at >= in.size()) return std::nullopt;
    at += grapheme_length(in, at);
  }
  return in.substr(at);
}

FunctionResult substr(Args args) {
  const auto offset_arg = to_int(args[1]);
  const auto length_arg = to_int(args[2]);
  for (const auto* arg : {&offset_arg, &length_arg})
    if (const auto* wrong = std::get_if<std::string>(arg)) return fail(*wrong);
  const std::string_view in = args[0].as_string();
  std::int64_t offset = std::get<std::int64_t>(offset_arg);
  const std::int64_t length = std::get<std::int64_t>(length_arg);
  if (offset < 0)
    offset += static_cast<std::int64_t>(count_graphemes_exactly(in));
  else if (length == 0)
    return text("");
  const auto rest = skip_clusters(in, offset);
  if (!rest) return text("");
  if (length < 0) return text(*rest);
  // A length of zero with a negative offset means everything, as it always has.
  std::size_t end = 0;
  for (std::int64_t taken = 0; end < rest->size();) {
    end += grapheme_length(*rest, end);
    if (++taken == length) break;
  }
  return text(rest->substr(0, end));
}

FunctionResult join(Args args) {
  if (args.size() < 2) return fail("at least one list is required");
  const std::string_view separator = args[0].as_string();
  std::string out;
  bool first = true;
  for (std::size_t i = 1; i < args.size(); ++i)
    if (!args[i].is_wholly_known()) return Value::unknown(Type::string());
  for (std::size_t i = 1; i < args.size(); ++i) {
    std::size_t at = 0;
    for (const Value& element : args[i].elements()) {
      if (element.is_null())
        return fail_at(i, "element " + std::to_string(at)
                              + (args.size() > 2 ? " of list " + std::to_string(i) : "")
                              + " is null; cannot concatenate null values");
      if (!std::exchange(first, false)) out += separator;
      out += element.as_string();
      if (out.size() > max_result_bytes) return too_large();
      ++at;
    }
  }
  return text(out);
}

FunctionResult split(Args args) {
  Value::Elements out;
  for (const std::string_view part : split_text(args[1].as_string(), args[0].as_string()))
    out.push_back(Value::string(part));
  return Value::list(Type::string(), std::move(out));
}

std::string_view without_line_end(std::string_view text) {
  return text.substr(0, text.find_last_not_of("\r\n") + 1);
}

FunctionResult replace_within(std::string_view in, std::string_view from, std::string_view to) {
  const std::size_t found = count_text(in, from);
  if (in.size() + found * to.size() > max_result_bytes + found * from.size()) return too_large();
  return text(replace_all(in, from, to));
}

FunctionResult replace(Args args) {
  return replace_within(args[0].as_string(), args[1].as_string(), args[2].as_string());
}

FunctionResult indent(Args args) {
  const auto spaces = to_int(args[0]);
  if (const auto* wrong = std::get_if<std::string>(&spaces)) return fail(*wrong);
  const std::int64_t count = std::get<std::int64_t>(spaces);
  if (count < 0) return fail("the number of spaces must not be negative");
  if (static_cast<std::uint64_t>(count) > max_result_bytes) return too_large();
  return replace_within(args[1].as_string(), "\n",
                        "\n" + std::string(static_cast<std::size_t>(count), ' '));
}

// --- regex_replace -----------------------------------------------------------------------------

/// The name of `$name` or `${name}` at `at`, which is stepped over; nothing when there is none.
std::optional<std::string_view> reference(std::string_view replacement, std::size_t& at) {
  const bool braces = replacement.substr(at).starts_with('{');
  const std::size_t begin = at + (braces ? 1 : 0);
  std::size_t end = begin;
  while (end < replacement.size()) {
    const CodePoint point = decode_utf8(replacement, end);
    const bool word = point.value < 0x80
                          ? point.value == '_' || (point.value >= '0' && point.value <= '9')
                                || is_identifier_start(point.value)
                          : is_identifier_part(point.value);
    if (!word) break;
    end += point.length;
  }
  if (end == begin || (braces && (end >= replacement.size() || replacement[end] != '}')))
    return std::nullopt;
  at = end + (braces ? 1 : 0);
  return replacement.substr(begin, end - begin);
}

class Replacement {
public:
  Replacement(const RE2& pattern, std::string_view text) : pattern_{pattern}, text_{text} {}

  void append(std::string& out, const std::vector<re2::StringPiece>& groups) const {
    for (std::size_t at = 0; at < text_.size();) {
      const std::size_t dollar = text_.find('$', at);
      out += text_.substr(at, dollar - at);
      if (dollar == std::string_view::npos) return;
      at = dollar + 1;
      if (text_.substr(at).starts_with('$')) {
        out += '$';
        ++at;
      } else if (const auto name = reference(text_, at)) {
        const int group = index(*name);
        if (group >= 0 && static_cast<std::size_t>(group) < groups.size())
          out.append(groups[static_cast<std::size_t>(group)].data(),
                     groups[static_cast<std::size_t>(group)].size());
      } else {
        out += '$';
      }
    }
  }

private:
  int index(std::string_view name) const {
    constexpr std::size_t max_digits = 8;
    if (name.size() <= max_digits && is_digits(name)) return std::stoi(std::string{name});
    const auto found = pattern_.NamedCapturingGroups().find(std::string{name});
    return found == pattern_.NamedCapturingGroups().end() ? -1 : found->second;
  }

  const RE2& pattern_;
  std::string_view text_;
};

FunctionResult regex_replace(Args args) {
  RE2::Options options;
  options.set_log_errors(false);
  const std::string_view source = args[1].as_string();
  const RE2 pattern{re2::StringPiece{source.data(), source.size()}, options};
  if (!pattern.ok())
    return fail("error parsing regexp: " + std::string{go_words(pattern.error_code())} + ": `"
                + pattern.error_arg() + "`");
  const std::string_view in = args[0].as_string();
  const Replacement replacement{pattern, args[2].as_string()};
  std::vector<re2::StringPiece> groups(static_cast<std::size_t>(pattern.NumberOfCapturingGroups())
                                       + 1);
  std::string out;
  std::size_t copied = 0;
  for (std::size_t at = 0; at <= in.size() && out.size() <= max_result_bytes;) {
    if (!pattern.Match({in.data(), in.size()}, at, in.size(), RE2::UNANCHORED, groups.data(),
                       static_cast<int>(groups.size())))
      break;
    const auto begin = static_cast<std::size_t>(groups[0].data() - in.data());
    const std::size_t end = begin + groups[0].size();
    out += in.substr(copied, begin - copied);
    if (end > copied || begin == 0)  // not for an empty match right after another one
      replacement.append(out, groups);
    copied = end;
    const std::size_t width = at < in.size() ? decode_utf8(in, at).length : 0;
    at = at + width > end ? at + width : at + 1 > end ? at + 1 : end;
  }
  out += in.substr(copied);
  return text(out);
}

Function simple(std::string_view name,
                std::vector<std::string_view> names,
                FunctionResult (*call)(Args)) {
  Function out{name};
  for (const std::string_view parameter : names)
    out.parameters.push_back({parameter, Type::string()});
  out.call = call;
  return out;
}

}  // namespace

void add_string_functions(std::vector<Function>& out) {
  out.push_back(simple("upper", {"str"}, changed<upper_case>));
  out.push_back(simple("lower", {"str"}, changed<lower_case>));
  out.push_back(simple("title", {"str"}, changed<title_case>));
  out.push_back(simple("reverse", {"str"}, reverse));
  out.push_back(simple("strrev", {"str"}, reverse));
  out.push_back(simple("strlen", {"str"}, strlen));
  out.push_back(simple("chomp", {"str"}, changed<without_line_end>));
  out.push_back(simple("trimspace", {"str"}, changed<trim_space>));
  out.push_back(simple("trim", {"str", "cutset"}, changed_by<trim_characters>));
  out.push_back(simple("trimprefix", {"str", "prefix"}, changed_by<trim_prefix>));
  out.push_back(simple("trimsuffix", {"str", "suffix"}, changed_by<trim_suffix>));
  out.push_back(simple("replace", {"str", "substr", "replace"}, replace));
  out.push_back(simple("split", {"separator", "str"}, split));
  Function regex = simple("regex_replace", {"str", "pattern", "replace"}, regex_replace);
  regex.cost = [](Args args) {
    constexpr std::uint64_t bytes_per_step = 256;
    return args[0].as_string().size() * args[1].as_string().size() / bytes_per_step;
  };
  out.push_back(std::move(regex));
  out.push_back(
      {"indent", {{"spaces", Type::number()}, {"str", Type::string()}}, std::nullopt, indent});
  out.push_back({"substr",
                 {{"str", Type::string()}, {"offset", Type::number()}, {"length", Type::number()}},
                 std::nullopt,
                 substr});
  out.push_back({"join",
                 {{"separator", Type::string()}},
                 Parameter{"lists", Type::list(Type::string())},
                 join});
}

}  // namespace nomad::hcl
