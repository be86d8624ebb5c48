#include "runtime/base/log.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include "runtime/base/clock.hpp"
#include "runtime/base/duration.hpp"
#include "runtime/base/files/log_file.hpp"
#include "runtime/base/name_table.hpp"
#include "runtime/base/text.hpp"

namespace nomad::log {
namespace {

struct RegisteredListener {
  std::uint64_t id;
  Level level;
  Listener listener;
};

/// The logger and who else listens. Created on first use, so that tests may log without `start`.
struct Sinks {
  std::mutex guard;
  std::shared_ptr<spdlog::logger> logger;
  std::optional<LogFile> file;
  bool json = false;
  std::vector<RegisteredListener> listeners;
  std::uint64_t next_id = 1;
};

Sinks& sinks() {
  static Sinks instance;
  return instance;
}

std::atomic<Level> threshold{Level::warn};      // what the logger writes
std::atomic<Level> listener_level{Level::off};  // the lowest level any listener wants

std::string_view bracketed(Level level) {
  static constexpr std::string_view names[]
      = {"[TRACE]", "[DEBUG]", "[INFO] ", "[WARN] ", "[ERROR]", ""};
  return name_in(names, level);
}

std::string_view lower_name(Level level) {
  static constexpr std::string_view names[] = {"trace", "debug", "info", "warn", "error", "off"};
  return name_in(names, level);
}

std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '"' || c == '\\')
      (out += '\\') += c;
    else if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\u{:04x}", static_cast<int>(c));
    else
      out += c;
  }
  return out;
}

/// One event is one line, and no terminal that shows it is told anything by a name in it.
std::string one_line(std::string_view message) {
  std::string out;
  out.reserve(message.size());
  for (std::size_t at = 0; at < message.size(); ++at) {
    const auto byte = static_cast<unsigned char>(message[at]);
    const auto next = at + 1 < message.size() ? static_cast<unsigned char>(message[at + 1]) : 0;
    if (byte == '\n') {
      out += ' ';
    } else if ((byte < 0x20 && byte != '\t') || byte == 0x7F) {
      out += fmt::format("\\x{:02x}", byte);
    } else if (byte == 0xC2 && next >= 0x80 && next < 0xA0) {  // U+0080 to U+009F
      out += fmt::format("\\u{:04x}", next);
      ++at;
    } else {
      out += message[at];
    }
  }
  return out;
}

/// Whether a reader of `key=value` could take the end of the value for something else.
bool needs_quotes(std::string_view value) {
  return std::ranges::any_of(value, [](char c) {
    return static_cast<unsigned char>(c) <= 0x20 || c == '"' || c == '=' || c == '\\';
  });
}

std::string in_quotes(std::string_view value) {
  std::string out = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out += '"';
}

std::string render(
    Level level, std::string_view component, std::string_view message, Fields fields, bool json) {
  using namespace std::chrono;
  const auto now = time_point_cast<milliseconds>(system_clock::now());
  auto stamp = format_rfc3339(duration_cast<nanoseconds>(now.time_since_epoch()).count());
  std::string facts;
  for (const auto& field : fields)
    if (!field.is_empty()) field.append_to(facts, json);
  if (json)
    return fmt::format(R"({{"@level":"{}","@message":"{}","@module":"{}","@timestamp":"{}"{}}})",
                       lower_name(level), escaped(message), escaped(component), stamp, facts);
  return fmt::format("{} {} {}: {}{}{}", stamp, bracketed(level), component, one_line(message),
                     facts.empty() ? "" : ":", facts);
}

void refresh_listener_level(const Sinks& all) {
  Level lowest = Level::off;
  for (const auto& entry : all.listeners)
    lowest = std::min(lowest, entry.level);
  listener_level = lowest;
}

}  // namespace

Result<Level> parse_level(std::string_view text) {
  std::string lower{text};
  for (char& c : lower)
    c = to_lower(c);
  if (lower == "warning" || lower == "err") lower = lower == "err" ? "error" : "warn";
  for (auto level :
       {Level::trace, Level::debug, Level::info, Level::warn, Level::error, Level::off})
    if (lower == lower_name(level)) return level;
  return Error{
      Errc::invalid_argument,
      fmt::format("invalid log level \"{}\": expected TRACE, DEBUG, INFO, WARN, ERROR or OFF",
                  text)};
}

Result<> start(const Options& options) {
  auto logger = std::make_shared<spdlog::logger>("nomadctl",
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern("%v");
  logger->set_level(spdlog::level::trace);
  logger->flush_on(spdlog::level::trace);
  auto& all = sinks();
  const std::lock_guard lock{all.guard};
  if (!options.file.empty()) {
    auto file = NOMAD_TRY(LogFile::open(options.file, options.rotation, unix_now()));
    all.file.emplace(std::move(file));
  }
  all.logger = std::move(logger);
  all.json = options.json;
  threshold = options.level;
  return {};
}

void set_level(Level level) {
  threshold = level;
}

bool enabled(Level level) {
  return level >= threshold.load() || level >= listener_level.load();
}

void Field::append_to(std::string& line, bool json) const {
  if (json) {
    line += fmt::format(",\"{}\":", key_);
    line += is_number_ ? std::to_string(number_) : '"' + escaped(text_) + '"';
    return;
  }
  (line += ' ').append(key_) += '=';
  if (is_number_)
    line += std::to_string(number_);
  else
    line += one_line(needs_quotes(text_) ? in_quotes(text_) : std::string{text_});
}

void write(Level level, std::string_view component, std::string_view message, Fields fields) {
  auto& all = sinks();
  const std::lock_guard lock{all.guard};
  const auto line = render(level, component, message, fields, all.json);
  if (level >= threshold.load()) {
    if (all.logger == nullptr) {
      all.logger = std::make_shared<spdlog::logger>(
          "nomadctl", std::make_shared<spdlog::sinks::stderr_sink_mt>());
      all.logger->set_pattern("%v");
    }
    all.logger->log(spdlog::level::critical, line);
    if (all.file)
      if (const auto kept = all.file->append(line, unix_now()); !kept)
        all.logger->log(spdlog::level::critical, kept.error().what);
  }
  for (const auto& entry : all.listeners)
    if (level >= entry.level) entry.listener(level, line);
}

std::uint64_t add_listener(Level level, Listener listener) {
  auto& all = sinks();
  const std::lock_guard lock{all.guard};
  all.listeners.push_back({all.next_id, level, std::move(listener)});
  refresh_listener_level(all);
  return all.next_id++;
}

void remove_listener(std::uint64_t id) {
  auto& all = sinks();
  const std::lock_guard lock{all.guard};
  std::erase_if(all.listeners, [id](const auto& entry) { return entry.id == id; });
  refresh_listener_level(all);
}

}  // namespace nomad::log
