// alloc logs and alloc fs: reading what an allocation's tasks wrote.
#include <algorithm>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <thread>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/api_command.hpp"
#include "cli/interrupts.hpp"
#include "cli/lookup.hpp"
#include "cli/output/layout.hpp"
#include "cli/output/terminal_text.hpp"
#include "cli/run.hpp"
#include "runtime/base/base64.hpp"

namespace nomad::cli {
namespace {

/// The flags that say how much of a file is shown, shared by both commands.
struct TailFlags {
  const bool& follow;
  const bool& tail;
  const std::int64_t& lines;
  const std::int64_t& bytes;

  explicit TailFlags(Arguments& parser)
      : follow{parser.flag("f", "Goes on showing what is written.")},
        tail{parser.flag("tail", "Starts near the end.")},
        lines{parser.number("n", "With -tail: how many lines from the end.", -1)},
        bytes{parser.number("c", "With -tail: how many bytes from the end.", -1)} {}

  std::int64_t wanted_lines() const { return lines < 0 && bytes < 0 ? 10 : lines; }

  /// How far from the end to start: the bytes asked for, or enough for the lines.
  std::int64_t offset() const {
    if (!tail) return 0;
    return bytes >= 0 ? bytes : wanted_lines() * 120;
  }

  /// What is wrong with the flags; empty: nothing.
  std::string_view problem() const {
    if (!tail) return {};
    if (lines != -1 && bytes != -1) return "Both -n and -c are not allowed";
    return lines < -1 || bytes < -1 ? "Invalid size is specified" : "";
  }
};

/// What is left of `text` when only its last `count` lines are kept.
std::string last_lines(const std::string& text, std::int64_t count) {
  if (count < 0) return text;
  std::size_t start = text.size();
  if (start > 0 && text[start - 1] == '\n') --start;
  for (; start > 0; --start)
    if (text[start - 1] == '\n' && --count == 0) break;
  return text.substr(start);
}

/// How far a stream was read: a file, of logs the newest one, and the offset in it.
struct Position {
  std::int64_t file = -1;  ///< The number that ends a log file's name.
  std::int64_t offset = 0;
};

std::int64_t number_of_log(const std::string& path) {
  const auto digits = path.substr(path.rfind('.') + 1);
  std::int64_t number = 0;
  for (const char c : digits)
    if (c >= '0' && c <= '9') number = number * 10 + (c - '0');
  return number;
}

/// Reads the frames of a stream and hands the bytes in them to `out`. Frames are JSON objects, one
/// after the other. What lies before `known` is left out.
class FrameReader {
public:
  explicit FrameReader(std::ostream& out, Position known = {}) : out_{out}, known_{known} {}

  /// The end of the last frame.
  const Position& position() const { return last_; }

  Result<> feed(std::string_view bytes) {
    while (!bytes.empty()) {
      boost::json::error_code failure;
      const auto used = parser_.write_some(bytes.data(), bytes.size(), failure);
      if (failure) return Error{Errc::corrupt, "the stream holds no frames: " + failure.message()};
      bytes.remove_prefix(used);
      if (!parser_.done()) continue;
      const auto frame = parser_.release();
      parser_.reset();
      NOMAD_TRY(take(View{frame}));
    }
    return {};
  }

private:
  Result<> take(const View& frame) {
    const auto data = decode_base64(frame["Data"].text());
    if (!data) return Error{Errc::corrupt, "the stream's data: " + data.error().what};
    if (data->empty()) return {};
    last_ = {number_of_log(frame["File"].text()), frame["Offset"].number()};
    if (last_.file < known_.file) return {};
    const auto fresh = last_.file == known_.file ? last_.offset - known_.offset
                                                 : static_cast<std::int64_t>(data->size());
    if (fresh <= 0) return {};
    const auto skipped = data->size() - std::min(data->size(), static_cast<std::size_t>(fresh));
    out_ << std::string_view{*data}.substr(skipped) << std::flush;
    return {};
  }

