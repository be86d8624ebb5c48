#include "runtime/workload/templates/template_machine.hpp"

#include <algorithm>

namespace nomad::workload {

namespace {

Error cancelled_start() {
  return {Errc::cancelled, "cancelled"};
}

}  // namespace

// -- the task's life -----------------------------------------------------------------------------

void TemplateMachine::start(bool is_running, bool anew, Time now) {
  start_open_ = true;
  if (refuses_starts_) return answer_start(cancelled_start());
  begin(is_running, anew);
  go_on(now);
}

void TemplateMachine::started(Time now) {
  if (life_ == Life::unused) begin(true, false);  // Made anew after a crash.
  templates_.started();
  go_on(now);
}

void TemplateMachine::begin(bool is_running, bool anew) {
  anew = anew && life_ != Life::unused;
  life_ = Life::working;
  templates_.begin(is_running, anew);
  if (anew && locations_ == Locations::known) locations_ = Locations::outdated;
}

void TemplateMachine::cancel() {
  refuses_starts_ = true;  // The start that it is about may still come: a Cancel overtakes it.
  cancel_open_ = true;
  if (start_open_) {
    life_ = Life::cancelled;
    act(template_action::StopStep{});
    if (state_ != State::none) return;
  }
  answer_end();
}

void TemplateMachine::stop() {
  life_ = Life::stopped;
  stop_open_ = true;
  act(template_action::StopStep{});
  act(template_action::StopFollowing{});
  if (state_ == State::none) answer_end();
}

void TemplateMachine::answer_end() {
  const bool is_over = life_ == Life::cancelled || life_ == Life::stopped;
  if (is_over && start_open_) answer_start(cancelled_start());
  if (std::exchange(cancel_open_, false)) act(template_action::AnswerCancel{});
  if (std::exchange(stop_open_, false)) act(template_action::AnswerStop{});
}

void TemplateMachine::answer_start(Result<> outcome) {
  start_open_ = false;
  report_ = templates::MissingReport{};
  act(template_action::AnswerStart{std::move(outcome)});
}

void TemplateMachine::failed(std::string text) {
  if (life_ != Life::working) return;
  life_ = Life::failed;
  act(template_action::Fail{std::move(text)});
}

// -- what happens to the templates ---------------------------------------------------------------

void TemplateMachine::news(const templates::ClusterQuery& query, Time now) {
  templates_.news(query, now);
  go_on(now);
}

void TemplateMachine::file_changed(std::size_t index, Time now) {
  templates_.file_changed(index, now);
  go_on(now);
}

// -- what is next --------------------------------------------------------------------------------

void TemplateMachine::go_on(Time now) {
  if (life_ != Life::working) return;
  if (state_ == State::none) next_step(now);
  if (state_ == State::none && start_open_) release_or_report(now);
  if (auto plan = templates_.take_plan(now, random_.next()))
    act(template_action::CarryOut{std::move(*plan)});
  // The task knows all. What is rendered next waits, so that its note comes after.
  if (state_ == State::none && has_note_ && templates_.unsettled().empty()) {
    has_note_ = false;
    state_ = State::clearing_note;
    act(template_action::ClearNote{});
  }
  wait(now);
}

void TemplateMachine::next_step(Time now) {
  if (locations_ != Locations::known) {
    state_ = State::placing;
    return act(template_action::Locate{});
  }
  act(template_action::Follow{templates_.followed()});
  auto due = templates_.take_due(now);
  if (due.empty()) return;
  state_ = State::rendering;
  act(template_action::Render{std::move(due)});
}

void TemplateMachine::release_or_report(Time now) {
  if (templates_.is_ready()) {
    templates_.released();
    return answer_start({});
  }
  report_.update(templates_.missing(), now);
  if (auto text = report_.take(now))
    act(template_action::Tell{std::move(*text), templates_.awaited_variable()});
}

void TemplateMachine::wait(Time now) {
  auto due = state_ == State::none ? templates_.due() : std::nullopt;
  const auto report = start_open_ ? report_.due() : std::nullopt;
  if (report && (!due || *report < *due)) due = report;
  if (std::exchange(due_, due) == due) return;
  ++round_;
  if (due) act(template_action::Wait{round_, std::max(*due - now, Nanoseconds{0})});
}

void TemplateMachine::look(std::uint64_t round, Time now) {
  if (round != round_) return;
  due_.reset();
  go_on(now);
}

// -- what was done -------------------------------------------------------------------------------

void TemplateMachine::placed(const Result<std::set<std::size_t>>& unsettled, Time now) {
  if (unsettled) {
    locations_ = Locations::known;
    has_note_ = !unsettled->empty();
    templates_.resume(*unsettled);
  } else if (start_open_ && life_ == Life::working) {
    life_ = Life::failed;  // Whose start has failed needs not be ended besides.
    answer_start(unsettled.error());
  } else {
    failed(unsettled.error().within("Template failed").what);
  }
  step_over(now);
}

void TemplateMachine::rendered(const Result<std::vector<TemplateRendering>>& done,
                               bool noted,
                               Time now) {
  templates_.rendered(done ? *done : std::vector<TemplateRendering>{});
  has_note_ = has_note_ || noted;
  if (!done) failed(done.error().what);
  step_over(now);
}

void TemplateMachine::note_cleared(Time now) {
  step_over(now);
}

void TemplateMachine::acted(Time now) {
  templates_.acted();
  go_on(now);
}

void TemplateMachine::step_over(Time now) {
  state_ = State::none;
  answer_end();
  go_on(now);
}

}  // namespace nomad::workload
