#include "runtime/template/value/format.hpp"

#include <algorithm>
#include <optional>

#include "runtime/base/text.hpp"
#include "runtime/base/utf8.hpp"
#include "runtime/template/value/printer.hpp"
#include "runtime/text/number_text.hpp"

namespace nomad::templates {
namespace {

/// Enough of a value for a message.
constexpr std::size_t most_shown = 4096;

/// Reads the directives of a format.
class Directive {
public:
  Directive(std::string_view format, std::span<const Value> arguments)
      : format_{format}, arguments_{arguments} {}

  std::string_view format_;
  std::span<const Value> arguments_;
  std::size_t at_ = 0;
  std::size_t next_ = 0;  ///< The argument that comes next.
  bool reordered_ = false;
  bool good_index_ = true;

  bool ended() const { return at_ >= format_.size(); }

  char peek() const { return ended() ? '\0' : format_[at_]; }

  /// "12": none if there is no number, or one that is too large.
  std::optional<int> take_number() {
    if (ended() || !is_digit(peek())) return std::nullopt;
    std::int64_t value = 0;
    for (; !ended() && is_digit(peek()); ++at_) {
      if (value > most) {
        at_ = format_.size();  // Go gives the directive up.
        return std::nullopt;
      }
      value = value * 10 + (peek() - '0');
    }
    return static_cast<int>(value);
  }

  /// "[3]": chooses the next argument. True if there was one.
  bool take_index() {
    if (peek() != '[') return false;
    reordered_ = true;
    const std::size_t close = format_.find(']', at_);
    const std::string_view inside = close == std::string_view::npos
                                        ? std::string_view{}
                                        : format_.substr(at_ + 1, close - at_ - 1);
    const bool fits = format_.size() - at_ >= 3 && close != std::string_view::npos;
    const auto index = is_digits(inside) ? parse_integer(inside, 10) : ParsedNumber<std::int64_t>{};
    const bool ok = fits && is_digits(inside) && !index.fault && index.value <= most;
    at_ = fits ? close + 1 : at_ + 1;
    if (ok && index.value >= 1 && static_cast<std::size_t>(index.value) <= arguments_.size()) {
      next_ = static_cast<std::size_t>(index.value) - 1;
      return true;
    }
    good_index_ = false;
    return ok;
  }

  /// "*": the width or precision is an argument. None if that is no suitable number.
  std::optional<int> take_star() {
    ++at_;
    if (next_ >= arguments_.size()) return std::nullopt;
    const Value& value = arguments_[next_++];
    std::int64_t number = most + 1;
    if (value.kind() == Kind::integer) number = value.as_integer();
    if (value.kind() == Kind::natural && value.as_natural() <= most)
      number = static_cast<std::int64_t>(value.as_natural());
    if (number > most || number < -most) return std::nullopt;
    return static_cast<int>(number);
  }

  static constexpr std::int64_t most = 1'000'000;
};

/// The flags of a directive, up to what is none.
void take_flags(Directive& directive, PrintFlags& flags) {
  for (; !directive.ended(); ++directive.at_) {
    switch (directive.peek()) {
      case '#':
        flags.sharp = true;
        break;
      case '0':
        flags.zero = !flags.minus;
        break;
      case '+':
        flags.plus = true;
        break;
      case '-':
        flags.minus = true;
        flags.zero = false;
        break;
      case ' ':
        flags.space = true;
        break;
      default:
        return;
    }
  }
}

/// Width, precision and indexes. Returns what is to be written in front: marks of bad numbers.
std::string take_sizes(Directive& directive, PrintFlags& flags) {
  std::string marks;
  bool after_index = directive.take_index();
  if (directive.peek() == '*') {
    flags.width = directive.take_star();
    if (!flags.width) marks += "%!(BADWIDTH)";
    if (flags.width && *flags.width < 0) {
      flags.width = -*flags.width;
      flags.minus = true;
      flags.zero = false;
    }
    after_index = false;
  } else {
    flags.width = directive.take_number();
    if (after_index && flags.width) directive.good_index_ = false;
  }
  if (directive.at_ + 1 < directive.format_.size() && directive.peek() == '.') {
    ++directive.at_;
    if (after_index) directive.good_index_ = false;
    after_index = directive.take_index();
    if (directive.peek() == '*') {
      flags.precision = directive.take_star();
      if (flags.precision && *flags.precision < 0) flags.precision.reset();
      if (!flags.precision) marks += "%!(BADPREC)";
      after_index = false;
    } else {
      flags.precision = directive.take_number().value_or(0);
    }
  }
  if (!after_index) directive.take_index();
  return marks;
}

}  // namespace

void Printer::missing_or_bad(char32_t verb, std::string_view what) {
  write("%!");
  this->verb(verb);
  write(what);
}

void Printer::extra(std::span<const Value> arguments) {
  flags_ = {};
  write("%!(EXTRA ");
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (i > 0) write(", ");
    write(type_name(arguments[i]));
    if (arguments[i].is_invalid()) continue;
    write('=');
    argument(arguments[i], 'v');
  }
  write(')');
}

