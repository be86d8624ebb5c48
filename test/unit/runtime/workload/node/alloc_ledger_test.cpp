// runtime/workload/node/alloc_ledger: transcripts of what can happen to a node's allocations.
#include "runtime/workload/node/alloc_ledger.hpp"

#include <sstream>
#include <stdexcept>

#include <doctest/doctest.h>

#include "test/support/transcript.hpp"
#include "test/unit/runtime/workload/node/alloc_ledger_fixture.hpp"

using namespace std::chrono_literals;
using namespace nomad;
using namespace nomad::workload;
using test::LedgerAlloc;

namespace {

std::string_view name_of(ClientStatus status) {
  constexpr std::string_view names[]
      = {"pending", "running", "complete", "failed", "lost", "unknown"};
  for (const auto each : {ClientStatus::PENDING, ClientStatus::RUNNING, ClientStatus::COMPLETE,
                          ClientStatus::FAILED, ClientStatus::LOST, ClientStatus::UNKNOWN})
    if (each == status) return names[static_cast<std::size_t>(each)];
  return "?";
}

ClientStatus status_of(const std::string& name) {
  for (const auto each : {ClientStatus::PENDING, ClientStatus::RUNNING, ClientStatus::COMPLETE,
                          ClientStatus::FAILED, ClientStatus::LOST, ClientStatus::UNKNOWN})
    if (name_of(each) == name) return each;
  throw std::invalid_argument{"no status: " + name};
}

/// "a:2:unfit": its id, its index, and what else there is to it.
LedgerAlloc read_alloc(const std::string& text) {
  std::istringstream parts{text};
  LedgerAlloc alloc;
  std::getline(parts, alloc.id, ':');
  for (std::string part; std::getline(parts, part, ':');) {
    if (part == "unfit")
      alloc.fits = false;
    else if (part == "stop")
      alloc.stops = true;
    else if (part == "deployed")
      alloc.deployment = "d1";
    else if (part.starts_with("v"))
      alloc.version = std::stoull(part.substr(1));
    else if (part.ends_with("s"))
      alloc.patience = parse_duration(part).value();
    else if (std::isdigit(part.front()) != 0)
      alloc.index = std::stoull(part);
    else
      alloc.status = status_of(part);
  }
  return alloc;
}

class LedgerPlayer {
public:
  std::vector<std::string> play(const std::string& line) {
    std::istringstream in{line};
    std::string what;
    in >> what;
    std::vector<std::string> words;
    for (std::string word; in >> word;)
      words.push_back(word);
    now_.steady += 1s;
    words.resize(std::max<std::size_t>(words.size(), 3));
    if (!hear_servers(what, words) && !hear_node(what, words))
      throw std::invalid_argument{"unknown event: " + line};
    std::vector<std::string> done;
    for (const auto& action : ledger_.take())
      done.push_back(std::visit([this](const auto& it) { return this->shown(it); }, action));
    return done;
  }

private:
  bool hear_servers(const std::string& what, const std::vector<std::string>& words) {
    if (what == "assign")
      assign(words);
    else if (what == "contacted")
      ledger_.contacted();
    else if (what == "report_all")
      ledger_.report_all(now_);
    else if (what == "acknowledged")
      ledger_.end_acknowledged({words[0]});
    else if (what == "heard")
      ledger_.heard_of_servers(now_);
    else
      return false;
    return true;
  }

  void assign(const std::vector<std::string>& words) {
    AssignedAllocs set{.index = 1, .complete = words[0] == "complete", .allocs = {}};
    for (const auto& word : words)
      if (!word.empty() && word != "complete") set.allocs.push_back(read_alloc(word).assigned());
    ledger_.assign(set, now_);
  }

  bool hear_node(const std::string& what, const std::vector<std::string>& words) {
    if (what == "limits")
      limits_ = {.max_allocs = std::stoull(words[0]), .parallel_destroys = std::stoull(words[1])};
    else if (what == "begin")
      begin(words);
    else if (what == "saved")
      ledger_.saved(round_, words[0] == "fails" ? Result<>{Error{Errc::io, "no luck"}} : Result<>{},
                    now_);
    else if (what == "status")
      ledger_.status_changed(words[0], status_of(words[1]), words[2] == "over");
    else if (what == "crashed")
      ledger_.runner_crashed(words[0], "a bug", now_);
    else if (what == "removed")
      ledger_.removed(words[0]);
    else if (what == "erased")
      ledger_.rows_erased(words[0]);
    else if (what == "await")
      ledger_.await_end(words[0], words[1], ++ticket_);
    else if (what == "collect")
      ledger_.collect(words[0], ++ticket_);
    else if (what == "disk")
      ledger_.disk_looked(std::stod(words[0]), 0);
    else if (what == "later")
      ledger_.look(look_, {now_.steady += parse_duration(words[0]).value(), now_.unix});
    else if (what == "wants_all")
      CHECK(ledger_.take_wants_all());
    else
      return false;
    return true;
  }

