#include "actors/client/tools/task_sockets.hpp"

#include <utility>

namespace nomad::client {
namespace {

/// So many requests of the greatest size may a task have at once. Tasks send them before anybody
/// has looked at their tokens.
constexpr std::uint64_t requests_held = 2;

}  // namespace

TaskSockets::TaskSockets(net::ServerOptions options) : options_{std::move(options)} {
  options_.listen.clear();
  options_.threads = 1;
  options_.tls = {};
  options_.kept_users = {};
  options_.needs_token = true;
  options_.held_bytes_per_address = requests_held * options_.body_bytes;
}

TaskSockets::~TaskSockets() {
  stop(std::chrono::milliseconds{0});
}

std::string TaskSockets::name_of(std::string_view alloc_id, std::string_view task) {
  return std::string{alloc_id} + '/' + std::string{task};
}

void TaskSockets::add(const std::string& name, net::Descriptor socket, ino_t inode) {
  const std::lock_guard lock{guard_};
  if (is_stopped_) return;
  if (sockets_.erase(name) != 0 && server_) server_->remove(name);
  auto& added = sockets_.try_emplace(name).first->second;
  added.inode = inode;
  if (server_)
    server_->add(std::move(socket), name);
  else
    added.waiting.fd = socket.release();
}

ino_t TaskSockets::inode_of(const std::string& name) const {
  const std::lock_guard lock{guard_};
  const auto found = sockets_.find(name);
  return found == sockets_.end() ? 0 : found->second.inode;
}

void TaskSockets::remove(const std::string& name) {
  const std::lock_guard lock{guard_};
  if (sockets_.erase(name) != 0 && server_) server_->remove(name);
}

Result<> TaskSockets::serve(net::Handler handler) {
  const std::lock_guard lock{guard_};
  server_ = NOMAD_TRY(net::HttpServer::start(options_, std::move(handler)));
  for (auto& [name, socket] : sockets_)
    server_->add(net::Descriptor{socket.waiting.release()}, name);
  return {};
}

void TaskSockets::stop(std::chrono::milliseconds patience) {
  std::optional<net::HttpServer> ending;
  {
    const std::lock_guard lock{guard_};
    is_stopped_ = true;
    sockets_.clear();
    ending = std::exchange(server_, std::nullopt);
  }
  if (ending) ending->stop(patience);
}

}  // namespace nomad::client
