// dev: runs the job of a file on an agent of its own, shows what its tasks write, and runs it anew
// when the file is saved.
#include <chrono>
#include <csignal>
#include <iterator>
#include <memory>
#include <optional>

#include <poll.h>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/alloc/terminal.hpp"
#include "cli/api.hpp"
#include "cli/dev/dev_agent.hpp"
#include "cli/dev/dev_session.hpp"
#include "cli/dev/file_stamp.hpp"
#include "cli/dev/job_watch.hpp"
#include "cli/dev/task_output.hpp"
#include "cli/job/job_file.hpp"
#include "cli/output/terminal_text.hpp"
#include "cli/run.hpp"
#include "cli/why/ask.hpp"
#include "cli/why/findings.hpp"
#include "runtime/base/text.hpp"

namespace nomad::cli {
namespace {

using namespace std::chrono_literals;

/// Between looks whether the file was saved.
constexpr int look_every_ms = 100;
/// What a task has written last is waited for when it has ended.
constexpr std::chrono::milliseconds output_grace = 300ms;

struct DevFlags : Arguments {
  using Arguments::Arguments;

  JobFileFlags file{*this};
  const bool& once = flag("once", "Ends when the job has ended, with 1 if a task has failed.");
  const std::string& log_level = option(
      "log-level", "The agent's, which is shown if the agent ends by itself; INFO.", "INFO");
  CommonFlags common;  ///< For the agent of its own: colours, and nothing of the environment else.

  void add_colors() {
    flag("no-color", common.no_color, "Prints without colour.");
    flag("force-color", common.force_color, "Prints with colour even when not on a terminal.");
  }
};

/// The first of a job's datacenters if it is no pattern.
std::string datacenter_of(const boost::json::object& job) {
  const boost::json::value whole = job;
  const auto all = View{whole}["Datacenters"].items();
  if (all.empty()) return {};
  auto first = all[0].text();
  return first.find('*') == std::string::npos ? first : std::string{};
}

std::string pool_of(const JobFile& file) {
  const auto pool = file.text("NodePool");
  return pool == "all" ? std::string{} : pool;
}

class DevRun {
public:
  DevRun(const DevFlags& flags, JobFile file, dev::DevAgent agent, const CaughtSignals& signals)
      : flags_{flags},
        file_{std::move(file)},
        agent_{std::move(agent)},
        signals_{signals},
        session_{flags.once},
        connection_{flags.common},
        saved_{files_of(flags)} {
    connection_.address = agent_.address();
    use_scope_of(file_.job, connection_);
    outputs_.emplace(connection_, screen_);
  }

  int run() {
    tell_read();
    for (;;) {
      const auto actions = session_.take();
      for (const auto& action : actions) {
        if (const auto* end = std::get_if<dev::Finish>(&action)) return end->code;
        std::visit([this](const auto& one) { this->perform(one); }, action);
      }
      if (actions.empty()) wait();
    }
  }

private:
  /// The files that make up the job.
  static std::vector<std::string> files_of(const DevFlags& flags) {
    auto paths = flags.file.variable_files;
    paths.push_back(flags.positional()[0]);
    return paths;
  }

  void wait() {
    pollfd inputs[]{{signals_.descriptor(), POLLIN, 0},
                    {agent_.output(), POLLIN, 0},
                    {agent_.process(), POLLIN, 0},
                    {watch_ ? watch_->descriptor() : -1, POLLIN, 0}};
    ::poll(inputs, std::size(inputs), look_every_ms);
    const auto has_news = [&inputs](std::size_t which) { return inputs[which].revents != 0; };
    if (has_news(0))
      for (const int number : signals_.take())
        if (number != SIGWINCH && number != SIGCONT) session_.signal();
    if (has_news(1) && agent_.take_output()) session_.agent_ready();
    if (has_news(3)) take_state();
    if (has_news(2) && !has_ended_) {
      has_ended_ = true;
      agent_.reap();
      session_.agent_ended(last_line());
    }
    if (saved_.look()) read_anew();
  }

  void take_state() {
    const auto now = watch_->take();
    if (now) session_.state(View{now->allocations}, View{now->evaluations}, View{now->jobs});
  }

  /// What the agent has said last.
  std::string last_line() const {
    const auto lines = split(trim(agent_.last_output()), '\n');
    return lines.empty() ? std::string{} : one_line(lines.back());
  }