void Printer::format(std::string_view format, std::span<const Value> arguments) {
  Directive directive{format, arguments};
  while (!directive.ended() && !overflowed_) {
    const std::size_t percent = std::min(format.find('%', directive.at_), format.size());
    write(format.substr(directive.at_, percent - directive.at_));
    directive.at_ = percent + 1;
    if (percent >= format.size()) break;
    directive.good_index_ = true;
    flags_ = {};
    take_flags(directive, flags_);
    const bool simple
        = directive.peek() >= 'a' && directive.peek() <= 'z' && directive.next_ < arguments.size();
    if (!simple) write(take_sizes(directive, flags_));
    if (directive.ended()) {
      write("%!(NOVERB)");
      break;
    }
    const CodePoint verb = decode_utf8(format, directive.at_);
    directive.at_ += verb.length;
    if (verb.value == '%') {
      write('%');
    } else if (!directive.good_index_) {
      missing_or_bad(verb.value, "(BADINDEX)");
    } else if (directive.next_ >= arguments.size()) {
      missing_or_bad(verb.value, "(MISSING)");
    } else {
      if (verb.value == 'v' || verb.value == 'w') {
        flags_.sharp_v = std::exchange(flags_.sharp, false);
        flags_.plus_v = std::exchange(flags_.plus, false);
      }
      const Value& value = arguments[directive.next_++];
      if (verb.value == 'w')
        bad_verb(value, 'w');
      else
        argument(value, verb.value);
    }
  }
  if (!directive.reordered_ && directive.next_ < arguments.size())
    extra(arguments.subspan(directive.next_));
}

Result<std::string> print(std::span<const Value> arguments, std::size_t limit) {
  Printer printer{limit};
  bool last_text = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const bool is_text = arguments[i].kind() == Kind::text;
    if (i > 0 && !is_text && !last_text) printer.write(' ');
    printer.argument(arguments[i], 'v');
    last_text = is_text;
  }
  return printer.result();
}

Result<std::string> print_value(const Value& value, std::size_t limit) {
  Printer printer{limit};
  if (value.is_invalid())
    printer.write("<no value>");
  else
    printer.pointee(value);
  return printer.result();
}

Result<std::string> print_line(std::span<const Value> arguments, std::size_t limit) {
  Printer printer{limit};
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (i > 0) printer.write(' ');
    printer.argument(arguments[i], 'v');
  }
  printer.write('\n');
  return printer.result();
}

Result<std::string> print_format(std::string_view format,
                                 std::span<const Value> arguments,
                                 std::size_t limit) {
  Printer printer{limit};
  printer.format(format, arguments);
  return printer.result();
}

std::string shown(const Value& value) {
  Printer printer{most_shown};
  printer.argument(value, 'v');
  return printer.take();
}

std::string shown_quoted(const Value& value) {
  Printer printer{most_shown};
  printer.argument(value, 'q');
  return printer.take();
}

std::string_view type_name(const Value& value) {
  return value.type() == nullptr ? "<nil>" : value.type()->name;
}

}  // namespace nomad::templates
