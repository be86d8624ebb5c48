#include "actors/client/tools/task_sockets.hpp"

#include <utility>

#include "runtime/host/task/task_socket.hpp"

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

Result<> TaskSockets::open(const std::string& name, const SocketLocation& location) {
  const auto root = NOMAD_TRY(host::Beneath::open(location.root, false));
  const auto inode = inode_of(name);
  if (inode != 0 && host::is_at(root, location.directory, location.file, inode)) return {};
  return make(name, location, inode);
}

/// `instead_of`: of the one that the task has by what the caller knows; 0: none. It may have
/// another one meanwhile, or none any more, and that holds.
Result<> TaskSockets::make(const std::string& name,
                           const SocketLocation& location,
                           ino_t instead_of) {
  const auto root = NOMAD_TRY(host::Beneath::open(location.root, false));
  auto made
      = NOMAD_TRY(host::listen_for_task(root, location.directory, location.file, location.owner));
  if (enter(name, net::Descriptor{made.listening.release()},
            {.inode = made.inode, .waiting = {}, .location = location}, instead_of)
      || !host::is_at(root, location.directory, location.file, made.inode))
    return {};
  return host::remove_from_task(root, location.directory, location.file);
}

std::vector<TaskSockets::PutBack> TaskSockets::put_back() {
  std::vector<std::pair<std::string, Socket>> all;
  {
    const std::lock_guard lock{guard_};
    for (const auto& [name, socket] : sockets_)
      if (!socket.location.root.empty())
        all.emplace_back(name,
                         Socket{.inode = socket.inode, .waiting = {}, .location = socket.location});
  }
  std::vector<PutBack> done;
  for (const auto& [name, socket] : all) {
    const auto& location = socket.location;
    const auto root = host::Beneath::open(location.root, false);
    if (root && host::is_at(*root, location.directory, location.file, socket.inode)) continue;
    if (inode_of(name) != socket.inode) continue;  // It was ended, or made anew.
    done.push_back({name, make(name, location, socket.inode)});
  }
  return done;
}

void TaskSockets::add(const std::string& name, net::Descriptor socket, ino_t inode) {
  enter(name, std::move(socket), {.inode = inode, .waiting = {}, .location = {}}, inode_of(name));
}

/// Whether it is the task's now: not when that has another one than `instead_of`.
bool TaskSockets::enter(const std::string& name,
                        net::Descriptor socket,
                        Socket added,
                        ino_t instead_of) {
  const std::lock_guard lock{guard_};
  const auto found = sockets_.find(name);
  if (is_stopped_ || (found == sockets_.end() ? 0 : found->second.inode) != instead_of)
    return false;
  if (sockets_.erase(name) != 0 && server_) server_->remove(name);
  if (!server_) added.waiting.fd = socket.release();
  sockets_.try_emplace(name, std::move(added));
  if (server_) server_->add(std::move(socket), name);
  return true;
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
