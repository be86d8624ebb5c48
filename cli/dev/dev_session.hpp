// DevSession: what `nomadctl dev` does next, decided from what has happened. An agent starts, a job
// is registered when it is ready, each save of the file stops the job and registers it anew, a
// signal stops it and then the agent.
//
// Pure: the caller tells it what has happened and carries out what it says, in that order. For one
// thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cli/output/json_view.hpp"

namespace nomad::cli::dev {

/// Registers the job as the file has it now. `registered` or `refused` follows.
struct Register {};

/// Stops the registered job and forgets it.
struct StopJob {};

/// Shows what the task writes from its beginning on.
struct Follow {
  std::string alloc;
  std::string task;
  std::string label;       ///< In front of each line.
  std::size_t number = 0;  ///< Counts labels, for their colours.

  bool operator==(const Follow&) const = default;
};

/// Kills what runs of the allocation.
struct Kill {
  std::string alloc;

  bool operator==(const Kill&) const = default;
};

/// Shows why the job could not be placed.
struct Explain {};

struct Say {
  std::string text;
  bool is_wrong = false;

  bool operator==(const Say&) const = default;
};

/// Ends the agent: in order, or at once.
struct EndAgent {
  bool at_once = false;

  bool operator==(const EndAgent&) const = default;
};

/// The command ends with this exit code. Nothing comes after it.
struct Finish {
  int code = 0;

  bool operator==(const Finish&) const = default;
};

using Action = std::variant<Register, StopJob, Follow, Kill, Explain, Say, EndAgent, Finish>;

class DevSession {
public:
  /// `once`: it ends when the job does, with 1 if a task has failed.
  explicit DevSession(bool once) : once_{once} {}

  void agent_ready();
  /// The file was read, at the start or after it was saved. `job` is in api form.
  void job_read(const View& job);
  void job_unreadable(const std::string& why);
  void registered();
  void refused(const std::string& why);
  /// Lists of allocations, evaluations and jobs as the API has them; those of the agent are all of
  /// this session.
  void state(const View& allocations, const View& evaluations, const View& jobs);
  /// One that ends programs has come: the first one ends the job, the second kills what is left of
  /// it, the third the agent.
  void signal();
  /// `why`: the end of its log.
  void agent_ended(const std::string& why);

  /// What is to be done now.
  std::vector<Action> take() { return std::exchange(actions_, {}); }

private:
  enum class Phase : std::uint8_t {
    starting,  ///< The agent is not there yet.
    running,
    stopping,  ///< The job, to be registered anew.
    ending,    ///< The job, and then the agent.
    closing,   ///< The agent.
    over
  };

  void act(Action action) { actions_.push_back(std::move(action)); }

  void follow(const View& alloc);
  void tell_events(const View& alloc);
  std::string label_of(const View& alloc, const std::string& task) const;
  void begin_end(int code);
  void look_at_end(const View& allocations, const View& jobs);

  bool once_;
  Phase phase_ = Phase::starting;
  bool has_job_ = false;
  bool is_registered_ = false;
  bool has_one_task_ = false;  ///< A label need not say more than its name.
  bool has_killed_ = false;
  int code_ = 0;
  std::set<std::string> living_;  ///< Allocations that have not ended.
  std::map<std::pair<std::string, std::string>, std::int64_t> told_;  ///< Newest event, by task.
  std::set<std::string> explained_;                                   ///< Evaluations.
  std::map<std::string, std::size_t> labels_;
  std::set<std::string> forgotten_;  ///< Allocations of earlier runs.
  std::vector<Action> actions_;
};

}  // namespace nomad::cli::dev