  std::ostream& out_;
  const Position known_;
  Position last_;
  boost::json::stream_parser parser_;
};

/// Shows a stream until it ends. With -tail, what is there already is cut to the lines asked for.
Result<> show_stream(
    Api& api, const std::string& path, Query query, const TailFlags& tail, std::ostream& out) {
  Position known;
  if (tail.tail && tail.wanted_lines() >= 0) {  // what is there, first
    Query now = query;
    now.emplace_back("follow", "false");
    auto stream = NOMAD_TRY(api.stream(path, now));
    auto text = NOMAD_TRY(stream.read_all());
    std::ostringstream whole;
    FrameReader frames{whole};
    NOMAD_TRY(frames.feed(text));
    out << last_lines(whole.str(), tail.wanted_lines()) << std::flush;
    if (!tail.follow) return {};
    known = frames.position();
  }
  query.emplace_back("follow", tail.follow ? "true" : "false");
  auto stream = NOMAD_TRY(api.stream(path, query));
  FrameReader frames{out, known};
  for (;;) {
    auto bytes = NOMAD_TRY(stream.read());
    if (bytes.empty()) return {};
    NOMAD_TRY(frames.feed(bytes));
  }
}

/// Checks how many arguments there are; the exit code when it is wrong.
std::optional<int> check_arguments(const Arguments& parser, bool is_job) {
  if (parser.positional().empty())
    return parser.misuse(is_job ? "A job ID is required" : "An allocation ID is required");
  if (parser.positional().size() > 2)
    return parser.misuse("This command takes one or two arguments");
  return std::nullopt;
}

}  // namespace

Result<int> run_alloc_logs(const std::vector<std::string>& arguments) {
  ApiCommand command{"alloc logs [options] <allocation> [task]", "Shows the output of a task."};
  const TailFlags tail{command};
  auto& of_stdout = command.flag("stdout", "Shows the standard output; the default.");
  auto& of_stderr = command.flag("stderr", "Shows the standard error output.");
  const AllocFlags of_alloc{command};
  auto& verbose = command.flag("verbose", "Shows whole ids.");
  auto& task_flag = command.option("task", "The task, if the allocation has several.");
  if (auto code = command.parse(arguments)) return *code;
  if (auto code = check_arguments(command, of_alloc.job)) return *code;
  auto& api = *NOMAD_TRY(command.connect());
  auto alloc = NOMAD_TRY(choose_alloc(api, of_alloc, command.positional()[0], verbose));
  const auto task = NOMAD_TRY(
      choose_task(alloc.view(), task_flag,
                  command.positional().size() == 2 ? command.positional()[1] : std::string{},
                  "Failed to validate task: "));
  const auto path = "/v1/client/fs/logs/" + alloc.view()["ID"].text();
  const auto show = [&](Api& connection, const char* type, const char* origin, std::ostream& out) {
    return show_stream(connection, path,
                       {{"task", task},
                        {"type", type},
                        {"origin", origin},
                        {"offset", std::to_string(tail.offset())}},
                       tail, out);
  };
  std::optional<EndsWell> whenever_it_is_enough;
  if (tail.follow) whenever_it_is_enough.emplace();
  const RawOutput raw;
  const bool is_plain
      = !of_stdout && !of_stderr && !tail.tail && tail.lines <= 0 && tail.bytes <= 0;
  if (tail.follow && is_plain) {  // both, each to its own
    auto second = NOMAD_TRY(Api::make(command.common));
    Result<> of_errors;
    std::thread errors{[&] { of_errors = show(second, "stderr", "end", std::cerr); }};
    const auto of_output = show(api, "stdout", "end", std::cout);
    errors.join();
    constexpr std::string_view what = "Failed to tail stdout and stderr files";
    if (!of_output) return fail(what, of_output.error());
    return of_errors ? 0 : fail(what, of_errors.error());
  }
  if (of_stdout && of_stderr) return mistake("Unable to support both stdout and stderr");
  if (!tail.problem().empty()) return mistake(tail.problem());
  const char* type = of_stderr ? "stderr" : "stdout";
  const auto shown = show(api, type, tail.tail ? "end" : "start", std::cout);
  if (shown) return 0;
  return fail(
      fmt::format("Failed to read {} file: error {} file", type, tail.tail ? "tailing" : "reading"),
      shown.error());
}

namespace {

struct FsFlags : ApiCommand {
  using ApiCommand::ApiCommand;

