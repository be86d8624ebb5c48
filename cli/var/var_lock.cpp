// var lock: runs a child while it holds the lock of a variable.
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <thread>

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/alloc/terminal.hpp"
#include "cli/api_command.hpp"
#include "cli/input.hpp"
#include "cli/run.hpp"
#include "cli/var/child_group.hpp"
#include "cli/var/lock_lease.hpp"
#include "cli/var/specification.hpp"
#include "cli/var/var_view.hpp"
#include "runtime/base/duration.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/random.hpp"
#include "runtime/host/process/spawn.hpp"
#include "runtime/object/json_codec.hpp"

namespace nomad::cli {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// As Nomad's client has it.
constexpr std::string_view default_time = "15s";

/// So that programs that are started at once do not ask at once.
constexpr std::uint64_t longest_first_wait_ms = 100;

constexpr std::chrono::milliseconds longest_wait{60'000};

/// That the terminal has stopped the child wakes nobody.
constexpr std::chrono::milliseconds longest_at_terminal{100};

struct LockOptions : ApiCommand {
  using ApiCommand::ApiCommand;

  const bool& verbose = flag("verbose", "Says on stderr what it does.");
  const std::string& ttl = option("ttl", "For how long the lock is held without being renewed.");
  const std::string& delay
      = option("delay", "For how long nobody gets the lock after it was not renewed in time.");
  const std::int64_t& max_retry
      = number("max-retry", "How often a call is tried again that the servers could not serve.", 5);
  const bool& early_return = flag("early-return", "Ends if another has the lock.");
  const std::string& backoff
      = option("backoff", "From one attempt to take the lock to the next (1.1 times the TTL).");
  const bool& shell = flag("shell", "Runs the child by $SHELL, or /bin/sh.", true);

  void say(const std::string& what) const {
    if (verbose) std::cerr << what << '\n';
  }
};

struct LockTimes {
  std::string ttl_text;
  std::string delay_text;
  Nanoseconds ttl{};
  Nanoseconds pause{};
};

Result<LockTimes> lock_times(const LockOptions& options, const VariableDraft& draft) {
  LockTimes times;
  const auto of = [](const std::string& flag, const std::string& specified) {
    if (!flag.empty()) return flag;
    return specified.empty() ? std::string{default_time} : specified;
  };
  const auto given = draft.lock.value_or(LockSpecification{});
  times.ttl_text = of(options.ttl, given.ttl);
  times.delay_text = of(options.delay, given.delay);
  times.ttl = NOMAD_TRY(parse_duration(times.ttl_text).within("Invalid TTL"));
  NOMAD_TRY(parse_duration(times.delay_text).within("Invalid Lock Delay"));
  times.pause = times.ttl / 10 * 11;
  if (!options.backoff.empty())
    times.pause = NOMAD_TRY(parse_duration(options.backoff).within("Invalid backoff"));
  if (times.ttl <= 0ns || times.pause <= 0ns)
    return mistake("the TTL and the backoff must be longer than 0s");
  return times;
}

/// The calls of one lock. Its id is made here: a call whose answer was lost is made again with it.
class LockCalls {
public:
  LockCalls(Api& api, const VariableDraft& draft, const LockTimes& times, std::string id)
      : api_{api}, path_{variable_path(draft.path)}, id_{std::move(id)} {
    acquiring_
        = {{"Namespace", draft.ns},
           {"Path", draft.path},
           {"Lock", boost::json::object{
                        {"ID", id_}, {"TTL", times.ttl_text}, {"LockDelay", times.delay_text}}}};
    if (draft.items.empty()) return;
    boost::json::object items;
    for (const auto& [key, value] : draft.items)
      items[key] = value;
    acquiring_["Items"] = std::move(items);
  }

  struct Outcome {
    LockLease::Answer answer = LockLease::Answer::done;
    std::string what;
  };

  Outcome acquire() { return call("lock-acquire", boost::json::serialize(acquiring_)); }

  Outcome renew() { return call("lock-renew", boost::json::serialize(held())); }

  Outcome release() { return call("lock-release", boost::json::serialize(held())); }

private:
  boost::json::object held() const { return {{"Lock", boost::json::object{{"ID", id_}}}}; }

  Outcome call(std::string_view operation, std::string body) {
    using Answer = LockLease::Answer;
    const auto response
        = api_.send("PUT", path_ + "?" + std::string{operation}, {}, std::move(body));
    if (!response) {
      const bool is_of_agent = response.error().code != Errc::corrupt;
      return {is_of_agent ? Answer::try_again : Answer::failed, response.error().what};
    }
    if (response->status / 100 == 2 && !response->body.empty()) {
      const auto held = json_of(*response);
      return held ? Outcome{} : Outcome{Answer::failed, held.error().what};
    }
    if (response->status / 100 == 2) return {};
    const auto what = refusal(*response).what;
    if (response->status == 409) return {Answer::conflict, what};
    const bool is_passing = response->status >= 500 || response->status == 429;
    return {is_passing ? Answer::try_again : Answer::failed, what};
  }

  Api& api_;
  std::string path_;
  std::string id_;
  boost::json::object acquiring_;
};

host::SpawnOptions child_of(const LockOptions& options, const std::vector<std::string>& words) {
  host::SpawnOptions child;
  child.environment = host::own_environment();
  child.descriptors = {{0, 0}, {1, 1}, {2, 2}};
  child.directory = "";
  child.dies_with_thread = true;
  if (!options.shell) {
    child.program = words[0];
    child.arguments.assign(words.begin() + 1, words.end());
    child.searches_path = true;
    return child;
  }
  const auto* shell = std::getenv("SHELL");
  child.program = shell != nullptr && *shell != '\0' ? shell : "/bin/sh";
  std::string script;
  for (const auto& word : words)
    script += (script.empty() ? "" : " ") + word;
  child.arguments = {"-c", script};
  return child;
}

/// "" of a child that has done what it was to do.
std::string end_of(int status) {
  if (WIFSIGNALED(status)) return fmt::format("signal: {}", strsignal(WTERMSIG(status)));
  return WEXITSTATUS(status) == 0 ? "" : fmt::format("exit status {}", WEXITSTATUS(status));
}

/// Does what the lease decides, on one thread.
class LockedRun {
public:
  LockedRun(const LockOptions& options, LockCalls calls, LockLease lease, host::SpawnOptions child)
      : options_{options},
        calls_{std::move(calls)},
        lease_{std::move(lease)},
        child_{std::move(child)} {}

  Result<int> run() {
    const auto signals = NOMAD_TRY(CaughtSignals::make());
    while (true) {
      const auto act = lease_.next(Clock::now());
      if (act == LockLease::Act::end) break;
      if (act == LockLease::Act::wait)
        wait(signals);
      else
        carry_out(act);
    }
    if (!lease_.problem().empty()) return mistake("Lock error: " + lease_.problem());
    return 0;
  }

private:
  void carry_out(LockLease::Act act) {
    switch (act) {
      case LockLease::Act::acquire:
        options_.say("Attempting to acquire lock");
        return told(calls_.acquire());
      case LockLease::Act::renew:
        return told(calls_.renew());
      case LockLease::Act::start:
        return start();
      case LockLease::Act::terminate_child:
        return signal(SIGTERM);
      case LockLease::Act::kill_child:
        return signal(SIGKILL);
      case LockLease::Act::release:
        options_.say("Releasing the lock");
        return lease_.released(calls_.release().what);
      default:
        return;
    }
  }

  void told(const LockCalls::Outcome& outcome) {
    lease_.answered(outcome.answer, outcome.what, Clock::now());
  }

  void start() {
    options_.say("Variable locked, ready to execute");
    auto started = ChildGroup::start(child_);
    if (!started)
      return lease_.child_ended("error executing protected function: " + started.error().what);
    running_.emplace(std::move(*started));
    lease_.started();
  }

  void signal(int number) {
    if (running_) running_->signal(number);
  }

  /// A child that was stopped goes on here, where it is known that the lock is still held, or that
  /// the child was told to end.
  void wait(const CaughtSignals& signals) {
    if (std::exchange(goes_on_, false) && running_) running_->resume();
    pollfd watched[]{{signals.descriptor(), POLLIN, 0},
                     {running_ ? running_->descriptor() : -1, POLLIN, 0}};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(lease_.wake() - Clock::now());
    const auto longest = is_at_terminal_ ? longest_at_terminal : longest_wait;
    ::poll(watched, 2, static_cast<int>(std::clamp(left, 0ms, longest).count()));
    if (running_ && is_at_terminal_) running_->pass_stop_on();
    for (const int number : signals.take()) {
      if (number == SIGCONT) goes_on_ = is_at_terminal_;
      if (number == SIGWINCH || number == SIGCONT) continue;
      signal(number);
      lease_.stop();
    }
    if (running_ && (watched[1].revents & POLLIN) != 0) reap();
  }

  void reap() {
    const auto status = running_->reap();
    running_.reset();
    const auto problem = status ? end_of(*status) : status.error().what;
    lease_.child_ended(problem.empty() ? "" : "error executing protected function: " + problem);
  }

  const LockOptions& options_;
  LockCalls calls_;
  LockLease lease_;
  host::SpawnOptions child_;
  std::optional<ChildGroup> running_;
  const bool is_at_terminal_ = ::isatty(STDIN_FILENO) != 0;
  bool goes_on_ = false;  ///< After the terminal has stopped it and us.
};

/// The specification that the arguments point to, and the path; both are removed from them.
Result<VariableDraft> take_variable(const LockOptions& options, std::vector<std::string>& words) {
  std::string path;
  std::string file;
  const auto take = [&words] {
    auto word = words.front();
    words.erase(words.begin());
    return word;
  };
  if (is_file_reference(words.front()))
    file = take().substr(1);
  else
    path = trimmed_path(take());
  if (file.empty() && !words.empty() && is_file_reference(words.front())) file = take().substr(1);
  if (words.empty()) return mistake("Not enough arguments (expected a child to run)");
  std::string text;
  const auto format = specification_format(file);
  if (!file.empty()) {
    if (format.empty())
      return mistake(fmt::format(
          "Unable to determine format of {}; its name must end in .json or .hcl", file));
    text = NOMAD_TRY(read_input(file).within(fmt::format("Error reading \"{}\"", file)));
  }
  return parse_variable(text, format, options.common.ns, path)
      .within("Failed to parse variable data");
}

}  // namespace

Result<int> run_var_lock(const std::vector<std::string>& arguments) {
  LockOptions command{
      "var lock [options] <path or specification> [<specification>] <child>...",
      "Runs a command while it holds the lock of a variable, which is made if it is not there. A "
      "specification is @file. The child is ended if the lock is lost."};
  if (auto code = command.parse(arguments)) return *code;
  auto words = command.positional();
  if (words.size() < 2)
    return command.misuse(fmt::format("Not enough arguments (expected >2, got {})", words.size()));
  if (command.common.ns == "*") return mistake(wildcard_refused);
  const auto draft = NOMAD_TRY(take_variable(command, words));
  const auto times = NOMAD_TRY(lock_times(command, draft));
  // No call may take longer than what is left of the TTL when a renewal is due.
  command.answer_timeout
      = std::chrono::duration_cast<std::chrono::milliseconds>(times.ttl / 10 * 3);
  auto& api = *NOMAD_TRY(command.connect());
  if (!draft.ns.empty()) api.use_namespace(draft.ns);
  auto random = Random::from_system();
  std::this_thread::sleep_for(std::chrono::milliseconds{random.below(longest_first_wait_ms)});
  LockedRun run{command, LockCalls{api, draft, times, make_uuid(random)},
                LockLease{{.ttl = times.ttl,
                           .pause = times.pause,
                           .early_return = command.early_return,
                           .retries = command.max_retry}},
                child_of(command, words)};
  return run.run();
}

}  // namespace nomad::cli
