// runtime/workload/node/alloc_ledger: a node under random events, in a world that fails.
#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include <doctest/doctest.h>

#include "runtime/base/random.hpp"
#include "runtime/workload/client_status.hpp"
#include "test/unit/runtime/workload/node/alloc_ledger_fixture.hpp"

using namespace std::chrono_literals;
using namespace nomad;
using namespace nomad::workload;
using test::LedgerAlloc;

namespace {

/// Servers, a disk that writes rows in their order and fails now and then, runners with bugs, users
/// and an agent that dies, around one ledger. `carry_out` and `look` hold what must be true.
class LedgerWorld {
public:
  explicit LedgerWorld(std::uint64_t seed) : random_{seed} {
    limits_ = {.max_allocs = random_.below(6), .parallel_destroys = 1 + random_.below(2)};
    start_agent();
  }

  /// Something happens.
  void step() {
    now_.steady += 1s;
    const auto dice = random_.below(100);
    if (dice < 15)
      assign();
    else if (dice < 55)
      run_some();
    else if (dice < 70)
      answer_one(/*may_fail=*/true);
    else if (dice < 85)
      flush(random_.below(disk_queue_.size() + 1));
    else if (dice < 87)
      crash();
    else if (dice < 91)
      say_nonsense();
    else
      ask_something();
    carry_out();
  }

  /// From now on nothing fails any more: what is wanted runs or is known to have ended. Then
  /// nothing is wanted, and nothing may be left.
  void drain() {
    settle();
    do {
      assign_all();
      settle();
    } while (ledger_->take_wants_all());
    for (const auto& [id, alloc] : wanted_) {
      const auto* entry = ledger_->find(id);
      REQUIRE(entry);
      REQUIRE((entry->has_runner() || is_client_terminal(entry->status)));
      if (!entry->has_runner()) REQUIRE((ended_.contains(id) || alloc.status != alive));
    }
    wanted_.clear();
    assign_all();
    settle();
    REQUIRE(ledger_->entries().empty());
    REQUIRE(runners_.empty());
    REQUIRE(processes_.empty());
    REQUIRE(rows_.empty());
    REQUIRE((job_rows_.empty() || lost_rows_));  // The next agent erases what nobody refers to.
    REQUIRE(tickets_.empty());
  }

private:
  static constexpr auto alive = ClientStatus::PENDING;

  struct Runner {
    ClientStatus status = ClientStatus::PENDING;
    bool begun = false;
    bool over = false;
    bool is_destroyed = false;
  };

  struct Row {
    AssignedAlloc alloc;
    bool has_task = false;
    bool end_acknowledged = false;
  };

  struct Batch {
    AllocLedger::Round round = 0;  ///< Not 0: it is answered.
    std::function<void()> write;
  };

  /// Somebody owes the ledger a word about an allocation.
  struct Owed {
    std::string alloc_id;
    std::function<void()> say;
  };

  // -- the agent ---------------------------------------------------------------------------------

  void start_agent() {
    ledger_.emplace();
    restoring_ = true;
    std::vector<RestoredAlloc> saved;
    std::set<std::string> used;
    for (const auto& [id, row] : rows_) {
      used.insert(job_key(*row.alloc.job));
      saved.push_back({row.alloc, row.has_task, {}});
      if (row.end_acknowledged) saved.back().acknowledged = Acknowledged{ClientStatus::COMPLETE, 1};
    }
    std::erase_if(job_rows_, [&used](const auto& key) { return !used.contains(key); });
    ledger_->begin(test::ledger_traits(limits_), saved, now_);
    carry_out();
    restoring_ = false;
  }

  void crash() {
    flush(random_.below(disk_queue_.size() + 1));
    disk_queue_.clear();
    owed_.clear();
    runners_.clear();
    tickets_.clear();
    keepers_.clear();
    collecting_.clear();
    is_assigning_ = lost_rows_ = false;
    contacted_ = false;
    told_.clear();
    version_ = 0;
    start_agent();
  }

  // -- the servers -------------------------------------------------------------------------------

