// TemplateMachine: decides when the templates of one task are placed, rendered and followed, when
// the task may start with them, and when it is told of a change. Which of them are to be rendered,
// and what follows from a change, TaskTemplates knows. What happened goes in as calls; what to do
// about it comes out of `take`. No I/O, no clock, no thread, no actor.
//
// (1) One step at a time touches the task's files: places are found, templates rendered, the note
//     of what the task is still to be told cleared. What happens meanwhile is looked at after it.
// (2) A start is answered once: when all is rendered, with an error if locations can't be found,
//     or as cancelled.
// (3) Once the end is answered nothing is written any more, and a cancelled start is answered
//     before its Cancel.
// (4) A task whose templates have failed is ended once, and nothing is rendered before it starts
//     again.
//
//   unused ─start, started─▶ working ─rendered or placed with an error, failed─▶ failed
//                              │  ▲        failed ─start─▶ working
//                              │  └─start─ stopped ◀─stop─ (any)
//                              └─cancel, of a start─▶ cancelled
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/base/random.hpp"
#include "runtime/base/result.hpp"
#include "runtime/template/change/missing_report.hpp"
#include "runtime/workload/templates/task_templates.hpp"

namespace nomad::workload {

namespace template_action {

/// Find where templates are read and written. Answer: `placed`.
struct Locate {};

/// Render these, and write those that are whole and have another text. Answer: `rendered`.
struct Render {
  std::vector<std::size_t> which;
};

/// The note of what the task is still to be told goes. Answer: `note_cleared`.
struct ClearNote {};

/// A step is to give up what it does; it answers all the same, soon.
struct StopStep {};

/// Follow these and nothing else; what is not asked for any more is asked for again.
struct Follow {
  std::set<templates::ClusterQuery> queries;
};

/// Follow nothing any more, files neither.
struct StopFollowing {};

/// Do this to the task. Answer: `acted`.
struct CarryOut {
  templates::ChangePlan plan;
};

/// Something for the task's history.
struct Tell {
  std::string text;
  std::optional<templates::VariableQuery> awaited{};  ///< A variable that does not exist.
};

/// The task ends, as failed.
struct Fail {
  std::string text;
};

/// Answer: `look`, after `delay`. It replaces the last one.
struct Wait {
  std::uint64_t round;
  Nanoseconds delay;
};

/// The task may start, with the variables that were rendered; or not.
struct AnswerStart {
  Result<> outcome;
};

struct AnswerCancel {};

struct AnswerStop {};

}  // namespace template_action

using TemplateAction = std::variant<template_action::Locate,
                                    template_action::Render,
                                    template_action::ClearNote,
                                    template_action::StopStep,
                                    template_action::Follow,
                                    template_action::StopFollowing,
                                    template_action::CarryOut,
                                    template_action::Tell,
                                    template_action::Fail,
                                    template_action::Wait,
                                    template_action::AnswerStart,
                                    template_action::AnswerCancel,
                                    template_action::AnswerStop>;

class TemplateMachine {
public:
  using Time = TaskTemplates::Time;

  TemplateMachine(const std::vector<TemplateTerms>& terms, Random random)
      : templates_{terms}, random_{random} {}

  /// What to do since the last call, in this order. To be called after every event.
  std::vector<TemplateAction> take() { return std::exchange(actions_, {}); }

  // What happens to the task.

  /// It is about to start, or was found running. `anew`: if it has started before, all is rendered
  /// once more.
  void start(bool is_running, bool anew, Time now);
  void started(Time now);

  void exited() { templates_.exited(); }

  /// It starts nothing any more.
  void cancel();
  void stop();

  // What happens to the templates.

  /// There is another answer to `query`.
  void news(const templates::ClusterQuery& query, Time now);
  /// A file that template `index` reads is another one.
  void file_changed(std::size_t index, Time now);

  /// Whoever follows has begun anew, and has to be asked again.
  void follow_again(Time now) { go_on(now); }

  /// What is followed, or was to be done to the task, failed for good; the task ends.
  void failed(std::string text);

  // Answers to actions.

  /// What an earlier agent had written and not dealt with; or why the locations can't be found.
  void placed(const Result<std::set<std::size_t>>& unsettled, Time now);
  /// `noted`: there is a note of what the task is still to be told.
  void rendered(const Result<std::vector<TemplateRendering>>& done, bool noted, Time now);
  void note_cleared(Time now);
  void acted(Time now);
  void look(std::uint64_t round, Time now);

  // What is known.

  /// For who renders.
  const TaskTemplates& templates() const { return templates_; }

  /// Where they are read and written is known, as it is to be.
  bool is_placed() const { return locations_ == Locations::known; }

  bool is_stopped() const { return life_ == Life::stopped; }

private:
  enum class Life : std::uint8_t { unused, working, failed, cancelled, stopped };
  enum class State : std::uint8_t { none, placing, rendering, clearing_note };
  enum class Locations : std::uint8_t { unknown, outdated, known };

  void begin(bool is_running, bool anew);
  void go_on(Time now);
  void next_step(Time now);
  void release_or_report(Time now);
  void wait(Time now);
  void step_over(Time now);
  void answer_start(Result<> outcome);
  void answer_end();

  void act(TemplateAction action) { actions_.push_back(std::move(action)); }

  TaskTemplates templates_;
  Random random_;
  std::vector<TemplateAction> actions_;
  Life life_ = Life::unused;
  State state_ = State::none;
  Locations locations_ = Locations::unknown;
  templates::MissingReport report_;
  bool refuses_starts_ = false;  ///< The task starts nothing any more.
  bool has_note_ = false;        ///< Of what the task is still to be told.
  // What is not answered.
  bool start_open_ = false;
  bool cancel_open_ = false;
  bool stop_open_ = false;
  std::uint64_t round_ = 0;  ///< Of the newest Wait.
  std::optional<Time> due_;  ///< What it waits for.
};

}  // namespace nomad::workload
