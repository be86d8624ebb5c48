// A plugin on a thread of the agent.
#include <array>
#include <atomic>
#include <csignal>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <dlfcn.h>
#include <fmt/format.h>
#include <pthread.h>

#include "actors/plugin/body/plugin_body.hpp"
#include "runtime/host/process/unique_fd.hpp"

namespace nomad::plugin {
namespace {

/// Of sdk/serve.hpp.
using Serve = int (*)(void* describe, int socket, char* why, std::size_t size);

constexpr std::size_t most_reason_bytes = 512;

/// Never closed: code of it may run until the process ends.
Result<void*> load(const std::string& path) {
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return Error{Errc::rejected, ::dlerror()};
  return library;
}

Result<void*> load_sdk(const ThreadOptions& options) {
  for (const auto& place : options.sdk_places)
    if (::access(place.c_str(), R_OK) == 0) return load(place);
  return load("libnomadctl-plugin.so.1");
}

Result<void*> find_symbol(void* library, const char* name) {
  void* const symbol = ::dlsym(library, name);
  if (symbol == nullptr) return Error{Errc::rejected, fmt::format("it has no {}", name)};
  return symbol;
}

/// What the thread and the body share.
struct Run {
  host::UniqueFd socket;
  std::string reason;  ///< Why it ended; read behind `has_ended`.
  std::atomic<bool> has_ended{false};
};

std::string serve(const ThreadOptions& options, int socket) {
  // The SDK comes first: the plugin's library finds it by its name then.
  const auto sdk = load_sdk(options);
  if (!sdk) return sdk.error().what;
  const auto serves = find_symbol(*sdk, "nomadctl_plugin_serve");
  if (!serves) return serves.error().what;
  const auto library = load(options.library);
  if (!library) return library.error().what;
  const auto describe = find_symbol(*library, "nomadctl_plugin_describe");
  if (!describe) return describe.error().what;
  std::array<char, most_reason_bytes> why{};
  const auto code = reinterpret_cast<Serve>(*serves)(*describe, socket, why.data(), why.size());
  return code == 0 ? "its thread ended" : fmt::format("its thread ended: {}", why.data());
}

class ThreadBody final : public PluginBody {
public:
  explicit ThreadBody(ThreadOptions options) : options_{std::move(options)} {}

  Result<> start(int socket, int) override {
    run_->socket = host::UniqueFd{::fcntl(socket, F_DUPFD_CLOEXEC, 0)};
    if (!run_->socket) return errno_error("copying a descriptor", errno);
    std::thread{[run = run_, options = options_] {
      sigset_t all;
      ::sigfillset(&all);
      ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
      ::pthread_setname_np(::pthread_self(), ("p-" + options.plugin).substr(0, 15).c_str());
      run->reason = serve(options, run->socket.get());
      run->socket.reset();
      run->has_ended = true;
    }}.detach();
    was_started_ = true;
    return {};
  }

  int pid() override { return 0; }

  void kill() override {}  // It ends when its socket is closed, which the peer does.

  bool has_ended() override { return run_->has_ended; }

  void has_drivers(bool) override {}

  std::string reap(bool) override {
    if (!was_started_) return "it never ran";
    return run_->has_ended ? run_->reason : std::string{};
  }

private:
  ThreadOptions options_;
  std::shared_ptr<Run> run_ = std::make_shared<Run>();
  std::atomic<bool> was_started_{false};
};

}  // namespace

std::unique_ptr<PluginBody> thread_body(ThreadOptions options) {
  return std::make_unique<ThreadBody>(std::move(options));
}

}  // namespace nomad::plugin