  void assign() {
    if (is_assigning_) return;
    if (random_.chance(0.4)) add();
    if (!wanted_.empty() && random_.chance(0.5)) change(pick(wanted_)->second);
    if (!wanted_.empty() && random_.chance(0.2)) wanted_.erase(pick(wanted_));
    if (random_.chance(0.6)) return assign_all();
    std::vector<LedgerAlloc> some;
    for (const auto& [id, alloc] : wanted_)
      if (random_.chance(0.5)) some.push_back(alloc);
    send(some, false);
  }

  void add() {
    const auto id = std::string(1, static_cast<char>('a' + random_.below(8)));
    if (wanted_.contains(id)) return;
    LedgerAlloc alloc{.id = id, .index = ++index_, .version = random_.below(3)};
    alloc.fits = random_.chance(0.9);
    if (random_.chance(0.2)) alloc.patience = 30s;
    if (ended_.contains(id)) alloc.status = ClientStatus::COMPLETE;
    wanted_.emplace(id, alloc);
  }

  void change(LedgerAlloc& alloc) {
    alloc.index = ++index_;
    alloc.version = random_.below(3);
    alloc.stops = random_.chance(0.2);
    if (random_.chance(0.1)) alloc.status = ClientStatus::UNKNOWN;
  }

  void assign_all() {
    std::vector<LedgerAlloc> all;
    for (const auto& [id, alloc] : wanted_)
      all.push_back(alloc);
    send(all, true);
  }

  void send(const std::vector<LedgerAlloc>& allocs, bool complete) {
    AssignedAllocs set{.index = index_, .complete = complete, .allocs = {}};
    for (const auto& alloc : allocs)
      set.allocs.push_back(alloc.assigned());
    is_assigning_ = true;
    ledger_->assign(set, now_);
    carry_out();
  }

  // -- runners -----------------------------------------------------------------------------------

  void run_some() {
    if (runners_.empty()) return;
    const auto [id, runner] = *pick(runners_);
    if (!runner.begun || runner.over) return;
    if (random_.chance(0.05)) return break_runner(id);
    if (!rows_.contains(id) || !rows_.at(id).has_task) return;
    if (runner.status == ClientStatus::PENDING) {
      processes_.insert(id);
      tell(id, ClientStatus::RUNNING, false);
    } else if (random_.chance(0.3)) {
      end(id);
    }
  }

  void tell(const std::string& id, ClientStatus status, bool over) {
    auto& runner = runners_.at(id);
    runner.status = status;
    runner.over = over;
    if (status != ClientStatus::PENDING) has_begun(id);
    if (is_client_terminal(status)) ended_.insert(id);
    ledger_->status_changed(id, status, over);
    carry_out();
  }

  void end(const std::string& id) {
    processes_.erase(id);
    tell(id, random_.chance(0.5) ? ClientStatus::COMPLETE : ClientStatus::FAILED, true);
  }

  void break_runner(const std::string& id) {
    runners_.erase(id);
    has_begun(id);
    std::erase_if(owed_, [&id](const Owed& owed) { return owed.alloc_id == id; });
    ledger_->runner_crashed(id, "a bug", now_);
  }

  /// It waits for the directory of nobody any more.
  void has_begun(const std::string& id) {
    for (auto& [kept, keepers] : keepers_)
      keepers.erase(id);
  }

  // -- what the ledger hears ---------------------------------------------------------------------

  void answer_one(bool may_fail) {
    if (!disk_queue_.empty() && (owed_.empty() || random_.chance(0.5))) {
      if (!may_fail || random_.chance(0.8)) return flush(disk_queue_.size());
      // The last one is not written, or written when nobody waits for it any more.
      auto& last = disk_queue_.back();
      const auto round = std::exchange(last.round, 0);
      if (round == 0) return;
      if (random_.chance(0.5)) {
        disk_queue_.pop_back();
        lost_rows_ = true;
      }
      ledger_->saved(round, Error{Errc::io, "no luck"}, now_);
    } else if (!owed_.empty()) {
      const auto position = static_cast<std::ptrdiff_t>(random_.below(owed_.size()));
      const auto owed = owed_[static_cast<std::size_t>(position)];
      owed_.erase(owed_.begin() + position);
      owed.say();
    }
    carry_out();
  }

