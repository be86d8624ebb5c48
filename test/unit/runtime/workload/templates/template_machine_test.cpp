// runtime/workload/templates/template_machine: transcripts of what happens to a task's templates,
// and a task whose data change, whose steps fail, and which ends and starts at any time.
#include "runtime/workload/templates/template_machine.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <sstream>
#include <stdexcept>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "test/support/transcript.hpp"

using namespace std::chrono_literals;
using namespace nomad;
using namespace nomad::workload;
using templates::ChangeMode;
using templates::ClusterQuery;

namespace {

const ClusterQuery asked_app{
    .kind = ClusterQuery::Kind::variable, .name_space = "default", .name = "app"};

class TemplatePlayer {
public:
  std::vector<std::string> play(const std::string& line) {
    std::istringstream in{line};
    std::string what;
    in >> what;
    std::vector<std::string> words;
    for (std::string word; in >> word;)
      words.push_back(word);
    if (what == "templates") return make(words);
    if (!hear_task(what, words) && !hear_answer(what, words))
      throw std::invalid_argument{"unknown event: " + line};
    std::vector<std::string> lines;
    for (const auto& action : machine_->take())
      lines.push_back(std::visit([this](const auto& it) { return this->shown(it); }, action));
    return lines;
  }

private:
  std::vector<std::string> make(const std::vector<std::string>& words) {
    std::vector<TemplateTerms> terms;
    for (const auto& word : words) {
      TemplateTerms one;
      if (word.starts_with("signal")) one.rule = {.mode = ChangeMode::signal, .signal = "SIGHUP"};
      if (const auto wait = word.find(':'); wait != std::string::npos) {
        one.wait_min = parse_duration(word.substr(wait + 1)).value();
        one.wait_max = 4 * one.wait_min;
      }
      terms.push_back(one);
    }
    machine_.emplace(terms, Random{7});
    return {};
  }

  bool hear_task(const std::string& what, const std::vector<std::string>& words) {
    if (what == "start")
      machine_->start(false, !words.empty(), now_);
    else if (what == "found")
      machine_->start(true, false, now_);
    else if (what == "started")
      machine_->started(now_);
    else if (what == "exited")
      machine_->exited();
    else if (what == "cancel")
      machine_->cancel();
    else if (what == "stop")
      machine_->stop();
    else
      return false;
    return true;
  }

  bool hear_answer(const std::string& what, const std::vector<std::string>& words) {
    const bool fails = !words.empty() && words[0] == "fails";
    const Error err{Errc::io, "no luck"};
    if (what == "placed" && fails)
      machine_->placed(err, now_);
    else if (what == "placed")
      machine_->placed(numbers(words), now_);
    else if (what == "rendered" && fails)
      machine_->rendered(err, false, now_);
    else if (what == "rendered")
      rendered(words);
    else if (what == "note_cleared")
      machine_->note_cleared(now_);
    else if (what == "acted")
      machine_->acted(now_);
    else if (what == "news")
      machine_->news(asked_app, now_);
    else if (what == "follow")
      machine_->failed("no such region");
    else if (what == "later")
      machine_->look(round_, now_ += parse_duration(words[0]).value());
    else
      return false;
    return true;
  }

  static std::set<std::size_t> numbers(const std::vector<std::string>& words) {
    std::set<std::size_t> numbers;
    for (const auto& word : words)
      if (std::isdigit(word.front()) != 0) numbers.insert(std::stoul(word));
    return numbers;
  }

  void rendered(const std::vector<std::string>& words) {
    const bool is_missing = words.back() == "missing";
    std::vector<TemplateRendering> done;
    for (const auto index : numbers(words))
      done.push_back(
          {.index = index,
           .asked = {asked_app},
           .missing = is_missing ? std::vector<std::string>{"app"} : std::vector<std::string>{},
           .written = !is_missing});
    machine_->rendered(done, machine_->templates().acts_on_changes(), now_);
  }

  static std::string shown(const template_action::Locate&) { return "place"; }

  static std::string shown(const template_action::Render& it) {
    return fmt::format("render {}", it.which);
  }

  static std::string shown(const template_action::ClearNote&) { return "clear_note"; }

  static std::string shown(const template_action::StopStep&) { return "stop_step"; }

  static std::string shown(const template_action::Follow& it) {
    return fmt::format("follow {}", it.queries.size());
  }

  static std::string shown(const template_action::StopFollowing&) { return "stop_following"; }