  void tell_read() {
    const boost::json::value job = file_.job;
    session_.job_read(View{job});
    for (const auto& warning : file_.warnings)
      screen_.say(warning, true);
  }

  void read_anew() {
    auto read = read_job_file(flags_.positional()[0], flags_.file);
    if (!read) return session_.job_unreadable(read.error().what);
    file_ = std::move(*read);
    tell_read();
  }

  void perform(const dev::Register&) {
    outputs_->stop(output_grace);
    const auto done = register_job();
    if (!done) {
      session_.refused(done.error().what);
      return;
    }
    registered_ = file_.text("ID");
    screen_.say(fmt::format("Job {} runs on the agent {}", quote(registered_), agent_.address()),
                false);
    session_.registered();
  }

  /// When the agent answers.
  Result<> connect() {
    api_.emplace(NOMAD_TRY(Api::make(connection_)));
    if (api_->ns() != "default")
      NOMAD_TRY(api_->put("/v1/namespace", boost::json::object{{"Name", api_->ns()}})
                    .within("Error creating the job's namespace"));
    watch_ = NOMAD_TRY(dev::JobWatch::start(NOMAD_TRY(Api::make(connection_))));
    return {};
  }

  Result<> register_job() {
    if (!watch_) NOMAD_TRY(connect());
    const auto answer
        = NOMAD_TRY(api_->send("PUT", "/v1/jobs", {},
                               boost::json::serialize(boost::json::object{
                                   {"Job", file_.job}, {"Submission", file_.submission}}))
                        .within("Error submitting job"));
    if (answer.status / 100 != 2) return refusal(answer).within("Error submitting job");
    return {};
  }

  void perform(const dev::StopJob&) {
    const auto stopped = api_->remove("/v1/job/" + segment(registered_), {{"purge", "true"}});
    if (!stopped) screen_.say("Error stopping job: " + stopped.error().what, true);
  }

  void perform(const dev::Follow& task) { outputs_->follow(task); }

  void perform(const dev::Kill& one) {
    const auto killed = api_->put("/v1/client/allocation/" + one.alloc + "/signal",
                                  boost::json::object{{"Signal", "SIGKILL"}});
    if (!killed) screen_.say("Error killing tasks: " + killed.error().what, true);
  }

  void perform(const dev::Explain&) {
    const auto facts = why::ask(*api_, registered_, "");
    if (!facts) return;  // It was stopped since.
    std::vector<why::Finding> findings;
    why::find_in_placements(*facts, findings);
    screen_.print([&findings] {
      for (const auto& finding : findings)
        why::print(finding);
    });
  }

  void perform(const dev::Say& told) { screen_.say(told.text, told.is_wrong); }

  void perform(const dev::EndAgent& how) {
    outputs_->stop(output_grace);
    watch_.reset();
    agent_.end(how.at_once);
  }

  void perform(const dev::Finish&) {}  // `run` returns

  const DevFlags& flags_;
  JobFile file_;
  dev::DevAgent agent_;
  const CaughtSignals& signals_;
  dev::DevSession session_;
  CommonFlags connection_;
  dev::SavedFiles saved_;
  dev::DevScreen screen_;
  std::optional<dev::TaskOutputs> outputs_;
  std::optional<Api> api_;
  std::unique_ptr<dev::JobWatch> watch_;
  std::string registered_;  ///< The job's id.
  bool has_ended_ = false;
};

}  // namespace

Result<int> run_dev(const std::vector<std::string>& arguments) {
  DevFlags flags{
      "dev [options] <path>",
      "Runs the job of a file on an agent of its own, whose state is in memory, and shows "
      "what its tasks write. The job runs anew when the file is saved. Ctrl-C stops it, "
      "and the agent with it; a second one kills the tasks."};
  flags.add_colors();
  if (auto code = flags.parse(arguments, one_word("<path>"))) return *code;
  flags.common.choose_color();
  auto file = NOMAD_TRY(
      read_job_file(flags.positional()[0], flags.file).within("Error getting job struct"));
  const auto signals = NOMAD_TRY(CaughtSignals::make());
  auto agent = NOMAD_TRY(dev::DevAgent::start({.region = file.text("Region"),
                                               .datacenter = datacenter_of(file.job),
                                               .node_pool = pool_of(file),
                                               .log_level = flags.log_level}));
  DevRun run{flags, std::move(file), std::move(agent), signals};
  return run.run();
}

}  // namespace nomad::cli