  /// Answers to what was not asked.
  void say_nonsense() {
    REQUIRE(ledger_->take().empty());
    const auto id = std::string(1, static_cast<char>('a' + random_.below(8)));
    const auto* entry = ledger_->find(id);
    if (!entry || !entry->is_leaving()) ledger_->removed(id);
    if (!entry || entry->phase != AllocLedger::Phase::erasing) ledger_->rows_erased(id);
    if (!runners_.contains(id)) ledger_->runner_crashed(id, "again", now_);
    ledger_->saved(0, {}, now_);
    ledger_->look(0, now_);
    REQUIRE(ledger_->take().empty());
  }

  void ask_something() {
    switch (random_.below(6)) {
      case 0:
        return ledger_->heard_of_servers(now_);
      case 1:
        return await();
      case 2:
        return collect();
      case 3:
        return ledger_->disk_looked(random_.chance(0.2) ? 90 : 50, 0);
      case 4:
        if (!rows_.empty() && ended_.contains(pick(rows_)->first)) acknowledge(pick(rows_)->first);
        return;
      default:
        report_all();
    }
  }

  void await() {
    if (runners_.empty()) return;
    const auto [successor, runner] = *pick(runners_);
    const auto id = std::string(1, static_cast<char>('a' + random_.below(8)));
    if (runner.status != ClientStatus::PENDING || runner.over || id == successor) return;
    const bool wants_directory = random_.chance(0.5);
    tickets_.emplace(++ticket_, id);
    if (wants_directory && ledger_->find(id)) keepers_[id].insert(successor);
    ledger_->await_end(id, wants_directory ? successor : "", ticket_);
  }

  void collect() {
    const auto id = std::string(1, static_cast<char>('a' + random_.below(8)));
    tickets_.emplace(++ticket_, id);
    ledger_->collect(random_.chance(0.3) ? "" : id, ticket_);
  }

  void acknowledge(const std::string& id) {
    if (!ended_.contains(id)) return;
    ledger_->end_acknowledged({id});
    save({0, [this, id] {
            if (rows_.contains(id)) rows_.at(id).end_acknowledged = true;
          }});
  }

  /// Whoever has ended is told by its runner or by the ledger, unless the servers know it.
  void report_all() {
    told_.clear();
    ledger_->report_all(now_);
    carry_out();
    for (const auto& [id, entry] : ledger_->entries())
      if (entry.has_runner() || (is_client_terminal(entry.status) && !entry.end_acknowledged))
        REQUIRE(told_.contains(id));
  }

  // -- the disk ----------------------------------------------------------------------------------

  void save(Batch batch) { disk_queue_.push_back(std::move(batch)); }

  void flush(std::size_t count) {
    for (; count > 0 && !disk_queue_.empty(); --count) {
      auto batch = std::move(disk_queue_.front());
      disk_queue_.pop_front();
      batch.write();
      for (const auto& [id, row] : rows_)
        REQUIRE(job_rows_.contains(job_key(*row.alloc.job)));
      if (batch.round == 0) continue;
      ledger_->saved(batch.round, {}, now_);
      carry_out();
    }
  }

  void write(const ledger_action::RowChanges& changes) {
    for (const auto& change : changes)
      std::visit(
          Overloaded{
              [&](const ledger_action::PutAlloc& it) {
                const auto id = std::string{it.alloc->id()};
                rows_[id].alloc.alloc = it.alloc;
                rows_[id].alloc.job
                    = LedgerAlloc{.id = id, .version = it.alloc->job_version()}.assigned().job;
              },
              [&](const ledger_action::PutJob& it) { job_rows_.insert(job_key(*it.job)); },
              [&](const ledger_action::ClearHealth&) {},
              [&](const ledger_action::EraseAlloc& it) { rows_.erase(it.alloc_id); },
              [&](const ledger_action::EraseJob& it) { job_rows_.erase(it.job_key); }},
          change);
  }

  // -- what the ledger wants ---------------------------------------------------------------------

