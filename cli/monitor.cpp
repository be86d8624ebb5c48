#include "cli/monitor.hpp"

#include <algorithm>
#include <iostream>
#include <map>
#include <thread>

#include <unistd.h>

#include <fmt/format.h>

#include "cli/job/explained.hpp"
#include "cli/output/describe.hpp"
#include "cli/output/layout.hpp"
#include "cli/output/terminal_text.hpp"
#include "cli/why/findings.hpp"

namespace nomad::cli {
namespace {

using namespace std::chrono_literals;

void headline(const std::string& text) {
  std::cout << title(fmt::format("==> {}: {}", clock_now(), text)) << std::endl;
}

void line(const std::string& text) {
  std::cout << fmt::format("    {}: {}", clock_now(), text) << std::endl;
}

/// What has been printed of an evaluation so far.
class EvaluationMonitor {
public:
  EvaluationMonitor(Api& api, MonitorOptions options) : api_{api}, options_{options} {}

  int run(std::string eval_id) {
    for (;;) {
      headline(fmt::format("Monitoring evaluation \"{}\"", shown(eval_id)));
      const int code = follow(eval_id);
      if (code != 0 || next_.empty()) return finish(code);
      eval_id = std::exchange(next_, {});
    }
  }

private:
  std::string shown(const std::string& id) const { return shown_id(id, options_.verbose); }

  int follow(const std::string& eval_id) {
    std::string status;
    bool introduced = false;
    std::uint64_t index = 0;
    for (;;) {
      Query query;
      if (index > 0) query = {{"index", std::to_string(index)}, {"wait", "200ms"}};
      auto eval = api_.get("/v1/evaluation/" + eval_id, query);
      if (!eval) return fail("Error reading evaluation", eval.error());
      index = eval->index;
      const auto view = eval->view();
      if (!std::exchange(introduced, true)) introduce(view);
      if (!view["DeploymentID"].text().empty() && deployment_.empty()) {
        deployment_ = view["DeploymentID"].text();
        line(fmt::format("Evaluation within deployment: \"{}\"", shown(deployment_)));
      }
      if (!print_allocs(eval_id, view["CreateIndex"].number())) return 1;
      const auto now = view["Status"].text();
      if (!status.empty() && now != status)
        line(fmt::format("Evaluation status changed: \"{}\" -> \"{}\"", status, now));
      else if (status.empty() && now != "pending")
        line(fmt::format("Evaluation status changed: \"pending\" -> \"{}\"", now));
      status = now;
      if (now != "pending" && now != "blocked") return conclude(view);
      if (index == 0) std::this_thread::sleep_for(100ms);
    }
  }

  void introduce(const View& eval) {
    if (!eval["NodeID"].text().empty())
      line(fmt::format("Evaluation triggered by node \"{}\"", shown(eval["NodeID"].text())));
    if (!eval["JobID"].text().empty())
      line(fmt::format("Evaluation triggered by job \"{}\"", eval["JobID"].text()));
  }

  bool print_allocs(const std::string& eval_id, std::int64_t eval_index) {
    auto allocs = api_.get("/v1/evaluation/" + eval_id + "/allocations");
    if (!allocs) {
      fail("Error reading allocations", allocs.error());
      return false;
    }
    for (const auto& alloc : allocs->view().items()) {
      const auto id = alloc["ID"].text();
      const auto status = alloc["ClientStatus"].text();
      const auto known = statuses_.find(id);
      if (known == statuses_.end()) {
        const bool is_older = alloc["CreateIndex"].number() < eval_index;
        const auto desired = alloc["DesiredStatus"].text();
        if (is_older || (desired != "stop" && desired != "evict"))
          line(fmt::format("Allocation \"{}\" {}: node \"{}\", group \"{}\"", shown(id),
                           is_older ? "modified" : "created", shown(alloc["NodeID"].text()),
                           alloc["TaskGroup"].text()));
        if (!is_older && status != "pending") status_change(id, "pending", alloc);
      } else if (known->second != status) {
        status_change(id, known->second, alloc);
      }
      statuses_[id] = status;
    }
    return true;
  }

