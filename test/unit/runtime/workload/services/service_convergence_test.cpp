// runtime/workload/services/service_convergence: transcripts of what is asked of providers, and
// providers that fail, forget and begin anew.
#include "runtime/workload/services/service_convergence.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>

#include <doctest/doctest.h>

#include "runtime/base/random.hpp"
#include "runtime/jobspec/service_provider.hpp"
#include "runtime/object/draft.hpp"
#include "test/support/transcript.hpp"

using namespace nomad;
using namespace nomad::workload;

namespace {

ServiceRegistration registration(const std::string& id, int port) {
  Draft<schema::ServiceRegistration> one;
  one->setId(text(id));
  one->setPort(port);
  return one.freeze();
}

class ServicePlayer {
public:
  std::vector<std::string> play(const std::string& line) {
    std::istringstream in{line};
    std::string what, how;
    in >> what;
    if (what == "order")
      order(in);
    else if (in >> how; !answer(what, how))
      throw std::invalid_argument{"unknown event: " + line};
    for (const auto& action : machine_.take())
      std::visit([this](const auto& it) { lines_.push_back(shown(it)); }, action);
    return std::exchange(lines_, {});
  }

private:
  void order(std::istringstream& in) {
    std::string how, word;
    in >> how;
    ServiceOrder order{.ticket = ++ticket_, .registers = how == "register", .services = {}};
    in >> order.provider;
    std::vector<ServiceRegistration> services;
    bool is_broken = false;
    while (in >> word) {
      is_broken = word == "broken";
      const auto port = word.find(':');
      services.push_back(registration(
          word.substr(0, port), port == std::string::npos ? 1 : std::stoi(word.substr(port + 1))));
    }
    order.services = std::move(services);
    if (is_broken) order.services = Error{Errc::invalid_argument, "no such port"};
    if (!machine_.order(std::move(order))) lines_.emplace_back("refused");
  }

  bool answer(const std::string& what, const std::string& how) {
    if (what == "asked")
      machine_.asked(round_);
    else if (what == "done")
      machine_.done(how == "stale" ? round_ - 1 : round_);
    else if (what == "fails")
      machine_.failed(round_, {how == "timeout" ? Errc::timeout : Errc::unavailable, "no luck"},
                      "them");
    else if (what == "forgotten")
      machine_.forgotten(round_);
    else if (what == "withdrawn")
      machine_.withdrawn(round_, {});
    else if (what == "left")
      machine_.left(leave_, {});
    else if (what == "time")
      machine_.time_over(wait_);
    else if (what == "patience")
      machine_.patience_over(patience_);
    else if (what == "began")
      machine_.provider_began(how);
    else
      return false;
    return true;
  }

  std::string shown(const service_action::Register& it) {
    round_ = it.round;
    std::string line = "register " + it.provider;
    for (const auto& one : it.services)
      line += fmt::format(" {}:{}", view(one->getId()), one->getPort());
    return line;
  }

  template <class Action>
  std::string with_ids(std::string line, ServiceConvergence::Round& round, const Action& it) {
    round = it.round;
    line += ' ' + it.provider;
    for (const auto& id : it.ids)
      line += ' ' + id;
    return line;
  }

  std::string shown(const service_action::Deregister& it) {
    return with_ids("deregister", round_, it);
  }

  std::string shown(const service_action::Leave& it) { return with_ids("leave", leave_, it); }

  std::string shown(const service_action::Withdraw& it) { return with_ids("withdraw", round_, it); }

  std::string shown(const service_action::Wait& it) {
    wait_ = it.round;
    return "wait " + format_duration(it.delay);
  }

  std::string shown(const service_action::WaitAtMost& it) {
    patience_ = it.round;
    return "wait at most " + format_duration(it.delay);
  }

  static std::string shown(const service_action::AnswerOrder& it) {
    return fmt::format("answer {}", it.ticket);
  }

