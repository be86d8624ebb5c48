// nomadctl-csi: asks plugins of the Container Storage Interface for an agent, over the socket that
// is descriptor 3 (schema/csi_call.capnp), and ends with it. The only program beside the bridge
// with gRPC: what a plugin sends is taken apart here, and the agent reads what is left of it.
//
// usage: nomadctl-csi (started by an agent)
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include <fcntl.h>
#include <unistd.h>

#include "runtime/csi/caller/plugin_call.hpp"
#include "runtime/csi/frames.hpp"

namespace nomad::csi {
namespace {

constexpr int agent_socket = 3;

/// What is under way, and the way back. Any thread.
class Conversation {
public:
  Result<> take(std::string_view bytes) {
    const auto order = NOMAD_TRY(object_in<schema::csi::Order>(bytes));
    if (order->isCancel()) {
      cancel(order->getCancel());
      return {};
    }
    const auto call = order->getCall();
    const auto number = call.getNumber();
    const auto started
        = PluginCall::start(call, [this, number](const Answer& answer) { reply(number, answer); });
    const std::lock_guard lock{guard_};
    if (answered_.erase(number) == 0 && started) calls_.emplace(number, started);
    return {};
  }

private:
  void cancel(std::uint64_t number) {
    std::shared_ptr<PluginCall> call;
    {
      const std::lock_guard lock{guard_};
      if (const auto found = calls_.find(number); found != calls_.end()) call = found->second;
    }
    if (call) call->cancel();
  }

  void reply(std::uint64_t number, const Answer& answer) {
    std::string frame;
    if (!append_frame(frame, answer)) ::_exit(1);
    std::shared_ptr<PluginCall> ended;  // its end is not this lock's
    const std::lock_guard lock{guard_};
    if (auto found = calls_.extract(number); !found.empty())
      ended = std::move(found.mapped());
    else
      answered_.insert(number);
    for (std::string_view rest = frame; !rest.empty();) {
      const auto written = ::write(agent_socket, rest.data(), rest.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) ::_exit(0);  // the agent has ended
      rest.remove_prefix(static_cast<std::size_t>(written));
    }
  }

  std::mutex guard_;
  std::map<std::uint64_t, std::shared_ptr<PluginCall>> calls_;
  /// Answered before they were in `calls_`, at most as many as begin at this moment.
  std::set<std::uint64_t> answered_;
};

int converse() {
  static Conversation conversation;  // gRPC's threads may speak to it to the very end
  FrameSplitter splitter;
  char part[64 * 1024];
  for (;;) {
    const auto got = ::read(agent_socket, part, sizeof part);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got == 0 ? 0 : 1;
    const auto taken
        = splitter.add({part, static_cast<std::size_t>(got)},
                       [](std::string_view bytes) { return conversation.take(bytes); });
    if (taken) continue;
    std::fprintf(stderr, "%s\n", taken.error().what.c_str());
    return 1;
  }
}

}  // namespace
}  // namespace nomad::csi

int main() {
  ::signal(SIGPIPE, SIG_IGN);
  if (::fcntl(3, F_SETFD, FD_CLOEXEC) != 0) {
    std::fputs("usage: nomadctl-csi (started by an agent)\n", stderr);
    return 2;
  }
  ::_exit(nomad::csi::converse());  // gRPC's threads may be in the middle of something
}
