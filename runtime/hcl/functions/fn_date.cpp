// `formatdate` and `timeadd`.
#include "runtime/base/duration.hpp"
#include "runtime/base/text.hpp"
#include "runtime/hcl/functions/function_family.hpp"
#include "runtime/text/civil_time.hpp"

namespace nomad::hcl {

namespace {

using Args = std::span<const Value>;

/// Renders a timestamp by a format such as "YYYY-MM-DD'T'hh:mm:ssZ".
class DateFormat {
public:
  DateFormat(std::string_view format, const CivilTime& time) : format_{format}, time_{time} {}

  FunctionResult run() {
    for (std::size_t at = 0; at < format_.size() && error_.empty();) {
      const char c = format_[at];
      if (c == '\'')
        at = quoted_text(at);
      else if (is_letter(c))
        at = verb(at);
      else
        out_ += format_[at++];
    }
    return error_.empty() ? text(out_) : fail_at(0, error_);
  }

private:
  /// Text in single quotes, in which two quotes are one.
  std::size_t quoted_text(std::size_t at) {
    if (format_.substr(at).starts_with("''")) {
      out_ += '\'';
      return at + 2;
    }
    for (++at; at < format_.size(); ++at) {
      if (format_[at] != '\'') {
        out_ += format_[at];
      } else if (format_.substr(at).starts_with("''")) {
        out_ += '\'';
        ++at;
      } else {
        return at + 1;
      }
    }
    error_ = "unterminated literal '";
    return at;
  }

  std::size_t verb(std::size_t at) {
    std::size_t end = at;
    while (end < format_.size() && format_[end] == format_[at])
      ++end;
    const std::string_view token = format_.substr(at, end - at);
    const std::string_view rule = render(token);
    if (!rule.empty())
      error_ = "invalid date format verb " + quote(token) + std::string{rule == "?" ? "" : rule};
    return end;
  }

  /// Appends one part. Answers what would have been right, "?" for an unknown letter.
  std::string_view render(std::string_view token) {
    switch (token.front()) {
      case 'Y':
        return year(token.size());
      case 'M':
        return month(token.size());
      case 'D':
        return number(time_.day, token.size(), ": day of month must either be \"D\" or \"DD\"");
      case 'E':
        return weekday(token.size());
      case 'h':
        return number(time_.hour, token.size(), ": 24-hour must either be \"h\" or \"hh\"");
      case 'H':
        return number(time_.hour12(), token.size(), ": 12-hour must either be \"H\" or \"HH\"");
      case 'A':
      case 'a':
        return half(token);
      case 'm':
        return number(time_.minute, token.size(), ": minute must either be \"m\" or \"mm\"");
      case 's':
        return number(time_.second, token.size(), ": second must either be \"s\" or \"ss\"");
      case 'Z':
        return zone(token.size());
      default:
        return "?";
    }
  }

  std::string_view number(int value, std::size_t size, std::string_view rule) {
    if (size > 2) return rule;
    out_ += padded(value, size);
    return {};
  }

  std::string_view year(std::size_t size) {
    if (size != 2 && size != 4) return ": year must either be \"YY\" or \"YYYY\"";
    out_ += padded(size == 2 ? time_.year % 100 : time_.year, size);
    return {};
  }

  std::string_view month(std::size_t size) {
    const std::string_view name = month_names[static_cast<std::size_t>(time_.month - 1)];
    if (size <= 2)
      out_ += padded(time_.month, size);
    else if (size == 3)
      out_ += name.substr(0, 3);
    else if (size == 4)
      out_ += name;
    else
      return ": month must be \"M\", \"MM\", \"MMM\", or \"MMMM\"";
    return {};
  }

  std::string_view weekday(std::size_t size) {
    if (size != 3 && size != 4) return ": day of week must either be \"EEE\" or \"EEEE\"";
    const std::string_view name = day_names[static_cast<std::size_t>(time_.weekday())];
    out_ += size == 3 ? name.substr(0, 3) : name;
    return {};
  }

  std::string_view half(std::string_view token) {
    const bool upper = token.front() == 'A';
    if (token.size() != 2) return upper ? ": must be \"AA\"" : ": must be \"aa\"";
    if (time_.hour < 12)
      out_ += upper ? "AM" : "am";
    else
      out_ += upper ? "PM" : "pm";
    return {};
  }

  std::string_view zone(std::size_t size) {
    const int minutes = std::abs(time_.offset) / 60;
    const std::string sign{time_.offset < 0 ? '-' : '+'};
    const std::string plain = sign + padded(minutes / 60, 2) + padded(minutes % 60, 2);
    const std::string colon = sign + padded(minutes / 60, 2) + ":" + padded(minutes % 60, 2);
    switch (size) {
      case 1:
        out_ += time_.offset == 0 ? "Z" : colon;
        return {};
      case 3:
        out_ += plain == "+0000" ? "UTC" : plain;
        return {};
      case 4:
        out_ += plain;
        return {};
      case 5:
        out_ += colon;
        return {};
      default:
        return ": timezone must be Z, ZZZZ, or ZZZZZ";
    }
  }

  std::string_view format_;
  const CivilTime& time_;
  std::string out_;
  std::string error_;
};

FunctionResult format_date(Args args) {
  const auto time = parse_timestamp(args[1].as_string());
  if (!time) return fail_at(1, time.error().what);
  return DateFormat{args[0].as_string(), *time}.run();
}

FunctionResult time_add(Args args) {
  const CivilTime time = NOMAD_TRY(parse_timestamp(args[0].as_string()));
  return text(time.plus(NOMAD_TRY(parse_duration(args[1].as_string())).count()).to_rfc3339());
}

}  // namespace

void add_date_functions(std::vector<Function>& out) {
  const Type string = Type::string();
  out.push_back({"formatdate", {{"format", string}, {"time", string}}, std::nullopt, format_date});
  out.push_back({"timeadd", {{"timestamp", string}, {"duration", string}}, std::nullopt, time_add});
}

}  // namespace nomad::hcl