  static std::string shown(const service_action::Warn& it) {
    return fmt::format("warn {}{}{}: {}", it.text, it.provider.empty() ? "" : " ", it.provider,
                       it.error);
  }

  ServiceConvergence machine_{true};
  std::vector<std::string> lines_;
  std::uint64_t ticket_ = 0;
  ServiceConvergence::Round round_ = 0, leave_ = 0, wait_ = 0, patience_ = 0;
};

/// Three providers that lose answers, are not there, and begin anew with what they had or without;
/// and others who deregister what is left to them, now or later.
class ServiceWorld {
public:
  explicit ServiceWorld(std::uint64_t seed) : random_{seed}, machine_{true} {}

  void step() {
    const auto dice = random_.below(100);
    if (dice < 20)
      order(random_.chance(0.7));
    else if (dice < 70)
      answer_one();
    else if (dice < 80)
      begin_anew(plugins[random_.below(2)]);
    else if (dice < 90)
      deregister_left();
    else
      say_nonsense();
    carry_out();
  }

  /// From now on nothing fails: what is wanted is there, and then nothing is.
  void drain() {
    fails_ = false;
    for (const bool registers : {true, false}) {
      order(registers);
      carry_out();
      for (int i = 0; i < 60; ++i) {
        answer_one();
        deregister_left();
      }
      REQUIRE(open_.empty());
      REQUIRE(owed_.empty());
      for (const auto& [provider, table] : tables_)
        if (jobspec::is_plugin_provider(provider))
          REQUIRE(table == (provider == provider_ ? wanted_ : Table{}));
      for (const auto& [id, port] : wanted_)
        REQUIRE(tables_[provider_][id] == port);
    }
  }

private:
  using Table = std::map<std::string, int>;

  static constexpr ServiceConvergence::Round never = 1'000'000;
  static constexpr const char* plugins[] = {"p1", "p2"};

  void order(bool registers) {
    ServiceOrder order{.ticket = ++ticket_, .registers = registers, .services = {}};
    if (provider_.empty() || random_.chance(0.2))
      provider_ = std::vector{"nomad", "p1", "p2"}[random_.below(3)];
    order.provider = provider_;
    order.anew = random_.chance(0.2);
    if (order.anew && random_.chance(0.5)) tables_["nomad"].clear();
    wanted_.clear();
    std::vector<ServiceRegistration> services;
    for (const auto* id : {"web", "api", "db"}) {
      if (random_.chance(0.4)) continue;
      const auto port = 1 + static_cast<int>(random_.below(3));
      services.push_back(registration(id, port));
      if (registers) wanted_.emplace(id, port);
    }
    order.services = std::move(services);
    open_.insert(ticket_);
    REQUIRE(machine_.order(std::move(order)));
  }

  void begin_anew(const std::string& provider) {
    if (random_.chance(0.5)) tables_[provider].clear();
    machine_.provider_began(provider);
  }

  void answer_one() {
    if (owed_.empty()) return;
    const auto position = static_cast<std::ptrdiff_t>(random_.below(owed_.size()));
    const auto say = owed_[static_cast<std::size_t>(position)];
    owed_.erase(owed_.begin() + position);
    say();
    carry_out();
  }

  void say_nonsense() {
    machine_.done(never);
    machine_.withdrawn(never, {});
    machine_.forgotten(never);
    machine_.failed(never, {Errc::io, "what"}, "them");
    machine_.time_over(never);
    machine_.left(never, {});
    REQUIRE(machine_.take().empty());
  }

  /// Those to whom something was left see to one of it.
  void deregister_left() {
    if (left_.empty()) return;
    const auto [provider, id] = *left_.begin();
    tables_[provider].erase(id);
    left_.erase(left_.begin());
  }

  void carry_out() {
    for (auto actions = machine_.take(); !actions.empty(); actions = machine_.take())
      for (const auto& action : actions)
        std::visit([this](const auto& it) { carry_out(it); }, action);
  }

  bool chance(double probability) { return fails_ && random_.chance(probability); }

