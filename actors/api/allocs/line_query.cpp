#include "actors/api/allocs/line_query.hpp"

#include "actors/api/http/answer.hpp"
#include "actors/api/http/json_out.hpp"
#include "runtime/base/duration.hpp"
#include "runtime/base/utf8.hpp"
#include "runtime/base/whole_number.hpp"
#include "runtime/text/number_text.hpp"

namespace nomad::api {
namespace {

Result<std::int64_t> number_given(const net::Request& request, std::string_view name) {
  const auto text = request.parameter_or_empty(name);
  const auto number = whole_number<std::int64_t>(text);
  if (number && *number >= 0) return *number;
  return bad_request(std::string{name} + " must be a whole number from 0 on, not \""
                     + std::string{text} + '"');
}

Result<std::int64_t> time_of(std::string_view text, std::int64_t now) {
  if (const auto before = parse_duration(text)) {
    if (*before < Nanoseconds{0}) return bad_request("since can't be negative");
    return now - before->count();
  }
  const auto time = parse_rfc3339(text);
  if (time) return *time;
  return bad_request(
      "since must be a duration (\"15m\") or a time (\"2006-01-02T15:04:05Z\"), not \""
      + std::string{text} + '"');
}

Result<std::optional<std::size_t>> tail_of(const net::Request& request) {
  const auto origin = request.parameter_or_empty("origin");
  if (!origin.empty() && origin != "start" && origin != "end")
    return bad_request("origin must be start or end");
  if (!request.parameter_or_empty("tail").empty()) {
    const auto tail = NOMAD_TRY(number_given(request, "tail"));
    if (tail > LineQuery::most_tail)
      return bad_request("tail can be " + std::to_string(LineQuery::most_tail) + " at most");
    return std::optional{static_cast<std::size_t>(tail)};
  }
  return origin == "end" ? std::optional<std::size_t>{0} : std::nullopt;
}

Result<std::shared_ptr<const Regex>> grep_of(std::string_view pattern) {
  Work work{Work::at_once};
  auto compiled = Regex::compile(pattern, work);
  if (!compiled) return bad_request("grep: " + compiled.error().what);
  return std::make_shared<const Regex>(std::move(*compiled));
}

/// What is no UTF-8 becomes U+FFFD: JSON knows nothing else.
std::string readable(std::string_view line) {
  if (is_valid_utf8(line)) return std::string{line};
  std::string text;
  for (std::size_t at = 0; at < line.size();) {
    const auto point = decode_utf8(line, at);
    append_utf8(text, point.value);
    at += point.length;
  }
  return text;
}

}  // namespace

Result<LineQuery> parse_line_query(const net::Request& request, std::int64_t now) {
  LineQuery query;
  if (const auto follow = request.parameter_or_empty("follow"); !follow.empty()) {
    const auto value = parse_bool(follow);
    if (!value)
      return bad_request("failed to parse follow field to boolean: " + value.error().what);
    query.follow = *value;
  }
  if (const auto since = request.parameter_or_empty("since"); !since.empty())
    query.since = NOMAD_TRY(time_of(since, now));
  query.tail = NOMAD_TRY(tail_of(request));
  if (const auto pattern = request.parameter_or_empty("grep"); !pattern.empty())
    query.grep = NOMAD_TRY(grep_of(pattern));
  if (!request.parameter_or_empty("begun").empty())
    query.begun = NOMAD_TRY(number_given(request, "begun"));
  return query;
}

Result<std::optional<host::StreamChunk>> LineFrames::read() {
  std::optional<host::StreamChunk> chunk;
  if (has_failed_) return chunk;
  const auto page = lines_.read();
  if (!page) {
    has_failed_ = true;
    JsonObject{chunk.emplace().data}.text("Error", page.error().what);
    chunk->data += '\n';
    return chunk;
  }
  should_rest_ = page->is_costly;
  if (page->lines.empty() && !page->told_all && !page->more) return chunk;
  chunk.emplace();
  for (const auto& line : page->lines) {
    JsonObject{chunk->data}
        .number("Time", line.time)
        .text("TimeBy", host::word_of(line.by))
        .text("Line", readable(line.text));
    chunk->data += '\n';
  }
  if (page->told_all) chunk->data += "{\"Live\":true}\n";
  return chunk;
}

}  // namespace nomad::api
