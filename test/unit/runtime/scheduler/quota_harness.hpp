// QuotaHarness: a cluster of three nodes whose namespace "default" has a quota.
#pragma once

#include "harness.hpp"

namespace nomad::test {

struct QuotaHarness : Harness {
  using EditLimit = std::function<void(schema::QuotaResources::Builder)>;

  QuotaHarness() {
    for (int i = 0; i < 3; ++i)
      add_node();
  }

  /// Of the namespace "default".
  void limit(const EditLimit& edit, const char* region = "global") {
    apply([&](schema::Command::Builder command) {
      auto quota = command.initQuotaUpsert();
      quota.setName("small");
      auto one = quota.initLimits(1)[0];
      one.setRegion(text(std::string{region}));
      edit(one.initRegionLimit());
    });
    apply([](schema::Command::Builder command) {
      auto ns = command.initNamespaceUpsert();
      ns.setName("default");
      ns.setQuota("small");
    });
  }

  void limit_cpu(std::int64_t mhz) {
    limit([mhz](auto resources) { resources.setCpu(mhz); });
  }

  Object<schema::Evaluation> run(const Object<schema::Job>& job) {
    return process(register_job(job));
  }

  /// What the first group that failed says of the quota.
  static std::string why(schema::Evaluation::Reader eval) {
    for (const auto group : eval.getFailedTgAllocs())
      for (const auto exceeded : group.getValue().getQuotaExhausted())
        return copy(exceeded);
    return "";
  }

  Object<schema::Evaluation> blocked() const {
    const auto snapshot = state();
    for (const auto& entry : snapshot.evals())
      if (entry.value()->getStatus() == schema::EvalStatus::BLOCKED) return entry.value();
    return {};
  }
};

}  // namespace nomad::test
