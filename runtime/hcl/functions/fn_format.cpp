// `format` and `formatlist`: verbs as in C's printf, with Go's number formats.
#include <algorithm>

#include "runtime/base/text.hpp"
#include "runtime/base/utf8.hpp"
#include "runtime/hcl/functions/function_family.hpp"
#include "runtime/hcl/functions/grapheme.hpp"
#include "runtime/text/json.hpp"

namespace nomad::hcl {

namespace {

using Args = std::span<const Value>;

/// Widest field and most digits that a verb may ask for.
constexpr int max_extent = 100'000;

/// One `%…` sequence.
struct Verb {
  std::string_view raw;
  std::size_t offset = 0;
  int argument = 0;  // from 1
  char mode = '\0';
  bool zero = false;
  bool sharp = false;
  bool plus = false;
  bool minus = false;
  bool space = false;
  int width = -1;
  int precision = -1;
};

std::string pad(const Verb& verb, std::string text) {
  const std::size_t length = count_graphemes_exactly(text);
  if (verb.width < 0 || length >= static_cast<std::size_t>(verb.width)) return text;
  const std::string padding(static_cast<std::size_t>(verb.width) - length, verb.zero ? '0' : ' ');
  return verb.minus ? text + padding : padding + text;
}

std::string sign_of(const Verb& verb, bool negative) {
  return negative ? "-" : verb.plus ? "+" : verb.space ? " " : "";
}

/// Digits behind what stands before them, as wide as the verb wants it.
std::string laid_out(const Verb& verb,
                     const std::string& front,
                     const std::string& digits,
                     bool zero) {
  const std::size_t length = front.size() + digits.size();
  const std::size_t missing
      = verb.width > static_cast<int>(length) ? static_cast<std::size_t>(verb.width) - length : 0;
  if (verb.minus) return front + digits + std::string(missing, ' ');
  if (zero) return front + std::string(missing, '0') + digits;
  return std::string(missing, ' ') + front + digits;
}

std::string real(const Verb& verb, const Number& number) {
  const bool general = verb.mode == 'g' || verb.mode == 'G';
  constexpr int default_precision = 6;
  const int precision = verb.precision >= 0 ? verb.precision : general ? -1 : default_precision;
  std::string digits = number.format(verb.mode, precision);
  std::string sign = sign_of(verb, false);
  if (digits.starts_with('-') || digits.starts_with('+')) {
    sign = digits.starts_with('+') && verb.space ? " " : digits.substr(0, 1);
    digits.erase(0, 1);
  }
  return laid_out(verb, sign, digits, verb.zero && !number.is_infinite());
}

std::string integer(const Verb& verb, const Number& number) {
  const int base = verb.mode == 'b' ? 2 : verb.mode == 'o' ? 8 : verb.mode == 'd' ? 10 : 16;
  std::string digits = number.integer_digits(base);
  const bool negative = digits.starts_with('-');
  if (negative) digits.erase(0, 1);
  std::string prefix;
  if (verb.sharp && verb.mode != 'd')
    prefix = verb.mode == 'b' ? "0b" : verb.mode == 'o' ? "0" : verb.mode == 'x' ? "0x" : "0X";
  if (verb.mode == 'X') digits = to_upper(digits);
  if (verb.precision == 0 && digits == "0") return "";
  if (verb.precision > static_cast<int>(digits.size()))
    digits.insert(0, static_cast<std::size_t>(verb.precision) - digits.size(), '0');
  return laid_out(verb, sign_of(verb, negative) + prefix, digits, verb.zero && verb.precision < 0);
}

/// Reads a format string and renders its verbs.
class Formatter {
public:
  Formatter(std::string_view format, Args args) : format_{format}, args_{args} {}

