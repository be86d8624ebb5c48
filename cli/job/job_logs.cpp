// job logs: the lines of all allocations of a job as one, in the order of their times.
#include <array>
#include <iostream>
#include <map>
#include <optional>
#include <string>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/api_command.hpp"
#include "cli/interrupts.hpp"
#include "cli/lookup.hpp"
#include "cli/output/layout.hpp"
#include "cli/run.hpp"
#include "runtime/base/duration.hpp"
#include "runtime/base/ids.hpp"

namespace nomad::cli {
namespace {

struct JobLogsFlags : ApiCommand {
  using ApiCommand::ApiCommand;

  const bool& follow = flag("f", "Goes on showing what is written, also by new allocations.");
  const std::int64_t& lines = number("n", "Shows the last lines of each log, so many.", -1);
  const bool& tail = flag("tail", "Shows the last 10 lines of each log, or those of -n.");
  const std::string& since = option("since",
                                    "Shows lines from that time on: a duration before "
                                    "now, or a time of RFC 3339.");
  const std::string& grep = option("grep", "Shows the lines that a regular expression fits.");
  const std::string& task = option("task", "Shows the lines of this task alone.");
  const bool& of_stderr = flag("stderr", "Shows the standard error output.");
  const bool& of_both = flag("both", "Shows standard output and standard error output.");
  const bool& times = flag("t", "Shows the times of lines, with a ~ where they are estimates.");
  const bool& json = flag("json", "Prints the lines as JSON, as the agent sends them.");
};

Query query_of(const JobLogsFlags& flags) {
  Query query{{"follow", flags.follow ? "true" : "false"},
              {"type", flags.of_both     ? "all"
                       : flags.of_stderr ? "stderr"
                                         : "stdout"}};
  const auto lines = flags.lines >= 0 ? flags.lines : flags.tail ? 10 : -1;
  if (lines >= 0) query.emplace_back("tail", std::to_string(lines));
  if (!flags.since.empty()) query.emplace_back("since", flags.since);
  if (!flags.grep.empty()) query.emplace_back("grep", flags.grep);
  if (!flags.task.empty()) query.emplace_back("task", flags.task);
  return query;
}

/// Prints frames as they come, each line behind whose it is.
class LinePrinter {
public:
  LinePrinter(const JobLogsFlags& flags, const std::string& job)
      : flags_{flags}, prefix_of_job_{job + '.'} {}

  Result<> feed(std::string_view bytes) {
    for (auto end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n')) {
      partial_ += bytes.substr(0, end);
      bytes.remove_prefix(end + 1);
      NOMAD_TRY(show(std::exchange(partial_, {})));
    }
    partial_ += bytes;
    std::cout << std::flush;
    return {};
  }

private:
  Result<> show(const std::string& text) {
    boost::json::error_code failure;
    const auto frame = boost::json::parse(text, failure);
    if (failure) return Error{Errc::corrupt, "the stream holds no lines: " + failure.message()};
    const View view{frame};
    if (flags_.json && frame.as_object().size() > 0) {
      std::cout << text << '\n';
    } else if (!view["Error"].is_null()) {
      const auto whose = view["AllocID"].is_null() ? std::string{} : label(view) + ": ";
      std::cerr << whose << view["Error"].text() << std::endl;
    } else if (!view["Line"].is_null()) {
      std::cout << prefix(view) << view["Line"].text() << '\n';
    }
    return {};
  }

  std::string label(const View& frame) const {
    const auto name = frame["AllocName"].text();
    const auto group = name.starts_with(prefix_of_job_) ? name.substr(prefix_of_job_.size()) : name;
    return fmt::format("{} {} {}", group, short_id(frame["AllocID"].text()), frame["Task"].text());
  }

  /// In the colour of its allocation, where there are colours.
  std::string prefix(const View& frame) {
    constexpr std::array<std::string_view, 3> colors{"green", "yellow", "blue"};
    const auto known = positions_.emplace(frame["AllocID"].text(), positions_.size()).first;
    auto shown = colored(label(frame), colors[known->second % colors.size()]);
    if (flags_.times)
      shown = fmt::format("{}{} {}", format_rfc3339(frame["Time"].number()),
                          frame["TimeBy"].text() == "file" ? "~" : "", shown);
    return shown + " | ";
  }

  const JobLogsFlags& flags_;
  const std::string prefix_of_job_;  ///< Of its allocations' names.
  std::string partial_;
  std::map<std::string, std::size_t>
      positions_;  ///< Of allocations, in the order in which they came.
};

}  // namespace

Result<int> run_job_logs(const std::vector<std::string>& arguments) {
  JobLogsFlags command{"job logs [options] <job>",
                       "Shows what the tasks of all allocations of a job wrote, in order."};
  if (auto code = command.parse(arguments)) return *code;
  if (command.positional().size() != 1)
    return command.misuse("This command takes one argument: <job>");
  if (command.of_both && command.of_stderr)
    return command.misuse("-both shows -stderr, too: give one of them");
  auto& api = *NOMAD_TRY(command.connect());
  const auto job = NOMAD_TRY(find_job(api, command.positional()[0]));
  auto stream = NOMAD_TRY(api.stream("/v1/job/" + segment(job) + "/logs", query_of(command))
                              .within("Error reading the job's logs"));
  std::optional<EndsWell> whenever_it_is_enough;
  if (command.follow) whenever_it_is_enough.emplace();
  LinePrinter printer{command, job};
  for (;;) {
    const auto bytes = NOMAD_TRY(stream.read().within("Error reading the job's logs"));
    if (bytes.empty()) return 0;
    NOMAD_TRY(printer.feed(bytes));
  }
}

}  // namespace nomad::cli
