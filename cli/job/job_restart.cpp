// job restart: restarts the allocations of a job, or has them placed anew, batch by batch.
#include <algorithm>
#include <iostream>
#include <iterator>
#include <mutex>
#include <thread>

#include <unistd.h>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/api_command.hpp"
#include "cli/interrupts.hpp"
#include "cli/job/in_turn.hpp"
#include "cli/job/restart_plan.hpp"
#include "cli/lookup.hpp"
#include "cli/output/layout.hpp"
#include "cli/run.hpp"

namespace nomad::cli {
namespace {

using namespace std::chrono_literals;

/// How long a question about a change is held, and how often a word is said while nothing changes.
constexpr auto question_time = 10s;
constexpr auto silence = 60s;

/// Allocations of a batch that are restarted at once, each by a thread and a connection. The
/// others of the batch follow as these are done.
constexpr std::size_t most_at_once = 32;

/// What the flags say.
struct RestartOptions {
  RestartScope scope{};
  BatchSize batch{};
  BatchWait wait{};
  bool asks_on_error = false;
  bool all_tasks = false;
  bool reschedule = false;
  bool no_shutdown_delay = false;
  bool yes = false;
  bool verbose = false;
};

/// What went wrong with one allocation.
struct RestartFailure {
  std::string what;
  bool is_recoverable = true;  ///< The others may go well.
};

using RestartFailures = std::vector<RestartFailure>;

/// Lines of several threads, each whole.
class StampedLines {
public:
  void say(std::string_view text) {
    const std::lock_guard lock{guard_};
    std::cout << fmt::format("    {}: {}\n", clock_now(), text) << std::flush;
  }

