#include "runtime/host/logs/log_lines.hpp"

#include <algorithm>
#include <utility>

#include "runtime/base/duration.hpp"
#include "runtime/base/text.hpp"

namespace nomad::host {
namespace {

constexpr std::size_t page_bytes = 64 * 1024;
constexpr std::size_t line_cost = 64;  ///< Of a line besides its text.
constexpr std::int64_t hour = 3'600'000'000'000;

/// Where "2026-11-30T10:20:30" begins, if it does at `at`.
bool is_civil_time(std::string_view text, std::size_t at) {
  constexpr std::string_view shape = "0000-00-00T00:00:00";
  if (text.size() - at < shape.size()) return false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const char c = text[at + i];
    const bool fits = shape[i] == '0'   ? c >= '0' && c <= '9'
                      : shape[i] == 'T' ? c == 'T' || c == ' '
                                        : c == shape[i];
    if (!fits) return false;
  }
  return true;
}

std::size_t digits_from(std::string_view text, std::size_t at) {
  std::size_t count = 0;
  while (at + count < text.size() && text[at + count] >= '0' && text[at + count] <= '9')
    ++count;
  return count;
}

std::optional<std::int64_t> parse_time_at(std::string_view text, std::size_t at) {
  constexpr std::size_t civil = 19;
  std::string written{text.substr(at, civil)};
  written[10] = 'T';
  at += civil;
  if (at < text.size() && (text[at] == '.' || text[at] == ',')) {
    const auto digits = digits_from(text, at + 1);
    if (digits == 0 || digits > 9) return std::nullopt;
    written += '.';
    written += text.substr(at + 1, digits);
    at += 1 + digits;
  }
  if (at >= text.size()) return std::nullopt;
  constexpr std::size_t offset = 6;  // "+02:00"
  if (text[at] == 'Z')
    written += 'Z';
  else if (text[at] == '+' || text[at] == '-')
    written += text.substr(at, offset);
  else
    return std::nullopt;
  const auto time = parse_rfc3339(written);
  return time ? std::optional{*time} : std::nullopt;
}

std::uint64_t total_of(const std::vector<LogFile>& files) {
  std::uint64_t total = 0;
  for (const auto& file : files)
    total += file.size;
  return total;
}

/// How many bytes of all files nobody wants. Those of a tail that are before it are read for what
/// is looked for in them.
std::uint64_t bytes_to_skip(const std::vector<LogFile>& files, const LineOptions& options) {
  const auto total = total_of(files);
  if (options.tail && *options.tail == 0) return total;
  if (options.tail && !options.wanted && !options.since)
    return total - std::min<std::uint64_t>(total, LogLines::most_tail_bytes);
  std::uint64_t skipped = 0;
  for (const auto& file : files) {
    // What is before the first that is not older, and no more: skipped is from the begin on.
    if (!options.since || file.modified >= *options.since) break;
    skipped += file.size;
  }
  return skipped;
}

bool begins_a_file(const std::vector<LogFile>& files, std::uint64_t offset) {
  for (const auto& file : files) {
    if (offset == 0) return true;
    if (offset < file.size) return false;
    offset -= file.size;
  }
  return true;
}

}  // namespace

std::string_view word_of(TimeBy by) {
  switch (by) {
    case TimeBy::line:
      return "line";
    case TimeBy::file:
      return "file";
    case TimeBy::arrival:
      break;
  }
  return "arrival";
}

std::optional<std::int64_t> time_in_line(std::string_view text) {
  constexpr std::size_t looked_at = 64;
  const auto last = std::min(looked_at, text.size());
  for (std::size_t at = 0; at < last; ++at)
    if (is_civil_time(text, at)) return parse_time_at(text, at);
  return std::nullopt;
}

Result<LogLines> LogLines::open(const Beneath& directory,
                                std::string task,
                                LogType type,
                                LineOptions options) {
  const auto files = NOMAD_TRY(list_log_files(directory, task, type));
  const auto skipped = bytes_to_skip(files, options);
  auto stream = NOMAD_TRY(LogStream::open(directory, std::move(task), type,
                                          {.offset = skipped, .follow = options.follow}));
  LogLines lines{std::move(stream), std::move(options)};
  lines.note_files(files);
  lines.is_amid_ = !begins_a_file(files, skipped);
  return lines;
}

