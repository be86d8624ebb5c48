// What the sample plugin is told when it starts, and how it is told to misbehave.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>

#include <grpcpp/support/status.h>

namespace nomad::csi::sample {

struct Options {
  std::string endpoint;  ///< CSI_ENDPOINT: "unix:///csi/csi.sock"
  std::string data = "/var/lib/csi-local";
  std::string node = "node-1";  ///< As it calls this machine.
  long long max_volumes = 0;
  bool stages = true;    ///< NodeStageVolume before NodePublishVolume.
  bool attaches = true;  ///< ControllerPublishVolume.
  std::map<std::string, std::string> topology{};
  std::string log{};        ///< Of calls, a line each; empty: none.
  std::string misbehave{};  ///< See `Manners`; empty: it behaves.
};

/// Does what a test wants a plugin to do wrong. The file is read before each call; each of its
/// lines is "METHOD what", and the first of a method counts:
///
///     NodeStageVolume hang              never answers
///     NodeStageVolume fail 13 no disk   answers with that code of gRPC's and text
///     NodeStageVolume die               ends the process before it does anything
///     NodeStageVolume die-after         ends it when it has done it, and not answered
///     NodeStageVolume flood             answers with 64 MiB, where an answer has a text
///     Probe unready                     is not ready
class Manners {
public:
  explicit Manners(const Options& options) : options_{options} {}

  /// Calls `work`, if nothing else is wanted; `words` are for the log of calls. `is_over`: who
  /// asked does not wait any more.
  grpc::Status call(const std::string& method,
                    const std::string& words,
                    const std::function<bool()>& is_over,
                    const std::function<grpc::Status()>& work);

  /// Whether the method is wanted so: "flood", "unready".
  bool is(const std::string& method, const std::string& what) const;

private:
  std::string wanted(const std::string& method) const;

  const Options& options_;
  std::mutex guard_;  ///< Of the log, and of the work: one call at a time.
};

}  // namespace nomad::csi::sample
