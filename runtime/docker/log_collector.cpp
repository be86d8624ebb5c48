#include "runtime/docker/log_collector.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include <fmt/format.h>

#include "runtime/base/files/replace_file.hpp"
#include "runtime/host/file_stream.hpp"

namespace nomad::docker {

namespace executor = host::executor;

namespace {

constexpr int first_form = 1;  // It does not say where the files are, nor how large.
constexpr int record_form = 2;
constexpr auto save_interval = std::chrono::seconds{1};

}  // namespace

LogCollector::LogCollector(LogCollectorOptions options) : options_{std::move(options)} {}

Result<> LogCollector::open_side(Side& side, const char* stream) {
  auto directory = executor::open_log_directory(options_.alloc_root);
  if (!directory)
    return Error{Errc::io, fmt::format("opening {}/alloc/logs: {}", options_.alloc_root,
                                       std::strerror(errno))};
  side.writer = std::make_unique<executor::LogWriter>(
      std::move(directory),
      executor::LogWriter::Options{.base = fmt::format("{}.{}", options_.task, stream),
                                   .max_files = options_.max_files,
                                   .max_file_bytes = options_.max_bytes});
  if (const int failure = side.writer->open(); failure != 0)
    return Error{Errc::io, fmt::format("opening the log {}.{}: {}", options_.task, stream,
                                       std::strerror(failure))};
  return {};
}

Result<> LogCollector::open(bool is_new) {
  const auto sizes = is_new ? Sizes{} : NOMAD_TRY(load());
  NOMAD_TRY(open_side(out_, "stdout"));
  NOMAD_TRY(open_side(err_, "stderr"));
  if (!is_new) {
    out_.to_skip = bytes_after(out_, sizes.out_index, sizes.out_size);
    err_.to_skip = bytes_after(err_, sizes.err_index, sizes.err_size);
  }
  save();
  return {};
}

Result<LogCollector::Sizes> LogCollector::load() {
  std::ifstream file{options_.position_file};
  if (!file) return Error{Errc::not_found, "no record says where the logs go"};
  int form = 0;
  LogPosition position;
  Sizes sizes;
  file >> form >> position.since >> position.messages >> position.first >> position.newest
      >> sizes.out_index >> sizes.out_size >> sizes.err_index >> sizes.err_size;
  if (form == record_form) {
    file >> options_.max_files >> options_.max_bytes >> std::ws;
    std::getline(file, options_.alloc_root);
  }
  const bool is_known = form == record_form || form == first_form;
  if (!file || !is_known || !options_.alloc_root.starts_with('/'))
    return Error{Errc::corrupt, options_.position_file + " does not say where the logs go"};
  kept_ = position;
  cursor_ = LogCursor{position};
  return sizes;
}

/// What the files have beyond `size` of the one with `index`. Those that were removed meanwhile
/// were full.
std::uint64_t LogCollector::bytes_after(const Side& side,
                                        std::uint64_t index,
                                        std::uint64_t size) const {
  const auto newest = side.writer->index();
  const auto root = host::Beneath::open(options_.alloc_root, false);
  if (newest < index || !root) return 0;
  const auto type = &side == &out_ ? host::LogType::stdout_log : host::LogType::stderr_log;
  const auto files = host::list_log_files(*root, options_.task, type);
  if (!files) return 0;
  std::uint64_t whole = 0;
  std::uint64_t missing = newest - index + 1;
  for (const auto& file : *files) {
    if (file.index < index || file.index > newest) continue;
    whole += file.size;
    if (missing > 0) --missing;  // "7" and "07" are both the seventh.
  }
  whole += std::min<std::uint64_t>(missing, options_.max_files) * options_.max_bytes;
  return whole > size ? whole - size : 0;
}

std::string LogCollector::since() const {
  if (kept_.since <= 0) return "0";
  constexpr std::int64_t second = 1'000'000'000;
  return fmt::format("{}.{:09}", kept_.since / second, kept_.since % second);
}

bool LogCollector::is_skipping() const {
  return cursor_.is_skipping() || out_.to_skip > 0 || err_.to_skip > 0;
}

Result<> LogCollector::take(std::string_view bytes) {
  if (options_.is_terminal)
    return messages_.take(bytes, [this](const LogMessage& message) { write(message); });
  std::optional<Error> failure;
  NOMAD_TRY(frames_.take(bytes, [&](Output output, std::string_view frame) {
    if (failure) return;
    const auto message = read_message(output, frame);
    if (message)
      write(*message);
    else
      failure = message.error();
  }));
  if (failure) return *failure;
  return {};
}

void LogCollector::write(const LogMessage& message) {
  changed_ = true;
  if (!cursor_.take(message)) return;
  auto& side = message.output == Output::err ? err_ : out_;
  auto text = message.text;
  const auto known = std::min<std::uint64_t>(side.to_skip, text.size());
  side.to_skip -= known;
  text.remove_prefix(static_cast<std::size_t>(known));
  if (text.empty()) return;
  const auto index = side.writer->index();
  if (const int failure = side.writer->write(text); failure != 0 && complaint_.empty())
    complaint_ = fmt::format("lines of the log are lost: {}", std::strerror(failure));
  if (side.writer->index() != index) save();
}

void LogCollector::restart() {
  if (!is_skipping()) kept_ = cursor_.position();
  cursor_.restart(kept_);
  frames_ = {};
  messages_ = {};
}

void LogCollector::save_if_due(Clock::time_point now) {
  if (!changed_ || now - saved_ < save_interval) return;
  saved_ = now;
  save();
}

void LogCollector::save() {
  changed_ = false;
  // What is known still has not all come; the position that was kept holds until it has.
  if (is_skipping() || is_closed_) return;
  kept_ = cursor_.position();
  const auto text = fmt::format("{} {} {} {} {} {} {} {} {} {} {} {}\n", record_form, kept_.since,
                                kept_.messages, kept_.first, kept_.newest, out_.writer->index(),
                                out_.writer->size(), err_.writer->index(), err_.writer->size(),
                                options_.max_files, options_.max_bytes, options_.alloc_root);
  if (const auto saved = replace_file(options_.position_file, text, Durability::of_process); !saved)
    complaint_ = saved.error().within("how far the logs were taken can't be kept").what;
}

std::pair<workload::LogMachine::Stop, std::string> log_stop(const EngineOutcome& outcome,
                                                            bool is_rest) {
  using Stop = workload::LogMachine::Stop;
  if (outcome) return {is_rest ? Stop::all_taken : Stop::broken_off, {}};
  const auto& why = outcome.error();
  if (why.code == Errc::not_found) return {Stop::for_good, {}};
  // The container's log driver can't be read.
  if (why.code == Errc::invalid_argument) return {Stop::for_good, why.what};
  return {Stop::broken_off, {}};
}

std::string LogCollector::take_complaint() {
  return std::exchange(complaint_, {});
}

}  // namespace nomad::docker