  Outcome<std::string> run() {
    while (at_ < format_.size()) {
      if (format_[at_] != '%') {
        out_ += format_[at_++];
      } else if (format_.substr(at_).starts_with("%%")) {
        out_ += '%';
        at_ += 2;
      } else {
        out_ += NOMAD_TRY(verb());
      }
      if (out_.size() > max_result_bytes) return too_large();
    }
    const auto used = static_cast<std::size_t>(highest_);
    if (used < args_.size())
      return fail_at(used + 1, highest_ == 0 ? "too many arguments; no verbs in format string"
                                             : "too many arguments; only " + std::to_string(used)
                                                   + " used by format string");
    return std::move(out_);
  }

private:
  FunctionError unexpected() const {
    if (at_ >= format_.size())
      return fail("invalid format string starting at offset " + std::to_string(format_.size()));
    const std::string shown = quote_character(decode_utf8(format_, at_).value);
    return fail("unrecognized format character " + shown + " at offset " + std::to_string(at_));
  }

  bool digit() const { return at_ < format_.size() && is_digit(format_[at_]); }

  bool take(char c) {
    const bool is_there = at_ < format_.size() && format_[at_] == c;
    if (is_there) ++at_;
    return is_there;
  }

  int number() {
    int value = 0;
    for (; digit(); ++at_)
      value = std::min(value * 10 + (format_[at_] - '0'), max_extent + 1);
    return value;
  }

  void flags(Verb& verb) {
    for (;;) {
      if (take('0'))
        verb.zero = true;
      else if (take('#'))
        verb.sharp = true;
      else if (take('-'))
        verb.minus = true;
      else if (take('+'))
        verb.plus = true;
      else if (take(' '))
        verb.space = true;
      else
        return;
    }
  }

  Outcome<std::string> verb() {
    Verb verb;
    verb.argument = next_;
    verb.offset = at_++;
    flags(verb);
    if (digit()) verb.width = number();
    if (take('.')) verb.precision = number();
    if (take('[')) {
      if (!digit() || format_[at_] == '0') return unexpected();
      verb.argument = number();
      if (!take(']')) return unexpected();
    }
    if (at_ >= format_.size() || !is_letter(format_[at_])) return unexpected();
    verb.mode = format_[at_++];
    verb.raw = format_.substr(verb.offset, at_ - verb.offset);
    if (verb.width > max_extent || verb.precision > max_extent)
      return fail("the width or precision of " + quote(verb.raw) + " is larger than is allowed");
    highest_ = std::max(highest_, verb.argument);
    next_ = verb.argument + 1;
    return rendered(verb);
  }

  static FunctionError unsupported(const Verb& verb, std::string_view why) {
    return fail("unsupported value for " + quote(verb.raw) + " at " + std::to_string(verb.offset)
                + ": " + std::string{why});
  }

  Outcome<std::string> rendered(const Verb& verb) const {
    if (static_cast<std::size_t>(verb.argument) > args_.size())
      return fail("not enough arguments for " + quote(verb.raw) + " at "
                  + std::to_string(verb.offset) + ": need index " + std::to_string(verb.argument)
                  + " but have " + std::to_string(args_.size()) + " total");
    const Value& value = args_[static_cast<std::size_t>(verb.argument) - 1];
    if (verb.mode != 'v' && value.is_null())
      return unsupported(verb, "null value cannot be formatted");
    switch (verb.mode) {
      case 'v':
        return as_is(verb, value);
      case 't':
        return shown(verb, value, Type::boolean());
      case 'b':
      case 'd':
      case 'o':
      case 'x':
      case 'X':
      case 'e':
      case 'E':
      case 'f':
      case 'g':
      case 'G':
        return shown(verb, value, Type::number());
      case 's':
      case 'q':
        return shown(verb, value, Type::string());
      default:
        return fail("unsupported format verb '" + std::string{verb.mode} + "' in " + quote(verb.raw)
                    + " at offset " + std::to_string(verb.offset));
    }
  }