  void begin(const std::vector<std::string>& words) {
    std::vector<RestoredAlloc> saved;
    for (const auto& word : words) {
      if (word.empty()) continue;
      auto alloc = read_alloc(word);
      const bool ended = alloc.status == ClientStatus::COMPLETE;
      RestoredAlloc restored{.assigned = alloc.assigned(),
                             .has_begun = alloc.status != ClientStatus::PENDING};
      if (ended) restored.acknowledged = Acknowledged{ClientStatus::COMPLETE, 1};
      saved.push_back(std::move(restored));
    }
    ledger_.begin(test::ledger_traits(limits_), saved, now_);
  }

  static std::string shown(const ledger_action::RowChanges& rows) {
    std::string text;
    for (const auto& row : rows)
      text += std::visit(
          Overloaded{
              [](const ledger_action::PutAlloc& it) { return " +" + std::string{it.alloc->id()}; },
              [](const ledger_action::PutJob& it) {
                return fmt::format(" +v{}", it.job->getVersion());
              },
              [](const ledger_action::ClearHealth& it) { return " -health/" + it.alloc_id; },
              [](const ledger_action::EraseAlloc& it) { return " -" + it.alloc_id; },
              [](const ledger_action::EraseJob& it) { return " -v" + it.job_key.substr(14); }},
          row);
    return text;
  }

  std::string shown(const ledger_action::SaveLater& it) { return "save_later" + shown(it.rows); }

  std::string shown(const ledger_action::Save& it) {
    round_ = it.round;
    return "save" + shown(it.rows);
  }

  std::string shown(const ledger_action::Flush& it) { return "flush " + it.alloc_id; }

  std::string shown(const ledger_action::Run& it) {
    return fmt::format("run {}{}{}", it.alloc_id, it.restored ? " restored" : "",
                       it.may_run ? " may_run" : "");
  }

  std::string shown(const ledger_action::Begin& it) { return "begin " + it.alloc_id; }

  std::string shown(const ledger_action::Assign& it) {
    return (it.reconnects ? "reconnect " : "assign ") + it.alloc_id;
  }

  std::string shown(const ledger_action::TellContacted& it) {
    return "tell_contacted " + it.alloc_id;
  }

  std::string shown(const ledger_action::ReportAgain& it) { return "report_again " + it.alloc_id; }

  std::string shown(const ledger_action::Destroy& it) { return "destroy " + it.alloc_id; }

  std::string shown(const ledger_action::RemoveAbandoned& it) {
    return "remove_abandoned " + it.alloc_id;
  }

  std::string shown(const ledger_action::Release& it) { return "release " + it.alloc_id; }

  std::string shown(const ledger_action::Report& it) {
    return fmt::format("report {} {}{}", it.alloc_id, name_of(it.update.alloc->client_status()),
                       it.again ? " again" : "");
  }

  std::string shown(const ledger_action::RestoreReports& it) {
    return "restore_reports " + it.alloc_id;
  }

  std::string shown(const ledger_action::ForgetReports& it) {
    return "forget_reports " + it.alloc_id;
  }

  std::string shown(const ledger_action::Applied& it) {
    return it.impatient ? "applied impatient" : "applied";
  }

  std::string shown(const ledger_action::WaitToLook& it) {
    look_ = it.round;
    return "look in " + format_duration(it.delay);
  }

  std::string shown(const ledger_action::AnswerEnd& it) {
    return fmt::format("answer {} {}", it.ticket, it.here ? "ended" : "not here");
  }

  std::string shown(const ledger_action::AnswerCollection& it) {
    return fmt::format("answer {} {}", it.ticket, it.outcome ? "collected" : "refused");
  }

  std::string shown(const ledger_action::Log& it) {
    return fmt::format("log {} {}{}", it.text, it.alloc_id,
                       it.error.empty() ? "" : ": " + it.error);
  }

  AllocLedger ledger_;
  GcLimits limits_;
  EventTime now_{.steady = 100s, .unix = 1'700'000'000'000'000'000};
  AllocLedger::Round round_ = 0;
  AllocLedger::Round look_ = 0;
  std::uint64_t ticket_ = 0;
};

}  // namespace

TEST_CASE("alloc_ledger: transcripts") {
  test::check_transcripts(NOMAD_TRANSCRIPTS "/../node/transcripts", test::replay<LedgerPlayer>);
}
