// ContainerMachine: decides what happens to the container of one run of a task, from the order to
// start or find it until nothing of it is left.
//
// The idea: a container belongs to the engine, which may be slow, die, come back without it, or
// have done what it never answered. So nothing is believed but what the engine says of the
// container now, and whatever may have been made is looked for before the run is over.
//
// (1) Life, logs, stop and kill wait for one round each; an answer to any other is ignored.
// (2) A container that has our name is taken over if it is of this run and was started, is left
//     alone if it is another agent's, and is else removed before one is made.
// (3) A run that may have made a container is not over before that is removed, or the engine has
//     refused to remove it thirty times. A create that is under way is waited for, whatever was
//     ordered meanwhile.
// (4) A start is answered once: with the container that runs, or with an error, after one attempt
//     to remove what was made of it.
// (5) The end is what an inspection says, not what the answer to a wait does; it is told once, when
//     the logs are complete.
// (6) A destroyed run is told so last, when its container and its share of the network are gone.
//
// clang-format off
//
//   idle ─start─▶ image ─▶ network (of a group) ─▶ preparing ─▶ creating ─▶ opening_logs ─▶ starting ─▶ inspecting ─▶ running
//                                          create_pause ◀─▶ creating ─conflict─▶ name_taken ─▶ clearing_name ─▶ create_pause
//                                                                                └─of this run─▶ running
//   idle ─recover─▶ looking ─▶ running
//   running ─answered─▶ looking_again ─▶ running, as it runs still
//                                     └▶ ended
//
//   whatever fails to start, destroy ─▶ finding (may have been made) ─▶ removing ─▶ forgetting_logs ─▶ leaving ─▶ over
//
// clang-format on
//
// May depend on: runtime/base, runtime/workload.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "runtime/docker/container_body.hpp"
#include "runtime/docker/engine_machine.hpp"
#include "runtime/workload/task_env.hpp"
#include "runtime/workload/task_event.hpp"

namespace nomad::docker {

/// Of handles, which hold the container's id.
inline constexpr std::uint32_t container_handle_version = 1;

namespace container_action {

using engine_action::Ask;
using engine_action::Round;
using engine_action::Wait;
using engine_action::Withdraw;

/// Answer: `ready`.
struct GetImage {
  Round round;
};

/// The image of a container that was found is in use.
struct AdoptImage {
  std::string image;
};

/// No image is needed any more, or waited for.
struct ReleaseImage {};

/// Answer: `ready`, with the container whose network is to be joined.
struct JoinNetwork {
  Round round;
  std::string image;
};

/// The run is no reason to keep the network's container. Answer: `done`.
struct LeaveNetwork {
  Round round;
};

/// Make the body of the container, and the files that it wants. Answer: `ready`.
struct Prepare {
  Round round;
  std::string image;
  std::string network_container;
};

/// Of a container that was made and is not started yet. Answer: `done`.
struct OpenLogs {
  Round round;
};

/// It runs, and what it writes is to be kept: as it was opened, or as was recorded by then.
struct BeginLogs {
  bool is_terminal;
};

/// It has ended. Answer: `done`, when what it has written is kept.
struct EndLogs {
  Round round;
};

struct CloseLogs {};

/// Remove what is known of how far the logs were taken. Answer: `done`.
struct ForgetLogs {
  Round round;
};

/// It runs: to whoever asked for a start or for what is there.
struct TellRunning {};

struct TellFailed {
  Error error;
  bool recoverable;
};

struct TellExited {
  workload::ExitResult result;
};

struct TellDestroyed {};

/// An event of the task's history.
struct TellUser {
  std::string text;
};

/// A line for the agent's log.
struct LogError {
  std::string text;
  std::string container;
  std::string error;
};

/// Nothing is left, and nothing will be asked any more.
struct End {};

}  // namespace container_action

using ContainerAction = std::variant<container_action::GetImage,
                                     container_action::AdoptImage,
                                     container_action::ReleaseImage,
                                     container_action::JoinNetwork,
                                     container_action::LeaveNetwork,
                                     container_action::Prepare,
                                     container_action::Ask,
                                     container_action::Withdraw,
                                     container_action::Wait,
                                     container_action::OpenLogs,
                                     container_action::BeginLogs,
                                     container_action::EndLogs,
                                     container_action::CloseLogs,
                                     container_action::ForgetLogs,
                                     container_action::TellRunning,
                                     container_action::TellFailed,
                                     container_action::TellExited,
                                     container_action::TellDestroyed,
                                     container_action::TellUser,
                                     container_action::LogError,
                                     container_action::End>;

/// What never changes of a container.
struct ContainerTraits {
  std::string name;     ///< container_name().
  std::string agent;    ///< Of the label.
  bool removes = true;  ///< Those that have ended, when they are destroyed.
};

/// What is to be started.
struct ContainerStart {
  std::string run_id;
  std::string image{};  ///< As people wrote it; empty: what was loaded.
  bool joins_network = false;
  bool keeps_logs = false;
  bool advertises_ipv6 = false;
  std::map<std::string, std::int64_t> port_map{};
};

class ContainerMachine : public EngineMachine<ContainerAction> {
public:
  enum class Stage : std::uint8_t { starting, running, ended, ending };

