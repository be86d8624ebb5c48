// alloc logs and alloc fs: reading what an allocation's tasks wrote.
#include <algorithm>
#include <iostream>
#include <sstream>
#include <string>
#include <thread>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <sodium/utils.h>

#include "cli/api.hpp"
#include "cli/layout.hpp"
#include "cli/lookup.hpp"
#include "cli/run.hpp"

namespace nomad::cli {
namespace {

/// The flags that say how much of a file is shown, shared by both commands.
struct TailFlags {
  bool follow = false;
  bool tail = false;
  std::int64_t lines = -1;
  std::int64_t bytes = -1;

  void add_to(Arguments& parser) {
    parser.flag("f", follow, "Goes on showing what is written.");
    parser.flag("tail", tail, "Starts near the end.");
    parser.option("n", lines, "With -tail: how many lines from the end.");
    parser.option("c", bytes, "With -tail: how many bytes from the end.");
  }

  std::int64_t wanted_lines() const { return lines < 0 && bytes < 0 ? 10 : lines; }

  /// From where to read: the bytes asked for, or enough for the lines.
  std::int64_t offset() const {
    if (bytes >= 0) return bytes;
    return tail ? wanted_lines() * 120 : 0;
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

std::string decode_base64(const std::string& text) {
  std::string bytes(text.size(), '\0');
  std::size_t length = 0;
  if (sodium_base642bin(reinterpret_cast<unsigned char*>(bytes.data()), bytes.size(), text.data(),
                        text.size(), nullptr, &length, nullptr, sodium_base64_VARIANT_ORIGINAL)
      != 0)
    return "";
  bytes.resize(length);
  return bytes;
}

/// Reads the frames of a stream and hands the bytes in them to `out`. Frames are JSON objects, one
/// after the other.
class FrameReader {
public:
  explicit FrameReader(std::ostream& out) : out_{out} {}

  Result<> feed(std::string_view bytes) {
    while (!bytes.empty()) {
      boost::json::error_code failure;
      const auto used = parser_.write_some(bytes.data(), bytes.size(), failure);
      if (failure) return Error{Errc::corrupt, "the stream holds no frames: " + failure.message()};
      bytes.remove_prefix(used);
      if (!parser_.done()) continue;
      const auto frame = parser_.release();
      parser_.reset();
      const View view{frame};
      if (!view["Data"].text().empty()) out_ << decode_base64(view["Data"].text()) << std::flush;
    }
    return {};
  }

private:
  std::ostream& out_;
  boost::json::stream_parser parser_;
};

/// Shows a stream until it ends. With -tail, what is there already is cut to the lines asked for.
int show_stream(
    Api& api, const std::string& path, Query query, const TailFlags& tail, std::ostream& out) {
  using namespace std::chrono_literals;
  const bool cut = tail.tail && tail.wanted_lines() >= 0;
  if (cut) {  // what is there, first
    Query now = query;
    now.emplace_back("follow", "false");
    auto stream = api.stream(path, now);
    if (!stream) return fail("Error reading file", stream.error());
    auto text = stream->read_all();
    if (!text) return fail("Error reading file", text.error());
    std::ostringstream whole;
    FrameReader frames{whole};
    if (auto fed = frames.feed(*text); !fed) return fail("Error reading file", fed.error());
    out << last_lines(whole.str(), tail.wanted_lines()) << std::flush;
    if (!tail.follow) return 0;
    for (auto& [name, value] : query)
      if (name == "offset") value = "0";
  }
  query.emplace_back("follow", tail.follow ? "true" : "false");
  auto stream = api.stream(path, query);
  if (!stream) return fail("Error reading file", stream.error());
  FrameReader frames{out};
  for (;;) {
    auto bytes = stream->read();
    if (!bytes) return fail("Error reading file", bytes.error());
    if (bytes->empty()) return 0;
    if (auto fed = frames.feed(*bytes); !fed) return fail("Error reading file", fed.error());
  }
}

/// The only task, or the one that the user named; empty with a complaint printed otherwise.
std::string choose_task(const View& alloc, const std::string& named) {
  if (!named.empty()) return named;
  const auto states = alloc["TaskStates"].members();
  if (states.size() == 1) return states[0].first;
  std::vector<std::string> names;
  for (const auto& group : alloc["Job"]["TaskGroups"].items())
    if (group["Name"].text() == alloc["TaskGroup"].text())
      for (const auto& task : group["Tasks"].items())
        names.push_back(task["Name"].text());
  if (names.size() == 1) return names[0];
  std::cerr << fmt::format("Allocation \"{}\" is running the following tasks:\n",
                           alloc["ID"].text().substr(0, 8));
  for (const auto& name : names)
    std::cerr << "  * " << name << '\n';
  std::cerr << "\nPlease specify the task.\n";
  return "";
}

/// The allocation that the first argument names: itself, or one of a job's with -job.
Found<Answer> choose_alloc(Api& api, bool is_job, const std::string& name, bool verbose) {
  if (!is_job) return find_by_prefix(api, alloc_kind, name, verbose);
  auto job = find_job(api, name);
  if (!job.value) return {{}, job.exit_code};
  auto alloc = any_alloc_of_job(api, *job.value);
  if (!alloc.value) return {{}, alloc.exit_code};
  return find_by_prefix(api, alloc_kind, *alloc.value, verbose);
}

}  // namespace

int run_alloc_logs(const std::vector<std::string>& arguments) {
  CommonFlags common;
  TailFlags tail;
  bool of_stdout = false;
  bool of_stderr = false;
  bool job = false;
  bool verbose = false;
  std::string task_flag;
  Arguments parser{"alloc logs [options] <allocation> [task]", "Shows the output of a task."};
  common.add_to(parser);
  tail.add_to(parser);
  parser.flag("stdout", of_stdout, "Shows the standard output; the default.");
  parser.flag("stderr", of_stderr, "Shows the standard error output.");
  parser.flag("job", job, "The first argument is a job; one of its allocations is shown.");
  parser.flag("verbose", verbose, "Shows whole ids.");
  parser.option("task", task_flag, "The task, if the allocation has several.");
  if (auto code = parser.parse(arguments)) return *code;
  const auto count = parser.positional().size();
  if (count < 1 || count > 2)
    return parser.misuse("This command takes one or two arguments: <allocation> [task]");
  auto api = Api::make(common);
  if (!api) return fail("Error", api.error());
  auto alloc = choose_alloc(*api, job, parser.positional()[0], verbose);
  if (!alloc.value) return alloc.exit_code;
  const auto task
      = choose_task(alloc.value->view(), count == 2 ? parser.positional()[1] : task_flag);
  if (task.empty()) return 1;
  const auto path = "/v1/client/fs/logs/" + alloc.value->view()["ID"].text();
  const auto show = [&, task](Api& connection, const char* type, std::ostream& out) {
    return show_stream(connection, path,
                       {{"task", task},
                        {"type", type},
                        {"origin", tail.tail ? "end" : "start"},
                        {"offset", std::to_string(tail.offset())}},
                       tail, out);
  };
  if (tail.follow && of_stdout == of_stderr) {  // both, each to its own
    auto second = Api::make(common);
    if (!second) return fail("Error", second.error());
    std::thread errors{[&] { show(*second, "stderr", std::cerr); }};
    const int code = show(*api, "stdout", std::cout);
    errors.join();
    return code;
  }
  if (of_stdout && of_stderr) show(*api, "stdout", std::cout);
  return show(*api, of_stderr ? "stderr" : "stdout", of_stderr ? std::cerr : std::cout);
}

namespace {

struct FsFlags {
  CommonFlags common;
  TailFlags tail;
  bool raw_sizes = false;
  bool stat = false;
  bool job = false;
  bool verbose = false;
};

std::string size_of(const View& file, bool raw) {
  return raw ? file["Size"].text() : bytes(static_cast<std::uint64_t>(file["Size"].number()));
}

int list_directory(Api& api, const FsFlags& flags, const std::string& id, const Query& query) {
  auto files = api.get("/v1/client/fs/ls/" + id, query);
  if (!files) return fail("Error listing alloc dir", files.error());
  Rows rows{{"Mode", "Size", "Modified Time", "Name"}};
  for (const auto& file : files->view().items())
    rows.push_back({file["FileMode"].text(), size_of(file, flags.raw_sizes),
                    clock_time(file["ModTime"]),
                    file["Name"].text() + (file["IsDir"].truth() ? "/" : "")});
  std::cout << table(rows) << '\n';
  return 0;
}

int show_file(Api& api, const FsFlags& flags, const std::string& id, const std::string& path) {
  if (flags.tail.follow || flags.tail.tail)
    return show_stream(api, "/v1/client/fs/stream/" + id,
                       {{"path", path},
                        {"origin", flags.tail.tail ? "end" : "start"},
                        {"offset", std::to_string(flags.tail.offset())}},
                       flags.tail, std::cout);
  auto stream = api.stream("/v1/client/fs/cat/" + id, {{"path", path}});
  if (!stream) return fail("Error reading file", stream.error());
  for (;;) {
    auto piece = stream->read();
    if (!piece) return fail("Error reading file", piece.error());
    if (piece->empty()) return 0;
    std::cout << *piece << std::flush;
  }
}

}  // namespace

int run_alloc_fs(const std::vector<std::string>& arguments) {
  FsFlags flags;
  Arguments parser{"alloc fs [options] <allocation> [path]",
                   "Lists a directory of an allocation or shows one of its files."};
  flags.common.add_to(parser);
  flags.tail.add_to(parser);
  parser.flag("H", flags.raw_sizes, "Shows sizes in bytes.");
  parser.flag("stat", flags.stat, "Shows what is known of the file instead of its content.");
  parser.flag("job", flags.job, "The first argument is a job; one of its allocations is shown.");
  parser.flag("verbose", flags.verbose, "Shows whole ids.");
  if (auto code = parser.parse(arguments)) return *code;
  const auto count = parser.positional().size();
  if (count < 1 || count > 2)
    return parser.misuse("This command takes one or two arguments: <allocation> [path]");
  auto api = Api::make(flags.common);
  if (!api) return fail("Error", api.error());
  auto alloc = choose_alloc(*api, flags.job, parser.positional()[0], flags.verbose);
  if (!alloc.value) return alloc.exit_code;
  const auto id = alloc.value->view()["ID"].text();
  const std::string path = count == 2 ? parser.positional()[1] : "/";
  auto file = api->get("/v1/client/fs/stat/" + id, {{"path", path}});
  if (!file) return fail("Error reading file", file.error());
  const auto view = file->view();
  if (flags.stat) {
    std::cout << table(
        {{"Mode", "Size", "Modified Time", "Content Type", "Name"},
         {view["FileMode"].text(), size_of(view, flags.raw_sizes), clock_time(view["ModTime"]),
          view["ContentType"].text(), view["Name"].text() + (view["IsDir"].truth() ? "/" : "")}})
              << '\n';
    return 0;
  }
  if (view["IsDir"].truth()) return list_directory(*api, flags, id, {{"path", path}});
  return show_file(*api, flags, id, path);
}

}  // namespace nomad::cli
