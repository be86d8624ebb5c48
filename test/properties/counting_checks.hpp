// CountingChecks: the checks of plans, drains and deployments, and a count of what they meet.
#pragma once

#include <string>
#include <vector>

#include "test/properties/checks.hpp"
#include "test/properties/counts.hpp"

namespace nomad::properties {

class CountingChecks : public PlanChecks {
public:
  explicit CountingChecks(Counts& counts) : counts_{counts} {}

  /// Where each decision is told, for people; null: nowhere.
  std::vector<std::string>* account = nullptr;

  void on_plan(const Work& work, const scheduler::Plan& plan) override;
  void on_evaluations(const Work& work,
                      const std::vector<Object<schema::Evaluation>>& evaluations) override;
  void on_commit(const UnderWay& plan,
                 const state::Snapshot& before,
                 const state::Snapshot& after) override;
  void on_drain(const state::Snapshot& state,
                const cluster::DrainRound& round,
                std::int64_t now) override;
  void on_deployment(const state::Snapshot& state,
                     schema::Deployment::Reader deployment,
                     schema::Command::Reader command,
                     std::int64_t now) override;

private:
  void tell(std::string text) {
    if (account != nullptr) account->push_back("  " + std::move(text));
  }

  void count_new(const Work& work, const scheduler::PlannedAlloc& placed);

  Counts& counts_;
};

}  // namespace nomad::properties