  const TailFlags tail{*this};
  const bool& raw_sizes = flag("H", "Shows sizes in bytes.");
  const bool& stat = flag("stat", "Shows what is known of the file instead of its content.");
  const AllocFlags of_alloc{*this};
  const bool& verbose = flag("verbose", "Shows whole ids.");
};

std::string size_of(const View& file, bool raw) {
  return raw ? file["Size"].text() : bytes(static_cast<std::uint64_t>(file["Size"].number()));
}

Result<int> list_directory(Api& api,
                           const FsFlags& flags,
                           const std::string& id,
                           const Query& query) {
  Rows rows{{"Mode", "Size", "Modified Time", "Name"}};
  std::string next;
  do {
    auto page = query;
    if (!next.empty()) page.emplace_back("next_token", next);
    auto files
        = NOMAD_TRY(api.get("/v1/client/fs/ls/" + id, page).within("Error listing alloc dir"));
    for (const auto& file : files.view().items())
      rows.push_back({file["FileMode"].text(), size_of(file, flags.raw_sizes),
                      clock_time(file["ModTime"]),
                      file["Name"].text() + (file["IsDir"].truth() ? "/" : "")});
    next = files.next_token;
  } while (!next.empty());
  std::cout << table(rows) << '\n';
  return 0;
}

Result<int> show_file(Api& api,
                      const FsFlags& flags,
                      const std::string& id,
                      const std::string& path) {
  std::optional<EndsWell> whenever_it_is_enough;
  if (flags.tail.follow) whenever_it_is_enough.emplace();
  const RawOutput raw;
  if (flags.tail.follow || flags.tail.tail) {
    const auto shown = show_stream(api, "/v1/client/fs/stream/" + id,
                                   {{"path", path},
                                    {"origin", flags.tail.tail ? "end" : "start"},
                                    {"offset", std::to_string(flags.tail.offset())}},
                                   flags.tail, std::cout);
    if (shown) return 0;
    return fail(flags.tail.tail ? "Error tailing file" : "Error reading file", shown.error());
  }
  auto stream = NOMAD_TRY(
      api.stream("/v1/client/fs/cat/" + id, {{"path", path}}).within("Error reading file"));
  for (;;) {
    auto piece = NOMAD_TRY(stream.read().within("Error reading file"));
    if (piece.empty()) return 0;
    std::cout << piece << std::flush;
  }
}

}  // namespace

Result<int> run_alloc_fs(const std::vector<std::string>& arguments) {
  FsFlags command{"alloc fs [options] <allocation> [path]",
                  "Lists a directory of an allocation or shows one of its files."};
  if (auto code = command.parse(arguments)) return *code;
  if (auto code = check_arguments(command, command.of_alloc.job)) return *code;
  if (!command.tail.problem().empty()) return mistake(command.tail.problem());
  auto& api = *NOMAD_TRY(command.connect());
  auto alloc
      = NOMAD_TRY(choose_alloc(api, command.of_alloc, command.positional()[0], command.verbose));
  const auto id = alloc.view()["ID"].text();
  const std::string path = command.positional().size() == 2 ? command.positional()[1] : "/";
  auto file = NOMAD_TRY(api.get("/v1/client/fs/stat/" + id, {{"path", path}}));
  const auto view = file.view();
  if (command.stat) {
    std::cout << table(
        {{"Mode", "Size", "Modified Time", "Content Type", "Name"},
         {view["FileMode"].text(), size_of(view, command.raw_sizes), clock_time(view["ModTime"]),
          view["ContentType"].text(), view["Name"].text() + (view["IsDir"].truth() ? "/" : "")}})
              << '\n';
    return 0;
  }
  if (view["IsDir"].truth()) return list_directory(api, command, id, {{"path", path}});
  return show_file(api, command, id, path);
}

}  // namespace nomad::cli
