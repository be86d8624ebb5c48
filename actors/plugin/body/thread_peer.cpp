#include "actors/plugin/body/thread_peer.hpp"

#include <array>
#include <atomic>
#include <csignal>
#include <thread>
#include <utility>

#include <unistd.h>

#include <dlfcn.h>
#include <fmt/format.h>
#include <pthread.h>

#include "runtime/plugin/memory_channel.hpp"

namespace nomad::plugin {
namespace {

/// Of sdk/serve.hpp.
using ServeChannel = int (*)(void* describe, const Channel* agent, char* why, std::size_t size);

constexpr std::size_t most_reason_bytes = 512;
constexpr std::size_t frame_head_bytes = sizeof(std::uint32_t);

/// Never closed: code of it may run until the process ends.
Result<void*> load(const std::string& path) {
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return Error{Errc::rejected, ::dlerror()};
  return library;
}

Result<void*> load_sdk(const LibraryOptions& options) {
  for (const auto& location : options.sdk_locations)
    if (::access(location.c_str(), R_OK) == 0) return load(location);
  return load("libnomadctl-plugin.so.1");
}

Result<void*> find_symbol(void* library, const char* name) {
  void* const symbol = ::dlsym(library, name);
  if (symbol == nullptr) return Error{Errc::rejected, fmt::format("it has no {}", name)};
  return symbol;
}

/// Why it has ended.
std::string serve_loaded(const LibraryOptions& options, const Channel& agent) {
  // The SDK comes first: the plugin's library finds it by its name then.
  const auto sdk = load_sdk(options);
  if (!sdk) return sdk.error().what;
  const auto serves = find_symbol(*sdk, "nomadctl_plugin_serve_channel");
  if (!serves) return serves.error().what;
  const auto library = load(options.library);
  if (!library) return library.error().what;
  const auto describe = find_symbol(*library, "nomadctl_plugin_describe");
  if (!describe) return describe.error().what;
  std::array<char, most_reason_bytes> why{};
  const auto code
      = reinterpret_cast<ServeChannel>(*serves)(*describe, &agent, why.data(), why.size());
  return code == 0 ? "its thread ended" : fmt::format("its thread ended: {}", why.data());
}

}  // namespace

/// What the thread and the peer share.
class ThreadPeer::Core {
public:
  explicit Core(ProcessEvents events) : events_{std::move(events)} {}

  /// On the plugin's thread.
  void run(const Serve& serve) {
    if (!forgotten_) events_.started(0);
    const auto ends = channel_.ends();
    try {
      reason_ = channel_.works() ? serve(ends) : "no descriptor is left for its thread";
    } catch (const std::exception& thrown) {
      reason_ = fmt::format("its thread threw: {}", thrown.what());
    }
    has_ended_ = true;
    end({Errc::unavailable, "it hung up"});
  }

  void send(std::string frame) {
    if (!channel_.send(std::move(frame)))
      end({Errc::overloaded, fmt::format("it does not read: more than {} bytes wait for it",
                                         MemoryChannel::most_output)});
  }

  void handled(std::size_t bytes) { channel_.handled(bytes); }

  void end(const Error& why) {
    // Said first: the thread hears that it is hung up, and ends for another reason.
    const bool is_told = ended_.exchange(true);
    channel_.hang_up();
    if (!is_told && !forgotten_) events_.ended(why);
  }

  void forget() {
    forgotten_ = true;
    channel_.hang_up();
  }

  std::string reap() const { return has_ended_ ? reason_ : std::string{}; }

private:
  void heard(std::string_view bytes) {
    auto frame = decode_frame(bytes);
    if (!frame) return end(frame.error());
    if (!forgotten_) events_.frame(std::move(*frame), bytes.size() + frame_head_bytes);
  }

  ProcessEvents events_;
  MemoryChannel channel_{[this](std::string_view frame) { heard(frame); }};
  std::string reason_;  ///< Why it has ended; read behind `has_ended_`.
  std::atomic<bool> has_ended_{false};
  std::atomic<bool> ended_{false};      ///< That was told.
  std::atomic<bool> forgotten_{false};  ///< Nobody wants to hear of it any more.
};

ThreadPeer::ThreadPeer(const std::string& plugin, Serve serve, ProcessEvents events)
    : core_{std::make_shared<Core>(std::move(events))} {
  std::thread{[core = core_, serve = std::move(serve), name = ("p-" + plugin).substr(0, 15)] {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
    ::pthread_setname_np(::pthread_self(), name.c_str());
    core->run(serve);
  }}.detach();
}

ThreadPeer::~ThreadPeer() {
  core_->forget();
}

void ThreadPeer::send(std::string frame) {
  core_->send(std::move(frame));
}

void ThreadPeer::handled(std::size_t bytes) {
  core_->handled(bytes);
}

void ThreadPeer::kill() {
  core_->end({Errc::cancelled, "it was ended"});
}

std::string ThreadPeer::reap(bool) {
  return core_->reap();
}

ThreadPeer::Serve serve_library(LibraryOptions options) {
  return
      [options = std::move(options)](const Channel& agent) { return serve_loaded(options, agent); };
}

}  // namespace nomad::plugin