  static Outcome<std::string> as_is(const Verb& verb, const Value& value) {
    if (!verb.sharp && value.is_string()) return pad(verb, std::string{value.as_string()});
    if (!verb.sharp && value.is_number()) return pad(verb, value.as_number().format('g', -1));
    auto json = encode_json(value);
    if (json.has_error()) return unsupported(verb, json.error().message);
    return pad(verb, std::move(json).take());
  }

  static Outcome<std::string> shown(const Verb& verb, const Value& value, const Type& type) {
    auto outcome = converted(value, type);
    if (outcome.has_error()) return unsupported(verb, outcome.error().message);
    const Value out = std::move(outcome).take();
    if (out.is_bool()) return std::string{out.as_bool() ? "true" : "false"};
    if (out.is_string()) {
      std::string_view text = out.as_string();
      std::size_t end = 0;
      for (int i = 0; i < verb.precision && end < text.size(); ++i)
        end += grapheme_length(text, end);
      if (verb.precision > 0) text = text.substr(0, end);
      return pad(verb, verb.mode == 'q' ? json_quoted(text) : std::string{text});
    }
    if (std::string_view{"bdoxX"}.find(verb.mode) == std::string_view::npos)
      return real(verb, out.as_number());
    if (!out.as_number().is_whole()) return unsupported(verb, "an integer is required");
    return integer(verb, out.as_number());
  }

  std::string_view format_;
  Args args_;
  std::size_t at_ = 0;
  int next_ = 1;
  int highest_ = 0;
  std::string out_;
};

bool all_known(Args args) {
  return std::all_of(args.begin(), args.end(), [](const Value& v) { return v.is_wholly_known(); });
}

FunctionResult format(Args args) {
  if (!all_known(args)) return Value::unknown(Type::string());
  return Value::string(NOMAD_TRY((Formatter{args[0].as_string(), args.subspan(1)}.run())));
}

/// How often `formatlist` runs: the common length of its sequences.
Outcome<std::size_t> iterations(Args args) {
  std::optional<std::size_t> length;
  std::size_t chooser = 0;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (!args[i].is_sequence()) continue;
    if (length && *length != args[i].size())
      return fail_at(i + 1,
                     "argument " + std::to_string(i + 1) + " has length "
                         + std::to_string(args[i].size()) + ", which is inconsistent with argument "
                         + std::to_string(chooser + 1) + " of length " + std::to_string(*length));
    if (!length) chooser = i;
    length = args[i].size();
  }
  return length.value_or(1);
}

FunctionResult formatlist(Args args) {
  const Args values = args.subspan(1);
  const Type strings = Type::list(Type::string());
  if (std::any_of(values.begin(), values.end(), [](const Value& v) { return v.is_unknown(); }))
    return Value::unknown(strings);
  const std::size_t count = NOMAD_TRY(iterations(values));
  Value::Elements out;
  std::vector<Value> row(values.size());
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < values.size(); ++j)
      row[j] = values[j].is_sequence() ? values[j].elements()[i] : values[j];
    if (!all_known(row)) {
      out.push_back(Value::unknown(Type::string()));
      continue;
    }
    auto line = Formatter{args[0].as_string(), row}.run();
    if (line.has_error())
      return values.empty() ? line.error()
                            : fail("error on format iteration " + std::to_string(i) + ": "
                                   + line.error().message);
    const std::string shown = std::move(line).take();
    bytes += shown.size();
    if (bytes > max_result_bytes) return too_large();
    out.push_back(Value::string(shown));
  }
  return Value::list(Type::string(), std::move(out));
}

}  // namespace

void add_format_functions(std::vector<Function>& out) {
  out.push_back(
      {"format", {{"format", Type::string()}}, Parameter{"args", Type::dynamic(), true}, format});
  out.push_back({"formatlist",
                 {{"format", Type::string()}},
                 Parameter{"args", Type::dynamic(), true, true},
                 formatlist});
}

}  // namespace nomad::hcl
