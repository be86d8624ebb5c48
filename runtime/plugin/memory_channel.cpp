#include "runtime/plugin/memory_channel.hpp"

#include <cstdint>
#include <utility>

#include <sys/eventfd.h>
#include <unistd.h>

namespace nomad::plugin {

namespace {

constexpr std::size_t head_bytes = sizeof(std::uint32_t);

}  // namespace

struct MemoryChannel::Node {
  std::string frame{};
  std::atomic<Node*> next{nullptr};
};

MemoryChannel::MemoryChannel(std::function<void(std::string_view frame)> hear)
    : hear_{std::move(hear)},
      event_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)},
      newest_{new Node},
      oldest_{newest_} {}

MemoryChannel::~MemoryChannel() {
  while (oldest_ != nullptr)
    delete std::exchange(oldest_, oldest_->next.load());
  if (event_ >= 0) ::close(event_);
}

// -- the agent's side -----------------------------------------------------------------------------

bool MemoryChannel::send(std::string frame) {
  if (over_) return true;
  const auto bytes = frame.size();
  if (queued_.load() + bytes > most_output) return false;
  auto* const node = new Node;
  node->frame = std::move(frame);
  queued_ += bytes;
  newest_->next.store(node);
  newest_ = node;
  wake();
  return true;
}

void MemoryChannel::handled(std::size_t bytes) {
  open_ -= bytes;
  if (wants_room_ && open_.load() < input_window) wake();
}

void MemoryChannel::hang_up() {
  over_ = true;
  wake();
}

/// Who goes to sleep says so first, and looks once more then: one of the two sees the other.
void MemoryChannel::wake() {
  if (!sleeps_.exchange(false)) return;
  const std::uint64_t one = 1;
  static_cast<void>(::write(event_, &one, sizeof one));
}

// -- the plugin's side ----------------------------------------------------------------------------

const void* MemoryChannel::next(std::size_t* bytes) {
  if (over_) return nullptr;
  auto* const node = oldest_->next.load();
  if (node == nullptr) {  // An idle plugin need not keep what it has read.
    oldest_->frame = std::string{};
    return nullptr;
  }
  delete std::exchange(oldest_, node);
  queued_ -= node->frame.size();
  *bytes = node->frame.size() - head_bytes;
  return node->frame.data() + head_bytes;
}

bool MemoryChannel::tell(std::string_view frame) {
  if (over_) return true;
  if (open_.load() >= input_window) {
    wants_room_ = true;
    if (open_.load() >= input_window) return false;
  }
  wants_room_ = false;
  open_ += frame.size() + head_bytes;
  hear_(frame);
  return true;
}

bool MemoryChannel::has_news() const {
  return over_ || oldest_->next.load() != nullptr || (wants_room_ && open_.load() < input_window);
}

bool MemoryChannel::may_wait() {
  sleeps_ = true;
  if (!has_news()) return true;
  sleeps_ = false;
  return false;
}

Channel MemoryChannel::ends() {
  return {
      .agent = this,
      .wake = event_,
      .next = [](void* agent,
                 std::size_t* bytes) { return static_cast<MemoryChannel*>(agent)->next(bytes); },
      .tell =
          [](void* agent, const void* frame, std::size_t bytes) {
            return static_cast<MemoryChannel*>(agent)->tell(
                {static_cast<const char*>(frame), bytes});
          },
      .has_news = [](void* agent) { return static_cast<MemoryChannel*>(agent)->has_news(); },
      .may_wait = [](void* agent) { return static_cast<MemoryChannel*>(agent)->may_wait(); },
      .woke =
          [](void* agent) {
            auto* const channel = static_cast<MemoryChannel*>(agent);
            channel->sleeps_ = false;
            std::uint64_t count = 0;
            static_cast<void>(::read(channel->event_, &count, sizeof count));
          },
      .is_over = [](void* agent) { return static_cast<MemoryChannel*>(agent)->over_.load(); }};
}

}  // namespace nomad::plugin
