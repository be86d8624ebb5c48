// An alloc hook: a file says which allocations have run on this node, and when: a line as each
// begins, and one when all its tasks have ended. Events of their tasks say so, too.
//
//     2026-03-01T12:00:00Z  begin  <allocation>  <namespace>/<job>  <group>
//
// An agent that starts anew asks again for what still runs; the line is written once.
#include <array>
#include <ctime>
#include <fstream>
#include <set>

#include <nomadctl/plugin/plugin.hpp>

using namespace nomad;
using namespace nomad::plugin;

namespace {

std::string configured_path;

std::string now() {
  const auto seconds = std::time(nullptr);
  std::array<char, 32> text{};
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

class Ledger {
public:
  /// Reads what processes before this one have written.
  explicit Ledger(std::string path) : path_{std::move(path)} {
    std::ifstream file{path_};
    for (std::string when, what, alloc, rest; file >> when >> what >> alloc;) {
      if (what == "begin")
        open_.insert(alloc);
      else
        open_.erase(alloc);
      std::getline(file, rest);
    }
  }

  Result<HookAnswer> note(HookRunner& runner, const HookCall& call) {
    const auto id = call.alloc_id();
    const bool begins = call.phase() == Phase::PRERUN;
    if (open_.contains(id) == begins) return HookAnswer{};
    const std::string what = begins ? "begin" : "end";
    std::ofstream file{path_, std::ios::app};
    file << now() << "  " << what << "  " << id << "  " << copy(call.alloc.getNamespace()) << '/'
         << copy(call.alloc.getJobId()) << "  " << copy(call.alloc.getTaskGroup()) << '\n';
    file.close();
    if (!file) return Error{Errc::io, "can't write " + path_};
    if (begins)
      open_.insert(id);
    else
      open_.erase(id);
    runner.event("Ledger", "wrote its " + what);
    return HookAnswer{};
  }

private:
  std::string path_;
  std::set<std::string> open_;  ///< Allocations that have begun and not ended.
};

std::unique_ptr<Ledger> book;

Result<HookAnswer> note(HookRunner& runner, const HookCall& call) {
  if (!book) {
    const auto own_path = runner.agent().surroundings().data_dir + "/ledger.txt";
    book = std::make_unique<Ledger>(configured_path.empty() ? own_path : configured_path);
  }
  return book->note(runner, call);
}

}  // namespace

void describe(Plugin& plugin) {
  plugin.is("ledger", "1.0.0");
  plugin.config({{.name = "file"}});
  plugin.on_configure([](const Config& config) -> Result<> {
    configured_path = config.text("file");
    if (!configured_path.empty() && !configured_path.starts_with('/'))
      return Error{Errc::invalid_argument, "file: an absolute path is expected"};
    book.reset();
    return {};
  });
  plugin.alloc_hook({.name = "ledger", .phases = {Phase::PRERUN, Phase::POSTRUN}}, hook_of(note));
}

NOMADCTL_PLUGIN(describe)
