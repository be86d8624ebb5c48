// DockerHealth: how the engine is: asked when the driver is, and told when it goes or comes: while
// it is there, one stream of its events stays open, whose end is its end. Lives in the driver's
// actor.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "actors/client/drivers/docker/context.hpp"

namespace nomad::client {

class DockerHealth {
public:
  using Fingerprint = Object<schema::plugin::Fingerprint>;

  /// `came`: called each time the engine has come.
  DockerHealth(DockerContext& context, std::function<void()> came)
      : context_{context}, came_{std::move(came)} {}

  /// Asks the engine. Answered once, in time also if it hangs.
  actor::Answer<driver::Answered> ask();

  bool is_there() const { return is_there_; }

private:
  struct Look {
    std::map<std::string, std::string> attributes;
    std::vector<actor::Promise<driver::Answered>> waiters;
  };

  void begin();
  void got_version(const docker::EngineVersion& version);
  void ask_information();
  void ask_network();
  void finish(const Fingerprint& outcome);
  void failed(const std::string& why);
  void watch();
  void watch_ended();

  DockerContext& context_;
  std::function<void()> came_;
  bool is_asking_ = false;
  Look look_;
  bool is_there_ = false;
  bool was_there_ = false;  ///< Once.
  bool is_watching_ = false;
  bool looks_again_ = false;  ///< In a moment.
  bool tells_ = false;        ///< The present look is told, as nobody has asked for it.
};

}  // namespace nomad::client