  static constexpr int start_tries = 5;
  static constexpr int look_tries = 40;
  static constexpr int remove_tries = 30;

  explicit ContainerMachine(ContainerTraits traits) : traits_{std::move(traits)} {}

  // Orders. The first is `start`, `recover` or, of what nobody knows, `destroy`; that is the last.

  void start(ContainerStart start);
  /// `run_id` is "" for any run; `container` is "" for the one with our name.
  void recover(std::string run_id, const std::string& container);
  /// Asks it to end, and kills it after the grace; without a signal as the image wants. Breaks a
  /// start off. False: there is nothing to stop.
  bool stop(const std::string& signal, Nanoseconds grace);
  void destroy();

  /// A container of this run is another machine's, which began while this one, that knows no run,
  /// still looks.
  void spare(std::string run_id) { spared_ = std::move(run_id); }

  // Answers to actions.

  /// With the image, the network's container or the body; `may_pass`: another try may do.
  void ready(Round round, const Result<std::string>& what, bool may_pass);
  void answered(Round round, const EngineOutcome& outcome);
  void time_over(Round round);
  void done(Round round, const Result<>& outcome = {});

  Stage stage() const;

  const std::string& run_id() const { return start_.run_id; }

  const std::string& container() const { return container_; }  ///< Its id, once it is known.

  const workload::DriverNetwork& network() const { return network_; }

  /// It needs the container of its group's network, or nobody knows yet.
  bool may_join_network() const;

private:
  enum class State : std::uint8_t {
    idle,
    image,
    network,
    preparing,
    creating,
    create_pause,
    name_taken,
    clearing_name,
    opening_logs,
    starting,
    inspecting,
    looking,
    running,
    looking_again,
    ended,
    finding,
    removing,
    forgetting_logs,
    leaving,
    over,
  };

  struct Failure {
    Error error;
    bool recoverable = false;
  };

  // starting
  void got_image(const std::string& image);
  void prepare(const std::string& network_container);
  void create();
  void created(const EngineOutcome& outcome);
  void logs_opened(const Result<>& outcome);
  void create_again();
  void judge_name(const EngineOutcome& outcome);
  void start_container();
  void container_started(const EngineOutcome& outcome);
  void inspected(const EngineOutcome& outcome);
  void look();
  void looked(const EngineOutcome& outcome);
  void adopt(const Container& container);
  void run(const Container& container);
  void fail(Error err, bool recoverable);

  // running
  void watch();
  void look_again();
  void judge_end(const EngineOutcome& outcome);
  void end(workload::ExitResult result);
  void tell_end();
  void ask_to_stop();
  void kill();

  // nothing is to be left
  void wind_up();
  void find();
  void found(const EngineOutcome& outcome);
  void remove();
  void removed(const EngineOutcome& outcome);
  void not_removed(const Error& why);
  void leave();
  void left();

  bool is_running() const { return state_ == State::running || state_ == State::looking_again; }

  ContainerTraits traits_;
  ContainerStart start_;
  State state_ = State::idle;
  Round logs_round_ = 0;  ///< 0: nothing is waited for. So the others.
  Round stop_round_ = 0;
  Round kill_round_ = 0;
  int tries_ = 0;
  std::string image_;
  std::string body_;  ///< Not empty: a container may have been made.
  std::string container_;
  workload::DriverNetwork network_;
  std::optional<Failure> failure_;  ///< Why there will be no run.
  bool is_destroyed_ = false;       ///< By order.
  std::string spared_;              ///< The run whose container is not to be taken for a left one.
  bool is_removed_ = false;
  bool was_left_ = false;  ///< The network; and whoever waited has been told.
  std::string stop_signal_;
  Nanoseconds stop_grace_{0};
  bool has_logs_ = false;  ///< They were opened, or are to be as they were recorded.
  std::optional<workload::ExitResult> result_;
};

}  // namespace nomad::docker