  void carry_out() {
    for (auto actions = ledger_->take(); !actions.empty(); actions = ledger_->take())
      for (const auto& action : actions)
        std::visit([this](const auto& it) { carry_out(it); }, action);
    look();
  }

  /// A crash now would leave no task that the next agent does not know.
  void look() {
    for (const auto& [id, runner] : runners_) {
      const auto* entry = ledger_->find(id);
      REQUIRE(entry);
      REQUIRE(entry->has_runner());
      if (!entry->is_leaving()) REQUIRE(rows_.contains(id));
    }
    for (const auto& [id, entry] : ledger_->entries())
      REQUIRE(entry.has_runner() == runners_.contains(id));
    REQUIRE(collecting_.size() <= limits_.parallel_destroys);
  }

  void carry_out(const ledger_action::SaveLater& it) {
    for (const auto& row : it.rows)
      if (const auto* erased = std::get_if<ledger_action::EraseAlloc>(&row)) {
        // Of what runs only if nobody can go on with it, or if nobody knows yet that it runs.
        const auto* entry = ledger_->find(erased->alloc_id);
        if (processes_.contains(erased->alloc_id) && contacted_)
          REQUIRE((entry && entry->phase == AllocLedger::Phase::abandoned));
      }
    save({0, [this, rows = it.rows] { write(rows); }});
  }

  void carry_out(const ledger_action::Save& it) {
    save({it.round, [this, rows = it.rows] { write(rows); }});
  }

  void carry_out(const ledger_action::Flush& it) {
    owe(it.alloc_id, [this, id = it.alloc_id] {
      flush(disk_queue_.size());
      collecting_.erase(id);
      ledger_->rows_erased(id);
      REQUIRE_FALSE(rows_.contains(id));
    });
  }

  void carry_out(const ledger_action::Run& it) {
    REQUIRE_FALSE(runners_.contains(it.alloc_id));
    REQUIRE(rows_.contains(it.alloc_id));
    REQUIRE(it.restored == restoring_);
    REQUIRE(it.restored == rows_.at(it.alloc_id).has_task);
    if (processes_.contains(it.alloc_id)) REQUIRE((it.restored || it.may_run));
    if (!it.restored) REQUIRE(ledger_->find(it.alloc_id)->wanted == AllocLedger::Wanted::yes);
    runners_[it.alloc_id] = {};
  }

  void carry_out(const ledger_action::Begin& it) {
    runners_.at(it.alloc_id).begun = true;
    save({0, [this, id = it.alloc_id] {
            if (rows_.contains(id)) rows_.at(id).has_task = true;
          }});
  }

  void carry_out(const ledger_action::Assign& it) { REQUIRE(runners_.contains(it.alloc_id)); }

  void carry_out(const ledger_action::TellContacted& it) {
    REQUIRE(runners_.contains(it.alloc_id));
  }

  void carry_out(const ledger_action::ReportAgain& it) {
    REQUIRE(runners_.contains(it.alloc_id));
    told_.insert(it.alloc_id);
  }

  void carry_out(const ledger_action::Destroy& it) {
    auto& runner = runners_.at(it.alloc_id);
    const auto* entry = ledger_->find(it.alloc_id);
    REQUIRE_FALSE(std::exchange(runner.is_destroyed, true));
    REQUIRE((entry->wanted != AllocLedger::Wanted::yes || runner.over || looking_));
    if (!looking_) {
      REQUIRE(keepers_[it.alloc_id].empty());
      collecting_.insert(it.alloc_id);
    }
    owe(it.alloc_id, [this, id = it.alloc_id] {
      if (!runners_.at(id).over) end(id);
      runners_.erase(id);
      finish(id);
    });
  }

  void carry_out(const ledger_action::RemoveAbandoned& it) {
    REQUIRE_FALSE(runners_.contains(it.alloc_id));
    owe(it.alloc_id, [this, id = it.alloc_id] { finish(id); });
  }

  void finish(const std::string& id) {
    processes_.erase(id);
    has_begun(id);
    ledger_->removed(id);
  }

