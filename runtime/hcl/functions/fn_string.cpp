// String functions.
#include <algorithm>

#include "runtime/base/text.hpp"
#include "runtime/hcl/functions/function_family.hpp"
#include "runtime/hcl/functions/grapheme.hpp"
#include "runtime/text/letters.hpp"
#include "runtime/text/regex.hpp"
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
  std::int64_t offset = NOMAD_TRY(to_int(args[1]));
  const std::int64_t length = NOMAD_TRY(to_int(args[2]));
  const std::string_view in = args[0].as_string();
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
  const std::int64_t count = NOMAD_TRY(to_int(args[0]));
  if (count < 0) return fail("the number of spaces must not be negative");
  if (static_cast<std::uint64_t>(count) > max_result_bytes) return too_large();
  return replace_within(args[1].as_string(), "\n",
                        "\n" + std::string(static_cast<std::size_t>(count), ' '));
}

FunctionResult regex_replace(Args args, Work& work) {
  const Regex pattern = NOMAD_TRY(Regex::compile(args[1].as_string(), work));
  return text(NOMAD_TRY(
      pattern.replace_all(args[0].as_string(), args[2].as_string(), true, max_result_bytes, work)));
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
  Function regex = simple("regex_replace", {"str", "pattern", "replace"}, nullptr);
  regex.working = regex_replace;
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
