// base64, URL encoding and CSV.
#include <set>

#include "runtime/base/base64.hpp"
#include "runtime/base/text.hpp"
#include "runtime/base/utf8.hpp"
#include "runtime/hcl/functions/function_family.hpp"

namespace nomad::hcl {

namespace {

using Args = std::span<const Value>;

FunctionResult base64_encode(Args args) {
  return text(encode_base64(args[0].as_string()));
}

FunctionResult base64_decode(Args args) {
  const auto bytes = decode_base64(args[0].as_string());
  if (!bytes)
    return fail("failed to decode base64 data '" + std::string{args[0].as_string()} + "'");
  if (!is_valid_utf8(*bytes))
    return fail("the result of decoding the the provided string is not valid UTF-8");
  return text(*bytes);
}

FunctionResult url_encode(Args args) {
  return text(query_encode(args[0].as_string()));
}

// --- CSV ---------------------------------------------------------------------------------------

/// Reads RFC 4180 records as Go's encoding/csv does.
class CsvReader {
public:
  explicit CsvReader(std::string_view text) : text_{text} {}

  /// The next record, skipping empty lines. Nothing at the end and on an error.
  std::optional<std::vector<std::string>> read() {
    do {
      if (!next_line()) return std::nullopt;
    } while (line_ == "\n");
    const std::size_t start = number_;
    std::vector<std::string> record;
    while (field(record))
      if (!error_.empty()) return std::nullopt;
    if (!error_.empty()) return std::nullopt;
    if (wanted_ > 0 && record.size() != wanted_) {
      number_ = start;
      error_ = "wrong number of fields";
      return std::nullopt;
    }
    wanted_ = record.size();
    return record;
  }

  /// Empty at the end of the text.
  const std::string& error() const { return error_; }

  std::size_t line() const { return number_; }

private:
  bool next_line() {
    line_.clear();
    if (at_ >= text_.size()) return false;
    const std::size_t end = text_.find('\n', at_);
    const std::size_t stop = end == std::string_view::npos ? text_.size() : end + 1;
    line_ = text_.substr(at_, stop - at_);
    at_ = stop;
    ++number_;
    if (line_.ends_with("\r\n"))
      line_.replace(line_.size() - 2, 2, "\n");
    else if (line_.ends_with('\r'))
      line_.pop_back();
    rest_ = line_;
    return true;
  }

  /// Reads one field; false when it was the record's last.
  bool field(std::vector<std::string>& record) {
    if (rest_.starts_with('"')) return quoted_field(record);
    const std::size_t comma = rest_.find(',');
    std::string_view value = rest_.substr(0, comma);
    if (comma == std::string_view::npos && value.ends_with('\n')) value.remove_suffix(1);
    if (value.find('"') != std::string_view::npos) error_ = "bare \" in non-quoted-field";
    record.emplace_back(value);
    if (comma == std::string_view::npos) return false;
    rest_.remove_prefix(comma + 1);
    return true;
  }

  bool quoted_field(std::vector<std::string>& record) {
    constexpr const char* bad_quote = "extraneous or missing \" in quoted-field";
    std::string value;
    rest_.remove_prefix(1);
    for (;;) {
      const std::size_t quote = rest_.find('"');
      if (quote == std::string_view::npos) {
        value += rest_;
        if (!next_line()) {
          error_ = bad_quote;
          return false;
        }
        continue;
      }
      value += rest_.substr(0, quote);
      rest_.remove_prefix(quote + 1);
      if (rest_.starts_with('"')) {
        value += '"';
        rest_.remove_prefix(1);
        continue;
      }
      record.push_back(std::move(value));
      if (rest_.starts_with(',')) {
        rest_.remove_prefix(1);
        return true;
      }
      if (!rest_.empty() && rest_ != "\n") error_ = bad_quote;
      return false;
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t number_ = 0;
  std::size_t wanted_ = 0;
  std::string line_;
  std::string_view rest_;
  std::string error_;
};

FunctionResult csv_error(const CsvReader& reader) {
  return fail("CSV parse error on line " + std::to_string(reader.line()) + ": " + reader.error());
}

FunctionResult csv_decode(Args args) {
  CsvReader reader{args[0].as_string()};
  const auto header = reader.read();
  if (!header) return reader.error().empty() ? fail("missing header line") : csv_error(reader);
  std::set<std::string_view> names;
  std::vector<Type::Attribute> attributes;
  for (const std::string& name : *header) {
    if (!names.insert(name).second) return fail("duplicate column name " + quote(name));
    attributes.emplace_back(name, Type::string());
  }
  Value::Elements rows;
  while (const auto record = reader.read()) {
    Value::Entries row;
    for (std::size_t i = 0; i < record->size(); ++i)
      row.emplace_back((*header)[i], Value::string((*record)[i]));
    rows.push_back(Value::object(std::move(row)));
  }
  if (!reader.error().empty()) return csv_error(reader);
  return Value::list(Type::object(std::move(attributes)), std::move(rows));
}

}  // namespace

void add_encoding_functions(std::vector<Function>& out) {
  const std::vector<Parameter> one{{"str", Type::string()}};
  out.push_back({"base64encode", one, std::nullopt, base64_encode});
  out.push_back({"base64decode", one, std::nullopt, base64_decode});
  out.push_back({"urlencode", one, std::nullopt, url_encode});
  out.push_back({"csvdecode", one, std::nullopt, csv_decode});
}

}  // namespace nomad::hcl