  void status_change(const std::string& id, const std::string& before, const View& alloc) {
    const auto description = alloc["ClientDescription"].text();
    line(fmt::format("Allocation \"{}\" status changed: \"{}\" -> \"{}\"{}", shown(id), before,
                     alloc["ClientStatus"].text(),
                     description.empty() ? "" : " (" + description + ")"));
  }

  int conclude(const View& eval) {
    const auto failed = eval["FailedTGAllocs"];
    const auto status = eval["Status"].text();
    const auto id = eval["ID"].text();
    if (status == "failed" || status == "canceled")
      line(fmt::format("Scheduler error: {}", eval["StatusDescription"].text()));
    if (failed.members().empty()) {
      headline(fmt::format("Evaluation \"{}\" finished with status \"{}\"", shown(id), status));
    } else {
      headline(
          fmt::format("Evaluation \"{}\" finished with status \"{}\" but failed to place all "
                      "allocations:",
                      shown(id), status));
      for (const auto& [group, metric] : failed.members()) {
        line(failed_group(group, metric));
        if (const auto bullets = placement_failure(metric, "      "); !bullets.empty())
          std::cout << bullets << std::endl;
      }
      const auto blocked = eval["BlockedEval"].text();
      if (!blocked.empty())
        line(fmt::format("Evaluation \"{}\" waiting for additional capacity to place remainder",
                         shown(blocked)));
      if (const auto why = placement_summary(api_, eval["JobID"].text()); !why.empty()) {
        line(why);
        line(fmt::format("Node by node, and what would help: {}",
                         why::shell_command_in(api_.ns(), "job explain", {eval["JobID"].text()})));
      }
      failed_placements_ = true;
    }
    if (!eval["NextEval"].text().empty() && eval["Wait"].number() > 0)
      next_ = eval["NextEval"].text();
    return status == "failed" ? 1 : 0;
  }

  int finish(int code) {
    if (code == 0 && options_.follow_deployment && !deployment_.empty()) {
      headline(fmt::format("Monitoring deployment \"{}\"", shown(deployment_)));
      code = monitor_deployment(api_, deployment_, options_.verbose);
    }
    return code == 0 && failed_placements_ ? 2 : code;
  }

  Api& api_;
  MonitorOptions options_;
  std::map<std::string, std::string> statuses_;  ///< Client status by allocation.
  std::string deployment_;
  std::string next_;
  bool failed_placements_ = false;
};

/// Prints the deployment's view: in place on a terminal, below the last one elsewhere.
class DeploymentView {
public:
  void show(const View& deployment, bool verbose) {
    const auto block = deployment_block(deployment, verbose, false);
    if (block == shown_) return;
    const auto text = fmt::format("    \n{}\n{}", clock_now(), block);
    if (on_terminal_ && lines_ > 0) {
      const RawOutput raw;
      std::cout << fmt::format("\033[{}A\033[J", lines_);
    }
    std::cout << text << std::endl;
    lines_ = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
    shown_ = block;
  }

private:
  bool on_terminal_ = isatty(STDOUT_FILENO) == 1;
  std::size_t lines_ = 0;
  std::string shown_;
};

}  // namespace

int monitor_evaluation(Api& api, const std::string& eval_id, const MonitorOptions& options) {
  return EvaluationMonitor{api, options}.run(eval_id);
}

int monitor_deployment(Api& api, const std::string& deployment_id, bool verbose) {
  DeploymentView view;
  std::uint64_t index = 0;
  for (;;) {
    Query query;
    if (index > 0) query = {{"index", std::to_string(index)}, {"wait", "1s"}};
    auto deployment = api.get("/v1/deployment/" + deployment_id, query);
    if (!deployment) return fail("Error reading deployment", deployment.error());
    index = deployment->index;
    view.show(deployment->view(), verbose);
    const auto status = deployment->view()["Status"].text();
    if (status == "successful") return 0;
    if (status == "failed" || status == "cancelled" || status == "blocked") return 1;
  }
}

}  // namespace nomad::cli
