// SimEngine: the container engine of a simulated machine, which the real driver docker asks. It
// outlives the agent, as its containers do; it is slow, dies, comes back with or without what ran,
// forgets containers, loses answers and gives some twice.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>

#include "actors/client/plugin_catalog.hpp"
#include "test/simulation/sim_network.hpp"
#include "test/support/fake_engine.hpp"

namespace nomad::test {

class SimEngine {
public:
  using Machine = SimSystem::Machine;

  /// What the process of a container does.
  struct Process {
    std::string container;
    client::driver::TaskId id;
    std::string run_id;
    std::int64_t run_for = 0;  ///< Milliseconds; 0: for ever.
    int exit_code = 0;
  };

  SimEngine(SimSystem& system, SimNetwork& network, Machine machine, std::uint64_t seed);

  /// Told before a process starts, and when it has ended: whether an agent ended it unasked.
  std::function<void(const Process&)> on_start;
  std::function<void(const Process&, bool unasked)> on_end;

  /// The driver docker on this engine.
  client::DriverEntry driver();

  /// The process ends by itself.
  void end(const std::string& container, int exit_code);

  /// One of the things that go wrong with engines.
  void fail();

  void set_faulty(bool faulty);
  void crash_agent();
  void crash_machine();

  /// A container that has ended and that nobody has removed; "" without one.
  std::string left() const;

private:
  using DriverSelf = client::Driver::pointer;

  FakeEngineCalls::Fate fate_of(const docker::EngineRequest& request);
  void die();
  void by_itself(const std::function<void()>& change);
  void note_order(schema::plugin::DriverRequest::Reader request);

  SimSystem& system_;
  SimNetwork& network_;
  Machine machine_;
  Random random_;
  FakeEngineCalls calls_;
  bool faulty_ = true;
  bool changes_by_itself_ = false;
  Time slow_until_{0};
  std::set<std::string> told_;   ///< Runs that an agent knows to run,
  std::set<std::string> asked_;  ///< and those that are to end.
};

}  // namespace nomad::test