  void head(std::string_view text) {
    const std::lock_guard lock{guard_};
    std::cout << title(fmt::format("==> {}: {}", clock_now(), text)) << std::endl;
  }

private:
  std::mutex guard_;
};

std::string counted(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string told_failures(const RestartFailures& failures) {
  std::vector<std::string> points;
  for (const auto& failure : failures)
    points.push_back("* " + failure.what);
  return fmt::format("{} occurred while restarting job:\n{}", counted(failures.size(), "error"),
                     fmt::join(points, "\n"));
}

/// One allocation's restart, by a connection that nobody else uses meanwhile.
class AllocRestart {
public:
  AllocRestart(Api& api, const RestartOptions& options, const View& alloc, StampedLines& lines)
      : api_{api},
        options_{options},
        id_{alloc["ID"].text()},
        job_{alloc["JobID"].text()},
        group_{alloc["TaskGroup"].text()},
        type_{alloc["JobType"].text()},
        lines_{lines} {}

  /// Over when it has restarted, or what replaces it runs. `tasks` are those of the flags that it
  /// has.
  RestartFailures run(const std::vector<std::string>& tasks) {
    RestartFailures failures = options_.reschedule ? replace() : restart(tasks);
    for (auto& failure : failures)
      failure.what
          = fmt::format("Error restarting allocation \"{}\": {}", shown(id_), failure.what);
    return failures;
  }

private:
  std::string shown(const std::string& id) const { return shown_id(id, options_.verbose); }

  static RestartFailure failure(std::string_view what, const Error& error) {
    return {error.within(what).what, error.code != Errc::permission_denied};
  }

  RestartFailures restart(const std::vector<std::string>& tasks) {
    if (!tasks.empty()) {
      RestartFailures failures;
      for (const auto& task : tasks) {
        lines_.say(fmt::format("Restarting task \"{}\" in allocation \"{}\" for group \"{}\"", task,
                               shown(id_), group_));
        if (const auto done = ask_restart(task); !done)
          failures.push_back(
              failure(fmt::format("Failed to restart task \"{}\"", task), done.error()));
      }
      return failures;
    }
    lines_.say(fmt::format("Restarting {} tasks in allocation \"{}\" for group \"{}\"",
                           options_.all_tasks ? "all" : "running", shown(id_), group_));
    const auto done = ask_restart("");
    if (!done)
      return RestartFailures{
          RestartFailure{done.error().what, done.error().code != Errc::permission_denied}};
    return {};
  }

  Result<Answer> ask_restart(const std::string& task) {
    return api_.put("/v1/client/allocation/" + id_ + "/restart",
                    boost::json::object{{"TaskName", task}, {"AllTasks", options_.all_tasks}});
  }

  RestartFailures replace() {
    lines_.say(fmt::format("Rescheduling allocation \"{}\" for group \"{}\"", shown(id_), group_));
    Query query;
    if (options_.no_shutdown_delay) query.emplace_back("no_shutdown_delay", "true");
    const auto stopped = api_.put("/v1/allocation/" + id_ + "/stop", nullptr, query);
    if (!stopped) return {failure("Failed to stop allocation", stopped.error())};
    if (type_ == "system") {  // which places nothing anew by itself
      const auto looked = api_.put(
          "/v1/job/" + segment(job_) + "/evaluate",
          boost::json::object{{"JobID", job_}, {"EvalOptions", {{"ForceReschedule", true}}}});
      if (!looked) return {failure("Failed evaluate job", looked.error())};
    }
    return wait_for_replacement(stopped->index);
  }

  /// `since`: the index of the stop.
  RestartFailures wait_for_replacement(std::uint64_t since) {
    auto current = id_;
    std::uint64_t index = 0;
    auto spoke = std::chrono::steady_clock::now();
    for (;;) {
      if (auto blocked = blocked_since(since)) return {*blocked};
      const auto alloc = api_.get(
          "/v1/allocation/" + current,
          {{"index", std::to_string(index)}, {"wait", fmt::format("{}s", question_time.count())}});
      if (!alloc)
        return {failure(fmt::format("Failed to retrieve allocation \"{}\"", shown(current)),
                        alloc.error())};
      // An agent that does not hold the question is not asked at once again.
      if (alloc->index <= index) std::this_thread::sleep_for(500ms);
      index = alloc->index;
      const auto next = alloc->view()["NextAllocation"].text();
      const auto status = alloc->view()["ClientStatus"].text();
      if (!next.empty()) {
        lines_.say(
            fmt::format("Allocation \"{}\" replaced by \"{}\", waiting for \"{}\" to start running",
                        shown(current), shown(next), shown(next)));
        current = next;
        index = 0;
        continue;
      }
      if (status == "running" && current != id_) {
        lines_.say(fmt::format("Allocation \"{}\" is \"running\"", shown(current)));
        return {};
      }
      if (options_.verbose)
        lines_.say(fmt::format("Allocation \"{}\" is \"{}\"", shown(current), status));
      if (std::chrono::steady_clock::now() - spoke < silence) continue;
      spoke = std::chrono::steady_clock::now();
      lines_.say(fmt::format("Still waiting for allocation \"{}\" to be replaced", shown(id_)));
    }
  }

  /// Whether nothing of its group could be placed.
  std::optional<RestartFailure> blocked_since(std::uint64_t since) {
    const auto evals = api_.get("/v1/job/" + segment(job_) + "/evaluations");
    if (!evals)
      return failure(fmt::format("Failed to retrieve evaluations for job \"{}\"", job_),
                     evals.error());
    for (const auto& eval : evals->view().items()) {
      if (static_cast<std::uint64_t>(eval["CreateIndex"].number()) < since
          || eval["Status"].text() != "blocked" || eval["FailedTGAllocs"][group_].is_null())
        continue;
      return RestartFailure{
          fmt::format("Evaluation \"{}\" has placement failures for group \"{}\"; `nomadctl eval "
                      "status {}` shows them",
                      shown(eval["ID"].text()), group_, shown(eval["ID"].text())),
          false};
    }
    return std::nullopt;
  }

  Api& api_;
  const RestartOptions& options_;
  std::string id_;
  std::string job_;
  std::string group_;
  std::string type_;
  StampedLines& lines_;
};

/// The whole command, once the job is found.
class JobRestart {
public:
  JobRestart(ApiCommand& command, RestartOptions options, std::string job)
      : command_{command}, options_{std::move(options)}, job_{std::move(job)} {}

  Result<int> run() {
    NOMAD_TRY(look());
    if (allocs_.empty()) {
      std::cout << "No allocations to restart\n";
      return 0;
    }
    lines_.head(fmt::format("Restarting {}", counted(allocs_.size(), "allocation")));
    const auto size = options_.batch.of(allocs_.size());
    RestartFailures all;
    for (std::size_t begin = 0; begin < allocs_.size(); begin += size) {
      if (const auto deployment = active_deployment()) {
        all.push_back(*deployment);
        break;
      }
      const auto failures = run_batch(begin, size);
      all.insert(all.end(), failures.begin(), failures.end());
      if (begin + size >= allocs_.size() || !goes_on_after(failures)) break;
      pause();
      if (NotedInterrupt::came() && !goes_on_after_interrupt()) break;
    }
    return end(all);
  }

private:
  Result<> look() {
    auto& api = *command_.api;
    const auto job = NOMAD_TRY(api.get("/v1/job/" + segment(job_)));
    const auto type = job.view()["Type"].text();
    if (options_.reschedule && type != "batch" && type != "service" && type != "system")
      return mistake(fmt::format("Jobs of type \"{}\" are not allowed to be rescheduled.", type));
    const auto versions
        = NOMAD_TRY(api.get("/v1/job/" + segment(job_) + "/versions")
                        .within(fmt::format("Error retrieving versions of job \"{}\"", job_)));
    list_
        = NOMAD_TRY(api.get("/v1/job/" + segment(job_) + "/allocations", {{"all", "true"}})
                        .within(fmt::format("Error retrieving allocations for job \"{}\"", job_)));
    const auto shown = [this](const std::string& id) { return shown_id(id, options_.verbose); };
    for (const auto& alloc : list_.view().items()) {
      const auto known = versions.view()["Versions"];
      const auto reason = skip_reason(alloc, known, options_.scope, shown);
      if (reason.empty()) {
        allocs_.push_back(alloc);
        auto& tasks = tasks_.emplace_back();
        for (const auto& task : options_.scope.tasks)
          if (has_task(alloc, known, task)) tasks.push_back(task);
      } else if (options_.verbose)
        lines_.say(fmt::format("Skipping allocation \"{}\" because {}", shown(alloc["ID"].text()),
                               reason));
    }
    return {};
  }

  std::optional<RestartFailure> active_deployment() {
    const auto list = command_.api->get("/v1/job/" + segment(job_) + "/deployments");
    if (!list)
      return RestartFailure{
          list.error()
              .within(fmt::format("Error retrieving deployments for job \"{}\"", job_))
              .what};
    for (const auto& deployment : list->view().items()) {
      const auto status = deployment["Status"].text();
      if (status != "failed" && status != "successful" && status != "cancelled")
        return RestartFailure{fmt::format("Deployment \"{}\" is \"{}\"",
                                          shown_id(deployment["ID"].text(), options_.verbose),
                                          status)};
    }
    return std::nullopt;
  }

  /// All of a batch, as many at once as there may be.
  RestartFailures run_batch(std::size_t begin, std::size_t size) {
    const auto count = std::min(size, allocs_.size() - begin);
    if (size > 1)
      lines_.head(
          fmt::format("Restarting {} batch of {} allocations", ordinal(begin / size + 1), count));
    std::vector<Api> apis;
    for (std::size_t i = 0; i < std::min(count, most_at_once); ++i) {
      auto api = Api::make(command_.common);
      if (!api) return {{api.error().what}};
      api->use_namespace(command_.api->ns());
      apis.push_back(std::move(*api));
    }
    std::vector<RestartFailures> each(count);
    const auto lack = in_turn(count, apis.size(), [&](std::size_t worker, std::size_t i) {
      each[i]
          = AllocRestart{apis[worker], options_, allocs_[begin + i], lines_}.run(tasks_[begin + i]);
    });
    if (!lack.empty())
      lines_.say(
          fmt::format("Fewer than {} allocations were restarted at once: cannot start a thread: {}",
                      apis.size(), lack));
    RestartFailures failures;
    for (auto& of_one : each)
      std::ranges::move(of_one, std::back_inserter(failures));
    return failures;
  }

  /// Whether another batch follows.
  bool goes_on_after(const RestartFailures& failures) {
    const bool is_hopeless = std::ranges::any_of(
        failures, [](const RestartFailure& failure) { return !failure.is_recoverable; });
    if (!failures.empty() && !options_.asks_on_error) {
      lines_.head("Stopping job restart due to error");
      return false;
    }
    if (options_.yes && is_hopeless) {
      lines_.head("Stopping job restart due to unrecoverable error");
      return false;
    }
    if (NotedInterrupt::came()) return goes_on_after_interrupt();
    if (options_.yes || (failures.empty() && !options_.wait.asks)) return true;
    if (!failures.empty()) lines_.head(told_failures(failures));
    is_canceled_ = !ask(question_after(failures, is_hopeless), failures.empty());
    if (is_canceled_) lines_.head("Job restart canceled");
    return !is_canceled_;
  }

  std::string question_after(const RestartFailures& failures, bool is_hopeless) const {
    const auto* wait = options_.wait.asks ? "/<wait duration>" : "";
    if (failures.empty()) return fmt::format("Proceed with the next batch? [Y/n{}]", wait);
    return fmt::format("{} and proceed with the next batch? [y/N{}]",
                       is_hopeless
                           ? "The errors above are likely to happen again.\nIgnore them anyway"
                           : "Ignore the errors above",
                       wait);
  }

  /// Asks until there is an answer; the end of input is none.
  bool ask(const std::string& question, bool by_default) {
    for (;;) {
      std::cout << title(fmt::format("==> {}: {}", clock_now(), question)) << ' ' << std::flush;
      std::string answer;
      if (!std::getline(std::cin, answer)) return false;
      const auto proceed = parse_proceed(answer, by_default, options_.wait.asks);
      if (!proceed) {
        std::cout << "    " << proceed.error().what << '\n';
        continue;
      }
      if (proceed->sets_wait) {
        options_.wait = {.time = proceed->wait};
        lines_.head(fmt::format("Proceeding restarts with new wait time of {}",
                                format_duration(proceed->wait)));
      }
      return proceed->goes_on;
    }
  }

  bool goes_on_after_interrupt() {
    const bool stops = ::isatty(STDIN_FILENO) == 0
                       || ask(
                           "Restart interrupted, no more allocations will be restarted.\n"
                           "Are you sure you want to stop the restart process? [y/N]",
                           false);
    if (stops) {
      std::cout << "\nCanceling job restart process\n";
      is_canceled_ = true;
      return false;
    }
    NotedInterrupt::go_on();
    return true;
  }

  /// An interrupt ends it.
  void pause() {
    if (options_.wait.time <= Nanoseconds{0}) return;
    lines_.head(fmt::format("Waiting {} before restarting the next batch",
                            format_duration(options_.wait.time)));
    const auto until = std::chrono::steady_clock::now() + options_.wait.time;
    sleep_until_interrupt(until);
  }

  int end(const RestartFailures& failures) {
    if (!failures.empty()) {
      if (!is_canceled_) lines_.head("Job restart finished with errors");
      std::cerr << '\n' << told_failures(failures) << '\n';
      return 1;
    }
    if (is_canceled_) return 0;
    lines_.head("Job restart finished");
    std::cout << "\nJob restarted successfully!\n";
    return 0;
  }

  ApiCommand& command_;
  RestartOptions options_;
  std::string job_;
  StampedLines lines_{};
  Answer list_{};
  std::vector<View> allocs_{};                     ///< Of `list_`.
  std::vector<std::vector<std::string>> tasks_{};  ///< Of each, those that are asked for.
  bool is_canceled_ = false;
};

Result<RestartOptions> restart_options(RestartOptions flags,
                                       const std::string& size,
                                       const std::string& wait,
                                       const std::string& on_error) {
  const bool is_interactive
      = flags.yes || (::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1);
  flags.batch = NOMAD_TRY(parse_batch_size(size));
  flags.wait = NOMAD_TRY(parse_batch_wait(wait, is_interactive));
  flags.asks_on_error = NOMAD_TRY(parse_on_error(on_error, is_interactive));
  if (flags.all_tasks && !flags.scope.tasks.empty())
    return mistake("The -all-tasks option cannot be used with -task");
  if (flags.reschedule && !flags.scope.tasks.empty())
    return mistake("The -reschedule option cannot be used with -task");
  return flags;
}

}  // namespace

Result<int> run_job_restart(const std::vector<std::string>& arguments) {
  ApiCommand command{"job restart [options] <job>",
                     "Restarts the allocations of a job in batches, or has them placed anew."};
  RestartOptions flags;
  command.flag("all-tasks", flags.all_tasks, "Also tasks that have ended.");
  auto& size = command.option("batch-size", "Allocations at once: a number or a percentage.", "1");
  auto& wait = command.option("batch-wait", "Time between batches, or ask.", "0s");
  command.option("group", flags.scope.groups, "Only this group; may stand several times.");
  command.option("task", flags.scope.tasks, "Only this task; may stand several times.");
  command.flag("no-shutdown-delay", flags.no_shutdown_delay, "Skips group and task delays.");
  auto& on_error = command.option("on-error", "After a batch with errors: ask or fail.", "ask");
  command.flag("reschedule", flags.reschedule, "Stops allocations and has them placed anew.");
  command.flag("yes", flags.yes, "Asks nothing, and goes on after errors.");
  command.flag("verbose", flags.verbose, "Shows whole ids, and what is left out.");
  if (auto code = command.parse(arguments, one_word("<job>"))) return *code;
  auto options = restart_options(flags, size, wait, on_error);
  if (!options) return command.misuse(options.error().what);
  auto& api = *NOMAD_TRY(command.connect());
  const auto job = NOMAD_TRY(find_job(api, command.positional()[0]));
  const NotedInterrupt noted;
  return JobRestart{command, std::move(*options), job}.run();
}

}  // namespace nomad::cli
