// Script: what happens to a cluster in one case, step by step. Internal to case.cpp.
#pragma once

#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "test/properties/case.hpp"
#include "test/properties/checks.hpp"
#include "test/properties/cluster.hpp"
#include "test/properties/counting_checks.hpp"
#include "test/properties/inventory.hpp"
#include "test/properties/judge.hpp"

namespace nomad::properties {

/// What a case is about: not all of them should be about everything.
struct Profile {
  static constexpr std::size_t most_acts = 19;

  std::vector<std::size_t> jobs;              ///< Numbers of jobs that there are.
  std::array<unsigned, most_acts> weights{};  ///< Of what happens, beside those of all cases.
  double other_job = 0.3;                     ///< That a job comes back as quite another one.
  double preemption = 0.5;                    ///< That it is switched on, by type.
  bool begins_with_all = false;
  JobTaste taste;

  static Profile of(std::uint64_t seed);
};

class Script {
public:
  Script(const CaseOptions& options, Counts& counts, std::vector<std::string>& trace);

  /// Throws a Violation.
  void run();

private:
  using Act = void (Script::*)(Random&);

  struct Choice {
    Act act;
    unsigned weight;
    std::optional<Feature> feature;
  };

  void step(std::size_t number);
  void check();
  void come_to_rest();
  void evaluate_system_jobs();
  bool calm_down();
  void check_rest();

  // What happens.
  void add_node(Random& random);
  void change_job(Random& random);
  void scale_job(Random& random);
  void stop_job(Random& random);
  void purge_job(Random& random);
  void change_node_status(Random& random);
  void deregister_node(Random& random);
  void change_eligibility(Random& random);
  void mend_nodes(Random& random);
  void mend_nodes();
  void drain_node(Random& random);
  void change_facts(Random& random);
  void report_all(Random& random);
  void pass_time(Random& random);
  void stop_alloc(Random& random);
  void operate_deployment(Random& random);
  void promote(const Object<schema::Deployment>& deployment);
  void set_status(const Object<schema::Deployment>& deployment,
                  schema::DeploymentState status,
                  const char* text);
  void change_leader(Random& random);
  void lose_work(Random& random);
  void change_settings(Random& random);
  void write_settings(Random& random);
  void reap(Random& random);

  void register_node(const std::string& id, std::size_t number, Random parts, Random facts);
  void register_job(const Object<schema::Job>& job);
  void set_node_status(const std::string& id, schema::NodeStatus status);
  template <class Fill>
  void change_node(const std::string& id, Fill fill);
  std::vector<Cluster::Report> reports_of_calm_clients(bool ends_batch) const;
  std::optional<std::string> some_node(Random& random) const;

  void say(const std::string& text);

  CaseOptions options_;
  Counts& counts_;
  std::vector<std::string>& trace_;
  CountingChecks checks_;
  Profile profile_;
  Cluster cluster_;
  std::int64_t begin_ = cluster_.now;
  std::map<std::string, std::size_t> numbers_;  ///< Of nodes, by id.
  std::map<std::size_t, std::uint64_t> structures_;
  std::set<std::string> jobs_;
};

}  // namespace nomad::properties