  void carry_out(const ledger_action::Release& it) {
    REQUIRE_FALSE(processes_.contains(it.alloc_id));
  }

  void carry_out(const ledger_action::Report& it) {
    REQUIRE_FALSE(runners_.contains(it.alloc_id));
    REQUIRE(it.version > version_);
    REQUIRE(it.version > std::uint64_t{1} << 62);
    version_ = it.version;
    REQUIRE(is_client_terminal(it.update.alloc->client_status()));
    told_.insert(it.alloc_id);
    ended_.insert(it.alloc_id);
  }

  void carry_out(const ledger_action::RestoreReports& it) {
    REQUIRE(rows_.at(it.alloc_id).end_acknowledged);
  }

  void carry_out(const ledger_action::ForgetReports&) {}

  void carry_out(const ledger_action::Applied&) {
    REQUIRE(std::exchange(is_assigning_, false));
    if (std::exchange(contacted_, true)) return;
    ledger_->contacted();
    // Drivers are told what goes on; the rest is nobody's.
    std::erase_if(processes_, [this](const auto& id) {
      const auto* entry = ledger_->find(id);
      return !entry || !(entry->has_runner() || entry->is_leaving());
    });
  }

  void carry_out(const ledger_action::WaitToLook& it) {
    owe("", [this, it] {
      now_.steady += it.delay;
      looking_ = true;
      ledger_->look(it.round, now_);
      carry_out();
      looking_ = false;
    });
  }

  void carry_out(const ledger_action::AnswerEnd& it) {
    const auto asked = tickets_.extract(it.ticket);
    REQUIRE(asked);
    REQUIRE(it.here == (ledger_->find(asked.mapped()) != nullptr));
    if (it.here) REQUIRE_FALSE(processes_.contains(asked.mapped()));
  }

  void carry_out(const ledger_action::AnswerCollection& it) {
    REQUIRE(tickets_.erase(it.ticket) == 1);
  }

  void carry_out(const ledger_action::Log&) {}

  void owe(const std::string& id, std::function<void()> say) {
    owed_.push_back({id, std::move(say)});
  }

  /// Until nobody owes anything but looks.
  void settle() {
    for (int i = 0; i < 500; ++i) {
      answer_one(/*may_fail=*/false);
      for (const auto& [id, runner] : std::map{runners_})
        if (runners_.contains(id) && runners_.at(id).begun && runner.status == alive
            && rows_.contains(id) && rows_.at(id).has_task) {
          processes_.insert(id);
          tell(id, ClientStatus::RUNNING, false);
        }
    }
  }

  template <class Map>
  typename Map::iterator pick(Map& map) {
    return std::next(map.begin(), static_cast<std::ptrdiff_t>(random_.below(map.size())));
  }

  Random random_;
  EventTime now_{.steady = 100s, .unix = 1'700'000'000'000'000'000};
  GcLimits limits_;

  // The servers.
  std::map<std::string, LedgerAlloc> wanted_;
  std::uint64_t index_ = 0;
  std::set<std::string> ended_;  ///< That they were told of.

  // The machine.
  std::map<std::string, Row> rows_;
  std::set<std::string> job_rows_;
  std::set<std::string> processes_;

  // Of this agent.
  std::optional<AllocLedger> ledger_;
  std::map<std::string, Runner> runners_;
  std::deque<Batch> disk_queue_;
  std::vector<Owed> owed_;
  std::map<std::uint64_t, std::string> tickets_;  ///< Not answered yet.
  std::map<std::string, std::set<std::string>> keepers_;
  std::set<std::string> collecting_, told_;
  std::uint64_t ticket_ = 0, version_ = 0;
  bool is_assigning_ = false, contacted_ = false, restoring_ = false, looking_ = false;
  bool lost_rows_ = false;  ///< A save failed and did nothing.
};

}  // namespace

TEST_CASE("alloc_ledger: whatever happens, nothing runs twice, is lost, or is left") {
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    CAPTURE(seed);
    LedgerWorld world{seed};
    for (auto steps = Random{seed}.below(300); steps > 0; --steps)
      world.step();
    world.drain();
  }
}