void LogLines::note_files(const std::vector<LogFile>& files) {
  auto begin = options_.begun;
  for (const auto& file : files) {
    newest_ = "alloc/logs/" + file.name;
    const auto first = begin == 0 ? file.modified : std::min(begin, file.modified);
    files_.emplace(newest_, Written{.begin = first, .end = file.modified, .size = file.size});
    begin = file.modified;
  }
}

/// Of the bytes of the chunk until `at_`: the last line of them.
TimedLine LogLines::timed(std::string text) const {
  const auto now = options_.now();
  const auto position = chunk_.offset - chunk_.data.size() + at_;
  const auto known = files_.find(chunk_.file);
  const bool was_there = known != files_.end() && position <= known->second.size;
  const auto begin = was_there ? known->second.begin : now;
  const auto end = was_there ? known->second.end : now;
  if (const auto said = time_in_line(text); said && *said >= begin - hour && *said <= end + hour)
    return {.time = *said, .by = TimeBy::line, .text = std::move(text)};
  if (!was_there) return {.time = now, .by = TimeBy::arrival, .text = std::move(text)};
  const auto share = static_cast<double>(position) / static_cast<double>(known->second.size);
  const auto passed = static_cast<std::int64_t>(static_cast<double>(end - begin) * share);
  return {.time = begin + passed, .by = TimeBy::file, .text = std::move(text)};
}

void LogLines::keep(TimedLine line) {
  kept_bytes_ += line.text.size() + line_cost;
  kept_.push_back(std::move(line));
  while (!kept_.empty() && (kept_.size() > *options_.tail || kept_bytes_ > most_tail_bytes)) {
    kept_bytes_ -= kept_.front().text.size() + line_cost;
    kept_.pop_front();
  }
}

/// The line is complete, or as long as one may be.
Result<> LogLines::end_line(std::vector<TimedLine>& lines, Work& work) {
  auto text = std::exchange(partial_, {});
  if (std::exchange(is_amid_, false)) return {};
  if (options_.wanted && !NOMAD_TRY(options_.wanted(text, work))) return {};
  auto line = timed(std::move(text));
  if (options_.since && line.time < *options_.since) return {};
  if (options_.tail && phase_ == Phase::past)
    keep(std::move(line));
  else
    lines.push_back(std::move(line));
  return {};
}

Result<> LogLines::cut_line(std::vector<TimedLine>& lines, Work& work) {
  const auto rest = std::string_view{chunk_.data}.substr(at_);
  const auto end = rest.find('\n');
  const auto room = most_line_bytes - partial_.size();
  const auto length = std::min({end, rest.size(), room});
  partial_ += rest.substr(0, length);
  const bool is_whole = end <= length;
  at_ += length + (is_whole ? 1 : 0);
  return is_whole || length == room ? end_line(lines, work) : Result<>{};
}

/// Whether there is something to cut.
Result<bool> LogLines::has_bytes() {
  if (at_ < chunk_.data.size()) return true;
  // What follows what there was when this was opened is new. Without following nothing is.
  const bool has_read_all = options_.follow && !newest_.empty() && chunk_.file == newest_
                            && chunk_.offset >= files_.at(newest_).size;
  if (phase_ == Phase::past && has_read_all) return false;
  auto next = NOMAD_TRY(stream_.read());
  if (!next) return false;
  chunk_ = std::move(*next);
  at_ = 0;
  return true;
}

Result<LogLines::Page> LogLines::read() {
  Page page;
  Work work{page_work + Work::at_once};
  std::size_t used = 0;  // of what was read, and of what goes out
  while (used < page_bytes && work.used() < page_work) {
    if (phase_ == Phase::tail) {
      if (kept_.empty()) {
        phase_ = Phase::news;
        page.told_all = page.more = true;
        return page;
      }
      used += kept_.front().text.size() + line_cost;
      page.lines.push_back(std::move(kept_.front()));
      kept_.pop_front();
      continue;
    }
    if (NOMAD_TRY(has_bytes())) {
      const auto before = at_;
      NOMAD_TRY(cut_line(page.lines, work));
      used += at_ - before + line_cost;
      continue;
    }
    if (stream_.finished() && !partial_.empty()) NOMAD_TRY(end_line(page.lines, work));
    if (phase_ == Phase::past) {
      phase_ = Phase::tail;
      continue;
    }
    has_ended_ = stream_.finished();
    return page;
  }
  page.more = true;
  page.is_costly = work.used() >= page_work;
  return page;
}

}  // namespace nomad::host
