// LinkFixture: a PluginLink to a plugin in memory, under a clock that the test moves.
#pragma once

#include <stdexcept>
#include <utility>

#include <doctest/doctest.h>

#include "actors/client/hooks/hook.hpp"
#include "actors/plugin/plugin_hook.hpp"
#include "actors/plugin/plugin_link.hpp"
#include "runtime/object/draft.hpp"
#include "test/support/actor_fixture.hpp"
#include "test/unit/actors/plugin/memory_peer.hpp"

namespace nomad::test {

class LinkFixture : public ActorFixture {
public:
  MemoryPlugin plugin;
  std::shared_ptr<plugin::PluginStates> states = std::make_shared<plugin::PluginStates>();
  std::shared_ptr<plugin::PluginFacts> facts = std::make_shared<plugin::PluginFacts>();
  std::shared_ptr<server::JobTypes> job_types = std::make_shared<server::JobTypes>();
  std::shared_ptr<client::ServiceProviders> providers
      = std::make_shared<client::ServiceProviders>();
  bool clock_breaks = false;  ///< The next look at the clock throws.

  /// The link's end is before that of the plugin, which lives here.
  ~LinkFixture() {
    actor::kill(link_);
    settle();
  }

  plugin::PluginLink start(std::function<void(plugin::Plugin&)> describe,
                           const std::string& config = "{}",
                           std::map<std::string, std::string> locations = {}) {
    plugin.describe = std::move(describe);
    link_ = adopt(plugin::spawn_plugin_link(system(), {.name = "p",
                                                       .make_peer = make_peer(),
                                                       .config = config,
                                                       .locations = std::move(locations),
                                                       .api_turns = Turns::here(),
                                                       .states = states,
                                                       .facts = facts,
                                                       .metrics = {},
                                                       .job_types = job_types,
                                                       .providers = providers,
                                                       .unix_now = [this]() -> std::int64_t {
                                                         if (std::exchange(clock_breaks, false))
                                                           throw std::runtime_error{"no clock"};
                                                         return 1;
                                                       }}));
    settle();
    return link_;
  }

  plugin::MakePeer make_peer() {
    return [this](plugin::ProcessEvents events) {
      return std::make_unique<MemoryPeer>(plugin, std::move(events));
    };
  }

  /// What the plugin would send.
  void say(const std::function<void(schema::plugin::Frame::Builder)>& fill,
           std::size_t bytes = 10) const {
    Draft<schema::plugin::Frame> draft;
    fill(*draft);
    plugin.events.frame(draft.freeze(), bytes);
  }

  plugin::PluginStatus status() const { return states->list().at(0); }

  static client::HookScope scope() {
    Draft<schema::Allocation> alloc;
    alloc->setId("a1");
    alloc->setTaskGroup("g");
    Draft<schema::Job> job;
    job->setId("j");
    Draft<schema::plugin::HookTarget> target;
    target->setAllocId("a1");
    target->setTask("t");
    return {alloc.freeze(), job.freeze(), target.freeze()};
  }

  client::hook::Run phase(schema::plugin::Phase which) const {
    Draft<schema::plugin::HookRequest> request;
    request->setPhase(which);
    const auto whom = scope();
    return {request.freeze(), whom.alloc, whom.job};
  }

private:
  plugin::PluginLink link_;
};

}  // namespace nomad::test