  /// What was asked takes effect, and is answered, or not; or there is nobody to ask.
  void ask(ServiceConvergence::Round round,
           const std::string& provider,
           const std::function<void(Table&)>& effect) {
    REQUIRE(round > newest_);
    newest_ = round;
    const Error err{random_.chance(0.5) ? Errc::timeout : Errc::unavailable, "no luck"};
    if (chance(0.2)) return machine_.failed(round, err, provider);
    machine_.asked(round);
    const bool has_effect = !chance(0.2);
    if (has_effect) effect(tables_[provider]);
    owed_.emplace_back([this, round, provider, err, has_effect] {
      if (!has_effect || chance(0.3))
        machine_.failed(round, err, provider);
      else
        machine_.done(round);
    });
  }

  void carry_out(const service_action::Register& it) {
    REQUIRE_FALSE(it.services.empty());
    for (const auto& one : it.services) {
      REQUIRE(wanted_.contains(copy(one->getId())));
      REQUIRE_FALSE(left_.contains({it.provider, copy(one->getId())}));
    }
    ask(it.round, it.provider, [&it](Table& table) {
      for (const auto& one : it.services)
        table[copy(one->getId())] = one->getPort();
    });
  }

  void carry_out(const service_action::Deregister& it) {
    REQUIRE_FALSE(it.ids.empty());
    ask(it.round, it.provider, [&it](Table& table) {
      for (const auto& id : it.ids)
        table.erase(id);
    });
  }

  void carry_out(const service_action::Leave& it) {
    for (const auto& id : it.ids)
      left_.emplace(it.provider, id);
    owed_.emplace_back([this, round = it.round] { machine_.left(round, {}); });
  }

  void carry_out(const service_action::Withdraw& it) {
    if (chance(0.2)) {
      owed_.emplace_back([this, round = it.round] {
        machine_.failed(round, {Errc::io, "no luck"}, "others");
      });
      return;
    }
    std::vector<std::string> pending;
    for (const auto& id : it.ids)
      if (left_.erase({it.provider, id}) > 0) pending.push_back(id);
    owed_.emplace_back([this, round = it.round, pending] { machine_.withdrawn(round, pending); });
  }

  void carry_out(const service_action::Wait& it) {
    owed_.emplace_back([this, round = it.round] { machine_.time_over(round); });
  }

  void carry_out(const service_action::WaitAtMost& it) {
    owed_.emplace_back([this, round = it.round] { machine_.patience_over(round); });
  }

  /// Should nobody ask again, nothing is at a plugin that nobody would deregister.
  void carry_out(const service_action::AnswerOrder& it) {
    REQUIRE(open_.erase(it.ticket) == 1);
    if (!wanted_.empty()) return;
    for (const auto* plugin : plugins)
      for (const auto& [id, port] : tables_[plugin])
        REQUIRE(left_.contains({plugin, id}));
  }

  void carry_out(const service_action::Warn&) {}

  Random random_;
  ServiceConvergence machine_;
  std::map<std::string, Table> tables_;  ///< By provider.
  std::set<std::pair<std::string, std::string>> left_;
  std::vector<std::function<void()>> owed_;  ///< Answers.
  std::set<std::uint64_t> open_;             ///< Tickets.
  Table wanted_;
  std::string provider_;
  std::uint64_t ticket_ = 0;
  ServiceConvergence::Round newest_ = 0;
  bool fails_ = true;
};

}  // namespace

TEST_CASE("service_convergence: transcripts") {
  test::check_transcripts(NOMAD_TRANSCRIPTS "/../services/transcripts",
                          test::replay<ServicePlayer>);
}

TEST_CASE("service_convergence: whatever happens, providers have what is wanted in the end") {
  for (std::uint64_t seed = 1; seed <= 2'000; ++seed) {
    CAPTURE(seed);
    ServiceWorld world{seed};
    for (auto steps = Random{seed}.below(100); steps > 0; --steps)
      world.step();
    world.drain();
  }
}
