#include "cli/node/drain_monitor.hpp"

#include <atomic>
#include <iostream>
#include <map>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "cli/output/layout.hpp"

namespace nomad::cli {
namespace {

/// What two threads print, line by line.
class DrainLines {
public:
  void say(const std::string& text, std::string_view color = {}) {
    const std::lock_guard lock{guard_};
    const auto line = fmt::format("{}: {}", clock_now(), text);
    std::cout << (color.empty() ? line : colored(line, color)) << std::endl;
  }

  void fail(std::string_view what, const Error& error) {
    const std::lock_guard lock{guard_};
    failed_ = true;
    std::cerr << fmt::format("{}: {}: {}", clock_now(), what, error.what) << std::endl;
  }

  /// Who follows the other side gives up, too.
  bool failed() const { return failed_; }

private:
  std::mutex guard_;
  std::atomic<bool> failed_ = false;
};

/// Each question waits for news no longer, so that the end of the other side is seen.
constexpr auto longest_question = "5s";

Query question(std::uint64_t index) {
  Query query{{"stale", ""}};
  if (index > 0) {
    query.emplace_back("index", std::to_string(index));
    query.emplace_back("wait", longest_question);
  }
  return query;
}

std::string described(const View& strategy) {
  return fmt::format("drain {}deadline at {}",
                     strategy["IgnoreSystemJobs"].truth() ? "ignoring system jobs and " : "with ",
                     strategy["ForceDeadline"].is_null() ? "0001-01-01T00:00:00Z"
                                                         : strategy["ForceDeadline"].text());
}

/// Follows the node until it drains no more.
class DrainedNode {
public:
  DrainedNode(Api api, FollowedDrain drain, DrainLines& lines)
      : api_{std::move(api)}, drain_{std::move(drain)}, lines_{lines} {}

  void run() {
    auto index = drain_.index;
    while (!lines_.failed()) {
      const auto node = api_.get("/v1/node/" + drain_.node_id, question(index));
      if (!node) return lines_.fail("Error monitoring node", node.error());
      if (node->view()["DrainStrategy"].is_null())
        return lines_.say("Drain complete for node " + drain_.node_id, "green");
      if (node->index != std::exchange(index, node->index) || last_.empty()) tell(node->view());
    }
  }

private:
  void tell(const View& node) {
    if (node["Status"].text() == "down")
      lines_.say(fmt::format("Node \"{}\" down", drain_.node_id), "yellow");
    const auto now = described(node["DrainStrategy"]);
    if (!last_.empty() && last_ != now)
      lines_.say(fmt::format("Node \"{}\" drain updated: {}", drain_.node_id, now), "green");
    last_ = now;
    if (const auto wait = wait_of(node); !wait.empty() && !std::exchange(told_wait_, true))
      lines_.say(fmt::format("Node \"{}\" waits: nothing has room for {}", drain_.node_id, wait),
                 "yellow");
  }

  /// What this drain waits for by the node's events, which are in order; empty for nothing.
  static std::string wait_of(const View& node) {
    std::string wait;
    for (const auto& event : node["Events"].items()) {
      const auto message = event["Message"].text();
      if (message == "Node drain strategy set") wait.clear();
      if (message == "Node drain waits for capacity elsewhere")
        wait = fmt::format("group \"{}\" of job \"{}\"", event["Details"]["task_group"].text(),
                           event["Details"]["job_id"].text());
    }
    return wait;
  }

  Api api_;
  FollowedDrain drain_;
  DrainLines& lines_;
  std::string last_;  ///< The strategy as it was told.
  bool told_wait_ = false;
};

bool is_set(const View& alloc) {
  return alloc["DesiredTransition"]["Migrate"].truth();
}

/// Follows the node's allocations until none runs.
class DrainedAllocs {
public:
  DrainedAllocs(Api api, FollowedDrain drain, DrainLines& lines)
      : api_{std::move(api)}, drain_{std::move(drain)}, lines_{lines} {}

  void run() {
    std::uint64_t index = 0;
    while (!lines_.failed()) {
      const auto allocs = api_.get("/v1/node/" + drain_.node_id + "/allocations", question(index));
      if (!allocs) return lines_.fail("Error monitoring allocations", allocs.error());
      index = allocs->index;
      bool runs = false;
      for (const auto& alloc : allocs->view().items())
        runs = look_at(alloc) || runs;
      if (!runs)
        return lines_.say(
            fmt::format("All allocations on node \"{}\" have stopped", drain_.node_id), "green");
    }
  }

private:
  struct Seen {
    std::string status;
    std::string desired;
    bool migrates = false;
  };

  /// Tells what has changed; whether the node waits for the allocation.
  bool look_at(const View& alloc) {
    const auto id = alloc["ID"].text();
    const Seen now{alloc["ClientStatus"].text(), alloc["DesiredStatus"].text(), is_set(alloc)};
    const auto known = seen_.find(id);
    if (known != seen_.end())
      if (const auto news = news_of(known->second, now); !news.empty())
        lines_.say(fmt::format("Alloc \"{}\" {}", id, news));
    seen_[id] = now;
    if (drain_.ignore_system && alloc["Job"]["Type"].text() == "system") return false;
    return now.status == "pending" || now.status == "running";
  }

  static std::string news_of(const Seen& before, const Seen& now) {
    if (before.status != now.status)
      return fmt::format("status {} -> {}", before.status, now.status);
    if (!now.migrates) return {};
    if (!before.migrates) return "marked for migration";
    return before.desired != now.desired && now.desired == "stop" ? "draining" : "";
  }

  Api api_;
  FollowedDrain drain_;
  DrainLines& lines_;
  std::map<std::string, Seen> seen_;
};

}  // namespace

Result<int> monitor_drain(const CommonFlags& flags, const FollowedDrain& drain) {
  DrainLines lines;
  DrainedAllocs allocs{NOMAD_TRY(Api::make(flags)), drain, lines};
  DrainedNode node{NOMAD_TRY(Api::make(flags)), drain, lines};
  std::jthread beside{[&allocs] { allocs.run(); }};
  node.run();
  return 0;
}

}  // namespace nomad::cli