  static std::string shown(const template_action::CarryOut& it) {
    return it.plan.restarts ? "restart" : fmt::format("signal {}", it.plan.signals);
  }

  static std::string shown(const template_action::Tell& it) { return "tell " + it.text; }

  static std::string shown(const template_action::Fail& it) { return "fail " + it.text; }

  std::string shown(const template_action::Wait& it) {
    round_ = it.round;
    return "wait " + format_duration(it.delay);
  }

  static std::string shown(const template_action::AnswerStart& it) {
    return it.outcome ? "answer start" : "answer start: " + it.outcome.error().what;
  }

  static std::string shown(const template_action::AnswerCancel&) { return "answer cancel"; }

  static std::string shown(const template_action::AnswerStop&) { return "answer stop"; }

  std::optional<TemplateMachine> machine_;
  TemplateMachine::Time now_ = 100s;
  std::uint64_t round_ = 0;
};

/// Data that change, a disk with files of them, and a task that knows the files as they were when
/// it started or was told.
class TemplateWorld {
public:
  explicit TemplateWorld(std::uint64_t seed) : random_{seed} {
    std::vector<TemplateTerms> terms(1 + random_.below(3));
    for (auto& one : terms) {
      one.rule.splay = random_.chance(0.3) ? 10s : 0s;
      if (random_.chance(0.3)) one.rule.mode = ChangeMode::signal, one.rule.signal = "SIGHUP";
      if (random_.chance(0.5)) one.wait_min = 5s, one.wait_max = 20s;
    }
    files_.assign(terms.size(), 0);
    machine_.emplace(terms, Random{random_.next()});
  }

  void step() {
    now_ += 1s;
    const auto dice = random_.below(100);
    if (dice < 60)
      answer_one();
    else if (dice < 75)
      change_data();
    else if (dice < 97)
      live();
    else if (dice < 98)
      cancel();
    else if (!is_ended_ && random_.chance(0.2))
      stop();
    carry_out();
  }

  /// From now on nothing fails: a task that may run knows the newest data.
  void drain() {
    fails_ = false;
    if (data_ == 0) change_data();
    for (int i = 0; i < 300; ++i) {
      now_ += 1s;
      answer_one();
      if (life_ != Life::running) live();
      carry_out();
    }
    REQUIRE(steps_ == 0);
    REQUIRE_FALSE(is_cancelling_);
    if (is_ended_ || is_cancelled_) return;
    REQUIRE(life_ == Life::running);
    for (const auto file : files_)
      REQUIRE(file == data_);
    REQUIRE(told_ == files_);
    REQUIRE_FALSE(has_note_);
  }

private:
  enum class Life { down, starting, released, running };

  void answer_one() {
    if (owed_.empty()) return;
    const auto position = static_cast<std::ptrdiff_t>(random_.below(owed_.size()));
    const auto say = owed_[static_cast<std::size_t>(position)];
    owed_.erase(owed_.begin() + position);
    say();
    carry_out();
  }

  void change_data() {
    ++data_;
    if (follows_) tell_news();
  }

  void tell_news() {
    owed_.emplace_back([this] {
      if (!follows_) return;
      known_ = data_;
      machine_->news(asked_app, now_);
    });
  }

  /// The task goes on with its life.
  void live() {
    if (is_ended_) return;
    switch (life_) {
      case Life::down:
        life_ = Life::starting;
        return machine_->start(false, random_.chance(0.3), now_);
      case Life::starting:
        return;
      case Life::released:
        life_ = Life::running;
        return machine_->started(now_);
      case Life::running:
        exit();
    }
  }

  void exit() {
    if (life_ != Life::running && life_ != Life::released) return;
    life_ = Life::down;
    machine_->exited();
  }

  void cancel() {
    if (is_ended_ || is_cancelling_) return;
    is_cancelling_ = is_cancelled_ = true;
    machine_->cancel();
  }

  void stop() {
    is_ended_ = true;
    machine_->stop();
  }

  void carry_out() {
    for (auto actions = machine_->take(); !actions.empty(); actions = machine_->take())
      for (const auto& action : actions)
        std::visit([this](const auto& it) { carry_out(it); }, action);
  }

  bool chance(double probability) { return fails_ && random_.chance(probability); }

  void take_step(std::function<void()> over) {
    REQUIRE(steps_++ == 0);
    REQUIRE_FALSE(is_stopped_);
    owed_.emplace_back([this, over = std::move(over)] {
      --steps_;
      over();
    });
  }

  void carry_out(const template_action::Locate&) {
    take_step([this] {
      if (chance(0.1))
        machine_->placed(Error{Errc::io, "no luck"}, now_);
      else
        machine_->placed(has_note_ ? std::set<std::size_t>{0} : std::set<std::size_t>{}, now_);
    });
  }

  void carry_out(const template_action::Render& it) {
    REQUIRE(machine_->is_placed());
    take_step([this, which = it.which, known = known_] {
      if (chance(0.05)) return machine_->rendered(Error{Errc::io, "no luck"}, false, now_);
      std::vector<TemplateRendering> done;
      for (const auto index : which) {
        done.push_back({.index = index, .asked = {asked_app}});
        if (known == 0) done.back().missing = {"app"};
        done.back().written = known != 0 && std::exchange(files_[index], known) != known;
      }
      const bool notes = machine_->templates().acts_on_changes()
                         && std::ranges::any_of(done, &TemplateRendering::written);
      has_note_ = has_note_ || notes;
      machine_->rendered(done, notes, now_);
    });
  }

  void carry_out(const template_action::ClearNote&) {
    REQUIRE(has_note_);
    if (life_ == Life::running && !is_acting_) REQUIRE(told_ == files_);
    take_step([this] {
      has_note_ = false;
      machine_->note_cleared(now_);
    });
  }

  void carry_out(const template_action::StopStep&) {}

  void carry_out(const template_action::Follow& it) {
    REQUIRE_FALSE(is_stopped_);
    const bool did = std::exchange(follows_, !it.queries.empty());
    if (follows_ && !did && data_ > 0) tell_news();
  }

  void carry_out(const template_action::StopFollowing&) { follows_ = false; }

  void carry_out(const template_action::CarryOut& it) {
    REQUIRE_FALSE(std::exchange(is_acting_, true));
    REQUIRE(life_ == Life::running);
    if (!it.plan.restarts) told_ = files_;
    owed_.emplace_back([this, restarts = it.plan.restarts] {
      is_acting_ = false;
      if (restarts) exit();
      machine_->acted(now_);
    });
  }

  void carry_out(const template_action::Tell&) {}

  void carry_out(const template_action::Fail&) { exit_when_failed(); }

  void exit_when_failed() {
    if (life_ == Life::starting) return cancel();
    exit();
  }

  void carry_out(const template_action::Wait& it) {
    owed_.emplace_back([this, it] {
      now_ += it.delay;
      machine_->look(it.round, now_);
    });
  }

  void carry_out(const template_action::AnswerStart& it) {
    REQUIRE(life_ == Life::starting);
    life_ = it.outcome ? Life::released : Life::down;
    if (!it.outcome) return;
    for (const auto file : files_)
      REQUIRE(file != 0);
    told_ = files_;
  }

  void carry_out(const template_action::AnswerCancel&) {
    REQUIRE(std::exchange(is_cancelling_, false));
    REQUIRE(life_ != Life::starting);
  }

  void carry_out(const template_action::AnswerStop&) {
    REQUIRE_FALSE(std::exchange(is_stopped_, true));
    REQUIRE(steps_ == 0);
  }

  Random random_;
  TemplateMachine::Time now_ = 100s;
  std::optional<TemplateMachine> machine_;
  std::vector<std::function<void()>> owed_;
  int data_ = 0;   ///< Its version; 0: there is none.
  int known_ = 0;  ///< What the hook knows of it.
  std::vector<int> files_, told_;
  Life life_ = Life::down;
  int steps_ = 0;
  bool follows_ = false, has_note_ = false, is_acting_ = false, fails_ = true;
  bool is_cancelled_ = false, is_cancelling_ = false, is_ended_ = false, is_stopped_ = false;
};

}  // namespace

TEST_CASE("template_machine: transcripts") {
  test::check_transcripts(NOMAD_TRANSCRIPTS "/../templates/transcripts",
                          test::replay<TemplatePlayer>);
}

TEST_CASE("template_machine: whatever happens, a task knows the newest data in the end") {
  for (std::uint64_t seed = 1; seed <= 1'000; ++seed) {
    CAPTURE(seed);
    TemplateWorld world{seed};
    for (auto steps = Random{seed}.below(200); steps > 0; --steps)
      world.step();
    world.drain();
  }
}
